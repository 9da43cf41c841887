#include "exec/direct.h"

#include "base/mem.h"
#include "par/gpu_memory.h"
#include "par/par.h"

iso_status_t iso_direct_agree(iso_device_t *device, MPI_Comm comm,
                              bool **is_direct_out)
{
    bool *is_direct =
        iso_alloc_zeroed((size_t)iso_par_size(comm), sizeof *is_direct);
    bool let = iso_par_takes_gpu_memory();
    bool mine = false;
    const iso_status_t status =
        iso_par_agree(is_direct != NULL ? ISO_OK : ISO_NOMEM, comm);

    *is_direct_out = NULL;
    if (status != ISO_OK) {
        iso_free(is_direct);
        return status;
    }
    ISO_CHECK_MPI(
        MPI_Allreduce(MPI_IN_PLACE, &let, 1, MPI_C_BOOL, MPI_LAND, comm));
    if (device != NULL && let) {
        iso_device_let_direct(device);
    }
    mine = device != NULL && iso_device_is_direct(device);
    ISO_CHECK_MPI(
        MPI_Allgather(&mine, 1, MPI_C_BOOL, is_direct, 1, MPI_C_BOOL, comm));
    *is_direct_out = is_direct;
    return ISO_OK;
}
