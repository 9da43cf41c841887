#include "kernel/move.h"
#include "kernel/ref/ref_impl.h"

#include <string.h>

void iso__ref_move(const iso_tensor_t *to_tensor, int64_t to,
                   const iso_tensor_t *from_tensor, int64_t from)
{
    const size_t bytes = iso_dtype_bytes(to_tensor->dtype);

    memcpy((char *)to_tensor->data + (size_t)to * bytes,
           (const char *)from_tensor->data + (size_t)from * bytes, bytes);
}

iso_status_t iso__ref_reshape(const iso_node_t *node,
                              const iso_tensor_t *const *inputs,
                              const iso_tensor_t *output)
{
    (void)node;
    memcpy(output->data, inputs[0]->data, iso_tensor_bytes(output));
    return ISO_OK;
}

iso_status_t iso__ref_steps(const iso_node_t *node,
                            const iso_tensor_t *const *inputs,
                            const iso_tensor_t *output)
{
    const int64_t count = iso_tensor_count(output);
    iso__walk_t walk;

    ISO_TRY(iso__move_walk_of(node, inputs[0], output, &walk));
    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        iso__ref_move(output, i, inputs[0], walk.offset[0]);
    }
    return ISO_OK;
}

iso_status_t iso__ref_where(const iso_node_t *node,
                            const iso_tensor_t *const *inputs,
                            const iso_tensor_t *output)
{
    const uint8_t *condition = inputs[0]->data;
    const int64_t count = iso_tensor_count(output);
    iso__walk_t walk;

    (void)node;
    iso__walk_begin(&walk, output->rank, output->dims);
    for (int i = 0; i < 3; i++) {
        (void)iso__walk_add_broadcast(&walk, inputs[i]);
    }
    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        const int chosen = condition[walk.offset[0]] != 0 ? 1 : 2;

        iso__ref_move(output, i, inputs[chosen], walk.offset[chosen]);
    }
    return ISO_OK;
}
