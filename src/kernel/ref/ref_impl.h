/*
 * The reference device by parts, one file for each kind of op; private to
 * src/kernel/ref.
 *
 * Files named in REAL_SOURCES of the build are compiled twice, for f32 and
 * for f64 (see real.h): each of their functions has a name that ends in
 * _f32 or _f64.
 */
#ifndef ISO_REF_IMPL_H
#define ISO_REF_IMPL_H

#include "isotome/error.h"

#include "kernel/coeff.h"
#include "kernel/ref.h"
#include "kernel/walk.h"

/* Computes one node; the contract of iso_ref_run. */
typedef iso_status_t iso__ref_fn(const iso_node_t *node,
                                 const iso_tensor_t *const *inputs,
                                 const iso_tensor_t *output);

#define ISO__REF_REAL_MAP(X) \
    X(unary)                 \
    X(binary)                \
    X(compare)               \
    X(matmul)                \
    X(gemm)                  \
    X(conv)                  \
    X(conv_transpose)        \
    X(reduce)                \
    X(arg)                   \
    X(softmax)               \
    X(batch_norm)            \
    X(row_norm)              \
    X(lrn)                   \
    X(max_pool)              \
    X(avg_pool)              \
    X(resize_linear)

#define X(name)                        \
    iso__ref_fn iso__ref_##name##_f32; \
    iso__ref_fn iso__ref_##name##_f64;
ISO__REF_REAL_MAP(X)
#undef X

/* Elementwise functions of one value and of two, for the ops that apply them
 * inside. */
float iso__ref_apply_f32(iso_op_t op, const iso__coeff_t *coeff, float x);
double iso__ref_apply_f64(iso_op_t op, const iso__coeff_t *coeff, double x);
float iso__ref_apply2_f32(iso_op_t op, float x, float y);
double iso__ref_apply2_f64(iso_op_t op, double x, double y);

/* Does the comparison op hold between two values? */
bool iso__ref_holds_f32(iso_op_t op, float x, float y);
bool iso__ref_holds_f64(iso_op_t op, double x, double y);

/* Integers of any width, as i64. */
iso__ref_fn iso__ref_int_unary;
iso__ref_fn iso__ref_int_binary;
iso__ref_fn iso__ref_int_compare;
iso__ref_fn iso__ref_int_reduce;
iso__ref_fn iso__ref_int_arg;
iso__ref_fn iso__ref_int_max_pool;

/* add, sub, mul (which wrap), div, min, max. */
int64_t iso__ref_int_apply2(iso_op_t op, int64_t x, int64_t y);

int64_t iso__ref_int_load(const iso_tensor_t *tensor, int64_t index);

/* Wraps to the width of the tensor; a bool is value != 0. */
void iso__ref_int_store(const iso_tensor_t *tensor, int64_t index,
                        int64_t value);

iso__ref_fn iso__ref_half_compare; /* f16 and bf16 */
iso__ref_fn iso__ref_logic;        /* bool: and, or, xor, not, equal */

/* Any dtype. */
iso__ref_fn iso__ref_cast;
iso__ref_fn iso__ref_where;
iso__ref_fn iso__ref_reshape;
iso__ref_fn iso__ref_steps; /* the ops of kernel/move.h */
iso__ref_fn iso__ref_concat;
iso__ref_fn iso__ref_pad;
iso__ref_fn iso__ref_gather;
iso__ref_fn iso__ref_gather_elements;
iso__ref_fn iso__ref_tile;
iso__ref_fn iso__ref_resize;
iso__ref_fn iso__ref_dims;
iso__ref_fn iso__ref_iota;

/* value as one element of the tensor, by the rules of cast. */
void iso__ref_store_f64(const iso_tensor_t *tensor, int64_t index,
                        double value);

/* Where output index i of an axis reads, as resize defines it: between two
 * elements, or (rest = 0) at one. The coordinate is computed in f64, rounded
 * once to f32 and clamped to the operand. */
typedef struct iso__ref_place {
    int64_t below;
    float rest; /* in [0, 1) */
} iso__ref_place_t;

iso__ref_place_t iso__ref_resize_place(const iso_resize_param_t *param,
                                       int axis, int64_t input, int64_t output,
                                       int64_t i);

/* Copy element `from` of one tensor to element `to` of another. */
void iso__ref_move(const iso_tensor_t *to_tensor, int64_t to,
                   const iso_tensor_t *from_tensor, int64_t from);

/* Operand index, or NULL when it is not given. */
static inline const iso_tensor_t *
iso__ref_input(const iso_node_t *node, const iso_tensor_t *const *inputs,
               int index)
{
    return index < node->n_inputs ? inputs[index] : NULL;
}

#endif
