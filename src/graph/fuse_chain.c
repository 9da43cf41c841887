#include "graph/fuse_impl.h"
#include "graph/param_impl.h"

static void count_uses(iso_fuse_t *state)
{
    for (iso_node_id_t id = 0; id < state->n_nodes; id++) {
        const iso_node_t *node = iso_graph_node(state->graph, id);

        state->nodes[id].user = ISO_NO_NODE;
        state->nodes[id].head = ISO_NO_NODE;
        for (int i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] != ISO_NO_NODE) {
                iso_fuse_node_t *used = &state->nodes[node->inputs[i]];

                used->n_uses++;
                used->user = used->n_uses == 1 ? id : ISO_NO_NODE;
            }
        }
    }
    for (int i = 0; i < iso_graph_output_count(state->graph); i++) {
        state->nodes[iso_graph_output(state->graph, i)->node].user =
            ISO_NO_NODE;
    }
}

/* Its operands 1 and 2 scale and shift each channel (axis 1) by itself. */
static bool has_channels(const iso_node_t *node)
{
    return node->op == ISO_OP_CONV || node->op == ISO_OP_CONV_TRANSPOSE ||
           node->op == ISO_OP_BATCH_NORM;
}

static bool is_contraction(const iso_node_t *node)
{
    return iso_op_info(node->op)->op_class == ISO_OP_CLASS_CONTRACT;
}

bool iso__fuse_has_operand(const iso_node_t *node, int index)
{
    return index < node->n_inputs && node->inputs[index] != ISO_NO_NODE;
}

/* Is the operand a leaf with elements at hand? */
static iso_status_t is_known(const iso_fuse_t *state, const iso_node_t *node,
                             int index, bool *known_out)
{
    iso_tensor_t value;

    return iso__leaf_value(state->weights,
                           iso_graph_node(state->graph, node->inputs[index]),
                           &value, known_out);
}

/* Can new weights and a new bias be made for what head makes? */
static iso_status_t takes_affine(const iso_fuse_t *state,
                                 const iso_node_t *head, bool *takes_out)
{
    /* An affine of no channels is none at all (fuse.c). */
    bool takes = has_channels(head) && head->shape.dim[1].size > 0 &&
                 state->weights != NULL;

    if (takes) {
        ISO_TRY(is_known(state, head, 1, &takes));
    }
    if (takes && iso__fuse_has_operand(head, 2)) {
        ISO_TRY(is_known(state, head, 2, &takes));
    }
    *takes_out = takes;
    return ISO_OK;
}

/* A batch norm over what head makes, all numbers at hand. */
static iso_status_t takes_norm(const iso_fuse_t *state, const iso_node_t *head,
                               const iso_node_t *norm, bool *takes_out)
{
    bool known = true;

    *takes_out = false;
    for (int i = 1; known && i < norm->n_inputs; i++) {
        ISO_TRY(is_known(state, norm, i, &known));
    }
    return known ? takes_affine(state, head, takes_out) : ISO_OK;
}

int iso__fuse_other_operand(const iso_node_t *node, iso_node_id_t id)
{
    return node->inputs[0] == id ? 1 : 0;
}

/* [C, 1, ...] or [1, C, 1, ...] over a value [N, C, ...]. */
static bool is_per_channel(const iso_shape_t *bias, const iso_shape_t *value)
{
    const int channel = bias->rank - (value->rank - 1);
    bool fits = channel == 0 || channel == 1;

    for (int axis = 0; fits && axis < bias->rank; axis++) {
        fits = iso_dim_equal(bias->dim[axis],
                             axis == channel ? value->dim[1] : iso_dim_of(1));
    }
    return fits;
}

/* A factor or a summand for each channel of what head makes, all numbers at
 * hand. */
static iso_status_t takes_channels(const iso_fuse_t *state,
                                   const iso_node_t *head,
                                   const iso_node_t *node, iso_node_id_t last,
                                   bool *takes_out)
{
    const int index = iso__fuse_other_operand(node, last);
    const iso_node_t *other = iso_graph_node(state->graph, node->inputs[index]);

    ISO_TRY(takes_affine(state, head, takes_out));
    *takes_out = *takes_out && is_per_channel(&other->shape, &head->shape);
    return *takes_out ? is_known(state, node, index, takes_out) : ISO_OK;
}

/* [cols] over a value [..., cols] of a matrix product that has columns. */
static bool is_per_column(const iso_graph_t *graph, const iso_node_t *head,
                          const iso_shape_t *bias)
{
    const iso_shape_t *b = &iso_graph_node(graph, head->inputs[1])->shape;

    return bias->rank == 1 && b->rank >= 2 &&
           iso_dim_equal(bias->dim[0], head->shape.dim[head->shape.rank - 1]);
}

