#include "kernel/panels.h"

#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "graph/param.h"
#include "kernel/arith.h"
#include "kernel/format.h"

enum {
    MOST_TAPS = ISO_BLOCK_MOST,
    LEAST_LANES = 8,      /* fewer leave most of a panel empty, */
    LEAST_OF_ALL = 5,     /* which is worth while for one group's images; */
    LEAST_TRANSPOSED = 1, /* and always between strides */
    TILE_COLUMNS = 14,    /* of the output, computed at once */
};

/* Bytes of panels of as many weights, padding included, fit in 63 bits. */
static const int64_t most_weights = INT64_C(1) << 55;

/* ---- Which nodes ---- */

static bool has_elements(const iso_shape_t *shape)
{
    for (int axis = 0; axis < shape->rank; axis++) {
        if (!iso_dim_is_static(shape->dim[axis]) || shape->dim[axis].size < 1) {
            return false;
        }
    }
    return true;
}

/* In f32, with all dims numbers, by weights that are there before a run. */
static bool has_known_weights(const iso_graph_t *graph, const iso_node_t *node)
{
    const iso_node_t *x = iso_graph_node(graph, node->inputs[0]);
    const iso_node_t *weights = iso_graph_node(graph, node->inputs[1]);

    return (weights->op == ISO_OP_PARAM || weights->op == ISO_OP_CONSTANT) &&
           node->dtype == ISO_DTYPE_F32 && has_elements(&x->shape) &&
           has_elements(&weights->shape) && has_elements(&node->shape) &&
           iso_shape_count(&weights->shape) <= most_weights;
}

/* Multiply; false when the product would be above most. */
static bool times(int64_t factor, int64_t most, int64_t *product)
{
    if (factor > most / *product) {
        return false;
    }
    *product *= factor;
    return true;
}

/* From the first tap of an axis to the last. */
static int64_t extent_of(const iso_window_t *window, int axis)
{
    return window->dilations[axis] * (window->kernel[axis] - 1) + 1;
}

/* Do the input elements that a tile needs fit in a strip, those between
 * dilated taps included? Channels come in whole blocks, or are fewer than
 * one. */
static bool strip_fits(const iso_window_t *window, int64_t channels)
{
    const int last = window->n_spatial - 1;
    const int64_t columns =
        (TILE_COLUMNS - 1) * window->strides[last] + extent_of(window, last);
    int64_t elements = 1;
    bool fits =
        times(channels < ISO_BLOCK_CHANNELS ? channels
                                            : iso_blocked_channels(channels),
              ISO_STRIP_MOST, &elements);

    for (int i = 0; i < last; i++) {
        fits = fits && times(extent_of(window, i), ISO_STRIP_MOST, &elements);
    }
    return fits && times(columns, ISO_STRIP_MOST, &elements);
}

/* What a transposed convolution reads for the outputs of one remainder by its
 * strides: a window of stride 1, of every so many taps. */
static iso_window_t window_of_remainder(const iso_window_t *window)
{
    iso_window_t part = *window;

    for (int i = 0; i < window->n_spatial; i++) {
        int64_t apart = 1;

        while (apart * window->dilations[i] % window->strides[i] != 0) {
            apart++;
        }
        part.kernel[i] = (window->kernel[i] - 1) / apart + 1;
        part.dilations[i] = apart * window->dilations[i] / window->strides[i];
        part.strides[i] = 1;
    }
    return part;
}

/* Do whole groups lie side by side in a block of channels, each channel's sum
 * being one block of the reduction? */
static bool are_in_vector(const iso_conv_param_t *param, int64_t in,
                          int64_t out, int64_t taps)
{
    return param->groups > 1 && in == out && in < ISO_BLOCK_CHANNELS &&
           ISO_BLOCK_CHANNELS % in == 0 && in * taps <= ISO_BLOCK_MOST;
}

static bool are_all_taps_few(const int64_t *kernel, int n, int64_t *taps_out)
{
    *taps_out = 1;
    for (int i = 0; i < n; i++) {
        if (!times(kernel[i], MOST_TAPS, taps_out)) {
            return false;
        }
    }
    return true;
}

