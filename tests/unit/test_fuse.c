#include "fuse_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Bias ---- */

typedef struct bias_case {
    const char *text;
    const char *bias; /* third operand of node y; "-": the add stays */
} bias_case_t;

static const bias_case_t biases[] = {
    {NORM_PARAMS "b = param f32[4,1,1]\nc = conv(x, w)\ny = add(c, b)",
     "y.bias"},
    {NORM_PARAMS "b = constant f32[1,4,1,1] 1,2,3,4\nc = conv(x, w)\n"
                 "y = add(b, c)",
     "y.bias"},
    {"x = input f32[N,4,8]\nw = param f32[1,4,3]\nb = param f32[1,1]\n"
     "c = conv(x, w)\ny = add(c, b)",
     "y.bias"},
    /* not one number for each channel */
    {NORM_PARAMS "b = param f32[1]\nc = conv(x, w)\ny = add(c, b)", "-"},
    {NORM_PARAMS "b = param f32[8]\nc = conv(x, w)\ny = add(c, b)", "-"},
    {NORM_PARAMS "b = param f32[4,1,8]\nc = conv(x, w)\ny = add(c, b)", "-"},
    {NORM_PARAMS "b = param f32[1,1,4,1,1]\nw3 = param f32[4,4,1,1]\n"
                 "c = conv(x, w3)\ny = add(c, b)",
     "-"},
    /* computed, fed, or a residual */
    {NORM_PARAMS "b = param f32[4,1,1]\nd = abs(b)\nc = conv(x, w)\n"
                 "y = add(c, d)",
     "-"},
    {NORM_PARAMS "b = input f32[4,1,1]\nc = conv(x, w)\ny = add(c, b)", "-"},
    {NORM_PARAMS "c = conv(x, w)\ny = add(c, x)", "-"},
    {NORM_PARAMS "c = conv(x, w)\ny = add(c, c)", "-"},
    /* there is a bias: the sum of both */
    {NORM_PARAMS "b = param f32[4,1,1]\nc = conv(x, w, v)\ny = add(c, b)",
     "y.bias"},
    /* matrices */
    {"x = input f32[N,3,4]\nw = param f32[4,5]\nb = param f32[5]\n"
     "c = matmul(x, w)\ny = add(c, b)",
     "b"},
    {"x = input f32[4]\nw = param f32[4,5]\nb = constant f32[5] 1\n"
     "c = matmul(x, w)\ny = add(b, c)",
     "b"},
    {"x = input f32[N,4]\nw = param f32[4,5]\nb = param f32[5]\n"
     "c = gemm(x, w) beta=f:3\ny = add(c, b)",
     "b"},
    {"x = input f32[5,4]\nw = param f32[4]\nb = param f32[5]\n"
     "c = matmul(x, w)\ny = add(c, b)",
     "-"},
    {"x = input f32[N,4]\nw = param f32[4,5]\nb = param f32[1,5]\n"
     "c = matmul(x, w)\ny = add(c, b)",
     "-"},
    {"x = input f32[N,4]\nw = param f32[4,5]\nb = param f32[1]\n"
     "c = matmul(x, w)\ny = add(c, b)",
     "-"},
    {"x = input f32[N,4]\nw = param f32[4,5]\nb = param f32[5]\n"
     "c = gemm(x, w, b)\ny = add(c, b)",
     "-"},
};

static void test_bias(void)
{
    for (size_t i = 0; i < sizeof biases / sizeof biases[0]; i++) {
        fused_t f = fuse(biases[i].text);
        bool stays = op_of(&f, "y") == ISO_OP_ADD;
        const char *found = stays ? "-" : operand_of(&f, "y", 2);

        if (strcmp(found, biases[i].bias) != 0) {
            (void)printf("\n%s\n  found %s\n", biases[i].text, found);
        }
        CU_ASSERT_STRING_EQUAL(found, biases[i].bias);
        CU_ASSERT_EQUAL(op_of(&f, "c") == ISO_OP_COUNT, !stays);
        finish(&f);
    }
}

