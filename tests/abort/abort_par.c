/* Must die: the last rank aborts while the others wait in a barrier. */
#include "par/par.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (iso_par_rank(MPI_COMM_WORLD) == iso_par_size(MPI_COMM_WORLD) - 1) {
        iso_par_abort(__FILE__, __LINE__, "told to");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
