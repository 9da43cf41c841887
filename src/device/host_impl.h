/* A program that works in host memory: made in host_make.c, bound in
 * host_bind.c, run in host.c. */
#ifndef ISO_HOST_IMPL_H
#define ISO_HOST_IMPL_H

#include "device/program_impl.h"
#include "plan/memory_plan.h"

typedef enum iso__step_kind {
    ISO__STEP_COMPUTE,
    ISO__STEP_CONVERT,  /* a value into its copy in the other format */
    ISO__STEP_EXCHANGE, /* the caller's */
} iso__step_kind_t;

typedef struct iso__step {
    iso__step_kind_t kind;
    iso_node_id_t node;    /* whose value is made or copied */
    int exchange;          /* number of an exchange */
    iso_node_id_t weights; /* leaf that is packed; ISO_NO_NODE: none */
    iso_panels_spec_t spec;
    double least_s;      /* of a throttled device: it takes no less */
    iso_cpu_step_t what; /* of a COMPUTE; the operand of an EXCHANGE */
} iso__step_t;

/* What a leaf is bound to. */
typedef struct iso__bound {
    const iso_weight_t *weight; /* NULL: plain elements */
    iso_weight_t *own;          /* of plain elements that are packed here */
    bool is_stale;              /* own was not packed since it was bound */
} iso__bound_t;

/*
 * A value is a view for each node, in the format in which it is made; copies
 * are views of those in the other one. Leaves point where the caller bound
 * them, aliases follow.
 */
typedef struct iso__host {
    iso_program_t base;
    iso_device_t *device;
    iso_formats_t formats; /* n_nodes 0: all plain */
    iso_memory_plan_t plan;
    iso_tensor_t *values; /* (n_nodes) */
    iso_tensor_t *copies; /* (n_nodes) data NULL where there is none */
    iso__bound_t *bound;  /* (n_nodes) */
    iso__step_t *steps;   /* (n_steps) */
    int32_t n_steps;
    const iso_tensor_t **inputs; /* of all steps, one after the other */
    iso_format_t *read;          /* likewise: in which format */
    const iso_view_t **views;    /* likewise: as which view, or NULL */
    iso_cpu_link_t *links;       /* of all chains, one after the other */
    int *link_inputs;            /* as inputs: iso_cpu_link_t.links */
    char *buffer;
    void *own_buffer; /* NULL when lent */
    bool is_bound;    /* every leaf, and aliases are up to date */

    int32_t next;              /* step to run */
    const iso__step_t *paused; /* exchange under way, or NULL */
    iso_program_observer_t *observer;
    void *observer_arg;
    void *seen; /* plain elements of a blocked value, for the observer */
} iso__host_t;

/* Fill plan, values and steps of a program that has device and graph. */
iso_status_t iso__host_make(iso__host_t *program,
                            const iso_program_options_t *options);

/* The format in which a value is made. */
static inline iso_format_t iso__host_made(const iso__host_t *program,
                                          iso_node_id_t node)
{
    return program->formats.n_nodes == 0 ? ISO_FORMAT_PLAIN
                                         : program->formats.made[node];
}

/*
 * Check the leaves, pack what is to be packed, and let aliases point where
 * their owners do. Errors: ISO_INVAL naming a leaf that is not bound;
 * ISO_NOMEM.
 */
iso_status_t iso__host_finish_binding(iso__host_t *program);

/* Of the table (program_impl.h). */
iso_status_t iso__host_uses(const iso_program_t *program, iso_node_id_t param,
                            iso_weight_uses_t *uses);
void iso__host_bind_node(iso_program_t *program, iso_node_id_t node,
                         const void *data);
void iso__host_bind_weight(iso_program_t *program, iso_node_id_t param,
                           const iso_weight_t *weight);
const iso_tensor_t *iso__host_leaf(const iso_program_t *program,
                                   iso_node_id_t node);

/* Fill all of a weight again. */
void iso__weight_refill(iso_weight_t *weight, const void *data);

/* Panels of a weight; NULL when it has none of this kind. */
const iso_panels_t *iso__weight_panels(const iso_weight_t *weight,
                                       const iso_panels_spec_t *spec);

#endif
