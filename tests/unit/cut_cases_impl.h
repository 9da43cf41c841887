/*
 * Random nodes by parts, shared by the files that make them.
 */
#ifndef CUT_CASES_IMPL_H
#define CUT_CASES_IMPL_H

#include "cut_cases.h"

/* In [least, most]. */
int64_t cut_between(cut_case_t *c, int64_t least, int64_t most);
bool cut_coin(cut_case_t *c);

/* Sizes with 1 and primes among them. */
void cut_any_dims(cut_case_t *c, int rank, int64_t *dims);
int64_t cut_product(int rank, const int64_t *dims);

/* f32 or f64; one that the op computes in. */
iso_dtype_t cut_real_dtype(cut_case_t *c);
iso_dtype_t cut_any_dtype(cut_case_t *c);

/* An operand that is broadcast to dims. */
void cut_broadcast_operand(cut_case_t *c, iso_dtype_t dtype, int rank,
                           const int64_t *dims);

void cut_add_int(cut_case_t *c, const char *name, int64_t value);
void cut_add_float(cut_case_t *c, const char *name, double value);

/* One of the activations, with numbers for all. */
void cut_add_activation(cut_case_t *c);

/* Operands and attributes of one kind of node. */
typedef void cut_make_fn(cut_case_t *c);

cut_make_fn cut_make_reshape;
cut_make_fn cut_make_transpose;
cut_make_fn cut_make_concat;
cut_make_fn cut_make_slice;
cut_make_fn cut_make_pad;
cut_make_fn cut_make_gather;
cut_make_fn cut_make_gather_elements;
cut_make_fn cut_make_expand;
cut_make_fn cut_make_tile;
cut_make_fn cut_make_blocks;
cut_make_fn cut_make_resize;

#endif
