/* Comparisons, logic and where: every dtype that may take part, by both
 * devices. */
#include "iso_test_call.h"
#include "kernel/cpu.h"
#include "kernel/ref.h"

static iso_cpu_t *cpu;

static iso_status_t run_cpu(const iso_node_t *node,
                            const iso_tensor_t *const *inputs,
                            const iso_tensor_t *output)
{
    return iso_cpu_run(cpu, node, inputs, output);
}

/* Run by both devices; are the output's bytes these? */
static bool gives(test_call_t *call, size_t bytes, const void *expected)
{
    static test_run_fn *const runs[] = {iso_ref_run, run_cpu};
    bool same = true;

    for (int i = 0; i < 2; i++) {
        if (call->output.data != NULL) {
            memset(call->output.data, 0xa5, bytes);
        }
        same = same && test_call_run(call, runs[i]) == ISO_OK &&
               iso_tensor_bytes(&call->output) == bytes &&
               memcmp(call->output.data, expected, bytes) == 0;
    }
    return same;
}

/* ---- Comparisons ---- */

/* 1, 2, 3 and 2, 2, 2 in each dtype that is ordered. */
static void test_every_ordered_dtype(void)
{
    const struct {
        iso_dtype_t dtype;
        const void *x;
        const void *two;
    } cases[] = {
        {ISO_DTYPE_F32, (const float[]){1, 2, 3}, (const float[]){2}},
        {ISO_DTYPE_F64, (const double[]){1, 2, 3}, (const double[]){2}},
        {ISO_DTYPE_F16, (const uint16_t[]){0x3c00, 0x4000, 0x4200},
         (const uint16_t[]){0x4000}},
        {ISO_DTYPE_BF16, (const uint16_t[]){0x3f80, 0x4000, 0x4040},
         (const uint16_t[]){0x4000}},
        {ISO_DTYPE_I8, (const int8_t[]){1, 2, 3}, (const int8_t[]){2}},
        {ISO_DTYPE_U8, (const uint8_t[]){1, 2, 3}, (const uint8_t[]){2}},
        {ISO_DTYPE_I32, (const int32_t[]){1, 2, 3}, (const int32_t[]){2}},
        {ISO_DTYPE_I64, (const int64_t[]){1, 2, 3}, (const int64_t[]){2}},
    };
    static const struct {
        iso_op_t op;
        uint8_t expected[3];
    } ops[] = {
        {ISO_OP_EQUAL, {0, 1, 0}},         {ISO_OP_LESS, {1, 0, 0}},
        {ISO_OP_LESS_EQUAL, {1, 1, 0}},    {ISO_OP_GREATER, {0, 0, 1}},
        {ISO_OP_GREATER_EQUAL, {0, 1, 1}},
    };
    test_call_t call;

    for (size_t i = 0; i < 8 * sizeof ops / sizeof ops[0]; i++) {
        test_call_begin(&call, ops[i / 8].op);
        test_call_input(&call, cases[i % 8].dtype, 1, (const int64_t[]){3},
                        cases[i % 8].x);
        test_call_input(&call, cases[i % 8].dtype, 0, NULL, cases[i % 8].two);
        CU_ASSERT(gives(&call, 3, ops[i / 8].expected));
        test_call_end(&call);
    }
}

/* A NaN equals nothing, zeros equal each other whatever their sign. */
static void test_special_halves(void)
{
    static const uint16_t x[] = {0x7e00, 0x8000, 0x7c00, 0x7c00, 0x0001};
    static const uint16_t y[] = {0x7e00, 0x0000, 0x7c00, 0xfc00, 0x0002};
    static const uint8_t equal[] = {0, 1, 1, 0, 0};
    static const uint8_t greater_equal[] = {0, 1, 1, 1, 0};
    test_call_t call;

    for (int i = 0; i < 2; i++) {
        test_call_begin(&call, i == 0 ? ISO_OP_EQUAL : ISO_OP_GREATER_EQUAL);
        test_call_input(&call, ISO_DTYPE_F16, 1, (const int64_t[]){5}, x);
        test_call_input(&call, ISO_DTYPE_F16, 1, (const int64_t[]){5}, y);
        CU_ASSERT(gives(&call, 5, i == 0 ? equal : greater_equal));
        test_call_end(&call);
    }
}

