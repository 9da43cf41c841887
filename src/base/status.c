#include "isotome/status.h"

#include <stddef.h>

typedef struct status_info {
    iso_status_t status;
    int exit_code;
    const char *text;
} status_info_t;

static const status_info_t infos[] = {
#define X(name, code, exit_code, text) {ISO_##name, (exit_code), (text)},
    ISO_STATUS_MAP(X)
#undef X
};

/* NULL for a number that is no status. */
static const status_info_t *info_of(iso_status_t status)
{
    for (size_t i = 0; i < sizeof infos / sizeof infos[0]; i++) {
        if (infos[i].status == status) {
            return &infos[i];
        }
    }
    return NULL;
}

const char *iso_status_string(iso_status_t status)
{
    const status_info_t *info = info_of(status);

    return info == NULL ? "unknown status" : info->text;
}

int iso_status_exit_code(iso_status_t status)
{
    const status_info_t *info = info_of(status);

    return info == NULL ? 1 : info->exit_code;
}
