/*
 * Run: a model over all its inputs, on the ranks of a communicator.
 *
 *     iso_run_options_t options = {
 *         .model = "net.h5", .device = "cpu", .threads = 1,
 *         .n_inputs = 1, .inputs = (const char *const[]){"x.npy"},
 *         .n_outputs = 1, .outputs = (const char *const[]){"y.npy"}};
 *     iso_status_t status = iso_run(&options, MPI_COMM_WORLD, stdout);
 *     if (status != ISO_OK) { puts(iso_error_text()); }
 *
 * Before any weight is read all ranks compare what they are about to do;
 * ranks that differ refuse to run.
 */
#ifndef ISO_RUN_H
#define ISO_RUN_H

#include "isotome/device_map.h"
#include "isotome/plan.h"

#include <mpi.h>

#include <stdio.h>

/* All texts are borrowed for the call. */
typedef struct iso_run_options {
    const char *model;         /* path of the model file */
    int n_inputs;              /* places: "[NAME=]X.npy" or */
    const char *const *inputs; /* "[NAME=]F.h5:/dataset" */
    int n_outputs;
    const char *const *outputs;
    iso_plan_options_t plan;  /* world and samples are filled in */
    const char *plan_path;    /* replay this plan; NULL: make one */
    const char *machine_path; /* NULL: default figures */
    const char *device;       /* "cpu", or a rule (device_map.h) */
    iso_device_map_t *map;    /* instead of device, by a function say; borrowed,
                               * and what is not there is left out of it */
    int threads;              /* of each rank, >= 1 */
    bool force;               /* replace outputs that exist */
    bool resume;              /* go on where an earlier job ended */
    double sync_s;            /* seconds from one flush of outputs and ledger
                               * to the disk to the next; >= 0 */
    bool progress;            /* show it on stderr */
    const char *report_path;  /* JSON report; NULL: none */
    const char *status_path;  /* JSON of how far the job is, written again
                               * every few seconds; NULL: none */
    const char *packed_path;  /* folder of this node in which packed weights
                               * are kept for the next run; NULL: none. Ranks
                               * may have different ones */
    double deadline_s;        /* a longer wait for other ranks ends the process
                               * with a message; 0: none; < 0: by the plan */
    bool verify_transfers;    /* check what is sent between ranks by digests;
                               * the same on all */
} iso_run_options_t;

/*
 * Collective over comm, which is duplicated.
 *
 * table  [in]  where rank 0 prints "where the time went"; NULL: nowhere
 * Returns the same status on every rank, with the same text (error.h):
 * ISO_DISAGREE when ranks differ in program, model, weights, split, plan or
 * inputs;
 * ISO_INVAL, ISO_INPUT, ISO_SHAPE, ISO_UNSUPPORTED, ISO_IO, ISO_NOMEM.
 * A deadline that passes, or a host that does not answer, ends the process
 * with exit code 5 (par/watchdog.h).
 * On a failure no output exists under its name (one that existed before is
 * untouched), but for one case: a report or table that cannot be written at
 * the very end fails the call, with all outputs complete.
 */
iso_status_t iso_run(const iso_run_options_t *options, MPI_Comm comm,
                     FILE *table);

/*
 * Tell a run in this process to end: for a program's signal handler, in which
 * it is safe. On any of the ranks, or on all. The micro-batches under way are
 * finished, then iso_run returns ISO_INTERRUPTED on every rank; before the
 * first one is begun, the process exits with the code of ISO_INTERRUPTED.
 *
 * Not collective. False when no run is going on: the signal is the program's.
 */
bool iso_run_interrupt(void);

#endif
