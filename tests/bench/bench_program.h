/*
 * A part of a model as a program that is ready to run: weights from the model
 * file, values of bench_values at its inputs. In one process, without MPI.
 *
 *     bench_program_t *own =
 *         bench_program_create(device, model, plan, rank, samples);
 *     bench_program_run(own);
 *     bench_program_destroy(&own);
 */
#ifndef ISO_BENCH_PROGRAM_H
#define ISO_BENCH_PROGRAM_H

#include "isotome/model_file.h"
#include "isotome/plan.h"

#include "device/device.h"

typedef struct bench_program bench_program_t;

/*
 * What one rank of the plan computes, which must be a stage's only worker. All
 * but the plan is borrowed while the program lives. A failure ends the process.
 */
bench_program_t *bench_program_create(iso_device_t *device, iso_model_t *model,
                                      const iso_plan_t *plan, int rank,
                                      int64_t samples);
void bench_program_run(bench_program_t *program);

/* Elements of the first output and their number; borrowed. */
const float *bench_program_output(const bench_program_t *program,
                                  int64_t *count_out);
void bench_program_destroy(bench_program_t **program);

#endif
