#include "isotome/calibrate.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/job_machine.h"
#include "io/draft.h"
#include "lab/calibrate_impl.h"
#include "par/affinity.h"
#include "par/fields.h"
#include "par/par.h"
#include "plan/machine_fit.h"
#include "plan/machine_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one rank holds of a calibration, in the order it is made. */
typedef struct calibration {
    const iso_calibrate_options_t *options;
    MPI_Comm comm;
    iso_draft_t *draft; /* at rank 0 */
    iso_machine_t *machine;
    iso_device_t *device;
    iso_machine_rank_t *all; /* (world) at rank 0 */
} calibration_t;

/* Ranks of two programs would wait for one another. Collective. */
static iso_status_t compare_programs(MPI_Comm comm)
{
    const iso_field_t build = {"the program's build",
                               iso_digest_of(ISO_BUILD, sizeof ISO_BUILD),
                               ISO_BUILD};

    return iso_fields_agree(&build, 1, comm);
}

/* Where the figures go comes first: a name that is taken should not cost a
 * minute. Collective. */
static iso_status_t reserve(calibration_t *job)
{
    const iso_calibrate_options_t *options = job->options;
    const iso_affinity_t binding = iso_affinity_here(options->threads);
    iso_status_t status = ISO_OK;

    if (iso_par_rank(job->comm) == 0) {
        status = iso_draft_create(options->path, options->force, &job->draft);
    }
    ISO_TRY(iso_par_agree(status, job->comm));
    ISO_TRY(iso_affinity_check(&binding, job->comm));
    ISO_TRY(iso_job_machine(job->comm, &job->machine));
    return iso_par_agree(iso_device_open("cpu", options->threads, &job->device),
                         job->comm);
}

/* The hosts' names, which are not gathered, are known already. */
static iso_status_t set_ranks(calibration_t *job)
{
    const int world = iso_machine_world(job->machine);

    for (int rank = 0; rank < world; rank++) {
        job->all[rank].host = iso_machine_rank(job->machine, rank)->host;
    }
    ISO_TRY(iso_machine_ranks_level(job->all, world));
    for (int rank = 0; rank < world; rank++) {
        ISO_TRY(iso_machine_set_rank(job->machine, rank, &job->all[rank]));
    }
    return ISO_OK;
}

/* Bring all ranks' figures to rank 0. Collective. */
static iso_status_t gather(calibration_t *job, const iso_machine_rank_t *mine)
{
    const bool is_root = iso_par_rank(job->comm) == 0;
    iso_status_t status = ISO_OK;

    if (is_root) {
        job->all = iso_alloc_zeroed((size_t)iso_machine_world(job->machine),
                                    sizeof *job->all);
        status = job->all != NULL ? ISO_OK : ISO_NOMEM;
    }
    ISO_TRY(iso_par_agree(status, job->comm));
    ISO_CHECK_MPI(MPI_Gather(mine, (int)sizeof *mine, MPI_BYTE, job->all,
                             (int)sizeof *mine, MPI_BYTE, 0, job->comm));
    if (job->all != NULL) {
        status = set_ranks(job);
    }
    return iso_par_agree(status, job->comm);
}

/* -- links that stay what they are -- */

/* Cores of virtual machines move; a link whose messages take this many times
 * as long a second later is measured again, a few times. */
static const double most_change = 1.5;
static const double compared_bytes = 64 * 1024;
enum { MOST_TRIES = 3 };

/* Seconds of a message over each kind of link. */
typedef struct link_times {
    double seconds[ISO_LINK_KIND_COUNT];
} link_times_t;

static link_times_t link_times(const iso_machine_t *machine)
{
    link_times_t times;

    for (int kind = 0; kind < ISO_LINK_KIND_COUNT; kind++) {
        times.seconds[kind] = iso_link_seconds(
            iso_machine_link_figures(machine, (iso_link_kind_t)kind)->link,
            compared_bytes);
    }
    return times;
}

/* Of the kind of link that changed most. */
static double change_of(const link_times_t *before, const link_times_t *after)
{
    double most = 1.0;

    for (int kind = 0; kind < ISO_LINK_KIND_COUNT; kind++) {
        const double factor = after->seconds[kind] / before->seconds[kind];

        most = fmax(most, fmax(factor, 1.0 / factor));
    }
    return most;
}

/*
 * Links and collectives, until the links are the same after as before: the
 * factors of a collective are of what its messages took a moment ago. The
 * figures are the same on every rank, so that all go on together. Collective.
 */
static iso_status_t measure_network(calibration_t *job)
{
    double change = 0.0;

    ISO_TRY(iso__calibrate_links(job->comm, job->machine));
    for (int i = 0; i < MOST_TRIES; i++) {
        const link_times_t before = link_times(job->machine);

        ISO_TRY(iso__calibrate_collectives(job->comm, job->machine));
        ISO_TRY(iso__calibrate_links(job->comm, job->machine));

        const link_times_t after = link_times(job->machine);

        change = change_of(&before, &after);
        if (change < most_change) {
            return ISO_OK;
        }
    }
    if (iso_par_rank(job->comm) == 0) {
        iso_log(ISO_LOG_WARNING,
                "messages between the ranks take %.1f times as long at one "
                "moment as at another: plans made with these figures may not "
                "be the fastest; calibrate again when the machine is quiet",
                change);
    }
    return ISO_OK;
}

/* Collective. */
static iso_status_t measure(calibration_t *job)
{
    iso_machine_rank_t mine =
        *iso_machine_rank(job->machine, iso_par_rank(job->comm));

    ISO_TRY(measure_network(job));
    ISO_TRY(iso__calibrate_work(job->device, job->comm, &mine));
    return gather(job, &mine);
}

static iso_status_t write(const calibration_t *job)
{
    char *text = NULL;

    ISO_TRY(iso_machine_print(job->machine, &text));
    iso_draft_write(job->draft, 0, text, strlen(text));
    iso_draft_write(job->draft, strlen(text), "\n", 1);
    free(text);
    ISO_TRY(iso_draft_sync(job->draft));
    return iso_draft_publish(job->draft);
}

/* At rank 0. */
static iso_status_t show(const calibration_t *job, FILE *table)
{
    ISO_TRY(write(job));
    return table != NULL
               ? iso__calibrate_print(job->machine,
                                      iso_device_text(job->device), table)
               : ISO_OK;
}

/* Collective, as is each of the three; each ends with a common status. */
static iso_status_t calibrate(calibration_t *job, FILE *table)
{
    iso_status_t status = ISO_OK;

    ISO_TRY(compare_programs(job->comm));
    ISO_TRY(reserve(job));
    ISO_TRY(measure(job));
    if (iso_par_rank(job->comm) == 0) {
        status = show(job, table);
    }
    return iso_par_agree(status, job->comm);
}

iso_status_t iso_calibrate(const iso_calibrate_options_t *options,
                           MPI_Comm comm, FILE *table)
{
    calibration_t job = {.options = options};

    ISO_CHECK_MPI(MPI_Comm_dup(comm, &job.comm));
    ISO_CHECK_MPI(MPI_Comm_set_errhandler(job.comm, MPI_ERRORS_RETURN));
    iso_status_t status = calibrate(&job, table);

    iso_free(job.all);
    iso_device_close(&job.device);
    iso_machine_destroy(&job.machine);
    iso_draft_close(&job.draft);
    ISO_CHECK_MPI(MPI_Comm_free(&job.comm));
    return status;
}
