#include "isotome/error.h"

#include "graph/param.h"
#include "iso_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define INTS(text, ...)                                     \
    {                                                       \
        .name = (text), .kind = ISO_ATTR_INTS,              \
        .count = (int)(sizeof(int64_t[]){__VA_ARGS__} / 8), \
        .value.ints = (const int64_t[])                     \
        {                                                   \
            __VA_ARGS__                                     \
        }                                                   \
    }
#define FLOATS(text, ...)                                  \
    {                                                      \
        .name = (text), .kind = ISO_ATTR_FLOATS,           \
        .count = (int)(sizeof(double[]){__VA_ARGS__} / 8), \
        .value.floats = (const double[])                   \
        {                                                  \
            __VA_ARGS__                                    \
        }                                                  \
    }
#define TEXT(name_text, word)                                   \
    {                                                           \
        .name = (name_text), .kind = ISO_ATTR_TEXT, .count = 1, \
        .value.text = (word)                                    \
    }
#define NODE(node_op, list)                                   \
    {                                                         \
        .name = "n", .op = ISO_OP_##node_op, .attrs = (list), \
        .n_attrs = (int)(sizeof(list) / sizeof(list)[0])      \
    }

/* ---- Scalars ---- */

static void test_scalars(void)
{
    const iso_attr_t attrs[] = {FLOATS("f", 0.25), FLOATS("ff", 1, 2),
                                INTS("i", -7), INTS("ii", 1, 2),
                                TEXT("t", "f64")};
    const iso_node_t node = NODE(CAST, attrs);
    int64_t number = 0;
    double real = 0;

    CU_ASSERT_EQUAL(iso_attr_int(&node, "i", 1, &number), ISO_OK);
    CU_ASSERT_EQUAL(number, -7);
    CU_ASSERT_EQUAL(iso_attr_int(&node, "none", 5, &number), ISO_OK);
    CU_ASSERT_EQUAL(number, 5);
    CU_ASSERT_EQUAL(iso_attr_int(&node, "ii", 1, &number), ISO_INVAL);
    CU_ASSERT_STRING_EQUAL(
        iso_error_text(),
        "node 'n' (cast): attribute 'ii' has 2 values, expected 1");
    CU_ASSERT_EQUAL(iso_attr_int(&node, "f", 1, &number), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_attr_int(&node, "t", 1, &number), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_attr_float(&node, "f", 1, &real), ISO_OK);
    CU_ASSERT_EQUAL(real, 0.25);
    CU_ASSERT_EQUAL(iso_attr_float(&node, "none", 0.5, &real), ISO_OK);
    CU_ASSERT_EQUAL(real, 0.5);
    CU_ASSERT_EQUAL(iso_attr_float(&node, "i", 1, &real), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_attr_float(&node, "ff", 1, &real), ISO_INVAL);
}

static void test_dims_as_numbers(void)
{
    const iso_dim_t number[] = {{.size = 9}};
    iso_dim_t symbol[1];
    iso_attr_t attrs[] = {
        {.name = "d", .kind = ISO_ATTR_DIMS, .count = 1, .value.dims = number}};
    const iso_node_t node = NODE(IOTA, attrs);
    int64_t value = 0;

    CU_ASSERT_EQUAL(iso_attr_int(&node, "d", 0, &value), ISO_OK);
    CU_ASSERT_EQUAL(value, 9);
    CU_ASSERT_EQUAL_FATAL(iso_dim_parse("P+T", &symbol[0]), ISO_OK);
    attrs[0].value.dims = symbol;
    CU_ASSERT_EQUAL(iso_attr_int(&node, "d", 0, &value), ISO_SHAPE);
    CU_ASSERT_STRING_EQUAL(iso_error_text(),
                           "node 'n' (iota): attribute 'd' holds 'P+T', "
                           "expected a number; bind its names");
}

static void test_axis(void)
{
    const iso_attr_t attrs[] = {INTS("axis", -2)};
    const iso_node_t node = NODE(SOFTMAX, attrs);
    const iso_node_t bare = {.name = "n", .op = ISO_OP_SOFTMAX};
    int axis = 0;

    CU_ASSERT_EQUAL(iso_axis_of(&node, 3, 0, &axis), ISO_OK);
    CU_ASSERT_EQUAL(axis, 1);
    CU_ASSERT_EQUAL(iso_axis_of(&node, 1, 0, &axis), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_axis_of(&bare, 3, -1, &axis), ISO_OK);
    CU_ASSERT_EQUAL(axis, 2);
    CU_ASSERT_EQUAL(iso_axis_of(&bare, 0, 0, &axis), ISO_INVAL);
}

