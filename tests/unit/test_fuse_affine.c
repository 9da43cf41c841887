#include "fuse_text.h"

#include <math.h>

/* ---- Batch norm ---- */

static void test_norm_into_conv(void)
{
    fused_t f = fuse("x = input f32[N,3,8,8]\n"
                     "w = param f32[5,3,3,3]\n"
                     "gamma = param f32[5]\nbeta = param f32[5]\n"
                     "mean = param f32[5]\nvar = param f32[5]\n"
                     "c = conv(x, w) pads=i:1,1,1,1\n"
                     "n = batch_norm(c, gamma, beta, mean, var) "
                     "epsilon=f:0.001\n"
                     "r = relu(n)\n"
                     "return r\n");
    const iso_tensor_t *w = iso_weights_find(f.weights, "r.weights");
    const iso_tensor_t *b = iso_weights_find(f.weights, "r.bias");

    CU_ASSERT_EQUAL(op_of(&f, "c"), ISO_OP_COUNT);
    CU_ASSERT_EQUAL(op_of(&f, "n"), ISO_OP_COUNT);
    CU_ASSERT_EQUAL(op_of(&f, "r"), ISO_OP_CONV);
    CU_ASSERT_STRING_EQUAL(activation_of(&f, "r"), "relu");
    CU_ASSERT_STRING_EQUAL(operand_of(&f, "r", 0), "x");
    CU_ASSERT_STRING_EQUAL(operand_of(&f, "r", 1), "r.weights");
    CU_ASSERT_STRING_EQUAL(operand_of(&f, "r", 2), "r.bias");
    CU_ASSERT_EQUAL(iso_graph_output(f.graph, 0)->node,
                    iso_graph_find(f.graph, "r"));
    CU_ASSERT_FATAL(w != NULL && b != NULL);
    for (int64_t i = 0; i < 135; i++) {
        int64_t c = i / 27;
        double factor = (double)(float)element("gamma", c) /
                        sqrt((double)(float)element("var", c) + (double)0.001F);
        double shift = (double)(float)element("beta", c) -
                       (double)(float)element("mean", c) * factor;

        CU_ASSERT_EQUAL(((const float *)w->data)[i],
                        (float)((double)(float)element("w", i) * factor));
        CU_ASSERT_EQUAL(((const float *)b->data)[c], (float)shift);
    }
    CU_ASSERT_EQUAL(((const float *)iso_weights_find(f.weights, "w")->data)[7],
                    (float)element("w", 7));
    finish(&f);
}

/* What a 1x1 transposed convolution with groups and then two batch norms
 * make of one input element, in two ways. */
static void test_norms_into_transposed(void)
{
    fused_t f = fuse("x = input f64[1,4,1,1]\n"
                     "w = param f64[4,3,1,2]\nd = param f64[6,1,1]\n"
                     "g = param f64[6]\nb = param f64[6]\n"
                     "m = param f64[6]\nv = param f64[6]\n"
                     "c = conv_transpose(x, w) groups=i:2\n"
                     "a = add(d, c)\n"
                     "n = batch_norm(a, g, b, m, v)\n"
                     "o = batch_norm(n, b, g, v, m)\n"
                     "return o\n");
    const iso_tensor_t *w = iso_weights_find(f.weights, "o.weights");
    const iso_tensor_t *bias = iso_weights_find(f.weights, "o.bias");
    const double epsilon = (double)1e-5F;

    CU_ASSERT_EQUAL(op_of(&f, "o"), ISO_OP_CONV_TRANSPOSE);
    CU_ASSERT_EQUAL(iso_graph_node_count(f.graph), 10);
    CU_ASSERT_FATAL(w != NULL && bias != NULL);
    for (int64_t i = 0; i < 24; i++) {
        int64_t c = i / 12 * 3 + i / 2 % 3;
        double x = 1.7;
        double y = x * element("w", i) + element("d", c);
        double z =
            x * ((const double *)w->data)[i] + ((const double *)bias->data)[c];

        y = (y - element("m", c)) / sqrt(element("v", c) + epsilon) *
                element("g", c) +
            element("b", c);
        y = (y - element("v", c)) / sqrt(element("m", c) + epsilon) *
                element("b", c) +
            element("g", c);
        CU_ASSERT_DOUBLE_EQUAL(y, z, 1e-12 * fabs(y));
    }
    finish(&f);
}

/* ---- Factors and summands ---- */

/* A convolution with a bias, a norm, a factor, a summand: what exporters make
 * of a scale layer. */
