#include "kernel/format.h"

#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "graph/param.h"
#include "kernel/chain.h"
#include "kernel/panels.h"

/* Fewer channels leave most of a block empty. */
enum { LEAST_CHANNELS = 8 };

/* ---- Which nodes keep blocks ---- */

/* Can it lie in blocks? */
static bool has_blocks(const iso_node_t *node)
{
    const iso_shape_t *shape = &node->shape;

    return node->dtype == ISO_DTYPE_F32 && shape->rank >= 3 &&
           shape->rank <= 2 + ISO_MAX_SPATIAL && iso_shape_count(shape) > 0;
}

/* Does an operand that is broadcast vary by channel, or not at all? */
static bool is_by_channel(const iso_shape_t *operand, const iso_shape_t *output)
{
    const int missing = output->rank - operand->rank;
    bool is_by = true;

    for (int axis = 0; axis < operand->rank; axis++) {
        const int at = axis + missing;
        const int64_t size = operand->dim[axis].size;
        const bool is_whole = size == output->dim[at].size;

        is_by =
            is_by && (at == 1 ? is_whole : size == 1 || (at == 0 && is_whole));
    }
    return is_by || iso_shape_count(operand) == 1;
}

static bool is_full(const iso_graph_t *graph, const iso_node_t *node, int input)
{
    return iso_shape_equal(&iso_graph_node(graph, node->inputs[input])->shape,
                           &node->shape);
}

static bool follows_as_binary(const iso_graph_t *graph, const iso_node_t *node)
{
    for (int i = 0; i < node->n_inputs; i++) {
        if (!is_full(graph, node, i) &&
            !is_by_channel(&iso_graph_node(graph, node->inputs[i])->shape,
                           &node->shape)) {
            return false;
        }
    }
    return node->op != ISO_OP_MOD;
}

/* Of channels, where all operands but the last one fill their blocks. */
static bool follows_as_concat(const iso_graph_t *graph, const iso_node_t *node)
{
    int axis = 0;
    const iso_status_t status = iso_axis_of(node, node->shape.rank, 0, &axis);

    ISO_ASSERT(status == ISO_OK);
    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_t *operand = iso_graph_node(graph, node->inputs[i]);

        if (!has_blocks(operand) ||
            (i < node->n_inputs - 1 &&
             operand->shape.dim[1].size % ISO_BLOCK_CHANNELS != 0)) {
            return false;
        }
    }
    return axis == 1;
}

/* The mean of all but sample and channel. */
static bool is_global_mean(const iso_graph_t *graph, const iso_node_t *node)
{
    iso_reduce_param_t param;

    if (node->op != ISO_OP_REDUCE_MEAN) {
        return false;
    }

    const iso_node_t *x = iso_graph_node(graph, node->inputs[0]);
    const iso_status_t status =
        iso_reduce_param_of(node, x->shape.rank, &param);
    bool is_global = has_blocks(x);

    ISO_ASSERT(status == ISO_OK);
    for (int axis = 0; axis < x->shape.rank; axis++) {
        is_global = is_global && param.reduced[axis] == (axis >= 2);
    }
    return is_global;
}

/* May it make blocks from blocks? */
static bool can_follow(const iso_graph_t *graph, const iso_node_t *node)
{
    if (!has_blocks(node)) {
        return false;
    }
    switch (node->op) {
    case ISO_OP_BATCH_NORM:
    case ISO_OP_MAX_POOL:
    case ISO_OP_AVG_POOL:
        return true;
    case ISO_OP_CONCAT:
        return follows_as_concat(graph, node);
    case ISO_OP_CAST:
        return false;
    default:
        break;
    }
    switch (iso_op_info(node->op)->op_class) {
    case ISO_OP_CLASS_UNARY:
        return true;
    case ISO_OP_CLASS_BINARY:
        return follows_as_binary(graph, node);
    default:
        return false;
    }
}

/* Does a node that makes blocks from blocks read this operand in blocks?
 * The others are one number for each channel. */
static bool follows_operand(const iso_graph_t *graph, const iso_node_t *node,
                            int input)
{
    if (iso_op_info(node->op)->op_class == ISO_OP_CLASS_BINARY) {
        return is_full(graph, node, input);
    }
    return node->op == ISO_OP_CONCAT || input == 0;
}

