/*
 * Where a network falls apart into layers.
 *
 * A cut before compute node p is judged by what is live there: the values
 * made before p, and the model inputs, that p or a later node still uses.
 * A node is heavy when it contracts with weights. Between each two
 * neighbouring heavy nodes there is one candidate, the cut with the fewest
 * live bytes; of equal ones the latest, so that an activation or a pool
 * stays with the convolution that it follows.
 *
 * A candidate with one live value splits the network into two parts that
 * share one tensor, and is kept. Elsewhere:
 *
 * Between two such cuts that are close to each other lies a residual block or
 * a module of branches, which is kept whole, unless a candidate inside is
 * lower than its neighbours and no higher than the nearer of the two.
 *
 * Between two such cuts that are far apart lies something like a U-Net, whose
 * skips stay live over its middle: every candidate is kept, and the planner
 * weighs what a cut there sends.
 *
 * Before the first or after the last such cut (a mask or a key-value cache
 * stays live) a candidate is kept if it is lower than its neighbours.
 */
#include "base/mem.h"
#include "graph/graph_impl.h"
#include "graph/pass.h"

/* Heavy nodes in the largest residual block or module of branches. */
enum { MOST_IN_A_BLOCK = 8 };

/* A cut between two heavy nodes. */
typedef struct candidate {
    int32_t position; /* of the compute node behind it */
    int64_t values;   /* live there */
    double bytes;     /* live there */
} candidate_t;

/* What the walk over the graph needs; all arrays have an entry for each
 * compute node and one more. */
typedef struct walk {
    iso_graph_t *graph;
    int32_t n_compute;
    iso_node_id_t *compute; /* position to node */
    double *bytes;          /* live at the cut before the position */
    int64_t *values;
    candidate_t *candidates;
    int32_t n_candidates;
    bool *kept; /* by candidate */
    iso_binding_t *ones;
} walk_t;

/* -- live bytes -- */

/* Bytes of a value with every free dim 1. */
static double bytes_of(const walk_t *walk, const iso_node_t *node)
{
    double bytes = (double)iso_dtype_bytes(node->dtype);

    for (int i = 0; i < node->shape.rank; i++) {
        iso_dim_t dim = node->shape.dim[i];

        if (!iso_dim_is_static(dim) &&
            (iso_dim_bind(dim, walk->ones, walk->graph->n_free_dims, &dim) !=
                 ISO_OK ||
             dim.size < 1)) {
            dim = iso_dim_of(1);
        }
        bytes *= (double)dim.size;
    }
    return bytes;
}

/* Last position that uses each node; -1 for none. */
static void find_last_uses(const walk_t *walk, int32_t *last)
{
    for (iso_node_id_t id = 0; id < walk->graph->n_nodes; id++) {
        last[id] = -1;
    }
    for (int32_t p = 0; p < walk->n_compute; p++) {
        const iso_node_t *node = iso_graph_node(walk->graph, walk->compute[p]);

        for (int i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] != ISO_NO_NODE) {
                last[node->inputs[i]] = p;
            }
        }
    }
}

/* A value is live at the cuts after the position that makes it up to the
 * last one that uses it: mark both ends, then sum. */
static void sum_live(walk_t *walk, const int32_t *last)
{
    int32_t made = 0;

    for (iso_node_id_t id = 0; id < walk->graph->n_nodes; id++) {
        const iso_node_t *node = iso_graph_node(walk->graph, id);
        int32_t first = 0;
        double bytes;

        if (!iso_node_is_leaf(node)) {
            made++;
            first = made;
        } else if (node->op != ISO_OP_INPUT) {
            continue;
        }
        if (last[id] < first) {
            continue;
        }
        bytes = bytes_of(walk, node);
        walk->bytes[first] += bytes;
        walk->values[first]++;
        walk->bytes[last[id] + 1] -= bytes;
        walk->values[last[id] + 1]--;
    }
    for (int32_t p = 1; p <= walk->n_compute; p++) {
        walk->bytes[p] += walk->bytes[p - 1];
        walk->values[p] += walk->values[p - 1];
    }
}

static iso_status_t measure(walk_t *walk)
{
    size_t count = (size_t)walk->graph->n_nodes;
    int32_t *last = iso_alloc_zeroed(count, sizeof *last);

    if (last == NULL) {
        return ISO_NOMEM;
    }
    find_last_uses(walk, last);
    sum_live(walk, last);
    iso_free(last);
    return ISO_OK;
}

/* -- cuts -- */

/* The first two operands are multiplied; a bias alone is no weight. */
static bool is_heavy(const iso_graph_t *graph, const iso_node_t *node)
{
    if (iso_op_info(node->op)->op_class != ISO_OP_CLASS_CONTRACT) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        iso_op_t op = iso_graph_node(graph, node->inputs[i])->op;

        if (op == ISO_OP_PARAM || op == ISO_OP_CONSTANT) {
            return true;
        }
    }
    return false;
}

