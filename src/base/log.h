/*
 * Messages for people, on stderr. Results go to stdout and never through
 * here.
 *
 * Every line starts with "isotome: ", in a parallel job also with the rank
 * when it is not 0. The rank is text that the parallel layer hands in once,
 * because nothing here knows MPI.
 */
#ifndef ISO_LOG_H
#define ISO_LOG_H

#include <stdbool.h>

typedef enum iso_log_level {
    ISO_LOG_ERROR,
    ISO_LOG_WARNING, /* starts with "warning: " */
    ISO_LOG_NOTE,
} iso_log_level_t;

/* Print one line. Not collective. */
void iso_log(iso_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Say which rank of how many this process is; a rank other than 0 is put
 * before each line. Not collective. */
void iso_log_set_rank(int rank, int size);

/* Drop notes (not warnings or errors); for --quiet. */
void iso_log_set_quiet(bool quiet);

/* Our own bug: prints file, line and expression, then aborts. Always on. */
#define ISO_ASSERT(expr)                                   \
    do {                                                   \
        if (!(expr)) {                                     \
            iso__assert_failed(__FILE__, __LINE__, #expr); \
        }                                                  \
    } while (0)

/* A place that is never reached unless we have a bug; text says why. */
#define ISO_UNREACHABLE(text) iso__assert_failed(__FILE__, __LINE__, (text))

_Noreturn void iso__assert_failed(const char *file, int line, const char *expr);

#endif
