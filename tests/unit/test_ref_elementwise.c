#include "iso_test_call.h"
#include "kernel/arith.h"
#include "kernel/ref.h"

#include <float.h>
#include <math.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double erf_of(double x)
{
    return erf(x);
}

/* ---- Unary: every op against its formula in f64 ---- */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double relu(double x)
{
    return x > 0 ? x : 0;
}

static double leaky_relu(double x)
{
    return x < 0 ? 0.01 * x : x;
}

static double elu(double x)
{
    return x < 0 ? expm1(x) : x;
}

static double selu(double x)
{
    return 1.05070102214813232421875 *
           (x < 0 ? 1.67326319217681884765625 * expm1(x) : x);
}

static double hard_sigmoid(double x)
{
    return fmax(0, fmin(1, 0.2 * x + 0.5));
}

static double hard_swish(double x)
{
    return x * fmax(0, fmin(1, x / 6 + 0.5));
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double softsign(double x)
{
    return x / (1 + fabs(x));
}

static double sign(double x)
{
    return (x > 0) - (x < 0);
}

static double reciprocal(double x)
{
    return 1 / x;
}

static double negative(double x)
{
    return -x;
}

static double itself(double x)
{
    return x;
}

typedef struct unary_case {
    iso_op_t op;
    double (*formula)(double x);
} unary_case_t;

static const unary_case_t unary_cases[] = {
    {ISO_OP_ABS, fabs},
    {ISO_OP_NEG, negative},
    {ISO_OP_CEIL, ceil},
    {ISO_OP_FLOOR, floor},
    {ISO_OP_ROUND, rint},
    {ISO_OP_SIGN, sign},
    {ISO_OP_SQRT, sqrt},
    {ISO_OP_RECIPROCAL, reciprocal},
    {ISO_OP_EXP, exp},
    {ISO_OP_LOG, log},
    {ISO_OP_SIN, sin},
    {ISO_OP_COS, cos},
    {ISO_OP_TANH, tanh},
    {ISO_OP_ERF, erf_of},
    {ISO_OP_SIGMOID, sigmoid},
    {ISO_OP_RELU, relu},
    {ISO_OP_LEAKY_RELU, leaky_relu},
    {ISO_OP_ELU, elu},
    {ISO_OP_SELU, selu},
    {ISO_OP_HARD_SIGMOID, hard_sigmoid},
    {ISO_OP_HARD_SWISH, hard_swish},
    {ISO_OP_SOFTPLUS, softplus},
    {ISO_OP_SOFTSIGN, softsign},
    {ISO_OP_CLIP, itself},
};

enum { N_UNARY = sizeof unary_cases / sizeof unary_cases[0] };

/* Is found within `tolerance` of the formula, relative to 1 + its size? */
static bool agrees(double found, double expected, double tolerance)
{
    if (isnan(expected)) {
        return isnan(found);
    }
    return found == expected ||
           fabs(found - expected) <= tolerance * (1 + fabs(expected));
}

static void check_formula(const unary_case_t *unary, const float x[200],
                          const double x64[200])
{
    test_call_t call;
    test_call_t call64;

    test_call_begin(&call, unary->op);
    TEST_F32(&call, x, 200);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    test_call_begin(&call64, unary->op);
    test_call_input(&call64, ISO_DTYPE_F64, 1, (const int64_t[]){200}, x64);
    CU_ASSERT_EQUAL(test_call_run(&call64, iso_ref_run), ISO_OK);
    for (int i = 0; i < 200; i++) {
        const double expected = unary->formula(x64[i]);

        CU_ASSERT(
            agrees((double)((float *)call.output.data)[i], expected, 4e-7));
        CU_ASSERT(agrees(((double *)call64.output.data)[i], expected, 4e-15));
    }
    test_call_end(&call);
    test_call_end(&call64);
}

static void test_unary_is_its_formula(void)
{
    float x[200];
    double x64[200];

    for (int i = 0; i < 200; i++) {
        x[i] = (float)(i - 100) * 0.11F;
        x64[i] = (double)x[i];
    }
    for (int k = 0; k < N_UNARY; k++) {
        check_formula(&unary_cases[k], x, x64);
    }
}

/* What no tolerance sees: signs of zero, NaN, infinities. */
static uint32_t unary_bits(iso_op_t op, float x)
{
    test_call_t call;
    uint32_t bits = 0;

    test_call_begin(&call, op);
    TEST_F32(&call, &x, 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    memcpy(&bits, call.output.data, sizeof bits);
    test_call_end(&call);
    return bits;
}

static void test_unary_special_values(void)
{
    const uint32_t odd_bits = 0xffc12345U;
    float odd;

    memcpy(&odd, &odd_bits, sizeof odd);
    for (int k = 0; k < N_UNARY; k++) {
        CU_ASSERT_EQUAL(unary_bits(unary_cases[k].op, odd), ISO_NAN_BITS);
    }
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_RELU, -0.0F), 0U);
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_RELU, -1.0F), 0U);
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_SIGN, -0.0F), 0U);
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_NEG, 0.0F), 0x80000000U);
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_SQRT, -0.0F), 0x80000000U);
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_SQRT, -1.0F), ISO_NAN_BITS);
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_LOG, 0.0F), bits_of(-INFINITY));
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_LOG, -1.0F), ISO_NAN_BITS);
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_SIGMOID, -INFINITY), 0U);
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_SIGMOID, INFINITY), bits_of(1.0F));
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_SIGMOID, -1e30F), 0U);
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_EXP, 89.0F), bits_of(INFINITY));
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_ROUND, 2.5F), bits_of(2.0F));
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_ROUND, -3.5F), bits_of(-4.0F));
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_SOFTPLUS, 1e30F), bits_of(1e30F));
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_SOFTPLUS, -INFINITY), 0U);
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_SOFTSIGN, INFINITY), ISO_NAN_BITS);
    CU_ASSERT_EQUAL(unary_bits(ISO_OP_ABS, -1e-45F), 1U); /* subnormal */
}

