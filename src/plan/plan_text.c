/* The table that people read. */
#include "base/mem.h"
#include "base/table.h"
#include "plan/buffers.h"
#include "plan/plan_impl.h"
#include "plan/plan_json_impl.h"
#include "plan/shard/cut.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LISTED_NAMES = 6 };

/* -- head -- */

static bool has_workers(const iso_plan_t *plan)
{
    return plan->used > plan->n_stages;
}

static void add_grid(const iso_plan_t *plan, iso_text_t *text)
{
    iso_text_add(text, "grid ");
    for (int group = 0; group < plan->n_stages; group++) {
        iso_text_add(text, "%s%d", group == 0 ? "" : ",", plan->widths[group]);
    }
    iso_text_add(text, ": %d %s of workers that share each op\n",
                 plan->n_stages, plan->n_stages == 1 ? "stage" : "stages");
}

static void add_head(const iso_plan_t *plan, iso_text_t *text)
{
    char *split = iso_layer_split_text(&plan->split);
    char digest[ISO__DIGEST_TEXT_BYTES];

    if (split == NULL) {
        text->status = ISO_NOMEM;
        return;
    }
    iso_text_add(text, "%d %s on %d of %d %s, micro-batch %" PRId64 "\n",
                 plan->layer_count, plan->layer_count == 1 ? "layer" : "layers",
                 plan->used, plan->world, plan->world == 1 ? "rank" : "ranks",
                 plan->micro_batch);
    if (has_workers(plan)) {
        add_grid(plan, text);
    }
    iso_text_add(text,
                 "split %s (%s), rank 0 holds the last layers; fingerprint "
                 "%" PRIu32 "\n",
                 split, iso__split_kind_names[plan->split_kind],
                 iso_layer_split_fingerprint24(&plan->split));
    iso_text_add(text, "plan %s, ",
                 iso__digest_text(iso_plan_digest(plan), digest));
    iso_text_add(text, "graph %s\n\n",
                 iso__digest_text(plan->graph_digest, digest));
    iso_free(split);
}

/* -- table -- */

static void add_layers(const iso_layer_range_t *range, iso_text_t *cells)
{
    int64_t last = range->start + range->count - 1;

    if (range->count == 1) {
        iso_text_add(cells, "\t%" PRId64, last);
    } else {
        iso_text_add(cells, "\t%" PRId64 "-%" PRId64, range->start, last);
    }
}

static void add_bytes(size_t bytes, iso_text_t *cells)
{
    char number[ISO_TEXT_NUMBER_BYTES];

    iso_text_add(cells, "\t%s", iso_text_bytes(bytes, number));
}

static void add_stage(const iso_plan_t *plan, const iso_plan_part_t *part,
                      iso_text_t *cells)
{
    if (has_workers(plan)) {
        iso_text_add(cells, "%d\t%d.%d", part->rank, part->stage, part->worker);
    } else {
        iso_text_add(cells, "%d\t%d", part->rank, part->stage);
    }
}

static void add_row(const iso_plan_t *plan, const iso_plan_part_t *part,
                    iso_text_t *cells)
{
    char number[ISO_TEXT_NUMBER_BYTES];

    add_stage(plan, part, cells);
    iso_text_add(cells, "\t%.*s", ISO_TABLE_HOST_LENGTH, part->host);
    add_layers(&part->layers, cells);
    add_bytes(part->held_bytes, cells);
    add_bytes(part->activation_bytes, cells);
    add_bytes(part->buffer_bytes, cells);
    add_bytes(part->peak_bytes, cells);
    add_bytes(part->receive_bytes, cells);
    add_bytes(part->send_bytes, cells);
    if (has_workers(plan)) {
        add_bytes(part->exchange_bytes, cells);
    }
    iso_text_add(cells, "\t%s", iso_text_count(part->flops, number));
    iso_text_add(cells, "\t%s", iso_text_seconds(part->compute_s, number));
    if (has_workers(plan)) {
        iso_text_add(cells, "\t%s", iso_text_seconds(part->exchange_s, number));
    }
    iso_text_add(cells, "\t%s\n", iso_text_seconds(part->send_s, number));
}

