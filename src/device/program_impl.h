/* What a program is to those who run it: a table of functions; private to
 * src/device. host.c has the one of host memory, mixed.c that of several
 * devices. */
#ifndef ISO_PROGRAM_IMPL_H
#define ISO_PROGRAM_IMPL_H

#include "device/device_impl.h"
#include "device/weight.h"

/* Contracts as in device.h and weight.h; what those check is checked. */
typedef struct iso__program_kind {
    void (*destroy)(iso_program_t *program);
    iso_status_t (*uses)(const iso_program_t *program, iso_node_id_t param,
                         iso_weight_uses_t *uses);
    void (*bind_node)(iso_program_t *program, iso_node_id_t node,
                      const void *data);
    void (*bind_weight)(iso_program_t *program, iso_node_id_t param,
                        const iso_weight_t *weight);
    const iso_tensor_t *(*leaf)(const iso_program_t *program,
                                iso_node_id_t node);
    iso_status_t (*begin)(iso_program_t *program);
    iso_status_t (*advance)(iso_program_t *program, iso_pause_t *pause_out);
    iso_status_t (*finish)(iso_program_t *program); /* wait for the outputs;
                                                     * NULL: they are there */
    void (*observe)(iso_program_t *program, iso_program_observer_t *observer,
                    void *arg);
    const void *(*output)(const iso_program_t *program, int index);

    /* Of direct.h. */
    iso_device_t *(*maker)(const iso_program_t *program, int index);
    void (*keep)(iso_program_t *program, int index);
    iso_status_t (*put)(const iso_program_t *program, int index, void *to);
    iso_device_t *(*reader)(const iso_program_t *program, iso_node_id_t input);
    void (*bind_direct)(iso_program_t *program, iso_node_id_t input,
                        const void *data);
} iso__program_kind_t;

/* The first member of each kind of program. */
struct iso_program {
    const iso__program_kind_t *kind;
    const iso_graph_t *graph;
    bool keeps_values;
    bool is_begun; /* every leaf is bound */
    bool failed;   /* since begin */
    bool skips;    /* computes nothing until begin */
};

static inline bool iso__program_bindable(const iso_node_t *node)
{
    return node->op == ISO_OP_INPUT || node->op == ISO_OP_PARAM;
}

/* Is what was lent as large as needed? Errors: ISO_INVAL. */
iso_status_t iso__program_check_buffer(const iso_program_options_t *options,
                                       size_t needed);

/*
 * As iso_program_advance, but at the end the outputs may still be under way:
 * until iso__program_finish, for those who have something to do meanwhile.
 */
iso_status_t iso__program_advance(iso_program_t *program,
                                  iso_pause_t *pause_out);
iso_status_t iso__program_finish(iso_program_t *program);

/* -- the kinds -- */

iso_status_t iso__host_bytes(const iso_device_t *device,
                             const iso_graph_t *graph, bool keeps_values,
                             size_t *bytes_out);
iso_status_t iso__host_create(iso_device_t *device, const iso_graph_t *graph,
                              const iso_program_options_t *options,
                              iso_program_t **program_out);

iso_status_t iso__mixed_bytes(const iso_device_t *device,
                              const iso_graph_t *graph, bool keeps_values,
                              size_t *bytes_out);
iso_status_t iso__mixed_create(iso_device_t *device, const iso_graph_t *graph,
                               const iso_program_options_t *options,
                               iso_program_t **program_out);

#endif
