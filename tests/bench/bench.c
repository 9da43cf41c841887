#include "bench.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "kernel/cpu.h"
#include "lab/peak.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Clocks ---- */

static double seconds_of(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_cpu_s(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

double (*bench_clock(int threads))(void)
{
    return threads == 1 ? bench_cpu_s : bench_wall_s;
}

double bench_wall_s(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

/* ---- Failures, values ---- */

void bench_need(iso_status_t status)
{
    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
        exit(EXIT_FAILURE);
    }
}

void *bench_zeroed(size_t count, size_t size)
{
    void *block = iso_alloc_zeroed(count, size);

    if (block == NULL) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
        exit(EXIT_FAILURE);
    }
    return block;
}

float *bench_values(int64_t count)
{
    float *values = bench_zeroed((size_t)count, sizeof *values);

    for (int64_t i = 0; i < count; i++) {
        values[i] = (float)(i * 7919 % 1009) / 504.5F - 1.0F;
    }
    return values;
}

/* ---- Arguments ---- */

static void refuse(const char *found, int n_options,
                   const bench_option_t *options)
{
    (void)fprintf(stderr, "'%s' is none of:", found);
    for (int i = 0; i < n_options; i++) {
        (void)fprintf(stderr, " %s%s", options[i].name,
                      options[i].text != NULL     ? " TEXT"
                      : options[i].number != NULL ? " N"
                                                  : "");
    }
    (void)fprintf(stderr, "\n");
    exit(2);
}

/* value is NULL at the end of the arguments. Returns the arguments used. */
static int take(const bench_option_t *option, const char *value)
{
    int64_t number = 0;

    if (option->is_given != NULL) {
        *option->is_given = true;
        return 1;
    }
    if (value == NULL) {
        (void)fprintf(stderr, "%s without a value\n", option->name);
        exit(2);
    }
    if (option->text != NULL) {
        *option->text = value;
        return 2;
    }
    bench_need(iso_text_parse_int(value, option->name, 1, INT32_MAX, &number));
    *option->number = (int)number;
    return 2;
}

void bench_parse(int argc, char **argv, int n_options,
                 const bench_option_t *options)
{
    for (int i = 1; i < argc;) {
        int k = 0;

        while (k < n_options && strcmp(argv[i], options[k].name) != 0) {
            k++;
        }
        if (k == n_options) {
            refuse(argv[i], n_options, options);
        }
        i += take(&options[k], i + 1 < argc ? argv[i + 1] : NULL);
    }
}

/* ---- The machine ---- */

double bench_peak_flops(void)
{
    return iso_peak_flops_per_s(bench_cpu_s);
}

double bench_read_bytes_per_s(void)
{
    enum { REPEATS = 9 };
    const size_t bytes = bench_uncached_bytes();
    const int64_t count = (int64_t)(bytes / sizeof(float));
    float *values = bench_values(count);
    double seconds[REPEATS] = {0};

    for (int r = 0; r < REPEATS; r++) {
        seconds[r] = (double)bytes /
                     iso_peak_read_bytes_per_s(values, count, bench_cpu_s);
    }
    iso_free(values);
    return (double)bytes / iso_timing_of(seconds, REPEATS).median_s;
}

size_t bench_uncached_bytes(void)
{
    return iso_peak_uncached_bytes();
}

double bench_bytes_per_s(void)
{
    enum { BYTES = 64 << 20, REPEATS = 5 };
    char *from = iso_alloc(BYTES);
    char *to = iso_alloc(BYTES);
    double seconds[REPEATS] = {0};

    bench_need(from != NULL && to != NULL ? ISO_OK : ISO_NOMEM);
    /* Pages that were never written may all be one page of zeros. */
    memset(from, 1, BYTES);
    memset(to, 1, BYTES);
    for (int r = 0; r < REPEATS; r++) {
        const double begin_s = bench_cpu_s();

        memcpy(to, from, BYTES);
        seconds[r] = bench_cpu_s() - begin_s;
    }
    iso_free(to);
    iso_free(from);
    return 2.0 * BYTES / iso_timing_of(seconds, REPEATS).median_s;
}

bench_machine_t bench_machine(void)
{
    iso_cpu_t *cpu = NULL;
    bench_machine_t machine = {
        .processors = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .commit = BENCH_COMMIT,
        .compiler = BENCH_COMPILER,
        .flags = BENCH_FLAGS,
    };

    iso_peak_cpu_name(machine.cpu, sizeof machine.cpu);
    /* The first use of BLIS is to be told its family. */
    bench_need(iso_cpu_create(1, &cpu));
    machine.kernels = iso_family_string(iso_cpu_family(cpu));
    iso_cpu_destroy(&cpu);
    machine.peak_flops = bench_peak_flops();
    machine.copy_bytes_per_s = bench_bytes_per_s();
    machine.read_bytes_per_s = bench_read_bytes_per_s();
    return machine;
}

void bench_machine_print(const bench_machine_t *machine)
{
    (void)printf("%s, %d processors; %s %s; kernels %s; peak of one core %.1f "
                 "GF/s, copies %.1f GB/s, reads %.1f GB/s\n",
                 machine->cpu, machine->processors, machine->compiler,
                 machine->flags, machine->kernels, machine->peak_flops * 1e-9,
                 machine->copy_bytes_per_s * 1e-9,
                 machine->read_bytes_per_s * 1e-9);
}

void bench_machine_write(const bench_machine_t *machine, const char *path)
{
    json_t *json =
        json_pack("{s:s, s:i, s:f, s:f, s:f, s:s, s:s, s:s, s:s}", "cpu",
                  machine->cpu, "processors", machine->processors,
                  "fma_peak_gflops", machine->peak_flops * 1e-9,
                  "copy_gb_per_s", machine->copy_bytes_per_s * 1e-9,
                  "read_gb_per_s", machine->read_bytes_per_s * 1e-9, "compiler",
                  machine->compiler, "flags", machine->flags, "kernels",
                  machine->kernels, "commit", machine->commit);

    if (json == NULL ||
        json_dump_file(json, path, JSON_REAL_PRECISION(4)) != 0) {
        (void)fprintf(stderr, "cannot write '%s'\n", path);
        exit(EXIT_FAILURE);
    }
    json_decref(json);
}

void bench_print_machine(void)
{
    const bench_machine_t machine = bench_machine();

    bench_machine_print(&machine);
}
