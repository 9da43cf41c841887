/* A sum of products that several workers compute along its reduction. */
#include "isotome/error.h"

#include "base/arena.h"
#include "base/mem.h"
#include "plan/shard/local_impl.h"

/* The two factors; the third operand is the bias. */
enum { N_FACTORS = 2, BIAS = 2 };

/* One partial sum, and who computes it. */
typedef struct part {
    int worker;
    iso_node_id_t node; /* of the local graph, where it is */
} part_t;

typedef struct parts {
    const iso_graph_t *stage;
    iso_node_id_t id;
    int count;
    part_t *list;          /* (count) */
    iso_range_t *subtrees; /* (count) in order */
} parts_t;

static void free_parts(parts_t *parts)
{
    iso_free(parts->list);
    iso_free(parts->subtrees);
}

/* The subtrees of all workers, in order; free_parts() even on failure. */
static iso_status_t list_parts(const iso_graph_t *stage,
                               const iso_stage_cut_t *cut, iso_node_id_t id,
                               parts_t *parts)
{
    const size_t most = (size_t)cut->n_workers * ISO_MOST_SUBTREES;
    int64_t n_blocks = 0;

    *parts = (parts_t){.stage = stage, .id = id};
    ISO_TRY(iso_cut_blocks(stage, id, &n_blocks));
    parts->list = iso_alloc_zeroed(most, sizeof *parts->list);
    parts->subtrees = iso_alloc_zeroed(most, sizeof *parts->subtrees);
    if (parts->list == NULL || parts->subtrees == NULL) {
        return ISO_NOMEM;
    }
    for (int worker = 0; worker < cut->n_workers; worker++) {
        const iso_range_t blocks = cut->nodes[id].ranges[worker];
        int count = 0;

        if (iso_range_length(blocks) > 0) {
            count = iso_cut_subtrees(n_blocks, blocks,
                                     &parts->subtrees[parts->count]);
        }
        for (int i = 0; i < count; i++) {
            parts->list[parts->count++] = (part_t){worker, ISO_NO_NODE};
        }
    }
    return ISO_OK;
}

/* -- what moves -- */

/* All slabs of a worker lie side by side: it gets them as one. */
static iso_status_t decide_factor(iso__deciding_t *deciding,
                                  const parts_t *parts, int operand)
{
    iso__need_t need;
    iso_layout_t layout;

    iso__need_begin(&need, deciding);
    for (int i = 0; i < parts->count; i++) {
        iso_slab_t slab;

        ISO_TRY(iso_cut_partial_operand(parts->stage, parts->id,
                                        parts->subtrees[i], operand, &slab));
        iso__need_add(&need, parts->list[i].worker, &slab);
    }
    layout = iso__need_end(&need);
    return iso__decide_need(deciding, parts->id, operand, &layout);
}

/* Worker 0 gets what another one has. */
static iso_status_t decide_send(iso__deciding_t *deciding, const parts_t *parts,
                                int index)
{
    const iso__move_t move = {parts->id, parts->id, ISO__PARTIAL_SUM};
    const iso_layout_t from = {.kind = ISO_LAYOUT_ONE,
                               .worker = parts->list[index].worker};
    const iso_layout_t to = {.kind = ISO_LAYOUT_ONE};

    return from.worker == to.worker
               ? ISO_OK
               : iso__decide_move(deciding, &move, &from, &to);
}

static iso_status_t decide_parts(iso__deciding_t *deciding,
                                 const parts_t *parts)
{
    static const iso_layout_t one = {.kind = ISO_LAYOUT_ONE};
    const iso_node_t *node = iso_graph_node(parts->stage, parts->id);

    for (int k = 0; k < N_FACTORS; k++) {
        ISO_TRY(decide_factor(deciding, parts, k));
    }
    for (int i = 0; i < parts->count; i++) {
        ISO_TRY(decide_send(deciding, parts, i));
    }
    return node->n_inputs > BIAS
               ? iso__decide_need(deciding, parts->id, BIAS, &one)
               : ISO_OK;
}

iso_status_t iso__decide_partial(iso__deciding_t *deciding, iso_node_id_t id)
{
    parts_t parts;
    iso_status_t status =
        list_parts(deciding->stage, deciding->cut, id, &parts);

    if (status == ISO_OK) {
        status = decide_parts(deciding, &parts);
    }
    free_parts(&parts);
    return status;
}

/* -- a worker's nodes -- */

