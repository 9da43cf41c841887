/* Depthwise convolutions of the fast kernels against the definition, bit for
 * bit: every instruction set, both formats, 1 and 2 threads. */
#include "iso_test_blocked.h"
#include "kernel/cpu/depthwise/depthwise.h"
#include "kernel/cpu/direct/pack.h"
#include "kernel/ref.h"

#include <math.h>
#include <stdlib.h>

static uint64_t state = 1;
static iso_cpu_t *cpus[2];

static int begin(void)
{
    for (int i = 0; i < 2; i++) {
        if (iso_cpu_create(i + 1, &cpus[i]) != ISO_OK) {
            (void)fprintf(stderr, "%s\n", iso_error_text());
            return 1;
        }
    }
    return 0;
}

static int end(void)
{
    iso_cpu_destroy(&cpus[0]);
    iso_cpu_destroy(&cpus[1]);
    return iso_mem_count().blocks == 0 ? 0 : 1;
}

static int64_t random_in(int64_t least, int64_t most)
{
    return test_random_int(&state, least, most);
}

/* ---- A convolution and what is joined to it ---- */

typedef enum kind {
    ZEROS = -1,
    NUMBERS,
    SPECIAL, /* zeros of both signs, subnormals, huge ones */
    ANY,     /* infinities and NaN, too */
} kind_t;

typedef struct sample {
    int n_spatial;
    int64_t images;
    int64_t channels;
    int64_t in[3];
    int64_t kernel[3];
    int64_t strides[3];
    int64_t dilations[3];
    int64_t pads[6];
    kind_t kind;
    kind_t weights_kind;
    bool has_bias;
    const char *activation; /* NULL: none */
    double min;             /* of a clip */
    double max;
    bool has_addend;
    iso_op_t activated; /* ISO_OP_COUNT: none */
} sample_t;

static float random_value(kind_t kind)
{
    static const uint32_t special[] = {
        0x00000000U, 0x80000000U, 0x00000001U, 0x80000001U, 0x807fffffU,
        0x0d800000U, 0x8d800000U, 0x7f000000U, 0xff000000U, 0xbf800000U};
    static const uint32_t beyond[] = {0x7f800000U, 0xff800000U, 0x7fc00000U,
                                      0xffc12345U};

    if (kind == ZEROS) {
        return random_in(0, 1) ? 0.0F : -0.0F;
    }
    if (kind == ANY && random_in(0, 60) == 0) {
        return test_float_of(beyond[random_in(0, 3)]);
    }
    if (kind != NUMBERS && random_in(0, 2) == 0) {
        return test_float_of(special[random_in(0, 9)]);
    }
    return test_random_float(&state);
}

static iso_tensor_t random_tensor(int rank, const int64_t *dims, kind_t kind)
{
    iso_tensor_t tensor = {.dtype = ISO_DTYPE_F32, .rank = rank};
    float *data;

    memcpy(tensor.dims, dims, (size_t)rank * sizeof *dims);
    tensor.data = data = iso_alloc(iso_tensor_bytes(&tensor));
    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    for (int64_t i = 0; i < iso_tensor_count(&tensor); i++) {
        data[i] = random_value(kind);
    }
    return tensor;
}

static void add_input(test_call_t *call, const iso_tensor_t *tensor)
{
    test_call_input(call, ISO_DTYPE_F32, tensor->rank, tensor->dims,
                    tensor->data);
}

