#include "base/log.h"
#include "kernel/cpu/chain.h"
#include "kernel/ref/ref_impl.h"
#include "kernel/walk.h"

typedef iso__chain_operand_t operand_t;
typedef iso__chain_item_t item_t;
typedef iso__chain_t chain_t;

/* ---- Making ---- */

static iso_chain_kind_t kind_of(iso_op_t op)
{
    switch (iso_op_info(op)->op_class) {
    case ISO_OP_CLASS_UNARY:
        return ISO_CHAIN_UNARY;
    case ISO_OP_CLASS_BINARY:
        return ISO_CHAIN_BINARY;
    case ISO_OP_CLASS_REDUCE:
        return ISO_CHAIN_REDUCE;
    case ISO_OP_CLASS_CONTRACT:
        return ISO_CHAIN_NONE;
    default:
        return op == ISO_OP_LAYER_NORM ? ISO_CHAIN_NORM : ISO_CHAIN_SOFTMAX;
    }
}

static void set_operand(const chain_t *chain, const iso_cpu_link_t *link,
                        int input, operand_t *operand)
{
    const iso_tensor_t *tensor = link->inputs[input];
    const iso_tensor_t *value = link->value;
    const int number = link->links[input];

    *operand = (operand_t){.data = tensor->data, .slot = ISO__CHAIN_NO_SLOT};
    if (number >= 0) {
        operand->data = NULL;
        operand->slot = chain->items[number].slot;
    }

    const bool is_regular = iso_chain_rows_of(
        value->rank, value->dims, tensor->rank, tensor->dims, &operand->rows);

    ISO_ASSERT(is_regular);
}

static int64_t last_dim(const iso_tensor_t *tensor)
{
    return tensor->rank > 0 ? tensor->dims[tensor->rank - 1] : 1;
}

/* The product: what others read is in the block. */
static void set_product(const iso_cpu_link_t *link, item_t *item)
{
    *item = (item_t){.kind = ISO_CHAIN_NONE,
                     .width = last_dim(link->value),
                     .slot = ISO__CHAIN_BLOCK};
}

static void set_item(const chain_t *chain, const iso_cpu_link_t *link,
                     item_t *item)
{
    const iso_node_t *node = link->node;
    iso_norm_param_t norm = {0};
    iso_status_t status = ISO_OK;

    *item = (item_t){
        .kind = kind_of(node->op),
        .op = node->op,
        .width = last_dim(link->value),
        .reduced = last_dim(link->inputs[0]),
        .slot = ISO__CHAIN_NO_SLOT,
    };
    for (int i = 0; i < node->n_inputs && link->inputs[i] != NULL; i++) {
        set_operand(chain, link, i, &item->operands[i]);
        item->n_operands++;
    }
    if (item->kind == ISO_CHAIN_UNARY) {
        status = iso__coeff_of(node, &item->coeff);
    } else if (item->kind == ISO_CHAIN_NORM) {
        status = iso_norm_param_of(node, link->value->rank, &norm);
        item->epsilon = norm.epsilon;
    }
    ISO_ASSERT(status == ISO_OK);
}

/* Is what a link makes read by a later one? */
static bool is_read_later(const iso_cpu_step_t *step, int number, int after)
{
    for (int i = after + 1; i < step->n_links; i++) {
        const iso_cpu_link_t *link = &step->links[i];

        for (int k = 0; k < link->node->n_inputs; k++) {
            if (link->links[k] == number) {
                return true;
            }
        }
    }
    return false;
}

/* May link `number` write where `other` keeps what nobody reads behind it? An
 * elementwise one may when both have the same width, but a row that is
 * reduced or normalised is read several times. */
static bool frees(const chain_t *chain, const iso_cpu_step_t *step, int number,
                  int other)
{
    const item_t *item = &chain->items[number];
    const bool is_elementwise =
        item->kind == ISO_CHAIN_UNARY || item->kind == ISO_CHAIN_BINARY;

    return is_elementwise && item->width == chain->items[other].width
               ? !is_read_later(step, other, number)
               : !is_read_later(step, other, number - 1);
}

