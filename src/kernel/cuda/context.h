/* A GPU in use; private to src/kernel/cuda. */
#ifndef ISO_CUDA_CONTEXT_H
#define ISO_CUDA_CONTEXT_H

#include "kernel/cuda.h"
#include "kernel/cuda/launch.h"

struct iso_cuda {
    int ordinal;
    iso__cuda_stream_t stream;
    iso__cuda_fault_t *fault;        /* as the host sees it */
    iso__cuda_fault_t *device_fault; /* and as the GPU does */
    char text[320];
};

/* ISO_OK, or the failure of what was tried, by the GPU's own text. */
iso_status_t iso__cuda_tried(const iso_cuda_t *cuda, const char *what,
                             iso__cuda_error_t error);

/* Calls from this thread go to this GPU from here on. */
iso_status_t iso__cuda_select(const iso_cuda_t *cuda);

/* A copy on the GPU, in order. */
iso__cuda_error_t iso__cuda_copy(const iso_cuda_t *cuda, void *to,
                                 const void *from, size_t bytes);

#endif