static bool spec_of_conv(const iso_graph_t *graph, const iso_node_t *node,
                         iso_panels_spec_t *spec)
{
    const iso_shape_t *weights = &iso_graph_node(graph, node->inputs[1])->shape;
    const bool is_transposed = node->op == ISO_OP_CONV_TRANSPOSE;
    const int n_spatial = weights->rank - 2;
    int64_t kernel[ISO_MAX_SPATIAL] = {0};
    int64_t taps;
    iso_conv_param_t param;

    for (int i = 0; i < n_spatial; i++) {
        kernel[i] = weights->dim[2 + i].size;
    }

    const iso_status_t status =
        iso_conv_param_of(node, n_spatial, kernel, &param);

    ISO_ASSERT(status == ISO_OK);
    if (!are_all_taps_few(kernel, n_spatial, &taps)) {
        return false;
    }

    const int64_t of_group = weights->dim[0].size / param.groups;
    const int64_t in = is_transposed ? of_group : weights->dim[1].size;
    const int64_t out = is_transposed ? weights->dim[1].size : of_group;

    *spec = (iso_panels_spec_t){.kind = ISO_PANELS_CONV,
                                .groups = param.groups,
                                .lanes = out,
                                .length = in * taps};
    if (is_transposed) {
        spec->kind = ISO_PANELS_CONV_TRANSPOSED;
        spec->taps = taps;
        param.window = window_of_remainder(&param.window);
    } else if (are_in_vector(&param, in, out, taps)) {
        spec->kind = ISO_PANELS_DEPTHWISE;
        spec->groups = 1;
        spec->lanes = param.groups * out;
    }

    const int64_t least = is_transposed       ? LEAST_TRANSPOSED
                          : param.groups == 1 ? LEAST_OF_ALL
                          : spec->kind == ISO_PANELS_DEPTHWISE ? 1
                                                               : LEAST_LANES;

    return spec->lanes >= least && strip_fits(&param.window, in);
}

static bool spec_of_matrix(const iso_graph_t *graph, const iso_node_t *node,
                           bool transposed, iso_panels_spec_t *spec)
{
    const iso_shape_t *weights = &iso_graph_node(graph, node->inputs[1])->shape;

    if (weights->rank != 2) {
        return false;
    }
    *spec = (iso_panels_spec_t){
        .kind = transposed ? ISO_PANELS_MATMUL_TRANSPOSED : ISO_PANELS_MATMUL,
        .groups = 1,
        .lanes = weights->dim[transposed ? 0 : 1].size,
        .length = weights->dim[transposed ? 1 : 0].size};
    return spec->lanes >= LEAST_LANES;
}

/* Is C of a gemm a row that is added as it is, or not there? */
static bool has_row(const iso_graph_t *graph, const iso_node_t *node,
                    float beta)
{
    const int64_t columns = node->shape.dim[1].size;

    if (node->n_inputs < 3 || node->inputs[2] == ISO_NO_NODE) {
        return true;
    }

    const iso_shape_t *c = &iso_graph_node(graph, node->inputs[2])->shape;

    return beta == 1.0F && has_elements(c) &&
           ((c->rank == 1 && c->dim[0].size == columns) ||
            (c->rank == 2 && c->dim[0].size == 1 && c->dim[1].size == columns));
}

static bool spec_of_gemm(const iso_graph_t *graph, const iso_node_t *node,
                         iso_panels_spec_t *spec)
{
    iso_gemm_param_t param;
    const iso_status_t status = iso_gemm_param_of(node, &param);

    ISO_ASSERT(status == ISO_OK);
    return !param.trans_a && param.alpha == 1.0F &&
           has_row(graph, node, param.beta) &&
           spec_of_matrix(graph, node, param.trans_b, spec);
}

static bool spec_of(const iso_graph_t *graph, const iso_node_t *node,
                    iso_panels_spec_t *spec)
{
    switch (node->op) {
    case ISO_OP_CONV:
    case ISO_OP_CONV_TRANSPOSE:
        return has_known_weights(graph, node) &&
               spec_of_conv(graph, node, spec);
    case ISO_OP_MATMUL:
        return has_known_weights(graph, node) &&
               spec_of_matrix(graph, node, false, spec);
    case ISO_OP_GEMM:
        return has_known_weights(graph, node) &&
               spec_of_gemm(graph, node, spec);
    default:
        return false;
    }
}

bool iso_panels_of(const iso_graph_t *graph, iso_node_id_t node,
                   iso_panels_spec_t *spec_out)
{
    iso_panels_spec_t spec = {0};
    const bool is_direct = spec_of(graph, iso_graph_node(graph, node), &spec);

    if (is_direct && spec_out != NULL) {
        *spec_out = spec;
    }
    return is_direct;
}

bool iso_panels_equal(const iso_panels_spec_t *a, const iso_panels_spec_t *b)
{
    return a->kind == b->kind && a->groups == b->groups &&
           a->lanes == b->lanes && a->length == b->length && a->taps == b->taps;
}

