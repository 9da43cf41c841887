/* A plan as stored, and the steps that make one; private to its files. */
#ifndef ISO_PLAN_IMPL_H
#define ISO_PLAN_IMPL_H

#include "isotome/plan.h"

#include "base/arena.h"
#include "plan/plan_local.h"

/* Largest micro-batch that may be asked for. */
enum { ISO__MOST_MICRO_BATCH = INT32_MAX };

struct iso_plan {
    iso_arena_t *arena; /* everything but the split */
    /* Decisions. */
    int world;
    int used;
    int n_stages;
    const int *widths; /* (n_stages) workers, in rank order */
    const int *bases;  /* (n_stages + 1) first rank of each group */
    int64_t micro_batch;
    iso_layer_split_t split;
    iso_stage_cut_t **cuts; /* (n_stages), in model order */
    /* Said with it. */
    int64_t samples;
    iso_split_kind_t split_kind;
    iso_cost_class_t figures; /* the least certain of the ranks used */
    /* Facts of the graph. */
    uint64_t graph_digest;
    int layer_count;
    const char *batch; /* NULL: the graph has no free dim */
    /* Facts that follow from graph and decisions. */
    iso_partition_t *partition; /* at the micro-batch */
    iso_plan_part_t *parts;     /* (used) by rank */
    int n_exchanges;
    iso_plan_exchange_t
        *exchanges; /* (n_exchanges), by stage, as they happen */
    int n_boundaries;
    iso_boundary_t *boundaries; /* (n_boundaries) */
    int n_tied;
    const char **tied;   /* (n_tied) */
    size_t weight_bytes; /* of all stages, tied weights once */
};

/*
 * A plan that knows the facts of the graph and nothing else.
 * Errors: ISO_INVAL for a graph without layers, or with several free dims.
 */
iso_status_t iso__plan_start(const iso_graph_t *graph, iso_plan_t **plan_out);

/* Bind the graph's free dim, if it has one. */
iso_status_t iso__plan_bind(const iso_plan_t *plan, const iso_graph_t *graph,
                            int64_t samples, iso_graph_t **bound_out);

/*
 * Decide the grid: as many stages as there are layers and ranks for, of one
 * worker each, unless options give one.
 */
iso_status_t iso__plan_choose_grid(iso_plan_t *plan,
                                   const iso_plan_options_t *options);

/* The fastest of the plans of all grids of equal widths. */
iso_status_t iso__plan_propose(const iso_graph_t *graph,
                               const iso_machine_t *machine,
                               const iso_plan_options_t *options,
                               iso_plan_t **plan_out);

/* The same grid again, from widths. Errors: ISO_NOMEM. */
iso_status_t iso__plan_set_grid(iso_plan_t *plan, const int *widths,
                                int n_stages);

/* The group of ranks that runs a stage, and back. */
int iso__plan_group_of(const iso_plan_t *plan, int stage);

/* Is a rank left out of its stage's work? Uncalibrated workers are, but for
 * worker 0, who has the stage's inputs. */
bool iso__plan_leaves_out(const iso_plan_t *plan, const iso_machine_t *machine,
                          int rank);

/* Micro-batches that so many samples make, the last one perhaps short. */
int64_t iso__plan_count_batches(int64_t samples, int64_t micro_batch);

/* Decide plan->micro_batch from options. */
iso_status_t iso__plan_choose_batch(iso_plan_t *plan, const iso_graph_t *graph,
                                    const iso_plan_options_t *options);

/* Decide plan->split from options; micro_batch and used are decided. */
iso_status_t iso__plan_choose_split(iso_plan_t *plan, const iso_graph_t *graph,
                                    const iso_machine_t *machine,
                                    const iso_plan_options_t *options);

/* Partition at the micro-batch and list what passes between stages; grid,
 * micro_batch and split are decided. */
iso_status_t iso__plan_cut_stages(iso_plan_t *plan, const iso_graph_t *graph);

/* Room for plan->cuts, all NULL. */
iso_status_t iso__plan_start_cuts(iso_plan_t *plan);

/* Decide plan->cuts; the stages are cut. */
iso_status_t iso__plan_choose_cuts(iso_plan_t *plan,
                                   const iso_machine_t *machine,
                                   const iso_plan_options_t *options);

/* Let values pass between stages in pieces where that fits, by the cuts of
 * inputs; then set what follows from such cuts, or refuse them. */
iso_status_t iso__plan_choose_direct(iso_plan_t *plan);
iso_status_t iso__plan_follow_direct(iso_plan_t *plan);

/* Does a value pass in pieces? Then a worker's piece. */
bool iso__plan_is_direct(const iso_plan_t *plan, const iso_boundary_t *value);
iso_range_t iso__plan_direct_range(const iso_plan_t *plan,
                                   const iso_boundary_t *value, int worker,
                                   int *axis_out);

/* Seconds that a stage is busy with one micro-batch: its slowest worker. */
double iso__plan_busy_s(const iso_plan_t *plan, int stage);

/*
 * Fill in the facts that follow from the decisions, and with a machine also
 * hosts and times.
 */
iso_status_t iso__plan_describe(iso_plan_t *plan, const iso_graph_t *graph,
                                const iso_machine_t *machine);

/* "balanced", "even", "memory", "explicit"; by kind, ends with NULL. */
extern const char *const iso__split_kind_names[];

#endif