static void test_clip(void)
{
    const float x[] = {-5.0F, -0.0F, 3.0F, 7.0F, NAN};
    test_call_t call;

    test_call_begin(&call, ISO_OP_CLIP);
    TEST_F32(&call, x, 5);
    TEST_FLOATS(&call, "min", 0.0);
    TEST_FLOATS(&call, "max", 6.0);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 0, 0, 3, 6, NAN);
    CU_ASSERT_EQUAL(bits_of(((float *)call.output.data)[1]), 0U);
    test_call_end(&call);
}

/* ---- Binary ---- */

static void test_broadcasting(void)
{
    const float x[] = {1, 2, 3, 4, 5, 6};
    const float y[] = {10, 20, 30};
    test_call_t call;

    test_call_begin(&call, ISO_OP_ADD);
    TEST_F32(&call, x, 2, 1, 3);
    TEST_F32(&call, y, 3, 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 11, 12, 13, 21, 22, 23, 31, 32, 33, 14, 15, 16, 24, 25,
              26, 34, 35, 36);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_SUB);
    test_call_input(&call, ISO_DTYPE_F32, 0, NULL, &y[0]);
    TEST_F32(&call, x, 6);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 9, 8, 7, 6, 5, 4);
    test_call_end(&call);
}

static uint32_t binary_bits(iso_op_t op, float x, float y)
{
    test_call_t call;
    uint32_t bits = 0;

    test_call_begin(&call, op);
    TEST_F32(&call, &x, 1);
    TEST_F32(&call, &y, 1);
    if (op == ISO_OP_MOD) {
        TEST_INTS(&call, "fmod", 1);
        CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    } else {
        CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    }
    memcpy(&bits, call.output.data, sizeof bits);
    test_call_end(&call);
    return bits;
}

