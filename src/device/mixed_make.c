#include "base/log.h"
#include "base/mem.h"
#include "device/mixed_impl.h"

#include <string.h>

enum { ALIGNMENT = 64 };

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- What passes between segments ---- */

static int count_outputs(const iso__mixed_t *mixed)
{
    int count = 0;

    for (int s = 0; s < mixed->segments->count; s++) {
        count += iso_graph_output_count(mixed->parts[s].graph);
    }
    return count;
}

static int last_use_of(const iso__mixed_t *mixed, iso_node_id_t node)
{
    const iso_graph_t *whole = mixed->base.graph;
    const char *name = iso_graph_node(whole, node)->name;
    const iso_partition_t *partition = mixed->segments->partition;
    int last = 0;

    for (int i = 0; i < iso_graph_output_count(whole); i++) {
        if (iso_graph_output(whole, i)->node == node) {
            return mixed->segments->count;
        }
    }
    for (int i = 0; i < iso_partition_boundary_count(partition); i++) {
        const iso_boundary_t *one = iso_partition_boundary(partition, i);

        if (one->to_stage > last && strcmp(one->name, name) == 0) {
            last = one->to_stage;
        }
    }
    return last;
}

static void add_values(iso__mixed_t *mixed, int segment)
{
    const iso__segment_t *part = &mixed->parts[segment];

    for (int i = 0; i < iso_graph_output_count(part->graph); i++) {
        const iso_node_id_t inner = iso_graph_output(part->graph, i)->node;
        const iso_node_t *node = iso_graph_node(part->graph, inner);
        const iso_node_id_t outer = part->outer[inner];
        iso_tensor_t view;

        if (iso_node_is_leaf(node)) {
            continue;
        }
        const iso_status_t status =
            iso_tensor_view(node->dtype, &node->shape, NULL, &view);

        ISO_ASSERT(status == ISO_OK);
        mixed->value_of[outer] = mixed->n_values;
        mixed->values[mixed->n_values++] =
            (iso__mixed_value_t){.segment = segment,
                                 .output = i,
                                 .node = outer,
                                 .last = last_use_of(mixed, outer),
                                 .bytes = iso_tensor_bytes(&view)};
    }
}

static bool meet(const iso__mixed_value_t *a, const iso__mixed_value_t *b)
{
    return a->segment <= b->last && b->segment <= a->last &&
           a->offset < b->offset + round_up(b->bytes) &&
           b->offset < a->offset + round_up(a->bytes);
}

/* The first place behind those of earlier values that live at the same time. */
static void place_value(iso__mixed_t *mixed, int index)
{
    iso__mixed_value_t *value = &mixed->values[index];

    value->offset = 0;
    for (int i = 0; i < index; i++) {
        if (meet(value, &mixed->values[i])) {
            value->offset =
                mixed->values[i].offset + round_up(mixed->values[i].bytes);
            i = -1; /* those before may now be in the way */
        }
    }
    if (value->offset + round_up(value->bytes) > mixed->values_bytes) {
        mixed->values_bytes = value->offset + round_up(value->bytes);
    }
}

static iso_status_t find_values(iso__mixed_t *mixed)
{
    const size_t n = (size_t)iso_graph_node_count(mixed->base.graph);

    mixed->values =
        iso_alloc_zeroed((size_t)count_outputs(mixed), sizeof *mixed->values);
    mixed->value_of = iso_alloc_zeroed(n, sizeof *mixed->value_of);
    if (mixed->values == NULL || mixed->value_of == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        mixed->value_of[i] = -1;
    }
    for (int s = 0; s < mixed->segments->count; s++) {
        add_values(mixed, s);
    }
    for (int i = 0; i < mixed->n_values; i++) {
        place_value(mixed, i);
    }
    return ISO_OK;
}

/* ---- Segments ---- */

static iso_status_t map_nodes(const iso_graph_t *whole, iso__segment_t *part)
{
    const int32_t n = iso_graph_node_count(part->graph);
    const int32_t n_whole = iso_graph_node_count(whole);

    part->outer = iso_alloc_zeroed((size_t)n, sizeof *part->outer);
    part->inner = iso_alloc_zeroed((size_t)n_whole, sizeof *part->inner);
    if (part->outer == NULL || part->inner == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n_whole; id++) {
        part->inner[id] = ISO_NO_NODE;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        const iso_node_id_t outer =
            iso_graph_find(whole, iso_graph_node(part->graph, id)->name);

        ISO_ASSERT(outer != ISO_NO_NODE);
        part->outer[id] = outer;
        if (iso_node_is_leaf(iso_graph_node(part->graph, id))) {
            part->inner[outer] = id;
        }
    }
    return ISO_OK;
}

static iso_device_t *device_of(const iso__mixed_t *mixed, int segment)
{
    iso_device_t *device =
        mixed->device->units[mixed->segments->device_of[segment]];

    ISO_ASSERT(device != NULL);
    return device;
}

