/* A build without CUDA: there is no GPU, and everything says why. */
#include "isotome/error.h"

#include "kernel/cuda.h"

static iso_status_t absent(void)
{
    return iso_fail(ISO_UNSUPPORTED,
                    "this isotome was built without CUDA: build it where nvcc "
                    "is, with -DISOTOME_CUDA=ON, or place nothing on cuda");
}

int iso_cuda_count(void)
{
    return 0;
}

iso_status_t iso_cuda_create(int ordinal, iso_cuda_t **cuda_out)
{
    (void)ordinal;
    *cuda_out = NULL;
    return absent();
}

void iso_cuda_destroy(iso_cuda_t **cuda)
{
    *cuda = NULL;
}

const char *iso_cuda_text(const iso_cuda_t *cuda)
{
    (void)cuda;
    return "none";
}

size_t iso_cuda_memory(const iso_cuda_t *cuda)
{
    (void)cuda;
    return 0;
}

iso_status_t iso_cuda_alloc(iso_cuda_t *cuda, size_t bytes, void **data_out)
{
    (void)cuda;
    (void)bytes;
    *data_out = NULL;
    return absent();
}

void iso_cuda_free(iso_cuda_t *cuda, void *data)
{
    (void)cuda;
    (void)data;
}

iso_status_t iso_cuda_alloc_host(iso_cuda_t *cuda, size_t bytes,
                                 void **data_out)
{
    return iso_cuda_alloc(cuda, bytes, data_out);
}

void iso_cuda_free_host(iso_cuda_t *cuda, void *data)
{
    iso_cuda_free(cuda, data);
}

iso_status_t iso_cuda_upload(iso_cuda_t *cuda, void *device, const void *host,
                             size_t bytes)
{
    (void)cuda;
    (void)device;
    (void)host;
    (void)bytes;
    return absent();
}

iso_status_t iso_cuda_download(iso_cuda_t *cuda, void *host, const void *device,
                               size_t bytes)
{
    return iso_cuda_upload(cuda, host, device, bytes);
}

iso_status_t iso_cuda_copy(iso_cuda_t *cuda, void *to, const void *from,
                           size_t bytes)
{
    return iso_cuda_upload(cuda, to, from, bytes);
}

iso_status_t iso_cuda_wait(iso_cuda_t *cuda)
{
    (void)cuda;
    return absent();
}

iso_status_t iso_cuda_run(iso_cuda_t *cuda, const iso_node_t *node,
                          const iso_tensor_t *const *inputs,
                          const iso_tensor_t *output, void *scratch)
{
    (void)cuda;
    (void)node;
    (void)inputs;
    (void)output;
    (void)scratch;
    return absent();
}
