#include "base/arena.h"
#include "base/mem.h"
#include "graph/symbolic.h"
#include "iso_test_graph.h"

/* One arena for each test; checks that nothing is left. */
typedef struct fixture {
    int64_t blocks;
    iso_arena_t *arena;
} fixture_t;

static fixture_t begin(void)
{
    fixture_t fixture = {.blocks = iso_mem_count().blocks};

    CU_ASSERT_EQUAL_FATAL(iso_arena_create(&fixture.arena), ISO_OK);
    return fixture;
}

static void end(fixture_t *fixture)
{
    iso_arena_destroy(&fixture->arena);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, fixture->blocks);
}

/* "N,-1,64" as integers of rank 1. */
static iso_ints_t ints_of(iso_arena_t *arena, const char *text)
{
    iso_shape_t shape = test_shape(text);
    iso_ints_t ints = {0};

    CU_ASSERT_EQUAL_FATAL(iso_ints_of_shape(arena, &shape, &ints), ISO_OK);
    return ints;
}

static iso_ints_t scalar_of(iso_arena_t *arena, const char *text)
{
    iso_ints_t ints = ints_of(arena, text);

    CU_ASSERT_EQUAL(iso_ints_reshape(&ints, 0, NULL, &ints), ISO_OK);
    return ints;
}

/* Elements, with commas. */
static bool has_values(const iso_ints_t *ints, const char *expected)
{
    char text[1024] = "";
    size_t length = 0;
    char number[ISO_DIM_TEXT_BYTES];

    for (int64_t i = 0; i < ints->count && length < sizeof text; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
                                   i > 0 ? "," : "",
                                   iso_dim_text(ints->values[i], number));
    }
    if (strcmp(text, expected) != 0) {
        (void)fprintf(stderr, "expected '%s', found '%s'\n", expected, text);
        return false;
    }
    return true;
}

/* -- in and out -- */

static void test_of_tensor(void)
{
    fixture_t f = begin();
    int64_t wide[] = {-1, INT64_MAX, INT64_MIN, 0};
    int32_t narrow[] = {-7, 9};
    unsigned char truth[] = {0, 1, 2};
    float real = 1.0F;
    iso_tensor_t tensor = {ISO_DTYPE_I64, 2, {2, 2}, wide};
    iso_ints_t ints;
    bool is = false;

    CU_ASSERT_EQUAL(iso_ints_of_tensor(f.arena, &tensor, &ints, &is), ISO_OK);
    CU_ASSERT(is && ints.rank == 2 && ints.dims[1] == 2);
    CU_ASSERT(
        has_values(&ints, "-1,9223372036854775807,-9223372036854775808,0"));
    tensor = (iso_tensor_t){ISO_DTYPE_I32, 1, {2}, narrow};
    CU_ASSERT_EQUAL(iso_ints_of_tensor(f.arena, &tensor, &ints, &is), ISO_OK);
    CU_ASSERT(is && has_values(&ints, "-7,9"));
    tensor = (iso_tensor_t){ISO_DTYPE_BOOL, 1, {3}, truth};
    CU_ASSERT_EQUAL(iso_ints_of_tensor(f.arena, &tensor, &ints, &is), ISO_OK);
    CU_ASSERT(is && has_values(&ints, "0,1,1"));
    tensor = (iso_tensor_t){ISO_DTYPE_I64, 1, {0}, NULL};
    CU_ASSERT_EQUAL(iso_ints_of_tensor(f.arena, &tensor, &ints, &is), ISO_OK);
    CU_ASSERT(is && ints.count == 0);
    tensor = (iso_tensor_t){ISO_DTYPE_F32, 0, {0}, &real};
    CU_ASSERT_EQUAL(iso_ints_of_tensor(f.arena, &tensor, &ints, &is), ISO_OK);
    CU_ASSERT_FALSE(is);
    tensor = (iso_tensor_t){ISO_DTYPE_I64, 1, {ISO_INTS_MOST + 1}, wide};
    CU_ASSERT_EQUAL(iso_ints_of_tensor(f.arena, &tensor, &ints, &is), ISO_OK);
    CU_ASSERT_FALSE(is);
    end(&f);
}