static iso_status_t factor_piece(iso__lowering_t *lowering,
                                 const parts_t *parts, int index, int operand,
                                 iso_node_id_t *node_out)
{
    const iso_node_id_t id = iso__operand_of(parts->stage, parts->id, operand);
    iso_slab_t slab;
    iso_box_t box;

    ISO_TRY(iso_cut_partial_operand(parts->stage, parts->id,
                                    parts->subtrees[index], operand, &slab));
    box = iso__box_slab(&iso_graph_node(parts->stage, id)->shape, &slab);
    return iso__value_piece(lowering, id, &box, node_out);
}

/* "y[blocks 4:6]", where it is this worker's. */
static iso_status_t compute_part(iso__lowering_t *lowering, parts_t *parts,
                                 int index)
{
    const iso_range_t subtree = parts->subtrees[index];
    const iso_node_t *node = iso_graph_node(parts->stage, parts->id);
    const iso_box_t whole = iso__box_whole(&node->shape);
    part_t *part = &parts->list[index];
    iso_node_id_t inputs[N_FACTORS];
    const char *name;

    if (part->worker != lowering->worker) {
        return ISO_OK;
    }
    for (int k = 0; k < N_FACTORS; k++) {
        ISO_TRY(factor_piece(lowering, parts, index, k, &inputs[k]));
    }
    name = iso_arena_format(lowering->local->arena, "%s[blocks %lld:%lld]",
                            node->name, (long long)subtree.begin,
                            (long long)subtree.end);
    name = name == NULL ? NULL : iso__unique_name(lowering, name);
    if (name == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(iso_cut_add_partial(parts->stage, parts->id, subtree,
                                lowering->local->graph, name, inputs,
                                &part->node));
    return iso__note_origin(lowering, ISO_NO_NODE, &whole);
}

static iso_status_t send_part(iso__lowering_t *lowering, part_t *part)
{
    iso_box_t box;

    if (part->worker == 0) {
        return ISO_OK;
    }
    ISO_TRY(iso__add_exchange(lowering, part->node, &box, &part->node));
    return iso__note_origin(lowering, ISO_NO_NODE, &box);
}

static iso_status_t add_sum(iso__lowering_t *lowering, const parts_t *parts,
                            iso_node_id_t bias, iso_node_id_t *node_out)
{
    iso_node_id_t *partials =
        iso_alloc_zeroed((size_t)parts->count, sizeof *partials);
    const iso_cut_sum_t sum = {.n_partials = parts->count,
                               .subtrees = parts->subtrees,
                               .partials = partials,
                               .bias = bias};

    if (partials == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < parts->count; i++) {
        partials[i] = parts->list[i].node;
    }
    const iso_status_t status = iso_cut_add_sum(
        parts->stage, parts->id, &sum, lowering->local->graph,
        iso_graph_node(parts->stage, parts->id)->name, node_out);

    iso_free(partials);
    return status;
}

static iso_status_t lower_sum(iso__lowering_t *lowering, const parts_t *parts)
{
    static const iso_layout_t one = {.kind = ISO_LAYOUT_ONE};
    iso_node_id_t bias = ISO_NO_NODE;
    iso_node_id_t sum = ISO_NO_NODE;

    if (iso_graph_node(parts->stage, parts->id)->n_inputs > BIAS) {
        ISO_TRY(iso__value_whole(lowering, parts->id, BIAS, &one, &bias));
    }
    if (lowering->worker == 0) {
        ISO_TRY(add_sum(lowering, parts, bias, &sum));
    }
    return iso__value_begin(lowering, parts->id, &one, sum);
}

/* Everyone computes before the first waits for another. */
static iso_status_t lower_parts(iso__lowering_t *lowering, parts_t *parts)
{
    for (int k = 0; k < N_FACTORS; k++) {
        ISO_TRY(iso__value_need(lowering, parts->id, k));
    }
    for (int i = 0; i < parts->count; i++) {
        ISO_TRY(compute_part(lowering, parts, i));
    }
    for (int i = 0; i < parts->count; i++) {
        ISO_TRY(send_part(lowering, &parts->list[i]));
    }
    return lower_sum(lowering, parts);
}

iso_status_t iso__lower_partial(iso__lowering_t *lowering, iso_node_id_t id)
{
    parts_t parts;
    iso_status_t status =
        list_parts(lowering->stage, lowering->cut, id, &parts);

    if (status == ISO_OK) {
        status = lower_parts(lowering, &parts);
    }
    free_parts(&parts);
    return status;
}
