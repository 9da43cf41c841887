#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "device/host_impl.h"
#include "graph/cost.h"
#include "graph/param.h"
#include "kernel/ref.h"

/* ---- Buffer ---- */

static iso_status_t make_buffer(iso__host_t *program,
                                const iso_program_options_t *options)
{
    const size_t needed = program->plan.total_bytes;

    if (options->buffer != NULL) {
        program->buffer = options->buffer;
        return iso__program_check_buffer(options, needed);
    }
    program->own_buffer = iso_alloc(needed);
    program->buffer = program->own_buffer;
    return program->own_buffer != NULL ? ISO_OK : ISO_NOMEM;
}

/* ---- Values ---- */

/* Views of all values; those of inputs and params have no data yet. */
static iso_status_t make_values(iso__host_t *program)
{
    const int32_t n = iso_graph_node_count(program->base.graph);

    program->values = iso_alloc_zeroed((size_t)n, sizeof *program->values);
    program->copies = iso_alloc_zeroed((size_t)n, sizeof *program->copies);
    program->bound = iso_alloc_zeroed((size_t)n, sizeof *program->bound);
    if (program->values == NULL || program->copies == NULL ||
        program->bound == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        const iso_node_t *node = iso_graph_node(program->base.graph, id);
        const int64_t offset = program->plan.offset_bytes[id];
        const int64_t copy = program->plan.copy_offset_bytes[id];
        iso_tensor_t *value = &program->values[id];

        ISO_TRY(iso_tensor_view(node->dtype, &node->shape, NULL, value));
        program->copies[id] = *value;
        if (copy != ISO_MEMORY_NONE) {
            program->copies[id].data = program->buffer + copy;
        }
        if (node->op == ISO_OP_CONSTANT) {
            /* A view has no const; kernels write to outputs alone. */
            value->data = (void *)node->data;
        } else if (offset != ISO_MEMORY_NONE) {
            value->data = program->buffer + offset;
        }
    }
    return ISO_OK;
}

/* Room for the plain elements of any blocked value. */
static iso_status_t make_seen(iso__host_t *program)
{
    size_t most = 0;

    for (iso_node_id_t id = 0; id < program->formats.n_nodes; id++) {
        const size_t bytes = iso_tensor_bytes(&program->values[id]);

        if (iso__host_made(program, id) == ISO_FORMAT_BLOCKED && bytes > most) {
            most = bytes;
        }
    }
    program->seen = iso_alloc(most);
    return program->seen == NULL ? ISO_NOMEM : ISO_OK;
}

/* ---- Steps ---- */

/* Room for steps as they are made. */
typedef struct maker {
    iso__host_t *program;
    iso_node_id_t *last;  /* (n_nodes) node whose step computes it */
    iso_node_id_t *first; /* (n_nodes) the first one that its step computes */
    bool *is_copied;      /* (n_nodes) its copy is made by a step */
    const iso_tensor_t **inputs;
    iso_format_t *read;
    const iso_view_t **views;
    iso_cpu_link_t *links;
    int *link_inputs;
} maker_t;

static bool is_joined(const iso__host_t *program, iso_node_id_t id)
{
    return program->formats.n_nodes != 0 &&
           program->formats.joined[id] != ISO_NO_NODE;
}

static bool is_view(const iso__host_t *program, iso_node_id_t id)
{
    return program->formats.n_nodes != 0 && program->formats.is_view[id];
}

static bool is_exchange(const iso_node_t *node)
{
    return iso_op_info(node->op)->op_class == ISO_OP_CLASS_EXCHANGE;
}

static iso_format_t format_read(const iso__host_t *program, iso_node_id_t id,
                                int input)
{
    return program->formats.n_nodes == 0
               ? ISO_FORMAT_PLAIN
               : iso_formats_read(program->base.graph, &program->formats, id,
                                  input);
}

