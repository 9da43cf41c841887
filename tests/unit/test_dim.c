#include "isotome/error.h"
#include "isotome/shape.h"

#include "iso_test_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static iso_dim_t parse(const char *text)
{
    iso_dim_t dim = iso_dim_of(-1);

    CU_ASSERT_EQUAL(iso_dim_parse(text, &dim), ISO_OK);
    return dim;
}

static void expect_text(iso_dim_t dim, const char *expected)
{
    char buffer[ISO_DIM_TEXT_BYTES];
    const char *text = iso_dim_text(dim, buffer);

    CU_ASSERT_STRING_EQUAL(text, expected);
    if (strcmp(text, expected) != 0) {
        (void)printf("\n  found '%s', expected '%s'\n", text, expected);
    }
}

static void test_canonical_text(void)
{
    static const char *const pairs[][2] = {
        {"N", "N"},
        {"7", "7"},
        {"0", "0"},
        {"-3", "-3"},
        {"007", "7"},
        {"2*N+1", "2*N+1"},
        {"1+N*2", "2*N+1"},
        {"T+P", "P+T"},
        {"T*N", "N*T"},
        {" P + T ", "P+T"},
        {"N+N", "2*N"},
        {"N-N", "0"},
        {"N-N+4", "4"},
        {"-N+1", "-N+1"},
        {"1-N", "-N+1"},
        {"N-1", "N-1"},
        {"2*3*N*4", "24*N"},
        {"0*N+5", "5"},
        {"N+N*N+1+T", "N*N+N+T+1"},
        {"Nb+N+N.a", "N+N.a+Nb"},
        {"onnx::Dim_1", "onnx::Dim_1"},
        {"_x9", "_x9"},
        {"-2*B*A", "-2*A*B"},
        {"4611686018427387904", "4611686018427387904"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        expect_text(parse(pairs[i][0]), pairs[i][1]);
        expect_text(parse(pairs[i][1]), pairs[i][1]);
    }
    CU_ASSERT(iso_dim_is_static(parse("N-N+4")));
    CU_ASSERT_FALSE(iso_dim_is_static(parse("N")));
    CU_ASSERT_PTR_EQUAL(parse("T+P").sym, parse("P+T").sym);
}

static void test_what_is_no_dim(void)
{
    static const char *const bad[] = {
        "",
        " ",
        "+",
        "-",
        "*",
        "N+",
        "N*",
        "*N",
        "2N",
        "N N",
        "batch size",
        "N/2",
        "(N)",
        "N^2",
        "--N",
        "N--1",
        "N+-1",
        "N++1",
        "1.5",
        "0x10",
        "?",
        ".N",
        ":N",
        "N\n",
        "N\t+1",
        "\xc3\xa9",
        "N,T",
        "A*B*C*D*E",
        "a+b+c+d+e+f+g+h+i",
        "4611686018427387905",
        "99999999999999999999999999",
        "4611686018427387904*2",
        "4611686018427387904+1",
        "4611686018427387904*N+N",
        "-4611686018427387904-1",
    };
    static char huge[100001];
    iso_dim_t dim = iso_dim_of(77);

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CU_ASSERT_EQUAL(iso_dim_parse(bad[i], &dim), ISO_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "dim '"));
    }
    memset(huge, 'x', sizeof huge - 1);
    CU_ASSERT_EQUAL(iso_dim_parse(huge, &dim), ISO_INVAL);
    CU_ASSERT(strlen(iso_error_text()) < 200);
    /* Short when read, too long when the names are written in each term. */
    huge[3000] = '\0';
    iso_dim_t name = parse(huge);
    CU_ASSERT_EQUAL(iso_dim_mul(name, name, &dim), ISO_INVAL);
    CU_ASSERT_EQUAL(dim.size, 77);
    CU_ASSERT_PTR_NULL(dim.sym);
}

