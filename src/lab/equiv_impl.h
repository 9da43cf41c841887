/* The parts of the shard-equivalence experiment; private to equiv*.c. */
#ifndef ISO_EQUIV_IMPL_H
#define ISO_EQUIV_IMPL_H

#include "isotome/equiv.h"
#include "isotome/graph.h"

#include "base/text.h"
#include "device/device.h"
#include "plan/shard/option.h"

enum { ISO__EQUIV_OPERANDS = 2, ISO__EQUIV_RANK = 5 };

/* -- equiv_cases.c: which ops -- */

typedef struct iso__equiv_case {
    const char *net;
    bool quick;
    bool trans_b; /* gemm */
    iso_op_t op;  /* conv, matmul or gemm, without bias */
    int rank[ISO__EQUIV_OPERANDS];
    int64_t dims[ISO__EQUIV_OPERANDS][ISO__EQUIV_RANK];
    /* conv, of every spatial dim; 0: the default */
    int64_t stride;
    int64_t pad;
    int64_t dilation;
    int64_t groups;
} iso__equiv_case_t;

int iso__equiv_case_count(void);
const iso__equiv_case_t *iso__equiv_case(int index);

/* "[8,64,56,56] [64,64,3,3] stride 2, pad 1" */
void iso__equiv_case_shape(const iso__equiv_case_t *of, iso_text_t *text);

/* A case as a graph of two inputs and one op, and what the inputs hold. */
typedef struct iso__equiv_op {
    iso_graph_t *graph;
    iso_node_id_t node;
    float *operands[ISO__EQUIV_OPERANDS]; /* owned; NULL before fill */
} iso__equiv_op_t;

/* op_out [out] iso__equiv_op_free() it in any case */
iso_status_t iso__equiv_op_create(const iso__equiv_case_t *from,
                                  iso__equiv_op_t *op_out);
iso_status_t iso__equiv_op_fill(iso__equiv_op_t *op, uint64_t seed);
void iso__equiv_op_free(iso__equiv_op_t *op);

/* Of the value. */
int64_t iso__equiv_op_elements(const iso__equiv_op_t *op);

/* -- equiv_pieces.c: computing them -- */

/* How partial sums become one. */
typedef enum iso__equiv_sum {
    ISO__EQUIV_SUM_TREE,  /* as isotome cuts and adds them */
    ISO__EQUIV_SUM_CHAIN, /* one for each piece, added one after the other */
} iso__equiv_sum_t;

/* result [out] (elements of op) */
iso_status_t iso__equiv_whole(const iso__equiv_op_t *op, iso_device_t *device,
                              float *result);

/* The pieces of an option, computed one by one from copies of what each needs,
 * and put together. */
iso_status_t iso__equiv_pieces(const iso__equiv_op_t *op,
                               const iso_shard_option_t *option,
                               iso__equiv_sum_t sum, iso_device_t *device,
                               float *result);

/* -- equiv_lines.c: which cuts -- */

enum { ISO__EQUIV_NOT_CUT = -1 };

/* What a line is made of. */
typedef struct iso__equiv_part {
    int case_index;
    int option; /* of the op's list of shards, or ISO__EQUIV_NOT_CUT */
    int device; /* index of the number of threads */
} iso__equiv_part_t;

enum { ISO__EQUIV_MOST_PIECES = 8 };

const iso__equiv_part_t *iso__equiv_part(const iso_equiv_table_t *table,
                                         int line);

/* Sum up the lines by axis. */
void iso__equiv_sum_up(iso_equiv_table_t *table);

/* A text that lives as long as the table; NULL on failure. */
char *iso__equiv_text(iso_equiv_table_t *table, const char *text);

#endif
