/*
 * Where pieces of neighbours fall together. A reshape cuts its value at every
 * index and its operand at every 64th, say: then a matmul before it should be
 * cut at multiples of 64, or what it made would have to be exchanged.
 */
#include "plan/shard/arrange_impl.h"
#include "plan/shard/cut.h"

static int64_t divisor_of(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Indices of a node's axis and of an operand's that belong to each other:
 * piece [i unit, (i + 1) unit) needs [i step, (i + 1) step). */
typedef struct link {
    int axis; /* of the operand; ISO_AXIS_WHOLE: they do not */
    int64_t step;
} link_t;

static iso_status_t link_of(const iso_graph_t *graph, iso_node_id_t node,
                            int axis, int64_t unit, int operand,
                            link_t *link_out)
{
    const int64_t length = iso_graph_node(graph, node)->shape.dim[axis].size;
    iso_slab_t first;
    iso_slab_t second;

    *link_out = (link_t){.axis = ISO_AXIS_WHOLE};
    if (unit > length / 2) {
        return ISO_OK;
    }
    ISO_TRY(iso_cut_operand(graph, node, axis, (iso_range_t){0, unit}, operand,
                            &first));
    ISO_TRY(iso_cut_operand(graph, node, axis, (iso_range_t){unit, 2 * unit},
                            operand, &second));
    const int64_t step = iso_range_length(first.range);

    if (first.axis != ISO_AXIS_WHOLE && second.axis == first.axis && step > 0 &&
        first.range.begin == 0 && second.range.begin == step &&
        iso_range_length(second.range) == step) {
        *link_out = (link_t){first.axis, step};
    }
    return ISO_OK;
}

/* The least common multiple, if the axis has two pieces of it; else unit. */
static int64_t unit_for_both(int64_t unit, int64_t wanted, int64_t length)
{
    const int64_t factor = wanted / divisor_of(unit, wanted);

    return factor <= length / 2 / unit ? unit * factor : unit;
}

/* A node that makes a value in pieces: its operands, too. */
static bool is_cut(const iso_graph_t *stage, iso_node_id_t node)
{
    return node != ISO_NO_NODE &&
           !iso_node_is_leaf(iso_graph_node(stage, node));
}

/* From a reader to what it reads. */
static iso_status_t align_operand(const iso_graph_t *stage, iso__units_t *units,
                                  iso_node_id_t reader, int axis, int operand)
{
    const iso_node_id_t read = iso_graph_node(stage, reader)->inputs[operand];
    link_t link;

    ISO_TRY(link_of(stage, reader, axis, units[reader].aligned[axis], operand,
                    &link));
    if (link.axis != ISO_AXIS_WHOLE && units[read].own[link.axis] > 0) {
        int64_t *unit = &units[read].aligned[link.axis];
        *unit = unit_for_both(
            *unit, link.step,
            iso_graph_node(stage, read)->shape.dim[link.axis].size);
    }
    return ISO_OK;
}

/* From what it reads to a reader. */
static iso_status_t align_reader(const iso_graph_t *stage, iso__units_t *units,
                                 iso_node_id_t reader, int axis, int operand)
{
    const iso_node_t *node = iso_graph_node(stage, reader);
    const iso_node_id_t read = node->inputs[operand];
    int64_t *unit = &units[reader].aligned[axis];
    link_t link;

    ISO_TRY(link_of(stage, reader, axis, *unit, operand, &link));
    if (link.axis != ISO_AXIS_WHOLE && units[read].own[link.axis] > 0) {
        const int64_t of_read = units[read].aligned[link.axis];
        const int64_t factor = of_read / divisor_of(of_read, link.step);
        if (factor <= node->shape.dim[axis].size / 2 / *unit) {
            *unit *= factor;
        }
    }
    return ISO_OK;
}

typedef iso_status_t align_t(const iso_graph_t *, iso__units_t *, iso_node_id_t,
                             int, int);

static iso_status_t align_axis(const iso_graph_t *stage, iso__units_t *units,
                               iso_node_id_t id, int axis, align_t *align)
{
    const iso_node_t *node = iso_graph_node(stage, id);

    for (int i = 0; units[id].own[axis] > 0 && i < node->n_inputs; i++) {
        ISO_TRY(is_cut(stage, node->inputs[i])
                    ? align(stage, units, id, axis, i)
                    : ISO_OK);
    }
    return ISO_OK;
}

static iso_status_t align_node(const iso_graph_t *stage, iso__units_t *units,
                               iso_node_id_t id, align_t *align)
{
    const int rank = iso_graph_node(stage, id)->shape.rank;

    for (int axis = 0; is_cut(stage, id) && axis < rank; axis++) {
        ISO_TRY(align_axis(stage, units, id, axis, align));
    }
    return ISO_OK;
}

static iso_status_t find_own(const iso_graph_t *stage, iso_node_id_t id,
                             iso__units_t *units)
{
    const int rank = iso_graph_node(stage, id)->shape.rank;

    for (int axis = 0; is_cut(stage, id) && axis < rank; axis++) {
        ISO_TRY(iso_cut_unit(stage, id, axis, &units[id].own[axis]));
        units[id].aligned[axis] = units[id].own[axis];
    }
    return ISO_OK;
}

/* Backward first: what a late reshape wants reaches all before it; then
 * forward, so that the other readers of these do as well. */
iso_status_t iso__units_create(const iso_graph_t *stage, iso_arena_t *arena,
                               iso__units_t **units_out)
{
    const int32_t n = iso_graph_node_count(stage);
    iso__units_t *units = iso_arena_array(arena, (size_t)n, sizeof *units);

    *units_out = units;
    if (units == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        ISO_TRY(find_own(stage, id, units));
    }
    for (iso_node_id_t id = n - 1; id >= 0; id--) {
        ISO_TRY(align_node(stage, units, id, align_operand));
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        ISO_TRY(align_node(stage, units, id, align_reader));
    }
    return ISO_OK;
}
