#include "tools/print_json.h"

#include "isotome/error.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>

iso_status_t iso_print_json(json_t *json)
{
    char *text = NULL;

    if (json == NULL) {
        return iso_fail(ISO_NOMEM, "out of memory: cannot print JSON");
    }
    iso_status_t status = iso_json_print(json, 2, &text);
    if (status == ISO_OK) {
        (void)puts(text);
    }
    free(text);
    json_decref(json);
    return status;
}
