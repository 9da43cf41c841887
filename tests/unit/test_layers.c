#include "base/mem.h"
#include "graph/pass.h"
#include "iso_test_graph.h"

static int layer_of(const iso_graph_t *graph, const char *name)
{
    iso_node_id_t id = iso_graph_find(graph, name);

    CU_ASSERT_NOT_EQUAL_FATAL(id, ISO_NO_NODE);
    return iso_graph_node(graph, id)->layer;
}

/* x times a square weight of its own. */
static iso_node_id_t add_heavy(iso_graph_t *graph, const char *name,
                               iso_node_id_t x, int64_t in, int64_t out)
{
    char weight[64];
    char shape[64];

    (void)snprintf(weight, sizeof weight, "%s.w", name);
    (void)snprintf(shape, sizeof shape, "%lld,%lld", (long long)in,
                   (long long)out);
    return test_binary(graph, name, ISO_OP_MATMUL, x,
                       test_param(graph, weight, shape));
}

static void test_chain(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "N,4");
    int last = 0;

    x = test_unary(graph, "lead", ISO_OP_NEG, x);
    x = test_unary(graph, "r1", ISO_OP_RELU, add_heavy(graph, "h1", x, 4, 8));
    x = test_unary(graph, "r2", ISO_OP_RELU, add_heavy(graph, "h2", x, 8, 2));
    x = test_unary(graph, "tail", ISO_OP_EXP, add_heavy(graph, "h3", x, 2, 6));
    test_output(graph, "y", x);
    CU_ASSERT_EQUAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_layer_count(graph), 3);
    CU_ASSERT_EQUAL(layer_of(graph, "lead"), 0);
    CU_ASSERT_EQUAL(layer_of(graph, "h1"), 0);
    CU_ASSERT_EQUAL(layer_of(graph, "r1"), 0);
    CU_ASSERT_EQUAL(layer_of(graph, "h2"), 1);
    CU_ASSERT_EQUAL(layer_of(graph, "r2"), 1);
    CU_ASSERT_EQUAL(layer_of(graph, "h3"), 2);
    CU_ASSERT_EQUAL(layer_of(graph, "tail"), 2);
    CU_ASSERT_EQUAL(layer_of(graph, "h1.w"), -1);
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        int layer = iso_graph_node(graph, id)->layer;

        CU_ASSERT(layer < 0 || layer >= last);
        last = layer < 0 ? last : layer;
    }
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* A product of two values is light, with a bias or without. */
static void test_bias_is_no_weight(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "4,4");

    x = add_heavy(graph, "h1", x, 4, 4);
    x = test_node(graph, "scores", ISO_OP_MATMUL,
                  (const iso_node_id_t[]){x, x, test_param(graph, "bias", "4")},
                  NULL);
    x = add_heavy(graph, "h2", x, 4, 4);
    test_output(graph, "y", x);
    CU_ASSERT_EQUAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_layer_count(graph), 2);
    CU_ASSERT_EQUAL(layer_of(graph, "scores"), 0);
    CU_ASSERT_EQUAL(layer_of(graph, "h2"), 1);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* A value that grows is cut before it does, one that shrinks behind. */
static void test_fewest_bytes(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "2,4");
    iso_attr_t f64 = {"to", ISO_ATTR_TEXT, 1, {.text = "f64"}};
    iso_attr_t f32 = {"to", ISO_ATTR_TEXT, 1, {.text = "f32"}};

    x = add_heavy(graph, "h1", x, 4, 4);
    x = test_node(graph, "wide", ISO_OP_CAST,
                  (const iso_node_id_t[]){x, ISO_NO_NODE, ISO_NO_NODE}, &f64);
    x = test_unary(graph, "still", ISO_OP_NEG, x);
    x = test_node(graph, "narrow", ISO_OP_CAST,
                  (const iso_node_id_t[]){x, ISO_NO_NODE, ISO_NO_NODE}, &f32);
    x = add_heavy(graph, "h2", x, 4, 8);
    x = test_node(graph, "widen", ISO_OP_CAST,
                  (const iso_node_id_t[]){x, ISO_NO_NODE, ISO_NO_NODE}, &f64);
    test_output(graph, "y", x);
    CU_ASSERT_EQUAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_layer_count(graph), 2);
    CU_ASSERT_EQUAL(layer_of(graph, "narrow"), 0);
    CU_ASSERT_EQUAL(layer_of(graph, "h2"), 1);
    CU_ASSERT_EQUAL(layer_of(graph, "widen"), 1);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_nothing_heavy(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x;

    CU_ASSERT_EQUAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_layer_count(graph), 0);
    x = test_input(graph, "x", "N,4,4");
    x = test_binary(graph, "scores", ISO_OP_MATMUL, x, x);
    x = test_unary(graph, "y", ISO_OP_RELU, x);
    test_output(graph, "y", x);
    CU_ASSERT_EQUAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_layer_count(graph), 1);
    CU_ASSERT_EQUAL(layer_of(graph, "y"), 0);
    for (int64_t n = 1; n <= 7; n++) {
        iso_mem_fail_at(n);
        CU_ASSERT_EQUAL(iso_graph_mark_layers(graph), ISO_NOMEM);
    }
    iso_mem_fail_at(0);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* Blocks with a mask that stays live: no cut inside has one live value, yet
 * each block's end has fewer bytes than its inside. Only the head's cut has
 * one, with fewer bytes than all. */