/* The three operands, to be freed. */
static void begin_call(const sample_t *sample, iso_tensor_t operands[3],
                       test_call_t *call)
{
    const int n = sample->n_spatial;
    int64_t x[5] = {sample->images, sample->channels};
    int64_t w[5] = {sample->channels, 1};

    memcpy(x + 2, sample->in, (size_t)n * sizeof *x);
    memcpy(w + 2, sample->kernel, (size_t)n * sizeof *w);
    operands[0] = random_tensor(2 + n, x, sample->kind);
    operands[1] = random_tensor(2 + n, w, sample->weights_kind);
    operands[2] = random_tensor(1, x + 1, sample->kind);
    test_call_begin(call, ISO_OP_CONV);
    add_input(call, &operands[0]);
    add_input(call, &operands[1]);
    if (sample->has_bias) {
        add_input(call, &operands[2]);
    }
    test_call_ints(call, "strides", n, sample->strides);
    test_call_ints(call, "dilations", n, sample->dilations);
    test_call_ints(call, "pads", 2 * n, sample->pads);
    TEST_INTS(call, "groups", sample->channels);
    if (sample->activation != NULL) {
        test_call_text(call, "activation", sample->activation);
        if (strcmp(sample->activation, "clip") == 0) {
            TEST_FLOATS(call, "activation_min", sample->min);
            TEST_FLOATS(call, "activation_max", sample->max);
        }
    }
}

static iso_panels_t *pack(const iso_tensor_t *weights)
{
    int64_t taps = 1;
    iso_panels_t *panels = NULL;

    for (int axis = 2; axis < weights->rank; axis++) {
        taps *= weights->dims[axis];
    }

    const iso_panels_spec_t spec = {.kind = ISO_PANELS_DEPTHWISE,
                                    .groups = 1,
                                    .lanes = weights->dims[0],
                                    .length = taps};

    CU_ASSERT_EQUAL_FATAL(iso_panels_create(&spec, &panels), ISO_OK);
    iso_panels_fill(cpus[0], panels, 0, weights->dims[0], weights->data);
    return panels;
}

/* The addition and the activation by the definition, into call->output;
 * activated is left for the step. */
static void join(const sample_t *sample, const iso_tensor_t *addend,
                 test_call_t *call, test_call_t *activated)
{
    if (sample->has_addend) {
        test_call_t sum;

        test_call_begin(&sum, ISO_OP_ADD);
        add_input(&sum, &call->output);
        add_input(&sum, addend);
        CU_ASSERT_EQUAL_FATAL(test_call_run(&sum, iso_ref_run), ISO_OK);
        memcpy(call->output.data, sum.output.data,
               iso_tensor_bytes(&sum.output));
        test_call_end(&sum);
    }
    if (sample->activated != ISO_OP_COUNT) {
        test_call_begin(activated, sample->activated);
        add_input(activated, &call->output);
        if (sample->activated == ISO_OP_CLIP) {
            TEST_FLOATS(activated, "min", sample->min);
            TEST_FLOATS(activated, "max", sample->max);
        }
        CU_ASSERT_EQUAL_FATAL(test_call_run(activated, iso_ref_run), ISO_OK);
        memcpy(call->output.data, activated->output.data,
               iso_tensor_bytes(&call->output));
    }
}

/* ---- Checking ---- */

static void print_sample(const sample_t *s, const iso_cpu_t *cpu,
                         const iso_format_t format[2])
{
    (void)fprintf(stderr, "%s, %d threads, %s to %s, %lld images, %lld c:",
                  iso_family_string(cpu->family), cpu->threads,
                  format[0] == ISO_FORMAT_PLAIN ? "plain" : "blocked",
                  format[1] == ISO_FORMAT_PLAIN ? "plain" : "blocked",
                  (long long)s->images, (long long)s->channels);
    for (int i = 0; i < s->n_spatial; i++) {
        (void)fprintf(stderr, " %lld (k %lld s %lld d %lld p %lld %lld)",
                      (long long)s->in[i], (long long)s->kernel[i],
                      (long long)s->strides[i], (long long)s->dilations[i],
                      (long long)s->pads[i],
                      (long long)s->pads[s->n_spatial + i]);
    }
    (void)fprintf(stderr, ", %s, addend %d, then %s\n",
                  s->activation == NULL ? "none" : s->activation, s->has_addend,
                  s->activated == ISO_OP_COUNT ? "none"
                                               : iso_op_string(s->activated));
}