static void test_to_tensor(void)
{
    fixture_t f = begin();
    iso_ints_t ints = ints_of(f.arena, "3,-4");
    iso_tensor_t tensor;

    CU_ASSERT(iso_ints_are_static(&ints));
    CU_ASSERT_EQUAL(iso_ints_to_tensor(f.arena, &ints, &tensor), ISO_OK);
    CU_ASSERT_EQUAL(((int64_t *)tensor.data)[1], -4);
    ints.dtype = ISO_DTYPE_I32;
    CU_ASSERT_EQUAL(iso_ints_to_tensor(f.arena, &ints, &tensor), ISO_OK);
    CU_ASSERT_EQUAL(((int32_t *)tensor.data)[1], -4);
    ints.dtype = ISO_DTYPE_BOOL;
    CU_ASSERT_EQUAL(iso_ints_to_tensor(f.arena, &ints, &tensor), ISO_OK);
    CU_ASSERT_EQUAL(((unsigned char *)tensor.data)[0], 1);
    ints = ints_of(f.arena, "2147483649");
    ints.dtype = ISO_DTYPE_I32;
    CU_ASSERT_EQUAL(iso_ints_to_tensor(f.arena, &ints, &tensor), ISO_INVAL);
    CU_ASSERT(test_failed_with("2147483649"));
    ints = ints_of(f.arena, "1,N");
    CU_ASSERT_FALSE(iso_ints_are_static(&ints));
    CU_ASSERT_EQUAL(iso_ints_to_tensor(f.arena, &ints, &tensor), ISO_INVAL);
    CU_ASSERT(test_failed_with("'N'"));
    end(&f);
}

/* -- arithmetic -- */

typedef struct binary_case {
    iso_op_t op;
    const char *a;
    const char *b;
    const char *expected; /* NULL: not known */
} binary_case_t;

static void check_binary(const binary_case_t *cases, size_t count)
{
    fixture_t f = begin();

    for (size_t i = 0; i < count; i++) {
        iso_ints_t a = ints_of(f.arena, cases[i].a);
        iso_ints_t b = ints_of(f.arena, cases[i].b);
        iso_ints_t result = {0};
        bool known = false;

        CU_ASSERT_EQUAL(
            iso_ints_binary(f.arena, cases[i].op, &a, &b, &result, &known),
            ISO_OK);
        CU_ASSERT_EQUAL(known, cases[i].expected != NULL);
        if (known && cases[i].expected != NULL) {
            CU_ASSERT(has_values(&result, cases[i].expected));
        } else if (cases[i].expected != NULL) {
            (void)fprintf(stderr, "%s %s %s should be known\n", cases[i].a,
                          iso_op_string(cases[i].op), cases[i].b);
        }
    }
    end(&f);
}

static void test_arithmetic(void)
{
    static const binary_case_t cases[] = {
        {ISO_OP_ADD, "P,3", "T,4", "P+T,7"},
        {ISO_OP_SUB, "N", "N", "0"},
        {ISO_OP_MUL, "1,1,N", "-1", "-1,-1,-N"},
        {ISO_OP_MUL, "N", "50", "50*N"},
        {ISO_OP_ADD, "4611686018427387904", "1", NULL},
        {ISO_OP_DIV, "64", "4", "16"},
        {ISO_OP_DIV, "-7", "2", "-3"},
        {ISO_OP_DIV, "7", "-2", "-3"},
        {ISO_OP_DIV, "50*N", "N", "50"},
        {ISO_OP_DIV, "50*N", "10", "5*N"},
        {ISO_OP_DIV, "N", "3", NULL},
        {ISO_OP_DIV, "N", "0", NULL},
        {ISO_OP_DIV, "5", "0", NULL},
        {ISO_OP_MOD, "7", "4", "3"},
        {ISO_OP_MOD, "-7", "4", NULL},
        {ISO_OP_MOD, "7", "0", NULL},
        {ISO_OP_MOD, "8*N", "4", "0"},
        {ISO_OP_MOD, "N", "0", NULL},
        {ISO_OP_MOD, "N", "4", NULL},
        {ISO_OP_POW, "2", "3", NULL},
    };

    check_binary(cases, sizeof cases / sizeof cases[0]);
}