static void test_binary_special_values(void)
{
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_MAX, -0.0F, 0.0F), 0U);
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_MAX, 0.0F, -0.0F), 0U);
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_MIN, 0.0F, -0.0F), 0x80000000U);
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_MIN, -0.0F, 0.0F), 0x80000000U);
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_MAX, NAN, 1.0F), ISO_NAN_BITS);
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_MAX, INFINITY, -NAN), ISO_NAN_BITS);
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_SUB, INFINITY, INFINITY), ISO_NAN_BITS);
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_DIV, 0.0F, 0.0F), ISO_NAN_BITS);
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_DIV, -1.0F, 0.0F), bits_of(-INFINITY));
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_POW, 3.0F, 2.0F), bits_of(9.0F));
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_POW, 2.0F, 0.5F), bits_of(sqrtf(2.0F)));
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_POW, -8.0F, 3.0F), bits_of(-512.0F));
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_POW, -8.0F, 0.3F), ISO_NAN_BITS);
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_POW, 0.0F, 0.0F), bits_of(1.0F));
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_MOD, -7.5F, 2.0F), bits_of(-1.5F));
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_MOD, 7.5F, 0.0F), ISO_NAN_BITS);
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_PRELU, -2.0F, 0.25F), bits_of(-0.5F));
    CU_ASSERT_EQUAL(binary_bits(ISO_OP_PRELU, 2.0F, NAN), bits_of(2.0F));
}

/* ---- Integers ---- */

static int64_t int_binary(iso_op_t op, iso_dtype_t dtype, int64_t fmod,
                          int64_t x, int64_t y)
{
    const int64_t one[] = {1};
    int32_t narrow[] = {(int32_t)x, (int32_t)y};
    const bool is_wide = dtype == ISO_DTYPE_I64;
    test_call_t call;
    int64_t result = 0;

    test_call_begin(&call, op);
    test_call_input(&call, dtype, 1, one, is_wide ? (void *)&x : &narrow[0]);
    test_call_input(&call, dtype, 1, one, is_wide ? (void *)&y : &narrow[1]);
    if (op == ISO_OP_MOD) {
        test_call_ints(&call, "fmod", 1, &fmod);
    }
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    result =
        is_wide ? *(int64_t *)call.output.data : *(int32_t *)call.output.data;
    test_call_end(&call);
    return result;
}

static void test_integers(void)
{
    const iso_dtype_t i64 = ISO_DTYPE_I64;
    const iso_dtype_t i32 = ISO_DTYPE_I32;

    CU_ASSERT_EQUAL(int_binary(ISO_OP_ADD, i64, 0, INT64_MAX, 1), INT64_MIN);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_MUL, i32, 0, 65536, 65536), 0);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_MUL, i32, 0, -3, 7), -21);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_DIV, i64, 0, -7, 2), -3);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_DIV, i64, 0, 7, 0), 0);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_DIV, i64, 0, INT64_MIN, -1), INT64_MIN);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_DIV, i32, 0, INT32_MIN, -1), INT32_MIN);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_MOD, i64, 0, -7, 3), 2);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_MOD, i64, 0, 7, -3), -2);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_MOD, i64, 1, -7, 3), -1);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_MOD, i64, 0, 7, 0), 0);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_MOD, i64, 0, INT64_MIN, -1), 0);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_MIN, i64, 0, -7, 3), -7);
    CU_ASSERT_EQUAL(int_binary(ISO_OP_MAX, i32, 0, -7, 3), 3);
}

static void test_int_unary(void)
{
    const int64_t x[] = {-5, 0, 7, INT64_MIN};
    const int64_t four[] = {4};
    test_call_t call;

    test_call_begin(&call, ISO_OP_ABS);
    test_call_input(&call, ISO_DTYPE_I64, 1, four, x);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(((int64_t *)call.output.data)[0], 5);
    CU_ASSERT_EQUAL(((int64_t *)call.output.data)[3], INT64_MIN);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_NEG);
    test_call_input(&call, ISO_DTYPE_I64, 1, four, x);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(((int64_t *)call.output.data)[2], -7);
    test_call_end(&call);
}

/* ---- Comparisons and logic ---- */

static void check_bools(test_call_t *call, const char *expected)
{
    const uint8_t *z;

    CU_ASSERT_EQUAL_FATAL(test_call_run(call, iso_ref_run), ISO_OK);
    z = call->output.data;
    for (size_t i = 0; expected[i] != '\0'; i++) {
        CU_ASSERT_EQUAL(z[i], expected[i] - '0');
    }
    test_call_end(call);
}

