/*
 * A stage on a machine, arranged and checked; shared by the tests of arrange.
 *
 *     arrange_sample_t sample;
 *     arrange_begin(&sample, 4, "x = input f32[8,8] ...");
 *     arrange_again(&sample);
 *     ... sample.cut, sample.seconds ...
 *     arrange_end(&sample);
 */
#ifndef ISO_ARRANGE_SAMPLE_H
#define ISO_ARRANGE_SAMPLE_H

#include "arrange_price.h"
#include "stage_samples.h"

enum { ARRANGE_MOST_WORKERS = 8 };

typedef struct arrange_sample {
    int64_t blocks;
    iso_graph_t *stage;
    iso_machine_t *machine;
    iso_arrange_options_t options;
    iso_stage_cut_t *cut;
    double seconds;
} arrange_sample_t;

/* A stage from a text, or at random (stage_samples.h), on workers of one host.
 */
void arrange_begin(arrange_sample_t *sample, int n_workers, const char *text);
void arrange_begin_random(arrange_sample_t *sample, int n_workers,
                          uint64_t *state, int64_t batch);
/* Nothing is left in memory. */
void arrange_end(arrange_sample_t *sample);

/* Three convolutions of a batch. */
void arrange_begin_convolutions(arrange_sample_t *sample, int n_workers,
                                int batch);

/* Arrange; the cut is legal and takes as long as it says. */
void arrange_again(arrange_sample_t *sample);
iso_status_t arrange_try(arrange_sample_t *sample);

/* speed: times what it was */
void arrange_set_rank(arrange_sample_t *sample, int rank, double speed,
                      iso_cost_class_t cost_class);
void arrange_set_links(arrange_sample_t *sample, double latency_s,
                       double bytes_per_s);

/* Of all nodes on worker 0. */
double arrange_seconds_of_one(const arrange_sample_t *sample);
void arrange_expect_all_one(const arrange_sample_t *sample);

const iso_node_cut_t *arrange_cut_of(const arrange_sample_t *sample,
                                     const char *name);
/* Elements of a worker's piece along the axis; 0 when it is not split. */
int64_t arrange_piece_of(const arrange_sample_t *sample, const char *name,
                         int worker);

/* "scatter x, gather y" */
void arrange_expect_exchanges(const arrange_sample_t *sample,
                              const char *expected);

#endif
