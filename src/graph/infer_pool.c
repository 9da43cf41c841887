#include "graph/infer_impl.h"

iso_status_t iso__infer_pool(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = iso__operand(in, 0);
    iso_pool_param_t param;

    ISO_TRY(iso__need_dtype(
        in, 0, in->node->op == ISO_OP_MAX_POOL ? ISO__NUMBERS : ISO__FLOATS));
    ISO_TRY(iso_pool_param_of(in->node, &param));
    ISO_TRY(iso__need_rank(in, 0, 2 + param.window.n_spatial,
                           2 + param.window.n_spatial));
    *value_out = (iso_value_t){x->dtype, x->shape};
    for (int i = 0; i < param.window.n_spatial; i++) {
        ISO_TRY(iso__window_dim(in, &param.window, i, param.ceil_mode,
                                x->shape.dim[2 + i],
                                &value_out->shape.dim[2 + i]));
    }
    return ISO_OK;
}
