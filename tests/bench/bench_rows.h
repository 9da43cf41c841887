/*
 * Rows: what was measured, one line of a table for each, for people and for
 * scripts/bench.sh, which reads them from a file of tab-separated values:
 *
 *     name  isotome  peer  unit  ratio  bar  who the peer is
 *
 * A ratio over 1 is in isotome's favour whatever the unit. A bar is the least
 * ratio that the project asks for, 0 where it asks for none. Where there is no
 * peer, peer and ratio are 0.
 *
 *     bench_rows_t rows = bench_rows_open(path_or_null);
 *     bench_rows_add(&rows, &(bench_row_t){.name = "conv 1x1", ...});
 *     bench_rows_add_mean(&rows, "conv geomean", 1.0);
 *     bench_rows_close(&rows);
 */
#ifndef ISO_BENCH_ROWS_H
#define ISO_BENCH_ROWS_H

#include <stdbool.h>
#include <stdio.h>

typedef struct bench_row {
    const char *name;
    const char *unit;
    const char *peer_name;
    double isotome;
    double peer;
    double bar;
    bool less_is_better;
    bool is_alone; /* is no part of the mean */
} bench_row_t;

typedef struct bench_rows {
    FILE *file; /* NULL: only people read */
    int count;  /* of those in the mean */
    double log_isotome;
    double log_peer;
    const char *unit;
    char peer_name[64];
} bench_rows_t;

/* Rows are appended. A file that cannot be opened ends the program. */
bench_rows_t bench_rows_open(const char *path);
void bench_rows_add(bench_rows_t *rows, const bench_row_t *row);

/* The geometric means of all rows so far, as a row. Nothing without rows that
 * have a peer. */
void bench_rows_add_mean(bench_rows_t *rows, const char *name, double bar);
void bench_rows_close(bench_rows_t *rows);

#endif
