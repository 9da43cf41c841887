#include "kernel/chain.h"

#include "base/log.h"
#include "base/mem.h"
#include "graph/param.h"
#include "kernel/panels.h"

/* ---- What may be a link ---- */

static bool is_f32(const iso_graph_t *graph, const iso_node_t *node)
{
    bool all = node->dtype == ISO_DTYPE_F32;

    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_id_t operand = node->inputs[i];

        all = all && (operand == ISO_NO_NODE ||
                      iso_graph_node(graph, operand)->dtype == ISO_DTYPE_F32);
    }
    return all;
}

static int64_t last_dim(const iso_shape_t *shape)
{
    return shape->rank > 0 ? shape->dim[shape->rank - 1].size : 1;
}

/* Of the last axis alone, which stays as one of 1. */
static bool reduces_rows(const iso_node_t *node, const iso_shape_t *operand)
{
    iso_reduce_param_t param;
    const iso_status_t status =
        iso_reduce_param_of(node, operand->rank, &param);
    bool is_last = operand->rank > 0 && param.keep_dims;

    ISO_ASSERT(status == ISO_OK);
    for (int axis = 0; axis < operand->rank; axis++) {
        is_last = is_last && param.reduced[axis] == (axis + 1 == operand->rank);
    }
    return is_last;
}

static bool is_softmax_of_rows(const iso_node_t *node)
{
    int axis = 0;
    const iso_status_t status = iso_axis_of(node, node->shape.rank, -1, &axis);

    ISO_ASSERT(status == ISO_OK);
    return axis + 1 == node->shape.rank;
}

static bool is_norm_of_rows(const iso_node_t *node)
{
    iso_norm_param_t param;
    const iso_status_t status =
        iso_norm_param_of(node, node->shape.rank, &param);

    ISO_ASSERT(status == ISO_OK);
    return param.axis + 1 == node->shape.rank;
}

static iso_chain_kind_t kind_of_rows(const iso_node_t *node,
                                     const iso_shape_t *operand)
{
    if (operand->rank == 0 || last_dim(operand) > ISO_CHAIN_ROW_MOST) {
        return ISO_CHAIN_NONE;
    }
    switch (node->op) {
    case ISO_OP_REDUCE_SUM:
    case ISO_OP_REDUCE_MEAN:
    case ISO_OP_REDUCE_MAX:
    case ISO_OP_REDUCE_MIN:
    case ISO_OP_REDUCE_PROD:
        return reduces_rows(node, operand) ? ISO_CHAIN_REDUCE : ISO_CHAIN_NONE;
    case ISO_OP_SOFTMAX:
    case ISO_OP_LOG_SOFTMAX:
        return is_softmax_of_rows(node) ? ISO_CHAIN_SOFTMAX : ISO_CHAIN_NONE;
    case ISO_OP_LAYER_NORM:
        return is_norm_of_rows(node) ? ISO_CHAIN_NORM : ISO_CHAIN_NONE;
    default:
        return ISO_CHAIN_NONE;
    }
}

iso_chain_kind_t iso_chain_kind(const iso_graph_t *graph, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(graph, id);

    if (iso_node_is_leaf(node) || node->shape.rank == 0 ||
        !is_f32(graph, node) || iso_shape_count(&node->shape) == 0) {
        return ISO_CHAIN_NONE;
    }
    switch (iso_op_info(node->op)->op_class) {
    case ISO_OP_CLASS_UNARY:
        return node->op == ISO_OP_CAST ? ISO_CHAIN_NONE : ISO_CHAIN_UNARY;
    case ISO_OP_CLASS_BINARY:
        return node->op == ISO_OP_MOD ? ISO_CHAIN_NONE : ISO_CHAIN_BINARY;
    case ISO_OP_CLASS_REDUCE:
    case ISO_OP_CLASS_NORM:
        return kind_of_rows(node,
                            &iso_graph_node(graph, node->inputs[0])->shape);
    default:
        return ISO_CHAIN_NONE;
    }
}

/* ---- Operands ---- */

bool iso_chain_rows_of(int rank, const int64_t *dims, int operand_rank,
                       const int64_t *operand_dims, iso_chain_rows_t *rows_out)
{
    const int missing = rank - operand_rank;
    iso_chain_rows_t rows = {.inner = 1, .count = 1, .width = 1};
    bool is_behind = true; /* still behind the axes that it has */
    bool is_before = false;

    if (operand_rank > 0) {
        rows.width = operand_dims[operand_rank - 1];
    }
    for (int axis = rank - 2; axis >= 0; axis--) {
        const int64_t own = axis < missing ? 1 : operand_dims[axis - missing];

        if (dims[axis] == 1) {
            continue;
        }
        if (own == 1) {
            is_before = !is_behind;
            rows.inner *= is_behind ? dims[axis] : 1;
        } else if (is_before) {
            return false;
        } else {
            is_behind = false;
            rows.count *= own;
        }
    }
    *rows_out = rows;
    return true;
}