/* The first slot that no earlier link needs. */
static int free_slot(const chain_t *chain, const iso_cpu_step_t *step,
                     int number)
{
    uint32_t used = 0;
    int slot = 0;

    for (int i = chain->first; i < number; i++) {
        if (!frees(chain, step, number, i)) {
            used |= UINT32_C(1) << chain->items[i].slot;
        }
    }
    while ((used >> slot & 1U) != 0) {
        slot++;
    }
    return slot;
}

/* ---- Pieces ---- */

static bool is_dense(const chain_t *chain, const operand_t *operand)
{
    return operand->rows.inner == 1 && operand->rows.count == chain->rows;
}

/* Do all operands go on evenly from row to row? */
static bool is_even(const chain_t *chain)
{
    for (int i = chain->first; i < chain->n_items; i++) {
        for (int k = 0; k < chain->items[i].n_operands; k++) {
            const operand_t *operand = &chain->items[i].operands[k];

            if (operand->rows.count != 1 && !is_dense(chain, operand)) {
                return false;
            }
        }
    }
    return true;
}

/* Are all numbers treated alike, so that rows need not be told apart? */
static bool is_flat(const chain_t *chain)
{
    for (int i = 0; i < chain->n_items; i++) {
        const item_t *item = &chain->items[i];

        if (item->width != chain->n ||
            (item->kind != ISO_CHAIN_UNARY && item->kind != ISO_CHAIN_BINARY)) {
            return false;
        }
        for (int k = 0; k < item->n_operands; k++) {
            const operand_t *operand = &item->operands[k];
            const bool is_one =
                operand->rows.count == 1 && operand->rows.width == 1;

            if (!is_one && !(is_dense(chain, operand) &&
                             operand->rows.width == chain->n)) {
                return false;
            }
        }
    }
    return true;
}

/* All rows as one. */
static void flatten(chain_t *chain)
{
    const int64_t n = chain->rows * chain->n;

    for (int i = 0; i < chain->n_items; i++) {
        item_t *item = &chain->items[i];

        for (int k = 0; k < item->n_operands; k++) {
            iso_chain_rows_t *rows = &item->operands[k].rows;
            const bool is_one = rows->count == 1 && rows->width == 1;

            *rows = (iso_chain_rows_t){
                .inner = 1, .count = 1, .width = is_one ? 1 : n};
        }
        item->width = n;
    }
    chain->rows = 1;
    chain->n = n;
}

static bool has_whole_rows(const chain_t *chain)
{
    for (int i = 0; i < chain->n_items; i++) {
        if (chain->items[i].kind != ISO_CHAIN_UNARY &&
            chain->items[i].kind != ISO_CHAIN_BINARY) {
            return true;
        }
    }
    return false;
}

/* Some rows at once, or a part of one. */
static void cut(chain_t *chain)
{
    if (is_flat(chain)) {
        flatten(chain);
    }
    chain->many = 1;
    chain->columns = chain->n;
    if (chain->n > ISO__CHAIN_PIECE && !has_whole_rows(chain)) {
        chain->columns = ISO__CHAIN_PIECE;
    } else if (chain->n < ISO__CHAIN_PIECE && chain->is_even) {
        chain->many = ISO__CHAIN_PIECE / chain->n;
    }
}

void iso__chain_make(const iso_cpu_t *cpu, const iso_cpu_step_t *step,
                     iso__chain_t *chain)
{
    const iso_tensor_t *output = step->output;

    chain->cpu = cpu;
    chain->n_items = step->n_links;
    chain->first = kind_of(step->node->op) == ISO_CHAIN_NONE ? 1 : 0;
    chain->out = output->data;
    chain->rows = iso__dims_product(output->dims, 0, output->rank - 1);
    chain->n = last_dim(output);
    if (chain->first == 1) {
        set_product(&step->links[0], &chain->items[0]);
    }
    for (int i = chain->first; i < step->n_links; i++) {
        item_t *item = &chain->items[i];

        set_item(chain, &step->links[i], item);
        item->slot = free_slot(chain, step, i);
        chain->n = item->reduced > chain->n ? item->reduced : chain->n;
    }
    chain->is_even = is_even(chain);
    if (chain->first == 0) {
        cut(chain);
    }
}