static const iso_tensor_t *value_in(const iso__host_t *program,
                                    iso_node_id_t id, iso_format_t format)
{
    return format == iso__host_made(program, id) ? &program->values[id]
                                                 : &program->copies[id];
}

static iso__step_t *add_step(iso__host_t *program, iso__step_kind_t kind,
                             iso_node_id_t node)
{
    iso__step_t *step = &program->steps[program->n_steps++];

    *step = (iso__step_t){.kind = kind, .node = node, .weights = ISO_NO_NODE};
    return step;
}

/* See to it that a value is there in a format. */
static void want(const maker_t *maker, iso_node_id_t id, iso_format_t format)
{
    iso__host_t *program = maker->program;

    if (format != iso__host_made(program, id) && !maker->is_copied[id]) {
        maker->is_copied[id] = true;
        (void)add_step(program, ISO__STEP_CONVERT, id);
    }
}

static iso_status_t check_node(const iso__host_t *program,
                               const iso_node_t *node)
{
    const iso_dtype_t dtype =
        node->n_inputs > 0
            ? iso_graph_node(program->base.graph, node->inputs[0])->dtype
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

/* Operands of a node as tensors, copied before where they must be. A leaf
 * that is packed is read by nobody. */
static void take_inputs(maker_t *maker, iso_node_id_t id, bool is_direct,
                        iso_cpu_step_t *what)
{
    iso__host_t *program = maker->program;
    const iso_node_t *node = iso_graph_node(program->base.graph, id);

    what->inputs = maker->inputs;
    what->formats = maker->read;
    what->views = maker->views;
    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_id_t input = node->inputs[i];

        maker->inputs[i] = NULL;
        maker->read[i] = ISO_FORMAT_PLAIN;
        maker->views[i] = NULL;
        if (input != ISO_NO_NODE) {
            const iso_format_t format = is_direct && i == 1
                                            ? ISO_FORMAT_PLAIN
                                            : format_read(program, id, i);

            want(maker, input, format);
            maker->inputs[i] = value_in(program, input, format);
            maker->read[i] = format;
            maker->views[i] =
                is_view(program, input) ? &program->formats.views[input] : NULL;
        }
    }
    maker->inputs += node->n_inputs;
    maker->read += node->n_inputs;
    maker->views += node->n_inputs;
}

/* What is joined with a direct node: an addition, an activation, or both. */
static void take_joined(maker_t *maker, iso_node_id_t head, iso_node_id_t last,
                        iso_cpu_step_t *what)
{
    iso__host_t *program = maker->program;
    const iso_node_id_t *joined = program->formats.joined;

    for (iso_node_id_t id = head; id != last;) {
        const iso_node_id_t previous = id;
        const iso_node_t *node =
            iso_graph_node(program->base.graph, joined[id]);

        id = joined[id];
        if (node->op == ISO_OP_ADD) {
            const int input = node->inputs[0] == previous ? 1 : 0;
            const iso_format_t format = format_read(program, id, input);

            want(maker, node->inputs[input], format);
            what->addend = value_in(program, node->inputs[input], format);
        } else {
            what->activated = node;
        }
    }
}

/* ---- Chains ---- */

/* Number of the link that makes an operand; -1: none does. */
static int link_of(const iso_cpu_step_t *what, const iso_node_t *operand)
{
    for (int i = 0; i < what->n_links; i++) {
        if (what->links[i].node == operand) {
            return i;
        }
    }
    return -1;
}

