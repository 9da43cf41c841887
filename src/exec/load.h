/*
 * Load: the weights of one rank, read from the model file, verified, and kept
 * as the rank's programs want them (device/weight.h), and nothing else of it.
 * A weight is read in parts of bounded size: what is packed is never in memory
 * plain as a whole.
 *
 * A whole weight is checked by its own digest when it is read. A slab cannot
 * be: the workers of a stage check their slabs together (slab_sums.h).
 *
 *     iso_load_spec_t spec = {model, {full, tail}, {...}, device, threads};
 *     status = iso_load_parts(&spec, &load);
 *     ISO_TRY(iso_par_agree(status, comm));
 *     ISO_TRY(iso_load_verify(load, comm)); // the workers of the stage
 *     iso_load_keep(load);
 *     run the programs
 *
 * With a folder of packed weights (io/packed.h) those that an earlier job has
 * kept there are mapped, and neither read nor packed. Their sums are kept with
 * them, so that the workers check their slabs together in either case.
 */
#ifndef ISO_LOAD_H
#define ISO_LOAD_H

#include "isotome/model_file.h"

#include "device/device.h"
#include "exec/batches.h"
#include "io/packed.h"
#include "plan/shard/local.h"

#include <mpi.h>

typedef struct iso_load iso_load_t;

typedef struct iso_load_spec {
    iso_model_t *model;                        /* outlives the load */
    const iso_local_t *locals[ISO_FORM_COUNT]; /* NULL: no such form */
    iso_program_t *programs[ISO_FORM_COUNT];   /* of the locals' graphs; NULL:
                                                * parts are read and checked,
                                                * and not kept for it */
    const iso_device_t *device;
    int threads; /* of the device; with two it reads while it packs */
    const iso_packed_t *packed; /* outlives the load; NULL: none */
} iso_load_spec_t;

/*
 * Read the parts of weights that a worker's local graphs have, equal parts
 * once, and bind them to the programs. Not collective.
 *
 * load_out  [out]  what the programs are bound to: outlives them
 * Errors: ISO_INPUT for the file, ISO_INVAL for a slab that the weight does
 * not have, ISO_NOMEM; each names the weight.
 */
iso_status_t iso_load_parts(const iso_load_spec_t *spec, iso_load_t **load_out);
void iso_load_free(iso_load_t **load);

/*
 * Compare the slabs that all workers of a stage read with the file's digests.
 *
 * Collective over comm, the workers of the stage, each of which has loaded
 * its parts of the same model.
 * Errors, the same on every rank: ISO_INPUT naming file and weight; ISO_NOMEM.
 */
iso_status_t iso_load_verify(iso_load_t *load, MPI_Comm comm);

/*
 * Keep what was packed for a later job, when there is a folder for it. Not
 * collective. Call it when the workers have verified their slabs: what is kept
 * is trusted. A failure is a warning.
 */
void iso_load_keep(const iso_load_t *load);

/* Bytes of weights that were not read from the model, but came packed. */
size_t iso_load_packed_bytes(const iso_load_t *load);

/* Bytes that iso_load_verify has read on this rank, which no worker needed:
 * they are in iso_model_bytes_read, and in no plan. */
size_t iso_load_check_bytes(const iso_load_t *load);

#endif
