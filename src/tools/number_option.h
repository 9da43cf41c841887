/*
 * Values of options that are numbers, as several commands take them.
 *
 *     ISO_TRY(iso_number_option_count(value, "--repeats", 1000, &repeats));
 *
 * Errors: ISO_INVAL naming the option.
 */
#ifndef ISO_NUMBER_OPTION_H
#define ISO_NUMBER_OPTION_H

#include "isotome/status.h"

#include <stdint.h>

/* 1 to most. option [in] "--repeats" */
iso_status_t iso_number_option_count(const char *text, const char *option,
                                     int most, int *count_out);

/* A number of seconds, 0 to 10 million. option [in] "--sync" */
iso_status_t iso_number_option_seconds(const char *text, const char *option,
                                       double *seconds_out);

/* Of --threads. */
iso_status_t iso_number_option_threads(const char *text, int *threads_out);

/* Of --seed. */
iso_status_t iso_number_option_seed(const char *text, uint64_t *seed_out);

#endif
