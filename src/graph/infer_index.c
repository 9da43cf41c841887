#include "graph/infer_impl.h"

/* ---- Slice ---- */

/* Is the expression at least 0 for all names of 1 or more? */
static bool surely_not_below_0(iso_dim_t dim)
{
    int64_t least = -1;

    return iso_dim_least(dim, &least) && least >= 0;
}

/* What exporters write for "to the end" and "from the beginning". */
#define END_MARK   INT32_MAX
#define BEGIN_MARK (-INT32_MAX)

/* A start or end as a place in [0, dim], as far as that can be said. */
typedef struct slice_place {
    iso_dim_t place;
    bool inside; /* surely within the dim */
    bool known;  /* all that is said holds */
} slice_place_t;

/* Which end an index counts from, and where it then lies. */
static iso_status_t locate(iso_dim_t dim, iso_dim_t index,
                           slice_place_t *place_out)
{
    iso_dim_t room = {0};

    if (surely_not_below_0(index)) {
        place_out->known = true;
        place_out->place = index;
        ISO_TRY(iso_dim_sub(dim, index, &room));
    } else {
        ISO_TRY(iso_dim_sub(iso_dim_of(0), index, &room));
        place_out->known = surely_not_below_0(room);
        ISO_TRY(iso_dim_add(dim, index, &room));
        place_out->place = room;
    }
    place_out->inside = surely_not_below_0(room);
    return ISO_OK;
}

/*
 * Place of a start or end where it or the dim is an expression. An
 * expression inside a dim that is a number is taken to be in range (a window
 * of a table); binding looks again.
 */
static iso_status_t slice_place(iso_dim_t dim, iso_dim_t index,
                                iso_dim_t *place_out, bool *known_out)
{
    const bool is_static = iso_dim_is_static(index);
    slice_place_t found = {.known = true, .inside = true};

    if (is_static && index.size >= END_MARK) {
        found.place = dim;
    } else if (!is_static || index.size > BEGIN_MARK) {
        ISO_TRY(locate(dim, index, &found));
    }
    *place_out = found.place;
    *known_out =
        found.known && (found.inside || (iso_dim_is_static(dim) && !is_static));
    return ISO_OK;
}

/* Length of one sliced axis; *known_out is false where no expression says
 * it. */
static iso_status_t slice_dim(const iso_slice_spec_t *spec, int axis,
                              iso_dim_t dim, iso_dim_t *dim_out,
                              bool *known_out)
{
    iso_dim_t start = spec->start[axis];
    iso_dim_t end = spec->end[axis];
    bool known = false;

    *known_out = true;
    if (iso_dim_is_static(dim) && iso_dim_is_static(start) &&
        iso_dim_is_static(end)) {
        *dim_out = iso_dim_of(
            iso__slice_clamp(dim.size, start.size, end.size, spec->step[axis])
                .count);
        return ISO_OK;
    }
    ISO_TRY(slice_place(dim, start, &start, &known));
    ISO_TRY(slice_place(dim, end, &end, known_out));
    *known_out = *known_out && known && spec->step[axis] == 1;
    ISO_TRY(iso_dim_sub(end, start, dim_out));
    if (*known_out && iso_dim_is_static(*dim_out) && dim_out->size < 0) {
        *dim_out = iso_dim_of(0);
    }
    return ISO_OK;
}

iso_status_t iso__infer_slice(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = iso__operand(in, 0);
    iso_slice_spec_t spec;
    bool known = false;

    *value_out = (iso_value_t){x->dtype, x->shape};
    ISO_TRY(iso__slice_spec_of(in->node, x->shape.rank, &spec));
    for (int axis = 0; axis < x->shape.rank; axis++) {
        iso_dim_t dim = x->shape.dim[axis];

        ISO_TRY(
            iso__at_node(in, slice_dim(&spec, axis, dim,
                                       &value_out->shape.dim[axis], &known)));
        if (!known) {
            char end[ISO_DIM_TEXT_BYTES];
            char start[ISO_DIM_TEXT_BYTES];
            char text[ISO_DIM_TEXT_BYTES];

            return iso__node_fail(
                ISO_SHAPE, in->node,
                "the elements %s to %s by %lld of axis %d, %s, are no "
                "expression of it, expected numbers; bind the names",
                iso_dim_text(spec.start[axis], start),
                iso_dim_text(spec.end[axis], end), (long long)spec.step[axis],
                axis, iso_dim_text(dim, text));
        }
    }
    return ISO_OK;
}

/* ---- Gather ---- */

iso_status_t iso__infer_gather(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = iso__operand(in, 0);
    const iso_node_t *indices = iso__operand(in, 1);
    const int rank = x->shape.rank + indices->shape.rank - 1;
    iso_shape_t *shape = &value_out->shape;
    int axis = 0;

    ISO_TRY(iso__need_dtype(in, 1, ISO__INDICES));
    ISO_TRY(iso__need_rank(in, 0, 1, ISO_MAX_RANK));
    ISO_TRY(iso_axis_of(in->node, x->shape.rank, 0, &axis));
    if (rank > ISO_MAX_RANK) {
        return iso__node_fail(ISO_SHAPE, in->node,
                              "the value would have rank %d, expected at most "
                              "%d",
                              rank, ISO_MAX_RANK);
    }
    *value_out = (iso_value_t){.dtype = x->dtype};
    for (int i = 0; i < axis; i++) {
        shape->dim[shape->rank++] = x->shape.dim[i];
    }
    for (int i = 0; i < indices->shape.rank; i++) {
        shape->dim[shape->rank++] = indices->shape.dim[i];
    }
    for (int i = axis + 1; i < x->shape.rank; i++) {
        shape->dim[shape->rank++] = x->shape.dim[i];
    }
    return ISO_OK;
}

/* Indices fit in x in all dims but axis. */
static bool indices_fit(const iso_shape_t *indices, const iso_shape_t *x,
                        int axis)
{
    bool fit = true;

    for (int i = 0; fit && i < x->rank; i++) {
        iso_dim_t a = indices->dim[i];
        iso_dim_t b = x->dim[i];
        bool numbers = iso_dim_is_static(a) && iso_dim_is_static(b);

        fit = i == axis || iso_dim_equal(a, b) || (numbers && a.size <= b.size);
    }
    return fit;
}

iso_status_t iso__infer_gather_elements(const iso_infer_in_t *in,
                                        iso_value_t *value_out)
{
    const iso_node_t *x = iso__operand(in, 0);
    const iso_node_t *indices = iso__operand(in, 1);
    int axis = 0;

    ISO_TRY(iso__need_dtype(in, 1, ISO__INDICES));
    ISO_TRY(iso__need_rank(in, 0, 1, ISO_MAX_RANK));
    ISO_TRY(iso__need_rank(in, 1, x->shape.rank, x->shape.rank));
    ISO_TRY(iso_axis_of(in->node, x->shape.rank, 0, &axis));
    if (!indices_fit(&indices->shape, &x->shape, axis)) {
        char expected[ISO_SHAPE_TEXT_BYTES];
        char found[ISO_SHAPE_TEXT_BYTES];

        return iso__node_fail(
            ISO_SHAPE, in->node,
            "indices '%s' are %s, expected at most %s ('%s') but for axis %d",
            indices->name, iso_shape_text(&indices->shape, found),
            iso_shape_text(&x->shape, expected), x->name, axis);
    }
    *value_out = (iso_value_t){x->dtype, indices->shape};
    return ISO_OK;
}
