#include "graph/param.h"

#include "isotome/error.h"

#include "graph/param_impl.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

iso_status_t iso__node_fail(iso_status_t status, const iso_node_t *node,
                            const char *format, ...)
{
    char text[ISO_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return iso_fail(status, "node '%s' (%s): %s", node->name,
                    iso_op_string(node->op), text);
}

/* ---- Attributes one by one ---- */

iso_status_t iso__attr_need(const iso_node_t *node, const char *name,
                            const iso_attr_t **attr_out)
{
    *attr_out = iso_node_attr(node, name);
    if (*attr_out == NULL) {
        return iso__node_fail(
            ISO_INVAL, node, "attribute '%s' is missing; it is required", name);
    }
    return ISO_OK;
}

static iso_status_t kind_fail(const iso_node_t *node, const iso_attr_t *attr,
                              const char *expected)
{
    static const char *const kinds[] = {
        [ISO_ATTR_INTS] = "integers",
        [ISO_ATTR_FLOATS] = "floats",
        [ISO_ATTR_DIMS] = "dims",
        [ISO_ATTR_TEXT] = "a text",
    };

    return iso__node_fail(ISO_INVAL, node,
                          "attribute '%s' holds %s, expected %s", attr->name,
                          kinds[attr->kind], expected);
}

static iso_status_t need_count(const iso_node_t *node, const iso_attr_t *attr,
                               int count)
{
    if (attr->count != count) {
        return iso__node_fail(ISO_INVAL, node,
                              "attribute '%s' has %d values, expected %d",
                              attr->name, attr->count, count);
    }
    return ISO_OK;
}

iso_status_t iso__attr_dim_at(const iso_node_t *node, const iso_attr_t *attr,
                              int index, iso_dim_t *dim_out)
{
    if (attr->kind == ISO_ATTR_INTS) {
        *dim_out = (iso_dim_t){.size = attr->value.ints[index]};
        return ISO_OK;
    }
    if (attr->kind == ISO_ATTR_DIMS) {
        *dim_out = attr->value.dims[index];
        return ISO_OK;
    }
    return kind_fail(node, attr, "integers or dims");
}

static iso_status_t int_at(const iso_node_t *node, const iso_attr_t *attr,
                           int index, int64_t *value_out)
{
    iso_dim_t dim = {0};

    ISO_TRY(iso__attr_dim_at(node, attr, index, &dim));
    if (!iso_dim_is_static(dim)) {
        return iso__node_fail(ISO_SHAPE, node,
                              "attribute '%s' holds '%s', expected a number; "
                              "bind its names",
                              attr->name, dim.sym);
    }
    *value_out = dim.size;
    return ISO_OK;
}

/* Replace *value by that of the list, when there is one, and check it. */
static iso_status_t ranged_int_at(const iso_node_t *node,
                                  const iso_attr_t *attr,
                                  const iso_int_rule_t *rule, int index,
                                  int64_t *value)
{
    if (attr != NULL) {
        ISO_TRY(int_at(node, attr, index, value));
    }
    if (*value < rule->least || *value > rule->most) {
        return iso__node_fail(ISO_INVAL, node,
                              "%s[%d] is %lld, expected %lld to %lld",
                              rule->name, index, (long long)*value,
                              (long long)rule->least, (long long)rule->most);
    }
    return ISO_OK;
}

iso_status_t iso__attr_ints(const iso_node_t *node, const iso_int_rule_t *rule,
                            int64_t fallback, int64_t *values_out)
{
    const iso_attr_t *attr = iso_node_attr(node, rule->name);

    if (attr != NULL) {
        ISO_TRY(need_count(node, attr, rule->count));
    }
    for (int i = 0; i < rule->count; i++) {
        values_out[i] = fallback;
        ISO_TRY(ranged_int_at(node, attr, rule, i, &values_out[i]));
    }
    return ISO_OK;
}

iso_status_t iso_attr_int(const iso_node_t *node, const char *name,
                          int64_t fallback, int64_t *value_out)
{
    const iso_int_rule_t rule = {name, 1, INT64_MIN, INT64_MAX};

    return iso__attr_ints(node, &rule, fallback, value_out);
}

iso_status_t iso__attr_bool(const iso_node_t *node, const char *name,
                            bool fallback, bool *value_out)
{
    const iso_int_rule_t rule = {name, 1, 0, 1};
    int64_t value = 0;

    ISO_TRY(iso__attr_ints(node, &rule, fallback ? 1 : 0, &value));
    *value_out = value == 1;
    return ISO_OK;
}

iso_status_t iso_attr_float(const iso_node_t *node, const char *name,
                            double fallback, double *value_out)
{
    const iso_attr_t *attr = iso_node_attr(node, name);

    if (attr == NULL) {
        *value_out = fallback;
        return ISO_OK;
    }
    if (attr->kind != ISO_ATTR_FLOATS) {
        return kind_fail(node, attr, "floats");
    }
    ISO_TRY(need_count(node, attr, 1));
    *value_out = attr->value.floats[0];
    return ISO_OK;
}

/* As iso_attr_float, narrowed as kernels use it. */
static iso_status_t attr_float32(const iso_node_t *node, const char *name,
                                 double fallback, float *value_out)
{
    double value = 0.0;

    ISO_TRY(iso_attr_float(node, name, fallback, &value));
    *value_out = (float)value;
    return ISO_OK;
}

iso_status_t iso__attr_choice(const iso_node_t *node, const char *name,
                              const char *const *choices, int *choice_out)
{
    const iso_attr_t *attr = iso_node_attr(node, name);
    char list[256] = "";
    size_t length = 0;

    *choice_out = 0;
    if (attr == NULL) {
        return ISO_OK;
    }
    if (attr->kind != ISO_ATTR_TEXT) {
        return kind_fail(node, attr, "a text");
    }
    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(attr->value.text, choices[i]) == 0) {
            *choice_out = i;
            return ISO_OK;
        }
        if (length < sizeof list) {
            length += (size_t)snprintf(&list[length], sizeof list - length,
                                       "%s%s", i == 0 ? "" : ", ", choices[i]);
        }
    }
    return iso__node_fail(ISO_INVAL, node, "%s is '%s', expected one of: %s",
                          name, attr->value.text, list);
}

