#include "bench_link.h"

#include "base/mem.h"
#include "bench.h"
#include "par/par.h"

/* The buffer is as large as that of isotome calibrate, for the same pages. */
enum { REPEATS = 21, WARM_UP = 2, BUFFER_BYTES = 4 << 20 };

double bench_link_s(MPI_Comm comm)
{
    char *message = iso_alloc_zeroed(BUFFER_BYTES, 1);
    const int rank = iso_par_rank(comm);
    double seconds[REPEATS] = {0};
    double median_s;

    if (message == NULL) {
        iso_par_abort(__FILE__, __LINE__, "out of memory");
    }
    for (int i = -WARM_UP; rank < 2 && i < REPEATS; i++) {
        const double begin_s = bench_wall_s();

        for (int from = 0; from < 2; from++) {
            if (rank == from) {
                ISO_CHECK_MPI(MPI_Send(message, BENCH_LINK_BYTES, MPI_BYTE,
                                       1 - rank, 0, comm));
            } else {
                ISO_CHECK_MPI(MPI_Recv(message, BENCH_LINK_BYTES, MPI_BYTE,
                                       1 - rank, 0, comm, MPI_STATUS_IGNORE));
            }
        }
        if (i >= 0) {
            seconds[i] = (bench_wall_s() - begin_s) / 2.0;
        }
    }
    iso_free(message);
    median_s = iso_timing_of(seconds, REPEATS).median_s;
    ISO_CHECK_MPI(MPI_Bcast(&median_s, 1, MPI_DOUBLE, 0, comm));
    return median_s;
}
