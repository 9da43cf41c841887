/*
 * Load: the weights of one rank, read from the model file into memory,
 * verified, and nothing else of it.
 *
 * A whole weight is checked by its own digest when it is read. A slab cannot
 * be: the workers of a stage check their slabs together (slab_sums.h).
 *
 *     status = iso_load_parts(model, locals, &load);
 *     ISO_TRY(iso_par_agree(status, comm));
 *     ISO_TRY(iso_load_verify(load, comm)); // the workers of the stage
 *     ISO_TRY(iso_load_bind(load, locals[ISO_FORM_FULL], program));
 */
#ifndef ISO_LOAD_H
#define ISO_LOAD_H

#include "isotome/model_file.h"

#include "device/device.h"
#include "exec/batches.h"
#include "plan/shard/local.h"

#include <mpi.h>

typedef struct iso_load iso_load_t;

/*
 * Read the parts of weights that a worker's local graphs have, equal parts
 * once. Not collective.
 *
 * model   [in]  borrowed while load lives
 * locals  [in]  (ISO_FORM_COUNT), NULL where there is no such form
 * Errors: ISO_INPUT for the file, ISO_INVAL for a slab that the weight does
 * not have, ISO_NOMEM; each names the weight.
 */
iso_status_t iso_load_parts(iso_model_t *model,
                            const iso_local_t *const *locals,
                            iso_load_t **load_out);
void iso_load_free(iso_load_t **load);

/*
 * Compare the slabs that all workers of a stage read with the file's digests.
 *
 * Collective over comm, the workers of the stage, each of which has loaded
 * its parts of the same model.
 * Errors, the same on every rank: ISO_INPUT naming file and weight; ISO_NOMEM.
 */
iso_status_t iso_load_verify(iso_load_t *load, MPI_Comm comm);

/* Bytes that iso_load_verify has read on this rank, which no worker needed:
 * they are in iso_model_bytes_read, and in no plan. */
size_t iso_load_check_bytes(const iso_load_t *load);

/*
 * Bind every weight of a local graph to a program of it.
 *
 * local  [in]  one whose parts were loaded
 */
iso_status_t iso_load_bind(const iso_load_t *load, const iso_local_t *local,
                           iso_program_t *program);

#endif
