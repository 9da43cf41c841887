#include "base/mem.h"
#include "bench.h"
#include "kernel/features.h"

#include <math.h>
#include <stdint.h>

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

double bench_peak_flops(void)
{
    enum { ROUNDS = 2000000, REPEATS = 7 };
    const loops_t loops = loops_of_cpu();
    volatile float keep = loops.multiply_add(ROUNDS);
    double best = 0;

    for (int r = 0; r < REPEATS; r++) {
        const double begin_s = bench_cpu_s();

        keep = loops.multiply_add(ROUNDS);

        const double flops =
            2.0 * loops.lanes * CHAINS * ROUNDS / (bench_cpu_s() - begin_s);

        best = flops > best ? flops : best;
    }
    (void)keep;
    return best;
}

double bench_read_bytes_per_s(void)
{
    enum { REPEATS = 9 };
    const size_t bytes = bench_uncached_bytes();
    const loops_t loops = loops_of_cpu();
    const int64_t count = (int64_t)(bytes / sizeof(float));
    float *values = bench_values(count);
    double seconds[REPEATS] = {0};
    volatile float keep = 0;

    for (int r = 0; r < REPEATS; r++) {
        const double begin_s = bench_cpu_s();

        keep = loops.sum(values, count);
        seconds[r] = bench_cpu_s() - begin_s;
    }
    (void)keep;
    iso_free(values);
    return (double)bytes / iso_timing_of(seconds, REPEATS).median_s;
}
