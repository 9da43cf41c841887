#include "kernel/ref/ref_impl.h"

/* Moves whose source is looked up index by index. */

iso_status_t iso__ref_concat(const iso_node_t *node,
                             const iso_tensor_t *const *inputs,
                             const iso_tensor_t *output)
{
    int axis = 0;
    int64_t begin = 0;

    ISO_TRY(iso_axis_of(node, output->rank, 0, &axis));

    const int64_t inner =
        iso__dims_product(output->dims, axis + 1, output->rank);
    const int64_t out_row = output->dims[axis] * inner;

    for (int i = 0; i < node->n_inputs; i++) {
        const int64_t row = inputs[i]->dims[axis] * inner;
        const int64_t count = iso_tensor_count(inputs[i]);

        for (int64_t k = 0; k < count; k++) {
            iso__ref_move(output, k / row * out_row + begin + k % row,
                          inputs[i], k);
        }
        begin += row;
    }
    return ISO_OK;
}

/* ---- pad, tile ---- */

/* Index that is read for index i of a padded axis; -1: the constant. */
static int64_t pad_source(iso_pad_mode_t mode, int64_t i, int64_t dim)
{
    const int64_t period = 2 * (dim - 1);

    if (i >= 0 && i < dim) {
        return i;
    }
    if (mode == ISO_PAD_CONSTANT) {
        return -1;
    }
    if (mode == ISO_PAD_EDGE) {
        return i < 0 ? 0 : dim - 1;
    }
    if (period == 0) {
        return 0;
    }
    i = (i < 0 ? -i : i) % period;
    return i < dim ? i : period - i;
}

iso_status_t iso__ref_pad(const iso_node_t *node,
                          const iso_tensor_t *const *inputs,
                          const iso_tensor_t *output)
{
    const iso_tensor_t *x = inputs[0];
    const int64_t count = iso_tensor_count(output);
    iso_pad_param_t param;
    iso__walk_t walk;

    ISO_TRY(iso_pad_param_of(node, x->rank, &param));
    iso__walk_begin(&walk, output->rank, output->dims);
    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        int64_t offset = 0;

        for (int axis = 0; axis < x->rank && offset >= 0; axis++) {
            const int64_t from =
                pad_source(param.mode, walk.index[axis] - param.begin[axis],
                           x->dims[axis]);

            offset = from < 0 ? -1 : offset * x->dims[axis] + from;
        }
        if (offset < 0) {
            iso__ref_store_f64(output, i, param.value);
        } else {
            iso__ref_move(output, i, x, offset);
        }
    }
    return ISO_OK;
}

iso_status_t iso__ref_tile(const iso_node_t *node,
                           const iso_tensor_t *const *inputs,
                           const iso_tensor_t *output)
{
    const iso_tensor_t *x = inputs[0];
    const int64_t count = iso_tensor_count(output);
    iso__walk_t walk;

    (void)node;
    iso__walk_begin(&walk, output->rank, output->dims);
    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        int64_t offset = 0;

        for (int axis = 0; axis < x->rank; axis++) {
            offset = offset * x->dims[axis] + walk.index[axis] % x->dims[axis];
        }
        iso__ref_move(output, i, x, offset);
    }
    return ISO_OK;
}

/* ---- gather ---- */

/* Element i of an index tensor, negatives counted from the end. */
static iso_status_t load_index(const iso_node_t *node,
                               const iso_tensor_t *indices, int64_t i,
                               int64_t dim, int64_t *index_out)
{
    const int64_t index = iso__ref_int_load(indices, i);

    if (index < -dim || index >= dim) {
        return iso_fail(ISO_INPUT,
                        "node '%s' (%s): index %lld at place %lld, expected "
                        "%lld to %lld",
                        node->name, iso_op_string(node->op), (long long)index,
                        (long long)i, (long long)-dim, (long long)dim - 1);
    }
    *index_out = index < 0 ? index + dim : index;
    return ISO_OK;
}

iso_status_t iso__ref_gather(const iso_node_t *node,
                             const iso_tensor_t *const *inputs,
                             const iso_tensor_t *output)
{
    const iso_tensor_t *x = inputs[0];
    const int64_t picks = iso_tensor_count(inputs[1]);
    const int64_t count = iso_tensor_count(output);
    int axis = 0;

    ISO_TRY(iso_axis_of(node, x->rank, 0, &axis));

    const int64_t dim = x->dims[axis];
    const int64_t inner = iso__dims_product(x->dims, axis + 1, x->rank);

    for (int64_t i = 0; i < count; i++) {
        const int64_t row = i / inner;
        int64_t from = 0;

        ISO_TRY(load_index(node, inputs[1], row % picks, dim, &from));
        iso__ref_move(output, i, x,
                      (row / picks * dim + from) * inner + i % inner);
    }
    return ISO_OK;
}

iso_status_t iso__ref_gather_elements(const iso_node_t *node,
                                      const iso_tensor_t *const *inputs,
                                      const iso_tensor_t *output)
{
    const iso_tensor_t *x = inputs[0];
    const int64_t count = iso_tensor_count(output);
    int64_t strides[ISO_MAX_RANK];
    int axis = 0;
    iso__walk_t walk;

    ISO_TRY(iso_axis_of(node, x->rank, 0, &axis));
    iso__strides_of(x->rank, x->dims, strides);

    const int64_t along = strides[axis];

    strides[axis] = 0;
    iso__walk_begin(&walk, output->rank, output->dims);
    (void)iso__walk_add(&walk, 0, strides);
    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        int64_t from = 0;

        ISO_TRY(load_index(node, inputs[1], i, x->dims[axis], &from));
        iso__ref_move(output, i, x, walk.offset[0] + from * along);
    }
    return ISO_OK;
}
