/* What the files of bench share: the figures. */
#ifndef ISO_BENCH_IMPL_H
#define ISO_BENCH_IMPL_H

#include "isotome/bench.h"
#include "isotome/model_file.h"

#include "exec/report.h"
#include "io/draft.h"
#include "lab/peak.h"
#include "plan/machine_fit.h"

enum { ISO__BENCH_TEXT_BYTES = 64 };

/* What a rank's cores are and reach; plain bytes, gathered. */
typedef struct iso__bench_rank {
    char cpu[ISO__BENCH_TEXT_BYTES];
    iso_peak_t peak; /* the best of all rounds */
} iso__bench_rank_t;

/* One size of micro-batch. At rank 0 alone but for micro_batch and many. */
typedef struct iso__bench_size {
    int64_t micro_batch;
    int64_t many;       /* micro-batches in a stream */
    double flops;       /* of a micro-batch */
    int n_repeats;      /* taken so far */
    double *latency_s;  /* (repeats) of a micro-batch alone */
    double *each_s;     /* (repeats) of a micro-batch in a stream */
    iso_timing_t alone; /* of the two, at the end */
    iso_timing_t stream;
    double planned_latency_s;
    double planned_each_s;
    iso_times_t *times;  /* (ranks) sums over all streams */
    iso_report_t report; /* of the first job: ranks with their stages, peak
                          * memory up to here */
} iso__bench_size_t;

typedef struct iso__bench {
    const iso_bench_options_t *options;
    MPI_Comm comm;
    iso_model_t *model;
    iso_draft_t *draft; /* at rank 0; NULL: no JSON */
    int n_sizes;
    iso__bench_size_t *sizes; /* (n_sizes) */
    iso__bench_rank_t mine;
    iso__bench_rank_t *ranks; /* (ranks) at rank 0 */
    int n_loads;
    int most_loads;
    double *loads_s;     /* (most_loads) of the slowest rank */
    double first_load_s; /* of a file that may not be in memory yet */
    iso_timing_t load;
    double loaded_bytes; /* by all ranks */
} iso__bench_t;

/* How a stage spent its part of the streams, as shares of their time; the mean
 * of its workers. */
typedef struct iso__bench_stage {
    int workers;
    double compute;
    double exchange;
    double wait; /* for other stages; the rest is busy */
} iso__bench_stage_t;

int iso__bench_stage_count(const iso__bench_size_t *size);
iso__bench_stage_t iso__bench_stage_of(const iso__bench_size_t *size,
                                       int stage);

/* The busiest one, which the others wait for. */
int iso__bench_slowest(const iso__bench_size_t *size);

/* Of the ranks that have a stage. */
iso_peak_t iso__bench_peak(const iso__bench_t *bench,
                           const iso__bench_size_t *size);

/* Measured over predicted less one: 0.1 is a tenth slower. */
double iso__bench_error(double measured_s, double planned_s);

/* Of the fullest rank. */
double iso__bench_peak_bytes(const iso__bench_size_t *size);
double iso__bench_planned_peak_bytes(const iso__bench_size_t *size);

/* -- bench_print.c -- */

/* Errors: ISO_NOMEM. */
iso_status_t iso__bench_print(const iso__bench_t *bench, FILE *file);

/* -- bench_json.c -- */

/* Write and publish. Errors: ISO_NOMEM, ISO_IO. */
iso_status_t iso__bench_write(const iso__bench_t *bench);

#endif
