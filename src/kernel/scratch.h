/*
 * How much packing space one thread of the fast kernels holds. A constant of
 * the build, here because the planner counts it and links no BLIS.
 */
#ifndef ISO_SCRATCH_H
#define ISO_SCRATCH_H

#include <stddef.h>

size_t iso_kernel_scratch_bytes(int threads);

#endif
