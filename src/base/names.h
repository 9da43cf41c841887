/*
 * A map from names to integers (node ids, dataset numbers). Open addressing
 * over XXH3; names are borrowed and must outlive the map.
 */
#ifndef ISO_NAMES_H
#define ISO_NAMES_H

#include "isotome/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct iso_names iso_names_t;

iso_status_t iso_names_create(iso_names_t **names_out);
void iso_names_destroy(iso_names_t **names);

/* Add or replace. Errors: ISO_NOMEM. */
iso_status_t iso_names_set(iso_names_t *names, const char *name, int64_t value);

/* True and *value_out when name is there. value_out may be NULL. */
bool iso_names_get(const iso_names_t *names, const char *name,
                   int64_t *value_out);

int64_t iso_names_count(const iso_names_t *names);

#endif