static void test_bias_values(void)
{
    fused_t f = fuse(biases[0].text);
    const iso_tensor_t *b = iso_weights_find(f.weights, "y.bias");

    CU_ASSERT_FATAL(b != NULL);
    CU_ASSERT(b->rank == 1 && b->dims[0] == 4);
    CU_ASSERT_EQUAL(((const float *)b->data)[3], (float)element("b", 3));
    CU_ASSERT_STRING_EQUAL(operand_of(&f, "y", 1), "w");
    finish(&f);
    f = fuse(biases[1].text);
    CU_ASSERT_EQUAL(op_of(&f, "y.bias"), ISO_OP_CONSTANT);
    CU_ASSERT_EQUAL(((const float *)node_of(f.graph, "y.bias")->data)[3], 4.0F);
    finish(&f);
}

/* beta was of no use, and would now scale the bias. */
static void test_beta_is_dropped(void)
{
    fused_t f = fuse("x = input f32[N,4]\nw = param f32[4,5]\n"
                     "b = param f32[5]\nc = gemm(x, w) beta=f:3 alpha=f:2\n"
                     "y = add(c, b)\nz = gemm(x, w, b) beta=f:3\n"
                     "s = sigmoid(z)\n");
    iso_gemm_param_t param;

    CU_ASSERT_EQUAL(iso_gemm_param_of(node_of(f.graph, "y"), &param), ISO_OK);
    CU_ASSERT_EQUAL(param.beta, 1.0F);
    CU_ASSERT_EQUAL(param.alpha, 2.0F);
    CU_ASSERT_EQUAL(iso_gemm_param_of(node_of(f.graph, "s"), &param), ISO_OK);
    CU_ASSERT_EQUAL(param.beta, 3.0F);
    CU_ASSERT_EQUAL(param.activation.kind, ISO_ACTIVATION_SIGMOID);
    finish(&f);
}

/* ---- Activation ---- */

static void test_activations(void)
{
    static const char *const ops[] = {
        "relu",       "sigmoid", "tanh", "hard_swish", "clip",
        "leaky_relu", "erf",     "elu",  "exp",
    };
    char text[256];

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        bool takes = i < 6;

        (void)snprintf(text, sizeof text,
                       NORM_PARAMS "c = conv(x, w, v)\ny = %s(c)\n"
                                   "z = %s(y)\nreturn z\n",
                       ops[i], ops[i]);
        fused_t f = fuse(text);

        CU_ASSERT_EQUAL(op_of(&f, "y") == ISO_OP_CONV, takes);
        CU_ASSERT_STRING_EQUAL(activation_of(&f, "y"), takes ? ops[i] : "none");
        /* one activation is enough */
        CU_ASSERT_EQUAL(op_of(&f, "z"), iso_op_from_string(ops[i]));
        finish(&f);
    }
}

static void test_activation_constants(void)
{
    fused_t f = fuse("x = input f32[N,4]\nw = param f32[4,5]\n"
                     "a = matmul(x, w)\nb = clip(a) min=f:-1 max=f:6\n"
                     "c = matmul(x, w)\nd = clip(c) min=f:0\n"
                     "e = matmul(x, w)\ng = leaky_relu(e) alpha=f:0.25\n"
                     "h = input f64[N,4]\nu = param f64[4,5]\n"
                     "i = matmul(h, u)\nj = clip(i) max=f:0.1\n"
                     "k = matmul(h, u)\nl = relu(k)\n");
    iso_gemm_param_t p;

    CU_ASSERT_EQUAL(iso_gemm_param_of(node_of(f.graph, "b"), &p), ISO_OK);
    CU_ASSERT_EQUAL(p.activation.kind, ISO_ACTIVATION_CLIP);
    CU_ASSERT(p.activation.min == -1.0F && p.activation.max == 6.0F);
    CU_ASSERT_EQUAL(iso_gemm_param_of(node_of(f.graph, "d"), &p), ISO_OK);
    CU_ASSERT(p.activation.min == 0.0F && isinf(p.activation.max));
    CU_ASSERT_EQUAL(iso_gemm_param_of(node_of(f.graph, "g"), &p), ISO_OK);
    CU_ASSERT_EQUAL(p.activation.alpha, 0.25F);
    CU_ASSERT_EQUAL(op_of(&f, "j"), ISO_OP_CLIP);
    CU_ASSERT_EQUAL(op_of(&f, "l"), ISO_OP_MATMUL);
    finish(&f);
}

/* ---- The whole ---- */