static iso_status_t count_room(iso__mixed_t *mixed)
{
    size_t most = 0;

    for (int s = 0; s < mixed->segments->count; s++) {
        size_t bytes = 0;

        ISO_TRY(iso_program_buffer_bytes(device_of(mixed, s),
                                         mixed->parts[s].graph,
                                         mixed->base.keeps_values, &bytes));
        most = bytes > most ? bytes : most;
    }
    mixed->room_bytes = mixed->values_bytes + most;
    return ISO_OK;
}

static iso_device_t *any_unit(const iso_device_t *device)
{
    int number = 0;

    while (device->units[number] == NULL) {
        number++;
    }
    return device->units[number];
}

/* The device that computes everything; any, where nothing has a device. NULL:
 * there are several. */
static iso_device_t *single_of(const iso_device_t *device,
                               const iso_placement_t *placement)
{
    const int number = iso_placement_single(placement);

    if (number != ISO_NO_DEVICE) {
        return device->units[number];
    }
    for (iso_node_id_t id = 0; id < placement->n_nodes; id++) {
        if (placement->device_of[id] != ISO_NO_DEVICE) {
            return NULL;
        }
    }
    return any_unit(device);
}

static iso_status_t find_segments(iso__mixed_t *mixed,
                                  iso_device_t **single_out)
{
    iso_placement_t placement;
    iso_status_t status = ISO_OK;

    ISO_TRY(iso_placement_create(mixed->base.graph, mixed->device->map,
                                 &placement));
    *single_out = single_of(mixed->device, &placement);
    if (*single_out == NULL) {
        status = iso_segments_create(mixed->base.graph, &placement,
                                     &mixed->segments);
    }
    iso_placement_free(&placement);
    return status;
}

iso_status_t iso__mixed_find(iso__mixed_t *mixed, iso_device_t **single_out)
{
    ISO_TRY(find_segments(mixed, single_out));
    if (*single_out != NULL) {
        return ISO_OK;
    }
    mixed->parts =
        iso_alloc_zeroed((size_t)mixed->segments->count, sizeof *mixed->parts);
    if (mixed->parts == NULL) {
        return ISO_NOMEM;
    }
    for (int s = 0; s < mixed->segments->count; s++) {
        iso__segment_t *part = &mixed->parts[s];

        part->graph = iso_partition_stage(mixed->segments->partition, s)->graph;
        ISO_TRY(map_nodes(mixed->base.graph, part));
    }
    ISO_TRY(find_values(mixed));
    return count_room(mixed);
}

static iso_status_t make_leaves(iso__mixed_t *mixed)
{
    const int32_t n = iso_graph_node_count(mixed->base.graph);

    mixed->leaves = iso_alloc_zeroed((size_t)n, sizeof *mixed->leaves);
    if (mixed->leaves == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        const iso_node_t *node = iso_graph_node(mixed->base.graph, id);

        ISO_TRY(iso_tensor_view(node->dtype, &node->shape, (void *)node->data,
                                &mixed->leaves[id]));
    }
    return ISO_OK;
}

/* Bind what other segments make. */
static void bind_values(const iso__mixed_t *mixed, const iso__segment_t *part)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(part->graph); id++) {
        const int32_t value = mixed->value_of[part->outer[id]];

        if (iso_graph_node(part->graph, id)->op == ISO_OP_INPUT && value >= 0) {
            iso_program_bind_node(part->program, id,
                                  mixed->room + mixed->values[value].offset);
        }
    }
}

static iso_status_t make_programs(iso__mixed_t *mixed)
{
    const iso_program_options_t options = {
        .buffer = mixed->room + mixed->values_bytes,
        .buffer_bytes = mixed->room_bytes - mixed->values_bytes,
        .keeps_values = mixed->base.keeps_values};

    for (int s = 0; s < mixed->segments->count; s++) {
        iso__segment_t *part = &mixed->parts[s];

        ISO_TRY(iso_program_create(device_of(mixed, s), part->graph, &options,
                                   &part->program));
        part->watch = (iso__watch_t){mixed, part->outer};
        bind_values(mixed, part);
    }
    return ISO_OK;
}

static iso_status_t make_room(iso__mixed_t *mixed,
                              const iso_program_options_t *options)
{
    if (options->buffer != NULL) {
        mixed->room = options->buffer;
        return iso__program_check_buffer(options, mixed->room_bytes);
    }
    mixed->own_room = iso_alloc(mixed->room_bytes);
    mixed->room = mixed->own_room;
    return mixed->own_room != NULL ? ISO_OK : ISO_NOMEM;
}

iso_status_t iso__mixed_make(iso__mixed_t *mixed,
                             const iso_program_options_t *options)
{
    ISO_TRY(make_leaves(mixed));
    ISO_TRY(make_room(mixed, options));
    return make_programs(mixed);
}
