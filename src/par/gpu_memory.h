/*
 * GPU memory: can MPI send from it and receive into it?
 *
 *     if (iso_par_takes_gpu_memory()) {
 *         MPI_Send(on_the_gpu, ...);
 *     }
 */
#ifndef ISO_GPU_MEMORY_H
#define ISO_GPU_MEMORY_H

#include <stdbool.h>

/*
 * Was the MPI that runs built with CUDA, and is this not switched off
 * (OMPI_MCA_opal_cuda_support=0)? False for an MPI that is not Open MPI.
 *
 * Not collective; between MPI_Init and MPI_Finalize.
 */
bool iso_par_takes_gpu_memory(void);

#endif
