/*
 * Inspection: all that `isotome inspect` tells of a model, as one value.
 */
#ifndef ISO_INSPECTION_H
#define ISO_INSPECTION_H

#include "isotome/model_file.h"

#include "tools/facts.h"

#include <stdbool.h>

typedef struct iso_inspection {
    const iso_model_t *model; /* borrowed */
    iso_facts_t facts;
    const char **free_dims; /* (n_free), owned */
    int n_free;
    int64_t batch; /* size of every free dim when flops are counted */
    double flops;
    bool weights; /* list them */
} iso_inspection_t;

/* One JSON object on stdout, isotome-inspect(1). Errors: ISO_NOMEM. */
iso_status_t iso_inspection_print_json(const iso_inspection_t *inspection);

#endif
