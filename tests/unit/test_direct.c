/* Contractions by packed weights against the definition, bit for bit, with
 * every format and with what is joined. Run once for each kernel family
 * (ISOTOME_KERNELS). */
#include "isotome/error.h"
#include "isotome/graph.h"

#include "base/mem.h"
#include "direct_sample.h"
#include "iso_test.h"
#include "kernel/cpu.h"
#include "kernel/cpu/direct/pack.h"
#include "kernel/ref.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_SAMPLES = 100, MAX_NODES = 8, N_THREADS = 2 };

/* ---- A graph: x, w, bias, r -> contraction, + r, activation ---- */

typedef struct run {
    iso_graph_t *graph;
    iso_node_id_t ids[MAX_NODES]; /* x, w, bias, r, y, sum, activated */
    iso_tensor_t values[MAX_NODES];
} run_t;

enum { X, W, BIAS, ADDEND, Y, SUM, ACTIVATED };

static void make_value(run_t *run, int which, int kind)
{
    const iso_node_t *node = iso_graph_node(run->graph, run->ids[which]);
    iso_tensor_t *value = &run->values[which];

    CU_ASSERT_EQUAL_FATAL(
        iso_tensor_view(ISO_DTYPE_F32, &node->shape, NULL, value), ISO_OK);
    value->data = iso_alloc(iso_tensor_bytes(value));
    CU_ASSERT_PTR_NOT_NULL_FATAL(value->data);
    for (int64_t i = 0; i < iso_tensor_count(value); i++) {
        ((float *)value->data)[i] = direct_value(kind);
    }
}

static bool is_conv(const sample_t *sample)
{
    return sample->op == ISO_OP_CONV || sample->op == ISO_OP_CONV_TRANSPOSE;
}

static int add_attrs(const sample_t *sample, iso_attr_t *attrs)
{
    const int n_spatial = sample->x.rank - 2;
    int n = 0;

    attrs[n++] = (iso_attr_t){.name = "activation",
                              .kind = ISO_ATTR_TEXT,
                              .count = 1,
                              .value.text = sample->activation};
    if (sample->op == ISO_OP_GEMM) {
        attrs[n++] = (iso_attr_t){.name = "trans_b",
                                  .kind = ISO_ATTR_INTS,
                                  .count = 1,
                                  .value.ints = &sample->trans_b};
    }
    if (!is_conv(sample)) {
        return n;
    }
    attrs[n++] = (iso_attr_t){
        "strides", ISO_ATTR_INTS, n_spatial, {.ints = sample->strides}};
    attrs[n++] = (iso_attr_t){
        "dilations", ISO_ATTR_INTS, n_spatial, {.ints = sample->dilations}};
    attrs[n++] = (iso_attr_t){
        "pads", ISO_ATTR_INTS, 2 * n_spatial, {.ints = sample->pads}};
    attrs[n++] =
        (iso_attr_t){"groups", ISO_ATTR_INTS, 1, {.ints = &sample->groups}};
    if (sample->op == ISO_OP_CONV_TRANSPOSE) {
        attrs[n++] = (iso_attr_t){"output_pads",
                                  ISO_ATTR_INTS,
                                  n_spatial,
                                  {.ints = sample->output_pads}};
    }
    return n;
}

static iso_status_t add_node(run_t *run, int which, iso_op_t op, int n_inputs,
                             const iso_node_id_t *inputs, int n_attrs,
                             const iso_attr_t *attrs)
{
    static const char *const names[] = {"x", "w",   "bias",     "r",
                                        "y", "sum", "activated"};
    const iso_node_spec_t spec = {.name = names[which],
                                  .op = op,
                                  .n_inputs = n_inputs,
                                  .inputs = inputs,
                                  .n_attrs = n_attrs,
                                  .attrs = attrs};

    return iso_graph_add(run->graph, &spec, &run->ids[which]);
}

static iso_status_t add_leaves(const sample_t *sample, run_t *run)
{
    const int64_t lanes = sample->op == ISO_OP_CONV_TRANSPOSE
                              ? sample->groups * sample->w.dim[1].size
                          : sample->op == ISO_OP_CONV || sample->trans_b != 0
                              ? sample->w.dim[0].size
                              : sample->w.dim[1].size;
    const iso_shape_t bias = iso_shape_of(1, &lanes);

    ISO_TRY(iso_graph_add_input(run->graph, "x", ISO_DTYPE_F32, &sample->x,
                                &run->ids[X]));
    ISO_TRY(iso_graph_add_param(run->graph, "w", ISO_DTYPE_F32, &sample->w,
                                &run->ids[W]));
    return iso_graph_add_param(run->graph, "bias", ISO_DTYPE_F32, &bias,
                               &run->ids[BIAS]);
}

