#include "isotome/error.h"
#include "isotome/shape.h"

#include "iso_test_memory.h"

#include <stdio.h>
#include <string.h>

/* Shape from "N,3,32": for tests only, so that they read well. */
static iso_shape_t shape_of(const char *text)
{
    iso_shape_t shape = {0};
    char copy[128];
    char *rest = copy;

    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *dim = strtok_r(copy, ",", &rest); dim != NULL;
         dim = strtok_r(NULL, ",", &rest)) {
        CU_ASSERT_FATAL(shape.rank < ISO_MAX_RANK);
        CU_ASSERT_EQUAL_FATAL(iso_dim_parse(dim, &shape.dim[shape.rank++]),
                              ISO_OK);
    }
    return shape;
}

static void expect_text(const iso_shape_t *shape, const char *expected)
{
    char text[ISO_SHAPE_TEXT_BYTES];

    CU_ASSERT_STRING_EQUAL(iso_shape_text(shape, text), expected);
}

static void test_make_and_print(void)
{
    iso_shape_t scalar = iso_shape_of(0, NULL);
    iso_shape_t numbers = iso_shape_of(2, (const int64_t[]){4, 2147483649});
    iso_shape_t named = shape_of("N,3,2*H+1,P+T");
    iso_shape_t extreme = {.rank = ISO_MAX_RANK};

    expect_text(&scalar, "[]");
    expect_text(&numbers, "[4,2147483649]");
    expect_text(&named, "[N,3,2*H+1,P+T]");
    CU_ASSERT(iso_shape_is_static(&scalar));
    CU_ASSERT(iso_shape_is_static(&numbers));
    CU_ASSERT_FALSE(iso_shape_is_static(&named));
    for (int i = 0; i < ISO_MAX_RANK; i++) {
        extreme.dim[i] = iso_dim_of(INT64_MIN);
    }
    expect_text(&extreme, "[-9223372036854775808,-9223372036854775808,"
                          "-9223372036854775808,-9223372036854775808,"
                          "-9223372036854775808,-9223372036854775808,"
                          "-9223372036854775808,-9223372036854775808]");
}

/* Texts of every length around the size of the buffer. */
static void test_long_text_is_cut(void)
{
    for (int length = 240; length < 300; length++) {
        char name[320];
        char text[ISO_SHAPE_TEXT_BYTES];
        iso_shape_t shape = {.rank = 1};
        memset(name, 'x', (size_t)length);
        name[length] = '\0';
        CU_ASSERT_EQUAL_FATAL(iso_dim_parse(name, &shape.dim[0]), ISO_OK);
        size_t printed = strlen(iso_shape_text(&shape, text));
        if (length + 2 < ISO_SHAPE_TEXT_BYTES) {
            CU_ASSERT_EQUAL(printed, (size_t)length + 2);
            CU_ASSERT_STRING_EQUAL(text + printed - 2, "x]");
        } else {
            CU_ASSERT_EQUAL(printed, ISO_SHAPE_TEXT_BYTES - 1);
            CU_ASSERT_STRING_EQUAL(text + printed - 4, "x...");
        }
    }
}

static void test_equal(void)
{
    iso_shape_t a = shape_of("N,P+T");
    iso_shape_t b = shape_of("N,T+P");
    iso_shape_t longer = shape_of("N,P+T,1");
    iso_shape_t other = shape_of("M,P+T");
    iso_shape_t number = shape_of("1,P+T");

    CU_ASSERT(iso_shape_equal(&a, &b));
    CU_ASSERT_FALSE(iso_shape_equal(&a, &longer));
    CU_ASSERT_FALSE(iso_shape_equal(&longer, &a));
    CU_ASSERT_FALSE(iso_shape_equal(&a, &other));
    CU_ASSERT_FALSE(iso_shape_equal(&a, &number));
}