static void test_comparisons(void)
{
    const float x[] = {1, 2, 3, NAN, 0.0F};
    const float y[] = {2, 2, 2, NAN, -0.0F};
    const iso_op_t ops[] = {ISO_OP_EQUAL, ISO_OP_LESS, ISO_OP_LESS_EQUAL,
                            ISO_OP_GREATER, ISO_OP_GREATER_EQUAL};
    const char *expected[] = {"01001", "10000", "11001", "00100", "01101"};
    const uint8_t u8[] = {200, 100};
    const uint8_t v8[] = {100, 200};
    test_call_t call;

    for (int k = 0; k < 5; k++) {
        test_call_begin(&call, ops[k]);
        TEST_F32(&call, x, 5);
        TEST_F32(&call, y, 5);
        check_bools(&call, expected[k]);
    }
    test_call_begin(&call, ISO_OP_GREATER);
    test_call_input(&call, ISO_DTYPE_U8, 1, (const int64_t[]){2}, u8);
    test_call_input(&call, ISO_DTYPE_U8, 1, (const int64_t[]){2}, v8);
    check_bools(&call, "10");
}

static void test_logic(void)
{
    const uint8_t x[] = {0, 0, 1, 1};
    const uint8_t y[] = {0, 1, 0, 1};
    const iso_op_t ops[] = {ISO_OP_AND, ISO_OP_OR, ISO_OP_XOR};
    const char *expected[] = {"0001", "0111", "0110"};
    const int64_t four[] = {4};
    test_call_t call;

    for (int k = 0; k < 3; k++) {
        test_call_begin(&call, ops[k]);
        test_call_input(&call, ISO_DTYPE_BOOL, 1, four, x);
        test_call_input(&call, ISO_DTYPE_BOOL, 1, four, y);
        check_bools(&call, expected[k]);
    }
    test_call_begin(&call, ISO_OP_NOT);
    test_call_input(&call, ISO_DTYPE_BOOL, 1, four, x);
    check_bools(&call, "1100");
}

/* ---- Cast ---- */

static void cast(test_call_t *call, iso_dtype_t from, iso_dtype_t to,
                 int64_t count, const void *x)
{
    test_call_begin(call, ISO_OP_CAST);
    test_call_input(call, from, 1, &count, x);
    test_call_text(call, "to", iso_dtype_string(to));
    CU_ASSERT_EQUAL_FATAL(test_call_run(call, iso_ref_run), ISO_OK);
}

static void test_cast_float_to_int(void)
{
    const float x[] = {1.9F, -1.9F, NAN, INFINITY, -INFINITY, 3e9F, 300, -0.5F};
    const int32_t i32[] = {1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX, 300, 0};
    const int64_t i64[] = {1, -1, 0, INT64_MAX, INT64_MIN, 3000000000, 300, 0};
    const uint8_t u8[] = {1, 0, 0, 255, 0, 255, 255, 0};
    const int8_t i8[] = {1, -1, 0, 127, -128, 127, 127, 0};
    const uint8_t bools[] = {1, 1, 1, 1, 1, 1, 1, 1};
    test_call_t call;

    cast(&call, ISO_DTYPE_F32, ISO_DTYPE_I32, 8, x);
    CU_ASSERT_EQUAL(memcmp(call.output.data, i32, sizeof i32), 0);
    test_call_end(&call);
    cast(&call, ISO_DTYPE_F32, ISO_DTYPE_I64, 8, x);
    CU_ASSERT_EQUAL(memcmp(call.output.data, i64, sizeof i64), 0);
    test_call_end(&call);
    cast(&call, ISO_DTYPE_F32, ISO_DTYPE_U8, 8, x);
    CU_ASSERT_EQUAL(memcmp(call.output.data, u8, sizeof u8), 0);
    test_call_end(&call);
    cast(&call, ISO_DTYPE_F32, ISO_DTYPE_I8, 8, x);
    CU_ASSERT_EQUAL(memcmp(call.output.data, i8, sizeof i8), 0);
    test_call_end(&call);
    cast(&call, ISO_DTYPE_F32, ISO_DTYPE_BOOL, 8, x);
    CU_ASSERT_EQUAL(memcmp(call.output.data, bools, sizeof bools), 0);
    test_call_end(&call);
}