iso_status_t iso__attr_shape(const iso_node_t *node, const char *name,
                             iso_shape_t *shape_out)
{
    const iso_attr_t *attr;

    ISO_TRY(iso__attr_need(node, name, &attr));
    if (attr->count > ISO_MAX_RANK) {
        return iso__node_fail(ISO_INVAL, node,
                              "attribute '%s' has %d dims, expected at most %d",
                              name, attr->count, ISO_MAX_RANK);
    }
    *shape_out = (iso_shape_t){.rank = attr->count};
    for (int i = 0; i < attr->count; i++) {
        ISO_TRY(iso__attr_dim_at(node, attr, i, &shape_out->dim[i]));
    }
    return ISO_OK;
}

iso_status_t iso__attr_dtype(const iso_node_t *node, const char *name,
                             iso_dtype_t *dtype_out)
{
    const iso_attr_t *attr;

    ISO_TRY(iso__attr_need(node, name, &attr));
    if (attr->kind != ISO_ATTR_TEXT) {
        return kind_fail(node, attr, "a text");
    }
    *dtype_out = iso_dtype_from_string(attr->value.text);
    if (*dtype_out == ISO_DTYPE_COUNT) {
        return iso__node_fail(ISO_INVAL, node,
                              "%s is '%s', expected a dtype as \"f32\"", name,
                              attr->value.text);
    }
    return ISO_OK;
}

iso_status_t iso_cast_target(const iso_node_t *node, iso_dtype_t *dtype_out)
{
    return iso__attr_dtype(node, "to", dtype_out);
}

/* ---- Axes ---- */

iso_status_t iso__axis_resolve(const iso_node_t *node, const char *name,
                               int64_t axis, int rank, int *axis_out)
{
    if (axis < -rank || axis >= rank) {
        return iso__node_fail(
            ISO_INVAL, node,
            "%s is %lld, expected an axis of an operand of rank %d", name,
            (long long)axis, rank);
    }
    *axis_out = (int)(axis < 0 ? axis + rank : axis);
    return ISO_OK;
}

iso_status_t iso_axis_of(const iso_node_t *node, int rank, int64_t fallback,
                         int *axis_out)
{
    int64_t axis = 0;

    ISO_TRY(iso_attr_int(node, "axis", fallback, &axis));
    return iso__axis_resolve(node, "axis", axis, rank, axis_out);
}

/* ---- Contractions, reductions, norms ---- */

