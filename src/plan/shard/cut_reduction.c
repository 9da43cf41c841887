/*
 * Cuts along the reduction of a contraction: subtrees of its tree of blocks.
 *
 * A piece of the products that are one subtree's has blocks of its own at the
 * same places, since these depend on the taps alone and a subtree begins at a
 * multiple of its size, so the piece's tree is the subtree. That every sum
 * ends in + 0 changes at most a -0 of the subtree, and the whole sum ends in
 * + 0, too (arith.h).
 */
#include "isotome/error.h"

#include "base/log.h"
#include "base/text.h"
#include "kernel/arith.h"
#include "plan/shard/cut_impl.h"

#include <string.h>

/* -- blocks -- */

/* A contraction whose blocks can be told apart. */
typedef struct contraction {
    iso_blocks_t blocks; /* count is 0 when it is not one */
    iso_activation_param_t activation;
    int axis[2]; /* that is summed over, of each factor */
} contraction_t;

static iso_status_t conv_blocks_of(const iso__cut_in_t *in,
                                   contraction_t *contraction)
{
    const bool transposed = in->node->op == ISO_OP_CONV_TRANSPOSE;
    iso_conv_param_t param;
    int64_t taps = 1;

    ISO_TRY(iso__cut_conv_param(in, &param));
    for (int i = 0; i < param.window.n_spatial; i++) {
        /* Past a block it does not matter how many. */
        taps *= taps <= ISO_BLOCK_MOST ? param.window.kernel[i] : 1;
    }
    contraction->activation = param.activation;
    contraction->axis[0] = 1;
    contraction->axis[1] = transposed ? 0 : 1;
    if (param.groups == 1 && taps <= ISO_BLOCK_MOST) {
        contraction->blocks =
            iso_blocks_of_conv(iso__cut_shape(in, 0)->dim[1].size, taps);
    }
    return ISO_OK;
}

static iso_status_t matrix_blocks_of(const iso__cut_in_t *in,
                                     contraction_t *contraction)
{
    const iso_shape_t *a = iso__cut_shape(in, 0);
    const iso_shape_t *b = iso__cut_shape(in, 1);
    const bool has_c =
        in->node->n_inputs > 2 && in->node->inputs[2] != ISO_NO_NODE;
    iso_gemm_param_t param;

    ISO_TRY(iso_gemm_param_of(in->node, &param));
    contraction->activation = param.activation;
    contraction->axis[0] = param.trans_a ? 0 : a->rank - 1;
    contraction->axis[1] =
        b->rank > 1 && !param.trans_b ? b->rank - 2 : b->rank - 1;
    if (param.alpha == 1.0F && (param.beta == 1.0F || !has_c)) {
        contraction->blocks =
            iso_blocks_of_matmul(a->dim[contraction->axis[0]].size);
    }
    return ISO_OK;
}

static iso_status_t contraction_of(const iso__cut_in_t *in,
                                   contraction_t *contraction_out)
{
    *contraction_out = (contraction_t){0};
    if (iso_op_info(in->node->op)->op_class != ISO_OP_CLASS_CONTRACT ||
        iso_shape_count(&in->node->shape) <= 0) {
        return ISO_OK;
    }
    if (in->node->op == ISO_OP_CONV || in->node->op == ISO_OP_CONV_TRANSPOSE) {
        return conv_blocks_of(in, contraction_out);
    }
    return matrix_blocks_of(in, contraction_out);
}

iso_status_t iso_cut_blocks(const iso_graph_t *graph, iso_node_id_t node,
                            int64_t *blocks_out)
{
    const iso__cut_in_t in = {.graph = graph,
                              .node = iso_graph_node(graph, node)};
    contraction_t contraction;

    *blocks_out = 0;
    ISO_TRY(contraction_of(&in, &contraction));
    if (contraction.blocks.count > 1) {
        *blocks_out = contraction.blocks.count;
    }
    return ISO_OK;
}

/* -- subtrees -- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int iso_cut_subtrees(int64_t n_blocks, iso_range_t blocks,
                     iso_range_t *subtrees_out)
{
    int64_t at = blocks.begin;
    int count = 0;

    while (at < blocks.end) {
        int64_t size = 1;

        /* The largest that begins here and ends inside; the last one of the
         * tree may be cut short by the tree's end. */
        while (at % (2 * size) == 0 && size < n_blocks - at &&
               least(at + 2 * size, n_blocks) <= blocks.end) {
            size *= 2;
        }
        ISO_ASSERT(count < ISO_MOST_SUBTREES);
        subtrees_out[count] = (iso_range_t){at, least(at + size, n_blocks)};
        at = subtrees_out[count++].end;
    }
    return count;
}

