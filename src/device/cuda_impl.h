/*
 * A program that works in a GPU's memory, node by node; private to src/device.
 * Params are copied to the GPU once for all programs of the device; inputs
 * when a run begins, outputs and the operands of exchanges when they are made.
 * Copies and kernels run in the order in which they were asked for, beside the
 * host. Made in cuda_make.c, run in cuda.c.
 */
#ifndef ISO_DEVICE_CUDA_IMPL_H
#define ISO_DEVICE_CUDA_IMPL_H

#include "device/program_impl.h"
#include "kernel/cuda.h"
#include "plan/memory_plan.h"

/* A weight on the GPU, as long as a program uses it. */
typedef struct iso__resident {
    const iso_weight_t *weight;
    void *data;
    int n_users;
    struct iso__resident *next;
} iso__resident_t;

typedef struct iso__cuda_step {
    iso_node_id_t node;
    int exchange; /* number; -1: the GPU computes it */
    const iso_tensor_t **inputs;
} iso__cuda_step_t;

/* What a leaf is bound to. */
typedef struct iso__cuda_bound {
    const void *data;           /* in host memory; NULL: nothing */
    const iso_weight_t *weight; /* filled once; NULL: plain elements */
    iso__resident_t *resident;  /* of weight */
    void *own;                  /* on the GPU; NULL: resident is used */
    bool is_stale;              /* not copied since it was bound */
    bool is_direct;             /* data is on the GPU */
} iso__cuda_bound_t;

typedef struct iso__cuda {
    iso_program_t base;
    iso_device_t *device;
    iso_memory_plan_t plan;
    iso_tensor_t *values;     /* (n_nodes) on the GPU */
    iso_tensor_t *leaves;     /* (n_nodes) in host memory */
    iso__cuda_bound_t *bound; /* (n_nodes) */
    iso__cuda_step_t *steps;  /* (n_steps) */
    int32_t n_steps;
    const iso_tensor_t **inputs; /* of all steps, one after the other */
    void *room;                  /* of the activations */
    void *scratch;               /* of one kernel at a time */
    char *outputs;               /* pinned: (all outputs) */
    size_t *output_at;           /* (n_outputs) */
    bool *is_kept;               /* (n_outputs) stays on the GPU */
    iso_tensor_t sent;           /* pinned: operand of an exchange */
    iso_tensor_t received;       /* pinned: its value */
    int32_t next;                /* step; -1: inputs are to be copied first */
    const iso__cuda_step_t *paused;
    iso_program_observer_t *observer;
    void *observer_arg;
    void *seen; /* elements of any value, for the observer */
} iso__cuda_t;

static inline const iso_node_t *iso__cuda_node(const iso__cuda_t *cuda,
                                               iso_node_id_t id)
{
    return iso_graph_node(cuda->base.graph, id);
}

/* Reserve everything; base and device are set. */
iso_status_t iso__cuda_make(iso__cuda_t *cuda);

iso_status_t iso__cuda_create(iso_device_t *device, const iso_graph_t *graph,
                              const iso_program_options_t *options,
                              iso_program_t **program_out);

#endif