static void add_table(const iso_plan_t *plan, iso_text_t *text)
{
    iso_text_t cells = {0};
    bool workers = has_workers(plan);
    char number[ISO_TEXT_NUMBER_BYTES];
    double flops = 0.0;

    iso_text_add(&cells,
                 "rank\tstage\thost\tlayers\tweights\tactivations\tbuffers\t"
                 "peak\treceived\tsent\t%sflops\tcompute\t%ssend\n",
                 workers ? "exchanged\t" : "", workers ? "exchange\t" : "");
    for (int rank = 0; rank < plan->used; rank++) {
        add_row(plan, &plan->parts[rank], &cells);
        flops += plan->parts[rank].flops;
    }
    iso_text_add(&cells, "all\t\t\t%d", plan->layer_count);
    add_bytes(plan->weight_bytes, &cells);
    iso_text_add(&cells, "\t\t\t\t\t%s\t%s\n", workers ? "\t" : "",
                 iso_text_count(flops, number));
    iso_table_add(text, workers ? "rrlrrrrrrrrrrrr" : "rrlrrrrrrrrrr", &cells);
    iso_text_free(&cells);
    iso_text_add(text, "\nweights to peak are bytes in memory; received to "
                       "send are for one micro-batch: bytes,\n"
                       "floating-point operations, predicted times\n");
}

/* -- cuts -- */

/* Ops that are cut alike, in the order of their first one. */
typedef struct tally {
    const char *what;
    int64_t count;
    size_t bytes;
} tally_t;

enum { MOST_TALLIES = 24 };

static void tally(tally_t *tallies, const char *what, size_t bytes)
{
    int i = 0;

    while (i < MOST_TALLIES - 1 && tallies[i].what != NULL &&
           strcmp(tallies[i].what, what) != 0) {
        i++;
    }
    tallies[i].what = what;
    tallies[i].count++;
    tallies[i].bytes = iso_bytes_add(tallies[i].bytes, bytes);
}

static const char *name_cut(const iso_graph_t *graph, iso_node_id_t node,
                            const iso_node_cut_t *cut)
{
    switch (cut->kind) {
    case ISO_CUT_ONE:
        return "whole on one";
    case ISO_CUT_ALL:
        return "whole on all";
    case ISO_CUT_SPLIT:
        return iso_cut_axis_name(graph, node, cut->axis);
    case ISO_CUT_PARTIAL:
        break;
    }
    return iso_cut_reduction_name(graph, node);
}

static void add_ops(const iso_plan_t *plan, int stage, iso_text_t *text)
{
    const iso_graph_t *graph =
        iso_partition_stage(plan->partition, stage)->graph;
    const iso_stage_cut_t *cut = plan->cuts[stage];
    tally_t tallies[MOST_TALLIES] = {0};

    for (iso_node_id_t id = 0; id < cut->n_nodes; id++) {
        if (!iso_node_is_leaf(iso_graph_node(graph, id))) {
            tally(tallies, name_cut(graph, id, &cut->nodes[id]), 0);
        }
    }
    for (int i = 0; i < MOST_TALLIES && tallies[i].what != NULL; i++) {
        iso_text_add(text, "%s%s %" PRId64, i == 0 ? "" : ", ", tallies[i].what,
                     tallies[i].count);
    }
}

static void add_exchanges(const iso_plan_t *plan, int stage, iso_text_t *text)
{
    tally_t tallies[MOST_TALLIES] = {0};
    char number[ISO_TEXT_NUMBER_BYTES];

    for (int i = 0; i < plan->n_exchanges; i++) {
        const iso_plan_exchange_t *one = &plan->exchanges[i];

        if (one->stage == stage) {
            tally(tallies, iso_exchange_kind_string(one->kind), one->bytes);
        }
    }
    iso_text_add(text, "; exchanges: %s",
                 tallies[0].what == NULL ? "none" : "");
    for (int i = 0; i < MOST_TALLIES && tallies[i].what != NULL; i++) {
        iso_text_add(text, "%s%s %" PRId64 " (%s)", i == 0 ? "" : ", ",
                     tallies[i].what, tallies[i].count,
                     iso_text_bytes(tallies[i].bytes, number));
    }
    iso_text_add(text, "\n");
}

