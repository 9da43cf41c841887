/*
 * The ways in which a node may be computed, and what each takes. Nodes that
 * are alike (same op, attributes, forms and units) share them: a network
 * repeats its blocks, and there are few different ones.
 */
#include "base/digest.h"
#include "base/mem.h"
#include "graph/cost.h"
#include "plan/shard/arrange_impl.h"
#include "plan/shard/cut.h"

/* -- alike -- */

static void add_attr(iso_digest_t *digest, const iso_attr_t *attr)
{
    const size_t count = (size_t)attr->count;
    char buffer[ISO_DIM_TEXT_BYTES];

    iso_digest_add_text(digest, attr->name);
    iso_digest_add_int(digest, attr->kind);
    iso_digest_add_int(digest, attr->count);
    switch (attr->kind) {
    case ISO_ATTR_INTS:
        iso_digest_add_bytes(digest, attr->value.ints, count * sizeof(int64_t));
        break;
    case ISO_ATTR_FLOATS:
        iso_digest_add_bytes(digest, attr->value.floats,
                             count * sizeof(double));
        break;
    case ISO_ATTR_TEXT:
        iso_digest_add_text(digest, attr->value.text);
        break;
    case ISO_ATTR_DIMS:
        for (size_t i = 0; i < count; i++) {
            iso_digest_add_text(digest,
                                iso_dim_text(attr->value.dims[i], buffer));
        }
        break;
    }
}

static uint64_t class_key(const iso__arrange_t *arrange, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(arrange->stage, id);
    const iso__units_t *units = &arrange->units[id];
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_int(&digest, node->op);
    iso_digest_add_int(&digest, arrange->form_of[id]);
    iso_digest_add_bytes(&digest, units, sizeof *units);
    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_id_t input = node->inputs[i];
        if (input == ISO_NO_NODE) {
            iso_digest_add_int(&digest, ISO_NO_NODE);
            continue;
        }
        iso_digest_add_int(&digest, arrange->form_of[input]);
        iso_digest_add_int(&digest, iso__first_use(node, i));
        iso_digest_add_int(
            &digest, iso__is_weight(iso_graph_node(arrange->stage, input)));
    }
    for (int i = 0; i < node->n_attrs; i++) {
        add_attr(&digest, &node->attrs[i]);
    }
    return iso_digest_end(&digest);
}

/* -- choices -- */

static bool is_known(const iso__maker_t *maker, const iso__choice_t *choice)
{
    for (size_t i = 0; i < maker->count; i++) {
        if (maker->list[i].made == choice->made &&
            maker->list[i].cut.kind == choice->cut.kind &&
            choice->cut.kind != ISO_CUT_PARTIAL) {
            return true;
        }
    }
    return false;
}

/* length: what the ranges share out. */
static iso_status_t add_choice(iso__maker_t *maker, const iso_node_cut_t *cut,
                               int64_t length, bool is_plain)
{
    iso__choice_t choice = {.cut = *cut, .is_plain = is_plain};
    iso__choice_t *list = iso__room_for_one(maker->list, &maker->room,
                                            maker->count, sizeof *list);

    if (list == NULL) {
        return ISO_NOMEM;
    }
    maker->list = list;
    ISO_TRY(iso__choice_find_made(maker, cut, &choice.made));
    if (is_known(maker, &choice)) {
        return ISO_OK;
    }
    ISO_TRY(iso__choice_fill(maker, length, &choice));
    list[maker->count] = choice;
    maker->count++;
    return ISO_OK;
}

/* The k fastest workers share a length; returns how many get a piece. */
static int share(iso__maker_t *maker, int64_t length, int64_t unit, int k)
{
    const iso__arrange_t *arrange = maker->arrange;
    int n = 0;

    for (int i = 0; i < maker->n_workers; i++) {
        maker->weights[i] = 0.0;
    }
    for (int i = 0; i < k; i++) {
        const int worker = arrange->fastest[i];
        maker->weights[worker] = arrange->rates[worker];
    }
    iso_ranges_share(length, unit, maker->weights, maker->n_workers,
                     maker->pieces);
    for (int i = 0; i < maker->n_workers; i++) {
        n += iso_range_length(maker->pieces[i]) > 0;
    }
    return n;
}

/* All, half, a quarter, ... of the workers, at least two. */
static int fewer(int k)
{
    return k > 2 ? (k + 1) / 2 : 1;
}

