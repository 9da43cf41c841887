#include "plan/shard/cut.h"

#include "isotome/error.h"

#include "base/log.h"
#include "plan/shard/cut_impl.h"

#include <string.h>

/* -- rules -- */

/* X(op, rule): ops whose rule is not that of their class. An op without a
 * rule is not cut. */
#define RULE_MAP(X)                     \
    X(WHERE, broadcast)                 \
    X(CONV, conv)                       \
    X(CONV_TRANSPOSE, conv)             \
    X(MATMUL, matmul)                   \
    X(GEMM, gemm)                       \
    X(RESHAPE, reshape)                 \
    X(TRANSPOSE, transpose)             \
    X(CONCAT, concat)                   \
    X(SLICE, slice)                     \
    X(PAD, pad)                         \
    X(GATHER, gather)                   \
    X(GATHER_ELEMENTS, gather_elements) \
    X(EXPAND, broadcast)                \
    X(TILE, tile)                       \
    X(DEPTH_TO_SPACE, depth_to_space)   \
    X(SPACE_TO_DEPTH, space_to_depth)   \
    X(RESIZE, resize)

static iso__cut_rule_t *rule_of(iso_op_t op)
{
    static iso__cut_rule_t *const rules[ISO_OP_COUNT] = {
#define X(op, rule) [ISO_OP_##op] = iso__cut_##rule,
        RULE_MAP(X)
#undef X
    };

    switch (iso_op_info(op)->op_class) {
    case ISO_OP_CLASS_UNARY:
    case ISO_OP_CLASS_BINARY:
    case ISO_OP_CLASS_COMPARE:
    case ISO_OP_CLASS_LOGIC:
        return iso__cut_broadcast;
    case ISO_OP_CLASS_REDUCE:
        return iso__cut_reduce;
    case ISO_OP_CLASS_NORM:
        return iso__cut_norm;
    case ISO_OP_CLASS_POOL:
        return iso__cut_pool;
    default:
        return rules[op];
    }
}

const iso_shape_t *iso__cut_shape(const iso__cut_in_t *in, int operand)
{
    return &iso_graph_node(in->graph, in->node->inputs[operand])->shape;
}

void iso__cut_same_axis(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    link->axis = in->axis;
}

/* Dims are aligned at the last one; a dim of 1 or none is read whole. */
iso_status_t iso__cut_broadcast(const iso__cut_in_t *in, iso__cut_link_t *link)
{
    const iso_shape_t *operand = iso__cut_shape(in, in->operand);
    const int axis = in->axis - (in->node->shape.rank - operand->rank);

    if (axis >= 0 && operand->dim[axis].size != 1) {
        link->axis = axis;
    }
    return ISO_OK;
}

/* The unit of a value without elements is 0. */
static iso_status_t link_of(const iso__cut_in_t *in, iso__cut_link_t *link_out)
{
    const iso_shape_t *shape = &in->node->shape;
    iso__cut_rule_t *rule = rule_of(in->node->op);

    *link_out = (iso__cut_link_t){.unit = 1, .axis = ISO_AXIS_WHOLE, .size = 1};
    if (rule == NULL || in->axis < 0 || in->axis >= shape->rank ||
        iso_shape_count(shape) <= 0) {
        link_out->unit = 0;
        return ISO_OK;
    }
    return rule(in, link_out);
}

iso_status_t iso_cut_unit(const iso_graph_t *graph, iso_node_id_t node,
                          int axis, int64_t *unit_out)
{
    const iso__cut_in_t in = {
        .graph = graph, .node = iso_graph_node(graph, node), .axis = axis};
    iso__cut_link_t link;

    *unit_out = 0;
    ISO_TRY(link_of(&in, &link));
    *unit_out = link.unit;
    return ISO_OK;
}

/* -- what a piece reads -- */

static iso_status_t piece_fail(const iso__cut_in_t *in, iso_range_t range,
                               int64_t unit)
{
    const iso_shape_t *shape = &in->node->shape;
    char text[ISO_SHAPE_TEXT_BYTES];

    if (unit == 0) {
        return iso_fail(ISO_INVAL,
                        "node '%s' (%s) cannot be cut along axis %d of %s; "
                        "compute it whole",
                        in->node->name, iso_op_string(in->node->op), in->axis,
                        iso_shape_text(shape, text));
    }
    return iso_fail(
        ISO_INVAL,
        "node '%s' (%s): piece %lld to %lld of axis %d (%s), expected not "
        "empty, inside the axis, between multiples of %lld",
        in->node->name, iso_op_string(in->node->op), (long long)range.begin,
        (long long)range.end, in->axis, iso_shape_text(shape, text),
        (long long)unit);
}

static iso_status_t check_piece(const iso__cut_in_t *in, iso_range_t range,
                                int64_t unit)
{
    const bool legal = unit > 0 && range.begin >= 0 &&
                       range.begin < range.end &&
                       range.end <= in->node->shape.dim[in->axis].size &&
                       range.begin % unit == 0 && range.end % unit == 0;

    return legal ? ISO_OK : piece_fail(in, range, unit);
}