static void add_cuts(const iso_plan_t *plan, iso_text_t *text)
{
    for (int stage = 0; stage < plan->n_stages; stage++) {
        if (iso_plan_width(plan, stage) > 1) {
            iso_text_add(text, "stage %d, ops by how they are cut: ", stage);
            add_ops(plan, stage, text);
            add_exchanges(plan, stage, text);
        }
    }
}

static void add_time(const iso_plan_t *plan, iso_text_t *text)
{
    char number[ISO_TEXT_NUMBER_BYTES];
    int64_t batches = iso__plan_count_batches(plan->samples, plan->micro_batch);

    if (plan->samples == 0) {
        return;
    }
    iso_text_add(
        text,
        "%" PRId64 " samples in %" PRId64 " micro-batches: %s, %.1f %% "
        "of the ranks' time idle while the pipeline fills and drains\n",
        plan->samples, batches,
        iso_text_seconds(iso_plan_seconds(plan, 0), number),
        100.0 * iso_plan_bubble(plan, 0));
}

/* -- notes -- */

static void add_notes_on_ranks(const iso_plan_t *plan, iso_text_t *text)
{
    int first = plan->used;
    int last = plan->world - 1;

    if (first == last) {
        iso_text_add(text, "note: rank %d stays idle: ", first);
    } else if (first < last) {
        iso_text_add(text, "note: ranks %d to %d stay idle: ", first, last);
    }
    if (first <= last) {
        iso_text_add(text, "the model has only %d %s\n", plan->layer_count,
                     plan->layer_count == 1 ? "layer" : "layers");
    }
    for (int rank = 0; rank < plan->used; rank++) {
        const iso_plan_part_t *part = &plan->parts[rank];

        if (part->figures == ISO_COST_UNCALIBRATED && part->worker > 0) {
            iso_text_add(text,
                         "note: rank %d on %s is uncalibrated, so that its "
                         "stage gives it nothing to do\n",
                         rank, part->host);
        }
    }
    if (plan->figures == ISO_COST_DEFAULT) {
        iso_text_add(text, "note: times are from default figures, not from "
                           "measurements of the machine\n");
    } else if (plan->figures == ISO_COST_UNCALIBRATED) {
        iso_text_add(text, "note: times are not to be trusted: a rank is "
                           "uncalibrated\n");
    }
}

static void add_tied(const iso_plan_t *plan, iso_text_t *text)
{
    for (int i = 0; i < plan->n_tied && i < LISTED_NAMES; i++) {
        iso_text_add(text,
                     "note: weight '%s' is loaded by more than one stage and "
                     "counted once in the total\n",
                     plan->tied[i]);
    }
    if (plan->n_tied > LISTED_NAMES) {
        iso_text_add(text, "note: so are %d others\n",
                     plan->n_tied - LISTED_NAMES);
    }
}

static void add_skips(const iso_plan_t *plan, iso_text_t *text)
{
    int skips = 0;

    for (int i = 0; i < plan->n_boundaries; i++) {
        const iso_boundary_t *one = &plan->boundaries[i];
        if (one->to_stage == one->from_stage + 1) {
            continue;
        }
        skips++;
        if (skips <= LISTED_NAMES) {
            iso_text_add(text,
                         "note: '%s' is sent directly from stage %d to stage "
                         "%d\n",
                         one->name, one->from_stage, one->to_stage);
        }
    }
    if (skips > LISTED_NAMES) {
        iso_text_add(text, "note: and %d other values skip stages\n",
                     skips - LISTED_NAMES);
    }
}

char *iso_plan_text(const iso_plan_t *plan)
{
    iso_text_t text = {0};

    add_head(plan, &text);
    add_table(plan, &text);
    add_cuts(plan, &text);
    add_time(plan, &text);
    add_notes_on_ranks(plan, &text);
    add_tied(plan, &text);
    add_skips(plan, &text);
    if (text.status != ISO_OK) {
        iso_text_free(&text);
    }
    return text.data;
}
