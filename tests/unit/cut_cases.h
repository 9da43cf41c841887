/*
 * Random nodes for the tests of cuts: operands, attributes and data of any op
 * that can be cut.
 *
 *     cut_case_t c;
 *     if (cut_case_begin(&c, ISO_OP_CONV, &seed)) {
 *         test_call_run(&c.call, iso_ref_run);
 *         ...
 *     }
 *     cut_case_end(&c);
 */
#ifndef CUT_CASES_H
#define CUT_CASES_H

#include "base/arena.h"
#include "iso_test_call.h"

typedef struct cut_case {
    test_call_t call;
    iso_arena_t *arena; /* of the operands' data */
    uint64_t *random;
    int64_t special_in; /* one element in so many is no plain number; 0: none */
} cut_case_t;

/* False when there is no case of this op: it is not cut. The call is made,
 * its node is "call". */
bool cut_case_begin(cut_case_t *c, iso_op_t op, uint64_t *random);
void cut_case_end(cut_case_t *c);

/* Numbers of any kind: NaN, infinities, zeros of both signs, subnormals. */
void *cut_case_data(cut_case_t *c, iso_dtype_t dtype, int64_t count);

/* Add an operand of random data. */
void cut_case_operand(cut_case_t *c, iso_dtype_t dtype, int rank,
                      const int64_t *dims);

#endif
