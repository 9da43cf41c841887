/* A machine as the text of its file, for whoever writes it by other means
 * than iso_machine_write. */
#ifndef ISO_MACHINE_JSON_H
#define ISO_MACHINE_JSON_H

#include "isotome/machine.h"

/* text_out [out] owned by the caller: free() it. Errors: ISO_NOMEM. */
iso_status_t iso_machine_print(const iso_machine_t *machine, char **text_out);

#endif