/* An activation that a contraction can apply to its sums. */
static bool is_activation(const iso_node_t *node)
{
    switch (node->op) {
    case ISO_OP_RELU:
    case ISO_OP_CLIP:
    case ISO_OP_SIGMOID:
    case ISO_OP_TANH:
    case ISO_OP_LEAKY_RELU:
    case ISO_OP_HARD_SWISH:
        return node->dtype == ISO_DTYPE_F32;
    default:
        return false;
    }
}

/* ---- Which format a value is made in ---- */

typedef enum role {
    ROLE_OTHER, /* reads and makes plain values */
    ROLE_CONV,  /* direct; reads either format, makes the one it likes */
    ROLE_DEPTHWISE,
    ROLE_PRODUCT,  /* direct, of matrices: plain */
    ROLE_FOLLOWER, /* makes blocks when it reads blocks */
    ROLE_MEAN,     /* reads either format, makes a plain value */
} role_t;

typedef struct work {
    const iso_graph_t *graph;
    iso_formats_t *formats;
    role_t *role;           /* (n_nodes) */
    iso_node_id_t *reader;  /* (n_nodes) the one reader; ISO_NO_NODE when there
                             * are others, or an output */
    bool *is_read;          /* (n_nodes) */
    bool *wants_blocks;     /* (n_nodes) some reader computes with blocks */
    bool *has_product;      /* (n_nodes) an addition that is joined with one */
    iso_node_id_t exchange; /* the last one before what is joined; or none */
} work_t;

static bool is_direct(role_t role)
{
    return role == ROLE_CONV || role == ROLE_DEPTHWISE || role == ROLE_PRODUCT;
}

static bool is_convolution(const iso_node_t *node)
{
    return node->op == ISO_OP_CONV || node->op == ISO_OP_CONV_TRANSPOSE;
}

static role_t role_of(const iso_graph_t *graph, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(graph, id);
    iso_panels_spec_t spec;

    if (iso_panels_of(graph, id, &spec)) {
        return spec.kind == ISO_PANELS_DEPTHWISE ? ROLE_DEPTHWISE
               : is_convolution(node)            ? ROLE_CONV
                                                 : ROLE_PRODUCT;
    }
    return is_global_mean(graph, node) ? ROLE_MEAN
           : can_follow(graph, node)   ? ROLE_FOLLOWER
                                       : ROLE_OTHER;
}

static void note_reader(work_t *work, iso_node_id_t id, iso_node_id_t reader)
{
    work->reader[id] = work->is_read[id] ? ISO_NO_NODE : reader;
    work->is_read[id] = true;
}

static iso_status_t look_at(work_t *work, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(work->graph, id);

    if (!iso_shape_is_static(&node->shape)) {
        char text[ISO_SHAPE_TEXT_BYTES];

        return iso_fail(ISO_SHAPE,
                        "node '%s' has the shape %s, expected numbers; bind "
                        "its dims",
                        node->name, iso_shape_text(&node->shape, text));
    }
    work->role[id] = role_of(work->graph, id);
    work->reader[id] = ISO_NO_NODE;
    work->formats->joined[id] = ISO_NO_NODE;
    for (int i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != ISO_NO_NODE) {
            note_reader(work, node->inputs[i], id);
        }
    }
    return ISO_OK;
}

/* An activation that alone reads a direct node is part of it, so that what
 * reads the activation decides for both. Readers come before what they read. */
static void note_wants(work_t *work, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(work->graph, id);
    const role_t role = work->role[id];

    if (role == ROLE_CONV || role == ROLE_DEPTHWISE || role == ROLE_MEAN) {
        work->wants_blocks[node->inputs[0]] = true;
        return;
    }
    for (int i = 0; role == ROLE_FOLLOWER && i < node->n_inputs; i++) {
        const iso_node_id_t operand = node->inputs[i];
        const bool is_part = is_direct(work->role[operand]) &&
                             work->reader[operand] == id && is_activation(node);

        if (follows_operand(work->graph, node, i) &&
            (!is_part || work->wants_blocks[id])) {
            work->wants_blocks[operand] = true;
        }
    }
}

static bool makes_blocks(const work_t *work, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(work->graph, id);
    const role_t role = work->role[id];

    if (role == ROLE_CONV || role == ROLE_DEPTHWISE) {
        return work->wants_blocks[id] &&
               node->shape.dim[1].size >= LEAST_CHANNELS;
    }
    for (int i = 0; role == ROLE_FOLLOWER && i < node->n_inputs; i++) {
        if (follows_operand(work->graph, node, i) &&
            work->formats->made[node->inputs[i]] == ISO_FORMAT_BLOCKED) {
            return true;
        }
    }
    return false;
}

