#include "plan/shard/stage_cut.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "plan/shard/cut.h"

#include <stdio.h>
#include <string.h>

/* -- life -- */

static iso_status_t fill_cut(const iso_graph_t *stage, int n_workers,
                             iso_stage_cut_t *cut)
{
    const size_t n_nodes = (size_t)iso_graph_node_count(stage);
    const size_t n_outputs = (size_t)iso_graph_output_count(stage);

    ISO_TRY(iso_arena_create(&cut->arena));
    cut->n_workers = n_workers;
    cut->n_nodes = (int32_t)n_nodes;
    cut->nodes = iso_arena_array(cut->arena, n_nodes, sizeof *cut->nodes);
    cut->keep_outputs =
        iso_arena_array(cut->arena, n_outputs, sizeof *cut->keep_outputs);
    return cut->nodes == NULL || cut->keep_outputs == NULL ? ISO_NOMEM : ISO_OK;
}

iso_status_t iso_stage_cut_create(const iso_graph_t *stage, int n_workers,
                                  iso_stage_cut_t **cut_out)
{
    iso_stage_cut_t *cut = iso_alloc_zeroed(1, sizeof *cut);
    iso_status_t status;

    *cut_out = NULL;
    if (cut == NULL) {
        return ISO_NOMEM;
    }
    status = fill_cut(stage, n_workers, cut);
    if (status != ISO_OK) {
        iso_stage_cut_destroy(&cut);
    }
    *cut_out = cut;
    return status;
}

void iso_stage_cut_destroy(iso_stage_cut_t **cut)
{
    iso_stage_cut_t *dead = *cut;

    if (dead == NULL) {
        return;
    }
    iso_arena_destroy(&dead->arena);
    iso_free(dead);
    *cut = NULL;
}

iso_status_t iso_stage_cut_set(iso_stage_cut_t *cut, iso_node_id_t node,
                               const iso_node_cut_t *node_cut)
{
    iso_node_cut_t copy = *node_cut;

    if (node < 0 || node >= cut->n_nodes) {
        return iso_fail(ISO_INVAL,
                        "stage cut: node %d, expected one of %d nodes", node,
                        cut->n_nodes);
    }
    if (copy.ranges != NULL) {
        copy.ranges =
            iso_arena_copy(cut->arena, copy.ranges,
                           (size_t)cut->n_workers * sizeof *copy.ranges);
        if (copy.ranges == NULL) {
            return ISO_NOMEM;
        }
    }
    cut->nodes[node] = copy;
    return ISO_OK;
}

iso_layout_t iso_node_cut_layout(const iso_node_cut_t *cut)
{
    switch (cut->kind) {
    case ISO_CUT_ALL:
        return (iso_layout_t){.kind = ISO_LAYOUT_ALL};
    case ISO_CUT_SPLIT:
        return (iso_layout_t){
            .kind = ISO_LAYOUT_SPLIT, .axis = cut->axis, .ranges = cut->ranges};
    default:
        return (iso_layout_t){.kind = ISO_LAYOUT_ONE};
    }
}

/* -- what a node allows -- */

/* What pieces have to cover, and where they may begin. */
typedef struct extent {
    int64_t length;
    int64_t unit; /* 0: it cannot be cut so */
} extent_t;

/* Of an axis of a value. An input is cut as whoever makes it likes. */
static iso_status_t axis_extent(const iso_graph_t *stage, iso_node_id_t id,
                                int axis, extent_t *extent_out)
{
    const iso_node_t *node = iso_graph_node(stage, id);

    *extent_out = (extent_t){0};
    if (axis < 0 || axis >= node->shape.rank) {
        return ISO_OK;
    }
    extent_out->length = node->shape.dim[axis].size;
    if (node->op == ISO_OP_INPUT) {
        extent_out->unit = 1;
        return ISO_OK;
    }
    return iso_cut_unit(stage, id, axis, &extent_out->unit);
}

/* Of the blocks of a reduction. */
static iso_status_t block_extent(const iso_graph_t *stage, iso_node_id_t id,
                                 extent_t *extent_out)
{
    int64_t blocks = 0;

    if (!iso_node_is_leaf(iso_graph_node(stage, id))) {
        ISO_TRY(iso_cut_blocks(stage, id, &blocks));
    }
    *extent_out = (extent_t){.length = blocks, .unit = blocks > 0 ? 1 : 0};
    return ISO_OK;
}

static iso_status_t extent_of(const iso_graph_t *stage, iso_node_id_t id,
                              const iso_node_cut_t *cut, extent_t *extent_out)
{
    return cut->kind == ISO_CUT_PARTIAL
               ? block_extent(stage, id, extent_out)
               : axis_extent(stage, id, cut->axis, extent_out);
}

