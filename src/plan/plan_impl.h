/* A plan as stored, and the steps that make one; private to its files. */
#ifndef ISO_PLAN_IMPL_H
#define ISO_PLAN_IMPL_H

#include "isotome/plan.h"

#include "base/arena.h"

/*
 * Resident bytes of a process of this program before it holds anything of a
 * model: the program, MPI with its shared memory, HDF5.
 */
#define ISO__PROCESS_BASE_BYTES ((size_t)28 << 20)

/* Largest micro-batch that may be asked for. */
enum { ISO__MOST_MICRO_BATCH = INT32_MAX };

struct iso_plan {
    iso_arena_t *arena; /* everything but the split */
    /* Decisions. */
    int world;
    int used;
    int64_t micro_batch;
    iso_layer_split_t split;
    /* Said with it. */
    int64_t samples;
    iso_split_kind_t split_kind;
    iso_cost_class_t figures; /* the least certain of the ranks used */
    /* Facts of the graph. */
    uint64_t graph_digest;
    int layer_count;
    const char *batch; /* NULL: the graph has no free dim */
    /* Facts that follow from graph and decisions. */
    iso_plan_stage_t *stages; /* (used) by rank */
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

/* Micro-batches that so many samples make, the last one perhaps short. */
int64_t iso__plan_count_batches(int64_t samples, int64_t micro_batch);

/* Decide plan->micro_batch from options. */
iso_status_t iso__plan_choose_batch(iso_plan_t *plan, const iso_graph_t *graph,
                                    const iso_plan_options_t *options);

/* Decide plan->split from options; micro_batch and used are decided. */
iso_status_t iso__plan_choose_split(iso_plan_t *plan, const iso_graph_t *graph,
                                    const iso_machine_t *machine,
                                    const iso_plan_options_t *options);

/*
 * Fill in the facts that follow from the decisions, and with a machine also
 * hosts and times.
 */
iso_status_t iso__plan_describe(iso_plan_t *plan, const iso_graph_t *graph,
                                const iso_machine_t *machine);

/* "balanced", "even", "memory", "explicit"; by kind, ends with NULL. */
extern const char *const iso__split_kind_names[];

#endif
