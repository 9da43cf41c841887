#include "kernel/cuda/context.h"

#include "isotome/error.h"

#include "base/mem.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

iso_status_t iso__cuda_tried(const iso_cuda_t *cuda, const char *what,
                             iso__cuda_error_t error)
{
    if (error == 0) {
        return ISO_OK;
    }
    return iso_fail(ISO_INTERNAL, "GPU %d (%s): %s: %s", cuda->ordinal,
                    cuda->text, what,
                    cudaGetErrorString((enum cudaError)error));
}

iso_status_t iso__cuda_select(const iso_cuda_t *cuda)
{
    return iso__cuda_tried(cuda, "cannot be selected",
                           (int)cudaSetDevice(cuda->ordinal));
}

iso__cuda_error_t iso__cuda_copy(const iso_cuda_t *cuda, void *to,
                                 const void *from, size_t bytes)
{
    return (iso__cuda_error_t)cudaMemcpyAsync(
        to, from, bytes, cudaMemcpyDeviceToDevice, cuda->stream);
}

/* ---- GPUs ---- */

int iso_cuda_count(void)
{
    int count = 0;

    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        return 0;
    }
    return count;
}

static const char *reason_of(enum cudaError error)
{
    int driver = 0;

    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
        return "no driver of NVIDIA's is installed here";
    }
    return error == cudaSuccess ? "the driver shows none"
                                : cudaGetErrorString(error);
}

/* Is there a GPU of this number? */
static iso_status_t check_ordinal(int ordinal)
{
    int count = 0;
    const enum cudaError error = cudaGetDeviceCount(&count);

    if (error != cudaSuccess || count == 0) {
        return iso_fail(ISO_UNSUPPORTED, "no GPU can be used: %s",
                        reason_of(error));
    }
    if (ordinal < 0 || ordinal >= count) {
        return iso_fail(ISO_UNSUPPORTED,
                        "there is no GPU %d: this machine has %d, expected 0 "
                        "to %d",
                        ordinal, count, count - 1);
    }
    return ISO_OK;
}

static void describe(iso_cuda_t *cuda)
{
    struct cudaDeviceProp prop;
    int version = 0;

    (void)snprintf(cuda->text, sizeof cuda->text, "unknown");
    if (cudaGetDeviceProperties(&prop, cuda->ordinal) == cudaSuccess &&
        cudaRuntimeGetVersion(&version) == cudaSuccess) {
        (void)snprintf(cuda->text, sizeof cuda->text, "%.256s, CUDA %d.%d",
                       prop.name, version / 1000, version % 1000 / 10);
    }
}

static iso_status_t begin(iso_cuda_t *cuda)
{
    void *fault = NULL;
    void *device_fault = NULL;

    describe(cuda);
    ISO_TRY(iso__cuda_select(cuda));
    ISO_TRY(iso__cuda_tried(
        cuda, "no stream",
        (int)cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking)));
    ISO_TRY(iso__cuda_tried(
        cuda, "no memory for reports",
        (int)cudaHostAlloc(&fault, sizeof *cuda->fault, cudaHostAllocMapped)));
    cuda->fault = fault;
    memset(fault, 0, sizeof *cuda->fault);
    ISO_TRY(iso__cuda_tried(
        cuda, "no memory for reports",
        (int)cudaHostGetDevicePointer(&device_fault, fault, 0)));
    cuda->device_fault = device_fault;
    return ISO_OK;
}

iso_status_t iso_cuda_create(int ordinal, iso_cuda_t **cuda_out)
{
    iso_cuda_t *cuda = NULL;
    iso_status_t status = ISO_OK;

    *cuda_out = NULL;
    ISO_TRY(check_ordinal(ordinal));
    cuda = iso_alloc_zeroed(1, sizeof *cuda);
    if (cuda == NULL) {
        return ISO_NOMEM;
    }
    cuda->ordinal = ordinal;
    status = begin(cuda);
    if (status != ISO_OK) {
        iso_cuda_destroy(&cuda);
        return status;
    }
    *cuda_out = cuda;
    return ISO_OK;
}

void iso_cuda_destroy(iso_cuda_t **cuda)
{
    iso_cuda_t *old = *cuda;

    if (old == NULL) {
        return;
    }
    (void)cudaSetDevice(old->ordinal);
    if (old->stream != NULL) {
        (void)cudaStreamDestroy(old->stream);
    }
    if (old->fault != NULL) {
        (void)cudaFreeHost(old->fault);
    }
    iso_free(old);
    *cuda = NULL;
}