static void test_arithmetic(void)
{
    iso_dim_t dim;

    CU_ASSERT_EQUAL(iso_dim_add(parse("N"), parse("2*N+1"), &dim), ISO_OK);
    expect_text(dim, "3*N+1");
    CU_ASSERT_EQUAL(iso_dim_sub(parse("P+T"), parse("P"), &dim), ISO_OK);
    expect_text(dim, "T");
    CU_ASSERT_EQUAL(iso_dim_sub(parse("P+T"), parse("T+P"), &dim), ISO_OK);
    CU_ASSERT(iso_dim_equal(dim, iso_dim_of(0)));
    CU_ASSERT_EQUAL(iso_dim_mul(parse("N+1"), parse("N-1"), &dim), ISO_OK);
    expect_text(dim, "N*N-1");
    CU_ASSERT_EQUAL(iso_dim_mul(parse("N"), iso_dim_of(50), &dim), ISO_OK);
    expect_text(dim, "50*N");
    CU_ASSERT_EQUAL(iso_dim_mul(parse("N"), iso_dim_of(0), &dim), ISO_OK);
    CU_ASSERT(iso_dim_equal(dim, iso_dim_of(0)));
    CU_ASSERT_EQUAL(iso_dim_mul(iso_dim_of(-6), iso_dim_of(7), &dim), ISO_OK);
    CU_ASSERT(iso_dim_equal(dim, iso_dim_of(-42)));
    /* The result may be one of the operands. */
    dim = parse("N");
    CU_ASSERT_EQUAL(iso_dim_add(dim, dim, &dim), ISO_OK);
    expect_text(dim, "2*N");
}

static void test_overflow(void)
{
    const iso_dim_t most = iso_dim_of(INT64_C(1) << 62);
    const iso_dim_t extremes[] = {iso_dim_of(INT64_MAX), iso_dim_of(INT64_MIN)};
    iso_dim_t dim = iso_dim_of(77);
    bool exact = false;

    CU_ASSERT_EQUAL(iso_dim_add(most, iso_dim_of(1), &dim), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_dim_add(most, most, &dim), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_dim_mul(most, iso_dim_of(-2), &dim), ISO_INVAL);
    CU_ASSERT_EQUAL(
        iso_dim_mul(iso_dim_of(3037000500), iso_dim_of(3037000500), &dim),
        ISO_INVAL);
    CU_ASSERT_EQUAL(iso_dim_mul(parse("A*B*C"), parse("A*B"), &dim), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_dim_mul(parse("a+b+c"), parse("d+e+f"), &dim),
                    ISO_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "(a+b+c) * (d+e+f)"));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(iso_dim_add(extremes[i], iso_dim_of(0), &dim),
                        ISO_INVAL);
        CU_ASSERT_EQUAL(iso_dim_sub(extremes[i], extremes[i], &dim), ISO_INVAL);
        CU_ASSERT_EQUAL(iso_dim_div(extremes[i], iso_dim_of(-1), &dim, &exact),
                        ISO_INVAL);
    }
    CU_ASSERT_EQUAL(dim.size, 77);
    CU_ASSERT_EQUAL(iso_dim_add(most, iso_dim_of(-1), &dim), ISO_OK);
    CU_ASSERT_EQUAL(dim.size, (INT64_C(1) << 62) - 1);
}

static void test_least(void)
{
    static const struct {
        const char *text;
        int64_t least;
    } known[] = {
        {"7", 7},    {"-7", -7},     {"N", 1},         {"2*N+1", 3},
        {"N-5", -4}, {"N*T+N-2", 0}, {"3*A+2*B-5", 0},
    };
    static const char *const unknown[] = {"-N", "5-N", "N-T", "N*N-N"};
    int64_t least = 77;

    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        CU_ASSERT_FALSE(iso_dim_least(parse(unknown[i]), &least));
    }
    CU_ASSERT_FALSE(iso_dim_least(
        parse("4611686018427387904*A+4611686018427387904"), &least));
    CU_ASSERT_EQUAL(least, 77);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        CU_ASSERT(iso_dim_least(parse(known[i].text), &least));
        CU_ASSERT_EQUAL(least, known[i].least);
    }
}

