#include "tools/split_option.h"

#include "isotome/error.h"

#include <ctype.h>
#include <string.h>

iso_status_t iso_split_option(const char *text, iso_plan_options_t *options,
                              iso_layer_split_t *split)
{
    static const struct {
        const char *name;
        iso_split_kind_t kind;
    } kinds[] = {{"balanced", ISO_SPLIT_BALANCED},
                 {"even", ISO_SPLIT_EVEN},
                 {"memory", ISO_SPLIT_MEMORY}};

    *split = (iso_layer_split_t){0};
    options->split = NULL;
    options->split_kind = ISO_SPLIT_BALANCED;
    if (text == NULL) {
        return ISO_OK;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(text, kinds[i].name) == 0) {
            options->split_kind = kinds[i].kind;
            return ISO_OK;
        }
    }
    if (isalpha((unsigned char)text[0])) {
        return iso_fail(ISO_INVAL,
                        "--split '%.60s' is not known; expected counts (as "
                        "10,18), even, memory or balanced",
                        text);
    }
    ISO_TRY(iso_layer_split_parse(text, split));
    options->split_kind = ISO_SPLIT_EXPLICIT;
    options->split = split;
    return ISO_OK;
}
