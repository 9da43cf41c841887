/* Ops on channel blocks against the definition, bit for bit: every
 * instruction set, 1 and 2 threads. Lanes without a channel hold NaN and huge
 * numbers, which must not reach a result. */
#include "iso_test_blocked.h"
#include "kernel/cpu/blocked/blocked.h"
#include "kernel/ref.h"

#include <stdlib.h>

enum { INPUTS = 5, VALUES = 1 << 18, ROUNDS = 60 };

static uint64_t state = 1;
static iso_cpu_t *cpus[2];
static float *values; /* operands are taken from here */

static int64_t random_in(int64_t least, int64_t most)
{
    return test_random_int(&state, least, most);
}

/* one_in: how often a value is special; 0: never. */
static void fill_values(int64_t one_in)
{
    static const uint32_t special[] = {
        0x00000000U, 0x80000000U, 0x7f800000U, 0xff800000U, 0x7fc00000U,
        0xffc12345U, 0x7f812345U, 0x00000001U, 0x80000001U, 0x807fffffU,
        0x7f7fffffU, 0xff7fffffU, 0x3f800000U, 0x40000000U, 0x3f000000U};

    for (int i = 0; i < VALUES; i++) {
        values[i] = 4 * test_random_float(&state);
        if (one_in > 0 && random_in(1, one_in) == 1) {
            values[i] = test_float_of(special[random_in(0, 14)]);
        }
    }
}

static int begin(void)
{
    values = iso_alloc(VALUES * sizeof *values);
    for (int i = 0; i < 2; i++) {
        if (values == NULL || iso_cpu_create(i + 1, &cpus[i]) != ISO_OK) {
            (void)fprintf(stderr, "%s\n", iso_error_text());
            return 1;
        }
    }
    return 0;
}

static int end(void)
{
    iso_free(values);
    iso_cpu_destroy(&cpus[0]);
    iso_cpu_destroy(&cpus[1]);
    return iso_mem_count().blocks == 0 ? 0 : 1;
}

/* An operand of these dims, from anywhere among the values. */
static void add_input(test_call_t *call, int rank, const int64_t *dims)
{
    int64_t count = 1;

    for (int axis = 0; axis < rank; axis++) {
        count *= dims[axis];
    }
    CU_ASSERT_FATAL(count <= VALUES);
    test_call_input(call, ISO_DTYPE_F32, rank, dims,
                    values + random_in(0, VALUES - count));
}

static int random_dims(int64_t dims[5])
{
    static const int64_t channels[] = {1, 3, 15, 16, 17, 32, 33, 48};
    static const int64_t most[] = {300, 24, 7};
    const int n = (int)random_in(1, 3);

    dims[0] = random_in(0, 20) > 0 ? random_in(1, 3) : 0;
    dims[1] = channels[random_in(0, 7)];
    for (int i = 0; i < n; i++) {
        dims[2 + i] = random_in(1, most[n - 1]);
    }
    return 2 + n;
}

/* ---- Checking ---- */

typedef struct check {
    test_call_t *call;
    iso_format_t formats[INPUTS];
    iso_format_t format;
} check_t;

static void print_check(const check_t *check, const iso_cpu_t *cpu)
{
    (void)fprintf(stderr, "%s, %s, %d threads:", iso_op_string(check->call->op),
                  iso_family_string(cpu->family), cpu->threads);
    for (int i = 0; i < check->call->n_inputs; i++) {
        const iso_shape_t shape = iso_tensor_shape(&check->call->inputs[i]);
        char text[ISO_SHAPE_TEXT_BYTES];

        (void)fprintf(stderr, " %s %s", iso_shape_text(&shape, text),
                      check->formats[i] == ISO_FORMAT_PLAIN ? "plain"
                                                            : "blocked");
    }
    (void)fprintf(stderr, "\n");
}

static void check_with(const check_t *check, const iso_tensor_t *tensors,
                       const iso_cpu_t *cpu)
{
    const iso_tensor_t *inputs[INPUTS];
    iso_tensor_t y = check->call->output;
    bool same;

    for (int i = 0; i < check->call->n_inputs; i++) {
        inputs[i] = &tensors[i];
    }
    y.data = test_result(&y, check->format);

    const iso_cpu_step_t step = {.node = check->call->node,
                                 .inputs = inputs,
                                 .formats = check->formats,
                                 .output = &y,
                                 .format = check->format};

    same = iso__blocked_run(&cpu->light, &step) &&
           test_result_is(y.data, check->format, &check->call->output);
    CU_ASSERT(same);
    if (!same) {
        print_check(check, cpu);
    }
    iso_free(y.data);
}

