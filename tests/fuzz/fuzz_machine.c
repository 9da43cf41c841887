/* A machine file: refused, or written and read back as the same. */
#include "isotome/machine.h"

#include "fuzz.h"
#include "plan/machine_json.h"

#include <stdlib.h>
#include <string.h>

static void check_again(const iso_machine_t *machine)
{
    iso_machine_t *again = NULL;
    char *text = NULL;

    if (iso_machine_print(machine, &text) != ISO_OK ||
        iso_machine_read(fuzz_file((const uint8_t *)text, strlen(text)),
                         &again) != ISO_OK ||
        iso_machine_digest(again) != iso_machine_digest(machine)) {
        fuzz_die("a machine is not read back");
    }
    iso_machine_destroy(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    iso_machine_t *machine = NULL;
    const int64_t held = fuzz_begin();
    const iso_status_t status =
        iso_machine_read(fuzz_file(data, size), &machine);

    if (status == ISO_OK) {
        check_again(machine);
    }
    iso_machine_destroy(&machine);
    fuzz_end(status, held);
    return 0;
}
