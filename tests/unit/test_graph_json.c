#include "base/mem.h"
#include "graph/print.h"
#include "iso_test_graph.h"

#include <math.h>
#include <stdlib.h>

/* -- round trip -- */

static void check_round_trip(const iso_graph_t *graph, int indent)
{
    json_t *json = NULL;
    char *text = NULL;
    char *again = NULL;
    iso_json_t root;
    iso_graph_t *read = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_graph_to_json(graph, &json), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_json_print(json, indent, &text), ISO_OK);
    json_decref(json);
    CU_ASSERT_EQUAL_FATAL(iso_json_parse(text, strlen(text), "test", &root),
                          ISO_OK);
    if (iso_graph_from_json(&root, &read) != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
        CU_FAIL_FATAL("graph cannot be read back");
    }
    json_decref(root.value);
    CU_ASSERT_EQUAL(iso_graph_digest(read), iso_graph_digest(graph));
    CU_ASSERT_EQUAL_FATAL(iso_graph_to_json(read, &json), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_json_print(json, indent, &again), ISO_OK);
    CU_ASSERT_STRING_EQUAL(again, text);
    json_decref(json);
    iso_graph_destroy(&read);
    free(text);
    free(again);
}

static void add_clip(iso_graph_t *graph, const char *name, iso_node_id_t x,
                     double min, double max)
{
    iso_attr_t attrs[] = {{"min", ISO_ATTR_FLOATS, 1, {.floats = &min}},
                          {"max", ISO_ATTR_FLOATS, 1, {.floats = &max}}};
    iso_node_spec_t spec = {.name = name,
                            .op = ISO_OP_CLIP,
                            .n_inputs = 1,
                            .inputs = &x,
                            .n_attrs = 2,
                            .attrs = attrs};
    iso_node_id_t id;

    CU_ASSERT_EQUAL(iso_graph_add(graph, &spec, &id), ISO_OK);
    iso_graph_set_layer(graph, id, 3);
    test_output(graph, name, id);
}

static void test_every_kind_of_value(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x \"\\/\n\xc3\xa9", "N,3,5,5");
    iso_node_id_t w = test_param(graph, "w", "2,3,3,3");
    double values[3] = {0.1, -0.0, NAN};
    iso_tensor_t numbers = {ISO_DTYPE_F64, 1, {3}, values};
    iso_tensor_t none = {ISO_DTYPE_BOOL, 2, {0, 4}, NULL};
    iso_node_id_t ids[3] = {x, w, ISO_NO_NODE};
    iso_node_spec_t conv = {
        .name = "conv", .op = ISO_OP_CONV, .n_inputs = 3, .inputs = ids};
    iso_shape_t flat = test_shape("N,18");
    iso_attr_t attr = {"shape", ISO_ATTR_DIMS, 2, {.dims = flat.dim}};
    iso_node_id_t id;

    CU_ASSERT_EQUAL(iso_graph_add_constant(graph, "c", &numbers, &id), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_add_constant(graph, "e", &none, &id), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_graph_add(graph, &conv, &id), ISO_OK);
    id =
        test_node(graph, "flat", ISO_OP_RESHAPE,
                  (const iso_node_id_t[]){id, ISO_NO_NODE, ISO_NO_NODE}, &attr);
    add_clip(graph, "a", id, -INFINITY, INFINITY);
    add_clip(graph, "b", id, 0.1, 1.0 / 3.0 * 1e300);
    add_clip(graph, "d", id, -4.9e-324, 2.0);
    check_round_trip(graph, 0);
    check_round_trip(graph, 2);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* A linear congruential generator is enough to vary graphs. */
static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (uint32_t)(*state >> 33);
}