/* What is joined with y. */
static iso_status_t add_joined(const sample_t *sample, run_t *run)
{
    run->ids[SUM] = run->ids[Y];
    if (sample->has_addend) {
        const iso_node_id_t inputs[] = {run->ids[Y], run->ids[ADDEND]};

        ISO_TRY(add_node(run, SUM, ISO_OP_ADD, 2, inputs, 0, NULL));
    }
    run->ids[ACTIVATED] = run->ids[SUM];
    return sample->then == ISO_OP_COUNT ? ISO_OK
                                        : add_node(run, ACTIVATED, sample->then,
                                                   1, &run->ids[SUM], 0, NULL);
}

/* ISO_SHAPE when the sample is no valid node. */
static iso_status_t make_graph(const sample_t *sample, run_t *run)
{
    iso_attr_t attrs[8];

    ISO_TRY(iso_graph_create(&run->graph));
    ISO_TRY(add_leaves(sample, run));
    ISO_TRY(add_node(run, Y, sample->op, sample->has_bias ? 3 : 2, run->ids,
                     add_attrs(sample, attrs), attrs));
    ISO_TRY(iso_graph_add_input(run->graph, "r", ISO_DTYPE_F32,
                                &iso_graph_node(run->graph, run->ids[Y])->shape,
                                &run->ids[ADDEND]));
    return add_joined(sample, run);
}

static void print_sample(const sample_t *sample)
{
    const iso_shape_t *shapes[] = {&sample->x, &sample->w};

    (void)printf("\n  %s", iso_op_string(sample->op));
    for (int i = 0; i < 2; i++) {
        for (int d = 0; d < shapes[i]->rank; d++) {
            (void)printf("%s%lld", d == 0 ? " [" : ",",
                         (long long)shapes[i]->dim[d].size);
        }
        (void)printf("]");
    }
    (void)printf(
        " bias %d addend %d kind %d %s then %s groups %lld", sample->has_bias,
        sample->has_addend, sample->kind, sample->activation,
        sample->then == ISO_OP_COUNT ? "-" : iso_op_string(sample->then),
        (long long)sample->groups);
    for (int i = 0; i < sample->x.rank - 2; i++) {
        (void)printf(" stride %lld dilation %lld pads %lld %lld",
                     (long long)sample->strides[i],
                     (long long)sample->dilations[i],
                     (long long)sample->pads[i],
                     (long long)sample->pads[sample->x.rank - 2 + i]);
    }
    (void)printf("\n");
}

/* ---- The definition ---- */

static void run_ref(const sample_t *sample, run_t *run)
{
    const iso_tensor_t *operands[] = {&run->values[X], &run->values[W],
                                      &run->values[BIAS]};
    const iso_tensor_t *terms[] = {&run->values[Y], &run->values[ADDEND]};
    const iso_tensor_t *sum[] = {&run->values[SUM]};

    CU_ASSERT_EQUAL(iso_ref_run(iso_graph_node(run->graph, run->ids[Y]),
                                operands, &run->values[Y]),
                    ISO_OK);
    if (sample->has_addend) {
        CU_ASSERT_EQUAL(iso_ref_run(iso_graph_node(run->graph, run->ids[SUM]),
                                    terms, &run->values[SUM]),
                        ISO_OK);
    } else {
        memcpy(run->values[SUM].data, run->values[Y].data,
               iso_tensor_bytes(&run->values[Y]));
    }
    if (sample->then != ISO_OP_COUNT) {
        CU_ASSERT_EQUAL(
            iso_ref_run(iso_graph_node(run->graph, run->ids[ACTIVATED]), sum,
                        &run->values[ACTIVATED]),
            ISO_OK);
    } else {
        memcpy(run->values[ACTIVATED].data, run->values[SUM].data,
               iso_tensor_bytes(&run->values[SUM]));
    }
}

/* ---- Formats ---- */

static int64_t positions_of(const iso_tensor_t *t)
{
    int64_t n = 1;

    for (int d = 2; d < t->rank; d++) {
        n *= t->dims[d];
    }
    return n;
}

/* Element of the blocked value for element i of the plain one. */
static int64_t blocked_at(const iso_tensor_t *t, int64_t i)
{
    const int64_t positions = positions_of(t);
    const int64_t channel = i / positions % t->dims[1];
    const int64_t image = i / positions / t->dims[1];

    return ((image * iso_blocked_channels(t->dims[1]) / 16 + channel / 16) *
                positions +
            i % positions) *
               16 +
           channel % 16;
}