/* -- check -- */

/* "axis 1 of node 'y'", "the reduction of node 'y'": what is cut. */
enum { WHERE_BYTES = 256 };

typedef struct where {
    char text[WHERE_BYTES];
} where_t;

static where_t where_of(const iso_node_t *node, const iso_node_cut_t *cut)
{
    where_t where;

    if (cut->kind == ISO_CUT_PARTIAL) {
        (void)snprintf(where.text, sizeof where.text,
                       "stage cut: node '%s' (%s), reduction", node->name,
                       iso_op_string(node->op));
    } else {
        (void)snprintf(where.text, sizeof where.text,
                       "stage cut: node '%s' (%s), axis %d", node->name,
                       iso_op_string(node->op), cut->axis);
    }
    return where;
}

/* Each piece begins where the one before it ends. */
static bool ends_on_unit(iso_range_t piece, const extent_t *extent)
{
    return piece.end % extent->unit == 0 || piece.end == extent->length;
}

/* An empty piece may lie anywhere within. */
static iso_status_t check_piece(const where_t *where, int index,
                                iso_range_t piece, int64_t done,
                                const extent_t *extent)
{
    const long long begin = piece.begin;
    const long long end = piece.end;

    if (begin < 0 || end < begin || end > extent->length) {
        return iso_fail(ISO_INVAL,
                        "%s: piece %d is [%lld, %lld), expected a range within "
                        "[0, %lld)",
                        where->text, index, begin, end,
                        (long long)extent->length);
    }
    if (begin == end) {
        return ISO_OK;
    }
    if (begin != done) {
        return iso_fail(ISO_INVAL,
                        "%s: piece %d is [%lld, %lld), expected it to begin at "
                        "%lld: pieces are in order, without a gap or overlap",
                        where->text, index, begin, end, (long long)done);
    }
    if (!ends_on_unit(piece, extent)) {
        return iso_fail(ISO_INVAL,
                        "%s: piece %d is [%lld, %lld), expected multiples of "
                        "%lld",
                        where->text, index, begin, end,
                        (long long)extent->unit);
    }
    return ISO_OK;
}

static iso_status_t check_pieces(const iso_node_t *node,
                                 const iso_node_cut_t *cut, int n_workers,
                                 const extent_t *extent)
{
    const where_t where = where_of(node, cut);
    int64_t done = 0;

    if (extent->unit == 0) {
        return iso_fail(ISO_INVAL,
                        "%s: cannot be cut along it; let one worker compute it "
                        "whole",
                        where.text);
    }
    if (cut->ranges == NULL) {
        return iso_fail(ISO_INVAL, "%s: no pieces given, expected %d",
                        where.text, n_workers);
    }
    for (int i = 0; i < n_workers; i++) {
        ISO_TRY(check_piece(&where, i, cut->ranges[i], done, extent));
        if (iso_range_length(cut->ranges[i]) > 0) {
            done = cut->ranges[i].end;
        }
    }
    if (done != extent->length) {
        return iso_fail(ISO_INVAL, "%s: the pieces end at %lld, expected %lld",
                        where.text, (long long)done, (long long)extent->length);
    }
    return ISO_OK;
}

static iso_status_t check_node(const iso_stage_cut_t *cut,
                               const iso_graph_t *stage, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(stage, id);
    const iso_node_cut_t *node_cut = &cut->nodes[id];
    extent_t extent;

    if (node->op == ISO_OP_PARAM || node->op == ISO_OP_CONSTANT) {
        return ISO_OK;
    }
    switch (node_cut->kind) {
    case ISO_CUT_ONE:
        return ISO_OK;
    case ISO_CUT_ALL:
        if (node->op == ISO_OP_INPUT) {
            return iso_fail(ISO_INVAL,
                            "stage cut: input '%s' on all workers, expected "
                            "it on one or split",
                            node->name);
        }
        return ISO_OK;
    case ISO_CUT_SPLIT:
    case ISO_CUT_PARTIAL:
        ISO_TRY(extent_of(stage, id, node_cut, &extent));
        return check_pieces(node, node_cut, cut->n_workers, &extent);
    }
    return iso_fail(ISO_INVAL, "stage cut: node '%s' has cut kind %d",
                    node->name, (int)node_cut->kind);
}

iso_status_t iso_stage_cut_check(const iso_stage_cut_t *cut,
                                 const iso_graph_t *stage)
{
    const int32_t n_nodes = iso_graph_node_count(stage);

    if (cut->n_workers < 1) {
        return iso_fail(ISO_INVAL, "stage cut: %d workers, expected at least 1",
                        cut->n_workers);
    }
    if (cut->n_nodes != n_nodes) {
        return iso_fail(ISO_INVAL,
                        "stage cut: %d nodes, expected the stage's %d",
                        cut->n_nodes, n_nodes);
    }
    for (iso_node_id_t id = 0; id < n_nodes; id++) {
        ISO_TRY(check_node(cut, stage, id));
    }
    return ISO_OK;
}