static bool is_subtree(int64_t n_blocks, iso_range_t range)
{
    iso_range_t subtrees[ISO_MOST_SUBTREES];

    return range.begin >= 0 && range.begin < range.end &&
           range.end <= n_blocks &&
           iso_cut_subtrees(n_blocks, range, subtrees) == 1;
}

static iso_status_t check_subtree(const iso__cut_in_t *in,
                                  const contraction_t *contraction,
                                  iso_range_t subtree)
{
    if (contraction->blocks.count < 2) {
        return iso_fail(ISO_INVAL,
                        "node '%s' (%s) cannot be cut along its reduction; "
                        "compute it whole",
                        in->node->name, iso_op_string(in->node->op));
    }
    if (!is_subtree(contraction->blocks.count, subtree)) {
        return iso_fail(ISO_INVAL,
                        "node '%s' (%s): blocks %lld to %lld of %lld are not "
                        "a subtree of the tree of blocks",
                        in->node->name, iso_op_string(in->node->op),
                        (long long)subtree.begin, (long long)subtree.end,
                        (long long)contraction->blocks.count);
    }
    return ISO_OK;
}

/* -- partial sums -- */

static iso_slab_t partial_slab(const contraction_t *contraction,
                               iso_range_t subtree, int operand)
{
    const iso_blocks_t *blocks = &contraction->blocks;

    if (operand > 1) {
        return (iso_slab_t){.axis = 0};
    }
    return (iso_slab_t){
        .axis = contraction->axis[operand],
        .range = {iso_blocks_begin(blocks, subtree.begin) / blocks->taps,
                  iso_blocks_end(blocks, subtree.end - 1) / blocks->taps},
    };
}

iso_status_t iso_cut_partial_operand(const iso_graph_t *graph,
                                     iso_node_id_t node, iso_range_t subtree,
                                     int operand, iso_slab_t *slab_out)
{
    const iso__cut_in_t in = {.graph = graph,
                              .node = iso_graph_node(graph, node)};
    contraction_t contraction;

    ISO_TRY(contraction_of(&in, &contraction));
    ISO_TRY(check_subtree(&in, &contraction, subtree));
    *slab_out = partial_slab(&contraction, subtree, operand);
    return ISO_OK;
}

/* All attributes but those of the activation. */
static int plain_attrs(const iso_node_t *node, iso_attr_t attrs[ISO__CUT_ATTRS])
{
    const char *activation = "activation";
    int count = 0;

    ISO_ASSERT(node->n_attrs <= ISO__CUT_ATTRS);
    for (int i = 0; i < node->n_attrs; i++) {
        if (strncmp(node->attrs[i].name, activation, strlen(activation)) != 0) {
            attrs[count++] = node->attrs[i];
        }
    }
    return count;
}

iso_status_t iso_cut_add_partial(const iso_graph_t *graph, iso_node_id_t node,
                                 iso_range_t subtree, iso_graph_t *local,
                                 const char *name, const iso_node_id_t *inputs,
                                 iso_node_id_t *node_out)
{
    iso__cut_in_t in = {.graph = graph, .node = iso_graph_node(graph, node)};
    iso_attr_t attrs[ISO__CUT_ATTRS];
    const iso_node_spec_t spec = {.name = name,
                                  .op = in.node->op,
                                  .n_inputs = 2,
                                  .inputs = inputs,
                                  .n_attrs = plain_attrs(in.node, attrs),
                                  .attrs = attrs};
    contraction_t contraction;

    ISO_TRY(contraction_of(&in, &contraction));
    ISO_TRY(check_subtree(&in, &contraction, subtree));
    for (in.operand = 0; in.operand < 2; in.operand++) {
        const iso_slab_t slab = partial_slab(&contraction, subtree, in.operand);

        ISO_TRY(iso__cut_check_input(&in, &slab, local, inputs[in.operand]));
    }
    return iso_graph_add(local, &spec, node_out);
}

/* -- the sum -- */

/* Adds the steps on the way to a whole sum. */
typedef struct summing {
    const iso__cut_in_t *in;
    const contraction_t *contraction;
    iso_graph_t *local;
    const char *name; /* of the last step */
    int left;         /* steps to come */
    int number;       /* for the names of the others */
} summing_t;

/* A name that neither graph has: nodes of the stage may yet be added. */
static iso_status_t step_name(summing_t *summing, iso_text_t *name)
{
    do {
        iso_text_free(name);
        *name = (iso_text_t){0};
        iso_text_add(name, "%s~%d", summing->in->node->name, summing->number);
        summing->number++;
        if (name->status != ISO_OK) {
            return name->status;
        }
    } while (iso_graph_find(summing->in->graph, name->data) != ISO_NO_NODE ||
             iso_graph_find(summing->local, name->data) != ISO_NO_NODE);
    return ISO_OK;
}

