/*
 * Load: the weights of one stage, read from the model file into memory,
 * digests verified, and nothing else of it.
 */
#ifndef ISO_LOAD_H
#define ISO_LOAD_H

#include "isotome/model_file.h"
#include "isotome/partition.h"

#include "device/device.h"

typedef struct iso_load iso_load_t;

/* Errors: ISO_INPUT for the file, ISO_NOMEM with the weight's size. */
iso_status_t iso_load_stage(iso_model_t *model, const iso_stage_t *stage,
                            iso_load_t **load_out);
void iso_load_free(iso_load_t **load);

/* Bind every weight to a program of the stage. */
iso_status_t iso_load_bind(const iso_load_t *load, iso_program_t *program);

#endif