static void test_counts(void)
{
    static const struct {
        const char *shape;
        int64_t count;        /* -1 when there is none */
        const char *elements; /* NULL when it does not fit */
    } cases[] = {
        {"", 1, "1"},
        {"7", 7, "7"},
        {"2,3,5", 30, "30"},
        {"0,5", 0, "0"},
        {"2147483649,2", 4294967298, "4294967298"},
        {"4611686018427387904", INT64_C(1) << 62, "4611686018427387904"},
        {"4611686018427387904,2", -1, NULL},
        {"4611686018427387904,4,0", 0, "0"},
        {"0,4611686018427387904,4", 0, "0"},
        {"3037000500,3037000500", -1, NULL},
        {"-1,5", -1, "-5"},
        {"N,3,2", -1, "6*N"},
        {"N,N+1", -1, "N*N+N"},
        {"N,0", -1, "0"},
        {"A,B,C,D,E", -1, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        iso_shape_t shape = shape_of(cases[i].shape);
        iso_dim_t dim;
        CU_ASSERT_EQUAL(iso_shape_count(&shape), cases[i].count);
        iso_status_t status = iso_shape_elements(&shape, &dim);
        if (cases[i].elements == NULL) {
            CU_ASSERT_EQUAL(status, ISO_INVAL);
        } else {
            char text[ISO_DIM_TEXT_BYTES];
            CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
            CU_ASSERT_STRING_EQUAL(iso_dim_text(dim, text), cases[i].elements);
        }
    }
}

static void test_bind(void)
{
    const iso_binding_t bindings[] = {{"N", 64}, {"T", 2}};
    iso_shape_t shape = shape_of("N,3,T-1,P+T");
    iso_shape_t small = shape_of("N,T-3");
    iso_shape_t bound = {0};

    CU_ASSERT_EQUAL(iso_shape_bind(&shape, bindings, 2, &bound), ISO_OK);
    expect_text(&bound, "[64,3,1,P+2]");
    CU_ASSERT_EQUAL(iso_shape_bind(&small, bindings, 2, &bound), ISO_SHAPE);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "dimension 1 of shape"));
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "-1"));
    expect_text(&bound, "[64,3,1,P+2]");
    CU_ASSERT_EQUAL(iso_shape_bind(&shape, bindings, 2, &shape), ISO_OK);
    expect_text(&shape, "[64,3,1,P+2]");
}

static void test_broadcast(void)
{
    static const char *const good[][3] = {
        {"", "", "[]"},
        {"", "2,3", "[2,3]"},
        {"2,3", "3", "[2,3]"},
        {"2,1", "1,3", "[2,3]"},
        {"N,1,T", "4,1", "[N,4,T]"},
        {"N,P+T", "T+P", "[N,P+T]"},
        {"1", "0", "[0]"},
        {"0", "0", "[0]"},
        {"N", "1", "[N]"},
        {"1,1,1,1,1,1,1,1", "N", "[1,1,1,1,1,1,1,N]"},
    };
    static const char *const bad[][2] = {
        {"2", "3"},   {"0", "2"},   {"N", "2"},       {"N", "T"},
        {"N,2", "3"}, {"N", "N+1"}, {"2,3", "2,1,4"},
    };

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        iso_shape_t a = shape_of(good[i][0]);
        iso_shape_t b = shape_of(good[i][1]);
        iso_shape_t out = {0};
        CU_ASSERT_EQUAL(iso_shape_broadcast(&a, &b, &out), ISO_OK);
        expect_text(&out, good[i][2]);
        CU_ASSERT_EQUAL(iso_shape_broadcast(&b, &a, &out), ISO_OK);
        expect_text(&out, good[i][2]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        iso_shape_t a = shape_of(bad[i][0]);
        iso_shape_t b = shape_of(bad[i][1]);
        iso_shape_t out = {.rank = 5};
        char text[ISO_SHAPE_TEXT_BYTES];
        CU_ASSERT_EQUAL(iso_shape_broadcast(&a, &b, &out), ISO_SHAPE);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(iso_error_text(), iso_shape_text(&a, text)));
        CU_ASSERT_PTR_NOT_NULL(
            strstr(iso_error_text(), iso_shape_text(&b, text)));
        CU_ASSERT_EQUAL(iso_shape_broadcast(&b, &a, &out), ISO_SHAPE);
        CU_ASSERT_EQUAL(out.rank, 5);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"make and print", test_make_and_print},
        {"long text is cut", test_long_text_is_cut},
        {"equal", test_equal},
        {"counts", test_counts},
        {"bind", test_bind},
        {"broadcast", test_broadcast},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"shape", NULL, NULL, test_remember_blocks, test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