/* What is run: the plain tensors, and the operand and addend in blocks. */
typedef struct check {
    const sample_t *sample;
    iso_cpu_step_t step;
    const iso_tensor_t *inputs[3];
    const iso_tensor_t *addend;
    const iso_tensor_t *want;
    float *in_blocks;
    float *addend_in_blocks;
} check_t;

static void check_one(const check_t *check, const iso_cpu_t *cpu,
                      const iso_format_t format[2])
{
    const iso_format_t formats[3] = {format[0]};
    iso_tensor_t x = *check->inputs[0];
    iso_tensor_t addend = *check->addend;
    iso_tensor_t y = *check->want;
    const iso_tensor_t *inputs[] = {&x, check->inputs[1], check->inputs[2]};
    iso_cpu_step_t step = check->step;
    bool same;

    x.data = format[0] == ISO_FORMAT_BLOCKED ? check->in_blocks : x.data;
    addend.data =
        format[1] == ISO_FORMAT_BLOCKED ? check->addend_in_blocks : addend.data;
    y.data = test_result(&y, format[1]);
    step.inputs = inputs;
    step.formats = formats;
    step.output = &y;
    step.format = format[1];
    step.addend = check->sample->has_addend ? &addend : NULL;
    same = iso__depthwise_run(cpu, &step) &&
           test_result_is(y.data, format[1], check->want);
    CU_ASSERT(same);
    if (!same) {
        print_sample(check->sample, cpu, format);
    }
    iso_free(y.data);
}

static void check_all(const check_t *check)
{
    for (size_t f = 0; f < sizeof test_families / sizeof *test_families; f++) {
        for (int k = 0; k < 8; k++) {
            const iso_cpu_t cpu = test_cpu_of(cpus[k % 2], test_families[f]);
            const iso_format_t format[] = {(iso_format_t)(k / 2 % 2),
                                           (iso_format_t)(k / 4)};

            if (iso_family_supported(test_families[f])) {
                check_one(check, &cpu, format);
            }
        }
    }
}

/* False when the sample is no valid node. */
static bool check(const sample_t *sample)
{
    iso_tensor_t operands[3];
    iso_tensor_t addend;
    test_call_t call;
    test_call_t activated = {.op = ISO_OP_COUNT};
    bool is_node;

    begin_call(sample, operands, &call);
    is_node = test_call_run(&call, iso_ref_run) == ISO_OK;
    if (is_node) {
        iso_panels_t *panels = pack(&operands[1]);
        check_t all = {
            .sample = sample,
            .inputs = {&operands[0], &operands[1],
                       sample->has_bias ? &operands[2] : NULL},
            .addend = &addend,
            .want = &call.output,
        };

        addend =
            random_tensor(call.output.rank, call.output.dims, sample->kind);
        join(sample, &addend, &call, &activated);
        all.in_blocks = test_block(&operands[0]);
        all.addend_in_blocks = test_block(&addend);
        all.step = (iso_cpu_step_t){
            .node = call.node, .panels = panels, .activated = activated.node};
        check_all(&all);
        iso_free(all.in_blocks);
        iso_free(all.addend_in_blocks);
        iso_free(addend.data);
        iso_panels_destroy(&panels);
    }
    if (activated.node != NULL) {
        test_call_end(&activated);
    }
    test_call_end(&call);
    for (int i = 0; i < 3; i++) {
        iso_free(operands[i].data);
    }
    return is_node;
}

/* ---- Samples ---- */

static void random_ops(sample_t *sample)
{
    static const char *const activations[] = {
        NULL, "relu", "clip", "tanh", "leaky_relu", "hard_swish", "sigmoid"};
    static const double bounds[][2] = {{0, 6},    {-1, 1},      {-0.0, 6},
                                       {-1, 0.0}, {-1, -0.0},   {0.25, 0.25},
                                       {1, -1},   {-6.0, 1e300}};
    static const iso_op_t ops[] = {ISO_OP_COUNT,   ISO_OP_COUNT, ISO_OP_RELU,
                                   ISO_OP_CLIP,    ISO_OP_ELU,   ISO_OP_NEG,
                                   ISO_OP_SIGMOID, ISO_OP_ABS};
    const double *range = bounds[random_in(0, 7)];

    sample->activation = activations[random_in(0, 6)];
    sample->min = range[0];
    sample->max = range[1];
    sample->has_bias = random_in(0, 2) > 0;
    sample->has_addend = random_in(0, 3) == 0;
    sample->activated = ops[random_in(0, 7)];
    sample->kind = (kind_t)random_in(0, 2);
    sample->weights_kind = random_in(0, 2) > 0 ? (kind_t)random_in(0, 1) : ANY;
}