/* Runs the call by the definition and by every instruction set. */
static void check_formats(const check_t *check)
{
    test_call_t *call = check->call;
    iso_tensor_t tensors[INPUTS] = {0};

    CU_ASSERT_EQUAL_FATAL(test_call_run(call, iso_ref_run), ISO_OK);
    for (int i = 0; i < call->n_inputs; i++) {
        tensors[i] = call->inputs[i];
        if (check->formats[i] == ISO_FORMAT_BLOCKED) {
            tensors[i].data = test_block(&call->inputs[i]);
        }
    }
    for (size_t f = 0; f < sizeof test_families / sizeof *test_families; f++) {
        for (int k = 0; k < 2 && iso_family_supported(test_families[f]); k++) {
            const iso_cpu_t cpu = test_cpu_of(cpus[k], test_families[f]);

            check_with(check, tensors, &cpu);
        }
    }
    for (int i = 0; i < call->n_inputs; i++) {
        if (check->formats[i] == ISO_FORMAT_BLOCKED) {
            iso_free(tensors[i].data);
        }
    }
    test_call_end(call);
}

/* Operand 0 and the result are blocked, the others plain. */
static void check_first(test_call_t *call)
{
    check_formats(&(check_t){.call = call,
                             .formats = {ISO_FORMAT_BLOCKED},
                             .format = ISO_FORMAT_BLOCKED});
}

/* ---- Copies ---- */

static void check_convert(const iso_cpu_t *cpu, const iso_tensor_t *plain)
{
    float *blocked = test_block(plain);
    iso_tensor_t from = *plain;
    iso_tensor_t to = *plain;
    bool same;

    to.data = test_result(plain, ISO_FORMAT_BLOCKED);
    iso_cpu_convert(cpu, plain, ISO_FORMAT_BLOCKED, &to);
    same = test_result_is(to.data, ISO_FORMAT_BLOCKED, plain);
    /* Lanes without a channel are +0. */
    for (int64_t i = 0; i < iso_tensor_count(plain); i++) {
        ((float *)to.data)[test_blocked_at(plain, i)] = 0;
    }
    for (int64_t i = 0; i < test_blocked_count(plain); i++) {
        same = same && test_bits_of(((const float *)to.data)[i]) == 0;
    }
    iso_free(to.data);
    from.data = blocked;
    to.data = test_result(plain, ISO_FORMAT_PLAIN);
    iso_cpu_convert(cpu, &from, ISO_FORMAT_PLAIN, &to);
    same = same && test_result_is(to.data, ISO_FORMAT_PLAIN, plain);
    CU_ASSERT(same);
    if (!same) {
        const iso_shape_t shape = iso_tensor_shape(plain);
        char text[ISO_SHAPE_TEXT_BYTES];

        (void)fprintf(stderr, "convert %s, %s, %d threads\n",
                      iso_shape_text(&shape, text),
                      iso_family_string(cpu->family), cpu->threads);
    }
    iso_free(to.data);
    iso_free(blocked);
}

static void test_convert(void)
{
    fill_values(4);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        iso_tensor_t plain = {.dtype = ISO_DTYPE_F32,
                              .data = values + random_in(0, 63)};

        plain.rank = random_dims(plain.dims);
        for (int k = 0; k < 6; k++) {
            const iso_cpu_t cpu =
                test_cpu_of(cpus[k % 2], test_families[k / 2]);

            if (iso_family_supported(cpu.family)) {
                check_convert(&cpu, &plain);
            }
        }
    }
}

/* ---- Elementwise ---- */

static void test_unary(void)
{
    fill_values(6);
    for (int op = ISO_OP_ABS; op <= ISO_OP_CLIP; op++) {
        for (int round = 0; round < ROUNDS / 10; round++) {
            int64_t dims[5];
            test_call_t call;
            const int rank = random_dims(dims);

            test_call_begin(&call, (iso_op_t)op);
            add_input(&call, rank, dims);
            if (op == ISO_OP_CLIP) {
                TEST_FLOATS(&call, "min", -0.5);
                TEST_FLOATS(&call, "max", 1.25);
            }
            check_first(&call);
        }
    }
}

/* An operand that is plain: one for each channel, for each channel of each
 * image, or one for all. */
