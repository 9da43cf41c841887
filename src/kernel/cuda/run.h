/* Nodes to launches, one file for each kind; private to src/kernel/cuda. */
#ifndef ISO_CUDA_RUN_H
#define ISO_CUDA_RUN_H

#include "isotome/error.h"

#include "kernel/cuda/context.h"
#include "kernel/cuda/plan.h"
#include "kernel/walk.h"

/* One node; the contract of iso_cuda_run, elements in the output. The error
 * of a launch goes to *error_out. */
typedef iso_status_t iso__cuda_run_fn(const iso_cuda_t *cuda,
                                      const iso_node_t *node,
                                      const iso_tensor_t *const *inputs,
                                      const iso_tensor_t *output,
                                      iso__cuda_error_t *error_out);

iso__cuda_run_fn iso__cuda_run_unary;
iso__cuda_run_fn iso__cuda_run_binary;
iso__cuda_run_fn iso__cuda_run_compare;
iso__cuda_run_fn iso__cuda_run_reduce;
iso__cuda_run_fn iso__cuda_run_norm;
iso__cuda_run_fn iso__cuda_run_pool;
iso__cuda_run_fn iso__cuda_run_move;

iso_status_t iso__cuda_run_contract(const iso_cuda_t *cuda,
                                    const iso_node_t *node,
                                    const iso_tensor_t *const *inputs,
                                    const iso_tensor_t *output, void *scratch,
                                    iso__cuda_error_t *error_out);

/* The walk as kernels take it; its axes are merged. */
iso__cuda_walk_t iso__cuda_walk_of(iso__walk_t *walk);

iso__cuda_activation_t iso__cuda_activation_of(iso_op_t op,
                                               const iso__coeff_t *coeff);

#endif