/* A free dim is at least 1. */
static void test_comparison(void)
{
    static const binary_case_t cases[] = {
        {ISO_OP_EQUAL, "N,-1,-1", "-1,-1,-1", "0,1,1"},
        {ISO_OP_EQUAL, "N,N", "N,0", "1,0"},
        {ISO_OP_EQUAL, "N", "1", NULL},
        {ISO_OP_EQUAL, "N", "M", NULL},
        {ISO_OP_EQUAL, "N+1", "N", "0"},
        {ISO_OP_EQUAL, "P+T", "P", "0"},
        {ISO_OP_EQUAL, "N*M", "N", NULL},
        {ISO_OP_LESS, "0", "N", "1"},
        {ISO_OP_LESS, "N", "7", NULL},
        {ISO_OP_LESS, "N", "1", "0"},
        {ISO_OP_LESS, "N", "2*N", "1"},
        {ISO_OP_LESS_EQUAL, "1", "N", "1"},
        {ISO_OP_LESS_EQUAL, "P", "P+T", "1"},
        {ISO_OP_LESS_EQUAL, "2", "N", NULL},
        {ISO_OP_GREATER, "N", "0", "1"},
        {ISO_OP_GREATER, "N", "1", NULL},
        {ISO_OP_GREATER, "N+1", "1", "1"},
        {ISO_OP_GREATER_EQUAL, "N", "1", "1"},
        {ISO_OP_GREATER_EQUAL, "2*N+3*M", "5", "1"},
        {ISO_OP_GREATER_EQUAL, "2*N+3*M", "6", NULL},
        {ISO_OP_GREATER_EQUAL, "-N", "0", "0"},
        {ISO_OP_MAX, "N,3", "1,4", "N,4"},
        {ISO_OP_MAX, "N", "2", NULL},
        {ISO_OP_MIN, "P", "P+T", "P"},
        {ISO_OP_MIN, "N", "M", NULL},
        {ISO_OP_AND, "1,1", "0,1", "0,1"},
        {ISO_OP_OR, "0,1", "0,1", "0,1"},
        {ISO_OP_XOR, "1,1", "0,1", "1,0"},
        {ISO_OP_AND, "N", "1", NULL},
    };

    check_binary(cases, sizeof cases / sizeof cases[0]);
}

/* Numbers past the 2^62 that dims are computed with. */
static void test_widest_numbers(void)
{
    fixture_t f = begin();
    iso_ints_t a = ints_of(f.arena, "0");
    iso_ints_t b = ints_of(f.arena, "0");
    iso_ints_t result;
    bool known = false;

    a.values[0] = iso_dim_of(INT64_MIN);
    b.values[0] = iso_dim_of(INT64_MAX);
    CU_ASSERT_EQUAL(
        iso_ints_binary(f.arena, ISO_OP_LESS, &a, &b, &result, &known), ISO_OK);
    CU_ASSERT(known && has_values(&result, "1"));
    CU_ASSERT_EQUAL(result.dtype, ISO_DTYPE_BOOL);
    CU_ASSERT_EQUAL(
        iso_ints_binary(f.arena, ISO_OP_SUB, &a, &b, &result, &known), ISO_OK);
    CU_ASSERT_FALSE(known);
    b.values[0] = iso_dim_of(-1);
    CU_ASSERT_EQUAL(
        iso_ints_binary(f.arena, ISO_OP_DIV, &a, &b, &result, &known), ISO_OK);
    CU_ASSERT_FALSE(known);
    end(&f);
}

