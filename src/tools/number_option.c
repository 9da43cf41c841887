#include "tools/number_option.h"

#include "isotome/error.h"

#include "base/text.h"

enum { MOST_THREADS = 4096, MOST_SECONDS = 10 * 1000 * 1000 };

iso_status_t iso_number_option_count(const char *text, const char *option,
                                     int most, int *count_out)
{
    int64_t count = 0;

    ISO_TRY(iso_text_parse_int(text, option, 1, most, &count));
    *count_out = (int)count;
    return ISO_OK;
}

iso_status_t iso_number_option_seconds(const char *text, const char *option,
                                       double *seconds_out)
{
    double seconds = 0;

    ISO_TRY(iso_text_parse_double(text, option, &seconds));
    if (seconds < 0 || seconds > MOST_SECONDS) {
        return iso_fail(ISO_INVAL, "%s: '%s' is not from 0 to %d seconds",
                        option, text, MOST_SECONDS);
    }
    *seconds_out = seconds;
    return ISO_OK;
}

iso_status_t iso_number_option_threads(const char *text, int *threads_out)
{
    return iso_number_option_count(text, "--threads", MOST_THREADS,
                                   threads_out);
}

iso_status_t iso_number_option_seed(const char *text, uint64_t *seed_out)
{
    int64_t seed = 0;

    ISO_TRY(iso_text_parse_int(text, "--seed", 0, INT64_MAX, &seed));
    *seed_out = (uint64_t)seed;
    return ISO_OK;
}