const char *iso_cuda_text(const iso_cuda_t *cuda)
{
    return cuda->text;
}

/* ---- Memory ---- */

size_t iso_cuda_memory(const iso_cuda_t *cuda)
{
    size_t free_bytes = 0;
    size_t all_bytes = 0;

    if (cudaSetDevice(cuda->ordinal) != cudaSuccess ||
        cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess) {
        return 0;
    }
    return free_bytes;
}

iso_status_t iso_cuda_alloc(iso_cuda_t *cuda, size_t bytes, void **data_out)
{
    enum cudaError error = cudaSuccess;

    *data_out = NULL;
    ISO_TRY(iso__cuda_select(cuda));
    error = cudaMalloc(data_out, bytes > 0 ? bytes : 1);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return iso_fail(ISO_NOMEM,
                        "GPU %d (%s): out of memory: %zu bytes wanted, %zu "
                        "free; use smaller micro-batches or more stages",
                        cuda->ordinal, cuda->text, bytes,
                        iso_cuda_memory(cuda));
    }
    return iso__cuda_tried(cuda, "no memory", (int)error);
}

void iso_cuda_free(iso_cuda_t *cuda, void *data)
{
    (void)cudaSetDevice(cuda->ordinal);
    (void)cudaFree(data);
}

iso_status_t iso_cuda_alloc_host(iso_cuda_t *cuda, size_t bytes,
                                 void **data_out)
{
    enum cudaError error = cudaSuccess;

    *data_out = NULL;
    ISO_TRY(iso__cuda_select(cuda));
    error = cudaMallocHost(data_out, bytes > 0 ? bytes : 1);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return iso_fail(ISO_NOMEM,
                        "GPU %d (%s): the host gives no %zu bytes for "
                        "transfers: %s",
                        cuda->ordinal, cuda->text, bytes,
                        cudaGetErrorString(error));
    }
    return ISO_OK;
}

void iso_cuda_free_host(iso_cuda_t *cuda, void *data)
{
    (void)cudaSetDevice(cuda->ordinal);
    (void)cudaFreeHost(data);
}

/* ---- Transfers ---- */

iso_status_t iso_cuda_upload(iso_cuda_t *cuda, void *device, const void *host,
                             size_t bytes)
{
    ISO_TRY(iso__cuda_select(cuda));
    return iso__cuda_tried(cuda, "upload",
                           (int)cudaMemcpyAsync(device, host, bytes,
                                                cudaMemcpyHostToDevice,
                                                cuda->stream));
}

iso_status_t iso_cuda_download(iso_cuda_t *cuda, void *host, const void *device,
                               size_t bytes)
{
    ISO_TRY(iso__cuda_select(cuda));
    return iso__cuda_tried(cuda, "download",
                           (int)cudaMemcpyAsync(host, device, bytes,
                                                cudaMemcpyDeviceToHost,
                                                cuda->stream));
}

iso_status_t iso_cuda_copy(iso_cuda_t *cuda, void *to, const void *from,
                           size_t bytes)
{
    ISO_TRY(iso__cuda_select(cuda));
    return iso__cuda_tried(cuda, "copy", iso__cuda_copy(cuda, to, from, bytes));
}

/* The failure that a kernel has noted, as ref says it; it is forgotten. */
static iso_status_t look_at_fault(iso_cuda_t *cuda)
{
    const iso__cuda_fault_t fault = *cuda->fault;
    const iso_node_t *node = fault.node;

    if (node == NULL) {
        return ISO_OK;
    }
    memset(cuda->fault, 0, sizeof *cuda->fault);
    return iso_fail(ISO_INPUT,
                    "node '%s' (%s): index %lld at place %lld, expected "
                    "%lld to %lld",
                    node->name, iso_op_string(node->op), (long long)fault.index,
                    (long long)fault.place, (long long)-fault.dim,
                    (long long)fault.dim - 1);
}

iso_status_t iso_cuda_wait(iso_cuda_t *cuda)
{
    ISO_TRY(iso__cuda_select(cuda));
    ISO_TRY(iso__cuda_tried(cuda, "what was asked for failed",
                            (int)cudaStreamSynchronize(cuda->stream)));
    return look_at_fault(cuda);
}