static void add_by_channel(test_call_t *call, int rank, const int64_t *dims)
{
    const int64_t ones[5] = {1, 1, 1, 1, 1};
    const int64_t own[5] = {random_in(0, 1) ? 1 : dims[0], dims[1], 1, 1, 1};

    switch (random_in(0, 2)) {
    case 0:
        add_input(call, (int)random_in(1, rank), ones);
        break;
    case 1:
        add_input(call, rank - 1, own + 1);
        break;
    default:
        add_input(call, rank, own);
    }
}

static void check_binary(iso_op_t op)
{
    /* Which operand is broadcast; 2: none. */
    const int by_channel =
        op == ISO_OP_PRELU ? (int)random_in(1, 2) : (int)random_in(0, 2);
    int64_t dims[5];
    const int rank = random_dims(dims);
    test_call_t call;
    check_t check = {.call = &call, .format = ISO_FORMAT_BLOCKED};

    test_call_begin(&call, op);
    for (int i = 0; i < 2; i++) {
        if (i == by_channel) {
            add_by_channel(&call, rank, dims);
        } else {
            add_input(&call, rank, dims);
            check.formats[i] = ISO_FORMAT_BLOCKED;
        }
    }
    check_formats(&check);
}

static void test_binary(void)
{
    static const iso_op_t ops[] = {ISO_OP_ADD, ISO_OP_SUB,  ISO_OP_MUL,
                                   ISO_OP_DIV, ISO_OP_POW,  ISO_OP_MIN,
                                   ISO_OP_MAX, ISO_OP_PRELU};

    fill_values(4);
    for (int k = 0; k < 8; k++) {
        for (int round = 0; round < ROUNDS; round++) {
            check_binary(ops[k]);
        }
    }
}

/* ---- Norms, means, pools, concat ---- */

static void check_batch_norm(void)
{
    int64_t dims[5];
    const int rank = random_dims(dims);
    test_call_t call;

    test_call_begin(&call, ISO_OP_BATCH_NORM);
    add_input(&call, rank, dims);
    for (int i = 0; i < 4; i++) {
        add_input(&call, 1, dims + 1);
    }
    check_first(&call);
}

static void check_mean(void)
{
    static const int64_t axes[] = {2, 3, 4};
    int64_t dims[5];
    const int rank = random_dims(dims);
    test_call_t call;

    test_call_begin(&call, ISO_OP_REDUCE_MEAN);
    add_input(&call, rank, dims);
    test_call_ints(&call, "axes", rank - 2, axes);
    TEST_INTS(&call, "keep_dims", random_in(0, 1));
    check_formats(&(check_t){.call = &call,
                             .formats = {ISO_FORMAT_BLOCKED},
                             .format = ISO_FORMAT_PLAIN});
}

/* A window that the graph accepts: pads below the kernel's span, a span not
 * larger than the padded operand. */
static void check_pool(iso_op_t op)
{
    int64_t dims[5];
    const int n = random_dims(dims) - 2;
    int64_t window[4][6];
    test_call_t call;

    for (int i = 0; i < n; i++) {
        const int64_t kernel = random_in(1, 4);
        const int64_t dilation = random_in(1, 2);
        const int64_t span = (kernel - 1) * dilation + 1;

        window[0][i] = kernel;
        window[1][i] = random_in(1, 3);
        window[2][i] = dilation;
        window[3][i] = random_in(0, span - 1);
        window[3][n + i] = random_in(0, span - 1);
        dims[2 + i] = span + random_in(0, i == n - 1 ? 20 : 4);
    }
    test_call_begin(&call, op);
    add_input(&call, 2 + n, dims);
    test_call_ints(&call, "kernel", n, window[0]);
    test_call_ints(&call, "strides", n, window[1]);
    test_call_ints(&call, "dilations", n, window[2]);
    test_call_ints(&call, "pads", 2 * n, window[3]);
    TEST_INTS(&call, "ceil_mode", random_in(0, 1));
    TEST_INTS(&call, "count_pad", random_in(0, 1));
    check_first(&call);
}