iso_status_t iso_cut_operand(const iso_graph_t *graph, iso_node_id_t node,
                             int axis, iso_range_t range, int operand,
                             iso_slab_t *slab_out)
{
    const iso__cut_in_t in = {.graph = graph,
                              .node = iso_graph_node(graph, node),
                              .axis = axis,
                              .operand = operand};
    iso__window_part_t part;
    iso__cut_link_t link;

    ISO_ASSERT(operand >= 0 && operand < in.node->n_inputs &&
               in.node->inputs[operand] != ISO_NO_NODE);
    ISO_TRY(link_of(&in, &link));
    ISO_TRY(check_piece(&in, range, link.unit));
    *slab_out = (iso_slab_t){.axis = link.axis};
    if (link.window) {
        ISO_TRY(iso__cut_window_part(&in, range, &part));
        slab_out->range = part.range;
    } else if (link.axis != ISO_AXIS_WHOLE) {
        slab_out->range.begin = range.begin / link.unit * link.size;
        slab_out->range.end = range.end / link.unit * link.size;
    }
    return ISO_OK;
}

/* -- adding -- */

/* The one attribute that a piece has otherwise than the whole. */
typedef struct piece_attr {
    bool changed;
    iso_attr_t attr;
    int64_t ints[2 * ISO_MAX_SPATIAL];
    iso_dim_t dims[ISO_MAX_RANK];
} piece_attr_t;

static void set_ints(piece_attr_t *piece, const char *name, int count)
{
    piece->changed = true;
    piece->attr = (iso_attr_t){.name = name,
                               .kind = ISO_ATTR_INTS,
                               .count = count,
                               .value.ints = piece->ints};
}

static void set_shape(const iso__cut_in_t *in, iso_range_t range,
                      piece_attr_t *piece)
{
    const iso_shape_t *shape = &in->node->shape;

    memcpy(piece->dims, shape->dim, sizeof piece->dims);
    piece->dims[in->axis].size = iso_range_length(range);
    piece->changed = true;
    piece->attr = (iso_attr_t){.name = "shape",
                               .kind = ISO_ATTR_DIMS,
                               .count = shape->rank,
                               .value.dims = piece->dims};
}

/* A piece of a grouped convolution has some of the groups. */
static iso_status_t set_groups(const iso__cut_in_t *in, iso_range_t range,
                               piece_attr_t *piece)
{
    iso_conv_param_t param;

    ISO_TRY(iso__cut_conv_param(in, &param));
    if (param.groups > 1) {
        piece->ints[0] = iso_range_length(range) /
                         (in->node->shape.dim[1].size / param.groups);
        set_ints(piece, "groups", 1);
    }
    return ISO_OK;
}

static iso_status_t piece_attr_of(const iso__cut_in_t *in, iso_range_t range,
                                  piece_attr_t *piece)
{
    int count = 0;

    piece->changed = false;
    switch (in->node->op) {
    case ISO_OP_RESHAPE:
    case ISO_OP_EXPAND:
    case ISO_OP_RESIZE:
        set_shape(in, range, piece);
        return ISO_OK;
    case ISO_OP_CONV:
    case ISO_OP_CONV_TRANSPOSE:
        if (in->axis == 1) {
            return set_groups(in, range, piece);
        }
        break;
    case ISO_OP_MAX_POOL:
    case ISO_OP_AVG_POOL:
        break;
    default:
        return ISO_OK;
    }
    if (in->axis > 1) {
        ISO_TRY(iso__cut_window_pads(in, range, piece->ints, &count));
        set_ints(piece, "pads", count);
    }
    return ISO_OK;
}

/* The node's attributes with that one in its place. */
static int merge_attrs(const iso_node_t *node, const piece_attr_t *piece,
                       iso_attr_t attrs[ISO__CUT_ATTRS])
{
    int count = 0;

    ISO_ASSERT(node->n_attrs < ISO__CUT_ATTRS);
    for (int i = 0; i < node->n_attrs; i++) {
        if (!piece->changed ||
            strcmp(node->attrs[i].name, piece->attr.name) != 0) {
            attrs[count++] = node->attrs[i];
        }
    }
    if (piece->changed) {
        attrs[count++] = piece->attr;
    }
    return count;
}

