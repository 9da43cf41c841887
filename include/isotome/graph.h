/*
 * Graph: a network as a list of nodes in topological order, each making one
 * value.
 *
 * A node is named, has an op, inputs (earlier nodes) and attributes; its
 * dtype and shape are inferred and checked when it is added, so a graph that
 * exists is well formed. A graph lives in one arena; building it computes
 * nothing.
 *
 *     iso_graph_t *graph;
 *     iso_node_id_t x, w, y;
 *     ISO_TRY(iso_graph_create(&graph));
 *     ISO_TRY(iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &x_shape, &x));
 *     ISO_TRY(iso_graph_add_param(graph, "w", ISO_DTYPE_F32, &w_shape, &w));
 *     iso_node_spec_t spec = {.name = "y", .op = ISO_OP_MATMUL,
 *                             .n_inputs = 2,
 *                             .inputs = (const iso_node_id_t[]){x, w}};
 *     ISO_TRY(iso_graph_add(graph, &spec, &y));
 *     ISO_TRY(iso_graph_add_output(graph, "y", y));
 *     iso_graph_destroy(&graph);
 */
#ifndef ISO_GRAPH_H
#define ISO_GRAPH_H

#include "isotome/dtype.h"
#include "isotome/op.h"
#include "isotome/shape.h"
#include "isotome/tensor.h"

typedef struct iso_graph iso_graph_t;

typedef int32_t iso_node_id_t;
enum { ISO_NO_NODE = -1 }; /* an optional input that is not given */

typedef enum iso_attr_kind {
    ISO_ATTR_INTS,
    ISO_ATTR_FLOATS,
    ISO_ATTR_DIMS, /* numbers or expressions */
    ISO_ATTR_TEXT,
} iso_attr_kind_t;

/* A named attribute; scalars are lists of one. */
typedef struct iso_attr {
    const char *name;
    iso_attr_kind_t kind;
    int count;
    union {
        const int64_t *ints;
        const double *floats;
        const iso_dim_t *dims;
        const char *text;
    } value;
} iso_attr_t;

/* What a caller says of a new node; copied. */
typedef struct iso_node_spec {
    const char *name; /* unique, not empty; NULL: the op's name and a number */
    iso_op_t op;
    int n_inputs;
    const iso_node_id_t *inputs; /* ISO_NO_NODE only past the least inputs */
    int n_attrs;
    const iso_attr_t *attrs; /* in any order; kept sorted by name */
} iso_node_spec_t;

/* A node as stored. Borrowed from the graph. */
typedef struct iso_node {
    const char *name;
    iso_op_t op;
    iso_dtype_t dtype;
    int n_inputs;
    const iso_node_id_t *inputs;
    int n_attrs;
    const iso_attr_t *attrs;
    iso_shape_t shape;
    const void *data; /* constants: the elements; else NULL */
    int layer;        /* see iso_graph_mark_layers; -1: a leaf, or unmarked */
} iso_node_t;

/* A model output: its name and the node that makes it. */
typedef struct iso_output {
    const char *name;
    iso_node_id_t node;
} iso_output_t;

iso_status_t iso_graph_create(iso_graph_t **graph_out);
void iso_graph_destroy(iso_graph_t **graph);

/*
 * Add a leaf. A param's elements live in the model file (or are handed to
 * the device by name); a constant's are copied into the graph.
 *
 * Errors: ISO_INVAL for a name that is taken or empty; ISO_SHAPE for a dim
 * below 0, over 2^62 elements, a param's dim that is not a number; ISO_NOMEM.
 */
iso_status_t iso_graph_add_input(iso_graph_t *graph, const char *name,
                                 iso_dtype_t dtype, const iso_shape_t *shape,
                                 iso_node_id_t *node_out);
iso_status_t iso_graph_add_param(iso_graph_t *graph, const char *name,
                                 iso_dtype_t dtype, const iso_shape_t *shape,
                                 iso_node_id_t *node_out);
iso_status_t iso_graph_add_constant(iso_graph_t *graph, const char *name,
                                    const iso_tensor_t *value,
                                    iso_node_id_t *node_out);

/*
 * Add a compute node; its dtype and shape are inferred, its layer is unmarked.
 *
 * Errors: ISO_INVAL (inputs that do not exist, attributes missing, unknown
 * or out of range, a dim with a name that no input has), ISO_SHAPE (operands
 * that do not fit); each names the node, what was found and what was
 * expected. The graph is unchanged then.
 */
iso_status_t iso_graph_add(iso_graph_t *graph, const iso_node_spec_t *spec,
                           iso_node_id_t *node_out);

/* Name a node as a model output. Order and duplicates of the node are kept;
 * the name must be new among outputs. */
iso_status_t iso_graph_add_output(iso_graph_t *graph, const char *name,
                                  iso_node_id_t node);

int32_t iso_graph_node_count(const iso_graph_t *graph);
const iso_node_t *iso_graph_node(const iso_graph_t *graph, iso_node_id_t id);
int iso_graph_output_count(const iso_graph_t *graph);
const iso_output_t *iso_graph_output(const iso_graph_t *graph, int index);

/* ISO_NO_NODE when no node has this name. */
iso_node_id_t iso_graph_find(const iso_graph_t *graph, const char *name);

bool iso_node_is_leaf(const iso_node_t *node);

/* The attribute of this name, or NULL. */
const iso_attr_t *iso_node_attr(const iso_node_t *node, const char *name);

/* Number of layers marked (1 + the largest), 0 when unmarked. */
int iso_graph_layer_count(const iso_graph_t *graph);

/* Set the layer of a compute node (a pass does this; see pass.h). */
void iso_graph_set_layer(iso_graph_t *graph, iso_node_id_t node, int layer);

/*
 * List the free names of the input shapes, in order of first appearance.
 * names_out  [out]  count_out texts, owned by the caller: iso_free() the
 *                   array, not the texts
 */
iso_status_t iso_graph_free_dims(const iso_graph_t *graph,
                                 const char ***names_out, int *count_out);

/* 64-bit digest of everything that computing depends on: nodes, names,
 * attributes, shapes, constants, outputs, layers. */
uint64_t iso_graph_digest(const iso_graph_t *graph);

#endif
