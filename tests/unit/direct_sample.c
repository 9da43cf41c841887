#include "direct_sample.h"

#include "base/random.h"

#include <math.h>

static iso_random_t randomness;

void direct_seed(uint64_t seed)
{
    randomness.state = seed;
}

static int64_t random_in(int64_t least, int64_t most)
{
    return least +
           (int64_t)iso_random_below(&randomness, (uint64_t)(most - least + 1));
}

static int64_t random_of(const int64_t *list, int count)
{
    return list[random_in(0, count - 1)];
}

float direct_value(int kind)
{
    static const float odd[] = {-0.0F, 0x1p-149F, -0x1.8p-130F, 0x1p-100F,
                                1e30F, -1e30F,    -1e-30F,      0.0F};
    static const float none[] = {INFINITY, -INFINITY, NAN};

    if (kind >= 1 && random_in(0, 3) == 0) {
        return odd[random_in(0, 7)];
    }
    if (kind == 2 && random_in(0, 299) == 0) {
        return none[random_in(0, 2)];
    }
    return iso_random_float(&randomness);
}

/* ---- Samples ---- */

static void set_follow(sample_t *sample)
{
    static const char *const kinds[] = {"none", "none", "relu", "tanh",
                                        "hard_swish"};
    static const iso_op_t then[] = {ISO_OP_COUNT, ISO_OP_COUNT, ISO_OP_RELU,
                                    ISO_OP_SIGMOID};

    sample->has_bias = random_in(0, 3) > 0;
    sample->has_addend = random_in(0, 1) == 1;
    sample->kind = (int)random_in(0, 2);
    sample->activation = kinds[random_in(0, 4)];
    sample->then = then[random_in(0, 3)];
}

sample_t direct_conv(void)
{
    static const int64_t channels[] = {1, 2, 3, 8, 15, 16, 17, 32, 33, 48, 80};
    static const int64_t lanes[] = {5, 9, 16, 17, 24, 32, 33, 64, 70, 96};
    static const int64_t taps[] = {1, 1, 2, 3, 3, 5, 7};
    const int n_spatial = (int)random_of((int64_t[]){1, 2, 2, 2, 2, 3}, 6);
    int64_t x[5] = {random_in(1, 3)};
    int64_t w[5];
    sample_t sample = {.op = ISO_OP_CONV, .groups = 1};

    set_follow(&sample);
    x[1] = random_of(channels, 11);
    w[0] = random_of(lanes, 10);
    if (random_in(0, 5) == 0) {
        sample.groups = random_in(2, 3);
        x[1] = 16 * sample.groups * random_in(1, 2);
        w[0] = 16 * sample.groups * random_in(1, 3);
    }
    w[1] = x[1] / sample.groups;
    for (int i = 0; i < n_spatial; i++) {
        w[2 + i] = n_spatial == 3 ? random_in(1, 3) : random_of(taps, 7);
        sample.strides[i] = random_in(1, 2);
        sample.dilations[i] = random_in(0, 3) == 0 ? 2 : 1;
        sample.pads[i] = random_in(0, w[2 + i] / 2);
        sample.pads[n_spatial + i] = random_in(0, w[2 + i] / 2);
        x[2 + i] = random_in(1, n_spatial == 3 ? 8 : 19);
    }
    sample.x = iso_shape_of(2 + n_spatial, x);
    sample.w = iso_shape_of(2 + n_spatial, w);
    return sample;
}

sample_t direct_grouped(void)
{
    static const int64_t in[] = {1, 2, 3, 4, 5, 8, 12, 16, 17, 24};
    static const int64_t out[] = {1, 3, 4, 5, 8, 10, 12, 16, 20, 24, 40};
    sample_t sample = direct_conv();
    int64_t x[5];
    int64_t w[5];

    sample.groups = random_in(2, 9);
    for (int i = 0; i < sample.x.rank; i++) {
        x[i] = sample.x.dim[i].size;
        w[i] = sample.w.dim[i].size;
    }
    w[1] = random_of(in, 10);
    x[1] = sample.groups * w[1];
    w[0] = sample.groups * (random_in(0, 2) == 0 ? w[1] : random_of(out, 11));
    sample.x = iso_shape_of(sample.x.rank, x);
    sample.w = iso_shape_of(sample.w.rank, w);
    return sample;
}

sample_t direct_transposed(void)
{
    sample_t sample = random_in(0, 2) == 0 ? direct_grouped() : direct_conv();
    int64_t w[5] = {0};

    sample.op = ISO_OP_CONV_TRANSPOSE;
    for (int i = 0; i < sample.w.rank; i++) {
        w[i] = sample.w.dim[i].size;
    }
    w[1] = w[0] / sample.groups;
    w[0] = sample.x.dim[1].size;
    for (int i = 0; i < sample.w.rank - 2; i++) {
        sample.strides[i] = random_in(1, 4);
        sample.dilations[i] = random_in(0, 2) == 0 ? random_in(2, 4) : 1;
        sample.output_pads[i] = random_in(0, sample.strides[i] - 1);
    }
    sample.w = iso_shape_of(sample.w.rank, w);
    return sample;
}

sample_t direct_product(void)
{
    static const int64_t inner[] = {1, 2, 31, 255, 256, 257, 512, 600, 1280};
    const int64_t k = random_of(inner, 9);
    const int64_t n = random_in(8, 100);
    const int64_t x[] = {random_in(1, 3), random_in(1, 40), k};
    sample_t sample = {.op =
                           random_in(0, 1) == 1 ? ISO_OP_GEMM : ISO_OP_MATMUL};

    set_follow(&sample);
    sample.trans_b = sample.op == ISO_OP_GEMM ? random_in(0, 1) : 0;
    sample.x =
        sample.op == ISO_OP_GEMM ? iso_shape_of(2, x + 1) : iso_shape_of(3, x);
    sample.w = sample.trans_b != 0 ? iso_shape_of(2, (int64_t[]){n, k})
                                   : iso_shape_of(2, (int64_t[]){k, n});
    return sample;
}