static void test_cast_target(void)
{
    const iso_attr_t attrs[] = {TEXT("to", "bf16")};
    const iso_node_t node = NODE(CAST, attrs);
    const iso_node_t bare = {.name = "n", .op = ISO_OP_CAST};
    iso_dtype_t dtype = ISO_DTYPE_COUNT;

    CU_ASSERT_EQUAL(iso_cast_target(&node, &dtype), ISO_OK);
    CU_ASSERT_EQUAL(dtype, ISO_DTYPE_BF16);
    CU_ASSERT_EQUAL(iso_cast_target(&bare, &dtype), ISO_INVAL);
}

/* ---- Contractions, reductions, norms ---- */

static void test_conv(void)
{
    const iso_attr_t attrs[] = {
        TEXT("activation", "leaky_relu"), FLOATS("activation_alpha", 0.5),
        INTS("dilations", 1, 2),          INTS("groups", 4),
        INTS("pads", 1, 2, 3, 4),         INTS("strides", 5, 6)};
    const iso_node_t node = NODE(CONV, attrs);
    const iso_node_t bare = {.name = "n", .op = ISO_OP_CONV};
    const int64_t kernel[] = {3, 7, 1, 1};
    iso_conv_param_t p;

    CU_ASSERT_EQUAL(iso_conv_param_of(&node, 2, kernel, &p), ISO_OK);
    CU_ASSERT_EQUAL(p.window.n_spatial, 2);
    CU_ASSERT_EQUAL(p.window.kernel[1], 7);
    CU_ASSERT_EQUAL(p.window.strides[0], 5);
    CU_ASSERT_EQUAL(p.window.dilations[1], 2);
    CU_ASSERT_EQUAL(p.window.pads_begin[0], 1);
    CU_ASSERT_EQUAL(p.window.pads_begin[1], 2);
    CU_ASSERT_EQUAL(p.window.pads_end[0], 3);
    CU_ASSERT_EQUAL(p.window.pads_end[1], 4);
    CU_ASSERT_EQUAL(p.groups, 4);
    CU_ASSERT_EQUAL(p.activation.kind, ISO_ACTIVATION_LEAKY_RELU);
    CU_ASSERT_EQUAL(p.activation.alpha, 0.5F);
    CU_ASSERT_EQUAL(p.activation.max, INFINITY);
    CU_ASSERT_EQUAL(iso_conv_param_of(&bare, 3, kernel, &p), ISO_OK);
    CU_ASSERT_EQUAL(p.window.strides[2], 1);
    CU_ASSERT_EQUAL(p.window.dilations[2], 1);
    CU_ASSERT_EQUAL(p.window.pads_end[2], 0);
    CU_ASSERT_EQUAL(p.groups, 1);
    CU_ASSERT_EQUAL(p.activation.kind, ISO_ACTIVATION_NONE);
    CU_ASSERT_EQUAL(iso_conv_param_of(&bare, 0, kernel, &p), ISO_SHAPE);
    CU_ASSERT_EQUAL(iso_conv_param_of(&bare, 4, kernel, &p), ISO_SHAPE);
}

static void test_gemm(void)
{
    const iso_attr_t attrs[] = {FLOATS("alpha", 2), FLOATS("beta", 0.5),
                                INTS("trans_b", 1)};
    const iso_node_t gemm = NODE(GEMM, attrs);
    const iso_node_t matmul = {.name = "n", .op = ISO_OP_MATMUL};
    iso_gemm_param_t p;

    CU_ASSERT_EQUAL(iso_gemm_param_of(&gemm, &p), ISO_OK);
    CU_ASSERT_EQUAL(p.alpha, 2.0F);
    CU_ASSERT_EQUAL(p.beta, 0.5F);
    CU_ASSERT_FALSE(p.trans_a);
    CU_ASSERT_TRUE(p.trans_b);
    CU_ASSERT_EQUAL(iso_gemm_param_of(&matmul, &p), ISO_OK);
    CU_ASSERT_EQUAL(p.alpha, 1.0F);
    CU_ASSERT_FALSE(p.trans_b);
}

