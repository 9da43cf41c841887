/*
 * A small model with all that a plan has to deal with, and a plan of it;
 * shared by the tests of the plan.
 */
#ifndef ISO_PLAN_MODEL_H
#define ISO_PLAN_MODEL_H

#include "isotome/plan.h"

#include "iso_test.h"
#include "iso_test_graph.h"

static inline iso_node_id_t add_dense(iso_graph_t *graph, const char *name,
                                      const char *weight, iso_node_id_t x,
                                      int layer)
{
    iso_node_id_t w = iso_graph_find(graph, weight);

    if (w == ISO_NO_NODE) {
        w = test_param(graph, weight, "64,64");
    }
    iso_node_id_t id = test_binary(graph, name, ISO_OP_MATMUL, x, w);
    iso_graph_set_layer(graph, id, layer);
    return id;
}

/*
 * x[batch,64] through 6 layers of one matmul [64,64] each. Layer 4 adds what
 * layer 0 made, layers 1 and 5 share a weight, and what layer 2 makes is an
 * output of the model too.
 */
static inline iso_graph_t *make_model(const char *shape)
{
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", shape);
    iso_node_id_t m0 = add_dense(graph, "m0", "w0", x, 0);
    iso_node_id_t m1 = add_dense(graph, "m1", "tied", m0, 1);
    iso_node_id_t m2 = add_dense(graph, "m2", "w2", m1, 2);
    iso_node_id_t m3 = add_dense(graph, "m3", "w3", m2, 3);
    iso_node_id_t m4 = add_dense(graph, "m4", "w4", m3, 4);
    iso_node_id_t sum = test_binary(graph, "sum", ISO_OP_ADD, m4, m0);
    iso_graph_set_layer(graph, sum, 4);
    iso_node_id_t m5 = add_dense(graph, "m5", "tied", sum, 5);

    test_output(graph, "y", m5);
    test_output(graph, "early", m2);
    return graph;
}

static inline iso_machine_t *make_machine(int world)
{
    iso_machine_t *machine = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(world, 2, 0, &machine), ISO_OK);
    return machine;
}

/* A plan of the model on a default machine. */
static inline iso_plan_t *make_plan(const iso_graph_t *graph,
                                    const iso_plan_options_t *options)
{
    iso_machine_t *machine = make_machine(options->world);
    iso_plan_t *plan = NULL;
    iso_status_t status = iso_plan_create(graph, machine, options, &plan);

    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    iso_machine_destroy(&machine);
    return plan;
}

#endif
