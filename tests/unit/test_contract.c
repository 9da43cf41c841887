/* Contractions of the fast kernels against the definition, bit for bit. Run
 * once for each kernel family (ISOTOME_KERNELS). */
#include "isotome/error.h"
#include "isotome/graph.h"

#include "base/mem.h"
#include "iso_test.h"
#include "kernel/cpu.h"
#include "kernel/ref.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPERANDS = 3, N_THREADS = 3 };

static const int threads[N_THREADS] = {1, 2, 5};

static uint64_t random_state;

static uint64_t random_next(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t random_in(int64_t least, int64_t most)
{
    return least + (int64_t)(random_next() % (uint64_t)(most - least + 1));
}

static float random_special(void)
{
    static const float values[] = {-0.0F, 0x1p-149F, -0x1.8p-130F, 0x1p-100F,
                                   1e30F, -1e30F,    -1e-30F,      0.0F};

    return values[random_in(0, 7)];
}

/* kind 0: numbers; 1: many zeros, tiny and huge ones; 2: NaN and infinities
 * too. */
static float random_value(int kind)
{
    const float number = (float)((double)(random_next() >> 40) * 0x1p-23 - 1.0);

    if (kind >= 1 && random_in(0, 3) == 0) {
        return random_special();
    }
    if (kind == 2 && random_in(0, 199) == 0) {
        static const float values[] = {INFINITY, -INFINITY, NAN};

        return values[random_in(0, 2)];
    }
    return number;
}

/* ---- One node and its operands ---- */

typedef struct operand {
    int rank;
    int64_t dims[ISO_MAX_RANK];
} operand_t;

typedef struct sample {
    iso_op_t op;
    int kind; /* of values */
    int n_operands;
    int n_attrs;
    operand_t operands[MAX_OPERANDS];
    iso_attr_t attrs[12];
} sample_t;

static operand_t dims2(int64_t a, int64_t b)
{
    return (operand_t){2, {a, b}};
}

static void add_ints(sample_t *sample, const char *name, int count,
                     const int64_t *values)
{
    sample->attrs[sample->n_attrs++] = (iso_attr_t){
        .name = name,
        .kind = ISO_ATTR_INTS,
        .count = count,
        .value.ints = values,
    };
}

static void add_float(sample_t *sample, const char *name, const double *value)
{
    sample->attrs[sample->n_attrs++] = (iso_attr_t){
        .name = name,
        .kind = ISO_ATTR_FLOATS,
        .count = 1,
        .value.floats = value,
    };
}

static void add_activation(sample_t *sample)
{
    static const char *const kinds[] = {
        "none", "relu", "clip", "tanh", "leaky_relu", "hard_swish", "sigmoid"};
    static const double low[] = {-1.0, 0.0, -0.0};
    static const double high = 6.0;
    const char *kind = kinds[random_in(0, 6)];

    sample->attrs[sample->n_attrs++] = (iso_attr_t){
        .name = "activation",
        .kind = ISO_ATTR_TEXT,
        .count = 1,
        .value.text = kind,
    };
    if (strcmp(kind, "clip") == 0) {
        add_float(sample, "activation_min", &low[random_in(0, 2)]);
        add_float(sample, "activation_max", &high);
    }
}

static iso_status_t sample_node(const sample_t *sample, iso_graph_t *graph,
                                iso_tensor_t *operands,
                                const iso_node_t **node_out)
{
    static const char *const names[] = {"a", "b", "c"};
    iso_node_id_t ids[MAX_OPERANDS];
    iso_node_id_t id;

    for (int i = 0; i < sample->n_operands; i++) {
        const operand_t *operand = &sample->operands[i];
        const iso_shape_t shape = iso_shape_of(operand->rank, operand->dims);

        ISO_TRY(iso_graph_add_input(graph, names[i], ISO_DTYPE_F32, &shape,
                                    &ids[i]));
        ISO_TRY(iso_tensor_view(ISO_DTYPE_F32, &shape, NULL, &operands[i]));
        operands[i].data = iso_alloc(iso_tensor_bytes(&operands[i]));
        if (operands[i].data == NULL) {
            return ISO_NOMEM;
        }
        for (int64_t k = 0; k < iso_tensor_count(&operands[i]); k++) {
            ((float *)operands[i].data)[k] = random_value(sample->kind);
        }
    }

    const iso_node_spec_t spec = {.name = "y",
                                  .op = sample->op,
                                  .n_inputs = sample->n_operands,
                                  .inputs = ids,
                                  .n_attrs = sample->n_attrs,
                                  .attrs = sample->attrs};

    ISO_TRY(iso_graph_add(graph, &spec, &id));
    *node_out = iso_graph_node(graph, id);
    return ISO_OK;
}

static void print_sample(const sample_t *sample)
{
    (void)printf("\n  %s", iso_op_string(sample->op));
    for (int i = 0; i < sample->n_operands; i++) {
        (void)printf(" [");
        for (int d = 0; d < sample->operands[i].rank; d++) {
            (void)printf("%s%lld", d > 0 ? "," : "",
                         (long long)sample->operands[i].dims[d]);
        }
        (void)printf("]");
    }
    for (int i = 0; i < sample->n_attrs; i++) {
        const iso_attr_t *attr = &sample->attrs[i];

        (void)printf(" %s=", attr->name);
        for (int k = 0; k < attr->count; k++) {
            if (attr->kind == ISO_ATTR_TEXT) {
                (void)printf("%s", attr->value.text);
            } else if (attr->kind == ISO_ATTR_FLOATS) {
                (void)printf("%g ", attr->value.floats[k]);
            } else {
                (void)printf("%lld ", (long long)attr->value.ints[k]);
            }
        }
    }
    (void)printf("\n");
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Number of elements that differ. */
static int64_t compare(const float *want, const float *got, int64_t count)
{
    int64_t bad = 0;

    for (int64_t i = 0; i < count; i++) {
        if (bits_of(want[i]) != bits_of(got[i]) && bad++ == 0) {
            (void)printf("\n  element %lld: expected %a, found %a",
                         (long long)i, (double)want[i], (double)got[i]);
        }
    }
    return bad;
}

static iso_status_t run_both(const iso_node_t *node,
                             const iso_tensor_t *operands, int64_t *bad_out)
{
    const iso_tensor_t *inputs[MAX_OPERANDS] = {&operands[0], &operands[1],
                                                &operands[2]};
    iso_tensor_t want;
    iso_status_t status = ISO_OK;

    ISO_TRY(iso_tensor_view(ISO_DTYPE_F32, &node->shape, NULL, &want));

    const size_t bytes = iso_tensor_bytes(&want);
    iso_tensor_t got = want;

    want.data = iso_alloc(bytes);
    got.data = iso_alloc(bytes);
    *bad_out = 0;
    if (want.data == NULL || got.data == NULL) {
        status = ISO_NOMEM;
    } else {
        status = iso_ref_run(node, inputs, &want);
    }
    for (int i = 0; i < N_THREADS && status == ISO_OK; i++) {
        iso_cpu_t *cpu = NULL;

        memset(got.data, 0xff, bytes);
        status = iso_cpu_create(threads[i], &cpu);
        if (status == ISO_OK) {
            status = iso_cpu_run(cpu, node, inputs, &got);
            *bad_out += compare(want.data, got.data, iso_tensor_count(&want));
        }
        iso_cpu_destroy(&cpu);
    }
    iso_free(want.data);
    iso_free(got.data);
    return status;
}

/* False when the sample is no valid node. */
static bool check(const sample_t *sample)
{
    iso_tensor_t operands[MAX_OPERANDS] = {0};
    const iso_node_t *node = NULL;
    iso_graph_t *graph = NULL;
    int64_t bad = 0;
    iso_status_t status = iso_graph_create(&graph);

    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    status = sample_node(sample, graph, operands, &node);

    const bool is_node = status == ISO_OK;

    if (is_node) {
        status = run_both(node, operands, &bad);
        CU_ASSERT_EQUAL(status, ISO_OK);
        CU_ASSERT_EQUAL(bad, 0);
    }
    if (is_node && (bad != 0 || status != ISO_OK)) {
        (void)printf("\n  %s", iso_error_text());
        print_sample(sample);
    }
    for (int i = 0; i < sample->n_operands; i++) {
        iso_free(operands[i].data);
    }
    iso_graph_destroy(&graph);
    return is_node;
}

/* ---- Matrices ---- */

static void test_inner_sizes(void)
{
    static const int64_t inner[] = {0,   1,   2,   31,  255,  256,  257, 511,
                                    512, 513, 768, 769, 1280, 1793, 5000};
    const iso_mem_count_t before = iso_mem_count();

    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        static const int64_t rows[] = {1, 2, 3, 5, 13, 40};

        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            const sample_t sample = {
                .op = ISO_OP_MATMUL,
                .n_operands = 2,
                .operands = {dims2(rows[r], inner[i]), dims2(inner[i], 37)},
                .kind = (int)(i % 3),
            };

            CU_ASSERT_TRUE(check(&sample));
        }
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

static int64_t random_size(void)
{
    return random_in(0, 9) == 0 ? random_in(0, 1) : random_in(1, 70);
}

static void test_matmul(void)
{
    const iso_mem_count_t before = iso_mem_count();

    for (int i = 0; i < 80; i++) {
        const int64_t rows = random_size();
        const int64_t columns = random_size();
        const int64_t inner = random_in(0, 300);
        const int64_t batch = random_in(1, 4);
        sample_t sample = {
            .op = ISO_OP_MATMUL,
            .n_operands = 2,
            .operands = {{4, {batch, random_in(0, 1) ? 3 : 1, rows, inner}},
                         {3, {3, inner, columns}},
                         {1, {columns}}},
            .kind = i % 3,
        };

        if (i % 4 == 1) {
            sample.operands[1] = dims2(inner, columns);
            sample.n_operands = 3;
        } else if (i % 4 == 2) {
            sample.operands[0] = (operand_t){1, {inner}};
        } else if (i % 4 == 3) {
            sample.operands[1] = (operand_t){1, {inner}};
        }
        add_activation(&sample);
        CU_ASSERT_TRUE(check(&sample));
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

static void test_gemm(void)
{
    static const int64_t yes = 1;
    const iso_mem_count_t before = iso_mem_count();

    for (int i = 0; i < 80; i++) {
        const int64_t rows = random_size();
        const int64_t columns = random_size();
        const int64_t inner = random_in(1, 600);
        const double alpha = random_in(0, 1) ? 1.0 : 0.3;
        const double beta = random_in(0, 1) ? 1.0 : -1.7;
        const operand_t addends[] = {{1, {columns}}, {2, {rows, columns}},
                                     {2, {rows, 1}}, {2, {1, columns}},
                                     {0, {0}},       {1, {1}}};
        const bool trans_a = i % 2 == 1;
        const bool trans_b = i / 2 % 2 == 1;
        sample_t sample = {
            .op = ISO_OP_GEMM,
            .n_operands = i % 7 == 0 ? 2 : 3,
            .operands = {trans_a ? dims2(inner, rows) : dims2(rows, inner),
                         trans_b ? dims2(columns, inner)
                                 : dims2(inner, columns),
                         addends[random_in(0, 5)]},
            .kind = i % 3,
        };

        if (trans_a) {
            add_ints(&sample, "trans_a", 1, &yes);
        }
        if (trans_b) {
            add_ints(&sample, "trans_b", 1, &yes);
        }
        add_float(&sample, "alpha", &alpha);
        add_float(&sample, "beta", &beta);
        add_activation(&sample);
        CU_ASSERT_TRUE(check(&sample));
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

/* A sum of no products is +0; what follows it is done all the same. */
static void test_nothing_to_sum(void)
{
    static const double alpha = -0.3;
    static const double beta = -1.7;
    const iso_mem_count_t before = iso_mem_count();

    for (int i = 0; i < 40; i++) {
        const int64_t rows = random_in(1, 30);
        const int64_t columns = random_in(1, 70);
        sample_t sample = {
            .op = i % 2 == 0 ? ISO_OP_MATMUL : ISO_OP_GEMM,
            .n_operands = 3,
            .operands = {dims2(rows, 0), dims2(0, columns), {1, {columns}}},
            .kind = i % 3,
        };

        if (sample.op == ISO_OP_GEMM) {
            add_float(&sample, "alpha", &alpha);
            add_float(&sample, "beta", &beta);
        }
        add_activation(&sample);
        CU_ASSERT_TRUE(check(&sample));
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

/* Regions of several tasks, more than one packing of rows, long trees. */
static void test_large(void)
{
    const iso_mem_count_t before = iso_mem_count();
    const sample_t samples[] = {
        {.op = ISO_OP_MATMUL,
         .n_operands = 2,
         .operands = {dims2(801, 300), dims2(300, 33)}},
        {.op = ISO_OP_MATMUL,
         .n_operands = 2,
         .operands = {dims2(13, 9000), dims2(9000, 37)}},
        {.op = ISO_OP_MATMUL,
         .n_operands = 2,
         .operands = {dims2(401, 600), dims2(600, 40)}},
        {.op = ISO_OP_MATMUL,
         .n_operands = 2,
         .operands = {dims2(3, 700), dims2(700, 1501)}},
        {.op = ISO_OP_MATMUL,
         .n_operands = 2,
         .operands = {{1, {700}}, {1, {700}}}},
    };

    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        CU_ASSERT_TRUE(check(&samples[i]));
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

/* ---- Convolutions ---- */

typedef struct window_attrs {
    int64_t strides[3];
    int64_t dilations[3];
    int64_t pads[6];
    int64_t groups;
} window_attrs_t;

/* A random convolution; the attributes must outlive the sample. */
static sample_t random_conv(iso_op_t op, int kind, window_attrs_t *attrs)
{
    const int n = (int)random_in(1, 3);
    const int64_t size_most = n == 1 ? 90 : n == 2 ? 22 : 8;
    const int64_t per_group = random_in(1, random_in(0, 3) ? 6 : 40);
    sample_t sample = {
        .op = op, .n_operands = random_in(0, 1) ? 2 : 3, .kind = kind};
    operand_t *x = &sample.operands[0];
    operand_t *w = &sample.operands[1];
    const int64_t outs = random_in(1, random_in(0, 3) ? 5 : 30);

    attrs->groups = random_in(0, 2) ? 1 : random_in(2, 5);
    x->rank = w->rank = n + 2;
    x->dims[0] = random_in(0, 15) ? random_in(1, 3) : 0;
    x->dims[1] = per_group * attrs->groups;
    w->dims[0] = op == ISO_OP_CONV ? outs * attrs->groups : x->dims[1];
    w->dims[1] = op == ISO_OP_CONV ? per_group : outs;
    for (int i = 0; i < n; i++) {
        const bool plain = random_in(0, 2) == 0;

        x->dims[2 + i] = random_in(1, size_most);
        w->dims[2 + i] = random_in(1, random_in(0, 2) ? 3 : 7);
        attrs->strides[i] = plain ? 1 : random_in(1, 3);
        attrs->dilations[i] = plain ? 1 : random_in(1, 3);
        attrs->pads[i] = plain ? 0 : random_in(0, 4);
        attrs->pads[n + i] = plain ? 0 : random_in(0, 4);
    }
    sample.operands[2] = (operand_t){1, {outs * attrs->groups}};
    add_ints(&sample, "strides", n, attrs->strides);
    add_ints(&sample, "dilations", n, attrs->dilations);
    add_ints(&sample, "pads", 2 * n, attrs->pads);
    add_ints(&sample, "groups", 1, &attrs->groups);
    add_activation(&sample);
    return sample;
}

static void check_random_convs(iso_op_t op)
{
    const iso_mem_count_t before = iso_mem_count();
    int valid = 0;

    for (int i = 0; i < 200; i++) {
        window_attrs_t attrs;
        const sample_t sample = random_conv(op, i % 3, &attrs);

        valid += check(&sample) ? 1 : 0;
    }
    CU_ASSERT_TRUE(valid > 80);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

static void test_conv(void)
{
    check_random_convs(ISO_OP_CONV);
}

static void test_conv_transpose(void)
{
    check_random_convs(ISO_OP_CONV_TRANSPOSE);
}

/* Few images of one position: images are the rows, weights the wide operand,
 * whose input channels are not neighbours. */
static void test_conv_transpose_point(void)
{
    static const int64_t groups = 3;
    const iso_mem_count_t before = iso_mem_count();

    for (int64_t images = 1; images <= 5; images++) {
        sample_t sample = {.op = ISO_OP_CONV_TRANSPOSE,
                           .n_operands = 3,
                           .operands = {{4, {images, 9, 1, 1}},
                                        {4, {9, 70, 1, 1}},
                                        {1, {70 * groups}}}};

        add_ints(&sample, "groups", 1, &groups);
        CU_ASSERT_TRUE(check(&sample));
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

/* Shapes that the random ones do not reach. */
static void test_conv_corners(void)
{
    static const int64_t pads[] = {9, 0, 3, 1};
    static const int64_t same[] = {1, 1, 1, 1};
    static const int64_t groups = 40;
    const iso_mem_count_t before = iso_mem_count();
    sample_t many_taps = {
        .op = ISO_OP_CONV,
        .n_operands = 2,
        .operands = {{4, {2, 3, 30, 28}}, {4, {5, 3, 19, 23}}},
        .kind = 1};
    sample_t depthwise = {
        .op = ISO_OP_CONV,
        .n_operands = 2,
        .operands = {{4, {2, 40, 15, 17}}, {4, {40, 1, 3, 3}}},
        .kind = 2};
    const sample_t whole = {
        .op = ISO_OP_CONV,
        .n_operands = 2,
        .operands = {{4, {3, 30, 5, 6}}, {4, {50, 30, 5, 6}}}};
    const sample_t point = {
        .op = ISO_OP_CONV,
        .n_operands = 2,
        .operands = {{4, {5, 600, 7, 7}}, {4, {30, 600, 1, 1}}}};
    sample_t deep = {.op = ISO_OP_CONV,
                     .n_operands = 2,
                     .operands = {{4, {2, 130, 9, 7}}, {4, {40, 130, 3, 3}}}};

    add_ints(&many_taps, "pads", 4, pads);
    add_ints(&depthwise, "pads", 4, same);
    add_ints(&depthwise, "groups", 1, &groups);
    add_ints(&deep, "pads", 4, same);
    CU_ASSERT_TRUE(check(&many_taps));
    CU_ASSERT_TRUE(check(&depthwise));
    CU_ASSERT_TRUE(check(&whole));
    CU_ASSERT_TRUE(check(&point));
    CU_ASSERT_TRUE(check(&deep));
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"inner sizes about the blocks", test_inner_sizes},
        {"random matmul", test_matmul},
        {"random gemm", test_gemm},
        {"nothing to sum", test_nothing_to_sum},
        {"many regions", test_large},
        {"random conv", test_conv},
        {"random conv_transpose", test_conv_transpose},
        {"conv_transpose of one position", test_conv_transpose_point},
        {"corners of conv", test_conv_corners},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"contract", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };
    const char *seed = getenv("ISO_TEST_SEED");
    iso_family_t family;

    random_state = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    (void)printf("seed %llu\n", (unsigned long long)random_state);
    if (iso_family_choose(&family) != ISO_OK) {
        (void)printf("%s\n", iso_error_text());
        return ISO_TEST_SKIP;
    }
    return iso_test_main(suites);
}