static void test_broadcasting(void)
{
    static const int64_t column[] = {2, 1};
    fixture_t f = begin();
    iso_ints_t a = ints_of(f.arena, "N,10");
    iso_ints_t b = ints_of(f.arena, "1,2,3");
    iso_ints_t zero = scalar_of(f.arena, "0");
    iso_ints_t none = {.dtype = ISO_DTYPE_I64, .rank = 1, .dims = {0}};
    iso_ints_t result;
    bool known = false;

    CU_ASSERT_EQUAL(
        iso_ints_binary(f.arena, ISO_OP_ADD, &a, &b, &result, &known),
        ISO_SHAPE);
    CU_ASSERT_EQUAL(iso_ints_reshape(&a, 2, column, &a), ISO_OK);
    CU_ASSERT_EQUAL(
        iso_ints_binary(f.arena, ISO_OP_ADD, &a, &b, &result, &known), ISO_OK);
    CU_ASSERT(known && result.rank == 2 && result.dims[0] == 2 &&
              result.dims[1] == 3);
    CU_ASSERT(has_values(&result, "N+1,N+2,N+3,11,12,13"));
    CU_ASSERT_EQUAL(
        iso_ints_binary(f.arena, ISO_OP_ADD, &none, &zero, &result, &known),
        ISO_OK);
    CU_ASSERT(known && result.count == 0 && result.dims[0] == 0);
    end(&f);
}

static void test_where(void)
{
    fixture_t f = begin();
    iso_ints_t yes = ints_of(f.arena, "1,1,1");
    iso_ints_t no = ints_of(f.arena, "N,-1,M");
    iso_ints_t condition = ints_of(f.arena, "0,1,0");
    iso_ints_t result;
    bool known = false;

    CU_ASSERT_EQUAL(
        iso_ints_where(f.arena, &condition, &yes, &no, &result, &known),
        ISO_OK);
    CU_ASSERT(known && has_values(&result, "N,1,M"));
    CU_ASSERT_EQUAL(result.dtype, ISO_DTYPE_I64);
    condition = ints_of(f.arena, "N");
    CU_ASSERT_EQUAL(
        iso_ints_where(f.arena, &condition, &yes, &no, &result, &known),
        ISO_OK);
    CU_ASSERT_FALSE(known);
    CU_ASSERT_EQUAL(
        iso_ints_where(f.arena, &condition, &no, &no, &result, &known), ISO_OK);
    CU_ASSERT(known && has_values(&result, "N,-1,M"));
    end(&f);
}

/* -- moving -- */

static void test_concat(void)
{
    static const int64_t square[] = {2, 2};
    fixture_t f = begin();
    iso_ints_t parts[3] = {ints_of(f.arena, "N"),
                           ints_of(f.arena, "-1,64"),
                           {.dtype = ISO_DTYPE_I64, .rank = 1, .dims = {0}}};
    iso_ints_t result;

    CU_ASSERT_EQUAL(iso_ints_concat(f.arena, parts, 3, 0, &result), ISO_OK);
    CU_ASSERT(has_values(&result, "N,-1,64"));
    parts[0] = ints_of(f.arena, "1,2,3,4");
    parts[1] = ints_of(f.arena, "5,6,7,8");
    CU_ASSERT_EQUAL(iso_ints_reshape(&parts[0], 2, square, &parts[0]), ISO_OK);
    CU_ASSERT_EQUAL(iso_ints_concat(f.arena, parts, 2, 0, &result), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_ints_reshape(&parts[1], 2, square, &parts[1]), ISO_OK);
    CU_ASSERT_EQUAL(iso_ints_concat(f.arena, parts, 2, -1, &result), ISO_OK);
    CU_ASSERT(has_values(&result, "1,2,5,6,3,4,7,8"));
    CU_ASSERT_EQUAL(iso_ints_concat(f.arena, parts, 2, 2, &result), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_ints_concat(f.arena, parts, 2, -3, &result), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_ints_concat(f.arena, parts, 0, 0, &result), ISO_INVAL);
    parts[0] = scalar_of(f.arena, "1");
    CU_ASSERT_EQUAL(iso_ints_concat(f.arena, parts, 1, 0, &result), ISO_INVAL);
    end(&f);
}