/* ---- Bools: anything but 0 is true ---- */

static void test_bools(void)
{
    static const uint8_t x[] = {0, 0, 1, 1, 2, 255};
    static const uint8_t y[] = {0, 1, 0, 1, 1, 0};
    static const struct {
        iso_op_t op;
        uint8_t expected[6];
    } ops[] = {
        {ISO_OP_AND, {0, 0, 0, 1, 1, 0}}, {ISO_OP_OR, {0, 1, 1, 1, 1, 1}},
        {ISO_OP_XOR, {0, 1, 1, 0, 0, 1}}, {ISO_OP_EQUAL, {1, 0, 0, 1, 1, 0}},
        {ISO_OP_NOT, {1, 1, 0, 0, 0, 0}},
    };
    test_call_t call;

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        test_call_begin(&call, ops[i].op);
        test_call_input(&call, ISO_DTYPE_BOOL, 2, (const int64_t[]){2, 3}, x);
        if (ops[i].op != ISO_OP_NOT) {
            test_call_input(&call, ISO_DTYPE_BOOL, 2, (const int64_t[]){2, 3},
                            y);
        }
        CU_ASSERT(gives(&call, 6, ops[i].expected));
        test_call_end(&call);
    }
}

static void test_bools_broadcast(void)
{
    static const uint8_t column[] = {0, 1};
    static const uint8_t row[] = {1, 0, 1};
    static const uint8_t both[] = {0, 0, 0, 1, 0, 1};
    static const uint8_t same[] = {0, 1, 0, 1, 0, 1};
    test_call_t call;

    for (int i = 0; i < 2; i++) {
        test_call_begin(&call, i == 0 ? ISO_OP_AND : ISO_OP_EQUAL);
        test_call_input(&call, ISO_DTYPE_BOOL, 2, (const int64_t[]){2, 1},
                        column);
        test_call_input(&call, ISO_DTYPE_BOOL, 1, (const int64_t[]){3}, row);
        CU_ASSERT(gives(&call, 6, i == 0 ? both : same));
        test_call_end(&call);
    }
    test_call_begin(&call, ISO_OP_XOR); /* nothing */
    test_call_input(&call, ISO_DTYPE_BOOL, 2, (const int64_t[]){2, 0}, row);
    test_call_input(&call, ISO_DTYPE_BOOL, 1, (const int64_t[]){1}, row);
    CU_ASSERT(gives(&call, 0, row));
    test_call_end(&call);
}

/* ---- where ---- */

/* Bytes are moved as they are, whatever they mean. */
static void test_where_of_every_dtype(void)
{
    static const uint8_t condition[] = {1, 0, 7};
    uint8_t x[3 * 8];
    uint8_t y[8];
    uint8_t expected[3 * 8];
    test_call_t call;

    for (size_t i = 0; i < sizeof x; i++) {
        x[i] = (uint8_t)(0xf0 + i);
        y[i % 8] = (uint8_t)(0x70 + i);
    }
    for (int d = 0; d < ISO_DTYPE_COUNT; d++) {
        const iso_dtype_t dtype = (iso_dtype_t)d;
        const size_t bytes = iso_dtype_bytes(dtype);

        memcpy(expected, x, 3 * bytes);
        memcpy(expected + bytes, y, bytes);
        test_call_begin(&call, ISO_OP_WHERE);
        test_call_input(&call, ISO_DTYPE_BOOL, 1, (const int64_t[]){3},
                        condition);
        test_call_input(&call, dtype, 1, (const int64_t[]){3}, x);
        test_call_input(&call, dtype, 0, NULL, y);
        CU_ASSERT(gives(&call, 3 * bytes, expected));
        test_call_end(&call);
    }
}

static void test_nothing_is_left(void)
{
    iso_cpu_destroy(&cpu);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"every ordered dtype", test_every_ordered_dtype},
        {"special halves", test_special_halves},
        {"bools", test_bools},
        {"bools broadcast", test_bools_broadcast},
        {"where of every dtype", test_where_of_every_dtype},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"logic", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    if (iso_cpu_create(2, &cpu) != ISO_OK) {
        return 1;
    }
    return iso_test_main(suites);
}
