/*
 * What the benches share: clocks, arguments, and the lines that say on which
 * machine and with which flags something was measured.
 *
 *     static int repeats = 15;
 *     static bool is_quick;
 *     const bench_option_t options[] = {{"--repeats", NULL, &repeats, NULL},
 *                                       {"--quick", NULL, NULL, &is_quick}};
 *     bench_parse(argc, argv, 2, options);
 *     bench_print_machine();
 *     seconds[i] = bench_cpu_s() - begin_s; ...
 *     iso_timing_of(seconds, repeats).median_s
 */
#ifndef ISO_BENCH_H
#define ISO_BENCH_H

#include "isotome/status.h"

#include "plan/machine_fit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds of the processor in this process, which other programs disturb
 * less, and seconds on the wall. */
double bench_cpu_s(void);
double bench_wall_s(void);

/* The first for one thread, else the second. */
double (*bench_clock(int threads))(void);

/* The first failure ends the program: nothing else is worth doing then. */
void bench_need(iso_status_t status);

/* Zeroed memory; without it the program ends. iso_free() it. */
__attribute__((returns_nonnull)) void *bench_zeroed(size_t count, size_t size);

/* Values in [-1, 1), neighbours not alike; iso_free() them. */
__attribute__((returns_nonnull)) float *bench_values(int64_t count);

/* An argument: of the three the one that is not NULL is set. */
typedef struct bench_option {
    const char *name;
    const char **text; /* --name TEXT */
    int *number;       /* --name N, N at least 1 */
    bool *is_given;    /* --name */
} bench_option_t;

/* What is none of the options ends the program, with a list of them. */
void bench_parse(int argc, char **argv, int n_options,
                 const bench_option_t *options);

/* Floating-point operations a second of one core that multiplies and adds in
 * its widest registers and does nothing else. */
double bench_peak_flops(void);

/* Bytes a second, read and written, of a copy that no cache holds. */
double bench_bytes_per_s(void);

/* Bytes a second of one core that only reads what no cache holds. */
double bench_read_bytes_per_s(void);

/* Several times the last cache, a power of two. */
size_t bench_uncached_bytes(void);

/* Where and how something is measured; texts are constant. */
typedef struct bench_machine {
    char cpu[64];
    int processors;
    const char *commit; /* that was built; "unknown" outside a checkout */
    const char *compiler;
    const char *flags;
    const char *kernels; /* family */
    double peak_flops;
    double copy_bytes_per_s;
    double read_bytes_per_s;
} bench_machine_t;

bench_machine_t bench_machine(void);

/* A line on standard output; an object in one line of a file. */
void bench_machine_print(const bench_machine_t *machine);
void bench_machine_write(const bench_machine_t *machine, const char *path);

/* The line, measured now. */
void bench_print_machine(void);

#endif
