/* The table that people read. */
#include "base/mem.h"
#include "base/table.h"
#include "plan/plan_impl.h"
#include "plan/plan_json_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LISTED_NAMES = 6 };

/* -- head -- */

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

static void add_row(const iso_plan_stage_t *stage, iso_text_t *cells)
{
    char number[ISO_TEXT_NUMBER_BYTES];

    iso_text_add(cells, "%d\t%d\t%.*s", stage->rank, stage->stage,
                 ISO_TABLE_HOST_LENGTH, stage->host);
    add_layers(&stage->layers, cells);
    add_bytes(stage->weight_bytes, cells);
    add_bytes(stage->activation_bytes, cells);
    add_bytes(stage->buffer_bytes, cells);
    add_bytes(stage->peak_bytes, cells);
    add_bytes(stage->receive_bytes, cells);
    add_bytes(stage->send_bytes, cells);
    iso_text_add(cells, "\t%s", iso_text_count(stage->flops, number));
    iso_text_add(cells, "\t%s", iso_text_seconds(stage->compute_s, number));
    iso_text_add(cells, "\t%s\n", iso_text_seconds(stage->send_s, number));
}

static void add_table(const iso_plan_t *plan, iso_text_t *text)
{
    iso_text_t cells = {0};
    char number[ISO_TEXT_NUMBER_BYTES];
    double flops = 0.0;

    iso_text_add(&cells,
                 "rank\tstage\thost\tlayers\tweights\tactivations\tbuffers\t"
                 "peak\treceived\tsent\tflops\tcompute\tsend\n");
    for (int rank = 0; rank < plan->used; rank++) {
        add_row(&plan->stages[rank], &cells);
        flops += plan->stages[rank].flops;
    }
    iso_text_add(&cells, "all\t\t\t%d", plan->layer_count);
    add_bytes(plan->weight_bytes, &cells);
    iso_text_add(&cells, "\t\t\t\t\t\t%s\n", iso_text_count(flops, number));
    iso_table_add(text, "rrlrrrrrrrrrr", &cells);
    iso_text_free(&cells);
    iso_text_add(text, "\nweights to peak are bytes in memory; received to "
                       "send are for one micro-batch: bytes,\n"
                       "floating-point operations, predicted times\n");
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
    add_time(plan, &text);
    add_notes_on_ranks(plan, &text);
    add_tied(plan, &text);
    add_skips(plan, &text);
    if (text.status != ISO_OK) {
        iso_text_free(&text);
    }
    return text.data;
}
