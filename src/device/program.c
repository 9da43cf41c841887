#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "device/device_impl.h"
#include "graph/param.h"
#include "kernel/ref.h"
#include "plan/memory_plan.h"

#include <stdint.h>

enum { COMPUTED = -1, LEAST_ALIGNMENT = 4 };

/*
 * One step for each node that makes a value. A value is a view for each node;
 * those of leaves point where the caller bound them, aliases follow.
 */
typedef struct step {
    iso_node_id_t node;
    int exchange;                /* number of the exchange, or COMPUTED */
    const iso_tensor_t **inputs; /* (n_inputs) */
} step_t;

struct iso_program {
    const iso_device_t *device;
    const iso_graph_t *graph;
    iso_memory_plan_t plan;
    iso_tensor_t *values;        /* (n_nodes) */
    step_t *steps;               /* (n_steps) */
    const iso_tensor_t **inputs; /* of all steps, one after the other */
    int32_t n_steps;
    char *buffer;
    void *own_buffer; /* NULL when lent */
    bool is_bound;    /* every leaf, and aliases are up to date */

    int32_t next;         /* step to run */
    const step_t *paused; /* exchange under way, or NULL */
    bool failed;          /* since begin */
    bool skips;           /* computes nothing until begin */
    iso_program_observer_t *observer;
    void *observer_arg;
};

iso_status_t iso_program_buffer_bytes(const iso_graph_t *graph,
                                      size_t *bytes_out)
{
    iso_memory_plan_t plan;

    ISO_TRY(iso_memory_plan_create(graph, &plan));
    *bytes_out = plan.total_bytes;
    iso_memory_plan_free(&plan);
    return ISO_OK;
}

/* ---- Making ---- */

static iso_status_t make_buffer(iso_program_t *program,
                                const iso_program_options_t *options)
{
    const size_t needed = program->plan.total_bytes;

    if (options->buffer != NULL) {
        if (options->buffer_bytes < needed) {
            return iso_fail(ISO_INVAL,
                            "activation buffer has %zu bytes, the program "
                            "needs %zu",
                            options->buffer_bytes, needed);
        }
        program->buffer = options->buffer;
        return ISO_OK;
    }
    program->own_buffer = iso_alloc(needed);
    program->buffer = program->own_buffer;
    return program->own_buffer != NULL ? ISO_OK : ISO_NOMEM;
}

/* Views of all values; those of inputs and params have no data yet. */
static iso_status_t make_values(iso_program_t *program)
{
    const int32_t n = iso_graph_node_count(program->graph);

    program->values = iso_alloc_zeroed((size_t)n, sizeof *program->values);
    if (program->values == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        const iso_node_t *node = iso_graph_node(program->graph, id);
        const int64_t offset = program->plan.offset_bytes[id];
        iso_tensor_t *value = &program->values[id];

        ISO_TRY(iso_tensor_view(node->dtype, &node->shape, NULL, value));
        if (node->op == ISO_OP_CONSTANT) {
            /* A view has no const; kernels write to outputs alone. */
            value->data = (void *)node->data;
        } else if (offset != ISO_MEMORY_NONE) {
            value->data = program->buffer + offset;
        }
    }
    return ISO_OK;
}

static bool is_step(const iso_program_t *program, iso_node_id_t id)
{
    return !iso_node_is_leaf(iso_graph_node(program->graph, id)) &&
           program->plan.alias[id] == ISO_NO_NODE;
}

static bool is_exchange(const iso_node_t *node)
{
    return iso_op_info(node->op)->op_class == ISO_OP_CLASS_EXCHANGE;
}

static iso_status_t check_step(const iso_program_t *program,
                               const iso_node_t *node)
{
    const iso_dtype_t dtype =
        node->n_inputs > 0
            ? iso_graph_node(program->graph, node->inputs[0])->dtype
            : node->dtype;

    if (!iso_ref_supports(node->op, dtype)) {
        return iso_fail(ISO_UNSUPPORTED,
                        "node '%s': device '%s' does not compute %s in %s; "
                        "cast its operands to f32",
                        node->name, program->device->kind->name,
                        iso_op_string(node->op), iso_dtype_string(dtype));
    }
    return ISO_OK;
}