static void test_gather(void)
{
    static const int64_t wide[] = {2, 3};
    fixture_t f = begin();
    iso_ints_t data = ints_of(f.arena, "N,50,64,a,b,c");
    iso_ints_t index = scalar_of(f.arena, "-6");
    iso_ints_t result;
    bool known = false;

    CU_ASSERT_EQUAL(iso_ints_gather(f.arena, &data, &index, 0, &result, &known),
                    ISO_OK);
    CU_ASSERT(known && result.rank == 0 && has_values(&result, "N"));
    index = ints_of(f.arena, "1,-2");
    CU_ASSERT_EQUAL(iso_ints_reshape(&data, 2, wide, &data), ISO_OK);
    CU_ASSERT_EQUAL(iso_ints_gather(f.arena, &data, &index, 1, &result, &known),
                    ISO_OK);
    CU_ASSERT(known && result.dims[1] == 2);
    CU_ASSERT(has_values(&result, "50,50,b,b"));
    CU_ASSERT_EQUAL(iso_ints_gather(f.arena, &data, &index, 0, &result, &known),
                    ISO_OK);
    CU_ASSERT(known && has_values(&result, "a,b,c,N,50,64"));
    index = ints_of(f.arena, "2");
    CU_ASSERT_EQUAL(iso_ints_gather(f.arena, &data, &index, 0, &result, &known),
                    ISO_INVAL);
    CU_ASSERT(test_failed_with("index 2 of 2"));
    index = ints_of(f.arena, "-3");
    CU_ASSERT_EQUAL(iso_ints_gather(f.arena, &data, &index, 0, &result, &known),
                    ISO_INVAL);
    index = ints_of(f.arena, "N");
    CU_ASSERT_EQUAL(iso_ints_gather(f.arena, &data, &index, 0, &result, &known),
                    ISO_OK);
    CU_ASSERT_FALSE(known);
    end(&f);
}

/* Elements of range(5)[start:stop:step], walked as Python does. */
static int count_wrong_slices(const iso_ints_t *cut, int64_t start,
                              int64_t stop, int64_t step)
{
    int64_t from = start < 0 ? start + 5 : start;
    int64_t to = stop < 0 ? stop + 5 : stop;
    int64_t count = 0;
    int bad = 0;

    if (step < 0 && from > 4) {
        from = 4;
    }
    if (step > 0 && from < 0) {
        from = 0;
    }
    for (int64_t i = from; i >= 0 && i <= 4 && (step > 0 ? i < to : i > to);
         i += step) {
        bad += count >= cut->count || cut->values[count].size != i;
        count++;
    }
    return bad + (count != cut->count);
}

static void test_slice_against_python(void)
{
    fixture_t f = begin();
    iso_ints_t data = ints_of(f.arena, "0,1,2,3,4");
    int bad = 0;

    for (int i = 0; i < 6 * 15 * 15; i++) {
        int64_t step = i / 225 < 3 ? i / 225 - 3 : i / 225 - 2;
        int64_t start = i / 15 % 15 - 7;
        int64_t stop = i % 15 - 7;
        iso_ints_t cut = {0};

        bad += iso_ints_slice(f.arena, &data, start, stop, step, 0, &cut) !=
               ISO_OK;
        bad += count_wrong_slices(&cut, start, stop, step);
    }
    CU_ASSERT_EQUAL(bad, 0);
    end(&f);
}