static void test_scale_into_conv(void)
{
    fused_t f = fuse("x = input f32[N,3,8,8]\nw = param f32[5,3,3,3]\n"
                     "d = param f32[5]\ng = param f32[5]\nb = param f32[5]\n"
                     "m = param f32[5]\nv = param f32[5]\n"
                     "s = param f32[5,1,1]\nt = param f32[1,5,1,1]\n"
                     "c = conv(x, w, d)\nn = batch_norm(c, g, b, m, v)\n"
                     "k = mul(s, n)\na = add(k, t)\nr = relu(a)\nreturn r\n");
    const iso_tensor_t *w = iso_weights_find(f.weights, "r.weights");
    const iso_tensor_t *bias = iso_weights_find(f.weights, "r.bias");

    CU_ASSERT_EQUAL(op_of(&f, "r"), ISO_OP_CONV);
    CU_ASSERT_STRING_EQUAL(activation_of(&f, "r"), "relu");
    CU_ASSERT_EQUAL(op_of(&f, "k"), ISO_OP_COUNT);
    CU_ASSERT_EQUAL(op_of(&f, "a"), ISO_OP_COUNT);
    CU_ASSERT_FATAL(w != NULL && bias != NULL);
    for (int64_t i = 0; i < 135; i++) {
        const int64_t c = i / 27;
        const double factor =
            (double)(float)element("g", c) /
            sqrt((double)(float)element("v", c) + (double)1e-5F);
        const double s = (double)(float)element("s", c);
        const double shift =
            ((double)(float)element("d", c) - (double)(float)element("m", c)) *
                factor +
            (double)(float)element("b", c);

        CU_ASSERT_EQUAL(((const float *)w->data)[i],
                        (float)((double)(float)element("w", i) * (factor * s)));
        CU_ASSERT_EQUAL(((const float *)bias->data)[c],
                        (float)(shift * s + (double)(float)element("t", c)));
    }
    finish(&f);
}

/* A norm that no convolution takes is a head of its own. */
static void test_scale_into_norm(void)
{
    fused_t f = fuse("x = input f64[N,4,2,2]\ng = param f64[4]\n"
                     "b = param f64[4]\nm = param f64[4]\nv = param f64[4]\n"
                     "s = param f64[4,1,1]\nt = param f64[4,1,1]\n"
                     "n = batch_norm(x, g, b, m, v) epsilon=f:0.01\n"
                     "k = mul(n, s)\na = add(t, k)\nr = relu(a)\nreturn r\n");
    const iso_tensor_t *scale = iso_weights_find(f.weights, "a.scale");
    const iso_tensor_t *bias = iso_weights_find(f.weights, "a.bias");
    iso_norm_param_t param;

    CU_ASSERT_EQUAL(op_of(&f, "r"), ISO_OP_RELU);
    CU_ASSERT_FATAL(op_of(&f, "a") == ISO_OP_BATCH_NORM);
    CU_ASSERT_EQUAL(iso_norm_param_of(node_of(f.graph, "a"), 4, &param),
                    ISO_OK);
    CU_ASSERT_EQUAL(param.epsilon, 0.01F);
    CU_ASSERT_STRING_EQUAL(operand_of(&f, "a", 0), "x");
    CU_ASSERT_STRING_EQUAL(operand_of(&f, "a", 1), "a.scale");
    CU_ASSERT_STRING_EQUAL(operand_of(&f, "a", 2), "a.bias");
    CU_ASSERT_STRING_EQUAL(operand_of(&f, "a", 3), "m");
    CU_ASSERT_STRING_EQUAL(operand_of(&f, "a", 4), "v");
    CU_ASSERT_FATAL(scale != NULL && bias != NULL);
    for (int64_t c = 0; c < 4; c++) {
        CU_ASSERT_EQUAL(((const double *)scale->data)[c],
                        element("g", c) * element("s", c));
        CU_ASSERT_EQUAL(((const double *)bias->data)[c],
                        element("b", c) * element("s", c) + element("t", c));
    }
    finish(&f);
}

/* A factor without a bias brings one of zeros; transposed weights have their
 * channels elsewhere. */
static void test_scale_into_transposed(void)
{
    fused_t f = fuse("x = input f64[N,2,3]\nw = param f64[2,3,2]\n"
                     "s = constant f64[3,1] 2,3,4\n"
                     "c = conv_transpose(x, w)\ny = mul(c, s)\nreturn y\n");
    const iso_tensor_t *w = iso_weights_find(f.weights, "y.weights");
    const iso_tensor_t *bias = iso_weights_find(f.weights, "y.bias");

    CU_ASSERT_EQUAL(op_of(&f, "y"), ISO_OP_CONV_TRANSPOSE);
    CU_ASSERT_FATAL(w != NULL && bias != NULL);
    for (int64_t i = 0; i < 12; i++) {
        CU_ASSERT_EQUAL(((const double *)w->data)[i],
                        element("w", i) * (double)(2 + i / 2 % 3));
    }
    CU_ASSERT_EQUAL(((const double *)bias->data)[2], 0.0);
    finish(&f);
}