static void check_concat(void)
{
    int64_t dims[5];
    const int rank = random_dims(dims);
    const int n = (int)random_in(1, INPUTS);
    test_call_t call;
    check_t check = {.call = &call, .format = ISO_FORMAT_BLOCKED};

    test_call_begin(&call, ISO_OP_CONCAT);
    for (int i = 0; i < n; i++) {
        dims[1] = i + 1 < n ? 16 * random_in(1, 3) : random_in(1, 40);
        add_input(&call, rank, dims);
        check.formats[i] = ISO_FORMAT_BLOCKED;
    }
    TEST_INTS(&call, "axis", random_in(0, 1) ? 1 : 1 - rank);
    check_formats(&check);
}

static void test_others(void)
{
    for (int round = 0; round < 3 * ROUNDS; round++) {
        if (round % ROUNDS == 0) {
            static const int64_t one_in[] = {0, 300, 4};

            fill_values(one_in[round / ROUNDS]);
        }
        check_batch_norm();
        check_mean();
        check_pool(ISO_OP_MAX_POOL);
        check_pool(ISO_OP_AVG_POOL);
        check_concat();
    }
}

/* Enough for two threads. */
static void test_large(void)
{
    const int64_t dims[] = {1, 40, 61, 67};
    test_call_t call;

    fill_values(50);
    test_call_begin(&call, ISO_OP_EXP);
    add_input(&call, 4, dims);
    check_first(&call);
    test_call_begin(&call, ISO_OP_MUL);
    add_input(&call, 4, dims);
    add_input(&call, 4, (const int64_t[]){1, 40, 1, 1});
    check_first(&call);
    test_call_begin(&call, ISO_OP_MAX_POOL);
    add_input(&call, 4, dims);
    TEST_INTS(&call, "kernel", 3, 3);
    TEST_INTS(&call, "strides", 2, 2);
    TEST_INTS(&call, "pads", 1, 1, 1, 1);
    check_first(&call);
}

/* ---- What it does not take ---- */

static bool takes(test_call_t *call, const iso_format_t formats[INPUTS],
                  iso_format_t format)
{
    iso_cpu_step_t step = {.formats = formats, .format = format};
    const iso_tensor_t *inputs[INPUTS];
    bool taken;

    CU_ASSERT_FATAL(test_call_make(call));
    for (int i = 0; i < call->n_inputs; i++) {
        inputs[i] = &call->inputs[i];
    }
    step.node = call->node;
    step.inputs = inputs;
    step.output = &call->output;
    taken = iso__blocked_run(&cpus[0]->light, &step);
    test_call_end(call);
    return taken;
}

static void test_not_taken(void)
{
    static const iso_format_t blocked[INPUTS] = {ISO_FORMAT_BLOCKED,
                                                 ISO_FORMAT_BLOCKED};
    static const iso_format_t first[INPUTS] = {ISO_FORMAT_BLOCKED};
    const int64_t dims[] = {1, 16, 4, 5};
    const int64_t row[] = {5};
    test_call_t call;

    test_call_begin(&call, ISO_OP_SOFTMAX);
    add_input(&call, 4, dims);
    CU_ASSERT_FALSE(takes(&call, blocked, ISO_FORMAT_BLOCKED));
    test_call_begin(&call, ISO_OP_RELU);
    add_input(&call, 4, dims);
    CU_ASSERT_FALSE(takes(&call, blocked, ISO_FORMAT_PLAIN));
    test_call_begin(&call, ISO_OP_ADD); /* broadcast over positions */
    add_input(&call, 4, dims);
    add_input(&call, 1, row);
    CU_ASSERT_FALSE(takes(&call, first, ISO_FORMAT_BLOCKED));
    test_call_begin(&call, ISO_OP_CONCAT); /* of another axis */
    add_input(&call, 4, dims);
    add_input(&call, 4, dims);
    TEST_INTS(&call, "axis", 2);
    CU_ASSERT_FALSE(takes(&call, blocked, ISO_FORMAT_BLOCKED));
    test_call_begin(&call, ISO_OP_REDUCE_MEAN); /* of one axis */
    add_input(&call, 4, dims);
    TEST_INTS(&call, "axes", 3);
    CU_ASSERT_FALSE(takes(&call, blocked, ISO_FORMAT_PLAIN));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"convert", test_convert}, {"unary", test_unary},
        {"binary", test_binary},   {"norms, means, pools, concat", test_others},
        {"large", test_large},     {"not taken", test_not_taken},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"blocked", begin, end, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };
    const char *seed = getenv("ISO_TEST_SEED");

    state = seed != NULL ? strtoull(seed, NULL, 10) : state;
    (void)printf("seed %llu\n", (unsigned long long)state);
    return iso_test_main(suites);
}