static void test_a_value_that_stays_live(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "N,4");
    iso_node_id_t mask = test_input(graph, "mask", "N,4");
    char name[32];

    for (int b = 0; b < 3; b++) {
        iso_node_id_t up;
        iso_node_id_t down;

        (void)snprintf(name, sizeof name, "up%d", b);
        up = add_heavy(graph, name, x, 4, 16);
        (void)snprintf(name, sizeof name, "down%d", b);
        down = add_heavy(graph, name, up, 16, 4);
        (void)snprintf(name, sizeof name, "masked%d", b);
        down = test_binary(graph, name, ISO_OP_MUL, down, mask);
        (void)snprintf(name, sizeof name, "sum%d", b);
        x = test_binary(graph, name, ISO_OP_ADD, x, down);
    }
    x = test_binary(graph, "last", ISO_OP_ADD, x, mask);
    test_output(graph, "y", add_heavy(graph, "head", x, 4, 2));
    CU_ASSERT_EQUAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_layer_count(graph), 4);
    CU_ASSERT_EQUAL(layer_of(graph, "up0"), 0);
    CU_ASSERT_EQUAL(layer_of(graph, "sum0"), 0);
    CU_ASSERT_EQUAL(layer_of(graph, "up1"), 1);
    CU_ASSERT_EQUAL(layer_of(graph, "sum1"), 1);
    CU_ASSERT_EQUAL(layer_of(graph, "down2"), 2);
    CU_ASSERT_EQUAL(layer_of(graph, "last"), 2);
    CU_ASSERT_EQUAL(layer_of(graph, "head"), 3);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* A skip over two heavy nodes: between cuts with one value, one that is
 * lower than its neighbours but not than those cuts is not kept. */
static void test_inside_a_skip(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x =
        add_heavy(graph, "stem", test_input(graph, "x", "N,4"), 4, 4);
    iso_node_id_t y = add_heavy(graph, "a", x, 4, 16);

    y = add_heavy(graph, "b", y, 16, 2);
    y = add_heavy(graph, "c", y, 2, 16);
    y = add_heavy(graph, "d", y, 16, 4);
    y = test_binary(graph, "sum", ISO_OP_ADD, x, y);
    test_output(graph, "y", add_heavy(graph, "head", y, 4, 2));
    CU_ASSERT_EQUAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_layer_count(graph), 3);
    CU_ASSERT_EQUAL(layer_of(graph, "a"), 1);
    CU_ASSERT_EQUAL(layer_of(graph, "sum"), 1);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* A U-Net: skips of all levels stay live over the middle, yet it falls apart
 * where a level ends, because there the fewest bytes are live. */
static void test_u_net(void)
{
    enum { LEVELS = 3 };
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "N,16");
    iso_node_id_t skips[LEVELS];
    char name[32];

    x = add_heavy(graph, "stem", x, 16, 16);
    for (int level = 0; level < LEVELS; level++) {
        int64_t width = 16 >> level;

        (void)snprintf(name, sizeof name, "in%d", level);
        skips[level] = add_heavy(graph, name, x, width, 4 * width);
        (void)snprintf(name, sizeof name, "down%d", level);
        x = add_heavy(graph, name, skips[level], 4 * width, width / 2);
    }
    for (int level = LEVELS - 1; level >= 0; level--) {
        int64_t width = 16 >> level;

        (void)snprintf(name, sizeof name, "up%d", level);
        x = add_heavy(graph, name, x, width / 2, 4 * width);
        (void)snprintf(name, sizeof name, "join%d", level);
        x = test_binary(graph, name, ISO_OP_ADD, x, skips[level]);
        (void)snprintf(name, sizeof name, "out%d", level);
        x = add_heavy(graph, name, x, 4 * width, width);
    }
    test_output(graph, "y", add_heavy(graph, "head", x, 16, 2));
    CU_ASSERT_EQUAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT(layer_of(graph, "up2") > layer_of(graph, "in1"));
    CU_ASSERT(layer_of(graph, "out1") > layer_of(graph, "in2"));
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* -- ResNet-50 -- */

/* A convolution of a square image, named by a running number. */
typedef struct conv_spec {
    int64_t in;
    int64_t out;
    int64_t kernel;
    int64_t stride;
} conv_spec_t;