static iso_status_t add_splits(iso__maker_t *maker, int axis, int64_t unit)
{
    const int64_t length = maker->node->shape.dim[axis].size;
    const int all = maker->arrange->n_usable;
    const iso_node_cut_t cut = {
        .kind = ISO_CUT_SPLIT, .axis = axis, .ranges = maker->pieces};

    for (int k = all; k >= 2; k = fewer(k)) {
        const bool is_shared = share(maker, length, unit, k) >= 2;
        ISO_TRY(is_shared ? add_choice(maker, &cut, length, k == all) : ISO_OK);
    }
    return ISO_OK;
}

static iso_status_t add_splits_of_axis(iso__maker_t *maker, int axis)
{
    const iso__units_t *units = &maker->arrange->units[maker->id];
    const int64_t length = maker->node->shape.dim[axis].size;
    const int64_t own = units->own[axis];
    const int64_t aligned = units->aligned[axis];

    if (own == 0 || length == 0) {
        return ISO_OK;
    }
    ISO_TRY(add_splits(maker, axis, aligned));
    /* Too coarse to give everyone work? */
    if (aligned != own && length / aligned < maker->arrange->n_usable) {
        ISO_TRY(add_splits(maker, axis, own));
    }
    return ISO_OK;
}

/* On the fastest worker alone, where that is not worker 0. */
static iso_status_t add_fastest(iso__maker_t *maker)
{
    const iso__arrange_t *arrange = maker->arrange;
    const int64_t *own = arrange->units[maker->id].own;
    iso_node_cut_t cut = {.kind = ISO_CUT_SPLIT, .ranges = maker->pieces};

    if (arrange->fastest[0] == 0) {
        return ISO_OK;
    }
    for (; cut.axis < maker->node->shape.rank; cut.axis++) {
        const int64_t length = maker->node->shape.dim[cut.axis].size;
        if (own[cut.axis] > 0 && length > 0) {
            (void)share(maker, length, own[cut.axis], 1);
            return add_choice(maker, &cut, length, false);
        }
    }
    return ISO_OK;
}

/* Pieces of few whole subtrees, where that leaves shares right to an eighth:
 * each subtree is a value to send. */
static int64_t block_unit(int64_t blocks, int k)
{
    int64_t unit = 1;

    while (unit * 8 * k <= blocks) {
        unit *= 2;
    }
    return unit;
}

static iso_status_t add_partials(iso__maker_t *maker)
{
    const iso_node_cut_t cut = {.kind = ISO_CUT_PARTIAL,
                                .ranges = maker->pieces};

    ISO_TRY(iso_cut_blocks(maker->arrange->stage, maker->id, &maker->blocks));
    for (int k = maker->arrange->n_usable; k >= 2; k = fewer(k)) {
        const bool is_shared =
            maker->blocks >= k &&
            share(maker, maker->blocks, block_unit(maker->blocks, k), k) >= 2;
        ISO_TRY(is_shared ? add_choice(maker, &cut, maker->blocks, false)
                          : ISO_OK);
    }
    return ISO_OK;
}

static iso_status_t add_choices(iso__maker_t *maker)
{
    const iso__arrange_t *arrange = maker->arrange;
    const iso_node_cut_t one = {.kind = ISO_CUT_ONE};
    const iso_node_cut_t all = {.kind = ISO_CUT_ALL};

    ISO_TRY(add_choice(maker, &one, 0, true));
    if (maker->node->op == ISO_OP_INPUT || arrange->n_usable < 2) {
        return ISO_OK;
    }
    if (arrange->n_usable == maker->n_workers) {
        ISO_TRY(add_choice(maker, &all, 0, false));
    }
    for (int axis = 0; axis < maker->node->shape.rank; axis++) {
        ISO_TRY(add_splits_of_axis(maker, axis));
    }
    ISO_TRY(add_fastest(maker));
    return add_partials(maker);
}

/* -- a class -- */

static iso_status_t find_cost(iso__maker_t *maker)
{
    const iso_node_t *node = maker->node;
    double others = 0.0;

    if (iso_node_is_leaf(node)) {
        return ISO_OK;
    }
    ISO_TRY(iso_node_cost_of(maker->arrange->stage, maker->id, &maker->cost));
    for (int i = node->n_inputs - 1; i >= 0; i--) {
        size_t bytes = 0;
        if (node->inputs[i] == ISO_NO_NODE) {
            continue;
        }
        const iso_node_t *input =
            iso_graph_node(maker->arrange->stage, node->inputs[i]);
        ISO_TRY(iso_tensor_bytes_of(input->dtype, &input->shape, &bytes));
        /* Of the first operand an op may read a part only. */
        maker->read[i] =
            i > 0 ? (double)bytes : (double)maker->cost.operand_bytes - others;
        others += maker->read[i];
    }
    return ISO_OK;
}