static void test_division(void)
{
    static const char *const exact_ones[][3] = {
        {"12", "4", "3"},
        {"-12", "4", "-3"},
        {"0", "N", "0"},
        {"50*N", "50", "N"},
        {"50*N", "N", "50"},
        {"6*N*T", "2*T", "3*N"},
        {"N*N-1", "N-1", "N+1"},
        {"2*N+2*T", "N+T", "2"},
        {"N*N+2*N*T+T*T", "N+T", "N+T"},
        {"N*T+3*T", "T", "N+3"},
        {"N+1", "-1", "-N-1"},
    };
    static const char *const others[][2] = {
        {"7", "2"}, {"N", "2"},     {"N", "T"},       {"N+1", "N"},
        {"3", "N"}, {"2*N+1", "2"}, {"N*N+1", "N+1"}, {"N", "N*N"},
    };
    iso_dim_t dim;
    bool exact = false;

    for (size_t i = 0; i < sizeof exact_ones / sizeof exact_ones[0]; i++) {
        exact = false;
        CU_ASSERT_EQUAL(iso_dim_div(parse(exact_ones[i][0]),
                                    parse(exact_ones[i][1]), &dim, &exact),
                        ISO_OK);
        CU_ASSERT(exact);
        expect_text(dim, exact_ones[i][2]);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        exact = true;
        dim = iso_dim_of(77);
        CU_ASSERT_EQUAL(
            iso_dim_div(parse(others[i][0]), parse(others[i][1]), &dim, &exact),
            ISO_OK);
        CU_ASSERT_FALSE(exact);
        CU_ASSERT_EQUAL(dim.size, 77);
    }
    exact = true;
    CU_ASSERT_EQUAL(iso_dim_div(parse("N"), iso_dim_of(0), &dim, &exact),
                    ISO_INVAL);
    CU_ASSERT_EQUAL(dim.size, 77);
    CU_ASSERT(exact);
}

static void test_bind(void)
{
    const iso_binding_t bindings[] = {{"N", 5}, {"T", 0}, {"Big", INT64_MAX}};
    iso_dim_t dim;

    CU_ASSERT_EQUAL(iso_dim_bind(parse("2*N+1"), bindings, 3, &dim), ISO_OK);
    CU_ASSERT(iso_dim_equal(dim, iso_dim_of(11)));
    CU_ASSERT_EQUAL(iso_dim_bind(parse("N*M+N+NN"), bindings, 3, &dim), ISO_OK);
    expect_text(dim, "5*M+NN+5");
    CU_ASSERT_EQUAL(iso_dim_bind(parse("T*M"), bindings, 3, &dim), ISO_OK);
    CU_ASSERT(iso_dim_equal(dim, iso_dim_of(0)));
    CU_ASSERT_EQUAL(iso_dim_bind(parse("N-9"), bindings, 3, &dim), ISO_OK);
    CU_ASSERT(iso_dim_equal(dim, iso_dim_of(-4)));
    CU_ASSERT_EQUAL(iso_dim_bind(parse("N"), NULL, 0, &dim), ISO_OK);
    expect_text(dim, "N");
    CU_ASSERT_EQUAL(iso_dim_bind(iso_dim_of(INT64_MIN), bindings, 3, &dim),
                    ISO_OK);
    CU_ASSERT_EQUAL(dim.size, INT64_MIN);
    CU_ASSERT_EQUAL(iso_dim_bind(parse("Big"), bindings, 3, &dim), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_dim_bind(parse("Big*Big"), bindings, 3, &dim),
                    ISO_INVAL);
}

static void join_name(const char *name, void *arg)
{
    char *list = arg;

    (void)strncat(list, name, 63 - strlen(list));
    (void)strncat(list, ";", 63 - strlen(list));
}

static void test_names(void)
{
    char list[64] = "";

    iso_dim_names(parse("T*T+2*N*T+N+1"), join_name, list);
    CU_ASSERT_STRING_EQUAL(list, "N;T;");
    list[0] = '\0';
    iso_dim_names(iso_dim_of(4), join_name, list);
    CU_ASSERT_STRING_EQUAL(list, "");
}

