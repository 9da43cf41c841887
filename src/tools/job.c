#include "tools/job.h"

#include "base/log.h"
#include "par/par.h"
#include "tools/commands.h"

iso_status_t iso_job_begin(iso_status_t local)
{
    int provided = MPI_THREAD_SINGLE;

    ISO_CHECK_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    if (provided < MPI_THREAD_FUNNELED) {
        iso_par_abort(__FILE__, __LINE__,
                      "this MPI allows no threads beside the one that calls "
                      "it; build it with thread support");
    }
    iso_log_set_rank(iso_par_rank(MPI_COMM_WORLD),
                     iso_par_size(MPI_COMM_WORLD));
    return iso_par_agree(local, MPI_COMM_WORLD);
}

int iso_job_end(iso_status_t status)
{
    int code = iso_par_rank(MPI_COMM_WORLD) == 0 ? iso_cmd_end(status)
                                                 : iso_status_exit_code(status);

    ISO_CHECK_MPI(MPI_Finalize());
    return code;
}