static void test_cast_rounds_once(void)
{
    /* To f32 through f64 the first would round twice, to 2^62 + 2^39. */
    const int64_t x[] = {(INT64_C(1) << 62) + (INT64_C(1) << 38) + 1,
                         -(INT64_C(1) << 62) - (INT64_C(1) << 38) - 1,
                         (INT64_C(1) << 62) + (INT64_C(1) << 38), INT64_MAX,
                         16777217};
    /* f16 through f32 would round 1 + 2^-11 + 2^-30 down. */
    const double y[] = {1.0 + 0x1p-11 + 0x1p-30, 1.0 + 0x1p-11};
    test_call_t call;

    cast(&call, ISO_DTYPE_I64, ISO_DTYPE_F32, 5, x);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(((float *)call.output.data)[i], (float)x[i]);
    }
    test_call_end(&call);
    cast(&call, ISO_DTYPE_I64, ISO_DTYPE_F64, 5, x);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(((double *)call.output.data)[i], (double)x[i]);
    }
    test_call_end(&call);
    cast(&call, ISO_DTYPE_F64, ISO_DTYPE_F16, 2, y);
    CU_ASSERT_EQUAL(((uint16_t *)call.output.data)[0], 0x3c01);
    CU_ASSERT_EQUAL(((uint16_t *)call.output.data)[1], 0x3c00);
    test_call_end(&call);
}

static void test_cast_between_ints(void)
{
    const int64_t x[] = {-1, 256, 130, 0, INT64_MIN};
    const uint8_t u8[] = {255, 0, 130, 0, 0};
    const uint8_t bools[] = {1, 1, 1, 0, 1};
    test_call_t call;

    cast(&call, ISO_DTYPE_I64, ISO_DTYPE_U8, 5, x);
    CU_ASSERT_EQUAL(memcmp(call.output.data, u8, sizeof u8), 0);
    test_call_end(&call);
    cast(&call, ISO_DTYPE_I64, ISO_DTYPE_BOOL, 5, x);
    CU_ASSERT_EQUAL(memcmp(call.output.data, bools, sizeof bools), 0);
    test_call_end(&call);
    cast(&call, ISO_DTYPE_BOOL, ISO_DTYPE_F32, 4, bools);
    TEST_NEAR(&call, 0, 1, 1, 1, 0);
    test_call_end(&call);
}

static void test_cast_to_itself_keeps_the_bits(void)
{
    const uint32_t odd_bits = 0xffc12345U;
    test_call_t call;

    cast(&call, ISO_DTYPE_F32, ISO_DTYPE_F32, 1, &odd_bits);
    CU_ASSERT_EQUAL(*(uint32_t *)call.output.data, odd_bits);
    test_call_end(&call);
    cast(&call, ISO_DTYPE_F32, ISO_DTYPE_BF16, 1, &odd_bits);
    CU_ASSERT_EQUAL(*(uint16_t *)call.output.data, 0x7fc0);
    test_call_end(&call);
}

static void test_refuses_types_it_does_not_compute_in(void)
{
    const uint16_t x[] = {0x3c00};
    const int64_t one[] = {1};
    const iso_shape_t shape = iso_shape_of(1, one);
    const iso_node_t node = {.name = "n",
                             .op = ISO_OP_EXP,
                             .dtype = ISO_DTYPE_F16,
                             .n_inputs = 1,
                             .shape = shape};
    iso_tensor_t in = {.dtype = ISO_DTYPE_F16, .rank = 1, .dims = {1}};
    const iso_tensor_t *inputs[] = {&in};

    memcpy(&in.data, &(const void *){x}, sizeof in.data);
    CU_ASSERT_EQUAL(iso_ref_run(&node, inputs, &in), ISO_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "'n'"));
    iso_error_clear();
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"unary ops are their formulas", test_unary_is_its_formula},
        {"unary special values", test_unary_special_values},
        {"clip", test_clip},
        {"broadcasting", test_broadcasting},
        {"binary special values", test_binary_special_values},
        {"integers wrap", test_integers},
        {"integer unary", test_int_unary},
        {"comparisons", test_comparisons},
        {"logic", test_logic},
        {"cast float to int", test_cast_float_to_int},
        {"cast rounds once", test_cast_rounds_once},
        {"cast between ints", test_cast_between_ints},
        {"cast to itself", test_cast_to_itself_keeps_the_bits},
        {"refused types", test_refuses_types_it_does_not_compute_in},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"ref elementwise", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
