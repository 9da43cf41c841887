/*
 * Short ways to build small graphs in tests. Each gives the new node's id, or
 * ISO_NO_NODE and a failed check.
 */
#ifndef ISO_TEST_GRAPH_H
#define ISO_TEST_GRAPH_H

#include "isotome/error.h"
#include "isotome/graph.h"

#include "iso_test.h"

#include <stdio.h>
#include <string.h>

/* "N,3,32,32" to a shape; "" is a scalar. */
static inline iso_shape_t test_shape(const char *text)
{
    char copy[256];
    iso_shape_t shape = {0};

    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *at = copy; at != NULL && *at != '\0';) {
        char *comma = strchr(at, ',');

        if (comma != NULL) {
            *comma = '\0';
        }
        CU_ASSERT_EQUAL(iso_dim_parse(at, &shape.dim[shape.rank]), ISO_OK);
        shape.rank++;
        at = comma == NULL ? NULL : comma + 1;
    }
    return shape;
}

static inline iso_graph_t *test_graph(void)
{
    iso_graph_t *graph = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    return graph;
}

static inline iso_node_id_t test_input(iso_graph_t *graph, const char *name,
                                       const char *shape_text)
{
    iso_shape_t shape = test_shape(shape_text);
    iso_node_id_t id = ISO_NO_NODE;

    CU_ASSERT_EQUAL(
        iso_graph_add_input(graph, name, ISO_DTYPE_F32, &shape, &id), ISO_OK);
    return id;
}

static inline iso_node_id_t test_param(iso_graph_t *graph, const char *name,
                                       const char *shape_text)
{
    iso_shape_t shape = test_shape(shape_text);
    iso_node_id_t id = ISO_NO_NODE;

    CU_ASSERT_EQUAL(
        iso_graph_add_param(graph, name, ISO_DTYPE_F32, &shape, &id), ISO_OK);
    return id;
}

/* A node with up to three inputs (ISO_NO_NODE ends them) and one attribute
 * or none. */
static inline iso_node_id_t test_node(iso_graph_t *graph, const char *name,
                                      iso_op_t op,
                                      const iso_node_id_t inputs[3],
                                      const iso_attr_t *attr)
{
    iso_node_id_t id = ISO_NO_NODE;
    iso_node_spec_t spec = {.name = name,
                            .op = op,
                            .inputs = inputs,
                            .n_attrs = attr == NULL ? 0 : 1,
                            .attrs = attr};

    while (spec.n_inputs < 3 && inputs[spec.n_inputs] != ISO_NO_NODE) {
        spec.n_inputs++;
    }
    CU_ASSERT_EQUAL(iso_graph_add(graph, &spec, &id), ISO_OK);
    if (id == ISO_NO_NODE) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    return id;
}

static inline iso_node_id_t test_unary(iso_graph_t *graph, const char *name,
                                       iso_op_t op, iso_node_id_t x)
{
    return test_node(graph, name, op,
                     (const iso_node_id_t[]){x, ISO_NO_NODE, ISO_NO_NODE},
                     NULL);
}

static inline iso_node_id_t test_binary(iso_graph_t *graph, const char *name,
                                        iso_op_t op, iso_node_id_t a,
                                        iso_node_id_t b)
{
    return test_node(graph, name, op,
                     (const iso_node_id_t[]){a, b, ISO_NO_NODE}, NULL);
}

/* A leaf of f32 that is named by its place in the graph. */
static inline iso_node_id_t test_leaf(iso_graph_t *graph, bool is_param,
                                      int rank, const int64_t *dims)
{
    const iso_shape_t shape = iso_shape_of(rank, dims);
    iso_node_id_t id = ISO_NO_NODE;
    char name[32];

    (void)snprintf(name, sizeof name, "leaf%d", iso_graph_node_count(graph));
    CU_ASSERT_EQUAL_FATAL(
        (is_param ? iso_graph_add_param : iso_graph_add_input)(
            graph, name, ISO_DTYPE_F32, &shape, &id),
        ISO_OK);
    return id;
}

/* A node without a name, of any number of inputs and attributes. */
static inline iso_node_id_t test_add(iso_graph_t *graph, iso_op_t op,
                                     int n_inputs, const iso_node_id_t *inputs,
                                     int n_attrs, const iso_attr_t *attrs)
{
    const iso_node_spec_t spec = {.op = op,
                                  .n_inputs = n_inputs,
                                  .inputs = inputs,
                                  .n_attrs = n_attrs,
                                  .attrs = attrs};
    iso_node_id_t id = ISO_NO_NODE;
    const iso_status_t status = iso_graph_add(graph, &spec, &id);

    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    return id;
}

/* values: (count), borrowed */
static inline iso_attr_t test_ints(const char *name, int count,
                                   const int64_t *values)
{
    return (iso_attr_t){.name = name,
                        .kind = ISO_ATTR_INTS,
                        .count = count,
                        .value.ints = values};
}

static inline void test_output(iso_graph_t *graph, const char *name,
                               iso_node_id_t node)
{
    CU_ASSERT_EQUAL(iso_graph_add_output(graph, name, node), ISO_OK);
}

/* Is text in the latest failure? Prints the failure when it is not. */
static inline bool test_failed_with(const char *text)
{
    bool found = strstr(iso_error_text(), text) != NULL;

    if (!found) {
        (void)fprintf(stderr, "expected '%s' in: %s\n", text, iso_error_text());
    }
    return found;
}

#endif
