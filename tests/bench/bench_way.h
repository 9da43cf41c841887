/*
 * One way to compute a stage of one op on several workers, ready to be run
 * again and again: inputs are at worker 0, weights are where they are needed.
 */
#ifndef ISO_BENCH_WAY_H
#define ISO_BENCH_WAY_H

#include "device/device.h"
#include "plan/shard/stage_cut.h"

#include <mpi.h>

typedef struct bench_way bench_way_t;

/*
 * Not collective. Everything is borrowed; all values are f32, and every
 * element is a function of its index in the whole value.
 */
iso_status_t bench_way_create(iso_device_t *device, const iso_graph_t *stage,
                              const iso_stage_cut_t *cut, MPI_Comm comm,
                              bench_way_t **way_out);
void bench_way_destroy(bench_way_t **way);

/* Collective: seconds of the slowest worker, the same everywhere. */
double bench_way_run(bench_way_t *way);

/* Of the value, at worker 0 after a run; other workers have 0. */
uint64_t bench_way_digest(const bench_way_t *way);

#endif
