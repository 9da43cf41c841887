/*
 * JSON on stdout: what --json asks for.
 */
#ifndef ISO_PRINT_JSON_H
#define ISO_PRINT_JSON_H

#include "isotome/status.h"

#include <jansson.h>

/* Print json, which is taken over. Errors: ISO_NOMEM, also for NULL. */
iso_status_t iso_print_json(json_t *json);

#endif
