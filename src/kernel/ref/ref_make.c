#include "base/log.h"
#include "kernel/ref/ref_impl.h"

/* Number i of an attribute whose names have been bound. */
static int64_t number_at(const iso_attr_t *attr, int i)
{
    if (attr->kind == ISO_ATTR_INTS) {
        return attr->value.ints[i];
    }
    ISO_ASSERT(iso_dim_is_static(attr->value.dims[i]));
    return attr->value.dims[i].size;
}

iso_status_t iso__ref_dims(const iso_node_t *node,
                           const iso_tensor_t *const *inputs,
                           const iso_tensor_t *output)
{
    const iso_attr_t *values = iso_node_attr(node, "values");
    int64_t *y = output->data;

    (void)inputs;
    for (int i = 0; i < values->count; i++) {
        y[i] = number_at(values, i);
    }
    return ISO_OK;
}

iso_status_t iso__ref_iota(const iso_node_t *node,
                           const iso_tensor_t *const *inputs,
                           const iso_tensor_t *output)
{
    const iso_attr_t *attr = iso_node_attr(node, "start");
    const int64_t start = attr != NULL ? number_at(attr, 0) : 0;
    int64_t *y = output->data;
    int64_t step = 1;

    (void)inputs;
    ISO_TRY(iso_attr_int(node, "step", 1, &step));
    for (int64_t i = 0; i < output->dims[0]; i++) {
        y[i] = start + i * step;
    }
    return ISO_OK;
}