/* A value in a format; what is not an element is garbage. */
static float *laid_out(const iso_tensor_t *value, iso_format_t format)
{
    const int64_t count = iso_tensor_count(value);
    const int64_t room =
        format == ISO_FORMAT_PLAIN
            ? count
            : count / value->dims[1] * iso_blocked_channels(value->dims[1]);
    const float *from = value->data;
    float *to = iso_alloc((size_t)room * sizeof *to);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    memset(to, 0xff, (size_t)room * sizeof *to);
    for (int64_t i = 0; i < count; i++) {
        to[format == ISO_FORMAT_PLAIN ? i : blocked_at(value, i)] = from[i];
    }
    return to;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int64_t compare(const iso_tensor_t *want, const float *got,
                       iso_format_t format)
{
    const float *expected = want->data;
    int64_t bad = 0;

    for (int64_t i = 0; i < iso_tensor_count(want); i++) {
        const float *found =
            &got[format == ISO_FORMAT_PLAIN ? i : blocked_at(want, i)];

        if (bits_of(expected[i]) != bits_of(*found) && bad++ == 0) {
            (void)printf("\n  element %lld: expected %a, found %a",
                         (long long)i, (double)expected[i], (double)*found);
        }
    }
    return bad;
}

/* ---- The kernels ---- */

/* Packed in two parts. */
static iso_panels_t *pack(const iso_cpu_t *cpu, const run_t *run)
{
    const iso_tensor_t *w = &run->values[W];
    const int64_t rows = w->dims[0];
    const int64_t row = iso_tensor_count(w) / rows;
    iso_panels_spec_t spec;
    iso_panels_t *panels;

    if (!iso_panels_of(run->graph, run->ids[Y], &spec)) {
        return NULL;
    }
    CU_ASSERT_EQUAL_FATAL(iso_panels_create(&spec, &panels), ISO_OK);

    const int64_t part = iso_panels_part(&spec);
    const int64_t first = rows / part / 2 * part;

    iso_panels_fill(cpu, panels, first, rows - first,
                    (const float *)w->data + first * row);
    if (first > 0) {
        iso_panels_fill(cpu, panels, 0, first, w->data);
    }
    return panels;
}

static int64_t run_direct(iso_cpu_t *cpu, const sample_t *sample,
                          const run_t *run, const iso_panels_t *panels,
                          const iso_format_t *formats)
{
    iso_tensor_t x = run->values[X];
    iso_tensor_t addend = run->values[ADDEND];
    iso_tensor_t got = run->values[ACTIVATED];
    const iso_tensor_t *inputs[] = {&x, &run->values[W], &run->values[BIAS]};
    const iso_format_t read[] = {formats[0], ISO_FORMAT_PLAIN,
                                 ISO_FORMAT_PLAIN};
    const iso_cpu_step_t step = {
        .node = iso_graph_node(run->graph, run->ids[Y]),
        .inputs = inputs,
        .formats = read,
        .output = &got,
        .format = formats[1],
        .panels = panels,
        .addend = sample->has_addend ? &addend : NULL,
        .activated = sample->then == ISO_OP_COUNT
                         ? NULL
                         : iso_graph_node(run->graph, run->ids[ACTIVATED]),
    };
    int64_t bad;

    x.data = laid_out(&run->values[X], formats[0]);
    addend.data = laid_out(&run->values[ADDEND], formats[1]);
    got.data = laid_out(&run->values[ACTIVATED], formats[1]);
    memset(got.data, 0xff, (size_t)iso_tensor_count(&got) * sizeof(float));
    CU_ASSERT_EQUAL(iso_cpu_run_step(cpu, &step), ISO_OK);
    bad = compare(&run->values[ACTIVATED], got.data, formats[1]);
    iso_free(x.data);
    iso_free(addend.data);
    iso_free(got.data);
    return bad;
}

static int64_t run_all(const sample_t *sample, const run_t *run)
{
    const int n_formats = is_conv(sample) ? 2 : 1;
    int64_t bad = 0;

    for (int threads = 1; threads <= N_THREADS; threads++) {
        iso_cpu_t *cpu;
        iso_panels_t *panels;

        CU_ASSERT_EQUAL_FATAL(iso_cpu_create(threads, &cpu), ISO_OK);
        panels = pack(cpu, run);
        for (int f = 0; panels != NULL && f < n_formats * n_formats; f++) {
            const iso_format_t formats[] = {(iso_format_t)(f % 2),
                                            (iso_format_t)(f / 2)};

            bad += run_direct(cpu, sample, run, panels, formats);
        }
        iso_panels_destroy(&panels);
        iso_cpu_destroy(&cpu);
    }
    return bad;
}

/* False when the sample is no valid node. */
static bool check(const sample_t *sample)
{
    run_t run = {0};
    const iso_status_t status = make_graph(sample, &run);
    int64_t bad = 0;

    if (status == ISO_OK) {
        for (int i = X; i <= ACTIVATED; i++) {
            make_value(&run, i, sample->kind);
        }
        run_ref(sample, &run);
        bad = run_all(sample, &run);
        CU_ASSERT_EQUAL(bad, 0);
        for (int i = X; i <= ACTIVATED; i++) {
            iso_free(run.values[i].data);
        }
    }
    if (bad != 0) {
        print_sample(sample);
    }
    iso_graph_destroy(&run.graph);
    return status == ISO_OK;
}

/* ---- Tests ---- */

static void test_random(void)
{
    const iso_mem_count_t before = iso_mem_count();
    const char *text = getenv("ISO_TEST_SEED");
    const uint64_t seed = text == NULL ? 4 : strtoull(text, NULL, 10);
    int valid = 0;

    (void)printf(" seed %llu ", (unsigned long long)seed);
    direct_seed(seed);
    for (int i = 0; i < N_SAMPLES; i++) {
        const sample_t sample = i % 4 == 0 ? direct_product() : direct_conv();
        const sample_t grouped = direct_grouped();
        const sample_t transposed = direct_transposed();

        valid += check(&sample) ? 1 : 0;
        valid += check(&grouped) ? 1 : 0;
        valid += check(&transposed) ? 1 : 0;
    }
    CU_ASSERT_TRUE(valid > 2 * N_SAMPLES);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

/* Shapes that cut pixels in every way: many images of few pixels, rows that
 * are a region each, rows longer than a region, many lanes. */
static void test_regions(void)
{
    static const int64_t x[][4] = {
        {5, 256, 7, 7}, {1, 512, 9, 40}, {1, 80, 3, 900}, {2, 64, 30, 33}};
    static const int64_t w[][4] = {
        {64, 256, 3, 3}, {24, 512, 3, 3}, {16, 80, 3, 3}, {200, 64, 1, 1}};

    for (int i = 0; i < 4; i++) {
        const sample_t sample = {
            .op = ISO_OP_CONV,
            .x = iso_shape_of(4, x[i]),
            .w = iso_shape_of(4, w[i]),
            .has_bias = true,
            .has_addend = i % 2 == 0,
            .activation = "relu",
            .then = i % 2 == 0 ? ISO_OP_RELU : ISO_OP_COUNT,
            .strides = {1, 1},
            .dilations = {1, 1},
            .pads = {w[i][2] / 2, w[i][2] / 2, w[i][2] / 2, w[i][2] / 2},
            .groups = 1,
        };

        CU_ASSERT_TRUE(check(&sample));
    }
}

/* Taps so far apart that a strip holds, and one that it does not: that one is
 * computed otherwise. */
static void test_far_taps(void)
{
    static const int64_t channels[] = {128, 2048};
    sample_t sample = {
        .op = ISO_OP_CONV,
        .activation = "none",
        .then = ISO_OP_COUNT,
        .strides = {1, 1},
        .dilations = {16, 16},
        .pads = {16, 16, 16, 16},
        .groups = 1,
    };

    for (int i = 0; i < 2; i++) {
        run_t run = {0};

        sample.x = iso_shape_of(4, (const int64_t[]){1, channels[i], 20, 20});
        sample.w = iso_shape_of(4, (const int64_t[]){8, channels[i], 3, 3});
        CU_ASSERT_TRUE(check(&sample));
        CU_ASSERT_EQUAL_FATAL(make_graph(&sample, &run), ISO_OK);
        CU_ASSERT_EQUAL(iso_panels_of(run.graph, run.ids[Y], NULL), i == 0);
        iso_graph_destroy(&run.graph);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"random contractions", test_random},
        {"many regions", test_regions},
        {"taps far apart", test_far_taps},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"direct", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };
    iso_family_t family;

    if (iso_family_choose(&family) != ISO_OK) {
        (void)printf("%s\n", iso_error_text());
        return ISO_TEST_SKIP;
    }
    return iso_test_main(suites);
}