static void test_reduce(void)
{
    const iso_attr_t attrs[] = {INTS("axes", -1, 0), INTS("keep_dims", 0)};
    const iso_attr_t axis[] = {INTS("axis", 1)};
    const iso_node_t node = NODE(REDUCE_SUM, attrs);
    const iso_node_t bare = {.name = "n", .op = ISO_OP_REDUCE_SUM};
    const iso_node_t arg = NODE(ARG_MAX, axis);
    iso_reduce_param_t p;

    CU_ASSERT_EQUAL(iso_reduce_param_of(&node, 3, &p), ISO_OK);
    CU_ASSERT(p.reduced[0] && !p.reduced[1] && p.reduced[2] && !p.keep_dims);
    CU_ASSERT_EQUAL(iso_reduce_param_of(&node, 1, &p), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_reduce_param_of(&bare, 2, &p), ISO_OK);
    CU_ASSERT(p.reduced[0] && p.reduced[1] && !p.reduced[2] && p.keep_dims);
    CU_ASSERT_EQUAL(iso_reduce_param_of(&arg, 2, &p), ISO_OK);
    CU_ASSERT(!p.reduced[0] && p.reduced[1] && p.keep_dims);
}

static void test_norms(void)
{
    const iso_attr_t attrs[] = {FLOATS("alpha", 2), INTS("size", 3)};
    const iso_node_t lrn = NODE(LRN, attrs);
    const iso_node_t layer = {.name = "n", .op = ISO_OP_LAYER_NORM};
    iso_norm_param_t p;

    CU_ASSERT_EQUAL(iso_norm_param_of(&lrn, 4, &p), ISO_OK);
    CU_ASSERT_EQUAL(p.lrn_size, 3);
    CU_ASSERT_EQUAL(p.lrn_alpha, 2.0F);
    CU_ASSERT_EQUAL(p.lrn_beta, 0.75F);
    CU_ASSERT_EQUAL(p.lrn_bias, 1.0F);
    CU_ASSERT_EQUAL(iso_norm_param_of(&layer, 4, &p), ISO_OK);
    CU_ASSERT_EQUAL(p.axis, 3);
    CU_ASSERT_EQUAL(p.epsilon, 1e-5F);
}

/* ---- Moves ---- */

/* Elements visited by a walk over a slice that ONNX's Slice-13 clamps. */
static int64_t walk_slice(int64_t dim, int64_t start, int64_t end, int64_t step,
                          int64_t *first)
{
    const int64_t least_end = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? dim : dim - 1;
    int64_t count = 0;

    start = start < 0 ? start + dim : start;
    end = end < 0 ? end + dim : end;
    start = start < 0 ? 0 : start;
    start = start > high ? high : start;
    end = end < least_end ? least_end : end;
    end = end > high ? high : end;
    for (int64_t i = start; step > 0 ? i < end : i > end; i += step) {
        *first = count == 0 ? i : *first;
        count++;
    }
    return count;
}

static int64_t check_slice(int64_t dim, int64_t start, int64_t end,
                           int64_t step)
{
    const iso_attr_t attrs[] = {INTS("axes", -1), INTS("ends", end),
                                INTS("starts", start), INTS("steps", step)};
    const iso_node_t node = NODE(SLICE, attrs);
    const iso_tensor_t operand = {
        .dtype = ISO_DTYPE_I8, .rank = 2, .dims = {4, dim}};
    iso_slice_param_t p;
    int64_t first = 0;
    int64_t count = walk_slice(dim, start, end, step, &first);
    bool right = iso_slice_param_of(&node, &operand, &p) == ISO_OK &&
                 p.start[0] == 0 && p.step[0] == 1 && p.count[0] == 4 &&
                 p.step[1] == step && p.count[1] == count &&
                 p.start[1] == first;

    if (!right) {
        (void)printf("\n[%lld][%lld:%lld:%lld]: start %lld count %lld, "
                     "expected %lld and %lld\n",
                     (long long)dim, (long long)start, (long long)end,
                     (long long)step, (long long)p.start[1],
                     (long long)p.count[1], (long long)first, (long long)count);
    }
    return right ? 0 : 1;
}

static void test_slice_as_walked(void)
{
    static const int64_t far[] = {INT64_MIN, INT64_MIN + 1, -INT32_MAX,
                                  INT32_MAX, INT64_MAX};
    int64_t bad = 0;

    for (int64_t dim = 0; dim <= 5; dim++) {
        for (int64_t step = -3; step <= 3; step++) {
            for (int64_t i = 0; step != 0 && bad == 0 && i < 289; i++) {
                bad += check_slice(dim, i / 17 - 8, i % 17 - 8, step);
            }
            for (int64_t i = 0; step != 0 && bad == 0 && i < 25; i++) {
                bad += check_slice(dim, far[i / 5], far[i % 5], step);
            }
        }
    }
    CU_ASSERT_EQUAL(bad, 0);
}