static void test_norms_that_stay(void)
{
    static const char *const texts[] = {
        /* after no convolution */
        (NORM_PARAMS "r = relu(x)\nn = batch_norm(r, v, v, v, v)\nreturn n\n"),
        /* after an activation */
        (NORM_PARAMS "c = conv(x, w)\nr = relu(c)\n"
                     "n = batch_norm(r, v, v, v, v)\nreturn n\n"),
        /* the value between is an output */
        (NORM_PARAMS "c = conv(x, w)\nn = batch_norm(c, v, v, v, v)\n"
                     "return c\nreturn n\n"),
        /* the value between has two users, one of them twice */
        (NORM_PARAMS "c = conv(x, w)\nn = batch_norm(c, v, v, v, v)\n"
                     "y = add(n, c)\nreturn y\n"),
        /* weights that are computed */
        (NORM_PARAMS "u = abs(w)\nc = conv(x, u)\n"
                     "n = batch_norm(c, v, v, v, v)\nreturn n\n"),
        /* a variance that is computed */
        (NORM_PARAMS "u = abs(v)\nc = conv(x, w)\n"
                     "n = batch_norm(c, v, v, v, u)\nreturn n\n"),
        /* the norm of a matrix product */
        ("x = input f32[N,4]\nw = param f32[4,4]\nv = param f32[4]\n"
         "c = matmul(x, w)\nn = batch_norm(c, v, v, v, v)\nreturn n\n"),
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fused_t f = fuse(texts[i]);

        CU_ASSERT_EQUAL(op_of(&f, "n"), ISO_OP_BATCH_NORM);
        finish(&f);
    }
}

static void test_scales_that_stay(void)
{
    static const char *const texts[] = {
        /* the value between has another user, or is an output */
        (NORM_PARAMS "s = param f32[4,1,1]\nc = conv(x, w)\ny = mul(c, s)\n"
                     "z = add(c, y)\nreturn z\n"),
        (NORM_PARAMS "s = param f32[4,1,1]\nc = conv(x, w)\ny = mul(c, s)\n"
                     "return c\nreturn y\n"),
        (NORM_PARAMS "s = param f32[4,1,1]\nn = batch_norm(x, v, v, v, v)\n"
                     "y = mul(n, s)\nreturn n\nreturn y\n"),
        /* not one number for each channel, or not a number yet */
        (NORM_PARAMS "s = param f32[1]\nc = conv(x, w)\ny = mul(c, s)\n"
                     "return y\n"),
        (NORM_PARAMS "s = param f32[8]\nc = conv(x, w)\ny = mul(c, s)\n"
                     "return y\n"),
        (NORM_PARAMS "s = input f32[4,1,1]\nc = conv(x, w)\ny = mul(c, s)\n"
                     "return y\n"),
        (NORM_PARAMS "c = conv(x, w)\ny = mul(c, c)\nreturn y\n"),
        /* weights, or the norm's scale, that are computed */
        (NORM_PARAMS "s = param f32[4,1,1]\nu = abs(w)\nc = conv(x, u)\n"
                     "y = mul(c, s)\nreturn y\n"),
        (NORM_PARAMS "s = param f32[4,1,1]\nu = abs(v)\n"
                     "n = batch_norm(x, u, v, v, v)\ny = mul(n, s)\n"
                     "return y\n"),
        /* no channels at all */
        ("x = input f32[N,0,2]\nv = param f32[0]\ns = param f32[0,1]\n"
         "n = batch_norm(x, v, v, v, v)\ny = mul(n, s)\nz = mul(y, s)\n"
         "return z\n"),
        /* after an activation, or a matrix product */
        (NORM_PARAMS "s = param f32[4,1,1]\nc = conv(x, w)\nr = relu(c)\n"
                     "y = mul(r, s)\nreturn y\n"),
        ("x = input f32[N,4]\nw = param f32[4,4]\ns = param f32[4]\n"
         "c = matmul(x, w)\ny = mul(c, s)\nreturn y\n"),
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fused_t f = fuse(texts[i]);

        CU_ASSERT_EQUAL(op_of(&f, "y"), ISO_OP_MUL);
        finish(&f);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"norm into conv", test_norm_into_conv},
        {"norms into transposed", test_norms_into_transposed},
        {"norms that stay", test_norms_that_stay},
        {"scale into conv", test_scale_into_conv},
        {"scale into norm", test_scale_into_norm},
        {"scale into transposed", test_scale_into_transposed},
        {"scales that stay", test_scales_that_stay},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"fuse affine", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
