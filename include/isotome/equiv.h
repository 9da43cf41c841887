/*
 * Equiv: the shard-equivalence experiment. Convolutions and matrix products
 * of known networks, and of odd sizes, are computed whole and in pieces along
 * every axis that they can be cut along; the pieces put together are compared
 * with the whole, bit by bit. The control is the same with plain BLIS.
 *
 *     iso_equiv_options_t options = {.seed = 1, .n_threads = 2,
 *                                    .threads = {1, 2}};
 *     iso_equiv_table_t *table;
 *     ISO_TRY(iso_equiv_create(&options, &table));  // the lines
 *     ISO_TRY(iso_equiv_measure(table, MPI_COMM_WORLD));
 *     for (int i = 0; i < table->n_axes; i++) {
 *         printf("%s %d of %d\n", table->axes[i].axis,
 *                table->axes[i].exact, table->axes[i].lines);
 *     }
 *     iso_equiv_destroy(&table);
 */
#ifndef ISO_EQUIV_H
#define ISO_EQUIV_H

#include "isotome/status.h"

#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>

enum { ISO_EQUIV_MOST_THREADS = 16, ISO_EQUIV_MOST_AXES = 16 };

typedef struct iso_equiv_options {
    bool blis;      /* plain BLIS; else isotome's arithmetic */
    bool quick;     /* a part of the shapes */
    bool all_ranks; /* every rank does every line; else they are dealt */
    uint64_t seed;  /* of the operands, random in [-1, 1) */
    int n_threads;  /* numbers of threads, 1 or more of them */
    int threads[ISO_EQUIV_MOST_THREADS];
} iso_equiv_options_t;

/* How two arrays of the same length differ. */
typedef struct iso_equiv_difference {
    int64_t elements;
    int64_t equal; /* elements of the same bits */
    /* Infinite, and INT64_MAX, where a NaN meets anything but its own bits. */
    double max_abs;
    int64_t max_ulp; /* floats in between, and one; +0 and -0 are one */
} iso_equiv_difference_t;

/* One cut of one op. Texts are the table's. */
typedef struct iso_equiv_line {
    const char *net;
    const char *op;
    const char *shape; /* "[8,64,56,56] [64,64,3,3] pad 1" */
    /* Along which the op is cut, as in plans; "threads": not cut, but compared
     * with what the first number of threads gives. */
    const char *axis;
    int pieces;
    int threads;
    iso_equiv_difference_t difference; /* the worst of all ranks */
    uint64_t digest; /* of the pieces put together, of the first rank */
    bool agreed;     /* all ranks that did it have this digest */
} iso_equiv_line_t;

/* All lines of an axis. */
typedef struct iso_equiv_axis {
    const char *axis;
    int lines;
    int exact;          /* lines with all elements equal */
    double least_share; /* of equal elements */
    double max_abs;
    int64_t max_ulp;
} iso_equiv_axis_t;

typedef struct iso_equiv_table {
    iso_equiv_options_t options;
    int n_lines;
    iso_equiv_line_t *lines; /* (n_lines) */
    /* Set by iso_equiv_measure: */
    int ranks;
    const char *families; /* of kernels, of all ranks: "haswell, skx" */
    int n_axes;
    iso_equiv_axis_t axes[ISO_EQUIV_MOST_AXES];
    int exact;  /* lines with all elements equal */
    int agreed; /* lines */
    struct iso__equiv_parts *parts;
} iso_equiv_table_t;

/*
 * List the lines; nothing is computed.
 *
 * Not collective. Errors: ISO_INVAL for numbers of threads below 1 or too
 * many of them, ISO_NOMEM.
 */
iso_status_t iso_equiv_create(const iso_equiv_options_t *options,
                              iso_equiv_table_t **table_out);
void iso_equiv_destroy(iso_equiv_table_t **table);

/*
 * Do the experiment, once for a table. The whole and the pieces of a line are
 * computed with the same number of threads.
 *
 * Collective over comm; the same table afterwards on every rank.
 * Errors, the same on every rank: ISO_DISAGREE when ranks have other options
 * or run another program; ISO_NOMEM; ISO_UNSUPPORTED on a CPU without FMA;
 * ISO_INVAL for the control with kernels that are not BLIS's.
 */
iso_status_t iso_equiv_measure(iso_equiv_table_t *table, MPI_Comm comm);

/* Not collective. */
iso_equiv_difference_t iso_equiv_compare(const float *a, const float *b,
                                         int64_t count);

/* In [0, 1]; 1 for no elements. */
double iso_equiv_share(const iso_equiv_difference_t *difference);

#endif
