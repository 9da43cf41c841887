/*
 * ONNX Runtime as a peer: ort_bench.js in a process of its own, which runs
 * when it is told to. It is found by the environment variable ISOTOME_ORT, a
 * folder with node_modules/onnxruntime-node.
 *
 *     bench_ort_t *peer = bench_ort_start("net.onnx", batch, threads);
 *     if (peer != NULL) { seconds = bench_ort_run(peer, times); }
 *     bench_ort_stop(&peer);
 */
#ifndef ISO_BENCH_ORT_H
#define ISO_BENCH_ORT_H

#include <stdint.h>

typedef struct bench_ort bench_ort_t;

/* NULL without ISOTOME_ORT. Whatever else fails ends the program. */
bench_ort_t *bench_ort_start(const char *model, int batch, int threads);
void bench_ort_stop(bench_ort_t **ort);

/* Seconds of so many runs. */
double bench_ort_run(bench_ort_t *ort, int times);

/* Elements of the first output, which must be count floats; iso_free(). */
float *bench_ort_output(bench_ort_t *ort, int64_t count);

#endif
