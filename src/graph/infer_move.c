#include "graph/infer_impl.h"

/* Start the value as the operand's. */
static const iso_node_t *begin_value(const iso_infer_in_t *in,
                                     iso_value_t *value_out)
{
    const iso_node_t *x = iso__operand(in, 0);

    *value_out = (iso_value_t){x->dtype, x->shape};
    return x;
}

/* ---- Reshape, transpose, concat ---- */

/* Place of the one dim that is -1, or -1; any other negative is an error. */
static iso_status_t find_inferred(const iso_infer_in_t *in,
                                  const iso_shape_t *shape, int *axis_out)
{
    *axis_out = -1;
    for (int axis = 0; axis < shape->rank; axis++) {
        iso_dim_t dim = shape->dim[axis];

        if (!iso_dim_is_static(dim) || dim.size >= 0) {
            continue;
        }
        if (dim.size != -1 || *axis_out >= 0) {
            return iso__node_fail(ISO_INVAL, in->node,
                                  "shape[%d] is %lld, expected at most one -1 "
                                  "and nothing else below 0",
                                  axis, (long long)dim.size);
        }
        *axis_out = axis;
    }
    return ISO_OK;
}

static iso_status_t count_fail(const iso_infer_in_t *in, iso_dim_t elements)
{
    const iso_node_t *x = iso__operand(in, 0);
    const iso_attr_t *attr = iso_node_attr(in->node, "shape");
    iso_shape_t asked = {.rank = attr->count};
    char count[ISO_DIM_TEXT_BYTES];
    char from[ISO_SHAPE_TEXT_BYTES];
    char to[ISO_SHAPE_TEXT_BYTES];

    for (int i = 0; i < asked.rank; i++) {
        ISO_TRY(iso__attr_dim_at(in->node, attr, i, &asked.dim[i]));
    }
    return iso__node_fail(ISO_SHAPE, in->node,
                          "'%s' has %s elements %s, expected as many as %s "
                          "has",
                          x->name, iso_dim_text(elements, count),
                          iso_shape_text(&x->shape, from),
                          iso_shape_text(&asked, to));
}

iso_status_t iso__infer_reshape(const iso_infer_in_t *in,
                                iso_value_t *value_out)
{
    const iso_node_t *x = begin_value(in, value_out);
    iso_shape_t *shape = &value_out->shape;
    bool fits = false;
    int inferred = -1;
    iso_dim_t elements = {0};
    iso_dim_t rest = {0};

    ISO_TRY(iso__attr_shape(in->node, "shape", shape));
    ISO_TRY(find_inferred(in, shape, &inferred));
    if (inferred >= 0) {
        shape->dim[inferred] = iso_dim_of(1);
    }
    ISO_TRY(iso__at_node(in, iso_shape_elements(&x->shape, &elements)));
    ISO_TRY(iso__at_node(in, iso_shape_elements(shape, &rest)));
    if (inferred < 0) {
        fits = iso_dim_equal(elements, rest);
    } else if (!iso_dim_equal(rest, iso_dim_of(0))) {
        ISO_TRY(iso__at_node(
            in, iso_dim_div(elements, rest, &shape->dim[inferred], &fits)));
    }
    return fits ? ISO_OK : count_fail(in, elements);
}

iso_status_t iso__infer_transpose(const iso_infer_in_t *in,
                                  iso_value_t *value_out)
{
    const iso_node_t *x = begin_value(in, value_out);
    int perm[ISO_MAX_RANK] = {0};

    ISO_TRY(iso_perm_of(in->node, x->shape.rank, perm));
    for (int axis = 0; axis < x->shape.rank; axis++) {
        value_out->shape.dim[axis] = x->shape.dim[perm[axis]];
    }
    return ISO_OK;
}

/* Operand index agrees with the first one in all dims but axis. */
static iso_status_t need_same_but(const iso_infer_in_t *in, int index, int axis)
{
    const iso_node_t *first = iso__operand(in, 0);
    const iso_node_t *operand = iso__operand(in, index);
    bool equal = operand->shape.rank == first->shape.rank;

    for (int i = 0; equal && i < first->shape.rank; i++) {
        equal = i == axis ||
                iso_dim_equal(operand->shape.dim[i], first->shape.dim[i]);
    }
    if (!equal) {
        char expected[ISO_SHAPE_TEXT_BYTES];
        char found[ISO_SHAPE_TEXT_BYTES];

        return iso__node_fail(
            ISO_SHAPE, in->node,
            "operand %d '%s' is %s, expected %s (as '%s') but for axis %d",
            index, operand->name, iso_shape_text(&operand->shape, found),
            iso_shape_text(&first->shape, expected), first->name, axis);
    }
    return ISO_OK;
}