/* An add of one number for each channel or column to what head makes. */
static iso_status_t takes_bias(const iso_fuse_t *state, const iso_node_t *head,
                               const iso_node_t *add, iso_node_id_t last,
                               bool *takes_out)
{
    const int index = iso__fuse_other_operand(add, last);
    const iso_node_t *bias = iso_graph_node(state->graph, add->inputs[index]);

    *takes_out = bias->op == ISO_OP_CONSTANT || bias->op == ISO_OP_PARAM;
    if (!*takes_out) {
        return ISO_OK;
    }
    if (!has_channels(head)) {
        *takes_out = is_per_column(state->graph, head, &bias->shape);
        return ISO_OK;
    }
    *takes_out = is_per_channel(&bias->shape, &head->shape);
    return *takes_out ? is_known(state, add, index, takes_out) : ISO_OK;
}

/* A fused activation keeps its constants as f32, so f64 ones stay apart. */
const char *iso__fuse_activation(const iso_node_t *node)
{
    switch (node->op) {
    case ISO_OP_RELU:
    case ISO_OP_SIGMOID:
    case ISO_OP_TANH:
    case ISO_OP_HARD_SWISH:
        return iso_op_string(node->op);
    case ISO_OP_CLIP:
    case ISO_OP_LEAKY_RELU:
        return node->dtype == ISO_DTYPE_F32 ? iso_op_string(node->op) : NULL;
    default:
        return NULL;
    }
}

/* A chain as far as it is known. */
typedef struct chain {
    const iso_node_t *head;
    iso_node_id_t last;
    bool biased; /* a bias, or an affine, which brings one */
    bool closed; /* ends with an activation */
} chain_t;

/* Can the only user of the chain's last node become part of it? */
static iso_status_t takes_user(const iso_fuse_t *state, const iso_node_t *node,
                               chain_t *chain, bool *takes_out)
{
    *takes_out = false;
    switch (node->op) {
    case ISO_OP_BATCH_NORM:
        ISO_TRY(takes_norm(state, chain->head, node, takes_out));
        chain->biased = chain->biased || *takes_out;
        return ISO_OK;
    case ISO_OP_ADD:
        if (chain->biased) {
            return takes_channels(state, chain->head, node, chain->last,
                                  takes_out);
        }
        ISO_TRY(takes_bias(state, chain->head, node, chain->last, takes_out));
        chain->biased = *takes_out;
        return ISO_OK;
    case ISO_OP_MUL:
        ISO_TRY(
            takes_channels(state, chain->head, node, chain->last, takes_out));
        chain->biased = chain->biased || *takes_out;
        return ISO_OK;
    default:
        *takes_out =
            is_contraction(chain->head) && iso__fuse_activation(node) != NULL;
        chain->closed = true;
        return ISO_OK;
    }
}

/* Walk from a head as far as its chain goes and mark it. */
static iso_status_t mark_chain(iso_fuse_t *state, iso_node_id_t head_id)
{
    chain_t chain = {.head = iso_graph_node(state->graph, head_id),
                     .last = head_id};
    iso_activation_param_t own = {0};
    bool longer = true;

    ISO_TRY(iso__activation_of(chain.head, &own));
    chain.biased = iso__fuse_has_operand(chain.head, 2);
    chain.closed = own.kind != ISO_ACTIVATION_NONE;
    while (longer && !chain.closed &&
           state->nodes[chain.last].user != ISO_NO_NODE) {
        const iso_node_id_t next = state->nodes[chain.last].user;

        ISO_TRY(takes_user(state, iso_graph_node(state->graph, next), &chain,
                           &longer));
        if (longer) {
            state->nodes[chain.last].absorbed = true;
            chain.last = next;
        }
    }
    if (chain.last != head_id) {
        state->nodes[chain.last].head = head_id;
    }
    return ISO_OK;
}

iso_status_t iso__fuse_mark_chains(iso_fuse_t *state)
{
    count_uses(state);
    for (iso_node_id_t id = 0; id < state->n_nodes; id++) {
        const iso_node_t *node = iso_graph_node(state->graph, id);
        const bool heads = is_contraction(node) ||
                           (has_channels(node) && !state->nodes[id].absorbed);

        ISO_TRY(heads ? mark_chain(state, id) : ISO_OK);
    }
    return ISO_OK;
}
