/* Formats of random networks, against what must hold of any. */
#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "kernel/chain.h"
#include "kernel/format.h"
#include "kernel/panels.h"
#include "random_net.h"

#include <stdio.h>

enum { SEED = 577215, TRIALS = 1500 };

static bool is_output(const iso_graph_t *graph, iso_node_id_t id)
{
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        if (iso_graph_output(graph, i)->node == id) {
            return true;
        }
    }
    return false;
}

/* Is a copy needed by a reader that is not computed with it, or as output? */
static bool needs_copy(const iso_graph_t *graph, const iso_formats_t *formats,
                       iso_node_id_t id)
{
    for (iso_node_id_t reader = id + 1; reader < formats->n_nodes; reader++) {
        const iso_node_t *node = iso_graph_node(graph, reader);

        for (int i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] == id &&
                iso_formats_read(graph, formats, reader, i) !=
                    formats->made[id]) {
                return true;
            }
        }
    }
    return is_output(graph, id) && formats->made[id] == ISO_FORMAT_BLOCKED;
}

static int count_reads(const iso_graph_t *graph, iso_node_id_t id)
{
    int count = is_output(graph, id) ? 1 : 0;

    for (iso_node_id_t reader = 0; reader < iso_graph_node_count(graph);
         reader++) {
        const iso_node_t *node = iso_graph_node(graph, reader);

        for (int i = 0; i < node->n_inputs; i++) {
            count += node->inputs[i] == id ? 1 : 0;
        }
    }
    return count;
}

/* A direct node, or an addition that has one. */
static bool may_go_on(const iso_graph_t *graph, const iso_formats_t *formats,
                      iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(graph, id);

    if (iso_panels_of(graph, id, NULL)) {
        return true;
    }
    for (int i = 0; node->op == ISO_OP_ADD && i < 2; i++) {
        if (formats->joined[node->inputs[i]] == id) {
            return true;
        }
    }
    return false;
}

/* The node whose step computes it. */
static iso_node_id_t step_of(const iso_formats_t *formats, iso_node_id_t id)
{
    while (formats->joined[id] != ISO_NO_NODE) {
        id = formats->joined[id];
    }
    return id;
}

static bool reads(const iso_node_t *node, iso_node_id_t id)
{
    bool does = false;

    for (int i = 0; i < node->n_inputs; i++) {
        does = does || node->inputs[i] == id;
    }
    return does;
}

/* A link is read by its chain alone, the last of its readers says so, and
 * between it and that one are leaves and links of the chain. */
static void check_readers(const iso_graph_t *graph,
                          const iso_formats_t *formats, iso_node_id_t id)
{
    const iso_node_id_t last = step_of(formats, id);
    iso_node_id_t last_reader = ISO_NO_NODE;

    for (iso_node_id_t reader = id + 1; reader < formats->n_nodes; reader++) {
        const iso_node_t *node = iso_graph_node(graph, reader);

        if (reads(node, id)) {
            last_reader = reader;
        }
        if (reads(node, id) || (reader <= last && !iso_node_is_leaf(node))) {
            CU_ASSERT_EQUAL(step_of(formats, reader), last);
        }
    }
    CU_ASSERT_EQUAL(last_reader, formats->joined[id]);
}

static void check_link(const iso_graph_t *graph, const iso_formats_t *formats,
                       iso_node_id_t id)
{
    const iso_node_id_t last = step_of(formats, id);

    CU_ASSERT(!is_output(graph, id));
    CU_ASSERT(!formats->has_copy[id]);
    CU_ASSERT_EQUAL(formats->made[id], ISO_FORMAT_PLAIN);
    CU_ASSERT(iso_chain_kind(graph, id) != ISO_CHAIN_NONE ||
              iso_panels_of(graph, id, NULL) || iso_view_is_read(graph, id, 0));
    CU_ASSERT_NOT_EQUAL(iso_chain_kind(graph, last), ISO_CHAIN_NONE);
    check_readers(graph, formats, id);
}

