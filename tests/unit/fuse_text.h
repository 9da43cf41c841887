/*
 * Fuse a graph that a short text gives, and look at what became of it.
 *
 *     fused_t f = fuse("x = input f32[4]\ny = relu(x)\nreturn y\n");
 *     CU_ASSERT_EQUAL(op_of(&f, "y"), ISO_OP_RELU);
 *     finish(&f);
 */
#ifndef FUSE_TEXT_H
#define FUSE_TEXT_H

#include "isotome/error.h"

#include "base/mem.h"
#include "graph/param.h"
#include "graph/pass.h"
#include "graph_text.h"
#include "iso_test.h"

static inline iso_graph_t *graph_of(const char *text)
{
    iso_graph_t *graph = NULL;

    CU_ASSERT_FATAL(iso_graph_create(&graph) == ISO_OK);
    CU_ASSERT_FATAL(graph_text_add(graph, text, NULL) == ISO_OK);
    return graph;
}

/* Element i of the weight named after its first letter. */
static inline double element(const char *name, int64_t i)
{
    return 0.1 + 0.37 * (double)(name[0] % 7) + 0.01 * (double)(i * i % 97);
}

/* Weights for all params of a graph. */
static inline iso_weights_t *weights_of(const iso_graph_t *graph)
{
    iso_weights_t *weights = NULL;

    CU_ASSERT_FATAL(iso_weights_create(&weights) == ISO_OK);
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);
        iso_tensor_t value;

        if (node->op != ISO_OP_PARAM) {
            continue;
        }
        CU_ASSERT_FATAL(
            iso_tensor_view(node->dtype, &node->shape, NULL, &value) == ISO_OK);
        value.data = iso_alloc(iso_tensor_bytes(&value));
        for (int64_t i = 0; i < iso_tensor_count(&value); i++) {
            if (node->dtype == ISO_DTYPE_F64) {
                ((double *)value.data)[i] = element(node->name, i);
            } else {
                ((float *)value.data)[i] = (float)element(node->name, i);
            }
        }
        CU_ASSERT_FATAL(iso_weights_add(weights, node->name, &value) == ISO_OK);
    }
    return weights;
}

typedef struct fused {
    iso_graph_t *graph;
    iso_weights_t *weights;
    int64_t blocks_before;
} fused_t;

static inline fused_t fuse(const char *text)
{
    fused_t fused = {.blocks_before = iso_mem_count().blocks};
    iso_graph_t *graph = graph_of(text);

    fused.weights = weights_of(graph);
    CU_ASSERT_EQUAL(iso_graph_fuse(graph, fused.weights, &fused.graph), ISO_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fused.graph);
    iso_graph_destroy(&graph);
    return fused;
}

static inline void finish(fused_t *fused)
{
    iso_graph_destroy(&fused->graph);
    iso_weights_destroy(&fused->weights);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, fused->blocks_before);
}

static inline const iso_node_t *node_of(const iso_graph_t *graph,
                                        const char *name)
{
    iso_node_id_t id = iso_graph_find(graph, name);

    return id == ISO_NO_NODE ? NULL : iso_graph_node(graph, id);
}

/* Op of a node, by name; ISO_OP_COUNT when it is gone. */
static inline iso_op_t op_of(const fused_t *fused, const char *name)
{
    const iso_node_t *node = node_of(fused->graph, name);

    return node == NULL ? ISO_OP_COUNT : node->op;
}

static inline const char *activation_of(const fused_t *fused, const char *name)
{
    const iso_node_t *node = node_of(fused->graph, name);
    const iso_attr_t *attr =
        node == NULL ? NULL : iso_node_attr(node, "activation");

    return attr == NULL ? "none" : attr->value.text;
}

/* Name of an operand; "-" when it is not given. */
static inline const char *operand_of(const fused_t *fused, const char *name,
                                     int index)
{
    const iso_node_t *node = node_of(fused->graph, name);

    return node == NULL || index >= node->n_inputs
               ? "-"
               : iso_graph_node(fused->graph, node->inputs[index])->name;
}

#define NORM_PARAMS \
    "x = input f32[N,4,8,8]\nw = param f32[4,4,1,1]\nv = param f32[4]\n"

#endif