/* Add one step; the last one has the name that was asked for. */
static iso_status_t add_step(summing_t *summing, iso_node_spec_t *spec,
                             iso_node_id_t *node_out)
{
    iso_text_t name = {0};
    iso_status_t status = ISO_OK;

    spec->name = summing->name;
    summing->left--;
    if (summing->left > 0) {
        status = step_name(summing, &name);
        spec->name = name.data;
    }
    if (status == ISO_OK) {
        status = iso_graph_add(summing->local, spec, node_out);
    }
    iso_text_free(&name);
    return status;
}

static iso_status_t add_add(summing_t *summing, iso_node_id_t a,
                            iso_node_id_t b, iso_node_id_t *node_out)
{
    iso_node_spec_t spec = {.op = ISO_OP_ADD,
                            .n_inputs = 2,
                            .inputs = (const iso_node_id_t[]){a, b}};

    return add_step(summing, &spec, node_out);
}

static iso_status_t add_reshape(summing_t *summing, iso_node_id_t x,
                                const iso_shape_t *shape,
                                iso_node_id_t *node_out)
{
    const iso_attr_t attr = {.name = "shape",
                             .kind = ISO_ATTR_DIMS,
                             .count = shape->rank,
                             .value.dims = shape->dim};
    iso_node_spec_t spec = {.op = ISO_OP_RESHAPE,
                            .n_inputs = 1,
                            .inputs = &x,
                            .n_attrs = 1,
                            .attrs = &attr};

    return add_step(summing, &spec, node_out);
}

/* What has been summed so far, as a binary counter: sums of subtrees, each
 * smaller than the one before. */
enum { MOST_DEPTH = 64 };

typedef struct sums {
    int depth;
    iso_range_t subtree[MOST_DEPTH];
    iso_node_id_t node[MOST_DEPTH];
} sums_t;

/*
 * Are these neighbours the two halves of a subtree? As sums are pushed in
 * order, what is left has its own left half done, so their sizes say it; the
 * right one may be cut short by the tree's end.
 */
static bool are_halves(int64_t n_blocks, iso_range_t left, iso_range_t right)
{
    const int64_t size = iso_range_length(left);

    return right.end == least(right.begin + size, n_blocks);
}

static iso_status_t push(summing_t *summing, sums_t *sums, iso_range_t subtree,
                         iso_node_id_t node)
{
    const int64_t n_blocks = summing->contraction->blocks.count;

    while (sums->depth > 0 &&
           are_halves(n_blocks, sums->subtree[sums->depth - 1], subtree)) {
        sums->depth--;
        ISO_TRY(add_add(summing, sums->node[sums->depth], node, &node));
        subtree.begin = sums->subtree[sums->depth].begin;
    }
    ISO_ASSERT(sums->depth < MOST_DEPTH);
    sums->subtree[sums->depth] = subtree;
    sums->node[sums->depth++] = node;
    return ISO_OK;
}

/* Subtrees in order, one after the other, of all blocks. */
static iso_status_t check_sum(const iso__cut_in_t *in,
                              const contraction_t *contraction,
                              const iso_cut_sum_t *sum,
                              const iso_graph_t *local)
{
    int64_t at = 0;

    for (int i = 0; i < sum->n_partials; i++) {
        const iso_range_t subtree = sum->subtrees[i];
        const iso_node_id_t node = sum->partials[i];

        ISO_TRY(check_subtree(in, contraction, subtree));
        if (subtree.begin != at) {
            return iso_fail(ISO_INVAL,
                            "node '%s': partial sum %d begins at block %lld, "
                            "expected %lld",
                            in->node->name, i, (long long)subtree.begin,
                            (long long)at);
        }
        if (node < 0 || node >= iso_graph_node_count(local) ||
            !iso_shape_equal(&iso_graph_node(local, node)->shape,
                             &in->node->shape)) {
            return iso_fail(ISO_SHAPE,
                            "node '%s': partial sum %d has not the shape of "
                            "the value",
                            in->node->name, i);
        }
        at = subtree.end;
    }
    if (at != contraction->blocks.count) {
        return iso_fail(ISO_INVAL,
                        "node '%s': the partial sums end at block %lld, "
                        "expected %lld",
                        in->node->name, (long long)at,
                        (long long)contraction->blocks.count);
    }
    return ISO_OK;
}

