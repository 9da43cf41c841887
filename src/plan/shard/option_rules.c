/* Which axes an op can be cut along. */
#include "base/log.h"
#include "graph/param.h"
#include "plan/shard/option_impl.h"

const iso_node_t *iso__shard_operand(const iso_shard_op_t *op, int operand)
{
    const iso_node_t *node = iso_graph_node(op->graph, op->node);

    if (operand >= node->n_inputs || node->inputs[operand] == ISO_NO_NODE) {
        return NULL;
    }
    return iso_graph_node(op->graph, node->inputs[operand]);
}

static bool is_static(const iso_shard_op_t *op)
{
    const iso_node_t *node = iso_graph_node(op->graph, op->node);
    bool all = iso_shape_is_static(&node->shape);

    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_t *operand = iso__shard_operand(op, i);

        all = all && (operand == NULL || iso_shape_is_static(&operand->shape));
    }
    return all;
}

static void add_rule(const iso_shard_op_t *op, const iso__shard_rule_t *rule,
                     iso__shard_rules_t *rules)
{
    if (op->axes == 0 || (op->axes & (1U << (unsigned)rule->axis)) != 0) {
        ISO_ASSERT(rules->count < ISO__SHARD_RULES);
        rules->rule[rules->count++] = *rule;
    }
}

/* An axis of the value, when the node can be cut along it. */
static iso_status_t add_axis(const iso_shard_op_t *op, iso_shard_axis_t axis,
                             int output_axis, iso__shard_rules_t *rules)
{
    const iso_node_t *node = iso_graph_node(op->graph, op->node);
    iso__shard_rule_t rule = {.axis = axis,
                              .output_axis = output_axis,
                              .flat_axes = 1,
                              .length = node->shape.dim[output_axis].size};

    ISO_TRY(iso_cut_unit(op->graph, op->node, output_axis, &rule.unit));
    if (rule.unit > 0) {
        add_rule(op, &rule, rules);
    }
    return ISO_OK;
}

static iso_status_t add_partial_sums(const iso_shard_op_t *op,
                                     iso_shard_axis_t axis,
                                     iso__shard_rules_t *rules)
{
    iso__shard_rule_t rule = {.axis = axis,
                              .output_axis = ISO_SHARD_PARTIAL_SUMS,
                              .flat_axes = 1,
                              .unit = 1};

    ISO_TRY(iso_cut_blocks(op->graph, op->node, &rule.length));
    add_rule(op, &rule, rules);
    return ISO_OK;
}

/* ---- conv ---- */

static int64_t groups_of(const iso_shard_op_t *op)
{
    int64_t groups = 1;

    ISO_ASSERT(iso_attr_int(iso_graph_node(op->graph, op->node), "groups", 1,
                            &groups) == ISO_OK);
    return groups;
}

static iso_status_t conv_rules(const iso_shard_op_t *op,
                               iso__shard_rules_t *rules)
{
    ISO_TRY(add_axis(op, ISO_SHARD_BATCH, 0, rules));
    if (groups_of(op) == 1) {
        ISO_TRY(add_axis(op, ISO_SHARD_OUT_CHANNEL, 1, rules));
    } else {
        ISO_TRY(add_axis(op, ISO_SHARD_GROUP, 1, rules));
    }
    ISO_TRY(add_partial_sums(op, ISO_SHARD_IN_CHANNEL, rules));
    return add_axis(op, ISO_SHARD_HEIGHT, 2, rules);
}

/* ---- matmul, gemm ---- */

/* Is the same B (inner, cols) multiplied with all rows of a batched A? */
static bool has_one_b(const iso_node_t *a, const iso_node_t *b)
{
    int64_t matrices = 1;
    bool one = true;

    for (int axis = 0; axis < a->shape.rank - 2; axis++) {
        matrices *= a->shape.dim[axis].size;
    }
    for (int axis = 0; axis < b->shape.rank - 2; axis++) {
        one = one && b->shape.dim[axis].size == 1;
    }
    return one && matrices > 1;
}

/* All rows of a batched A as one axis. */
static void add_all_rows(const iso_shard_op_t *op, iso__shard_rules_t *rules)
{
    const iso_shape_t *shape = &iso_graph_node(op->graph, op->node)->shape;
    iso__shard_rule_t rule = {.axis = ISO_SHARD_ROWS,
                              .output_axis = shape->rank - 2,
                              .flat_axes = shape->rank - 1,
                              .length = 1,
                              .unit = 1};

    for (int axis = 0; axis <= rule.output_axis; axis++) {
        rule.length *= shape->dim[axis].size;
    }
    add_rule(op, &rule, rules);
}

static iso_status_t matmul_rules(const iso_shard_op_t *op,
                                 iso__shard_rules_t *rules)
{
    const int rank = iso_graph_node(op->graph, op->node)->shape.rank;
    const iso_node_t *a = iso__shard_operand(op, 0);
    const iso_node_t *b = iso__shard_operand(op, 1);

    if (a->shape.rank < 2 || b->shape.rank < 2) {
        return ISO_OK;
    }

    const bool one_b = has_one_b(a, b);

    if (one_b) {
        add_all_rows(op, rules);
    } else {
        ISO_TRY(add_axis(op, ISO_SHARD_ROWS, rank - 2, rules));
    }
    ISO_TRY(add_axis(op, ISO_SHARD_COLS, rank - 1, rules));
    for (int axis = 0; !one_b && axis < rank - 2; axis++) {
        ISO_TRY(add_axis(op, ISO_SHARD_MATRICES, axis, rules));
    }
    return add_partial_sums(op, ISO_SHARD_REDUCTION, rules);
}

static iso_status_t gemm_rules(const iso_shard_op_t *op,
                               iso__shard_rules_t *rules)
{
    ISO_TRY(add_axis(op, ISO_SHARD_ROWS, 0, rules));
    ISO_TRY(add_axis(op, ISO_SHARD_COLS, 1, rules));
    return add_partial_sums(op, ISO_SHARD_REDUCTION, rules);
}

iso_status_t iso__shard_rules_of(const iso_shard_op_t *op,
                                 iso__shard_rules_t *rules_out)
{
    const iso_node_t *node = iso_graph_node(op->graph, op->node);

    rules_out->count = 0;
    if (!is_static(op) || iso_shape_count(&node->shape) == 0) {
        return ISO_OK;
    }
    switch (node->op) {
    case ISO_OP_CONV:
        return conv_rules(op, rules_out);
    case ISO_OP_MATMUL:
        return matmul_rules(op, rules_out);
    case ISO_OP_GEMM:
        return gemm_rules(op, rules_out);
    default:
        return ISO_OK;
    }
}