static bool rows_of(const iso_graph_t *graph, const iso_node_t *node, int input,
                    iso_chain_rows_t *rows_out)
{
    const iso_shape_t *operand =
        &iso_graph_node(graph, node->inputs[input])->shape;
    int64_t dims[ISO_MAX_RANK];
    int64_t operand_dims[ISO_MAX_RANK];

    for (int axis = 0; axis < node->shape.rank; axis++) {
        dims[axis] = node->shape.dim[axis].size;
    }
    for (int axis = 0; axis < operand->rank; axis++) {
        operand_dims[axis] = operand->dim[axis].size;
    }
    return iso_chain_rows_of(node->shape.rank, dims, operand->rank,
                             operand_dims, rows_out);
}

static bool is_regular(const iso_graph_t *graph, const iso_node_t *node)
{
    iso_chain_rows_t rows;

    for (int i = 0; i < node->n_inputs; i++) {
        if (!rows_of(graph, node, i, &rows)) {
            return false;
        }
    }
    return true;
}

/* ---- Joining ---- */

/* The chain that is open while nodes are visited from the last to the
 * first. */
typedef struct chain {
    iso_node_id_t last; /* ISO_NO_NODE: none is open */
    int n_links;
    const iso_shape_t *shape; /* of its last link */
    int64_t n;                /* elements of a row; 1 when none is known yet */
} chain_t;

typedef struct work {
    const iso_graph_t *graph;
    iso_formats_t *formats;
    iso_node_id_t *reader; /* (n_nodes) the last one; or none */
    iso_node_id_t *common; /* (n_nodes) last link of the chain that all its
                            * readers belong to; or none */
    bool *is_taken;        /* (n_nodes) computed with a direct node */
    chain_t chain;
} work_t;

static iso_chain_kind_t kind_here(const work_t *work, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(work->graph, id);
    iso_chain_kind_t kind;

    if (work->is_taken[id] || work->formats->made[id] != ISO_FORMAT_PLAIN) {
        return ISO_CHAIN_NONE;
    }
    kind = iso_chain_kind(work->graph, id);
    return kind == ISO_CHAIN_BINARY && !is_regular(work->graph, node)
               ? ISO_CHAIN_NONE
               : kind;
}

/* Elements of the rows that a link works on. */
static int64_t row_of(const work_t *work, iso_node_id_t id,
                      iso_chain_kind_t kind)
{
    const iso_node_t *node = iso_graph_node(work->graph, id);

    return last_dim(kind == ISO_CHAIN_REDUCE
                        ? &iso_graph_node(work->graph, node->inputs[0])->shape
                        : &node->shape);
}

/* Has the chain the same rows? */
static bool fits(const work_t *work, iso_node_id_t id, iso_chain_kind_t kind)
{
    const chain_t *chain = &work->chain;
    const iso_shape_t *shape = &iso_graph_node(work->graph, id)->shape;
    const int64_t n = row_of(work, id, kind);
    bool fit = chain->last != ISO_NO_NODE && chain->n_links < ISO_CHAIN_MOST &&
               work->common[id] == chain->last &&
               shape->rank == chain->shape->rank &&
               (n == chain->n || n == 1 || chain->n == 1);

    for (int axis = 0; fit && axis + 1 < shape->rank; axis++) {
        fit = shape->dim[axis].size == chain->shape->dim[axis].size;
    }
    return fit;
}

/* Readers are visited before what they read. */
static void note_operands(work_t *work, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(work->graph, id);

    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_id_t operand = node->inputs[i];

        if (operand == ISO_NO_NODE) {
            continue;
        }
        if (work->reader[operand] == ISO_NO_NODE) {
            work->reader[operand] = id;
            work->common[operand] = work->chain.last;
        } else if (work->common[operand] != work->chain.last) {
            work->common[operand] = ISO_NO_NODE;
        }
    }
}

/* Can a link be computed for some rows and some columns by themselves, of a
 * value of this shape? */
static bool works_on_blocks(const iso_graph_t *graph, iso_node_id_t id,
                            const iso_shape_t *shape)
{
    const iso_node_t *node = iso_graph_node(graph, id);
    const iso_chain_kind_t kind = iso_chain_kind(graph, id);
    const int64_t n_rows = iso_shape_count(shape) / last_dim(shape);

    if ((kind != ISO_CHAIN_UNARY && kind != ISO_CHAIN_BINARY) ||
        !iso_shape_equal(&node->shape, shape)) {
        return false;
    }
    for (int i = 0; i < node->n_inputs; i++) {
        iso_chain_rows_t rows;

        if (!rows_of(graph, node, i, &rows) ||
            !(rows.count == 1 || (rows.inner == 1 && rows.count == n_rows))) {
            return false;
        }
    }
    return true;
}