/* The operands of a product that begins the chain are the step's. */
static iso_status_t add_link(maker_t *maker, iso_node_id_t id, bool is_direct,
                             iso_cpu_step_t *what)
{
    iso__host_t *program = maker->program;
    const iso_node_t *node = iso_graph_node(program->base.graph, id);
    iso_cpu_step_t operands = {0};

    ISO_TRY(check_node(program, node));
    take_inputs(maker, id, is_direct, &operands);
    if (iso_op_info(node->op)->op_class == ISO_OP_CLASS_CONTRACT) {
        what->inputs = operands.inputs;
        what->formats = operands.formats;
        what->views = operands.views;
    }
    for (int i = 0; i < node->n_inputs; i++) {
        maker->link_inputs[i] =
            node->inputs[i] == ISO_NO_NODE
                ? -1
                : link_of(what,
                          iso_graph_node(program->base.graph, node->inputs[i]));
    }
    *maker->links = (iso_cpu_link_t){
        .node = node,
        .inputs = operands.inputs,
        .links = maker->link_inputs,
        .value = &program->values[id],
    };
    maker->links++;
    maker->link_inputs += node->n_inputs;
    what->n_links++;
    return ISO_OK;
}

static iso_status_t add_links(maker_t *maker, iso_node_id_t last,
                              bool is_direct, iso_cpu_step_t *what)
{
    const iso_node_id_t first = maker->first[last];
    iso_status_t status = ISO_OK;

    what->links = maker->links;
    for (iso_node_id_t id = first; id <= last && status == ISO_OK; id++) {
        if (maker->last[id] == last) {
            status = add_link(maker, id, is_direct && id == first, what);
        }
    }
    return status;
}

/* ---- All steps ---- */

static iso_status_t throttle(const iso__host_t *program, iso_node_id_t id,
                             iso__step_t *step)
{
    iso_node_cost_t cost;

    if (program->device->flops_per_s > 0.0) {
        ISO_TRY(iso_node_cost_of(program->base.graph, id, &cost));
        step->least_s = cost.flops / program->device->flops_per_s;
    }
    return ISO_OK;
}

static iso_status_t make_compute(maker_t *maker, iso_node_id_t last)
{
    iso__host_t *program = maker->program;
    const iso_node_id_t head = maker->first[last];
    const iso_node_t *node = iso_graph_node(program->base.graph, head);
    iso__step_t step = {
        .node = last,
        .weights = ISO_NO_NODE,
        .what = {.node = node,
                 .output = &program->values[last],
                 .format = iso__host_made(program, last)},
    };
    const bool is_direct = program->formats.n_nodes != 0 &&
                           iso_panels_of(program->base.graph, head, &step.spec);

    ISO_TRY(check_node(program, node));
    ISO_TRY(throttle(program, head, &step));
    if (is_direct) {
        step.weights = node->inputs[1];
    }
    if (head != last && program->formats.is_chain[last]) {
        ISO_TRY(add_links(maker, last, is_direct, &step.what));
    } else {
        take_inputs(maker, head, is_direct, &step.what);
        if (head != last) {
            take_joined(maker, head, last, &step.what);
        }
    }
    program->steps[program->n_steps++] = step;
    return ISO_OK;
}

static iso_status_t make_exchange(maker_t *maker, iso_node_id_t id)
{
    iso__host_t *program = maker->program;
    const iso_node_t *node = iso_graph_node(program->base.graph, id);
    iso_cpu_step_t what = {.node = node, .output = &program->values[id]};
    int64_t number = 0;
    iso__step_t *step;

    ISO_TRY(iso_attr_int(node, "number", 0, &number));
    take_inputs(maker, id, false, &what);
    step = add_step(program, ISO__STEP_EXCHANGE, id);
    step->exchange = (int)number;
    step->what = what;
    return ISO_OK;
}

/* Or an output is a reshape of it: the plan has its copy made with it. */
static bool is_output(const iso__host_t *program, iso_node_id_t id)
{
    const iso_graph_t *graph = program->base.graph;

    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_node_id_t node = iso_graph_output(graph, i)->node;

        if (node == id || program->plan.alias[node] == id) {
            return true;
        }
    }
    return false;
}

