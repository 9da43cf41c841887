/*
 * Networks with seeded weights, written as complete ONNX files (opset 17), so
 * that any engine can run them.
 *
 *     bench_net_t *net = bench_net_create();
 *     const char *x = bench_net_input(net, "x", 2, (const int64_t[]){0, 8});
 *     const char *w = bench_net_weight(net, 0.3, 2, (const int64_t[]){8, 4});
 *     bench_net_output(net, bench_net_op2(net, "MatMul", x, w));
 *     bench_net_write(net, "net.onnx");
 *     bench_net_destroy(&net);
 *
 * Names are made here, and live as long as the network. What fails ends the
 * program.
 */
#ifndef ISO_BENCH_ONNX_H
#define ISO_BENCH_ONNX_H

#include <stdint.h>

typedef struct bench_net bench_net_t;

bench_net_t *bench_net_create(void);
void bench_net_destroy(bench_net_t **net);

/* A size of 0 is the free size N. */
const char *bench_net_input(bench_net_t *net, const char *name, int rank,
                            const int64_t *dims);
void bench_net_output(bench_net_t *net, const char *value);

/* Uniform numbers around 0 with this deviation, or around a middle. They
 * depend on the weight's number in the network and on nothing else. */
const char *bench_net_weight(bench_net_t *net, double deviation, int rank,
                             const int64_t *dims);
const char *bench_net_weight_near(bench_net_t *net, double middle,
                                  double deviation, int rank,
                                  const int64_t *dims);
/* The numbers of bench_values. */
const char *bench_net_values(bench_net_t *net, int rank, const int64_t *dims);
const char *bench_net_scalar(bench_net_t *net, float value);
const char *bench_net_ints(bench_net_t *net, int count, const int64_t *values);

/* An attribute of the operator that is added next. */
void bench_net_attr(bench_net_t *net, const char *name, int count,
                    const int64_t *values);
void bench_net_attr_int(bench_net_t *net, const char *name, int64_t value);
void bench_net_attr_float(bench_net_t *net, const char *name, float value);

/* Returns the name of the operator's value. */
const char *bench_net_op(bench_net_t *net, const char *type, int n_inputs,
                         const char *const *inputs);
const char *bench_net_op1(bench_net_t *net, const char *type, const char *a);
const char *bench_net_op2(bench_net_t *net, const char *type, const char *a,
                          const char *b);

void bench_net_write(const bench_net_t *net, const char *path);

#endif
