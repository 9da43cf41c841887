/*
 * What the kernels of the GPU do, decided from shapes alone: which nodes,
 * and how a contraction is cut into tiles and splits. Pure; links no CUDA.
 * Nothing here changes a bit of any value.
 */
#ifndef ISO_CUDA_PLAN_H
#define ISO_CUDA_PLAN_H

#include "isotome/graph.h"

#include "graph/param.h"
#include "kernel/coeff.h"
#include "kernel/cuda/launch.h"

/*
 * Is this node computed? Tensors need no data.
 * inputs  [in]  (node->n_inputs), NULL: not given
 */
bool iso__cuda_does(const iso_node_t *node, const iso_tensor_t *const *inputs,
                    const iso_tensor_t *output);

/* Operand index, or NULL when it is not given. */
static inline const iso_tensor_t *
iso__cuda_input(const iso_node_t *node, const iso_tensor_t *const *inputs,
                int index)
{
    return index < node->n_inputs ? inputs[index] : NULL;
}

/* Is a convolution computed one element for each thread? */
bool iso__cuda_is_direct(const iso_node_t *node,
                         const iso_tensor_t *const *inputs,
                         const iso_tensor_t *output);

/* Is the activation one of those that a contraction applies itself? */
bool iso__cuda_is_light(iso_op_t op);

/*
 * A contraction that is not direct, but for its activation; pointers are
 * those of the tensors, the bias only where it is added to sums as they are.
 * Of gemm the product alone.
 */
iso_status_t iso__cuda_contract_of(const iso_node_t *node,
                                   const iso_tensor_t *const *inputs,
                                   const iso_tensor_t *output,
                                   iso__cuda_contract_t *contract_out);

/* Is what follows the product of a gemm only a bias by column? */
bool iso__cuda_gemm_is_plain(const iso_gemm_param_t *param,
                             const iso_tensor_t *c, int64_t cols);

/* Bytes of the partial sums of its splits. */
size_t iso__cuda_contract_bytes(const iso__cuda_contract_t *contract);

/* A window as the kernels take it. */
iso__cuda_window_t iso__cuda_window_of(const iso_window_t *window,
                                       const int64_t *in_dims,
                                       const int64_t *out_dims);

#endif
