/* Attributes of an operator, checked for their type. */
#include "isotome/error.h"

#include "model/onnx/onnx_impl.h"

#include <string.h>

enum { MOST_SEEN = 64 };

iso_status_t iso__onnx_attr(iso__onnx_op_t *op, const char *name, int type,
                            const Onnx__AttributeProto **attr_out)
{
    const Onnx__NodeProto *proto = op->proto;

    *attr_out = NULL;
    for (size_t i = 0; i < proto->n_attribute && i < MOST_SEEN; i++) {
        const Onnx__AttributeProto *attr = proto->attribute[i];

        if (attr->name == NULL || strcmp(attr->name, name) != 0) {
            continue;
        }
        if (attr->has_type && (int)attr->type != type) {
            return iso_fail(ISO_INPUT,
                            "attribute '%s' has type %d, expected type %d",
                            name, (int)attr->type, type);
        }
        op->seen_attrs |= UINT64_C(1) << i;
        *attr_out = attr;
        return ISO_OK;
    }
    return ISO_OK;
}

iso_status_t iso__onnx_attr_int(iso__onnx_op_t *op, const char *name,
                                int64_t fallback, int64_t *value_out)
{
    const Onnx__AttributeProto *attr;

    ISO_TRY(iso__onnx_attr(op, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
                           &attr));
    *value_out = attr == NULL ? fallback : attr->i;
    return ISO_OK;
}

iso_status_t iso__onnx_attr_float(iso__onnx_op_t *op, const char *name,
                                  double fallback, double *value_out)
{
    const Onnx__AttributeProto *attr;

    ISO_TRY(iso__onnx_attr(
        op, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT, &attr));
    *value_out = attr == NULL ? fallback : (double)attr->f;
    return ISO_OK;
}

iso_status_t iso__onnx_attr_ints(iso__onnx_op_t *op, const char *name,
                                 iso__numbers_t *numbers_out)
{
    const Onnx__AttributeProto *attr;

    *numbers_out = (iso__numbers_t){0};
    ISO_TRY(iso__onnx_attr(op, name,
                           ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS, &attr));
    if (attr == NULL) {
        return ISO_OK;
    }
    if (attr->n_ints > ISO__MOST_NUMBERS) {
        return iso_fail(ISO_INPUT,
                        "attribute '%s' has %zu values, expected at most %d",
                        name, attr->n_ints, (int)ISO__MOST_NUMBERS);
    }
    numbers_out->is_given = true;
    numbers_out->count = (int)attr->n_ints;
    for (size_t i = 0; i < attr->n_ints; i++) {
        numbers_out->value[i] = attr->ints[i];
    }
    return ISO_OK;
}

iso_status_t iso__onnx_attr_text(iso__onnx_op_t *op, const char *name,
                                 const char *fallback, const char **text_out)
{
    const Onnx__AttributeProto *attr;
    char *text;

    *text_out = fallback;
    ISO_TRY(iso__onnx_attr(
        op, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING, &attr));
    if (attr == NULL) {
        return ISO_OK;
    }
    text = iso_arena_alloc(op->import->arena, attr->s.len + 1);
    if (text == NULL) {
        return ISO_NOMEM;
    }
    if (attr->s.len > 0) {
        memcpy(text, attr->s.data, attr->s.len);
    }
    *text_out = text;
    return ISO_OK;
}

static bool is_listed(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

void iso__onnx_attr_ignore(iso__onnx_op_t *op, const char *const *names)
{
    const Onnx__NodeProto *proto = op->proto;

    for (size_t i = 0; i < proto->n_attribute && i < MOST_SEEN; i++) {
        const char *name = proto->attribute[i]->name;

        if (name != NULL && is_listed(name, names)) {
            op->seen_attrs |= UINT64_C(1) << i;
        }
    }
}

iso_status_t iso__onnx_attr_check(const iso__onnx_op_t *op)
{
    const Onnx__NodeProto *proto = op->proto;

    for (size_t i = 0; i < proto->n_attribute; i++) {
        if (i >= MOST_SEEN || (op->seen_attrs >> i & 1U) == 0) {
            const char *name = proto->attribute[i]->name;

            return iso_fail(ISO_UNSUPPORTED,
                            "attribute '%s' is not supported in opset %lld",
                            name != NULL ? name : "",
                            (long long)op->import->opset);
        }
    }
    return ISO_OK;
}

iso_status_t iso__onnx_attr_or_input(iso__onnx_op_t *op, const char *name,
                                     int opset, int index,
                                     iso__numbers_t *numbers_out)
{
    if (iso__onnx_opset(op) < opset) {
        return iso__onnx_attr_ints(op, name, numbers_out);
    }
    return iso__onnx_numbers(op, index, name, numbers_out);
}

/* -- axes -- */

iso_status_t iso__onnx_axis_resolve(int64_t axis, int rank, int *axis_out)
{
    if (axis < -rank || axis >= rank) {
        return iso_fail(ISO_SHAPE, "axis %lld of %d dims", (long long)axis,
                        rank);
    }
    *axis_out = (int)(axis < 0 ? axis + rank : axis);
    return ISO_OK;
}

iso_status_t iso__onnx_axes_resolve(iso__numbers_t *axes, int rank)
{
    bool taken[ISO__MOST_NUMBERS] = {false};

    for (int i = 0; i < axes->count; i++) {
        int axis = 0;

        ISO_TRY(iso__onnx_axis_resolve(axes->value[i], rank, &axis));
        if (taken[axis]) {
            return iso_fail(ISO_SHAPE, "axis %d is given twice", axis);
        }
        taken[axis] = true;
        axes->value[i] = axis;
    }
    return ISO_OK;
}
