#include "lab/peak.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "kernel/features.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* What one core reaches with the widest vectors that it has: chains of
 * multiply-adds that do not wait for each other, and sums over memory. */
typedef struct loops {
    int lanes;
    /* Rounds of CHAINS vectors of multiply-adds; the value keeps the compiler
     * from leaving them away. */
    float (*multiply_add)(int64_t rounds);
    float (*sum)(const float *from, int64_t count);
} loops_t;

/* More than the latency of a multiply-add times those that begin in a cycle,
 * and fewer than there are registers. */
enum { CHAINS = 12, STREAMS = 2, SUMS = 2 * STREAMS };

/* Converges to 2, so that no value is subnormal or infinite. */
#define FACTOR 0.5F
#define TERM   1.0F

#ifdef __x86_64__
#include <immintrin.h>

/* clang-format off */
#define LOOPS(name, isa, vec, lanes_of, set1, zero, fma, add, load, store)     \
    __attribute__((target(isa))) static float name##_fold(const vec *v, int n) \
    {                                                                          \
        float lane[lanes_of];                                                  \
        float total = 0.0F;                                                    \
                                                                               \
        for (int i = 0; i < n; i++) {                                          \
            store(lane, v[i]);                                                 \
            for (int k = 0; k < lanes_of; k++) {                               \
                total += lane[k];                                              \
            }                                                                  \
        }                                                                      \
        return total;                                                          \
    }                                                                          \
                                                                               \
    __attribute__((target(isa))) static float name##_multiply_add(             \
        int64_t rounds)                                                        \
    {                                                                          \
        const vec factor = set1(FACTOR);                                       \
        const vec term = set1(TERM);                                           \
        vec chain[CHAINS];                                                     \
                                                                               \
        for (int i = 0; i < CHAINS; i++) {                                     \
            chain[i] = set1((float)i);                                         \
        }                                                                      \
        for (int64_t round = 0; round < rounds; round++) {                     \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++)          \
            {                                                                  \
                chain[i] = fma(chain[i], factor, term);                        \
            }                                                                  \
        }                                                                      \
        return name##_fold(chain, CHAINS);                                     \
    }                                                                          \
                                                                               \
    /* Several places of the memory at once, so that more lines are on their   \
     * way than one stream has. */                                             \
    __attribute__((target(isa))) static float name##_sum(const float *from,    \
                                                         int64_t count)        \
    {                                                                          \
        const int64_t part = count / STREAMS;                                  \
        const int64_t step = INT64_C(2) * (lanes_of);                          \
        vec sum[SUMS];                                                         \
                                                                               \
        for (int64_t i = 0; i < SUMS; i++) {                                   \
            sum[i] = zero();                                                   \
        }                                                                      \
        for (int64_t at = 0; at < part; at += step) {                          \
            _Pragma("GCC unroll 2") for (int64_t i = 0; i < STREAMS; i++)      \
            {                                                                  \
                const float *here = from + i * part + at;                      \
                                                                               \
                sum[2 * i] = add(sum[2 * i], load(here));                      \
                sum[2 * i + 1] = add(sum[2 * i + 1], load(here + (lanes_of))); \
            }                                                                  \
        }                                                                      \
        return name##_fold(sum, SUMS);                                         \
    }
/* clang-format on */

LOOPS(avx512, "avx512f", __m512, 16, _mm512_set1_ps, _mm512_setzero_ps,
      _mm512_fmadd_ps, _mm512_add_ps, _mm512_load_ps, _mm512_storeu_ps)
LOOPS(avx2, "avx2,fma", __m256, 8, _mm256_set1_ps, _mm256_setzero_ps,
      _mm256_fmadd_ps, _mm256_add_ps, _mm256_load_ps, _mm256_storeu_ps)

static loops_t loops_of_cpu(void)
{
    const iso_features_t features = iso_features_of_cpu();

    return features.avx512 ? (loops_t){16, avx512_multiply_add, avx512_sum}
                           : (loops_t){8, avx2_multiply_add, avx2_sum};
}

#else

static float plain_multiply_add(int64_t rounds)
{
    float chain[CHAINS] = {0};
    float total = 0.0F;

    for (int64_t round = 0; round < rounds; round++) {
        for (int i = 0; i < CHAINS; i++) {
            chain[i] = fmaf(chain[i], FACTOR, TERM);
        }
    }
    for (int i = 0; i < CHAINS; i++) {
        total += chain[i];
    }
    return total;
}

static float plain_sum(const float *from, int64_t count)
{
    float sum[16] = {0};

    for (int64_t at = 0; at < count; at++) {
        sum[at % 16] += from[at];
    }
    return sum[0] + sum[8];
}