/* ---- Joining ---- */

/* Can the addition `id` take its operand number `input` as it is summed? */
static bool can_join_operand(const work_t *work, iso_node_id_t id, int input)
{
    const iso_formats_t *formats = work->formats;
    const iso_node_id_t operand =
        iso_graph_node(work->graph, id)->inputs[input];
    const role_t role = work->role[operand];

    return (role == ROLE_CONV || role == ROLE_PRODUCT) &&
           work->reader[operand] == id && operand > work->exchange &&
           formats->made[operand] == formats->made[id] &&
           iso_formats_read(work->graph, formats, id, 1 - input) ==
               formats->made[id];
}

/* With the later one of the operands that can be. */
static void join_addition(work_t *work, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(work->graph, id);
    iso_node_id_t joined = ISO_NO_NODE;

    for (int i = 0; i < 2; i++) {
        if (node->inputs[i] > joined && can_join_operand(work, id, i)) {
            joined = node->inputs[i];
        }
    }
    if (joined != ISO_NO_NODE && is_full(work->graph, node, 0) &&
        is_full(work->graph, node, 1)) {
        work->formats->joined[joined] = id;
        work->has_product[id] = true;
    }
}

static void join_activation(work_t *work, iso_node_id_t id)
{
    const iso_node_id_t operand = iso_graph_node(work->graph, id)->inputs[0];

    if (work->reader[operand] == id && operand > work->exchange &&
        (is_direct(work->role[operand]) || work->has_product[operand]) &&
        work->formats->made[operand] == work->formats->made[id]) {
        work->formats->joined[operand] = id;
    }
}

/* Nothing is joined across an exchange: it would be computed behind it, while
 * the other workers wait. */
static void join(work_t *work)
{
    work->exchange = ISO_NO_NODE;
    for (iso_node_id_t id = 0; id < work->formats->n_nodes; id++) {
        const iso_node_t *node = iso_graph_node(work->graph, id);

        if (node->op == ISO_OP_ADD && node->dtype == ISO_DTYPE_F32) {
            join_addition(work, id);
        } else if (is_activation(node)) {
            join_activation(work, id);
        } else if (node->op == ISO_OP_EXCHANGE) {
            work->exchange = id;
        }
    }
}

/* ---- Copies ---- */

static void note_copies(work_t *work, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(work->graph, id);
    iso_formats_t *formats = work->formats;

    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_id_t operand = node->inputs[i];

        if (operand != ISO_NO_NODE &&
            iso_formats_read(work->graph, formats, id, i) !=
                formats->made[operand]) {
            formats->has_copy[operand] = true;
        }
    }
}

/* ---- All of it ---- */

static iso_status_t allocate(work_t *work, bool **flags_out)
{
    iso_formats_t *formats = work->formats;
    const size_t n = (size_t)formats->n_nodes;
    bool *flags = iso_alloc_zeroed(3 * n, sizeof *flags);

    *flags_out = flags;
    formats->made = iso_alloc_zeroed(n, sizeof *formats->made);
    formats->has_copy = iso_alloc_zeroed(n, sizeof *formats->has_copy);
    formats->joined = iso_alloc_zeroed(n, sizeof *formats->joined);
    formats->is_chain = iso_alloc_zeroed(n, sizeof *formats->is_chain);
    formats->is_view = iso_alloc_zeroed(n, sizeof *formats->is_view);
    formats->views = iso_alloc_zeroed(n, sizeof *formats->views);
    work->role = iso_alloc_zeroed(n, sizeof *work->role);
    work->reader = iso_alloc_zeroed(n, sizeof *work->reader);
    if (flags == NULL || formats->made == NULL || formats->has_copy == NULL ||
        formats->joined == NULL || formats->is_chain == NULL ||
        formats->is_view == NULL || formats->views == NULL ||
        work->role == NULL || work->reader == NULL) {
        return ISO_NOMEM;
    }
    work->is_read = flags;
    work->wants_blocks = flags + n;
    work->has_product = flags + 2 * n;
    return ISO_OK;
}

static iso_status_t join_all(work_t *work)
{
    join(work);
    ISO_TRY(iso_chains_join(work->graph, work->formats));
    iso_views_find(work->graph, work->formats);
    return ISO_OK;
}

