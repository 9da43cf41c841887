#include "kernel/coeff.h"

#include <math.h>

typedef struct coeff_names {
    const char *a;
    const char *b;
    iso__coeff_t fallback;
} coeff_names_t;

static const iso__coeff_t hard_swish = {1.0 / 6.0, 0.5};

iso_status_t iso__coeff_of(const iso_node_t *node, iso__coeff_t *coeff_out)
{
    static const coeff_names_t table[ISO_OP_COUNT] = {
        [ISO_OP_LEAKY_RELU] = {"alpha", NULL, {0.01, 0.0}},
        [ISO_OP_ELU] = {"alpha", NULL, {1.0, 0.0}},
        [ISO_OP_SELU] = {"alpha",
                         "gamma",
                         {1.67326319217681884765625,
                          1.05070102214813232421875}},
        [ISO_OP_HARD_SIGMOID] = {"alpha", "beta", {0.2, 0.5}},
        [ISO_OP_CLIP] = {"min", "max", {-INFINITY, INFINITY}},
    };
    const coeff_names_t *names = &table[node->op];

    *coeff_out = node->op == ISO_OP_HARD_SWISH ? hard_swish : names->fallback;
    if (names->a != NULL) {
        ISO_TRY(iso_attr_float(node, names->a, coeff_out->a, &coeff_out->a));
    }
    if (names->b != NULL) {
        ISO_TRY(iso_attr_float(node, names->b, coeff_out->b, &coeff_out->b));
    }
    return ISO_OK;
}

iso_op_t iso__activation_op(const iso_activation_param_t *activation,
                            iso__coeff_t *coeff_out)
{
    *coeff_out = (iso__coeff_t){0};
    switch (activation->kind) {
    case ISO_ACTIVATION_NONE:
        break;
    case ISO_ACTIVATION_RELU:
        return ISO_OP_RELU;
    case ISO_ACTIVATION_CLIP:
        *coeff_out = (iso__coeff_t){activation->min, activation->max};
        return ISO_OP_CLIP;
    case ISO_ACTIVATION_SIGMOID:
        return ISO_OP_SIGMOID;
    case ISO_ACTIVATION_TANH:
        return ISO_OP_TANH;
    case ISO_ACTIVATION_LEAKY_RELU:
        coeff_out->a = activation->alpha;
        return ISO_OP_LEAKY_RELU;
    case ISO_ACTIVATION_HARD_SWISH:
        *coeff_out = hard_swish;
        return ISO_OP_HARD_SWISH;
    }
    return ISO_OP_COUNT;
}