static void find_candidates(walk_t *walk)
{
    candidate_t best = {.position = -1};
    bool found_heavy = false;

    for (int32_t p = 0; p < walk->n_compute; p++) {
        if (found_heavy &&
            (best.position < 0 || walk->bytes[p] <= best.bytes)) {
            best = (candidate_t){p, walk->values[p], walk->bytes[p]};
        }
        if (is_heavy(walk->graph,
                     iso_graph_node(walk->graph, walk->compute[p]))) {
            if (found_heavy) {
                walk->candidates[walk->n_candidates] = best;
                walk->n_candidates++;
            }
            found_heavy = true;
            best.position = -1;
        }
    }
}

/* Fewer bytes than the candidates on both sides. */
static bool is_lowest(const walk_t *walk, int32_t c)
{
    const candidate_t *at = &walk->candidates[c];

    return (c == 0 || at->bytes < at[-1].bytes) &&
           (c + 1 == walk->n_candidates || at->bytes < at[1].bytes);
}

/*
 * Cuts between first and end, the candidates with one live value around; where
 * there is none on a side, first is -1 or end is past the last.
 */
static void keep_between(walk_t *walk, int32_t first, int32_t end)
{
    bool is_enclosed = first >= 0 && end < walk->n_candidates;
    bool is_long = end - first > MOST_IN_A_BLOCK;

    for (int32_t c = first + 1; c < end; c++) {
        int32_t nearer = c - first <= end - c ? first : end;

        if (!is_enclosed) {
            walk->kept[c] = is_lowest(walk, c);
        } else {
            walk->kept[c] = is_long || (is_lowest(walk, c) &&
                                        walk->candidates[c].bytes <=
                                            walk->candidates[nearer].bytes);
        }
    }
}

static void keep_cuts(walk_t *walk)
{
    int32_t single = -1;

    for (int32_t c = 0; c < walk->n_candidates; c++) {
        if (walk->candidates[c].values == 1) {
            walk->kept[c] = true;
            keep_between(walk, single, c);
            single = c;
        }
    }
    keep_between(walk, single, walk->n_candidates);
}

static void mark(const walk_t *walk)
{
    int32_t c = 0;
    int layer = 0;

    for (int32_t p = 0; p < walk->n_compute; p++) {
        while (c < walk->n_candidates && walk->candidates[c].position == p) {
            layer += walk->kept[c] ? 1 : 0;
            c++;
        }
        iso_graph_set_layer(walk->graph, walk->compute[p],
                            layer < ISO__MOST_LAYERS ? layer
                                                     : ISO__MOST_LAYERS - 1);
    }
}

/* -- storage -- */

static iso_status_t walk_create(walk_t *walk)
{
    size_t count = (size_t)walk->graph->n_nodes + 1;
    size_t n_free = (size_t)walk->graph->n_free_dims;

    walk->compute = iso_alloc_zeroed(count, sizeof *walk->compute);
    walk->bytes = iso_alloc_zeroed(count, sizeof *walk->bytes);
    walk->values = iso_alloc_zeroed(count, sizeof *walk->values);
    walk->candidates = iso_alloc_zeroed(count, sizeof *walk->candidates);
    walk->kept = iso_alloc_zeroed(count, sizeof *walk->kept);
    walk->ones = iso_alloc_zeroed(n_free, sizeof *walk->ones);
    if (walk->compute == NULL || walk->bytes == NULL || walk->values == NULL ||
        walk->candidates == NULL || walk->kept == NULL || walk->ones == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < walk->graph->n_nodes; id++) {
        if (!iso_node_is_leaf(iso_graph_node(walk->graph, id))) {
            walk->compute[walk->n_compute] = id;
            walk->n_compute++;
        }
    }
    for (size_t i = 0; i < n_free; i++) {
        walk->ones[i] = (iso_binding_t){walk->graph->free_dims[i], 1};
    }
    return ISO_OK;
}

static void walk_destroy(walk_t *walk)
{
    iso_free(walk->ones);
    iso_free(walk->kept);
    iso_free(walk->candidates);
    iso_free(walk->values);
    iso_free(walk->bytes);
    iso_free(walk->compute);
}

iso_status_t iso_graph_mark_layers(iso_graph_t *graph)
{
    walk_t walk = {.graph = graph};
    iso_status_t status = walk_create(&walk);

    if (status == ISO_OK) {
        status = measure(&walk);
    }
    if (status == ISO_OK) {
        find_candidates(&walk);
        keep_cuts(&walk);
        mark(&walk);
    }
    walk_destroy(&walk);
    return status;
}
