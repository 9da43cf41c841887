#include "kernel/family.h"

#include "isotome/error.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

const char *iso_family_string(iso_family_t family)
{
    static const char *const texts[] = {
#define X(name, text) text,
        ISO_FAMILY_MAP(X)
#undef X
    };

    return family < ISO_FAMILY_COUNT ? texts[family] : "unknown";
}

bool iso_family_runs_on(iso_family_t family, const iso_features_t *features)
{
    switch (family) {
    case ISO_FAMILY_SCALAR:
        return features->fma;
    case ISO_FAMILY_HASWELL:
    case ISO_FAMILY_ZEN:
    case ISO_FAMILY_ZEN2:
    case ISO_FAMILY_ZEN3:
        return features->fma && features->avx2;
    case ISO_FAMILY_SKX:
        return features->fma && features->avx512;
    default:
        return false;
    }
}

bool iso_family_supported(iso_family_t family)
{
    const iso_features_t features = iso_features_of_cpu();

    return iso_family_runs_on(family, &features);
}

static iso_family_t best_family(const iso_features_t *features)
{
    if (iso_family_runs_on(ISO_FAMILY_SKX, features)) {
        return ISO_FAMILY_SKX;
    }
    if (iso_family_runs_on(ISO_FAMILY_HASWELL, features)) {
        return ISO_FAMILY_HASWELL;
    }
    return ISO_FAMILY_SCALAR;
}

static iso_status_t fail_choice(const char *wanted, const char *why,
                                const iso_features_t *features)
{
    iso_text_t list = {0};
    iso_status_t status;

    for (int f = 0; f < ISO_FAMILY_COUNT; f++) {
        if (iso_family_runs_on((iso_family_t)f, features)) {
            iso_text_add(&list, "%s%s", list.length > 0 ? ", " : "",
                         iso_family_string((iso_family_t)f));
        }
    }
    status = list.status;
    if (status == ISO_OK) {
        status = iso_fail(ISO_INVAL,
                          "ISOTOME_KERNELS is '%s', %s; this CPU can run: %s",
                          wanted, why, list.data);
    }
    iso_text_free(&list);
    return status;
}

iso_status_t iso_family_choose_for(const iso_features_t *features,
                                   const char *wanted, iso_family_t *family_out)
{
    ISO_TRY(iso_features_check(features));
    if (wanted == NULL || *wanted == '\0') {
        *family_out = best_family(features);
        return ISO_OK;
    }
    for (int f = 0; f < ISO_FAMILY_COUNT; f++) {
        if (strcmp(wanted, iso_family_string((iso_family_t)f)) != 0) {
            continue;
        }
        if (!iso_family_runs_on((iso_family_t)f, features)) {
            return fail_choice(wanted, "which this CPU cannot run", features);
        }
        *family_out = (iso_family_t)f;
        return ISO_OK;
    }
    return fail_choice(wanted, "which is no kernel family", features);
}

iso_status_t iso_family_choose(iso_family_t *family_out)
{
    const iso_features_t features = iso_features_of_cpu();

    return iso_family_choose_for(&features, getenv("ISOTOME_KERNELS"),
                                 family_out);
}