/* The extent of an axis, or as much as the kernel needs. */
static int64_t longer(const sample_t *sample, int axis)
{
    const int64_t span =
        (sample->kernel[axis] - 1) * sample->dilations[axis] + 1;
    const int64_t least =
        span - sample->pads[axis] - sample->pads[sample->n_spatial + axis];

    return sample->in[axis] > least ? sample->in[axis] : least;
}

static sample_t random_sample(void)
{
    static const int64_t channels[] = {1, 2, 3, 15, 16, 17, 32, 33, 40, 48};
    const int n = (int)random_in(1, 3);
    const int64_t most = n == 1 ? 120 : n == 2 ? 33 : 7;
    sample_t sample = {.n_spatial = n,
                       .images = random_in(1, 2),
                       .channels = channels[random_in(0, 9)]};

    for (int i = 0; i < n; i++) {
        const bool is_plain = random_in(0, 1) == 0;

        sample.in[i] = random_in(1, most);
        sample.kernel[i] = random_in(1, random_in(0, 3) ? 5 : 7);
        sample.strides[i] = is_plain ? 1 : random_in(1, 4);
        sample.dilations[i] = is_plain ? 1 : random_in(1, 3);
        sample.pads[i] =
            random_in(0, 1) ? sample.kernel[i] / 2 : random_in(0, 5);
        sample.pads[n + i] =
            random_in(0, 1) ? sample.kernel[i] / 2 : random_in(0, 5);
        sample.in[i] = longer(&sample, i);
    }
    random_ops(&sample);
    return sample;
}

static void test_random_shapes(void)
{
    for (int i = 0; i < 400; i++) {
        const sample_t sample = random_sample();

        CU_ASSERT_TRUE(check(&sample));
    }
}

/* A 2-D sample with equal sides. */
static sample_t square(int64_t channels, int64_t size, int64_t kernel,
                       int64_t stride)
{
    const int64_t pad = kernel / 2;

    return (sample_t){.n_spatial = 2,
                      .images = 1,
                      .channels = channels,
                      .in = {size, size},
                      .kernel = {kernel, kernel},
                      .strides = {stride, stride},
                      .dilations = {1, 1},
                      .pads = {pad, pad, pad, pad},
                      .activated = ISO_OP_COUNT};
}

/* What networks have. */
static void test_usual_shapes(void)
{
    static const int64_t sizes[] = {112, 56, 28, 14, 7};

    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 4; k++) {
            sample_t sample = square(17, sizes[i], 3 + k / 2 * 2, 1 + k % 2);

            sample.activation = k == 0 ? "relu" : "clip";
            sample.max = 6;
            sample.has_bias = true;
            CU_ASSERT_TRUE(check(&sample));
        }
    }
}

/* Every width of the tiles, kernels wider than the operand. */
static void test_widths(void)
{
    for (int64_t width = 1; width <= 44; width++) {
        sample_t sample = square(16, 3, 3, width % 3 + 1);

        sample.in[1] = width;
        sample.kernel[1] = width % 7 + 1;
        sample.pads[1] = sample.pads[3] = width % 7;
        random_ops(&sample);
        CU_ASSERT_TRUE(check(&sample));
    }
}