static iso_status_t make_step(const iso_program_t *program, iso_node_id_t id,
                              const iso_tensor_t **inputs, step_t *step_out)
{
    const iso_node_t *node = iso_graph_node(program->graph, id);
    int64_t number = COMPUTED;

    if (is_exchange(node)) {
        ISO_TRY(iso_attr_int(node, "number", 0, &number));
    } else {
        ISO_TRY(check_step(program, node));
    }
    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_id_t input = node->inputs[i];

        inputs[i] = input == ISO_NO_NODE ? NULL : &program->values[input];
    }
    *step_out = (step_t){id, (int)number, inputs};
    return ISO_OK;
}

static iso_status_t make_steps(iso_program_t *program)
{
    const iso_graph_t *graph = program->graph;
    const int32_t n = iso_graph_node_count(graph);
    size_t n_inputs = 0;

    for (iso_node_id_t id = 0; id < n; id++) {
        n_inputs += (size_t)iso_graph_node(graph, id)->n_inputs;
    }
    program->steps = iso_alloc_zeroed((size_t)n, sizeof *program->steps);
    program->inputs = iso_alloc_zeroed(n_inputs, sizeof(const iso_tensor_t *));
    if (program->steps == NULL || program->inputs == NULL) {
        return ISO_NOMEM;
    }

    const iso_tensor_t **inputs = program->inputs;

    for (iso_node_id_t id = 0; id < n; id++) {
        if (!is_step(program, id)) {
            continue;
        }
        ISO_TRY(
            make_step(program, id, inputs, &program->steps[program->n_steps]));
        inputs += iso_graph_node(graph, id)->n_inputs;
        program->n_steps++;
    }
    return ISO_OK;
}

iso_status_t iso_program_create(iso_device_t *device, const iso_graph_t *graph,
                                const iso_program_options_t *options,
                                iso_program_t **program_out)
{
    iso_program_t *program = iso_alloc_zeroed(1, sizeof *program);
    iso_status_t status;

    if (program == NULL) {
        return ISO_NOMEM;
    }
    program->device = device;
    program->graph = graph;
    status = iso_memory_plan_create(graph, &program->plan);
    if (status == ISO_OK) {
        status = make_buffer(program, options);
    }
    if (status == ISO_OK) {
        status = make_values(program);
    }
    if (status == ISO_OK) {
        status = make_steps(program);
    }
    if (status != ISO_OK) {
        iso_program_destroy(&program);
        return status;
    }
    *program_out = program;
    return ISO_OK;
}

void iso_program_destroy(iso_program_t **program)
{
    iso_program_t *p = *program;

    if (p == NULL) {
        return;
    }
    iso_free(p->inputs);
    iso_free(p->steps);
    iso_free(p->values);
    iso_free(p->own_buffer);
    iso_memory_plan_free(&p->plan);
    iso_free(p);
    *program = NULL;
}

/* ---- Binding ---- */

static bool is_bindable(const iso_node_t *node)
{
    return node->op == ISO_OP_INPUT || node->op == ISO_OP_PARAM;
}

static size_t alignment_of(const iso_node_t *node)
{
    const size_t bytes = iso_dtype_bytes(node->dtype);

    return bytes > LEAST_ALIGNMENT ? bytes : LEAST_ALIGNMENT;
}

void iso_program_bind_node(iso_program_t *program, iso_node_id_t node,
                           const void *data)
{
    ISO_ASSERT(node >= 0 && node < iso_graph_node_count(program->graph));

    const iso_node_t *leaf = iso_graph_node(program->graph, node);

    ISO_ASSERT(is_bindable(leaf));
    ISO_ASSERT((uintptr_t)data % alignment_of(leaf) == 0);
    program->values[node].data = (void *)data;
    program->is_bound = false;
}