iso_status_t iso__cut_check_input(const iso__cut_in_t *in,
                                  const iso_slab_t *slab,
                                  const iso_graph_t *local, iso_node_id_t input)
{
    iso_shape_t shape = *iso__cut_shape(in, in->operand);
    char expected[ISO_SHAPE_TEXT_BYTES];
    char found[ISO_SHAPE_TEXT_BYTES];

    if (slab->axis != ISO_AXIS_WHOLE) {
        shape.dim[slab->axis].size = iso_range_length(slab->range);
    }
    if (input < 0 || input >= iso_graph_node_count(local)) {
        return iso_fail(ISO_INVAL,
                        "node '%s' (%s): operand %d of a piece is node %d, "
                        "expected one of the local graph's %d",
                        in->node->name, iso_op_string(in->node->op),
                        in->operand, input, iso_graph_node_count(local));
    }

    const iso_node_t *node = iso_graph_node(local, input);

    if (iso_shape_equal(&node->shape, &shape)) {
        return ISO_OK;
    }
    return iso_fail(ISO_SHAPE,
                    "node '%s' (%s): operand %d of a piece, '%s', is %s, "
                    "expected the slab %s",
                    in->node->name, iso_op_string(in->node->op), in->operand,
                    node->name, iso_shape_text(&node->shape, found),
                    iso_shape_text(&shape, expected));
}

static iso_status_t check_inputs(iso__cut_in_t *in, iso_node_id_t node,
                                 iso_range_t range, const iso_graph_t *local,
                                 const iso_node_id_t *inputs)
{
    for (int i = 0; i < in->node->n_inputs; i++) {
        iso_slab_t slab;

        if (in->node->inputs[i] == ISO_NO_NODE) {
            continue;
        }
        in->operand = i;
        ISO_TRY(iso_cut_operand(in->graph, node, in->axis, range, i, &slab));
        ISO_TRY(iso__cut_check_input(in, &slab, local, inputs[i]));
    }
    return ISO_OK;
}

/* The parameters of iso_cut_operand, and where the node goes. */
/* NOLINTNEXTLINE(readability-function-size) */
iso_status_t iso_cut_add(const iso_graph_t *graph, iso_node_id_t node, int axis,
                         iso_range_t range, iso_graph_t *local,
                         const char *name, const iso_node_id_t *inputs,
                         iso_node_id_t *node_out)
{
    iso__cut_in_t in = {
        .graph = graph, .node = iso_graph_node(graph, node), .axis = axis};
    iso_attr_t attrs[ISO__CUT_ATTRS];
    iso_node_spec_t spec = {.name = name,
                            .op = in.node->op,
                            .n_inputs = in.node->n_inputs,
                            .inputs = inputs,
                            .attrs = attrs};
    iso__cut_link_t link;
    piece_attr_t piece;

    ISO_TRY(link_of(&in, &link));
    ISO_TRY(check_piece(&in, range, link.unit));
    ISO_TRY(check_inputs(&in, node, range, local, inputs));
    ISO_TRY(piece_attr_of(&in, range, &piece));
    spec.n_attrs = merge_attrs(in.node, &piece, attrs);
    return iso_graph_add(local, &spec, node_out);
}

iso_status_t iso_cut_add_whole(const iso_graph_t *graph, iso_node_id_t node,
                               iso_graph_t *local, const char *name,
                               const iso_node_id_t *inputs,
                               iso_node_id_t *node_out)
{
    const iso_node_t *whole = iso_graph_node(graph, node);
    const iso_node_spec_t spec = {.name = name,
                                  .op = whole->op,
                                  .n_inputs = whole->n_inputs,
                                  .inputs = inputs,
                                  .n_attrs = whole->n_attrs,
                                  .attrs = whole->attrs};

    return iso_graph_add(local, &spec, node_out);
}

/* -- names -- */

/* Of values (batch, channels, ..., height, width). */
static const char *image_axis_name(const iso_node_t *node, int axis)
{
    if (axis == 0) {
        return "batch";
    }
    return axis > 1 && axis == node->shape.rank - 2 ? "height" : "axis";
}

static const char *conv_axis_name(const iso__cut_in_t *in)
{
    iso_conv_param_t param;

    if (in->axis != 1) {
        return image_axis_name(in->node, in->axis);
    }
    return iso__cut_conv_param(in, &param) == ISO_OK && param.groups > 1
               ? "group"
               : "out-channel";
}

static const char *matrix_axis_name(const iso_node_t *node, int axis)
{
    const int last = node->shape.rank - 1;

    if (axis < last - 1) {
        return "batch";
    }
    return axis == last ? "cols" : "rows";
}

const char *iso_cut_axis_name(const iso_graph_t *graph, iso_node_id_t node,
                              int axis)
{
    const iso__cut_in_t in = {
        .graph = graph, .node = iso_graph_node(graph, node), .axis = axis};

    switch (in.node->op) {
    case ISO_OP_CONV:
    case ISO_OP_CONV_TRANSPOSE:
        return conv_axis_name(&in);
    case ISO_OP_MATMUL:
    case ISO_OP_GEMM:
        return matrix_axis_name(in.node, axis);
    case ISO_OP_BATCH_NORM:
    case ISO_OP_INSTANCE_NORM:
    case ISO_OP_LRN:
    case ISO_OP_MAX_POOL:
    case ISO_OP_AVG_POOL:
    case ISO_OP_DEPTH_TO_SPACE:
    case ISO_OP_SPACE_TO_DEPTH:
        return image_axis_name(in.node, axis);
    default:
        return "axis";
    }
}