static iso_node_id_t add_random_node(iso_graph_t *graph, uint64_t *state)
{
    static const iso_op_t unary[] = {ISO_OP_RELU, ISO_OP_EXP, ISO_OP_ABS,
                                     ISO_OP_SIGMOID};
    static const iso_op_t binary[] = {ISO_OP_ADD, ISO_OP_MUL, ISO_OP_MAX};
    uint32_t count = (uint32_t)iso_graph_node_count(graph);
    iso_node_id_t a = (iso_node_id_t)(next_random(state) % count);
    iso_node_id_t b = (iso_node_id_t)(next_random(state) % count);
    double alpha = (double)next_random(state) / 1e7 - 100.0;
    iso_attr_t attr = {"alpha", ISO_ATTR_FLOATS, 1, {.floats = &alpha}};

    switch (next_random(state) % 3) {
    case 0:
        return test_unary(graph, NULL, unary[next_random(state) % 4], a);
    case 1:
        return test_binary(graph, NULL, binary[next_random(state) % 3], a, b);
    default:
        return test_node(graph, NULL, ISO_OP_LEAKY_RELU,
                         (const iso_node_id_t[]){a, ISO_NO_NODE, ISO_NO_NODE},
                         &attr);
    }
}

static void test_random_graphs(void)
{
    enum { GRAPHS = 50 };
    const uint64_t seed = 20240611;
    int64_t before = iso_mem_count().blocks;

    (void)printf("seed %llu ", (unsigned long long)seed);
    for (uint64_t g = 0; g < GRAPHS; g++) {
        uint64_t state = seed + g;
        iso_graph_t *graph = test_graph();
        uint32_t nodes = next_random(&state) % 60;
        float values[4] = {(float)next_random(&state), 1e-30F, -0.0F, 0.3F};
        iso_tensor_t tensor = {ISO_DTYPE_F32, 1, {4}, values};
        iso_node_id_t id;

        (void)test_input(graph, "x", "N,4");
        (void)test_param(graph, "w", "4");
        CU_ASSERT_EQUAL(iso_graph_add_constant(graph, "c", &tensor, &id),
                        ISO_OK);
        for (uint32_t i = 0; i < nodes; i++) {
            id = add_random_node(graph, &state);
            iso_graph_set_layer(graph, id, (int)(i / 7) - 1);
        }
        test_output(graph, "y", id);
        check_round_trip(graph, 0);
        iso_graph_destroy(&graph);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* -- hostile text -- */

static iso_status_t read_text(const char *text)
{
    iso_json_t root;
    iso_graph_t *graph = NULL;
    iso_status_t status = iso_json_parse(text, strlen(text), "test", &root);

    if (status == ISO_OK) {
        status = iso_graph_from_json(&root, &graph);
        CU_ASSERT_EQUAL(graph == NULL, status != ISO_OK);
        iso_graph_destroy(&graph);
        json_decref(root.value);
    }
    return status;
}

#define X_NODE      "{'name':'x','op':'input','dtype':'f32','shape':['N',2]}"
#define NODES(more) "{'nodes':[" X_NODE more "],'outputs':[]}"
#define CONSTANT(rest) \
    NODES(",{'name':'c','op':'constant','dtype':'i32'," rest "}")
#define RELU(rest) \
    NODES(",{'name':'y','op':'relu','dtype':'f32','shape':['N',2]," rest "}")
#define ELU(attrs)                                                 \
    NODES(",{'name':'y','op':'elu','dtype':'f32','shape':['N',2]," \
          "'inputs':['x'],'attrs':" attrs "}")

typedef struct hostile {
    const char *text; /* with ' for " */
    iso_status_t status;
    const char *error;
} hostile_t;

static void check_hostile(const hostile_t *cases, size_t count)
{
    int64_t before = iso_mem_count().blocks;

    for (size_t i = 0; i < count; i++) {
        char text[1024];

        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        for (char *quote = strchr(text, '\''); quote != NULL;
             quote = strchr(quote, '\'')) {
            *quote = '"';
        }
        CU_ASSERT_EQUAL(read_text(text), cases[i].status);
        if (cases[i].status != ISO_OK) {
            CU_ASSERT(test_failed_with(cases[i].error));
        }
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_hostile_graphs(void)
{
    static const hostile_t cases[] = {
        {NODES(""), ISO_OK, ""},
        {"[]", ISO_INPUT, "test: expected object, found array"},
        {"{}", ISO_INPUT, "member 'nodes' is missing"},
        {"{'nodes':{},'outputs':[]}", ISO_INPUT, "nodes: expected array"},
        {"{'nodes':[],'outputs':[],'more':1}", ISO_INPUT, "'more'"},
        {"{'nodes':[3],'outputs':[]}", ISO_INPUT, "nodes[0]"},
        {"{'nodes':[],'outputs':[{'name':'y','node':'x'}]}", ISO_INPUT,
         "no node 'x'"},
        {"{'nodes':[],'outputs':[{'name':'y','node':0}]}", ISO_INPUT,
         "expected string"},
        {NODES("," X_NODE), ISO_INVAL, "'x' is taken"},
        {NODES(",{'op':'relu'}"), ISO_INPUT, "'name' is missing"},
        {NODES(",{'name':'y','op':'rleu'}"), ISO_INPUT,
         "nodes[1]: op 'rleu' is not known"},
        {NODES(",{'name':'y','op':'input','dtype':'f33','shape':[]}"),
         ISO_INPUT, "dtype 'f33'"},
        {NODES(",{'name':'y','op':'input','dtype':'f32','shape':[-1]}"),
         ISO_INPUT, "nodes[1].shape[0]"},
        {NODES(",{'name':'y','op':'input','dtype':'f32','shape':[1.5]}"),
         ISO_INPUT, "expected integer"},
        {NODES(",{'name':'y','op':'input','dtype':'f32','shape':['2*(']}"),
         ISO_INPUT, "'2*(' is not a dim"},
        {NODES(",{'name':'y','op':'input','dtype':'f32',"
               "'shape':[1,1,1,1,1,1,1,1,1]}"),
         ISO_INPUT, "9 dims, expected at most 8"},
        {NODES(",{'name':'y','op':'param','dtype':'f32',"
               "'shape':[4611686018427387904,4]}"),
         ISO_SHAPE, "over 2^62"},
        {NODES(",{'name':'y','op':'param','dtype':'f32','shape':[1],"
               "'data':'00000000'}"),
         ISO_INPUT, "only a constant"},
    };

    check_hostile(cases, sizeof cases / sizeof cases[0]);
}

static void test_hostile_constants(void)
{
    static const hostile_t cases[] = {
        {CONSTANT("'shape':[1],'data':'0000000a'"), ISO_OK, ""},
        {CONSTANT("'shape':[0],'data':''"), ISO_OK, ""},
        {CONSTANT("'shape':[1]"), ISO_INPUT, "'data' is missing"},
        {CONSTANT("'shape':[1],'data':'0000000'"), ISO_INPUT, "7 digits"},
        {CONSTANT("'shape':[1],'data':'000000000'"), ISO_INPUT, "9 digits"},
        {CONSTANT("'shape':[1],'data':'0000000A'"), ISO_INPUT, "digit 6"},
        {CONSTANT("'shape':['N'],'data':''"), ISO_INPUT, "shape of numbers"},
        {CONSTANT("'shape':[4611686018427387904],'data':''"), ISO_SHAPE,
         "2^62"},
        {CONSTANT("'shape':[1000000000000],'data':'00'"), ISO_INPUT,
         "2 digits, expected 2 * 4000000000000"},
        {CONSTANT("'shape':[1],'data':'00000000','layer':0"), ISO_INPUT,
         "'layer'"},
    };

    check_hostile(cases, sizeof cases / sizeof cases[0]);
}

static void test_hostile_nodes(void)
{
    static const hostile_t cases[] = {
        {RELU("'inputs':['x']"), ISO_OK, ""},
        {RELU("'inputs':['x'],'layer':7"), ISO_OK, ""},
        {RELU("'inputs':['x'],'layer':-1"), ISO_INPUT, "layer"},
        {RELU("'inputs':['x'],'layer':2147483647"), ISO_INPUT, "layer"},
        {RELU("'inputs':['x'],'data':''"), ISO_INPUT, "'data'"},
        {RELU("'inputs':['y']"), ISO_INPUT, "no node 'y' before"},
        {RELU("'inputs':[0]"), ISO_INPUT, "inputs[0]: expected string"},
        {RELU("'inputs':[null]"), ISO_INVAL, "input 0 is required"},
        {RELU("'inputs':[]"), ISO_INVAL, "0 inputs, expected 1"},
        {RELU("'inputs':'x'"), ISO_INPUT, "expected array"},
        {RELU("'inputs':['x'],'attrs':{'alpha':{'floats':[1]}}"), ISO_INVAL,
         "'alpha' is not known"},
        {NODES(",{'name':'y','op':'relu','dtype':'f32','shape':[3,2],"
               "'inputs':['x']}"),
         ISO_INPUT, "'y' is said to be f32 [3,2], but is f32 [N,2]"},
        {NODES(",{'name':'y','op':'relu','dtype':'i64','shape':['N',2],"
               "'inputs':['x']}"),
         ISO_INPUT, "'y' is said to be i64 [N,2], but is f32 [N,2]"},
        {ELU("{'alpha':{'floats':[0.5]}}"), ISO_OK, ""},
        {ELU("{'alpha':{'floats':['nan']}}"), ISO_INPUT, "alpha.floats[0]"},
        {ELU("{'alpha':{'floats':[true]}}"), ISO_INPUT, "expected a number"},
        {ELU("{'alpha':{'ints':[0.5]}}"), ISO_INPUT, "expected integer"},
        {ELU("{'alpha':{'texts':[0.5]}}"), ISO_INPUT, "'texts'"},
        {ELU("{'alpha':{'ints':[1],'floats':[1]}}"), ISO_INPUT,
         "attrs.alpha: expected one of"},
        {ELU("{'alpha':{}}"), ISO_INPUT, "expected one of"},
        {ELU("{'alpha':0.5}"), ISO_INPUT, "expected object"},
        {ELU("[]"), ISO_INPUT, "attrs: expected object"},
        {ELU("{'alpha':{'floats':[]}}"), ISO_INVAL, "alpha"},
        {ELU("{'alpha':{'text':'x'}}"), ISO_INVAL, "alpha"},
        {ELU("{'alpha':{'dims':['N','M']}}"), ISO_INVAL, "'M'"},
    };

    check_hostile(cases, sizeof cases / sizeof cases[0]);
}

static void test_names_that_are_not_utf8(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    json_t *json = NULL;

    (void)test_input(graph, "\xff\xfe", "2");
    CU_ASSERT_EQUAL(iso_graph_to_json(graph, &json), ISO_INVAL);
    CU_ASSERT_PTR_NULL(json);
    CU_ASSERT(test_failed_with("UTF-8"));
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* Every allocation that is counted fails once; nothing is left behind. */
static void test_out_of_memory(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "N,2");
    int64_t held = 0;
    json_t *json = NULL;
    iso_json_t root = {.key = "test"};
    int failures = 0;

    add_clip(graph, "y", x, 0.0, 6.0);
    CU_ASSERT_EQUAL_FATAL(iso_graph_to_json(graph, &json), ISO_OK);
    iso_graph_destroy(&graph);
    root.value = json;
    held = iso_mem_count().blocks;
    for (int64_t n = 1; n < 60; n++) {
        iso_status_t status;

        iso_mem_fail_at(n);
        status = iso_graph_from_json(&root, &graph);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        CU_ASSERT_EQUAL(graph == NULL, status != ISO_OK);
        failures += status == ISO_NOMEM;
        iso_graph_destroy(&graph);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, held);
    }
    CU_ASSERT(failures > 5 && failures < 59);
    json_decref(json);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_empty_graph(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();

    check_round_trip(graph, 0);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"empty graph", test_empty_graph},
        {"every kind of value", test_every_kind_of_value},
        {"random graphs", test_random_graphs},
        {"hostile graphs", test_hostile_graphs},
        {"hostile constants", test_hostile_constants},
        {"hostile nodes", test_hostile_nodes},
        {"names that are not UTF-8", test_names_that_are_not_utf8},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"graph_json", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