const iso_tensor_t *iso_program_leaf(const iso_program_t *program,
                                     iso_node_id_t node)
{
    ISO_ASSERT(node >= 0 && node < iso_graph_node_count(program->graph));
    ISO_ASSERT(is_bindable(iso_graph_node(program->graph, node)));
    return &program->values[node];
}

iso_status_t iso_program_bind(iso_program_t *program, const char *name,
                              const void *data)
{
    const iso_node_id_t node = iso_graph_find(program->graph, name);

    if (node == ISO_NO_NODE ||
        !is_bindable(iso_graph_node(program->graph, node))) {
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

/* Check the leaves and let aliases point where their owners do. */
static iso_status_t finish_binding(iso_program_t *program)
{
    const int32_t n = iso_graph_node_count(program->graph);

    for (iso_node_id_t id = 0; id < n; id++) {
        const iso_node_t *node = iso_graph_node(program->graph, id);
        const iso_node_id_t alias = program->plan.alias[id];
        iso_tensor_t *value = &program->values[id];

        if (alias != ISO_NO_NODE) {
            value->data = program->values[alias].data;
        }
        if (value->data == NULL && is_bindable(node)) {
            return iso_fail(ISO_INVAL, "%s '%s' is not bound",
                            node->op == ISO_OP_INPUT ? "input" : "param",
                            node->name);
        }
    }
    program->is_bound = true;
    return ISO_OK;
}

/* ---- Running ---- */

iso_status_t iso_program_begin(iso_program_t *program)
{
    if (!program->is_bound) {
        ISO_TRY(finish_binding(program));
    }
    program->next = 0;
    program->paused = NULL;
    program->failed = false;
    program->skips = false;
    return ISO_OK;
}

void iso_program_skip(iso_program_t *program)
{
    program->skips = true;
}

void iso_program_observe(iso_program_t *program,
                         iso_program_observer_t *observer, void *arg)
{
    program->observer = observer;
    program->observer_arg = arg;
}

/* The step's value is there. */
static iso_status_t finish_step(const iso_program_t *program,
                                const step_t *step)
{
    if (program->observer == NULL || program->skips) {
        return ISO_OK;
    }
    return program->observer(program->observer_arg, step->node,
                             &program->values[step->node]);
}

static iso_status_t compute_step(const iso_program_t *program,
                                 const step_t *step)
{
    if (program->skips) {
        return ISO_OK;
    }
    ISO_TRY(program->device->kind->run(
        program->device, iso_graph_node(program->graph, step->node),
        step->inputs, &program->values[step->node]));
    return finish_step(program, step);
}

/* To the next exchange: program->paused, NULL at the end. */
static iso_status_t run_steps(iso_program_t *program)
{
    const step_t *step = program->paused;

    program->paused = NULL;
    if (step != NULL) {
        ISO_TRY(finish_step(program, step));
    }
    while (program->next < program->n_steps) {
        step = &program->steps[program->next++];
        if (step->exchange != COMPUTED) {
            program->paused = step;
            return ISO_OK;
        }
        ISO_TRY(compute_step(program, step));
    }
    return ISO_OK;
}

static iso_pause_t pause_at(const iso_program_t *program, const step_t *step)
{
    if (step == NULL) {
        return (iso_pause_t){.node = ISO_NO_NODE};
    }

    const int n_inputs = iso_graph_node(program->graph, step->node)->n_inputs;

    return (iso_pause_t){.node = step->node,
                         .number = step->exchange,
                         .input = n_inputs > 0 ? step->inputs[0] : NULL,
                         .output = &program->values[step->node]};
}

iso_status_t iso_program_advance(iso_program_t *program, iso_pause_t *pause_out)
{
    iso_status_t status;

    ISO_ASSERT(program->is_bound);
    ISO_ASSERT(!program->failed || program->skips);
    status = run_steps(program);
    program->failed = program->failed || status != ISO_OK;
    if (status == ISO_OK) {
        *pause_out = pause_at(program, program->paused);
    }
    return status;
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
    return program->values[iso_graph_output(program->graph, index)->node].data;
}
