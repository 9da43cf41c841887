/*
 * ONNX import: a .onnx file to a graph and its weights.
 *
 * Opsets 6 to 17. Shape arithmetic vanishes, batch norm, biases and
 * activations are folded into convolutions and products, dead code is
 * dropped, layers are marked.
 */
#ifndef ISO_ONNX_H
#define ISO_ONNX_H

#include "isotome/graph.h"
#include "isotome/model_file.h"

typedef struct iso_onnx iso_onnx_t;

typedef struct iso_onnx_options {
    double scale; /* of image inputs; 0: none; then x / scale */
    int n_mean;   /* per channel (axis 1), or one for all; 0: none */
    const double *mean;
    int n_std;
    const double *std;
    /* Replace every weight by seeded random values of the usual scale. */
    bool seed_weights;
    uint64_t seed;
    /* Make the leading 1 of every input the free dim N. */
    bool free_batch;
    /* Values by their ONNX names that become the outputs, instead of those
     * that the file names; what lies behind them is dropped. 0: the file's. */
    int n_outputs;
    const char *const *outputs;
} iso_onnx_options_t;

/*
 * Errors: ISO_INPUT for a missing, empty or damaged file or external data
 * that is not there; ISO_UNSUPPORTED with one line that lists all operators
 * that are not supported, with node names; ISO_SHAPE and ISO_INVAL from the
 * graph, naming the node.
 *
 * With scale, mean or std the input that is normalised is the only input
 * with 3 dims or more (or the only one); it is then fed as u8 (images);
 * its dtype becomes u8 and a cast and (x / scale - mean) / std stand in front.
 */
iso_status_t iso_onnx_import(const char *path,
                             const iso_onnx_options_t *options,
                             iso_onnx_t **onnx_out);
void iso_onnx_destroy(iso_onnx_t **onnx);

/* Borrowed from onnx. */
const iso_graph_t *iso_onnx_graph(const iso_onnx_t *onnx);

/* Operators that the file has, before anything was folded. */
int64_t iso_onnx_operator_count(const iso_onnx_t *onnx);

/* For iso_model_write; valid while onnx lives. */
iso_weight_source_t iso_onnx_weights(const iso_onnx_t *onnx);

#endif