static iso_status_t make_step(maker_t *maker, iso_node_id_t id)
{
    iso__host_t *program = maker->program;
    const iso_node_t *node = iso_graph_node(program->base.graph, id);

    if (node->op == ISO_OP_RESHAPE || is_view(program, id)) {
        want(maker, node->inputs[0], ISO_FORMAT_PLAIN);
    } else if (!iso_node_is_leaf(node) && !is_joined(program, id)) {
        ISO_TRY(is_exchange(node) ? make_exchange(maker, id)
                                  : make_compute(maker, id));
    }
    if (iso__host_made(program, id) != ISO_FORMAT_PLAIN &&
        program->copies[id].data != NULL && is_output(program, id)) {
        want(maker, id, ISO_FORMAT_PLAIN);
    }
    return ISO_OK;
}

/* Which step computes which nodes. */
static void find_steps(maker_t *maker)
{
    const iso__host_t *program = maker->program;
    const int32_t n = iso_graph_node_count(program->base.graph);

    for (iso_node_id_t id = n - 1; id >= 0; id--) {
        maker->last[id] = is_joined(program, id)
                              ? maker->last[program->formats.joined[id]]
                              : id;
        maker->first[maker->last[id]] = id;
    }
}

static iso_status_t make_steps(maker_t *maker)
{
    const int32_t n = iso_graph_node_count(maker->program->base.graph);

    find_steps(maker);
    for (iso_node_id_t id = 0; id < n; id++) {
        ISO_TRY(make_step(maker, id));
    }
    return ISO_OK;
}

/* Each node is a step at most, and copied by one at most. */
static iso_status_t reserve_steps(iso__host_t *program, maker_t *maker)
{
    const size_t n = (size_t)iso_graph_node_count(program->base.graph);
    size_t n_inputs = 0;

    for (size_t id = 0; id < n; id++) {
        n_inputs +=
            (size_t)iso_graph_node(program->base.graph, (iso_node_id_t)id)
                ->n_inputs;
    }
    program->steps = iso_alloc_zeroed(2 * n, sizeof *program->steps);
    program->inputs = iso_alloc_zeroed(n_inputs, sizeof(const iso_tensor_t *));
    program->read = iso_alloc_zeroed(n_inputs, sizeof *program->read);
    program->views = iso_alloc_zeroed(n_inputs, sizeof(const iso_view_t *));
    program->links = iso_alloc_zeroed(n, sizeof *program->links);
    program->link_inputs = iso_alloc_zeroed(n_inputs, sizeof(int));
    maker->last = iso_alloc_zeroed(n, sizeof *maker->last);
    maker->first = iso_alloc_zeroed(n, sizeof *maker->first);
    maker->is_copied = iso_alloc_zeroed(n, sizeof *maker->is_copied);
    maker->inputs = program->inputs;
    maker->read = program->read;
    maker->views = program->views;
    maker->links = program->links;
    maker->link_inputs = program->link_inputs;
    return program->steps == NULL || program->inputs == NULL ||
                   program->read == NULL || program->views == NULL ||
                   program->links == NULL || program->link_inputs == NULL ||
                   maker->last == NULL || maker->first == NULL ||
                   maker->is_copied == NULL
               ? ISO_NOMEM
               : ISO_OK;
}

iso_status_t iso__host_make(iso__host_t *program,
                            const iso_program_options_t *options)
{
    const iso_formats_t *formats = NULL;
    maker_t maker = {.program = program};
    iso_status_t status = ISO_OK;

    if (program->device->kind->has_formats) {
        ISO_TRY(iso_formats_create(program->base.graph, !options->keeps_values,
                                   &program->formats));
        formats = &program->formats;
    }
    ISO_TRY(
        iso_memory_plan_create(program->base.graph, formats, &program->plan));
    ISO_TRY(make_buffer(program, options));
    ISO_TRY(make_values(program));
    if (options->keeps_values) {
        ISO_TRY(make_seen(program));
    }
    status = reserve_steps(program, &maker);
    if (status == ISO_OK) {
        status = make_steps(&maker);
    }
    iso_free(maker.last);
    iso_free(maker.first);
    iso_free(maker.is_copied);
    return status;
}
