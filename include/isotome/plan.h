/*
 * Plan: everything that is decided before a run, as one value.
 *
 * Made by a pure function of (graph, machine, options), the same on every
 * rank; compared between ranks by digest; written as JSON (isotome-plan(5)),
 * mailed, diffed and replayed.
 *
 *     iso_plan_options_t options = {.world = 4, .micro_batch = 16};
 *     ISO_TRY(iso_plan_create(graph, machine, &options, &plan));
 *     ISO_TRY(iso_plan_write(plan, "plan.json"));
 *
 * The graph is the model's (free dims allowed); the plan binds its free dims
 * to the micro-batch.
 */
#ifndef ISO_PLAN_H
#define ISO_PLAN_H

#include "isotome/graph.h"
#include "isotome/layer_split.h"
#include "isotome/machine.h"
#include "isotome/partition.h"

#include <stdbool.h>

typedef enum iso_split_kind {
    ISO_SPLIT_BALANCED, /* the default */
    ISO_SPLIT_EVEN,
    ISO_SPLIT_MEMORY,   /* in proportion to the ranks' memory */
    ISO_SPLIT_EXPLICIT, /* counts are given */
} iso_split_kind_t;

/*
 * The ranks as a grid: stages one after the other, each of one or more
 * workers. Widths are in rank order, as the counts of a split: the first
 * belongs to the group of ranks that holds the last layers. Worker 0 of a
 * stage is the lowest of its ranks; it receives and sends what does not pass
 * between stages in pieces.
 */
typedef struct iso_grid {
    int n_stages;
    const int *widths; /* (n_stages) workers, each >= 1 */
} iso_grid_t;

/* Samples of a job whose size is not known, where grids are compared: long
 * enough that the pipeline's filling does not decide. */
enum { ISO_PLAN_JOB_SAMPLES = 1024 };

/*
 * Resident bytes of a process of this program before it holds anything of a
 * model: the program, MPI with its shared memory, HDF5.
 */
#define ISO_PLAN_PROCESS_BYTES ((size_t)28 << 20)

/* How the ops of a stage with several workers are cut. */
typedef enum iso_cut_choice {
    ISO_CUT_CHOSEN, /* by predicted time (the default) */
    ISO_CUT_RANDOM, /* legal, at random: to test that no cut changes a bit */
} iso_cut_choice_t;

typedef struct iso_plan_options {
    int world;           /* ranks at hand, >= 1 */
    int64_t micro_batch; /* samples; 0: chosen by the planner */
    iso_split_kind_t split_kind;
    const iso_layer_split_t *split; /* for ISO_SPLIT_EXPLICIT; borrowed */
    /* The grid itself (borrowed), or how many stages there are and how many
     * workers each has; 0: not said. Nothing said: one worker each,
     * as many stages as there are ranks or layers. */
    iso_grid_t grid;
    int stages;
    int workers;
    bool propose; /* nothing said: the fastest predicted grid of equal widths,
                   * for samples, or ISO_PLAN_JOB_SAMPLES when these are 0 */
    bool strict;  /* more ranks than layers is an error, not idle ranks */
    int64_t samples; /* in the whole job, for time and bubble; 0: unknown */
    iso_cut_choice_t cuts;
    uint64_t seed; /* for ISO_CUT_RANDOM */
} iso_plan_options_t;

/* One rank's part. Bytes are for one rank; times for one micro-batch. */
typedef struct iso_plan_part {
    int rank;
    int stage;  /* model order */
    int worker; /* of the stage */
    const char *host;
    /* Of the rank's figures. An uncalibrated worker has nothing to do, unless
     * it is worker 0. */
    iso_cost_class_t figures;
    iso_layer_range_t layers;
    size_t weight_bytes;     /* read from the model file */
    size_t held_bytes;       /* those weights in memory, as kernels want them */
    size_t activation_bytes; /* the liveness plan's buffer */
    size_t scratch_bytes;    /* the largest of its kernels' needs */
    size_t buffer_bytes;     /* messages, exchanges, inputs and outputs */
    size_t peak_bytes;       /* predicted resident peak of the process */
    double flops;
    size_t receive_bytes;  /* tensors from other stages; without headers */
    size_t send_bytes;     /* tensors to other stages */
    size_t exchange_bytes; /* sent to other workers of its stage */
    double compute_s;
    double exchange_s; /* the same for all workers of a stage */
    double send_s;
} iso_plan_part_t;

typedef struct iso_plan iso_plan_t;

/*
 * Errors: ISO_INVAL (strict with too many ranks; a split that does not fit
 * the model; "does not fit" in memory), those of binding and partition.
 */
iso_status_t iso_plan_create(const iso_graph_t *graph,
                             const iso_machine_t *machine,
                             const iso_plan_options_t *options,
                             iso_plan_t **plan_out);
void iso_plan_destroy(iso_plan_t **plan);

int iso_plan_world(const iso_plan_t *plan); /* ranks asked for */
int iso_plan_used(const iso_plan_t *plan);  /* ranks with a part */
int iso_plan_stage_count(const iso_plan_t *plan);
int iso_plan_width(const iso_plan_t *plan, int stage); /* workers */
int iso_plan_rank_of(const iso_plan_t *plan, int stage, int worker);
int64_t iso_plan_micro_batch(const iso_plan_t *plan);

/* Name of the free dim that the micro-batch is bound to; NULL when the model
 * has none (then the micro-batch is 1: one pass). */
const char *iso_plan_batch(const iso_plan_t *plan);
int iso_plan_layer_count(const iso_plan_t *plan);
const iso_layer_split_t *iso_plan_split(const iso_plan_t *plan);
const iso_plan_part_t *iso_plan_part(const iso_plan_t *plan, int rank);

/* What passes between stages, at full micro-batch size, ordered by (to_stage,
 * from_stage, node): boundaries, and outputs of early stages on their way to
 * rank 0. */
int iso_plan_boundary_count(const iso_plan_t *plan);
const iso_boundary_t *iso_plan_boundary(const iso_plan_t *plan, int index);

/* Predicted seconds for samples (the options' when 0; 0 when these are 0 too)
 * and the share of the ranks' time that is idle while the pipeline fills and
 * drains. Loading is not counted. */
double iso_plan_seconds(const iso_plan_t *plan, int64_t samples);
double iso_plan_bubble(const iso_plan_t *plan, int64_t samples);

/*
 * The stage graphs of this plan for a batch of `samples` (the micro-batch, or
 * fewer for the last one): bind, partition by the plan's split, fold each
 * stage. The cut comes before folding, which depends on the numbers, so that
 * stages, boundaries and names are the same for every batch. Node names of
 * the model are kept.
 * Errors: ISO_INVAL for samples outside 1 .. micro-batch or a graph that the
 * split does not fit; those of binding and folding.
 */
iso_status_t iso_plan_partition(const iso_plan_t *plan,
                                const iso_graph_t *graph, int64_t samples,
                                iso_partition_t **partition_out);

/* Digest of the graph that the plan was made for. */
uint64_t iso_plan_graph_digest(const iso_plan_t *plan);
uint64_t iso_plan_digest(const iso_plan_t *plan);

/* The table that `isotome plan` prints; owned by the caller, iso_free(). */
char *iso_plan_text(const iso_plan_t *plan);

iso_status_t iso_plan_write(const iso_plan_t *plan, const char *path);

/* Errors: ISO_INPUT naming the place; ISO_DISAGREE when the plan was made
 * for another graph (both digests). */
iso_status_t iso_plan_read(const char *path, const iso_graph_t *graph,
                           iso_plan_t **plan_out);

#endif