static void test_slice_of_all_axes(void)
{
    const iso_attr_t attrs[] = {INTS("ends", 2, 9), INTS("starts", 1, -1)};
    const iso_node_t node = NODE(SLICE, attrs);
    const iso_tensor_t operand = {
        .dtype = ISO_DTYPE_F32, .rank = 3, .dims = {3, 4, 5}};
    iso_slice_param_t p;

    CU_ASSERT_EQUAL(iso_slice_param_of(&node, &operand, &p), ISO_OK);
    CU_ASSERT(p.start[0] == 1 && p.count[0] == 1);
    CU_ASSERT(p.start[1] == 3 && p.count[1] == 1);
    CU_ASSERT(p.start[2] == 0 && p.count[2] == 5);
}

static void test_pad(void)
{
    const iso_attr_t attrs[] = {TEXT("mode", "edge"), INTS("pads", 1, 0, -2, 3),
                                FLOATS("value", 0.5)};
    const iso_node_t node = NODE(PAD, attrs);
    iso_pad_param_t p;

    CU_ASSERT_EQUAL(iso_pad_param_of(&node, 2, &p), ISO_OK);
    CU_ASSERT_EQUAL(p.begin[0], 1);
    CU_ASSERT_EQUAL(p.end[0], -2);
    CU_ASSERT_EQUAL(p.begin[1], 0);
    CU_ASSERT_EQUAL(p.end[1], 3);
    CU_ASSERT_EQUAL(p.mode, ISO_PAD_EDGE);
    CU_ASSERT_EQUAL(p.value, 0.5);
}

static void test_perm_and_block(void)
{
    const iso_attr_t perm[] = {INTS("perm", 2, 0, 1)};
    const iso_attr_t block[] = {INTS("block", 3), TEXT("mode", "crd")};
    const iso_node_t node = NODE(TRANSPOSE, perm);
    const iso_node_t bare = {.name = "n", .op = ISO_OP_TRANSPOSE};
    const iso_node_t depth = NODE(DEPTH_TO_SPACE, block);
    int order[ISO_MAX_RANK];
    iso_block_param_t p;

    CU_ASSERT_EQUAL(iso_perm_of(&node, 3, order), ISO_OK);
    CU_ASSERT(order[0] == 2 && order[1] == 0 && order[2] == 1);
    CU_ASSERT_EQUAL(iso_perm_of(&node, 2, order), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_perm_of(&bare, 2, order), ISO_OK);
    CU_ASSERT(order[0] == 1 && order[1] == 0);
    CU_ASSERT_EQUAL(iso_block_param_of(&depth, &p), ISO_OK);
    CU_ASSERT(p.block == 3 && p.crd);
}

static void test_resize(void)
{
    const iso_attr_t attrs[] = {TEXT("coordinates", "asymmetric"),
                                TEXT("mode", "linear"), TEXT("nearest", "ceil"),
                                FLOATS("scales", 1, 2)};
    const iso_node_t node = NODE(RESIZE, attrs);
    const iso_node_t bare = {.name = "n", .op = ISO_OP_RESIZE};
    iso_resize_param_t p;

    CU_ASSERT_EQUAL(iso_resize_param_of(&node, 2, &p), ISO_OK);
    CU_ASSERT_EQUAL(p.mode, ISO_RESIZE_LINEAR);
    CU_ASSERT_EQUAL(p.coordinates, ISO_RESIZE_ASYMMETRIC);
    CU_ASSERT_EQUAL(p.nearest, ISO_RESIZE_CEIL);
    CU_ASSERT_EQUAL(p.scales[1], 2.0);
    CU_ASSERT_EQUAL(iso_resize_param_of(&node, 3, &p), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_resize_param_of(&bare, 3, &p), ISO_OK);
    CU_ASSERT_EQUAL(p.mode, ISO_RESIZE_NEAREST);
    CU_ASSERT_EQUAL(p.coordinates, ISO_RESIZE_HALF_PIXEL);
    CU_ASSERT_EQUAL(p.nearest, ISO_RESIZE_ROUND_PREFER_FLOOR);
    CU_ASSERT_EQUAL(p.scales[2], 0.0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"scalars", test_scalars},
        {"dims as numbers", test_dims_as_numbers},
        {"axis", test_axis},
        {"cast target", test_cast_target},
        {"conv", test_conv},
        {"gemm", test_gemm},
        {"reduce", test_reduce},
        {"norms", test_norms},
        {"slice as walked", test_slice_as_walked},
        {"slice of all axes", test_slice_of_all_axes},
        {"pad", test_pad},
        {"perm and block", test_perm_and_block},
        {"resize", test_resize},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"param", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
