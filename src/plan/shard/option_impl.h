/* Between the files of shard options. */
#ifndef ISO_SHARD_OPTION_IMPL_H
#define ISO_SHARD_OPTION_IMPL_H

#include "plan/shard/option.h"

/* An axis along which an op can be cut: members as in iso_shard_option_t. */
typedef struct iso__shard_rule {
    iso_shard_axis_t axis;
    int output_axis;
    int flat_axes;
    int64_t length;
    int64_t unit;
} iso__shard_rule_t;

/* rows, cols, batch axes, reduction */
enum { ISO__SHARD_RULES = ISO_MAX_RANK + 1 };

typedef struct iso__shard_rules {
    int count;
    iso__shard_rule_t rule[ISO__SHARD_RULES];
} iso__shard_rules_t;

/* The axes of op->axes that this op has, in order. */
iso_status_t iso__shard_rules_of(const iso_shard_op_t *op,
                                 iso__shard_rules_t *rules_out);

/* The node of an operand; NULL when it is not given. */
const iso_node_t *iso__shard_operand(const iso_shard_op_t *op, int operand);

#endif