static const char *const chain_text =
    NORM_PARAMS "y.weights = param f32[4]\n"
                "c = conv(x, w, v)\n"
                "n = batch_norm(c, v, v, v, y.weights)\n"
                "y = clip(n) max=f:6\n"
                "b = param f32[4,1,1]\n"
                "d = conv(y, w)\n"
                "e = add(d, b)\n"
                "r = add(e, x)\n"
                "z = relu(r)\n"
                "o = batch_norm(z, v, v, v, v)\n"
                "q = mul(o, b)\n"
                "return q\n";

static void test_taken_name_and_residual(void)
{
    fused_t f = fuse(chain_text);

    CU_ASSERT_STRING_EQUAL(operand_of(&f, "y", 1), "y.weights_2");
    CU_ASSERT_EQUAL(op_of(&f, "y.weights"), ISO_OP_PARAM);
    CU_ASSERT_EQUAL(op_of(&f, "e"), ISO_OP_CONV);
    CU_ASSERT_STRING_EQUAL(operand_of(&f, "e", 0), "y");
    CU_ASSERT_EQUAL(op_of(&f, "r"), ISO_OP_ADD);
    CU_ASSERT_EQUAL(op_of(&f, "z"), ISO_OP_RELU);
    finish(&f);
}

static void test_again_changes_nothing(void)
{
    fused_t f = fuse(chain_text);
    iso_graph_t *again = NULL;

    CU_ASSERT_EQUAL(iso_graph_fuse(f.graph, f.weights, &again), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_digest(again), iso_graph_digest(f.graph));
    iso_graph_destroy(&again);
    finish(&f);
}

/* Without elements only what needs none is fused. */
static void test_without_weights(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = graph_of(chain_text);
    fused_t f = {.blocks_before = before};

    CU_ASSERT_EQUAL(iso_graph_fuse(graph, NULL, &f.graph), ISO_OK);
    CU_ASSERT_EQUAL(op_of(&f, "n"), ISO_OP_BATCH_NORM);
    CU_ASSERT_EQUAL(op_of(&f, "e"), ISO_OP_ADD);
    iso_graph_destroy(&f.graph);
    iso_graph_destroy(&graph);
    graph = graph_of(biases[1].text);
    CU_ASSERT_EQUAL(iso_graph_fuse(graph, NULL, &f.graph), ISO_OK);
    CU_ASSERT_EQUAL(op_of(&f, "y"), ISO_OP_CONV);
    iso_graph_destroy(&f.graph);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_wrong_weight(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = graph_of(chain_text);
    iso_graph_t *fused = NULL;
    iso_weights_t *weights = NULL;
    iso_tensor_t v = {.dtype = ISO_DTYPE_F64, .rank = 1, .dims = {4}};

    CU_ASSERT_FATAL(iso_weights_create(&weights) == ISO_OK);
    v.data = iso_alloc_zeroed(4, sizeof(double));
    CU_ASSERT_FATAL(iso_weights_add(weights, "v", &v) == ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_fuse(graph, weights, &fused), ISO_SHAPE);
    CU_ASSERT_STRING_EQUAL(iso_error_text(),
                           "weight 'v' is f64 [4], expected f32 [4]");
    CU_ASSERT_PTR_NULL(fused);
    iso_weights_destroy(&weights);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* Every allocation may fail; nothing is left then. */
static void test_out_of_memory(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;

    for (int64_t n = 1; status != ISO_OK && n < 1000; n++) {
        iso_graph_t *graph = graph_of(chain_text);
        iso_weights_t *weights = weights_of(graph);
        iso_graph_t *fused = NULL;

        iso_mem_fail_at(n);
        status = iso_graph_fuse(graph, weights, &fused);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        CU_ASSERT_EQUAL(fused == NULL, status != ISO_OK);
        iso_graph_destroy(&fused);
        iso_graph_destroy(&graph);
        iso_weights_destroy(&weights);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"bias", test_bias},
        {"bias values", test_bias_values},
        {"beta is dropped", test_beta_is_dropped},
        {"activations", test_activations},
        {"activation constants", test_activation_constants},
        {"taken name and residual", test_taken_name_and_residual},
        {"again changes nothing", test_again_changes_nothing},
        {"without weights", test_without_weights},
        {"wrong weight", test_wrong_weight},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"fuse", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
