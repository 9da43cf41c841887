/* The table that people read. */
#include "base/mem.h"
#include "base/text.h"
#include "plan/plan_impl.h"
#include "plan/plan_json_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LISTED_NAMES = 6, CELL_BYTES = 64 };

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

static int host_width(const iso_plan_t *plan)
{
    size_t width = strlen("host");

    for (int rank = 0; rank < plan->used; rank++) {
        size_t length = strlen(plan->stages[rank].host);
        width = length > width ? length : width;
    }
    return width > 40 ? 40 : (int)width;
}

static void add_layers(const iso_layer_range_t *range, char *cell)
{
    int64_t last = range->start + range->count - 1;

    if (range->count == 1) {
        (void)snprintf(cell, CELL_BYTES, "%" PRId64, last);
    } else {
        (void)snprintf(cell, CELL_BYTES, "%" PRId64 "-%" PRId64, range->start,
                       last);
    }
}

static void add_row(const iso_plan_stage_t *stage, int width, iso_text_t *text)
{
    const size_t bytes[] = {stage->weight_bytes, stage->activation_bytes,
                            stage->buffer_bytes, stage->scratch_bytes,
                            stage->peak_bytes,   stage->receive_bytes,
                            stage->send_bytes};
    char layers[CELL_BYTES];
    char number[ISO_TEXT_NUMBER_BYTES];

    add_layers(&stage->layers, layers);
    iso_text_add(text, "%4d %5d  %-*.*s %9s", stage->rank, stage->stage, width,
                 width, stage->host, layers);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        iso_text_add(text, " %10s", iso_text_bytes(bytes[i], number));
    }
    iso_text_add(text, " %8s", iso_text_count(stage->flops, number));
    iso_text_add(text, " %9s", iso_text_seconds(stage->compute_s, number));
    iso_text_add(text, " %9s\n", iso_text_seconds(stage->send_s, number));
}

static void add_table(const iso_plan_t *plan, iso_text_t *text)
{
    char number[ISO_TEXT_NUMBER_BYTES];
    int width = host_width(plan);
    double flops = 0.0;

    iso_text_add(text,
                 "%4s %5s  %-*s %9s %10s %10s %10s %10s %10s %10s %10s %8s %9s "
                 "%9s\n",
                 "rank", "stage", width, "host", "layers", "weights",
                 "activation", "buffers", "scratch", "peak", "receive", "send",
                 "flop", "compute", "sending");
    for (int rank = 0; rank < plan->used; rank++) {
        add_row(&plan->stages[rank], width, text);
        flops += plan->stages[rank].flops;
    }
    iso_text_add(text, "%4s %5s  %-*s %9d %10s", "all", "", width, "",
                 plan->layer_count, iso_text_bytes(plan->weight_bytes, number));
    iso_text_add(text, " %10s %10s %10s %10s %10s %10s", "", "", "", "", "",
                 "");
    iso_text_add(text, " %8s\n", iso_text_count(flops, number));
    iso_text_add(text,
                 "\nBytes are for one rank; flop, bytes received and sent and "
                 "times are for one micro-batch.\n");
}

static void add_time(const iso_plan_t *plan, iso_text_t *text)
{
    char number[ISO_TEXT_NUMBER_BYTES];
    int64_t batches = plan->samples / plan->micro_batch +
                      (plan->samples % plan->micro_batch != 0 ? 1 : 0);

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
