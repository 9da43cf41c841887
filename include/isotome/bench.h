/*
 * Bench: how fast a model runs on the ranks of a communicator, beside what the
 * plan predicts and what the cores can do at most.
 *
 *     iso_bench_options_t options = {
 *         .run = {.model = "net.h5", .device = "cpu", .threads = 1},
 *         .n_sizes = 2, .sizes = (const int64_t[]){1, 64},
 *         .repeats = 9, .seed = 1};
 *     iso_status_t status = iso_bench(&options, MPI_COMM_WORLD, stdout);
 *     if (status != ISO_OK) { puts(iso_error_text()); }
 *
 * The executor is that of iso_run(); inputs are made up, and outputs are
 * written nowhere.
 */
#ifndef ISO_BENCH_H
#define ISO_BENCH_H

#include "isotome/run.h"

enum { ISO_BENCH_MOST_SIZES = 16, ISO_BENCH_MOST_REPEATS = 1000 };

/* All texts are borrowed for the call. */
typedef struct iso_bench_options {
    iso_run_options_t run; /* without inputs, outputs, report and progress;
                            * micro_batch is not used */
    int n_sizes;           /* 0: those that are usual */
    const int64_t *sizes;  /* (n_sizes) micro-batches, ascending */
    int repeats;           /* of each figure, 1 to ISO_BENCH_MOST_REPEATS */
    uint64_t seed;         /* of the inputs */
    const char *json_path; /* NULL: none; "force" of run replaces it */
} iso_bench_options_t;

/*
 * Collective over comm, which is duplicated.
 *
 * table  [in]  where rank 0 prints the figures; NULL: nowhere
 * Returns the same status on every rank, with the same text (error.h): those of
 * iso_run(); ISO_INVAL for sizes of a model that has one size only. On a
 * failure no JSON file exists under its name (one that existed before is
 * untouched).
 */
iso_status_t iso_bench(const iso_bench_options_t *options, MPI_Comm comm,
                       FILE *table);

#endif