static void test_corners(void)
{
    sample_t most_taps = square(3, 21, 16, 1);
    sample_t none = square(16, 8, 3, 1);
    sample_t far = square(20, 40, 5, 1);
    sample_t beyond = square(5, 2, 3, 3);

    CU_ASSERT_TRUE(check(&most_taps));
    none.images = 0;
    CU_ASSERT_TRUE(check(&none));
    far.dilations[0] = far.dilations[1] = 9;
    CU_ASSERT_TRUE(check(&far));
    /* Windows that lie in the padding alone; first finite, then not. */
    beyond.pads[0] = beyond.pads[1] = beyond.pads[2] = beyond.pads[3] = 9;
    CU_ASSERT_TRUE(check(&beyond));
    beyond.weights_kind = ANY;
    CU_ASSERT_TRUE(check(&beyond));
}

/* Sums of +0 at the bounds of a clip. */
static void test_zeros(void)
{
    static const double bounds[][2] = {{-1, -0.0}, {-1, 0.0},  {-0.0, 1},
                                       {0.0, 1},   {0.0, 0.0}, {-0.0, -0.0}};

    for (int i = 0; i < 6; i++) {
        sample_t sample = square(16, 5, 3, 1);

        sample.kind = ZEROS;
        sample.has_bias = i % 2 == 0;
        sample.activation = "clip";
        sample.min = bounds[i][0];
        sample.max = bounds[i][1];
        CU_ASSERT_TRUE(check(&sample));
        sample.activation = NULL;
        sample.activated = ISO_OP_CLIP;
        CU_ASSERT_TRUE(check(&sample));
    }
}

/* Rows that must be cut to be copied, and windows that reach too far to be
 * copied at all. */
static void test_long_rows(void)
{
    sample_t sample = {.n_spatial = 1,
                       .images = 1,
                       .channels = 2,
                       .in = {150001},
                       .kernel = {3},
                       .strides = {1},
                       .dilations = {1},
                       .pads = {1, 1},
                       .activated = ISO_OP_COUNT};

    CU_ASSERT_TRUE(check(&sample));
    sample.in[0] = 170001;
    sample.strides[0] = 101;
    sample.dilations[0] = 80000;
    sample.pads[0] = sample.pads[1] = 0;
    sample.kind = SPECIAL;
    CU_ASSERT_TRUE(check(&sample));
}

/* ---- What it does not take ---- */

static void test_not_depthwise(void)
{
    const sample_t sample = square(4, 5, 3, 1);
    const iso_format_t formats[3] = {ISO_FORMAT_PLAIN};
    iso_tensor_t operands[3];
    iso_panels_t *panels;
    test_call_t call;

    begin_call(&sample, operands, &call);
    CU_ASSERT_EQUAL_FATAL(test_call_run(&call, iso_ref_run), ISO_OK);
    panels = pack(&operands[1]);

    const iso_tensor_t *inputs[] = {&operands[0], &operands[1], NULL};
    iso_cpu_step_t step = {.node = call.node,
                           .inputs = inputs,
                           .formats = formats,
                           .output = &call.output};

    CU_ASSERT_FALSE(iso__depthwise_run(cpus[0], &step));
    step.panels = panels;
    CU_ASSERT_TRUE(iso__depthwise_run(cpus[0], &step));
    panels->spec.kind = ISO_PANELS_CONV;
    CU_ASSERT_FALSE(iso__depthwise_run(cpus[0], &step));
    panels->spec.kind = ISO_PANELS_DEPTHWISE;
    iso_panels_destroy(&panels);
    test_call_end(&call);
    for (int i = 0; i < 3; i++) {
        iso_free(operands[i].data);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"random shapes", test_random_shapes},
        {"usual shapes", test_usual_shapes},
        {"widths", test_widths},
        {"corners", test_corners},
        {"zeros", test_zeros},
        {"long rows", test_long_rows},
        {"not depthwise", test_not_depthwise},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"depthwise", begin, end, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };
    const char *seed = getenv("ISO_TEST_SEED");

    state = seed != NULL ? strtoull(seed, NULL, 10) : state;
    (void)printf("seed %llu\n", (unsigned long long)state);
    return iso_test_main(suites);
}
