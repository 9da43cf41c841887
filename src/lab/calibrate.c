#include "isotome/calibrate.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/job_machine.h"
#include "io/draft.h"
#include "kernel/cuda.h"
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
    int n_devices;
    iso__calibrated_t devices[ISO_DEVICES_MOST];    /* (n_devices) */
    iso_machine_device_t figures[ISO_DEVICES_MOST]; /* (n_devices) */
    iso_machine_device_t *all; /* (world, n_devices) at rank 0 */
} calibration_t;

/* Ranks of two programs, or with two lists of devices, would wait for one
 * another. Collective. */
static iso_status_t compare(const calibration_t *job)
{
    const char *rule =
        job->options->device != NULL ? job->options->device : "none";
    const iso_field_t fields[] = {
        {"the program's build", iso_digest_of(ISO_BUILD, sizeof ISO_BUILD),
         ISO_BUILD},
        {"the devices", iso_digest_of(rule, strlen(rule)), rule},
    };

    return iso_fields_agree(fields, 2, job->comm);
}

static void add_device(calibration_t *job, const iso_device_spec_t *spec)
{
    job->devices[job->n_devices++].spec = *spec;
}

static bool has_cpu(const calibration_t *job)
{
    for (int i = 0; i < job->n_devices; i++) {
        if (job->devices[i].spec.type == ISO_DEVICE_CPU) {
            return true;
        }
    }
    return false;
}

/* Devices of a rule, and what falls back on: cpu. */
static iso_status_t list_devices(calibration_t *job)
{
    const iso_device_spec_t cpu = {
        .type = ISO_DEVICE_CPU, .ordinal = -1, .name = "cpu"};
    iso_device_map_t *map = NULL;

    if (job->options->device != NULL) {
        ISO_TRY(iso_device_map_create(job->options->device, &map));
        for (int i = 0; i < iso_device_map_device_count(map); i++) {
            add_device(job, iso_device_map_device(map, i));
        }
        iso_device_map_destroy(&map);
    }
    if (!has_cpu(job) && job->n_devices < ISO_DEVICES_MOST) {
        add_device(job, &cpu);
    }
    return ISO_OK;
}

static iso_status_t open_device(const calibration_t *job,
                                iso__calibrated_t *device)
{
    ISO_TRY(iso_device_map_create(device->spec.name, &device->map));
    iso_device_map_set_seat(
        device->map, iso_job_seat(job->machine, iso_par_rank(job->comm)));

    const iso_status_t status = iso_device_open_map(
        device->map, job->options->threads, &device->device);

    return status == ISO_UNSUPPORTED && device->spec.type == ISO_DEVICE_CUDA
               ? iso_fail(status,
                          "device '%s' is not there on %s; isotome run "
                          "--device %s says why",
                          device->spec.name, iso_par_host(), device->spec.name)
               : status;
}

static iso_status_t open_devices(calibration_t *job)
{
    ISO_TRY(list_devices(job));
    for (int i = 0; i < job->n_devices; i++) {
        ISO_TRY(open_device(job, &job->devices[i]));
    }
    return ISO_OK;
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
    return iso_par_agree(open_devices(job), job->comm);
}

/* -- all ranks' figures -- */

/* Equal devices of equal ranks get equal figures. */
static iso_status_t level_device(calibration_t *job, int device)
{
    const int world = iso_machine_world(job->machine);
    const size_t n = (size_t)job->n_devices;
    iso_machine_rank_t *ranks = iso_alloc_zeroed((size_t)world, sizeof *ranks);
    iso_status_t status;

    if (ranks == NULL) {
        return ISO_NOMEM;
    }
    for (int rank = 0; rank < world; rank++) {
        ranks[rank] = job->all[(size_t)rank * n + (size_t)device].figures;
        ranks[rank].host = iso_machine_rank(job->machine, rank)->host;
    }
    status = iso_machine_ranks_level(ranks, world);
    for (int rank = 0; rank < world; rank++) {
        job->all[(size_t)rank * n + (size_t)device].figures = ranks[rank];
    }
    iso_free(ranks);
    return status;
}

/* The first device's figures are the rank's. Texts are not gathered. */
static iso_status_t set_rank(calibration_t *job, int rank)
{
    iso_machine_device_t *devices =
        &job->all[(size_t)rank * (size_t)job->n_devices];
    iso_machine_rank_t facts = devices[0].figures;

    for (int i = 0; i < job->n_devices; i++) {
        devices[i].name = job->devices[i].spec.name;
    }
    if (job->options->device != NULL) {
        facts.n_devices = job->n_devices;
        facts.devices = devices;
    }
    return iso_machine_set_rank(job->machine, rank, &facts);
}

static iso_status_t set_ranks(calibration_t *job)
{
    for (int device = 0; device < job->n_devices; device++) {
        ISO_TRY(level_device(job, device));
    }
    for (int rank = 0; rank < iso_machine_world(job->machine); rank++) {
        ISO_TRY(set_rank(job, rank));
    }
    return ISO_OK;
}

/* Bring all ranks' figures to rank 0. Collective. */
static iso_status_t gather(calibration_t *job)
{
    const bool is_root = iso_par_rank(job->comm) == 0;
    const size_t n = (size_t)job->n_devices;
    const int bytes = (int)(n * sizeof *job->figures);
    iso_status_t status = ISO_OK;

    if (is_root) {
        job->all = iso_alloc_zeroed((size_t)iso_machine_world(job->machine) * n,
                                    sizeof *job->all);
        status = job->all != NULL ? ISO_OK : ISO_NOMEM;
    }
    ISO_TRY(iso_par_agree(status, job->comm));
    ISO_CHECK_MPI(MPI_Gather(job->figures, bytes, MPI_BYTE, job->all, bytes,
                             MPI_BYTE, 0, job->comm));
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

/* What the first device has for itself is what a plan may use, shared with the
 * ranks that are on the same GPU. */
static void set_memory(calibration_t *job)
{
    const int n_gpus = iso_cuda_count();
    const size_t bytes = iso_device_memory(job->devices[0].device);
    const int n_ranks =
        iso_job_seat_count(job->machine, iso_par_rank(job->comm));

    if (bytes > 0 && n_gpus > 0) {
        const int sharing = (n_ranks + n_gpus - 1) / n_gpus;

        job->figures[0].figures.memory_bytes = bytes / (size_t)sharing;
    }
}

/* One device after the other. Collective. */
static iso_status_t measure(calibration_t *job)
{
    ISO_TRY(measure_network(job));
    for (int i = 0; i < job->n_devices; i++) {
        job->figures[i].figures =
            *iso_machine_rank(job->machine, iso_par_rank(job->comm));
        ISO_TRY(
            iso__calibrate_work(&job->devices[i], job->comm, &job->figures[i]));
    }
    set_memory(job);
    return gather(job);
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
                                      iso_device_text(job->devices[0].device),
                                      table)
               : ISO_OK;
}

/* Collective, as is each of the three; each ends with a common status. */
static iso_status_t calibrate(calibration_t *job, FILE *table)
{
    iso_status_t status = ISO_OK;

    ISO_TRY(compare(job));
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
    for (int i = 0; i < ISO_DEVICES_MOST; i++) {
        iso_device_close(&job.devices[i].device);
        iso_device_map_destroy(&job.devices[i].map);
    }
    iso_machine_destroy(&job.machine);
    iso_draft_close(&job.draft);
    ISO_CHECK_MPI(MPI_Comm_free(&job.comm));
    return status;
}