/* -- another batch size -- */

typedef struct rescale {
    const iso_stage_cut_t *cut;
    const iso_graph_t *stage;
    const iso_graph_t *other;
    iso_stage_cut_t *scaled;
    double *weights;     /* (n_workers) room for the pieces' lengths */
    iso_range_t *ranges; /* (n_workers) room for the new pieces */
} rescale_t;

/* Pieces of the old length, if they may lie there too. */
static bool pieces_fit(const rescale_t *rescale, const iso_node_cut_t *cut,
                       const extent_t *extent)
{
    bool fit = true;
    int64_t done = 0;

    for (int i = 0; fit && i < rescale->cut->n_workers; i++) {
        if (iso_range_length(cut->ranges[i]) > 0) {
            fit = ends_on_unit(cut->ranges[i], extent);
            done = cut->ranges[i].end;
        }
    }
    return fit && done == extent->length;
}

static iso_status_t rescale_pieces(const rescale_t *rescale,
                                   const iso_node_cut_t *cut, iso_node_id_t id)
{
    const int n_workers = rescale->cut->n_workers;
    iso_node_cut_t copy = *cut;
    extent_t extent;
    double sum = 0;

    ISO_TRY(extent_of(rescale->other, id, cut, &extent));
    for (int i = 0; i < n_workers; i++) {
        rescale->weights[i] = (double)iso_range_length(cut->ranges[i]);
        sum += rescale->weights[i];
    }
    if (extent.unit == 0 || sum <= 0) {
        return ISO_OK; /* ONE, as it is from the start */
    }
    if (!pieces_fit(rescale, cut, &extent)) {
        iso_ranges_share(extent.length, extent.unit, rescale->weights,
                         n_workers, rescale->ranges);
        copy.ranges = rescale->ranges;
    }
    return iso_stage_cut_set(rescale->scaled, id, &copy);
}

static iso_status_t rescale_node(const rescale_t *rescale, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(rescale->other, id);
    const iso_node_id_t old = iso_graph_find(rescale->stage, node->name);

    if (old == ISO_NO_NODE || node->op == ISO_OP_PARAM ||
        node->op == ISO_OP_CONSTANT) {
        return ISO_OK;
    }
    return rescale->cut->nodes[old].ranges == NULL
               ? iso_stage_cut_set(rescale->scaled, id,
                                   &rescale->cut->nodes[old])
               : rescale_pieces(rescale, &rescale->cut->nodes[old], id);
}

static iso_status_t rescale_nodes(const rescale_t *rescale)
{
    for (iso_node_id_t id = 0; id < rescale->scaled->n_nodes; id++) {
        ISO_TRY(rescale_node(rescale, id));
    }
    return ISO_OK;
}

/* An output is known by its name. */
static void rescale_outputs(const rescale_t *rescale)
{
    const int n_old = iso_graph_output_count(rescale->stage);

    for (int i = 0; i < iso_graph_output_count(rescale->other); i++) {
        const char *name = iso_graph_output(rescale->other, i)->name;

        for (int k = 0; k < n_old; k++) {
            if (strcmp(iso_graph_output(rescale->stage, k)->name, name) == 0) {
                rescale->scaled->keep_outputs[i] =
                    rescale->cut->keep_outputs[k];
            }
        }
    }
}

iso_status_t iso_stage_cut_rescale(const iso_stage_cut_t *cut,
                                   const iso_graph_t *stage,
                                   const iso_graph_t *other,
                                   iso_stage_cut_t **cut_out)
{
    const size_t n_workers = (size_t)cut->n_workers;
    rescale_t rescale = {.cut = cut, .stage = stage, .other = other};
    iso_status_t status;

    ISO_TRY(iso_stage_cut_create(other, cut->n_workers, cut_out));
    rescale.scaled = *cut_out;
    rescale.weights = iso_alloc_zeroed(n_workers, sizeof *rescale.weights);
    rescale.ranges = iso_alloc_zeroed(n_workers, sizeof *rescale.ranges);
    status = rescale.weights == NULL || rescale.ranges == NULL
                 ? ISO_NOMEM
                 : rescale_nodes(&rescale);
    if (status == ISO_OK) {
        rescale_outputs(&rescale);
    } else {
        iso_stage_cut_destroy(cut_out);
    }
    iso_free(rescale.weights);
    iso_free(rescale.ranges);
    return status;
}
