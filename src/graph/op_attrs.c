#include "graph/op_attrs.h"

#include "base/log.h"

#include <stddef.h>

#define ACTIVATION_NAMES \
    "activation", "activation_alpha", "activation_min", "activation_max"

/* X(op, names...); an op that is not listed takes none. */
#define ATTRS_MAP(X)                                                           \
    X(LEAKY_RELU, "alpha")                                                     \
    X(ELU, "alpha")                                                            \
    X(SELU, "alpha", "gamma")                                                  \
    X(HARD_SIGMOID, "alpha", "beta")                                           \
    X(CLIP, "min", "max")                                                      \
    X(CAST, "to")                                                              \
    X(MOD, "fmod")                                                             \
    X(CONV, "strides", "dilations", "pads", "groups", ACTIVATION_NAMES)        \
    X(CONV_TRANSPOSE, "strides", "dilations", "pads", "groups", "output_pads", \
      ACTIVATION_NAMES)                                                        \
    X(MATMUL, ACTIVATION_NAMES)                                                \
    X(GEMM, "trans_a", "trans_b", "alpha", "beta", ACTIVATION_NAMES)           \
    X(REDUCE_SUM, "axes", "keep_dims")                                         \
    X(REDUCE_MEAN, "axes", "keep_dims")                                        \
    X(REDUCE_MAX, "axes", "keep_dims")                                         \
    X(REDUCE_MIN, "axes", "keep_dims")                                         \
    X(REDUCE_PROD, "axes", "keep_dims")                                        \
    X(ARG_MAX, "axis", "keep_dims")                                            \
    X(ARG_MIN, "axis", "keep_dims")                                            \
    X(SOFTMAX, "axis")                                                         \
    X(LOG_SOFTMAX, "axis")                                                     \
    X(BATCH_NORM, "epsilon")                                                   \
    X(INSTANCE_NORM, "epsilon")                                                \
    X(LAYER_NORM, "axis", "epsilon")                                           \
    X(LRN, "size", "alpha", "beta", "bias")                                    \
    X(MAX_POOL, "kernel", "strides", "dilations", "pads", "ceil_mode",         \
      "count_pad")                                                             \
    X(AVG_POOL, "kernel", "strides", "dilations", "pads", "ceil_mode",         \
      "count_pad")                                                             \
    X(RESHAPE, "shape")                                                        \
    X(TRANSPOSE, "perm")                                                       \
    X(CONCAT, "axis")                                                          \
    X(SLICE, "starts", "ends", "axes", "steps")                                \
    X(PAD, "pads", "mode", "value")                                            \
    X(GATHER, "axis")                                                          \
    X(GATHER_ELEMENTS, "axis")                                                 \
    X(EXPAND, "shape")                                                         \
    X(TILE, "repeats")                                                         \
    X(DEPTH_TO_SPACE, "block", "mode")                                         \
    X(SPACE_TO_DEPTH, "block")                                                 \
    X(RESIZE, "shape", "scales", "mode", "coordinates", "nearest")             \
    X(DIMS, "values")                                                          \
    X(IOTA, "start", "step", "n")                                              \
    X(EXCHANGE, "number", "dtype", "shape")

static const char *const none[] = {NULL};

static const char *const *const attrs[ISO_OP_COUNT] = {
#define X(op, ...) [ISO_OP_##op] = (const char *const[]){__VA_ARGS__, NULL},
    ATTRS_MAP(X)
#undef X
};

const char *const *iso_op_attr_names(iso_op_t op)
{
    ISO_ASSERT((unsigned)op < ISO_OP_COUNT);
    return attrs[op] != NULL ? attrs[op] : none;
}
