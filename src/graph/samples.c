#include "graph/samples.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "graph/param.h"

/*
 * A sample axis of size c * N lies in memory as (outer, N, c / outer): what
 * is merged into it by a reshape is outside or inside the samples. Elementwise
 * ops need operands that agree in this, reshapes keep it.
 */
typedef struct checker {
    const iso_graph_t *graph;
    const char *batch;
    int64_t *outer; /* (n_nodes) of the node's sample axis */
} checker_t;

/* The axis that runs over samples, -1 when there is none. */
static int sample_axis(const iso_shape_t *shape)
{
    int axis = shape->rank - 1;

    while (axis >= 0 && iso_dim_is_static(shape->dim[axis])) {
        axis--;
    }
    return axis;
}

/* Number of elements of some axes for each sample; those of the whole shape
 * must not be too many, nor 0. */
static iso_status_t elements(const checker_t *checker, const iso_shape_t *shape,
                             int begin, int end, int64_t *count_out)
{
    const iso_binding_t one = {checker->batch, 1};

    *count_out = 1;
    for (int axis = begin; axis < end; axis++) {
        iso_dim_t dim;

        ISO_TRY(iso_dim_bind(shape->dim[axis], &one, 1, &dim));
        *count_out *= dim.size;
    }
    return ISO_OK;
}

/* One sample axis at most, whose dim is a multiple of the batch. */
static iso_status_t is_plain(const checker_t *checker, const iso_shape_t *shape,
                             bool *plain_out)
{
    const iso_binding_t one = {checker->batch, 1};
    const iso_binding_t three = {checker->batch, 3};
    int count = 0;

    *plain_out = true;
    for (int axis = 0; axis < shape->rank && *plain_out; axis++) {
        iso_dim_t least;
        iso_dim_t more;

        if (iso_dim_is_static(shape->dim[axis])) {
            continue;
        }
        count++;
        ISO_TRY(iso_dim_bind(shape->dim[axis], &one, 1, &least));
        ISO_TRY(iso_dim_bind(shape->dim[axis], &three, 1, &more));
        *plain_out =
            count == 1 && more.size % 3 == 0 && more.size / 3 == least.size;
    }
    return ISO_OK;
}

/* -- what ops do along an axis of an operand -- */

static iso_status_t keeps_contraction(const iso_node_t *node, int operand,
                                      int rank, int axis, bool *keeps_out)
{
    iso_gemm_param_t param;
    int summed = rank - 1; /* of a matmul's a */

    if (operand == 1) {
        summed = rank > 1 ? rank - 2 : 0;
    }
    if (node->op == ISO_OP_GEMM) {
        ISO_TRY(iso_gemm_param_of(node, &param));
        summed = operand == 0 ? !param.trans_a : param.trans_b;
    }
    *keeps_out = operand > 1 || axis != summed;
    return ISO_OK;
}

static iso_status_t keeps_reduction(const iso_node_t *node, int rank, int axis,
                                    bool *keeps_out)
{
    iso_reduce_param_t param;

    ISO_TRY(iso_reduce_param_of(node, rank, &param));
    *keeps_out = !param.reduced[axis];
    return ISO_OK;
}

static iso_status_t keeps_norm(const iso_node_t *node, int rank, int axis,
                               bool *keeps_out)
{
    iso_norm_param_t param;

    ISO_TRY(iso_norm_param_of(node, rank, &param));
    *keeps_out = axis < param.axis;
    if (node->op != ISO_OP_LAYER_NORM) {
        *keeps_out = axis != param.axis;
    }
    return ISO_OK;
}

static iso_status_t keeps_along(const iso_node_t *node, int rank, int axis,
                                bool *keeps_out)
{
    int along = 0;

    ISO_TRY(iso_axis_of(node, rank, 0, &along));
    *keeps_out = axis != along;
    return ISO_OK;
}