static void test_slice(void)
{
    static const int64_t wide[] = {2, 3};
    fixture_t f = begin();
    iso_ints_t data = ints_of(f.arena, "B,4,P+T,8,5,6");
    iso_ints_t cut;

    CU_ASSERT_EQUAL(iso_ints_slice(f.arena, &data, 0, 2, 1, 0, &cut), ISO_OK);
    CU_ASSERT(has_values(&cut, "B,4"));
    CU_ASSERT_EQUAL(
        iso_ints_slice(f.arena, &data, 2, INT64_MAX, INT64_MAX, -1, &cut),
        ISO_OK);
    CU_ASSERT(has_values(&cut, "P+T"));
    CU_ASSERT_EQUAL(iso_ints_slice(f.arena, &data, INT64_MAX, INT64_MIN,
                                   -INT64_MAX, 0, &cut),
                    ISO_OK);
    CU_ASSERT(has_values(&cut, "6"));
    CU_ASSERT_EQUAL(iso_ints_slice(f.arena, &data, 0, 2, 0, 0, &cut),
                    ISO_INVAL);
    CU_ASSERT_EQUAL(iso_ints_slice(f.arena, &data, 0, 2, INT64_MIN, 0, &cut),
                    ISO_INVAL);
    CU_ASSERT_EQUAL(iso_ints_slice(f.arena, &data, 0, 2, 1, 1, &cut),
                    ISO_INVAL);
    CU_ASSERT_EQUAL(iso_ints_reshape(&data, 2, wide, &data), ISO_OK);
    CU_ASSERT_EQUAL(iso_ints_slice(f.arena, &data, -1, 0, -1, 1, &cut), ISO_OK);
    CU_ASSERT(has_values(&cut, "P+T,4,6,5"));
    end(&f);
}

static void test_reshape_and_product(void)
{
    static const int64_t wide[] = {3, 1};
    static const int64_t wrong[] = {2, 2};
    static const int64_t negative[] = {-3};
    fixture_t f = begin();
    iso_ints_t data = ints_of(f.arena, "N,50,M");
    iso_ints_t result;

    CU_ASSERT_EQUAL(iso_ints_product(f.arena, &data, &result), ISO_OK);
    CU_ASSERT(result.rank == 0 && has_values(&result, "50*M*N"));
    CU_ASSERT_EQUAL(iso_ints_reshape(&data, 2, wide, &result), ISO_OK);
    CU_ASSERT(result.rank == 2 && has_values(&result, "N,50,M"));
    CU_ASSERT_EQUAL(iso_ints_reshape(&data, 2, wrong, &result), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_ints_reshape(&data, 0, NULL, &result), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_ints_reshape(&data, 1, negative, &result), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_ints_reshape(&data, 9, NULL, &result), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_ints_reshape(&data, -1, NULL, &result), ISO_INVAL);
    data = ints_of(f.arena, "");
    CU_ASSERT_EQUAL(iso_ints_product(f.arena, &data, &result), ISO_OK);
    CU_ASSERT(has_values(&result, "1"));
    data = ints_of(f.arena, "4294967296,4294967296");
    CU_ASSERT_EQUAL(iso_ints_product(f.arena, &data, &result), ISO_INVAL);
    end(&f);
}

/* Dims beyond all bounds beside a 0: no element, and still refused, or work
 * before and behind the 0 would overflow or not end. */
