#include "isotome/error.h"

#include "base/mem.h"
#include "graph/param.h"
#include "graph/pass.h"
#include "graph_text.h"
#include "iso_test.h"

#include <string.h>

/* ---- A device for a few ops ---- */

static int eval_calls;
static bool eval_fails;

static float at(const iso_tensor_t *tensor, int64_t index)
{
    return ((const float *)tensor->data)[index % iso_tensor_count(tensor)];
}

static void eval_floats(const iso_node_t *node,
                        const iso_tensor_t *const *inputs,
                        const iso_tensor_t *output)
{
    for (int64_t i = 0; i < iso_tensor_count(output); i++) {
        float value = at(inputs[0], i);

        if (node->op == ISO_OP_ADD) {
            value += at(inputs[1], i);
        } else if (node->op == ISO_OP_NEG) {
            value = -value;
        }
        ((float *)output->data)[i] = value;
    }
}

static void eval_ints(const iso_node_t *node, const iso_tensor_t *output)
{
    int64_t start = 0;
    int64_t step = 1;

    (void)iso_attr_int(node, "start", 0, &start);
    (void)iso_attr_int(node, "step", 1, &step);
    for (int64_t i = 0; i < iso_tensor_count(output); i++) {
        const iso_attr_t *values = iso_node_attr(node, "values");

        ((int64_t *)output->data)[i] =
            values == NULL ? start + i * step : values->value.dims[i].size;
    }
}

/* add with the second operand repeated, neg, expand, reshape, dims, iota,
 * and conv, which only says whether there was a bias. */
static iso_status_t eval(const iso_node_t *node,
                         const iso_tensor_t *const *inputs,
                         const iso_tensor_t *output)
{
    eval_calls++;
    if (eval_fails) {
        return iso_fail(ISO_UNSUPPORTED, "no such op here");
    }
    if (node->n_inputs == 0) {
        eval_ints(node, output);
    } else if (node->op == ISO_OP_CONV) {
        ((float *)output->data)[0] = inputs[2] == NULL ? 1.0F : 2.0F;
    } else {
        eval_floats(node, inputs, output);
    }
    return ISO_OK;
}

/* ---- Building ---- */

static iso_graph_t *graph_of(const char *text)
{
    iso_graph_t *graph = NULL;

    eval_calls = 0;
    CU_ASSERT_FATAL(iso_graph_create(&graph) == ISO_OK);
    CU_ASSERT_FATAL(graph_text_add(graph, text, NULL) == ISO_OK);
    return graph;
}

