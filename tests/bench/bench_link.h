/*
 * The link between two ranks, as it is at this moment.
 */
#ifndef ISO_BENCH_LINK_H
#define ISO_BENCH_LINK_H

#include <mpi.h>

enum { BENCH_LINK_BYTES = 64 * 1024 };

/* Seconds of a message of so many bytes between ranks 0 and 1: the median of
 * some, to and fro. Collective; the same on every rank. */
double bench_link_s(MPI_Comm comm);

#endif