static iso_status_t keeps_pad(const iso_node_t *node, int rank, int axis,
                              bool *keeps_out)
{
    iso_pad_param_t param;

    ISO_TRY(iso_pad_param_of(node, rank, &param));
    *keeps_out = param.begin[axis] == 0 && param.end[axis] == 0;
    return ISO_OK;
}

/*
 * Does a node keep the samples apart and in order along this axis of an
 * operand? That the axis keeps its size is checked for all ops that must not
 * change it.
 */
static iso_status_t keeps(const checker_t *checker, const iso_node_t *node,
                          int operand, int axis, bool *keeps_out)
{
    const iso_shape_t *shape =
        &iso_graph_node(checker->graph, node->inputs[operand])->shape;

    *keeps_out = true;
    switch (node->op) {
    case ISO_OP_MATMUL:
    case ISO_OP_GEMM:
        return keeps_contraction(node, operand, shape->rank, axis, keeps_out);
    case ISO_OP_REDUCE_SUM:
    case ISO_OP_REDUCE_MEAN:
    case ISO_OP_REDUCE_MAX:
    case ISO_OP_REDUCE_MIN:
    case ISO_OP_REDUCE_PROD:
    case ISO_OP_ARG_MAX:
    case ISO_OP_ARG_MIN:
        return keeps_reduction(node, shape->rank, axis, keeps_out);
    case ISO_OP_SOFTMAX:
    case ISO_OP_LOG_SOFTMAX:
    case ISO_OP_LAYER_NORM:
        return keeps_norm(node, shape->rank, axis, keeps_out);
    case ISO_OP_CONV:
    case ISO_OP_CONV_TRANSPOSE:
    case ISO_OP_BATCH_NORM:
    case ISO_OP_INSTANCE_NORM:
    case ISO_OP_LRN:
    case ISO_OP_MAX_POOL:
    case ISO_OP_AVG_POOL:
    case ISO_OP_DEPTH_TO_SPACE:
    case ISO_OP_SPACE_TO_DEPTH:
    case ISO_OP_RESIZE:
        *keeps_out = operand == 0 && axis == 0;
        break;
    case ISO_OP_CONCAT:
        return keeps_along(node, shape->rank, axis, keeps_out);
    case ISO_OP_GATHER:
    case ISO_OP_GATHER_ELEMENTS:
        if (operand == 0) {
            return keeps_along(node, shape->rank, axis, keeps_out);
        }
        break;
    case ISO_OP_PAD:
        return keeps_pad(node, shape->rank, axis, keeps_out);
    default:
        break;
    }
    return ISO_OK;
}

/* Ops along whose axes samples are only copied: none may come or go. */
static bool keeps_size(const checker_t *checker, const iso_node_t *node)
{
    if (node->op != ISO_OP_SLICE && node->op != ISO_OP_TILE &&
        node->op != ISO_OP_RESIZE) {
        return true;
    }
    const iso_shape_t *from =
        &iso_graph_node(checker->graph, node->inputs[0])->shape;
    bool same = true;

    for (int axis = 0; axis < from->rank && same; axis++) {
        bool fixed = iso_dim_is_static(from->dim[axis]) &&
                     (iso_dim_is_static(node->shape.dim[axis]) ||
                      node->op == ISO_OP_TILE);
        same = fixed || iso_dim_equal(from->dim[axis], node->shape.dim[axis]);
    }
    return same;
}

/* Numbers that are made of the batch differ from one micro-batch to another. */
static bool makes_samples(const iso_node_t *node)
{
    bool found = false;

    if (iso_op_info(node->op)->op_class != ISO_OP_CLASS_MAKE) {
        return false;
    }
    for (int i = 0; i < node->n_attrs; i++) {
        const iso_attr_t *attr = &node->attrs[i];

        for (int k = 0; attr->kind == ISO_ATTR_DIMS && k < attr->count; k++) {
            found = found || !iso_dim_is_static(attr->value.dims[k]);
        }
    }
    return found;
}

/* -- where samples lie -- */

