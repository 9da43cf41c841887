#include "par/gpu_memory.h"

#include "par/par.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#ifdef MPIX_CUDA_AWARE_SUPPORT

/* Open MPI 4 answers MPIX_Query_cuda_support() with what it was built for;
 * what it does is a variable. */
static bool is_switched_on(void)
{
    unsigned char value[8] = {0}; /* of a bool */
    MPI_T_cvar_handle handle;
    int index = 0;
    int count = 0;

    if (MPI_T_cvar_get_index("opal_cuda_support", &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS) {
        return false;
    }
    if (count == 1 && MPI_T_cvar_read(handle, value) != MPI_SUCCESS) {
        value[0] = 0;
    }
    ISO_CHECK_MPI(MPI_T_cvar_handle_free(&handle));
    return value[0] != 0;
}

bool iso_par_takes_gpu_memory(void)
{
    int provided = 0;
    bool takes = MPIX_Query_cuda_support() != 0;

    if (takes &&
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS) {
        takes = is_switched_on();
        ISO_CHECK_MPI(MPI_T_finalize());
    }
    return takes;
}

#else

bool iso_par_takes_gpu_memory(void)
{
    return false;
}

#endif
