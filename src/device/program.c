#include "isotome/error.h"

#include "base/log.h"
#include "device/cuda_impl.h"

#include <stdint.h>

iso_status_t iso_program_buffer_bytes(const iso_device_t *device,
                                      const iso_graph_t *graph,
                                      bool keeps_values, size_t *bytes_out)
{
    *bytes_out = 0;
    if (device->cuda != NULL) { /* it has memory of its own */
        return ISO_OK;
    }
    return device->map != NULL
               ? iso__mixed_bytes(device, graph, keeps_values, bytes_out)
               : iso__host_bytes(device, graph, keeps_values, bytes_out);
}

iso_status_t iso_program_create(iso_device_t *device, const iso_graph_t *graph,
                                const iso_program_options_t *options,
                                iso_program_t **program_out)
{
    *program_out = NULL;
    return device->map != NULL
               ? iso__mixed_create(device, graph, options, program_out)
           : device->cuda != NULL
               ? iso__cuda_create(device, graph, options, program_out)
               : iso__host_create(device, graph, options, program_out);
}

iso_status_t iso__program_check_buffer(const iso_program_options_t *options,
                                       size_t needed)
{
    return options->buffer_bytes >= needed
               ? ISO_OK
               : iso_fail(ISO_INVAL,
                          "activation buffer has %zu bytes, the program "
                          "needs %zu",
                          options->buffer_bytes, needed);
}

void iso_program_destroy(iso_program_t **program)
{
    if (*program != NULL) {
        (*program)->kind->destroy(*program);
        *program = NULL;
    }
}

/* ---- Leaves ---- */

enum { LEAST_ALIGNMENT = 4 };

static size_t alignment_of(const iso_node_t *node)
{
    const size_t bytes = iso_dtype_bytes(node->dtype);

    return bytes > LEAST_ALIGNMENT ? bytes : LEAST_ALIGNMENT;
}

iso_status_t iso_program_uses(const iso_program_t *program, iso_node_id_t param,
                              iso_weight_uses_t *uses)
{
    return program->kind->uses(program, param, uses);
}

void iso_program_bind_node(iso_program_t *program, iso_node_id_t node,
                           const void *data)
{
    ISO_ASSERT(node >= 0 && node < iso_graph_node_count(program->graph));

    const iso_node_t *leaf = iso_graph_node(program->graph, node);

    ISO_ASSERT(iso__program_bindable(leaf));
    ISO_ASSERT((uintptr_t)data % alignment_of(leaf) == 0);
    program->is_begun = false;
    program->kind->bind_node(program, node, data);
}

iso_status_t iso_program_bind(iso_program_t *program, const char *name,
                              const void *data)
{
    const iso_node_id_t node = iso_graph_find(program->graph, name);

    if (node == ISO_NO_NODE ||
        !iso__program_bindable(iso_graph_node(program->graph, node))) {
        return iso_fail(ISO_INVAL, "no input or param '%s' to bind", name);
    }

    const size_t alignment = alignment_of(iso_graph_node(program->graph, node));

    if ((uintptr_t)data % alignment != 0) {
        return iso_fail(ISO_INVAL,
                        "data bound to '%s' is at address %p, expected a "
                        "multiple of %zu",
                        name, data, alignment);
    }
    iso_program_bind_node(program, node, data);
    return ISO_OK;
}

void iso_program_bind_weight(iso_program_t *program, iso_node_id_t param,
                             const iso_weight_t *weight)
{
    ISO_ASSERT(iso_graph_node(program->graph, param)->op == ISO_OP_PARAM);
    program->is_begun = false;
    program->kind->bind_weight(program, param, weight);
}

const iso_tensor_t *iso_program_leaf(const iso_program_t *program,
                                     iso_node_id_t node)
{
    ISO_ASSERT(node >= 0 && node < iso_graph_node_count(program->graph));
    ISO_ASSERT(iso__program_bindable(iso_graph_node(program->graph, node)));
    return program->kind->leaf(program, node);
}

/* ---- Running ---- */

void iso_program_observe(iso_program_t *program,
                         iso_program_observer_t *observer, void *arg)
{
    ISO_ASSERT(observer == NULL || program->keeps_values);
    program->kind->observe(program, observer, arg);
}

iso_status_t iso_program_begin(iso_program_t *program)
{
    ISO_TRY(program->kind->begin(program));
    program->is_begun = true;
    program->failed = false;
    program->skips = false;
    return ISO_OK;
}

void iso_program_skip(iso_program_t *program)
{
    program->skips = true;
}

iso_status_t iso__program_advance(iso_program_t *program,
                                  iso_pause_t *pause_out)
{
    ISO_ASSERT(program->is_begun);
    ISO_ASSERT(!program->failed || program->skips);

    const iso_status_t status = program->kind->advance(program, pause_out);

    program->failed = program->failed || status != ISO_OK;
    return status;
}

iso_status_t iso__program_finish(iso_program_t *program)
{
    const iso_status_t status = program->kind->finish == NULL || program->skips
                                    ? ISO_OK
                                    : program->kind->finish(program);

    program->failed = program->failed || status != ISO_OK;
    return status;
}

iso_status_t iso_program_advance(iso_program_t *program, iso_pause_t *pause_out)
{
    ISO_TRY(iso__program_advance(program, pause_out));
    return pause_out->node == ISO_NO_NODE ? iso__program_finish(program)
                                          : ISO_OK;
}

iso_status_t iso_program_run(iso_program_t *program)
{
    iso_pause_t pause;

    ISO_TRY(iso_program_begin(program));
    ISO_TRY(iso_program_advance(program, &pause));
    if (pause.node != ISO_NO_NODE) {
        return iso_fail(ISO_INVAL,
                        "node '%s' is an exchange between workers; run this "
                        "program from exchange to exchange",
                        iso_graph_node(program->graph, pause.node)->name);
    }
    return ISO_OK;
}

const void *iso_program_output(const iso_program_t *program, int index)
{
    return program->kind->output(program, index);
}
