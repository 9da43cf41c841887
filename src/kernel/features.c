#include "kernel/features.h"

#include "isotome/error.h"

iso_features_t iso_features_of_cpu(void)
{
    return (iso_features_t){
        .fma = __builtin_cpu_supports("fma"),
        .avx2 = __builtin_cpu_supports("avx2"),
        .avx512 = __builtin_cpu_supports("avx512f") &&
                  __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl"),
    };
}

iso_status_t iso_features_check(const iso_features_t *features)
{
    if (!features->fma) {
        return iso_fail(ISO_UNSUPPORTED,
                        "this CPU has no FMA instructions, which the "
                        "arithmetic needs on every device; expected a CPU of "
                        "2013 or later");
    }
    return ISO_OK;
}
