/*
 * Placements by hand, and exchanges to place nodes around.
 */
#ifndef PLACED_H
#define PLACED_H

#include "isotome/device_map.h"

#include "base/mem.h"
#include "iso_test_graph.h"

static inline bool has_device(const iso_node_t *node)
{
    return !iso_node_is_leaf(node) && node->op != ISO_OP_RESHAPE &&
           node->op != ISO_OP_EXCHANGE;
}

/* No node has a device yet. */
static inline iso_placement_t empty_placement(const iso_graph_t *graph)
{
    const int32_t n = iso_graph_node_count(graph);
    iso_placement_t placement = {
        .n_nodes = n, .device_of = iso_alloc((size_t)n * sizeof(int))};

    CU_ASSERT_PTR_NOT_NULL_FATAL(placement.device_of);
    for (int32_t id = 0; id < n; id++) {
        placement.device_of[id] = ISO_NO_DEVICE;
    }
    return placement;
}

/* Of [2,2]; x may be ISO_NO_NODE. */
static inline iso_node_id_t add_exchange(iso_graph_t *graph, int number,
                                         iso_node_id_t x)
{
    const iso_shape_t shape = test_shape("2,2");
    const int64_t wide = number;
    const iso_attr_t attrs[] = {{.name = "number",
                                 .kind = ISO_ATTR_INTS,
                                 .count = 1,
                                 .value.ints = &wide},
                                {.name = "dtype",
                                 .kind = ISO_ATTR_TEXT,
                                 .count = 1,
                                 .value.text = "f32"},
                                {.name = "shape",
                                 .kind = ISO_ATTR_DIMS,
                                 .count = shape.rank,
                                 .value.dims = shape.dim}};
    const iso_node_spec_t spec = {.op = ISO_OP_EXCHANGE,
                                  .n_inputs = x == ISO_NO_NODE ? 0 : 1,
                                  .inputs = &x,
                                  .n_attrs = 3,
                                  .attrs = attrs};
    iso_node_id_t id = ISO_NO_NODE;

    CU_ASSERT_EQUAL_FATAL(iso_graph_add(graph, &spec, &id), ISO_OK);
    return id;
}

#endif
