/*
 * Verify: run a model whole and cut, and compare every value, bit by bit.
 *
 *     iso_verify_options_t options = {.model = "net.h5", .random = 20,
 *                                     .seed = 1, .samples = 3,
 *                                     .device = "cpu", .threads = 1};
 *     iso_verify_result_t result;
 *     ISO_TRY(iso_verify(&options, MPI_COMM_WORLD, stdout, &result));
 *     if (!result.equal) { puts(result.text); }
 */
#ifndef ISO_VERIFY_H
#define ISO_VERIFY_H

#include "isotome/plan.h"

#include <mpi.h>

#include <stdio.h>

enum { ISO_VERIFY_TEXT_BYTES = 1024 };

/* All texts are borrowed for the call. */
typedef struct iso_verify_options {
    const char *model;
    int n_inputs;              /* 0: random values, by seed */
    const char *const *inputs; /* places, as for iso_run */
    int64_t samples;           /* of random values, >= 1 */
    const char *device;        /* "cpu", or a rule (device_map.h) */
    int threads;               /* of each rank; random plans take 1 or 2 */
    int random;                /* plans to make at random; 0: the one below */
    uint64_t seed;
    iso_plan_options_t plan; /* world and samples are filled in */
    const char *plan_path;   /* NULL: make it from plan */
    const char *machine_path;
    const char *folder; /* for temporary files that all ranks see */
    bool quiet;         /* no line for each plan */
} iso_verify_options_t;

typedef struct iso_verify_result {
    bool equal;
    int plans;       /* verified, the one that differs included */
    int64_t pieces;  /* of values that were compared */
    int64_t outputs; /* files that were compared */
    char text[ISO_VERIFY_TEXT_BYTES]; /* the first difference, when there is
                                       * one: plan, op, piece, index, bits */
} iso_verify_result_t;

/*
 * Collective over comm. Each rank runs the whole model by itself once for
 * each size of micro-batch and remembers all values of it: memory for the
 * model and three times its values is needed on every rank. Stops at the
 * first plan that differs.
 *
 * lines  [in]  where rank 0 prints a line for each plan; NULL: nowhere
 * Returns the same status and result on every rank; a difference is not an
 * error. Errors: those of iso_run; ISO_IO for the folder.
 */
iso_status_t iso_verify(const iso_verify_options_t *options, MPI_Comm comm,
                        FILE *lines, iso_verify_result_t *result_out);

#endif
