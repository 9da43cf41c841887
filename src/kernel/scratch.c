#include "kernel/scratch.h"

#include "kernel/cpu/space.h"

size_t iso_kernel_scratch_bytes(int threads)
{
    return (size_t)threads * sizeof(iso_space_t);
}