iso_status_t iso__infer_concat(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = begin_value(in, value_out);
    const iso_attr_t *attr;
    int axis = 0;

    ISO_TRY(iso__attr_need(in->node, "axis", &attr));
    ISO_TRY(iso_axis_of(in->node, x->shape.rank, 0, &axis));
    ISO_TRY(iso__need_same_dtypes(in, 1, 0));
    for (int i = 1; i < in->node->n_inputs; i++) {
        ISO_TRY(need_same_but(in, i, axis));
        ISO_TRY(
            iso__at_node(in, iso_dim_add(value_out->shape.dim[axis],
                                         iso__operand(in, i)->shape.dim[axis],
                                         &value_out->shape.dim[axis])));
    }
    return ISO_OK;
}

/* ---- Pad, expand, tile ---- */

/* Reflection needs an element behind the edge, edge mode the edge itself; a
 * crop takes what is there. */
static iso_status_t check_pad(const iso_infer_in_t *in,
                              const iso_pad_param_t *param, int axis,
                              iso_dim_t dim)
{
    const int64_t begin = param->begin[axis];
    const int64_t end = param->end[axis];
    const int64_t largest = begin > end ? begin : end;
    const int64_t smallest = begin < end ? begin : end;
    int64_t least = smallest < 0 ? -smallest : 0;

    if (largest > 0 && param->mode == ISO_PAD_REFLECT) {
        least = least > largest ? least : largest + 1;
    } else if (largest > 0 && param->mode == ISO_PAD_EDGE) {
        least = least > 1 ? least : 1;
    }
    if (iso_dim_is_static(dim) && dim.size < least) {
        return iso__node_fail(ISO_SHAPE, in->node,
                              "pads of axis %d are %lld and %lld on %lld "
                              "elements, expected at least %lld elements",
                              axis, (long long)begin, (long long)end,
                              (long long)dim.size, (long long)least);
    }
    return ISO_OK;
}

iso_status_t iso__infer_pad(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = begin_value(in, value_out);
    iso_pad_param_t param;

    ISO_TRY(iso_pad_param_of(in->node, x->shape.rank, &param));
    for (int axis = 0; axis < x->shape.rank; axis++) {
        iso_dim_t *dim = &value_out->shape.dim[axis];

        ISO_TRY(check_pad(in, &param, axis, *dim));
        ISO_TRY(
            iso__dim_plus(in, *dim, param.begin[axis] + param.end[axis], dim));
    }
    return ISO_OK;
}

iso_status_t iso__infer_expand(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = begin_value(in, value_out);
    iso_shape_t asked;

    ISO_TRY(iso__attr_shape(in->node, "shape", &asked));
    for (int axis = 0; axis < asked.rank; axis++) {
        iso_dim_t dim = asked.dim[axis];

        if (iso_dim_is_static(dim) && dim.size < 0) {
            return iso__node_fail(ISO_INVAL, in->node,
                                  "shape[%d] is %lld, expected at least 0",
                                  axis, (long long)dim.size);
        }
    }
    return iso__broadcast(in, &x->shape, &asked, &value_out->shape);
}

iso_status_t iso__infer_tile(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = begin_value(in, value_out);
    const iso_int_rule_t rule = {"repeats", x->shape.rank, 0, INT64_MAX};
    int64_t repeats[ISO_MAX_RANK];
    const iso_attr_t *attr;

    ISO_TRY(iso__attr_need(in->node, "repeats", &attr));
    ISO_TRY(iso__attr_ints(in->node, &rule, 1, repeats));
    for (int axis = 0; axis < x->shape.rank; axis++) {
        ISO_TRY(iso__dim_times(in, x->shape.dim[axis], repeats[axis],
                               &value_out->shape.dim[axis]));
    }
    return ISO_OK;
}

/* ---- Blocks, resize ---- */

/* dim / divisor, which must be whole. */
static iso_status_t divide_dim(const iso_infer_in_t *in, int axis,
                               int64_t divisor, iso_dim_t *dim)
{
    iso_dim_t whole = *dim;
    bool exact = false;

    ISO_TRY(
        iso__at_node(in, iso_dim_div(whole, iso_dim_of(divisor), dim, &exact)));
    if (!exact) {
        char text[ISO_DIM_TEXT_BYTES];

        return iso__node_fail(ISO_SHAPE, in->node,
                              "dim %d of '%s' is %s, expected a multiple of "
                              "%lld",
                              axis, iso__operand(in, 0)->name,
                              iso_dim_text(whole, text), (long long)divisor);
    }
    return ISO_OK;
}

iso_status_t iso__infer_depth_to_space(const iso_infer_in_t *in,
                                       iso_value_t *value_out)
{
    iso_shape_t *shape = &value_out->shape;
    iso_block_param_t param;

    (void)begin_value(in, value_out);
    ISO_TRY(iso__need_rank(in, 0, 4, 4));
    ISO_TRY(iso_block_param_of(in->node, &param));
    ISO_TRY(divide_dim(in, 1, param.block * param.block, &shape->dim[1]));
    ISO_TRY(iso__dim_times(in, shape->dim[2], param.block, &shape->dim[2]));
    return iso__dim_times(in, shape->dim[3], param.block, &shape->dim[3]);
}