int64_t iso_panels_count(const iso_panels_spec_t *spec)
{
    const int64_t width = spec->kind == ISO_PANELS_DEPTHWISE
                              ? ISO_BLOCK_CHANNELS
                              : ISO_PANEL_LANES;

    return spec->groups * ((spec->lanes + width - 1) / width) * width *
           spec->length;
}

/* ---- Bytes ---- */

/* Who reads each weight, and how. */
typedef struct readers {
    const iso_graph_t *graph;
    iso_node_id_t
        *first;          /* (nodes) direct reader of a weight, or ISO_NO_NODE */
    iso_node_id_t *next; /* (nodes) another one, that packs it otherwise */
    bool *is_plain;      /* (nodes) is something read element by element? */
} readers_t;

static void free_readers(readers_t *readers)
{
    iso_free(readers->first);
    iso_free(readers->next);
    iso_free(readers->is_plain);
}

static void add_direct(readers_t *readers, iso_node_id_t weight,
                       iso_node_id_t reader, const iso_panels_spec_t *spec)
{
    for (iso_node_id_t id = readers->first[weight]; id != ISO_NO_NODE;
         id = readers->next[id]) {
        iso_panels_spec_t known = {0};

        if (iso_panels_of(readers->graph, id, &known) &&
            iso_panels_equal(&known, spec)) {
            return;
        }
    }
    readers->next[reader] = readers->first[weight];
    readers->first[weight] = reader;
}

static void add_reader(readers_t *readers, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(readers->graph, id);
    iso_panels_spec_t spec = {0};
    const bool is_direct = iso_panels_of(readers->graph, id, &spec);

    for (int i = 0; i < node->n_inputs; i++) {
        if (is_direct && i == 1) {
            add_direct(readers, node->inputs[i], id, &spec);
        } else if (node->inputs[i] != ISO_NO_NODE) {
            readers->is_plain[node->inputs[i]] = true;
        }
    }
}

static iso_status_t find_readers(readers_t *readers)
{
    const int32_t n = iso_graph_node_count(readers->graph);

    readers->first = iso_alloc_zeroed((size_t)n, sizeof *readers->first);
    readers->next = iso_alloc_zeroed((size_t)n, sizeof *readers->next);
    readers->is_plain = iso_alloc_zeroed((size_t)n, sizeof *readers->is_plain);
    if (readers->first == NULL || readers->next == NULL ||
        readers->is_plain == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        readers->first[id] = ISO_NO_NODE;
        readers->next[id] = ISO_NO_NODE;
        add_reader(readers, id);
    }
    for (int i = 0; i < iso_graph_output_count(readers->graph); i++) {
        readers->is_plain[iso_graph_output(readers->graph, i)->node] = true;
    }
    return ISO_OK;
}

static iso_status_t bytes_of(const readers_t *readers, iso_node_id_t weight,
                             size_t *bytes_out)
{
    const iso_node_t *node = iso_graph_node(readers->graph, weight);
    size_t sum = 0;

    if (node->op == ISO_OP_PARAM && readers->is_plain[weight]) {
        ISO_TRY(iso_tensor_bytes_of(node->dtype, &node->shape, &sum));
    }
    for (iso_node_id_t id = readers->first[weight]; id != ISO_NO_NODE;
         id = readers->next[id]) {
        iso_panels_spec_t spec = {0};

        (void)iso_panels_of(readers->graph, id, &spec);
        const size_t more = (size_t)iso_panels_count(&spec) * sizeof(float);

        if (more > SIZE_MAX - sum) {
            return iso_fail(ISO_SHAPE,
                            "weight '%s' takes more bytes than can be counted",
                            node->name);
        }
        sum += more;
    }
    *bytes_out = sum;
    return ISO_OK;
}

iso_status_t iso_panels_bytes(const iso_graph_t *graph, size_t *bytes_out)
{
    readers_t readers = {.graph = graph};
    iso_status_t status = find_readers(&readers);

    for (iso_node_id_t id = 0;
         status == ISO_OK && id < iso_graph_node_count(graph); id++) {
        status = bytes_of(&readers, id, &bytes_out[id]);
    }
    free_readers(&readers);
    return status;
}

iso_status_t iso_panels_param_bytes(const iso_graph_t *graph,
                                    iso_node_id_t param, size_t *bytes_out)
{
    readers_t readers = {.graph = graph};
    iso_status_t status = find_readers(&readers);

    if (status == ISO_OK) {
        status = bytes_of(&readers, param, bytes_out);
    }
    free_readers(&readers);
    return status;
}
