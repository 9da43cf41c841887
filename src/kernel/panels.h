/*
 * Panels: constant weights in the order in which the direct kernels read
 * them, packed once when they are loaded. What is packed, and its size, is a
 * pure function of the node; kernel/cpu/direct/pack.h packs.
 *
 * conv       (groups, ceil(lanes / 32), length, 32): for each group, panels
 *            of 32 output channels, in each the products of the reduction in
 *            their order. Channels behind the last one are +0.
 * transposed as conv, from weights whose input channels come first.
 * depthwise  (ceil(lanes / 16), length, 16): blocks of 16 output channels, of
 *            as few input channels each as fit in a vector with its group.
 * matmul     as conv with one group: 32 columns and k.
 */
#ifndef ISO_PANELS_H
#define ISO_PANELS_H

#include "isotome/graph.h"

enum {
    /* Counts what was ever packed otherwise: of files of packed weights. */
    ISO_PANELS_VERSION = 1,
    ISO_PANEL_LANES = 32,
    /* Elements of the input that one tile of 14 output columns may need: what
     * a thread copies to have them side by side (1 MiB). */
    ISO_STRIP_MOST = 262144,
};

typedef enum iso_panels_kind {
    ISO_PANELS_CONV,              /* from (groups lanes, length...) */
    ISO_PANELS_CONV_TRANSPOSED,   /* from (groups length / taps, lanes, taps) */
    ISO_PANELS_DEPTHWISE,         /* from (lanes, length...) */
    ISO_PANELS_MATMUL,            /* from (length, lanes) */
    ISO_PANELS_MATMUL_TRANSPOSED, /* from (lanes, length) */
} iso_panels_kind_t;

typedef struct iso_panels_spec {
    iso_panels_kind_t kind;
    int64_t groups; /* 1 but for conv and transposed */
    int64_t lanes;  /* output channels of a group, columns */
    int64_t length; /* products of one sum */
    int64_t taps;   /* of them of one channel; 0 but for transposed */
} iso_panels_spec_t;

/*
 * Whether a node is direct: a contraction in f32 by weights that are a param
 * or constant, of a shape that the direct kernels compute.
 *
 * spec_out  [out]  how its weights (operand 1) are packed; may be NULL
 */
bool iso_panels_of(const iso_graph_t *graph, iso_node_id_t node,
                   iso_panels_spec_t *spec_out);

bool iso_panels_equal(const iso_panels_spec_t *a, const iso_panels_spec_t *b);

/* Elements of the panels, those of padding included. */
int64_t iso_panels_count(const iso_panels_spec_t *spec);

/*
 * Bytes that a param takes in a program: its panels, each kind once, and its
 * plain elements if something else reads it. A param that nobody reads takes
 * none.
 */
iso_status_t iso_panels_param_bytes(const iso_graph_t *graph,
                                    iso_node_id_t param, size_t *bytes_out);

/*
 * The same for all params of a graph in one pass. A constant takes its panels
 * alone, since its elements are the graph's.
 *
 * bytes_out  [out]  (nodes of graph); 0 for other nodes
 */
iso_status_t iso_panels_bytes(const iso_graph_t *graph, size_t *bytes_out);

#endif
