/*
 * Kernels on a GPU with the bits of the reference device, in f32: blocks and
 * tree of arith.h on the plain units (no tensor core, no TF32), the exact
 * functions operation by operation. What cannot be done with these bits is
 * not done: iso_cuda_supports says so beforehand, without a GPU.
 *
 * A context is one GPU and one stream: what is asked for happens in that
 * order and is done after iso_cuda_wait. All functions exist in a build
 * without CUDA, where there is no GPU to be had.
 *
 *     ISO_TRY(iso_cuda_create(0, &cuda));
 *     ISO_TRY(iso_cuda_alloc(cuda, bytes, &x.data));
 *     ISO_TRY(iso_cuda_upload(cuda, x.data, host, bytes));
 *     ISO_TRY(iso_cuda_run(cuda, node, inputs, &y, scratch));
 *     ISO_TRY(iso_cuda_download(cuda, host, y.data, bytes));
 *     ISO_TRY(iso_cuda_wait(cuda));
 *
 * Not collective, none of it. One thread at a time uses a context.
 */
#ifndef ISO_CUDA_H
#define ISO_CUDA_H

#include "isotome/graph.h"

typedef struct iso_cuda iso_cuda_t;

/* GPUs that can be used: 0 without CUDA in the build, driver or GPU. */
int iso_cuda_count(void);

/*
 * Take a GPU into use.
 *
 * ordinal  [in]  0 .. iso_cuda_count() - 1
 * Errors: ISO_UNSUPPORTED when there is none, saying why, or none of this
 * ordinal, saying how many there are; ISO_NOMEM.
 */
iso_status_t iso_cuda_create(int ordinal, iso_cuda_t **cuda_out);

/* What was allocated is freed before this. */
void iso_cuda_destroy(iso_cuda_t **cuda);

/* "NVIDIA H200, CUDA 13.0"; borrowed. */
const char *iso_cuda_text(const iso_cuda_t *cuda);

/* Bytes of the GPU's memory that are free now. */
size_t iso_cuda_memory(const iso_cuda_t *cuda);

/*
 * Memory of the GPU, aligned to 256 bytes; 0 bytes are a valid block.
 *
 * Errors: ISO_NOMEM, with the GPU, what was wanted and what is free.
 */
iso_status_t iso_cuda_alloc(iso_cuda_t *cuda, size_t bytes, void **data_out);
void iso_cuda_free(iso_cuda_t *cuda, void *data);

/* Memory of the host that transfers go to and from at full speed, without
 * the host waiting. Errors: ISO_NOMEM. */
iso_status_t iso_cuda_alloc_host(iso_cuda_t *cuda, size_t bytes,
                                 void **data_out);
void iso_cuda_free_host(iso_cuda_t *cuda, void *data);

/*
 * Copy between host and GPU in the order of the stream. Memory of the host
 * from iso_cuda_alloc_host stays as it is (upload), and any untouched
 * (download), until iso_cuda_wait; other memory was read when an upload
 * returns.
 *
 * Errors: ISO_INTERNAL.
 */
iso_status_t iso_cuda_upload(iso_cuda_t *cuda, void *device, const void *host,
                             size_t bytes);
iso_status_t iso_cuda_download(iso_cuda_t *cuda, void *host, const void *device,
                               size_t bytes);

/* Copy within the GPU's memory in the order of the stream. Errors:
 * ISO_INTERNAL. */
iso_status_t iso_cuda_copy(iso_cuda_t *cuda, void *to, const void *from,
                           size_t bytes);

/*
 * Wait until all that was asked for is done.
 *
 * Errors: ISO_INPUT for an index out of range (gather), with the text of
 * ref; ISO_INTERNAL when a kernel failed.
 */
iso_status_t iso_cuda_wait(iso_cuda_t *cuda);

/*
 * Does iso_cuda_run compute this node, with the bits of ref? False for a
 * leaf. A pure function of the graph; a dim that has a name counts as small.
 */
bool iso_cuda_supports(const iso_graph_t *graph, iso_node_id_t node);

/*
 * Bytes of the GPU's memory that running the node needs beside its operands
 * and its value; 0 for most. A pure function; static shapes.
 */
size_t iso_cuda_scratch_bytes(const iso_graph_t *graph, iso_node_id_t node);

/*
 * Compute one node: the contract of iso_ref_run, on the GPU. Allocates
 * nothing and does not wait.
 *
 * node     [in]  is there until the next iso_cuda_wait
 * inputs   [in]  (node->n_inputs), NULL where an operand is not given; data
 *                on the GPU
 * output   [in]  its data, on the GPU, is written
 * scratch  [in]  iso_cuda_scratch_bytes on the GPU; may serve another node
 *                right after
 * Errors: ISO_UNSUPPORTED, naming the node; ISO_INTERNAL.
 */
iso_status_t iso_cuda_run(iso_cuda_t *cuda, const iso_node_t *node,
                          const iso_tensor_t *const *inputs,
                          const iso_tensor_t *output, void *scratch);

#endif
