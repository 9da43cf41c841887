/* The text of a layer split: refused, or read back from its own print. */
#include "isotome/layer_split.h"

#include "base/mem.h"
#include "fuzz.h"

static void check_again(const iso_layer_split_t *split)
{
    iso_layer_split_t again = {0};
    char *text = iso_layer_split_text(split);

    if (text == NULL || iso_layer_split_parse(text, &again) != ISO_OK ||
        iso_layer_split_digest(&again) != iso_layer_split_digest(split) ||
        iso_layer_split_check(split, iso_layer_split_total(split),
                              split->world) != ISO_OK) {
        fuzz_die("a split is not read back");
    }
    iso_layer_split_free(&again);
    iso_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    iso_layer_split_t split = {0};
    const int64_t held = fuzz_begin();
    const iso_status_t status =
        iso_layer_split_parse(fuzz_text(data, size), &split);

    if (status == ISO_OK) {
        check_again(&split);
        iso_layer_split_free(&split);
    }
    fuzz_end(status, held);
    return 0;
}
