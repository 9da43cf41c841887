#include "bench_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bench_rows_t bench_rows_open(const char *path)
{
    bench_rows_t rows = {.file = NULL};

    if (path != NULL) {
        rows.file = fopen(path, "a");
        if (rows.file == NULL) {
            (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
            exit(EXIT_FAILURE);
        }
    }
    return rows;
}

static double ratio_of(const bench_row_t *row)
{
    if (!(row->peer > 0.0) || !(row->isotome > 0.0)) {
        return 0.0;
    }
    return row->less_is_better ? row->peer / row->isotome
                               : row->isotome / row->peer;
}

static void print(const bench_rows_t *rows, const bench_row_t *row)
{
    const double ratio = ratio_of(row);

    (void)printf("%-40s %9.2f %-9s", row->name, row->isotome, row->unit);
    if (ratio > 0.0) {
        (void)printf(" %s %9.2f  ratio %5.2f", row->peer_name, row->peer,
                     ratio);
    }
    if (ratio > 0.0 && row->bar > 0.0) {
        (void)printf("  bar %.2f %s", row->bar,
                     ratio >= row->bar ? "met" : "MISSED");
    }
    (void)printf("\n");
    (void)fflush(stdout);
    if (rows->file != NULL) {
        (void)fprintf(rows->file, "%s\t%.6g\t%.6g\t%s\t%.4f\t%.2f\t%s\n",
                      row->name, row->isotome, row->peer, row->unit, ratio,
                      row->bar, ratio > 0.0 ? row->peer_name : "none");
        (void)fflush(rows->file);
    }
}

void bench_rows_add(bench_rows_t *rows, const bench_row_t *row)
{
    print(rows, row);
    if (row->is_alone || !(ratio_of(row) > 0.0)) {
        return;
    }
    rows->count++;
    rows->log_isotome += log(row->isotome);
    rows->log_peer += log(row->peer);
    rows->unit = row->unit;
    /* The mean is over the best of several peers when they are not one. */
    if (rows->count == 1) {
        (void)snprintf(rows->peer_name, sizeof rows->peer_name, "%s",
                       row->peer_name);
    } else if (strcmp(rows->peer_name, row->peer_name) != 0) {
        (void)snprintf(rows->peer_name, sizeof rows->peer_name, "best peer");
    }
}

void bench_rows_add_mean(bench_rows_t *rows, const char *name, double bar)
{
    if (rows->count == 0) {
        return;
    }
    const bench_row_t mean = {
        .name = name,
        .unit = rows->unit,
        .peer_name = rows->peer_name,
        .isotome = exp(rows->log_isotome / rows->count),
        .peer = exp(rows->log_peer / rows->count),
        .bar = bar,
    };

    print(rows, &mean);
}

void bench_rows_close(bench_rows_t *rows)
{
    if (rows->file != NULL && fclose(rows->file) != 0) {
        (void)fprintf(stderr, "rows: %s\n", strerror(errno));
        exit(EXIT_FAILURE);
    }
    rows->file = NULL;
}