static void check_joined(const iso_graph_t *graph, const iso_formats_t *formats,
                         iso_node_id_t id)
{
    const iso_node_id_t reader = formats->joined[id];
    const iso_node_t *node = iso_graph_node(graph, reader);

    CU_ASSERT_EQUAL(count_reads(graph, id), 1);
    CU_ASSERT_EQUAL(formats->made[id], formats->made[reader]);
    CU_ASSERT(!formats->has_copy[id]);
    CU_ASSERT(may_go_on(graph, formats, id));
    CU_ASSERT(iso_shape_equal(&iso_graph_node(graph, id)->shape, &node->shape));
    if (node->op == ISO_OP_ADD) {
        const int other = node->inputs[0] == id ? 1 : 0;
        iso_panels_spec_t spec = {.kind = ISO_PANELS_DEPTHWISE};

        CU_ASSERT(iso_panels_of(graph, id, &spec) &&
                  spec.kind != ISO_PANELS_DEPTHWISE);
        CU_ASSERT_EQUAL(node->inputs[other] == id, false);
        CU_ASSERT_EQUAL(formats->joined[node->inputs[other]] == reader, false);
        CU_ASSERT_EQUAL(iso_formats_read(graph, formats, reader, other),
                        formats->made[id]);
    }
}

static void check_net(const iso_graph_t *graph, const iso_formats_t *formats,
                      int *n_blocked, int *n_joined)
{
    for (iso_node_id_t id = 0; id < formats->n_nodes; id++) {
        const iso_node_t *node = iso_graph_node(graph, id);

        CU_ASSERT_EQUAL(formats->has_copy[id], needs_copy(graph, formats, id));
        if (formats->made[id] == ISO_FORMAT_BLOCKED) {
            CU_ASSERT(!iso_node_is_leaf(node) && node->op != ISO_OP_RESHAPE);
            CU_ASSERT(node->shape.rank >= 3 && node->shape.rank <= 5);
            ++*n_blocked;
        }
        if (formats->joined[id] != ISO_NO_NODE) {
            (formats->is_chain[step_of(formats, id)]
                 ? check_link
                 : check_joined)(graph, formats, id);
            ++*n_joined;
        }
    }
}

static void test_random_nets(void)
{
    uint64_t state = SEED;
    int n_blocked = 0;
    int n_joined = 0;

    (void)printf("  seed %d\n", SEED);
    for (int trial = 0; trial < TRIALS; trial++) {
        const bool joins = trial % 3 != 0;
        iso_graph_t *graph = random_net(&state, 40);
        iso_formats_t formats;
        int before = n_joined;

        CU_ASSERT_EQUAL_FATAL(iso_formats_create(graph, joins, &formats),
                              ISO_OK);
        check_net(graph, &formats, &n_blocked, &n_joined);
        CU_ASSERT(joins || n_joined == before);
        iso_formats_free(&formats);
        iso_graph_destroy(&graph);
    }
    CU_ASSERT(n_blocked > 2 * TRIALS);
    CU_ASSERT(n_joined > TRIALS / 2);
}

/* One concatenation of very many values, and a long chain: linear. */
static void test_many_nodes(void)
{
    enum { PARTS = 200000 };
    iso_graph_t *graph = test_graph();
    iso_node_id_t *parts = iso_alloc(PARTS * sizeof *parts);
    const int64_t axis = 1;
    const iso_attr_t attr = {
        .name = "axis", .kind = ISO_ATTR_INTS, .count = 1, .value.ints = &axis};
    iso_node_spec_t spec = {.name = "all",
                            .op = ISO_OP_CONCAT,
                            .n_inputs = PARTS,
                            .inputs = parts,
                            .n_attrs = 1,
                            .attrs = &attr};
    iso_formats_t formats;
    iso_node_id_t all = ISO_NO_NODE;
    const iso_node_id_t input = test_input(graph, "x", "1,16,1");
    const iso_node_id_t weights = test_param(graph, "w", "16,16,1");

    CU_ASSERT_PTR_NOT_NULL_FATAL(parts);
    for (int i = 0; i < PARTS; i++) {
        const iso_node_id_t x = i == 0 ? input : parts[i - 1];

        parts[i] = i % 2 == 0
                       ? test_binary(graph, NULL, ISO_OP_CONV, x, weights)
                       : test_unary(graph, NULL, ISO_OP_RELU, x);
    }
    CU_ASSERT_EQUAL_FATAL(iso_graph_add(graph, &spec, &all), ISO_OK);
    test_output(graph, "y", all);
    CU_ASSERT_EQUAL_FATAL(iso_formats_create(graph, true, &formats), ISO_OK);
    CU_ASSERT_EQUAL(formats.made[all], ISO_FORMAT_BLOCKED);
    CU_ASSERT(formats.has_copy[all]);
    iso_formats_free(&formats);
    iso_free(parts);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"random nets", test_random_nets},
        {"many nodes", test_many_nodes},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"format_random", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
