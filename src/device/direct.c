#include "device/direct.h"

#include "base/log.h"
#include "base/mem.h"
#include "device/program_impl.h"
#include "kernel/cuda.h"

#include <string.h>

/* ---- Devices ---- */

void iso_device_let_direct(iso_device_t *device)
{
    for (int i = 0; i < ISO_DEVICES_MOST; i++) {
        if (device->units[i] != NULL && device->units[i]->cuda != NULL) {
            device->units[i]->is_direct = true;
        }
    }
}

bool iso_device_is_direct(const iso_device_t *device)
{
    bool is_direct = device->is_direct;

    for (int i = 0; i < ISO_DEVICES_MOST; i++) {
        is_direct = is_direct ||
                    (device->units[i] != NULL && device->units[i]->is_direct);
    }
    return is_direct;
}

iso_status_t iso_device_alloc(iso_device_t *device, size_t bytes,
                              void **data_out)
{
    if (device->cuda != NULL) {
        return iso_cuda_alloc(device->cuda, bytes, data_out);
    }
    *data_out = iso_alloc_zeroed(bytes, 1);
    return *data_out != NULL ? ISO_OK : ISO_NOMEM;
}

void iso_device_free(iso_device_t *device, void *data)
{
    if (device->cuda != NULL) {
        iso_cuda_free(device->cuda, data);
    } else {
        iso_free(data);
    }
}

/* NULL: there is none. */
static iso_cuda_t *any_gpu(const iso_device_t *device)
{
    iso_cuda_t *gpu = NULL;

    for (int i = 0; device != NULL && i < ISO_DEVICES_MOST; i++) {
        if (device->units[i] != NULL && device->units[i]->cuda != NULL) {
            gpu = device->units[i]->cuda;
        }
    }
    return gpu;
}

iso_status_t iso_device_alloc_host(const iso_device_t *device, size_t bytes,
                                   void **data_out)
{
    iso_cuda_t *gpu = any_gpu(device);

    if (gpu == NULL) {
        *data_out = iso_alloc_zeroed(bytes, 1);
        return *data_out != NULL ? ISO_OK : ISO_NOMEM;
    }
    ISO_TRY(iso_cuda_alloc_host(gpu, bytes, data_out));
    memset(*data_out, 0, bytes);
    return ISO_OK;
}

void iso_device_free_host(const iso_device_t *device, void *data)
{
    iso_cuda_t *gpu = any_gpu(device);

    if (gpu == NULL) {
        iso_free(data);
    } else {
        iso_cuda_free_host(gpu, data);
    }
}

/* ---- Programs ---- */

static bool is_leaf(const iso_program_t *program, int index)
{
    const iso_node_id_t id = iso_graph_output(program->graph, index)->node;

    return iso_node_is_leaf(iso_graph_node(program->graph, id));
}

iso_device_t *iso_program_maker(const iso_program_t *program, int index)
{
    return is_leaf(program, index) ? NULL
                                   : program->kind->maker(program, index);
}

void iso_program_keep(iso_program_t *program, int index)
{
    ISO_ASSERT(iso_program_maker(program, index) != NULL);
    program->kind->keep(program, index);
}

iso_status_t iso_program_put(const iso_program_t *program, int index, void *to)
{
    return program->kind->put(program, index, to);
}

iso_device_t *iso_program_reader(const iso_program_t *program,
                                 iso_node_id_t input)
{
    for (int i = 0; i < iso_graph_output_count(program->graph); i++) {
        if (iso_graph_output(program->graph, i)->node == input) {
            return NULL; /* the caller reads it as well */
        }
    }
    return program->kind->reader(program, input);
}

void iso_program_bind_direct(iso_program_t *program, iso_node_id_t input,
                             const void *data)
{
    ISO_ASSERT(iso_graph_node(program->graph, input)->op == ISO_OP_INPUT);
    program->is_begun = false;
    program->kind->bind_direct(program, input, data);
}
