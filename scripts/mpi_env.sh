# To be sourced: settings under which mpirun works on one machine with fewer
# cores than ranks, also for root (in a container, say).
export BLIS_NUM_THREADS=1 OMP_NUM_THREADS=1
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# shellcheck disable=SC2034
mpi_options=(--oversubscribe --bind-to none)
