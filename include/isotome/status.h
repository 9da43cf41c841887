/*
 * Status codes: the one error type of the library, and the exit code that
 * the program gives for each.
 *
 * Zero is success and every failure is negative. The function that detects
 * a failure records its text with iso_fail() (error.h); callers only pass
 * the code on. Between ranks the most negative code wins.
 */
#ifndef ISO_STATUS_H
#define ISO_STATUS_H

/* X(name, code, exit code of the program, text) */
#define ISO_STATUS_MAP(X)                                        \
    X(OK, 0, 0, "success")                                       \
    X(INVAL, -1, 2, "invalid argument")                          \
    X(NOMEM, -2, 1, "out of memory")                             \
    X(SHAPE, -3, 4, "tensor shapes do not agree")                \
    X(IO, -4, 1, "output or system call failed")                 \
    X(INPUT, -5, 4, "input file cannot be used")                 \
    X(UNSUPPORTED, -6, 4, "model uses what is not supported")    \
    X(DISAGREE, -7, 3, "ranks disagree")                         \
    X(DEADLINE, -8, 5, "deadline passed or peer lost")           \
    X(INTERRUPTED, -9, 6, "interrupted; the job can be resumed") \
    X(INTERNAL, -10, 1, "internal error; please report it")

typedef enum iso_status {
#define X(name, code, exit_code, text) ISO_##name = (code),
    ISO_STATUS_MAP(X)
#undef X
} iso_status_t;

/*
 * Text for a status code.
 *
 * Not collective.
 * Returns a constant string; never NULL; the caller must not free it.
 */
const char *iso_status_string(iso_status_t status);

/*
 * Exit code of the program for a status: 0 done, 1 failure, 2 usage,
 * 3 ranks disagree, 4 bad input file, 5 deadline, 6 interrupted.
 *
 * Not collective.
 */
int iso_status_exit_code(iso_status_t status);

/* Return from the calling function when expr is not ISO_OK. */
#define ISO_TRY(expr)                          \
    do {                                       \
        iso_status_t iso_try_status_ = (expr); \
        if (iso_try_status_ != ISO_OK) {       \
            return iso_try_status_;            \
        }                                      \
    } while (0)

#endif