static loops_t loops_of_cpu(void)
{
    return (loops_t){1, plain_multiply_add, plain_sum};
}
#endif

/* The best of some tries, each of so many rounds. */
static double best_flops_per_s(int64_t rounds, int tries, double (*now_s)(void))
{
    const loops_t loops = loops_of_cpu();
    volatile float keep = loops.multiply_add(rounds);
    double best = 0;

    for (int i = 0; i < tries; i++) {
        const double begin_s = now_s();

        keep = loops.multiply_add(rounds);

        const double flops =
            2.0 * loops.lanes * CHAINS * (double)rounds / (now_s() - begin_s);

        best = flops > best ? flops : best;
    }
    (void)keep;
    return best;
}

double iso_peak_flops_per_s(double (*now_s)(void))
{
    enum { ROUNDS = 2000000, TRIES = 7 }; /* some milliseconds each */

    return best_flops_per_s(ROUNDS, TRIES, now_s);
}

double iso_peak_read_bytes_per_s(const float *values, int64_t count,
                                 double (*now_s)(void))
{
    const loops_t loops = loops_of_cpu();
    const double begin_s = now_s();
    const volatile float keep = loops.sum(values, count);

    (void)keep;
    return (double)count * sizeof *values / (now_s() - begin_s);
}

/* ---- All threads ---- */

static double wall_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/*
 * Threads of several ranks may have to take turns on a core: what is timed is
 * long beside a turn, so that their figures add up to what the core does.
 */
enum { LONG_ROUNDS = 20000000, LONG_READS = 4, TRIES = 3 };

/* A part that the calling thread has written first, and so has near it. */
static double read_part(float *values, int64_t count)
{
    double best = 0;

    memset(values, 0, (size_t)count * sizeof *values);
    for (int i = 0; i < TRIES; i++) {
        double seconds = 0;

        for (int k = 0; k < LONG_READS; k++) {
            seconds += (double)count * sizeof *values /
                       iso_peak_read_bytes_per_s(values, count, wall_s);
        }
        const double bytes_per_s =
            LONG_READS * (double)count * sizeof *values / seconds;

        best = bytes_per_s > best ? bytes_per_s : best;
    }
    return best;
}

iso_status_t iso_peak_measure(int threads, size_t bytes, iso_peak_t *peak_out)
{
    enum { STEP = 1024 };
    const size_t share = bytes / sizeof(float) / (size_t)threads;
    const int64_t part = (int64_t)(share / STEP + 1) * STEP;
    float *values = iso_alloc((size_t)part * (size_t)threads * sizeof *values);
    double flops_per_s = 0;
    double read_bytes_per_s = 0;

    if (values == NULL) {
        return ISO_NOMEM;
    }
#pragma omp parallel for num_threads(threads) schedule(static, 1) \
    reduction(+ : flops_per_s)
    for (int thread = 0; thread < threads; thread++) {
        flops_per_s += best_flops_per_s(LONG_ROUNDS, TRIES, wall_s);
    }
#pragma omp parallel for num_threads(threads) schedule(static, 1) \
    reduction(+ : read_bytes_per_s)
    for (int thread = 0; thread < threads; thread++) {
        read_bytes_per_s += read_part(values + thread * part, part);
    }
    *peak_out = (iso_peak_t){flops_per_s, read_bytes_per_s};
    iso_free(values);
    return ISO_OK;
}

/* ---- Caches ---- */

/* Of the last-level cache; 0 when the system does not say. (sysconf gives what
 * the processor says, which in a virtual machine may be its host's.) */
static size_t cache_bytes(void)
{
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    char line[32] = "";
    int64_t kib = 0;

    if (file == NULL) {
        return 0;
    }
    if (fgets(line, sizeof line, file) != NULL) {
        line[strspn(line, "0123456789")] = '\0';
        if (iso_text_parse_int(line, "cache size", 0, INT32_MAX, &kib) !=
            ISO_OK) {
            iso_error_clear();
            kib = 0;
        }
    }
    (void)fclose(file);
    return (size_t)kib << 10;
}

size_t iso_peak_uncached_bytes(void)
{
    enum { LEAST = 256 << 20 };
    size_t bytes = LEAST;

    while (bytes < 4 * cache_bytes()) {
        bytes *= 2;
    }
    return bytes;
}

/* ---- Name ---- */

/* "model name : ..." of /proc/cpuinfo, as far as there is one. */
void iso_peak_cpu_name(char *name, size_t bytes)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    (void)snprintf(name, bytes, "unknown");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, "model name", strlen("model name")) == 0 &&
            colon != NULL) {
            colon += 1 + strspn(colon + 1, " ");
            (void)snprintf(name, bytes, "%.*s", (int)strcspn(colon, "\n"),
                           colon);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}
