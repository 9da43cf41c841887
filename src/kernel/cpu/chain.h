/*
 * Chains of nodes (kernel/chain.h) on the fast kernels: chain_make.c says where
 * everything is, chain.c runs.
 *
 * A chain that begins with a product is run by the driver of direct
 * contractions, block by block of what that makes:
 *
 *     iso__chain_make(cpu, step, &chain);  // chain.first is 1
 *     for each block: iso__chain_run_block(&chain, &block, space);
 */
#ifndef ISO_CPU_CHAIN_H
#define ISO_CPU_CHAIN_H

#include "kernel/chain.h"
#include "kernel/coeff.h"
#include "kernel/cpu/cpu_impl.h"

enum {
    ISO__CHAIN_PIECE = 1024, /* elements of a row, or of some, that are done
                              * at once */
    ISO__CHAIN_NO_SLOT = -1, /* a value */
    ISO__CHAIN_BLOCK = -2,   /* what the product has made */
};

/* Where an operand of a link is. */
typedef struct iso__chain_operand {
    const float *data; /* NULL: in a slot */
    int slot;
    iso_chain_rows_t rows;
} iso__chain_operand_t;

/* A link, ready to run. */
typedef struct iso__chain_item {
    iso_chain_kind_t kind;
    iso_op_t op;
    iso__coeff_t coeff;
    float epsilon;
    int n_operands;
    iso__chain_operand_t operands[ISO_CHAIN_OPERANDS];
    int64_t width;   /* elements that it makes of a row: n, or 1 */
    int64_t reduced; /* elements of a row that it reduces */
    int slot;        /* where they are kept */
} iso__chain_item_t;

struct iso__chain {
    const iso_cpu_t *cpu;
    int first; /* item: 1 behind a product */
    int n_items;
    iso__chain_item_t items[ISO_CHAIN_MOST];
    float *out;
    bool is_even; /* operands go on evenly from row to row */
    int64_t rows;
    int64_t n;       /* elements of a row */
    int64_t many;    /* rows that are done at once, and columns; not behind */
    int64_t columns; /* a product, whose blocks say it */
};

/* What a product has made: (rows, columns), neighbours without gaps. */
typedef struct iso__chain_block {
    const float *values;
    int64_t row;
    int64_t rows;
    int64_t column;
    int64_t columns; /* ISO_TILE_LANES at most, or whole rows */
} iso__chain_block_t;

/* Of a step that has links. */
void iso__chain_make(const iso_cpu_t *cpu, const iso_cpu_step_t *step,
                     iso__chain_t *chain);

/* Writes this block of the step's output; space.narrow is used. */
void iso__chain_run_block(const iso__chain_t *chain,
                          const iso__chain_block_t *block, iso_space_t *space);

/* After a product that could not be made block by block: what it has made is
 * in the output. */
void iso__chain_run_behind(const iso__chain_t *chain);

/* One that has no product. */
void iso__chain_run(const iso__chain_t *chain);

#endif