static unsigned long long seed = 20240607;

static int64_t draw(int64_t least, int64_t most)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return least +
           (int64_t)((seed >> 33) % (unsigned long long)(most - least + 1));
}

/* A random sum of at most two terms, so that products stay small. */
static iso_dim_t draw_dim(void)
{
    static const char *const names[] = {"N", "T", "Past"};
    char text[64];

    (void)snprintf(text, sizeof text, "%lld*%s+%lld", (long long)draw(-9, 9),
                   names[draw(0, 2)], (long long)draw(-9, 9));
    for (char *plus = strstr(text, "+-"); plus != NULL;
         plus = strstr(text, "+-")) {
        memmove(plus, plus + 1, strlen(plus));
    }
    return parse(text);
}

static int64_t value_of(iso_dim_t dim, const iso_binding_t *bindings)
{
    iso_dim_t bound = iso_dim_of(INT64_MIN);

    CU_ASSERT_EQUAL(iso_dim_bind(dim, bindings, 3, &bound), ISO_OK);
    CU_ASSERT(iso_dim_is_static(bound));
    return bound.size;
}

/* Computing with names and binding afterwards is computing with numbers. */
static void test_binding_commutes(void)
{
    (void)printf("seed %llu ", seed);
    for (int i = 0; i < 2000; i++) {
        const iso_binding_t bindings[] = {
            {"N", draw(0, 100)}, {"T", draw(0, 100)}, {"Past", draw(0, 100)}};
        iso_dim_t a = draw_dim();
        iso_dim_t b = draw_dim();
        int64_t value_a = value_of(a, bindings);
        int64_t value_b = value_of(b, bindings);
        iso_dim_t dim;
        bool exact = false;

        CU_ASSERT_EQUAL(iso_dim_add(a, b, &dim), ISO_OK);
        CU_ASSERT_EQUAL(value_of(dim, bindings), value_a + value_b);
        CU_ASSERT_EQUAL(iso_dim_sub(a, b, &dim), ISO_OK);
        CU_ASSERT_EQUAL(value_of(dim, bindings), value_a - value_b);
        CU_ASSERT_EQUAL(iso_dim_mul(a, b, &dim), ISO_OK);
        CU_ASSERT_EQUAL(value_of(dim, bindings), value_a * value_b);
        if (!iso_dim_equal(b, iso_dim_of(0))) {
            CU_ASSERT_EQUAL(iso_dim_div(dim, b, &dim, &exact), ISO_OK);
            CU_ASSERT(exact);
            CU_ASSERT(iso_dim_equal(dim, a));
        }
    }
}

static void *parse_many(void *arg)
{
    const char **syms = arg;

    for (int i = 0; i < 1000; i++) {
        char text[32];
        iso_dim_t dim = {0};
        (void)snprintf(text, sizeof text, "Thread_%d+1", i);
        if (iso_dim_parse(text, &dim) == ISO_OK) {
            syms[i] = dim.sym;
        }
    }
    return NULL;
}

static void test_threads_share_the_texts(void)
{
    static const char *syms[4][1000];
    pthread_t threads[4];
    int bad = 0;

    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&threads[i], NULL, parse_many, syms[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < 1000; i++) {
        bad += syms[0][i] == NULL || syms[0][i] != syms[1][i] ||
               syms[0][i] != syms[2][i] || syms[0][i] != syms[3][i];
    }
    CU_ASSERT_EQUAL(bad, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"canonical text", test_canonical_text},
        {"what is no dim", test_what_is_no_dim},
        {"arithmetic", test_arithmetic},
        {"overflow", test_overflow},
        {"least", test_least},
        {"division", test_division},
        {"bind", test_bind},
        {"names", test_names},
        {"binding commutes", test_binding_commutes},
        {"threads share the texts", test_threads_share_the_texts},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"dim", NULL, NULL, test_remember_blocks, test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