/* Keep what is outside the samples: a prefix of the dims, as a number. */
static iso_status_t reshape_outer(const checker_t *checker,
                                  const iso_node_t *node, int64_t *outer_out,
                                  bool *keeps_out)
{
    iso_node_id_t input = node->inputs[0];
    const iso_shape_t *from = &iso_graph_node(checker->graph, input)->shape;
    const iso_binding_t one = {checker->batch, 1};
    iso_shape_t sample;
    int to_axis = sample_axis(&node->shape);
    int64_t outside = 0;
    int64_t prefix = 0;
    int64_t suffix = 0;

    ISO_TRY(iso_shape_bind(from, &one, 1, &sample));
    int64_t all = iso_shape_count(&sample);
    *outer_out = 1;
    if (all == 0) {
        return ISO_OK;
    }
    ISO_TRY(elements(checker, from, 0, sample_axis(from), &outside));
    ISO_TRY(elements(checker, &node->shape, 0, to_axis, &prefix));
    ISO_TRY(elements(checker, &node->shape, to_axis + 1, node->shape.rank,
                     &suffix));
    outside *= checker->outer[input];
    *keeps_out = outside % prefix == 0 && all / outside % suffix == 0;
    *outer_out = outside / prefix;
    return ISO_OK;
}

/* Operands agree in how samples lie, and the node keeps them apart. */
static iso_status_t check_operands(const checker_t *checker,
                                   const iso_node_t *node, int64_t *outer_out,
                                   bool *keeps_out)
{
    int64_t outer = 0;

    for (int i = 0; i < node->n_inputs && *keeps_out; i++) {
        iso_node_id_t input = node->inputs[i];

        if (input == ISO_NO_NODE) {
            continue;
        }
        int axis = sample_axis(&iso_graph_node(checker->graph, input)->shape);

        if (axis < 0) {
            continue;
        }
        ISO_TRY(keeps(checker, node, i, axis, keeps_out));
        *keeps_out =
            *keeps_out && (outer == 0 || outer == checker->outer[input]);
        outer = checker->outer[input];
    }
    *outer_out = outer > 0 ? outer : 1;
    if (*keeps_out && outer > 0 && node->op == ISO_OP_RESHAPE) {
        return reshape_outer(checker, node, outer_out, keeps_out);
    }
    return ISO_OK;
}

static iso_status_t check_node(const checker_t *checker, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(checker->graph, id);
    bool good = false;

    ISO_TRY(is_plain(checker, &node->shape, &good));
    good = good && !makes_samples(node) && keeps_size(checker, node);
    if (good) {
        ISO_TRY(check_operands(checker, node, &checker->outer[id], &good));
    }
    if (!good) {
        return iso_fail(ISO_UNSUPPORTED,
                        "node '%s' (%s) combines or counts the samples of a "
                        "batch '%s', so that its result would depend on the "
                        "micro-batch; export the model with a fixed batch",
                        node->name, iso_op_string(node->op), checker->batch);
    }
    return ISO_OK;
}

static iso_status_t check_outputs(const checker_t *checker)
{
    for (int i = 0; i < iso_graph_output_count(checker->graph); i++) {
        const iso_output_t *output = iso_graph_output(checker->graph, i);

        if (checker->outer[output->node] != 1) {
            return iso_fail(ISO_UNSUPPORTED,
                            "output '%s' does not have the samples of a batch "
                            "one after the other",
                            output->name);
        }
    }
    return ISO_OK;
}

iso_status_t iso_graph_check_samples(const iso_graph_t *graph,
                                     const char *batch)
{
    int32_t count = iso_graph_node_count(graph);
    checker_t checker = {.graph = graph, .batch = batch};
    iso_status_t status = ISO_OK;

    checker.outer = iso_alloc_zeroed((size_t)count, sizeof *checker.outer);
    if (checker.outer == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; status == ISO_OK && id < count; id++) {
        status = check_node(&checker, id);
    }
    if (status == ISO_OK) {
        status = check_outputs(&checker);
    }
    iso_free(checker.outer);
    return status;
}