static iso_status_t allocate_maker(iso__maker_t *maker)
{
    const size_t n = (size_t)maker->n_workers;

    maker->read =
        iso_alloc_zeroed((size_t)maker->node->n_inputs, sizeof *maker->read);
    maker->piece_read = iso_alloc_zeroed(n, sizeof *maker->piece_read);
    maker->weights = iso_alloc_zeroed(n, sizeof *maker->weights);
    maker->pieces = iso_alloc_zeroed(n, sizeof *maker->pieces);
    maker->needs = iso_alloc_zeroed(n, sizeof *maker->needs);
    return maker->read == NULL || maker->piece_read == NULL ||
                   maker->weights == NULL || maker->pieces == NULL ||
                   maker->needs == NULL
               ? ISO_NOMEM
               : ISO_OK;
}

static void free_maker(iso__maker_t *maker)
{
    iso_free(maker->read);
    iso_free(maker->piece_read);
    iso_free(maker->weights);
    iso_free(maker->pieces);
    iso_free(maker->needs);
    iso_free(maker->list);
}

static iso_status_t add_class(iso__maker_t *maker)
{
    iso__arrange_t *arrange = maker->arrange;
    iso__choices_t choices = {.node = maker->id, .count = (int)maker->count};
    iso__choices_t *classes =
        iso__room_for_one(arrange->classes, &arrange->room_classes,
                          arrange->n_classes, sizeof *classes);

    if (classes == NULL) {
        return ISO_NOMEM;
    }
    arrange->classes = classes;
    choices.list = iso_arena_copy(arrange->arena, maker->list,
                                  maker->count * sizeof *maker->list);
    if (choices.list == NULL) {
        return ISO_NOMEM;
    }
    classes[arrange->n_classes] = choices;
    arrange->n_classes++;
    return ISO_OK;
}

iso_status_t iso__choices_of_node(iso__arrange_t *arrange, iso_node_id_t node)
{
    const uint64_t key = class_key(arrange, node);
    iso__maker_t maker = {.arrange = arrange,
                          .id = node,
                          .node = iso_graph_node(arrange->stage, node),
                          .n_workers = arrange->options->n_workers};

    arrange->class_of[node] = iso__index_find(&arrange->class_index, key);
    if (arrange->class_of[node] >= 0) {
        return ISO_OK;
    }
    iso_status_t status = allocate_maker(&maker);

    if (status == ISO_OK) {
        status = find_cost(&maker);
    }
    if (status == ISO_OK) {
        status = add_choices(&maker);
    }
    if (status == ISO_OK) {
        status = add_class(&maker);
    }
    free_maker(&maker);
    ISO_TRY(status);
    arrange->class_of[node] = (int32_t)arrange->n_classes - 1;
    return iso__index_add(&arrange->class_index, key, arrange->class_of[node]);
}

/* -- price -- */

static double bytes_held(const iso__arrange_t *arrange, iso_node_id_t id,
                         const iso__choice_t *choice, int worker)
{
    const iso_node_t *node = iso_graph_node(arrange->stage, id);
    double bytes = iso__layout_bytes(&arrange->places, arrange->form_of[id],
                                     choice->made, worker);

    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_id_t input = node->inputs[i];
        if (input != ISO_NO_NODE &&
            iso__is_weight(iso_graph_node(arrange->stage, input))) {
            bytes +=
                iso__layout_bytes(&arrange->places, arrange->form_of[input],
                                  choice->needs[i], worker);
        }
    }
    return bytes;
}

static double bytes_over(const iso__arrange_t *arrange, iso_node_id_t id,
                         const iso__choice_t *choice, const bool *is_over)
{
    double bytes = 0.0;

    for (int i = 0; i < arrange->options->n_workers; i++) {
        bytes += is_over[i] ? bytes_held(arrange, id, choice, i) : 0.0;
    }
    return bytes;
}

void iso__arrange_set_price(iso__arrange_t *arrange, const bool *is_over,
                            double s_per_byte)
{
    for (size_t k = 0; k < arrange->n_classes; k++) {
        const iso__choices_t *choices = &arrange->classes[k];
        for (int c = 0; c < choices->count; c++) {
            iso__choice_t *choice = &choices->list[c];
            choice->price_s = s_per_byte * bytes_over(arrange, choices->node,
                                                      choice, is_over);
        }
    }
}
