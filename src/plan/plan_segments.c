#include "plan/plan_segments.h"

#include "base/table.h"
#include "base/text.h"
#include "plan/buffers.h"
#include "plan/node_seconds.h"
#include "plan/place/segments.h"
#include "plan/plan_impl.h"

#include <string.h>

typedef struct listing {
    iso_device_map_t *map;
    bool names;
    iso_text_t cells; /* of the table */
    iso_text_t lines; /* one for each value that crosses */
    int n_segments;
    int n_crossings;
    size_t bytes; /* that cross */
} listing_t;

static int count_computed(const iso_graph_t *graph)
{
    int count = 0;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        count += iso_node_is_leaf(iso_graph_node(graph, id)) ? 0 : 1;
    }
    return count;
}

static const char *device_name(const listing_t *listing,
                               const iso_segments_t *segments, int segment)
{
    return iso_device_map_device(listing->map, segments->device_of[segment])
        ->name;
}

/* Values that come into a segment, and their bytes. */
static iso_status_t count_crossings(const iso_segments_t *segments, int segment,
                                    int *count_out, size_t *bytes_out)
{
    const iso_partition_t *partition = segments->partition;

    *count_out = 0;
    *bytes_out = 0;
    for (int i = 0; i < iso_partition_boundary_count(partition); i++) {
        const iso_boundary_t *one = iso_partition_boundary(partition, i);
        size_t bytes = 0;

        if (one->to_stage != segment) {
            continue;
        }
        ISO_TRY(iso_tensor_bytes_of(one->dtype, &one->shape, &bytes));
        *bytes_out = iso_bytes_add(*bytes_out, bytes);
        *count_out += 1;
    }
    return ISO_OK;
}

static iso_status_t add_segment(listing_t *listing, int stage,
                                const iso_segments_t *segments, int segment)
{
    const iso_graph_t *graph =
        iso_partition_stage(segments->partition, segment)->graph;
    char flops_text[ISO_TEXT_NUMBER_BYTES];
    char bytes_text[ISO_TEXT_NUMBER_BYTES];
    double flops = 0.0;
    size_t bytes = 0;
    int count = 0;

    ISO_TRY(iso_graph_flops(graph, &flops));
    ISO_TRY(count_crossings(segments, segment, &count, &bytes));
    iso_text_add(&listing->cells, "%d\t%d\t%s\t%d\t%s\t%d\t%s\n", stage,
                 segment, device_name(listing, segments, segment),
                 count_computed(graph), iso_text_count(flops, flops_text),
                 count, iso_text_bytes(bytes, bytes_text));
    listing->n_segments++;
    listing->n_crossings += count;
    listing->bytes = iso_bytes_add(listing->bytes, bytes);
    return ISO_OK;
}

static iso_status_t add_crossings(listing_t *listing, int stage,
                                  const iso_segments_t *segments)
{
    const iso_partition_t *partition = segments->partition;
    char shape[ISO_SHAPE_TEXT_BYTES];
    char number[ISO_TEXT_NUMBER_BYTES];

    for (int i = 0; i < iso_partition_boundary_count(partition); i++) {
        const iso_boundary_t *one = iso_partition_boundary(partition, i);
        size_t bytes = 0;

        ISO_TRY(iso_tensor_bytes_of(one->dtype, &one->shape, &bytes));
        iso_text_add(
            &listing->lines,
            "stage %d: '%s' %s crosses from segment %d (%s) to %d "
            "(%s), %s\n",
            stage, one->name, iso_shape_text(&one->shape, shape),
            one->from_stage, device_name(listing, segments, one->from_stage),
            one->to_stage, device_name(listing, segments, one->to_stage),
            iso_text_bytes(bytes, number));
    }
    return ISO_OK;
}

static iso_status_t add_segments(listing_t *listing, int stage,
                                 const iso_segments_t *segments)
{
    for (int i = 0; i < segments->count; i++) {
        ISO_TRY(add_segment(listing, stage, segments, i));
    }
    return listing->names ? add_crossings(listing, stage, segments) : ISO_OK;
}

static iso_status_t add_stage(listing_t *listing, int stage,
                              const iso_graph_t *graph)
{
    iso_placement_t placement;
    iso_segments_t *segments = NULL;

    ISO_TRY(iso_placement_create(graph, listing->map, &placement));
    iso_status_t status = iso_segments_create(graph, &placement, &segments);

    if (status == ISO_OK) {
        status = add_segments(listing, stage, segments);
    }
    iso_segments_destroy(&segments);
    iso_placement_free(&placement);
    return status;
}

static void finish(const listing_t *listing, iso_text_t *text)
{
    char number[ISO_TEXT_NUMBER_BYTES];

    iso_text_add(text, "\n");
    iso_table_add(text, "rrlrrrr", &listing->cells);
    iso_text_add(text,
                 "\n%d segment%s; %d value%s, %s, cross%s between them in one "
                 "micro-batch\n",
                 listing->n_segments, listing->n_segments == 1 ? "" : "s",
                 listing->n_crossings, listing->n_crossings == 1 ? "" : "s",
                 iso_text_bytes(listing->bytes, number),
                 listing->n_crossings == 1 ? "es" : "");
    if (listing->lines.length > 0) {
        iso_text_add(text, "%s", listing->lines.data);
    }
}

iso_status_t iso_plan_segments_text(const iso_plan_t *plan,
                                    iso_device_map_t *map,
                                    const iso_machine_t *machine, bool names,
                                    char **text_out)
{
    listing_t listing = {.map = map, .names = names};
    iso_text_t text = {0};
    iso_status_t status = ISO_OK;

    iso_text_add(&listing.cells, "stage\tsegment\tdevice\tnodes\tflops\t"
                                 "crossings in\tbytes\n");
    for (int stage = 0; status == ISO_OK && stage < plan->n_stages; stage++) {
        const int rank = iso_plan_rank_of(plan, stage, 0);

        iso_device_map_set_rank(map, iso_machine_rank(machine, rank));
        status = add_stage(&listing, stage,
                           iso_partition_stage(plan->partition, stage)->graph);
    }
    if (status == ISO_OK) {
        finish(&listing, &text);
        status = text.status == ISO_OK ? listing.cells.status : text.status;
    }
    iso_text_free(&listing.cells);
    iso_text_free(&listing.lines);
    if (status != ISO_OK) {
        iso_text_free(&text);
    }
    *text_out = text.data;
    return status;
}
