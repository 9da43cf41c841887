/*
 * Where an array lives: "FILE.npy" or "FILE.h5:/DATASET", optionally with a
 * name in front: "NAME=...". The first "=" ends the name; "=PATH" has none,
 * for a path that holds a "=" itself.
 */
#ifndef ISO_PLACE_H
#define ISO_PLACE_H

#include "isotome/status.h"

/* Owned texts; iso_place_free(). */
typedef struct iso_place {
    char *name;    /* NULL when none was given */
    char *path;    /* of the file */
    char *dataset; /* NULL for .npy */
} iso_place_t;

/* Errors: ISO_INVAL for an empty path, a file that is neither *.npy nor
 * *.h5 or *.hdf5 with ":/dataset", saying what is expected. */
iso_status_t iso_place_parse(const char *text, iso_place_t *place_out);
void iso_place_free(iso_place_t *place);

#endif