static iso_node_id_t add_conv(iso_graph_t *graph, iso_node_id_t x,
                              const conv_spec_t *conv)
{
    const int64_t strides[2] = {conv->stride, conv->stride};
    const int64_t pad = conv->kernel / 2;
    const int64_t pads[4] = {pad, pad, pad, pad};
    iso_attr_t attrs[] = {{"strides", ISO_ATTR_INTS, 2, {.ints = strides}},
                          {"pads", ISO_ATTR_INTS, 4, {.ints = pads}}};
    char name[32];
    char shape[64];
    iso_node_id_t y = ISO_NO_NODE;

    (void)snprintf(name, sizeof name, "w%d", iso_graph_node_count(graph));
    (void)snprintf(shape, sizeof shape, "%lld,%lld,%lld,%lld",
                   (long long)conv->out, (long long)conv->in,
                   (long long)conv->kernel, (long long)conv->kernel);
    const iso_node_id_t ids[2] = {x, test_param(graph, name, shape)};
    const iso_node_spec_t spec = {.op = ISO_OP_CONV,
                                  .n_inputs = 2,
                                  .inputs = ids,
                                  .n_attrs = 2,
                                  .attrs = attrs};
    CU_ASSERT_EQUAL(iso_graph_add(graph, &spec, &y), ISO_OK);
    return y;
}

static iso_node_id_t add_block(iso_graph_t *graph, iso_node_id_t x, int64_t in,
                               int64_t inner, int64_t stride)
{
    const conv_spec_t reduce = {in, inner, 1, 1};
    const conv_spec_t middle = {inner, inner, 3, stride};
    const conv_spec_t expand = {inner, 4 * inner, 1, 1};
    const conv_spec_t shortcut = {in, 4 * inner, 1, stride};
    iso_node_id_t y = add_conv(graph, x, &reduce);

    y = add_conv(graph, test_unary(graph, NULL, ISO_OP_RELU, y), &middle);
    y = add_conv(graph, test_unary(graph, NULL, ISO_OP_RELU, y), &expand);
    if (in != 4 * inner) {
        x = add_conv(graph, x, &shortcut);
    }
    y = test_binary(graph, NULL, ISO_OP_ADD, y, x);
    return test_unary(graph, NULL, ISO_OP_RELU, y);
}

static void test_resnet50(void)
{
    static const int blocks[] = {3, 4, 6, 3};
    static const conv_spec_t stem = {3, 64, 7, 4};
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x =
        add_conv(graph, test_input(graph, "x", "N,3,224,224"), &stem);
    int64_t in = 64;

    for (int s = 0; s < 4; s++) {
        int64_t inner = INT64_C(64) << s;

        for (int b = 0; b < blocks[s]; b++) {
            x = add_block(graph, x, in, inner, s > 0 && b == 0 ? 2 : 1);
            in = 4 * inner;
        }
    }
    x = test_unary(graph, "mean", ISO_OP_REDUCE_MEAN, x);
    test_output(graph, "y", x);
    CU_ASSERT_EQUAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_layer_count(graph), 17); /* without the head */
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* -- size -- */

static void test_million_nodes(void)
{
    enum { LAYERS = 500000 };
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_graph_t *bound = NULL;
    iso_node_id_t w = test_param(graph, "w", "2,2");
    iso_node_id_t ids[2] = {test_input(graph, "x", "N,2"), w};
    iso_node_spec_t heavy = {.op = ISO_OP_MATMUL, .n_inputs = 2, .inputs = ids};
    iso_node_spec_t light = {.op = ISO_OP_RELU, .n_inputs = 1, .inputs = ids};
    iso_binding_t binding = {"N", 3};
    int bad = 0;

    for (int i = 0; i < LAYERS; i++) {
        bad += iso_graph_add(graph, &heavy, &ids[0]) != ISO_OK;
        bad += iso_graph_add(graph, &light, &ids[0]) != ISO_OK;
    }
    CU_ASSERT_EQUAL(bad, 0);
    test_output(graph, "y", ids[0]);
    CU_ASSERT_EQUAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_layer_count(graph), LAYERS);
    CU_ASSERT_EQUAL(iso_graph_bind(graph, &binding, 1, &bound), ISO_OK);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_graph_layer_count(bound), LAYERS);
    CU_ASSERT_EQUAL(iso_graph_node_count(bound), 2 * LAYERS + 2);
    iso_graph_destroy(&bound);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"chain", test_chain},
        {"a bias is no weight", test_bias_is_no_weight},
        {"fewest bytes", test_fewest_bytes},
        {"nothing heavy", test_nothing_heavy},
        {"a value that stays live", test_a_value_that_stays_live},
        {"inside a skip", test_inside_a_skip},
        {"u-net", test_u_net},
        {"resnet-50", test_resnet50},
        {"a million nodes", test_million_nodes},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"layers", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