static iso_graph_t *folded_of(const char *text, iso_weights_t *weights)
{
    iso_graph_t *graph = graph_of(text);
    iso_graph_t *folded = NULL;

    CU_ASSERT_EQUAL(iso_graph_fold(graph, eval, weights, &folded), ISO_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(folded);
    iso_graph_destroy(&graph);
    return folded;
}

static const iso_node_t *node_of(const iso_graph_t *graph, const char *name)
{
    iso_node_id_t id = iso_graph_find(graph, name);

    return id == ISO_NO_NODE ? NULL : iso_graph_node(graph, id);
}

/* Weights with one param f32[count]: 0, 1, 2, ... */
static iso_weights_t *weights_of(const char *name, int64_t count)
{
    iso_weights_t *weights = NULL;
    iso_tensor_t value = {.dtype = ISO_DTYPE_F32, .rank = 1, .dims = {count}};

    CU_ASSERT_FATAL(iso_weights_create(&weights) == ISO_OK);
    value.data = iso_alloc(iso_tensor_bytes(&value));
    CU_ASSERT_PTR_NOT_NULL_FATAL(value.data);
    for (int64_t i = 0; i < count; i++) {
        ((float *)value.data)[i] = (float)i;
    }
    CU_ASSERT_FATAL(iso_weights_add(weights, name, &value) == ISO_OK);
    return weights;
}

/* ---- Tests ---- */

static void test_constants_vanish(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_graph_t *folded = folded_of("x = input f32[N,3]\n"
                                    "a = constant f32[3] 1,2,3\n"
                                    "b = constant f32[3] 10,20,30\n"
                                    "c = add(a, b)\n"
                                    "d = neg(c)\n"
                                    "y = add(x, d)\n"
                                    "return y\n",
                                    NULL);
    const iso_node_t *d = node_of(folded, "d");
    const iso_node_t *y = node_of(folded, "y");

    CU_ASSERT_PTR_NOT_NULL_FATAL(d);
    CU_ASSERT_EQUAL(d->op, ISO_OP_CONSTANT);
    CU_ASSERT_EQUAL(((const float *)d->data)[2], -33.0F);
    CU_ASSERT_PTR_NULL(node_of(folded, "c"));
    CU_ASSERT_EQUAL(y->op, ISO_OP_ADD);
    CU_ASSERT_EQUAL(y->inputs[1], iso_graph_find(folded, "d"));
    CU_ASSERT_PTR_NOT_NULL(node_of(folded, "x"));
    CU_ASSERT_EQUAL(eval_calls, 2);
    iso_graph_destroy(&folded);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_made_integers(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_graph_t *folded = folded_of("x = input f32[N]\n"
                                    "i = iota() start=d:5 step=i:-2 n=d:3\n"
                                    "d = dims() values=d:7,8\n"
                                    "n = dims() values=d:N\n"
                                    "m = iota() start=d:N n=d:2\n"
                                    "return i\nreturn d\nreturn n\nreturn m\n"
                                    "return x\n",
                                    NULL);
    const iso_node_t *i = node_of(folded, "i");

    CU_ASSERT_EQUAL(i->op, ISO_OP_CONSTANT);
    CU_ASSERT_EQUAL(((const int64_t *)i->data)[2], 1);
    CU_ASSERT_EQUAL(node_of(folded, "d")->op, ISO_OP_CONSTANT);
    CU_ASSERT_EQUAL(node_of(folded, "n")->op, ISO_OP_DIMS);
    CU_ASSERT_EQUAL(node_of(folded, "m")->op, ISO_OP_IOTA);
    CU_ASSERT_EQUAL(iso_graph_output_count(folded), 5);
    CU_ASSERT_EQUAL(iso_graph_output(folded, 0)->node,
                    iso_graph_find(folded, "i"));
    CU_ASSERT_STRING_EQUAL(iso_graph_output(folded, 4)->name, "x");
    iso_graph_destroy(&folded);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* What only an unused node needs is not computed; a shape with a free size
 * is not known; an operand that is not given is told apart. */
static void test_what_is_computed(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_graph_t *folded = folded_of("x = input f32[N]\n"
                                    "a = constant f32[1] 1\n"
                                    "unused = neg(a)\n"
                                    "wide = expand(a) shape=d:N\n"
                                    "c = constant f32[1,1,1] 1\n"
                                    "k = conv(c, c, -)\n"
                                    "kb = conv(c, c, a)\n"
                                    "return wide\nreturn k\nreturn kb\n",
                                    NULL);

    CU_ASSERT_EQUAL(node_of(folded, "wide")->op, ISO_OP_EXPAND);
    CU_ASSERT_PTR_NULL(node_of(folded, "unused"));
    CU_ASSERT_EQUAL(((const float *)node_of(folded, "k")->data)[0], 1.0F);
    CU_ASSERT_EQUAL(((const float *)node_of(folded, "kb")->data)[0], 2.0F);
    CU_ASSERT_EQUAL(eval_calls, 2);
    iso_graph_destroy(&folded);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static const char *const param_text = "x = input f32[N,1024]\n"
                                      "w = param f32[1024]\n"
                                      "v = param f32[1025]\n"
                                      "a = neg(w)\n"
                                      "b = neg(v)\n"
                                      "y = add(x, a)\n"
                                      "return y\nreturn b\n";

static void test_params_need_weights(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_graph_t *folded = folded_of(param_text, NULL);

    CU_ASSERT_EQUAL(eval_calls, 0);
    CU_ASSERT_EQUAL(node_of(folded, "a")->op, ISO_OP_NEG);
    iso_graph_destroy(&folded);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* 4096 bytes are a constant, 4100 are a param. */
static void test_large_results_are_params(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_weights_t *weights = weights_of("v", 1025);
    iso_tensor_t w = {.dtype = ISO_DTYPE_F32, .rank = 1, .dims = {1024}};
    const iso_tensor_t *b;
    iso_graph_t *folded;

    w.data = iso_alloc_zeroed(1024, sizeof(float));
    CU_ASSERT_FATAL(iso_weights_add(weights, "w", &w) == ISO_OK);
    folded = folded_of(param_text, weights);
    b = iso_weights_find(weights, "b");
    CU_ASSERT_EQUAL(node_of(folded, "a")->op, ISO_OP_CONSTANT);
    CU_ASSERT_EQUAL(node_of(folded, "b")->op, ISO_OP_PARAM);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    CU_ASSERT_EQUAL(b->dims[0], 1025);
    CU_ASSERT_EQUAL(((const float *)b->data)[1024], -1024.0F);
    CU_ASSERT_PTR_NULL(iso_weights_find(weights, "a"));
    CU_ASSERT_EQUAL(iso_graph_output(folded, 1)->node,
                    iso_graph_find(folded, "b"));
    iso_graph_destroy(&folded);
    iso_weights_destroy(&weights);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* A large value in the middle needs no place to stay, only one to pass. */
static void test_large_without_weights(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_graph_t *folded = folded_of("a = constant f32[1] 1\n"
                                    "b = expand(a) shape=d:1025\n"
                                    "c = expand(a) shape=d:1024\n"
                                    "return b\nreturn c\n",
                                    NULL);

    CU_ASSERT_EQUAL(node_of(folded, "b")->op, ISO_OP_EXPAND);
    CU_ASSERT_EQUAL(node_of(folded, "c")->op, ISO_OP_CONSTANT);
    iso_graph_destroy(&folded);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_failures(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = graph_of(param_text);
    iso_weights_t *weights = weights_of("w", 3);
    iso_graph_t *folded = NULL;

    CU_ASSERT_EQUAL(iso_graph_fold(graph, eval, weights, &folded), ISO_SHAPE);
    CU_ASSERT_STRING_EQUAL(iso_error_text(),
                           "weight 'w' is f32 [3], expected f32 [1024]");
    CU_ASSERT_PTR_NULL(folded);
    iso_weights_destroy(&weights);
    weights = weights_of("w", 1024);
    eval_fails = true;
    CU_ASSERT_EQUAL(iso_graph_fold(graph, eval, weights, &folded),
                    ISO_UNSUPPORTED);
    eval_fails = false;
    CU_ASSERT_STRING_EQUAL(iso_error_text(),
                           "folding node 'a': no such op here");
    iso_weights_destroy(&weights);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* Every allocation may fail; nothing is left then. */
static void test_out_of_memory(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;

    for (int64_t n = 1; status != ISO_OK && n < 500; n++) {
        iso_graph_t *graph = graph_of(param_text);
        iso_weights_t *weights = weights_of("v", 1025);
        iso_graph_t *folded = NULL;

        iso_mem_fail_at(n);
        status = iso_graph_fold(graph, eval, weights, &folded);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        CU_ASSERT_EQUAL(folded == NULL, status != ISO_OK);
        iso_graph_destroy(&folded);
        iso_graph_destroy(&graph);
        iso_weights_destroy(&weights);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* A chain as long as no call stack. */
static void test_long_chain(void)
{
    enum { LENGTH = 50000 };
    const int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = graph_of("a = constant f32[1] 1\n");
    iso_graph_t *folded = NULL;
    iso_node_id_t last = 0;

    for (int i = 0; i < LENGTH; i++) {
        const iso_node_spec_t spec = {
            .op = ISO_OP_NEG, .n_inputs = 1, .inputs = &last};

        CU_ASSERT_FATAL(iso_graph_add(graph, &spec, &last) == ISO_OK);
    }
    CU_ASSERT_FATAL(iso_graph_add_output(graph, "y", last) == ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_fold(graph, eval, NULL, &folded), ISO_OK);
    CU_ASSERT_EQUAL(eval_calls, LENGTH);
    CU_ASSERT_EQUAL(iso_graph_node_count(folded), 2);
    iso_graph_destroy(&folded);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"constants vanish", test_constants_vanish},
        {"made integers", test_made_integers},
        {"what is computed", test_what_is_computed},
        {"params need weights", test_params_need_weights},
        {"large results are params", test_large_results_are_params},
        {"large without weights", test_large_without_weights},
        {"failures", test_failures},
        {"out of memory", test_out_of_memory},
        {"long chain", test_long_chain},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"fold", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