/* A convolution's bias lies along axis 1. */
static iso_status_t add_bias(summing_t *summing, iso_node_id_t bias,
                             iso_node_id_t *sum)
{
    const iso_node_t *node = summing->in->node;
    iso_shape_t shape = {.rank = node->shape.rank};

    if (bias == ISO_NO_NODE) {
        return ISO_OK;
    }
    if (node->op == ISO_OP_CONV || node->op == ISO_OP_CONV_TRANSPOSE) {
        for (int axis = 0; axis < shape.rank; axis++) {
            shape.dim[axis] = axis == 1 ? node->shape.dim[1] : iso_dim_of(1);
        }
        ISO_TRY(add_reshape(summing, bias, &shape, &bias));
    }
    return add_add(summing, *sum, bias, sum);
}

static iso_status_t add_activation(summing_t *summing, iso_node_id_t *sum)
{
    static const iso_op_t ops[] = {
        [ISO_ACTIVATION_RELU] = ISO_OP_RELU,
        [ISO_ACTIVATION_CLIP] = ISO_OP_CLIP,
        [ISO_ACTIVATION_SIGMOID] = ISO_OP_SIGMOID,
        [ISO_ACTIVATION_TANH] = ISO_OP_TANH,
        [ISO_ACTIVATION_LEAKY_RELU] = ISO_OP_LEAKY_RELU,
        [ISO_ACTIVATION_HARD_SWISH] = ISO_OP_HARD_SWISH,
    };
    const iso_activation_param_t *param = &summing->contraction->activation;
    /* As the fused ones, rounded to f32 in f64, too. */
    const double numbers[] = {(double)param->alpha, (double)param->min,
                              (double)param->max};
    const iso_attr_t attrs[] = {
        {"alpha", ISO_ATTR_FLOATS, 1, {.floats = &numbers[0]}},
        {"min", ISO_ATTR_FLOATS, 1, {.floats = &numbers[1]}},
        {"max", ISO_ATTR_FLOATS, 1, {.floats = &numbers[2]}},
    };
    iso_node_spec_t spec = {.n_inputs = 1, .inputs = sum};

    if (param->kind == ISO_ACTIVATION_NONE) {
        return ISO_OK;
    }
    spec.op = ops[param->kind];
    if (param->kind == ISO_ACTIVATION_LEAKY_RELU) {
        spec.n_attrs = 1;
        spec.attrs = &attrs[0];
    } else if (param->kind == ISO_ACTIVATION_CLIP) {
        spec.n_attrs = 2;
        spec.attrs = &attrs[1];
    }
    return add_step(summing, &spec, sum);
}

/* Number of nodes to add. */
static int steps_of(const iso__cut_in_t *in, const contraction_t *contraction,
                    const iso_cut_sum_t *sum)
{
    const bool conv =
        in->node->op == ISO_OP_CONV || in->node->op == ISO_OP_CONV_TRANSPOSE;
    int steps = sum->n_partials - 1;

    if (sum->bias != ISO_NO_NODE) {
        steps += conv ? 2 : 1;
    }
    return steps + (contraction->activation.kind != ISO_ACTIVATION_NONE);
}

iso_status_t iso_cut_add_sum(const iso_graph_t *graph, iso_node_id_t node,
                             const iso_cut_sum_t *sum, iso_graph_t *local,
                             const char *name, iso_node_id_t *node_out)
{
    const iso__cut_in_t in = {.graph = graph,
                              .node = iso_graph_node(graph, node)};
    sums_t sums = {0};
    contraction_t contraction;
    summing_t summing = {
        .in = &in, .contraction = &contraction, .local = local, .name = name};
    iso_node_id_t value;

    ISO_TRY(contraction_of(&in, &contraction));
    ISO_TRY(check_sum(&in, &contraction, sum, local));
    summing.left = steps_of(&in, &contraction, sum);
    if (summing.left == 0) {
        /* One partial sum is all: a node of the name that was asked for. */
        return add_reshape(&summing, sum->partials[0], &in.node->shape,
                           node_out);
    }
    for (int i = 0; i < sum->n_partials; i++) {
        ISO_TRY(push(&summing, &sums, sum->subtrees[i], sum->partials[i]));
    }
    value = sums.node[0];
    ISO_TRY(add_bias(&summing, sum->bias, &value));
    ISO_TRY(add_activation(&summing, &value));
    *node_out = value;
    return ISO_OK;
}

const char *iso_cut_reduction_name(const iso_graph_t *graph, iso_node_id_t node)
{
    const iso_op_t op = iso_graph_node(graph, node)->op;

    return op == ISO_OP_CONV || op == ISO_OP_CONV_TRANSPOSE ? "in-channel"
                                                            : "reduction";
}