static void test_hostile_dims(void)
{
    const int64_t huge = INT64_C(1) << 62;
    const int64_t dims[][3] = {
        {huge, huge, 0}, {0, huge, huge},       {huge, 0, huge},
        {huge, 0, 1},    {1 << 20, 0, 1 << 20}, {INT64_MAX, INT64_MAX, 0},
        {0, -1, 1},      {INT64_MIN, 0, 1}};
    const int64_t most[] = {1 << 12, 0, 1 << 12};
    fixture_t f = begin();
    const iso_ints_t none = ints_of(f.arena, "");
    iso_tensor_t tensor = {ISO_DTYPE_I64, 3, {0}, NULL};
    iso_ints_t parts[2];
    iso_ints_t result;
    bool known = true;

    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        CU_ASSERT_EQUAL(iso_ints_reshape(&none, 3, dims[i], &result),
                        ISO_INVAL);
        memcpy(tensor.dims, dims[i], sizeof dims[i]);
        CU_ASSERT_EQUAL(iso_ints_of_tensor(f.arena, &tensor, &result, &known),
                        ISO_OK);
        CU_ASSERT_FALSE(known);
    }
    CU_ASSERT_EQUAL_FATAL(iso_ints_reshape(&none, 3, most, &result), ISO_OK);
    CU_ASSERT_EQUAL(result.count, 0);
    parts[0] = parts[1] = result;
    CU_ASSERT_EQUAL(iso_ints_concat(f.arena, parts, 2, 0, &result), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_ints_concat(f.arena, parts, 2, 1, &result), ISO_OK);
    CU_ASSERT_EQUAL(iso_ints_slice(f.arena, parts, 5, INT64_MAX, 1, 2, &result),
                    ISO_OK);
    CU_ASSERT_EQUAL(result.dims[2], (1 << 12) - 5);
    CU_ASSERT_EQUAL(iso_ints_gather(f.arena, parts, parts, 1, &result, &known),
                    ISO_INVAL);
    CU_ASSERT_FALSE(known);
    end(&f);
}

/* A class token put in front of N sequences, as torch exports it: Shape,
 * Gather, Unsqueeze, Concat, ConstantOfShape, Mul, Equal, Where. */
static void test_expand_of_a_class_token(void)
{
    fixture_t f = begin();
    iso_ints_t shape = ints_of(f.arena, "N,49,64");
    iso_ints_t zero = scalar_of(f.arena, "0");
    iso_ints_t ones = ints_of(f.arena, "1,1,1");
    iso_ints_t minus = scalar_of(f.arena, "-1");
    iso_ints_t parts[3];
    iso_ints_t target;
    iso_ints_t wanted;
    iso_ints_t left;
    bool known = false;

    CU_ASSERT_EQUAL(
        iso_ints_gather(f.arena, &shape, &zero, 0, &parts[0], &known), ISO_OK);
    CU_ASSERT_EQUAL(
        iso_ints_reshape(&parts[0], 1, (const int64_t[]){1}, &parts[0]),
        ISO_OK);
    parts[1] = ints_of(f.arena, "-1");
    parts[2] = ints_of(f.arena, "-1");
    CU_ASSERT_EQUAL(iso_ints_concat(f.arena, parts, 3, 0, &target), ISO_OK);
    CU_ASSERT_EQUAL(
        iso_ints_binary(f.arena, ISO_OP_MUL, &ones, &minus, &wanted, &known),
        ISO_OK);
    CU_ASSERT_EQUAL(
        iso_ints_binary(f.arena, ISO_OP_EQUAL, &target, &wanted, &left, &known),
        ISO_OK);
    CU_ASSERT_TRUE_FATAL(known);
    CU_ASSERT_EQUAL(
        iso_ints_where(f.arena, &left, &ones, &target, &wanted, &known),
        ISO_OK);
    CU_ASSERT(known && has_values(&wanted, "N,1,1"));
    end(&f);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"of tensor", test_of_tensor},
        {"to tensor", test_to_tensor},
        {"arithmetic", test_arithmetic},
        {"comparison", test_comparison},
        {"widest numbers", test_widest_numbers},
        {"broadcasting", test_broadcasting},
        {"where", test_where},
        {"concat", test_concat},
        {"gather", test_gather},
        {"slice against python", test_slice_against_python},
        {"slice", test_slice},
        {"reshape and product", test_reshape_and_product},
        {"hostile dims", test_hostile_dims},
        {"expand of a class token", test_expand_of_a_class_token},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"symbolic", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
