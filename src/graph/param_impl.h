/*
 * Reading attributes; private to src/graph.
 *
 * Every failure here names the node, the attribute, what was found and what
 * was expected.
 */
#ifndef ISO_PARAM_IMPL_H
#define ISO_PARAM_IMPL_H

#include "graph/param.h"

/* Largest kernel, stride, dilation or pad: sums and products of two of them
 * and a dim stay within 64 bits. */
#define ISO__MOST_WINDOW INT64_C(0x7fffffff)

/* Record "node 'name' (op): ..." and return status. */
iso_status_t iso__node_fail(iso_status_t status, const iso_node_t *node,
                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What a list of integers must be. */
typedef struct iso_int_rule {
    const char *name;
    int count;
    int64_t least;
    int64_t most;
} iso_int_rule_t;

/*
 * Read rule->count integers (static dims count as such).
 * values_out  [out]  (rule->count); every one fallback when not given
 */
iso_status_t iso__attr_ints(const iso_node_t *node, const iso_int_rule_t *rule,
                            int64_t fallback, int64_t *values_out);

/* 0 or 1. */
iso_status_t iso__attr_bool(const iso_node_t *node, const char *name,
                            bool fallback, bool *value_out);

/* Index of a text among choices, which end with NULL; the first one when the
 * attribute is not given. */
iso_status_t iso__attr_choice(const iso_node_t *node, const char *name,
                              const char *const *choices, int *choice_out);

/* Fail when the attribute is not there. */
iso_status_t iso__attr_need(const iso_node_t *node, const char *name,
                            const iso_attr_t **attr_out);

/* Element of a list of ints or dims; else the kind is an error. */
iso_status_t iso__attr_dim_at(const iso_node_t *node, const iso_attr_t *attr,
                              int index, iso_dim_t *dim_out);

/* A list of at most ISO_MAX_RANK dims (ints count as such); required. */
iso_status_t iso__attr_shape(const iso_node_t *node, const char *name,
                             iso_shape_t *shape_out);

/* A required text that is a dtype. */
iso_status_t iso__attr_dtype(const iso_node_t *node, const char *name,
                             iso_dtype_t *dtype_out);

/* Axis in [-rank, rank) to [0, rank). */
iso_status_t iso__axis_resolve(const iso_node_t *node, const char *name,
                               int64_t axis, int rank, int *axis_out);

/* Activation of a contraction. */
iso_status_t iso__activation_of(const iso_node_t *node,
                                iso_activation_param_t *param_out);

/* Slice by axis, before it meets the operand's dims; an axis that is not
 * sliced has step 1, start 0 and end INT64_MAX. */
typedef struct iso_slice_spec {
    iso_dim_t start[ISO_MAX_RANK];
    iso_dim_t end[ISO_MAX_RANK];
    int64_t step[ISO_MAX_RANK];
} iso_slice_spec_t;

iso_status_t iso__slice_spec_of(const iso_node_t *node, int rank,
                                iso_slice_spec_t *spec_out);

/* ONNX's clamping of one axis with static dim, start and end. */
typedef struct iso_slice_range {
    int64_t start;
    int64_t count;
} iso_slice_range_t;

iso_slice_range_t iso__slice_clamp(int64_t dim, int64_t start, int64_t end,
                                   int64_t step);

/* Span of a dilated kernel: (kernel - 1) * dilation + 1. */
int64_t iso__window_span(const iso_window_t *window, int spatial);

#endif