/* A product by constant weights, made in blocks of rows and columns. */
static bool is_direct_product(const iso_graph_t *graph, iso_node_id_t id)
{
    iso_panels_spec_t spec;

    return iso_panels_of(graph, id, &spec) &&
           (spec.kind == ISO_PANELS_MATMUL ||
            spec.kind == ISO_PANELS_MATMUL_TRANSPOSED);
}

/* A product of two values, made matrix by matrix: of whole rows. */
static bool suits_whole_rows(const work_t *work, iso_node_id_t id)
{
    const chain_t *chain = &work->chain;
    const iso_shape_t *shape = &iso_graph_node(work->graph, id)->shape;

    return iso_view_is_read(work->graph, id, 0) &&
           iso_shape_equal(shape, chain->shape) &&
           last_dim(shape) == chain->n && chain->n <= ISO_CHAIN_ROW_MOST &&
           iso_shape_count(shape) > 0;
}

/* Can the chain that is open follow this product? */
static bool can_begin(const work_t *work, iso_node_id_t id)
{
    const chain_t *chain = &work->chain;

    if (chain->last == ISO_NO_NODE || chain->n_links == ISO_CHAIN_MOST ||
        work->common[id] != chain->last || work->is_taken[id]) {
        return false;
    }
    if (!is_direct_product(work->graph, id)) {
        return suits_whole_rows(work, id);
    }
    for (iso_node_id_t link = id + 1; link <= chain->last; link++) {
        if (!iso_node_is_leaf(iso_graph_node(work->graph, link)) &&
            !works_on_blocks(work->graph, link,
                             &iso_graph_node(work->graph, id)->shape)) {
            return false;
        }
    }
    return true;
}

static void join_link(work_t *work, iso_node_id_t id)
{
    work->formats->joined[id] = work->reader[id];
    work->formats->is_chain[work->chain.last] = true;
    work->chain.n_links++;
}

/* The node goes on with the chain that is open, opens one or ends it. */
static void visit(work_t *work, iso_node_id_t id)
{
    const iso_chain_kind_t kind = kind_here(work, id);
    chain_t *chain = &work->chain;

    if (kind == ISO_CHAIN_NONE) {
        if (can_begin(work, id)) {
            join_link(work, id);
        }
        *chain = (chain_t){.last = ISO_NO_NODE};
    } else {
        const int64_t n = row_of(work, id, kind);

        if (fits(work, id, kind)) {
            join_link(work, id);
            chain->n = n > chain->n ? n : chain->n;
        } else {
            *chain = (chain_t){
                .last = id,
                .n_links = 1,
                .shape = &iso_graph_node(work->graph, id)->shape,
                .n = n,
            };
        }
    }
    note_operands(work, id);
}

static void visit_all(work_t *work)
{
    const iso_graph_t *graph = work->graph;
    const int32_t n = work->formats->n_nodes;
    const iso_node_id_t *joined = work->formats->joined;

    for (iso_node_id_t id = 0; id < n; id++) {
        work->reader[id] = ISO_NO_NODE;
        work->common[id] = ISO_NO_NODE;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        if (joined[id] != ISO_NO_NODE) {
            work->is_taken[id] = true;
            work->is_taken[joined[id]] = true;
        }
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        work->reader[iso_graph_output(graph, i)->node] = n; /* the caller */
    }
    work->chain.last = ISO_NO_NODE;
    for (iso_node_id_t id = n - 1; id >= 0; id--) {
        if (!iso_node_is_leaf(iso_graph_node(graph, id))) {
            visit(work, id);
        }
    }
}

iso_status_t iso_chains_join(const iso_graph_t *graph, iso_formats_t *formats)
{
    const size_t n = (size_t)formats->n_nodes;
    work_t work = {
        .graph = graph,
        .formats = formats,
        .reader = iso_alloc(n * sizeof *work.reader),
        .common = iso_alloc(n * sizeof *work.common),
        .is_taken = iso_alloc_zeroed(n, sizeof *work.is_taken),
    };
    iso_status_t status = ISO_NOMEM;

    if (work.reader != NULL && work.common != NULL && work.is_taken != NULL) {
        visit_all(&work);
        status = ISO_OK;
    }
    iso_free(work.reader);
    iso_free(work.common);
    iso_free(work.is_taken);
    return status;
}
