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

typedef struct partial {
    iso__lowering_t *lowering;
    iso_node_id_t id;
    const iso_node_t *node;
    int n_parts;
    part_t *parts;           /* (n_parts) */
    iso_range_t *subtrees;   /* (n_parts) in order */
    iso_node_id_t *partials; /* (n_parts) nodes of the sum */
} partial_t;

static void free_partial(partial_t *partial)
{
    iso_free(partial->parts);
    iso_free(partial->subtrees);
    iso_free(partial->partials);
}

/* The subtrees of all workers, in order. */
static iso_status_t list_parts(partial_t *partial)
{
    const iso__lowering_t *lowering = partial->lowering;
    const size_t most = (size_t)lowering->n_workers * ISO_MOST_SUBTREES;
    const iso_node_cut_t *cut = &lowering->cut->nodes[partial->id];
    int64_t n_blocks = 0;

    ISO_TRY(iso_cut_blocks(lowering->stage, partial->id, &n_blocks));
    partial->parts = iso_alloc_zeroed(most, sizeof *partial->parts);
    partial->subtrees = iso_alloc_zeroed(most, sizeof *partial->subtrees);
    partial->partials = iso_alloc_zeroed(most, sizeof *partial->partials);
    if (partial->parts == NULL || partial->subtrees == NULL ||
        partial->partials == NULL) {
        return ISO_NOMEM;
    }
    for (int worker = 0; worker < lowering->n_workers; worker++) {
        const iso_range_t blocks = cut->ranges[worker];
        int count = 0;

        if (iso_range_length(blocks) > 0) {
            count = iso_cut_subtrees(n_blocks, blocks,
                                     &partial->subtrees[partial->n_parts]);
        }
        for (int i = 0; i < count; i++) {
            partial->parts[partial->n_parts++] = (part_t){worker, ISO_NO_NODE};
        }
    }
    return ISO_OK;
}

/* All slabs of a worker lie side by side: it gets them as one. */
static iso_status_t need_factor(partial_t *partial, int operand)
{
    iso__lowering_t *lowering = partial->lowering;
    const iso_node_id_t id = partial->node->inputs[operand];
    iso__need_t need;
    iso_layout_t layout;

    iso__need_begin(&need, lowering);
    for (int i = 0; i < partial->n_parts; i++) {
        iso_slab_t slab;

        ISO_TRY(iso_cut_partial_operand(lowering->stage, partial->id,
                                        partial->subtrees[i], operand, &slab));
        iso__need_add(&need, partial->parts[i].worker, &slab);
    }
    layout = iso__need_end(&need);
    return iso__value_need(lowering, id, &layout);
}

static iso_status_t factor_piece(const partial_t *partial, iso_range_t subtree,
                                 int operand, iso_node_id_t *node_out)
{
    iso__lowering_t *lowering = partial->lowering;
    const iso_node_id_t id = partial->node->inputs[operand];
    iso_slab_t slab;
    iso_box_t box;

    ISO_TRY(iso_cut_partial_operand(lowering->stage, partial->id, subtree,
                                    operand, &slab));
    box = iso__box_slab(&iso_graph_node(lowering->stage, id)->shape, &slab);
    return iso__value_piece(lowering, id, &box, node_out);
}

/* "y[blocks 4:6]", where it is this worker's. */
static iso_status_t compute_part(const partial_t *partial, int index)
{
    iso__lowering_t *lowering = partial->lowering;
    const iso_range_t subtree = partial->subtrees[index];
    const iso_box_t whole = iso__box_whole(&partial->node->shape);
    iso_node_id_t inputs[N_FACTORS];
    const char *name = iso_arena_format(
        lowering->local->arena, "%s[blocks %lld:%lld]", partial->node->name,
        (long long)subtree.begin, (long long)subtree.end);

    if (partial->parts[index].worker != lowering->worker) {
        return ISO_OK;
    }
    for (int k = 0; k < N_FACTORS; k++) {
        ISO_TRY(factor_piece(partial, subtree, k, &inputs[k]));
    }
    name = name == NULL ? NULL : iso__unique_name(lowering, name);
    if (name == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(iso_cut_add_partial(lowering->stage, partial->id, subtree,
                                lowering->local->graph, name, inputs,
                                &partial->parts[index].node));
    return iso__note_origin(lowering, ISO_NO_NODE, &whole);
}

/* Worker 0 gets what another one has. */
static iso_status_t send_part(partial_t *partial, int index)
{
    iso__lowering_t *lowering = partial->lowering;
    part_t *part = &partial->parts[index];
    const iso__move_t move = {
        .id = partial->id,
        .from = {.kind = ISO_LAYOUT_ONE, .worker = part->worker},
        .to = {.kind = ISO_LAYOUT_ONE, .worker = 0},
        .operand = part->node,
    };
    iso_box_t box;

    if (part->worker == 0) {
        return ISO_OK;
    }
    ISO_TRY(iso__add_exchange(lowering, &move, &box, &part->node));
    return iso__note_origin(lowering, ISO_NO_NODE, &box);
}

/* Everyone computes before the first waits for another. */
static iso_status_t lower_parts(partial_t *partial)
{
    for (int i = 0; i < partial->n_parts; i++) {
        ISO_TRY(compute_part(partial, i));
    }
    for (int i = 0; i < partial->n_parts; i++) {
        ISO_TRY(send_part(partial, i));
    }
    return ISO_OK;
}

static iso_status_t add_sum(const partial_t *partial, iso_node_id_t bias,
                            iso_node_id_t *node_out)
{
    const iso__lowering_t *lowering = partial->lowering;
    const iso_cut_sum_t sum = {.n_partials = partial->n_parts,
                               .subtrees = partial->subtrees,
                               .partials = partial->partials,
                               .bias = bias};

    for (int i = 0; i < partial->n_parts; i++) {
        partial->partials[i] = partial->parts[i].node;
    }
    return iso_cut_add_sum(lowering->stage, partial->id, &sum,
                           lowering->local->graph, partial->node->name,
                           node_out);
}

static iso_status_t lower_sum(partial_t *partial)
{
    static const iso_layout_t one = {.kind = ISO_LAYOUT_ONE};
    iso__lowering_t *lowering = partial->lowering;
    iso_node_id_t bias = ISO_NO_NODE;
    iso_node_id_t sum = ISO_NO_NODE;

    if (partial->node->n_inputs > BIAS) {
        ISO_TRY(iso__value_whole(lowering, partial->node->inputs[BIAS], &one,
                                 &bias));
    }
    if (lowering->worker == 0) {
        ISO_TRY(add_sum(partial, bias, &sum));
    }
    return iso__value_begin(lowering, partial->id, &one, sum);
}

iso_status_t iso__lower_partial(iso__lowering_t *lowering, iso_node_id_t id)
{
    partial_t partial = {.lowering = lowering,
                         .id = id,
                         .node = iso_graph_node(lowering->stage, id)};
    iso_status_t status = list_parts(&partial);

    for (int k = 0; k < N_FACTORS && status == ISO_OK; k++) {
        status = need_factor(&partial, k);
    }
    if (status == ISO_OK) {
        status = lower_parts(&partial);
    }
    if (status == ISO_OK) {
        status = lower_sum(&partial);
    }
    free_partial(&partial);
    return status;
}