iso_status_t iso__infer_space_to_depth(const iso_infer_in_t *in,
                                       iso_value_t *value_out)
{
    iso_shape_t *shape = &value_out->shape;
    iso_block_param_t param;

    (void)begin_value(in, value_out);
    ISO_TRY(iso__need_rank(in, 0, 4, 4));
    ISO_TRY(iso_block_param_of(in->node, &param));
    ISO_TRY(iso__dim_times(in, shape->dim[1], param.block * param.block,
                           &shape->dim[1]));
    ISO_TRY(divide_dim(in, 2, param.block, &shape->dim[2]));
    return divide_dim(in, 3, param.block, &shape->dim[3]);
}

/* Something cannot be made of nothing. */
static iso_status_t check_resized(const iso_infer_in_t *in, int axis,
                                  iso_dim_t from, iso_dim_t to)
{
    if (iso_dim_is_static(to) &&
        (to.size < 0 || (to.size > 0 && iso_dim_equal(from, iso_dim_of(0))))) {
        return iso__node_fail(ISO_SHAPE, in->node,
                              "shape[%d] is %lld, expected at least 0, and 0 "
                              "of an empty operand",
                              axis, (long long)to.size);
    }
    return ISO_OK;
}

iso_status_t iso__infer_resize(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = begin_value(in, value_out);
    iso_resize_param_t param;

    ISO_TRY(iso_resize_param_of(in->node, x->shape.rank, &param));
    if (param.mode == ISO_RESIZE_LINEAR) {
        ISO_TRY(iso__need_dtype(in, 0, ISO__FLOATS));
    }
    ISO_TRY(iso__attr_shape(in->node, "shape", &value_out->shape));
    if (value_out->shape.rank != x->shape.rank) {
        char text[ISO_SHAPE_TEXT_BYTES];

        return iso__node_fail(
            ISO_SHAPE, in->node, "shape is %s, expected %d dims as '%s' has",
            iso_shape_text(&value_out->shape, text), x->shape.rank, x->name);
    }
    for (int axis = 0; axis < x->shape.rank; axis++) {
        ISO_TRY(check_resized(in, axis, x->shape.dim[axis],
                              value_out->shape.dim[axis]));
    }
    return ISO_OK;
}

/* ---- Made from attributes ---- */

iso_status_t iso__infer_dims(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_attr_t *attr;
    iso_dim_t dim = {0};

    ISO_TRY(iso__attr_need(in->node, "values", &attr));
    for (int i = 0; i < attr->count; i++) {
        ISO_TRY(iso__attr_dim_at(in->node, attr, i, &dim));
    }
    *value_out = (iso_value_t){.dtype = ISO_DTYPE_I64, .shape.rank = 1};
    value_out->shape.dim[0] = iso_dim_of(attr->count);
    return ISO_OK;
}

/* An attribute that is one dim. */
static iso_status_t one_dim(const iso_infer_in_t *in, const char *name,
                            iso_dim_t *dim_out)
{
    iso_shape_t list;

    ISO_TRY(iso__attr_shape(in->node, name, &list));
    if (list.rank != 1) {
        return iso__node_fail(ISO_INVAL, in->node,
                              "attribute '%s' has %d values, expected 1", name,
                              list.rank);
    }
    *dim_out = list.dim[0];
    return ISO_OK;
}

iso_status_t iso__infer_iota(const iso_infer_in_t *in, iso_value_t *value_out)
{
    iso_dim_t start = iso_dim_of(0);
    iso_dim_t count = {0};
    iso_dim_t last = {0};
    int64_t step = 1;

    *value_out = (iso_value_t){.dtype = ISO_DTYPE_I64, .shape.rank = 1};
    ISO_TRY(one_dim(in, "n", &count));
    if (iso_node_attr(in->node, "start") != NULL) {
        ISO_TRY(one_dim(in, "start", &start));
    }
    ISO_TRY(iso_attr_int(in->node, "step", 1, &step));
    /* Beyond the last element, so that no element overflows. */
    ISO_TRY(iso__dim_times(in, count, step, &last));
    ISO_TRY(iso__at_node(in, iso_dim_add(start, last, &last)));
    value_out->shape.dim[0] = count;
    return ISO_OK;
}

/* What comes out is said by who put the exchange there, not inferred. */
iso_status_t iso__infer_exchange(const iso_infer_in_t *in,
                                 iso_value_t *value_out)
{
    const iso_int_rule_t number = {"number", 1, 0, INT32_MAX};
    const iso_attr_t *attr = NULL;
    int64_t index = 0;

    ISO_TRY(iso__attr_need(in->node, number.name, &attr));
    ISO_TRY(iso__attr_ints(in->node, &number, 0, &index));
    ISO_TRY(iso__attr_dtype(in->node, "dtype", &value_out->dtype));
    ISO_TRY(iso__attr_shape(in->node, "shape", &value_out->shape));
    if (iso__operand(in, 0) == NULL) {
        return ISO_OK;
    }
    return iso__need_dtype(in, 0, 1U << value_out->dtype);
}
