/* What the files of verify share. */
#ifndef ISO_VERIFY_IMPL_H
#define ISO_VERIFY_IMPL_H

#include "isotome/model_file.h"
#include "isotome/verify.h"

#include "base/random.h"
#include "base/text.h"
#include "lab/witness.h"

enum { ISO__VERIFY_SIZES = 3 };

/* A plan to verify: what iso_plan_options_t borrows, and more. */
typedef struct iso__trial {
    int ranks; /* that take part, the first of comm */
    int threads;
    iso_plan_options_t plan;
    iso_layer_split_t split;
    int *widths;
} iso__trial_t;

typedef struct iso__verify {
    const iso_verify_options_t *options;
    MPI_Comm comm;
    FILE *lines; /* NULL but at rank 0 */
    iso_verify_result_t *result;
    iso_model_t *model;
    iso_witness_t *witness;
    iso_random_t random;
    int64_t samples;
    int64_t most; /* samples in the largest micro-batch: all, or 1 when the
                   * model's batch is fixed */
    int64_t sizes[ISO__VERIFY_SIZES]; /* micro-batches to draw from */
    iso_text_t folder;                /* made for this run, removed after it */
    int n_inputs;
    char **inputs; /* (n_inputs) places */
    int n_outputs;
    char **outputs; /* (n_outputs) places of the cut run */
    char **wholes;  /* (n_outputs) places of this rank's whole run */
    char **firsts;  /* (n_outputs) what the first whole run wrote */
} iso__verify_t;

/* -- verify_trial.c -- */

/* Draw a plan. The same on every rank. */
iso_status_t iso__trial_draw(iso__verify_t *verify, iso__trial_t *trial);

/* The plan that the options ask for. */
void iso__trial_take(const iso__verify_t *verify, iso__trial_t *trial);
void iso__trial_free(iso__trial_t *trial);

/* "3 ranks, grid 2,1, split 3,2, micro-batch 2, 1 thread, cuts at random" */
void iso__trial_add_text(const iso__verify_t *verify, const iso__trial_t *trial,
                         iso_text_t *text);

/* -- verify_files.c -- */

/* Folder, inputs, names. Collective. */
iso_status_t iso__verify_make_files(iso__verify_t *verify);

/* Remove them all. Collective. */
void iso__verify_remove_files(iso__verify_t *verify);

/* Are the bytes of the files behind two places equal? */
iso_status_t iso__verify_same_files(const char *a, const char *b,
                                    bool *same_out);

#endif