static iso_status_t decide(work_t *work, bool joins)
{
    const iso_graph_t *graph = work->graph;
    iso_formats_t *formats = work->formats;
    const int32_t n = formats->n_nodes;

    for (iso_node_id_t id = 0; id < n; id++) {
        ISO_TRY(look_at(work, id));
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        work->reader[iso_graph_output(graph, i)->node] = ISO_NO_NODE;
    }
    for (iso_node_id_t id = n - 1; id >= 0; id--) {
        note_wants(work, id);
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        formats->made[id] =
            makes_blocks(work, id) ? ISO_FORMAT_BLOCKED : ISO_FORMAT_PLAIN;
    }
    return joins ? join_all(work) : ISO_OK;
}

/* Which values lie in both formats. */
static void note_all_copies(work_t *work)
{
    const iso_graph_t *graph = work->graph;
    iso_formats_t *formats = work->formats;
    const int n_outputs = iso_graph_output_count(graph);

    for (iso_node_id_t id = 0; id < formats->n_nodes; id++) {
        note_copies(work, id);
    }
    for (int i = 0; i < n_outputs; i++) {
        const iso_node_id_t id = iso_graph_output(graph, i)->node;

        formats->has_copy[id] =
            formats->has_copy[id] || formats->made[id] == ISO_FORMAT_BLOCKED;
    }
}

iso_status_t iso_formats_create(const iso_graph_t *graph, bool joins,
                                iso_formats_t *formats_out)
{
    work_t work = {.graph = graph, .formats = formats_out};
    bool *flags = NULL;
    iso_status_t status;

    *formats_out = (iso_formats_t){.n_nodes = iso_graph_node_count(graph)};
    status = allocate(&work, &flags);
    if (status == ISO_OK) {
        status = decide(&work, joins);
    }
    if (status == ISO_OK) {
        note_all_copies(&work);
    }
    if (status != ISO_OK) {
        iso_formats_free(formats_out);
    }
    iso_free(work.role);
    iso_free(work.reader);
    iso_free(flags);
    return status;
}

void iso_formats_free(iso_formats_t *formats)
{
    iso_free(formats->made);
    iso_free(formats->has_copy);
    iso_free(formats->joined);
    iso_free(formats->is_chain);
    iso_free(formats->is_view);
    iso_free(formats->views);
    *formats = (iso_formats_t){0};
}

/* Any format will do for operand 0 of these; seldom asked twice. */
static bool reads_either(const iso_graph_t *graph, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(graph, id);

    return is_convolution(node) ? iso_panels_of(graph, id, NULL)
                                : is_global_mean(graph, node);
}

iso_format_t iso_formats_read(const iso_graph_t *graph,
                              const iso_formats_t *formats, iso_node_id_t node,
                              int input)
{
    const iso_node_t *reader = iso_graph_node(graph, node);
    const iso_node_id_t operand = reader->inputs[input];

    if (operand == ISO_NO_NODE) {
        return ISO_FORMAT_PLAIN;
    }
    if (is_convolution(reader) || reader->op == ISO_OP_REDUCE_MEAN) {
        return input == 0 && formats->made[operand] == ISO_FORMAT_BLOCKED &&
                       reads_either(graph, node)
                   ? ISO_FORMAT_BLOCKED
                   : ISO_FORMAT_PLAIN;
    }
    return formats->made[node] == ISO_FORMAT_BLOCKED &&
                   follows_operand(graph, reader, input)
               ? ISO_FORMAT_BLOCKED
               : ISO_FORMAT_PLAIN;
}

/* ---- Sizes ---- */

int64_t iso_blocked_channels(int64_t channels)
{
    return (channels + ISO_BLOCK_CHANNELS - 1) / ISO_BLOCK_CHANNELS *
           ISO_BLOCK_CHANNELS;
}

iso_status_t iso_format_bytes(const iso_node_t *node, iso_format_t format,
                              size_t *bytes_out)
{
    iso_shape_t shape = node->shape;

    if (format == ISO_FORMAT_BLOCKED) {
        ISO_ASSERT(has_blocks(node));
        shape.dim[1] = iso_dim_of(iso_blocked_channels(shape.dim[1].size));
    }

    const iso_status_t status =
        iso_tensor_bytes_of(node->dtype, &shape, bytes_out);

    return status == ISO_OK ? ISO_OK
                            : iso_fail_context(status, "node '%s'", node->name);
}
