#include "kernel/view.h"

#include "base/log.h"
#include "graph/param.h"
#include "kernel/format.h"
#include "kernel/panels.h"
#include "kernel/walk.h"

bool iso_view_is_read(const iso_graph_t *graph, iso_node_id_t id, int input)
{
    const iso_node_t *node = iso_graph_node(graph, id);

    return node->op == ISO_OP_MATMUL && node->dtype == ISO_DTYPE_F32 &&
           input < 2 &&
           iso_graph_node(graph, node->inputs[0])->shape.rank >= 2 &&
           iso_graph_node(graph, node->inputs[1])->shape.rank >= 2 &&
           !iso_panels_of(graph, id, NULL);
}

/* ---- Steps ---- */

static iso_tensor_t tensor_of(const iso_node_t *node)
{
    iso_tensor_t tensor = {.dtype = node->dtype, .rank = node->shape.rank};

    for (int axis = 0; axis < tensor.rank; axis++) {
        tensor.dims[axis] = node->shape.dim[axis].size;
    }
    return tensor;
}

static iso_view_t dense_view(const iso_tensor_t *tensor)
{
    iso_view_t view = {.offset = 0};

    iso__strides_of(tensor->rank, tensor->dims, view.steps);
    return view;
}

static iso_view_t transposed(const iso_node_t *node, const iso_view_t *from)
{
    iso_view_t view = {.offset = from->offset};
    int perm[ISO_MAX_RANK];
    const iso_status_t status = iso_perm_of(node, node->shape.rank, perm);

    ISO_ASSERT(status == ISO_OK);
    for (int axis = 0; axis < node->shape.rank; axis++) {
        view.steps[axis] = from->steps[perm[axis]];
    }
    return view;
}

static iso_view_t sliced(const iso_node_t *node, const iso_tensor_t *operand,
                         const iso_view_t *from)
{
    iso_view_t view = {.offset = from->offset};
    iso_slice_param_t param;
    const iso_status_t status = iso_slice_param_of(node, operand, &param);

    ISO_ASSERT(status == ISO_OK);
    for (int axis = 0; axis < operand->rank; axis++) {
        view.offset += param.start[axis] * from->steps[axis];
        view.steps[axis] = param.step[axis] * from->steps[axis];
    }
    return view;
}

/* The operand's axes of more than one index are those of the node. */
static bool adds_ones_only(const iso_tensor_t *operand,
                           const iso_tensor_t *value)
{
    int axis = 0;

    for (int i = 0; i < value->rank; i++) {
        while (axis < operand->rank && operand->dims[axis] == 1) {
            axis++;
        }
        if (value->dims[i] != 1 && (axis == operand->rank ||
                                    operand->dims[axis++] != value->dims[i])) {
            return false;
        }
    }
    return true;
}

static iso_view_t reshaped(const iso_tensor_t *operand,
                           const iso_tensor_t *value, const iso_view_t *from)
{
    iso_view_t view = {.offset = from->offset};
    int axis = 0;

    for (int i = 0; i < value->rank; i++) {
        while (axis < operand->rank && operand->dims[axis] == 1) {
            axis++;
        }
        view.steps[i] = value->dims[i] == 1 ? 0 : from->steps[axis++];
    }
    return view;
}

/* ---- Finding ---- */

/* Could it be one, if its readers can read it? */
static bool could_be(const iso_graph_t *graph, const iso_formats_t *formats,
                     iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(graph, id);

    if (node->dtype != ISO_DTYPE_F32 || iso_shape_count(&node->shape) == 0 ||
        (node->op != ISO_OP_TRANSPOSE && node->op != ISO_OP_SLICE &&
         node->op != ISO_OP_RESHAPE)) {
        return false;
    }

    const iso_node_id_t input = node->inputs[0];
    const iso_tensor_t value = tensor_of(node);
    const iso_tensor_t operand = tensor_of(iso_graph_node(graph, input));

    if (node->op == ISO_OP_RESHAPE) { /* of a value it is none already */
        return formats->is_view[input] && adds_ones_only(&operand, &value);
    }
    return formats->made[input] == ISO_FORMAT_PLAIN;
}

/* What one reader cannot read so is copied. Readers come before what they
 * read. */
static void ask_reader(const iso_graph_t *graph, iso_formats_t *formats,
                       iso_node_id_t reader)
{
    const iso_node_t *node = iso_graph_node(graph, reader);

    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_id_t operand = node->inputs[i];

        if (operand != ISO_NO_NODE && !formats->is_view[reader] &&
            !iso_view_is_read(graph, reader, i)) {
            formats->is_view[operand] = false;
        }
    }
}

/* A reshape of what is no view is none. */
static void set_view(const iso_graph_t *graph, iso_formats_t *formats,
                     iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(graph, id);
    const iso_node_id_t input = node->inputs[0];
    const iso_tensor_t value = tensor_of(node);
    const iso_tensor_t operand = tensor_of(iso_graph_node(graph, input));
    const iso_view_t from =
        formats->is_view[input] ? formats->views[input] : dense_view(&operand);

    if (node->op == ISO_OP_RESHAPE) {
        formats->is_view[id] = formats->is_view[input];
        formats->views[id] = reshaped(&operand, &value, &from);
    } else {
        formats->views[id] = node->op == ISO_OP_TRANSPOSE
                                 ? transposed(node, &from)
                                 : sliced(node, &operand, &from);
    }
}

void iso_views_find(const iso_graph_t *graph, iso_formats_t *formats)
{
    const int32_t n = formats->n_nodes;

    for (iso_node_id_t id = 0; id < n; id++) {
        formats->is_view[id] = could_be(graph, formats, id);
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        formats->is_view[iso_graph_output(graph, i)->node] = false;
    }
    for (iso_node_id_t id = n - 1; id >= 0; id--) {
        ask_reader(graph, formats, id);
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        if (formats->is_view[id]) {
            set_view(graph, formats, id);
        }
    }
}
