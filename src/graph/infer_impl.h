/*
 * Rules of shape inference, one file for each group of ops; private to
 * src/graph. A rule checks a node's operands and gives its value; what a rule
 * asks for again and again has a function here.
 */
#ifndef ISO_INFER_IMPL_H
#define ISO_INFER_IMPL_H

#include "graph/param_impl.h"

typedef struct iso_infer_in {
    const iso_graph_t *graph;
    const iso_node_t *node;
} iso_infer_in_t;

/* Dtype and shape of the value that a node makes. */
typedef struct iso_value {
    iso_dtype_t dtype;
    iso_shape_t shape;
} iso_value_t;

typedef iso_status_t iso_infer_rule_t(const iso_infer_in_t *in,
                                      iso_value_t *value_out);

iso_infer_rule_t iso__infer_unary;
iso_infer_rule_t iso__infer_binary;
iso_infer_rule_t iso__infer_compare;
iso_infer_rule_t iso__infer_logic;
iso_infer_rule_t iso__infer_where;
iso_infer_rule_t iso__infer_conv;
iso_infer_rule_t iso__infer_matmul;
iso_infer_rule_t iso__infer_gemm;
iso_infer_rule_t iso__infer_reduce;
iso_infer_rule_t iso__infer_norm;
iso_infer_rule_t iso__infer_pool;
iso_infer_rule_t iso__infer_reshape;
iso_infer_rule_t iso__infer_transpose;
iso_infer_rule_t iso__infer_concat;
iso_infer_rule_t iso__infer_pad;
iso_infer_rule_t iso__infer_expand;
iso_infer_rule_t iso__infer_tile;
iso_infer_rule_t iso__infer_depth_to_space;
iso_infer_rule_t iso__infer_space_to_depth;
iso_infer_rule_t iso__infer_resize;
iso_infer_rule_t iso__infer_slice;
iso_infer_rule_t iso__infer_gather;
iso_infer_rule_t iso__infer_gather_elements;
iso_infer_rule_t iso__infer_dims;
iso_infer_rule_t iso__infer_iota;
iso_infer_rule_t iso__infer_exchange;

/* The index-th operand; NULL when it is not given. */
const iso_node_t *iso__operand(const iso_infer_in_t *in, int index);

/* ---- Checks of an operand that is given ---- */

/* Sets of dtypes. */
#define ISO__BIT(name) (1U << ISO_DTYPE_##name)
#define ISO__FLOATS    (ISO__BIT(F32) | ISO__BIT(F64))
#define ISO__INDICES   (ISO__BIT(I32) | ISO__BIT(I64))
#define ISO__NUMBERS   (ISO__FLOATS | ISO__INDICES | ISO__BIT(I8) | ISO__BIT(U8))
#define ISO__COMPARED  (ISO__NUMBERS | ISO__BIT(F16) | ISO__BIT(BF16))

iso_status_t iso__need_dtype(const iso_infer_in_t *in, int index,
                             unsigned dtypes);

/* Operands first to the last one given have the dtype of operand like. */
iso_status_t iso__need_same_dtypes(const iso_infer_in_t *in, int first,
                                   int like);

iso_status_t iso__need_rank(const iso_infer_in_t *in, int index, int least,
                            int most);

/* A dim that is a number of at least 1. */
iso_status_t iso__need_number(const iso_infer_in_t *in, int index, int axis,
                              int64_t *size_out);

/* Shape of the operand is [size]. what names the size, "channels". */
iso_status_t iso__need_vector(const iso_infer_in_t *in, int index,
                              iso_dim_t size, const char *what);

/* ---- Shapes ---- */

/* NumPy broadcasting; the failure names the node. */
iso_status_t iso__broadcast(const iso_infer_in_t *in, const iso_shape_t *a,
                            const iso_shape_t *b, iso_shape_t *shape_out);

/* Operand index broadcasts to shape without changing it. */
iso_status_t iso__need_broadcast_to(const iso_infer_in_t *in, int index,
                                    const iso_shape_t *shape);

/* As iso_window_output for a dim that may be an expression. */
iso_status_t iso__window_dim(const iso_infer_in_t *in,
                             const iso_window_t *window, int spatial,
                             bool ceil_mode, iso_dim_t input,
                             iso_dim_t *output_out);

/* Name the node in the failure of a function that knows none. */
iso_status_t iso__at_node(const iso_infer_in_t *in, iso_status_t status);

/* a + b and a * b for a number b. */
iso_status_t iso__dim_plus(const iso_infer_in_t *in, iso_dim_t a, int64_t b,
                           iso_dim_t *dim_out);
iso_status_t iso__dim_times(const iso_infer_in_t *in, iso_dim_t a, int64_t b,
                            iso_dim_t *dim_out);

#endif