iso_status_t iso__activation_of(const iso_node_t *node,
                                iso_activation_param_t *param_out)
{
    static const char *const kinds[] = {
        [ISO_ACTIVATION_NONE] = "none",
        [ISO_ACTIVATION_RELU] = "relu",
        [ISO_ACTIVATION_CLIP] = "clip",
        [ISO_ACTIVATION_SIGMOID] = "sigmoid",
        [ISO_ACTIVATION_TANH] = "tanh",
        [ISO_ACTIVATION_LEAKY_RELU] = "leaky_relu",
        [ISO_ACTIVATION_HARD_SWISH] = "hard_swish",
        NULL,
    };
    int kind = 0;

    ISO_TRY(iso__attr_choice(node, "activation", kinds, &kind));
    param_out->kind = (iso_activation_t)kind;
    ISO_TRY(attr_float32(node, "activation_alpha", 0.01, &param_out->alpha));
    ISO_TRY(attr_float32(node, "activation_min", -INFINITY, &param_out->min));
    return attr_float32(node, "activation_max", INFINITY, &param_out->max);
}

iso_status_t iso_gemm_param_of(const iso_node_t *node,
                               iso_gemm_param_t *param_out)
{
    *param_out = (iso_gemm_param_t){.alpha = 1.0F, .beta = 1.0F};
    if (node->op == ISO_OP_GEMM) {
        ISO_TRY(iso__attr_bool(node, "trans_a", false, &param_out->trans_a));
        ISO_TRY(iso__attr_bool(node, "trans_b", false, &param_out->trans_b));
        ISO_TRY(attr_float32(node, "alpha", 1.0, &param_out->alpha));
        ISO_TRY(attr_float32(node, "beta", 1.0, &param_out->beta));
    }
    return iso__activation_of(node, &param_out->activation);
}

/* Mark the axes that a reduce_* names; all when it names none. */
static iso_status_t mark_axes(const iso_node_t *node, int rank,
                              bool reduced[ISO_MAX_RANK])
{
    const iso_attr_t *attr = iso_node_attr(node, "axes");

    if (attr == NULL || attr->count == 0) {
        for (int axis = 0; axis < rank; axis++) {
            reduced[axis] = true;
        }
        return ISO_OK;
    }
    for (int i = 0; i < attr->count; i++) {
        int64_t value = 0;
        int axis = 0;

        ISO_TRY(int_at(node, attr, i, &value));
        ISO_TRY(iso__axis_resolve(node, "axes", value, rank, &axis));
        if (reduced[axis]) {
            return iso__node_fail(ISO_INVAL, node,
                                  "axes names axis %d twice, expected each at "
                                  "most once",
                                  axis);
        }
        reduced[axis] = true;
    }
    return ISO_OK;
}

iso_status_t iso_reduce_param_of(const iso_node_t *node, int rank,
                                 iso_reduce_param_t *param_out)
{
    int axis = 0;

    *param_out = (iso_reduce_param_t){0};
    ISO_TRY(iso__attr_bool(node, "keep_dims", true, &param_out->keep_dims));
    if (node->op == ISO_OP_ARG_MAX || node->op == ISO_OP_ARG_MIN) {
        ISO_TRY(iso_axis_of(node, rank, 0, &axis));
        param_out->reduced[axis] = true;
        return ISO_OK;
    }
    return mark_axes(node, rank, param_out->reduced);
}

static iso_status_t lrn_param_of(const iso_node_t *node,
                                 iso_norm_param_t *param_out)
{
    const iso_int_rule_t size = {"size", 1, 1, ISO__MOST_WINDOW};
    const iso_attr_t *attr;

    ISO_TRY(iso__attr_need(node, "size", &attr));
    ISO_TRY(iso__attr_ints(node, &size, 0, &param_out->lrn_size));
    ISO_TRY(attr_float32(node, "alpha", 1e-4, &param_out->lrn_alpha));
    ISO_TRY(attr_float32(node, "beta", 0.75, &param_out->lrn_beta));
    return attr_float32(node, "bias", 1.0, &param_out->lrn_bias);
}

iso_status_t iso_norm_param_of(const iso_node_t *node, int rank,
                               iso_norm_param_t *param_out)
{
    *param_out = (iso_norm_param_t){0};
    if (node->op == ISO_OP_LRN) {
        return lrn_param_of(node, param_out);
    }
    if (node->op != ISO_OP_BATCH_NORM && node->op != ISO_OP_INSTANCE_NORM) {
        ISO_TRY(iso_axis_of(node, rank, -1, &param_out->axis));
    }
    ISO_TRY(attr_float32(node, "epsilon", 1e-5, &param_out->epsilon));
    if (!(param_out->epsilon >= 0.0F) || isinf(param_out->epsilon)) {
        return iso__node_fail(ISO_INVAL, node,
                              "epsilon is %g, expected a number not below 0",
                              (double)param_out->epsilon);
    }
    return ISO_OK;
}
