/*
 * The op table: every operator of a graph, in one place.
 *
 * An op takes node inputs and attributes and makes one value. What an op does
 * to bits is defined by src/kernel/ref and described in
 * isotome-arithmetic(7); what it does to shapes by src/graph/infer*.c; what
 * it costs by src/graph/cost.c. Names follow ONNX in lower case; semantics
 * are those of opset 17, with operands that ONNX passes as tensors of
 * integers (shapes, axes, pads) turned into attributes.
 */
#ifndef ISO_OP_H
#define ISO_OP_H

/*
 * Classes share a shape rule and a way of being computed.
 *
 *   LEAF      input, param, constant
 *   UNARY     one operand, same shape and (but for cast) same dtype
 *   BINARY    two operands, NumPy broadcasting, same dtype in and out
 *   COMPARE   two operands, broadcasting, bool out
 *   LOGIC     bool operands, broadcasting, bool out
 *   CONTRACT  sums of products (blocks and tree)
 *   REDUCE    over axes (lanes)
 *   NORM      keeps the shape, reduces inside (lanes)
 *   POOL      windows over the spatial dims
 *   MOVE      copies elements, computes nothing
 *   MAKE      makes integers from attributes alone
 *   EXCHANGE  moves parts of a value between the workers of a stage; only
 *             plans make it, a model file that has one is refused
 */
typedef enum iso_op_class {
    ISO_OP_CLASS_LEAF,
    ISO_OP_CLASS_UNARY,
    ISO_OP_CLASS_BINARY,
    ISO_OP_CLASS_COMPARE,
    ISO_OP_CLASS_LOGIC,
    ISO_OP_CLASS_CONTRACT,
    ISO_OP_CLASS_REDUCE,
    ISO_OP_CLASS_NORM,
    ISO_OP_CLASS_POOL,
    ISO_OP_CLASS_MOVE,
    ISO_OP_CLASS_MAKE,
    ISO_OP_CLASS_EXCHANGE
} iso_op_class_t;

/* X(NAME, text, least inputs, most inputs (-1: any), class)
 * Attributes, "=default", in the comment beside each; see param.h. */
#define ISO_OP_MAP(X)                                                        \
    X(INPUT, "input", 0, 0, LEAF)                                            \
    X(PARAM, "param", 0, 0, LEAF)                                            \
    X(CONSTANT, "constant", 0, 0, LEAF)                                      \
    X(ABS, "abs", 1, 1, UNARY)                                               \
    X(NEG, "neg", 1, 1, UNARY)                                               \
    X(CEIL, "ceil", 1, 1, UNARY)                                             \
    X(FLOOR, "floor", 1, 1, UNARY)                                           \
    X(ROUND, "round", 1, 1, UNARY) /* half to even */                        \
    X(SIGN, "sign", 1, 1, UNARY)                                             \
    X(SQRT, "sqrt", 1, 1, UNARY)                                             \
    X(RECIPROCAL, "reciprocal", 1, 1, UNARY)                                 \
    X(EXP, "exp", 1, 1, UNARY)                                               \
    X(LOG, "log", 1, 1, UNARY)                                               \
    X(SIN, "sin", 1, 1, UNARY)                                               \
    X(COS, "cos", 1, 1, UNARY)                                               \
    X(TANH, "tanh", 1, 1, UNARY)                                             \
    X(ERF, "erf", 1, 1, UNARY)                                               \
    X(SIGMOID, "sigmoid", 1, 1, UNARY)                                       \
    X(RELU, "relu", 1, 1, UNARY)                                             \
    X(LEAKY_RELU, "leaky_relu", 1, 1, UNARY)     /* alpha=0.01 */            \
    X(ELU, "elu", 1, 1, UNARY)                   /* alpha=1 */               \
    X(SELU, "selu", 1, 1, UNARY)                 /* alpha, gamma */          \
    X(HARD_SIGMOID, "hard_sigmoid", 1, 1, UNARY) /* alpha=.2 beta=.5 */      \
    X(HARD_SWISH, "hard_swish", 1, 1, UNARY)                                 \
    X(SOFTPLUS, "softplus", 1, 1, UNARY)                                     \
    X(SOFTSIGN, "softsign", 1, 1, UNARY)                                     \
    X(CLIP, "clip", 1, 1, UNARY) /* min=-inf max=inf */                      \
    X(CAST, "cast", 1, 1, UNARY) /* to */                                    \
    X(ADD, "add", 2, 2, BINARY)                                              \
    X(SUB, "sub", 2, 2, BINARY)                                              \
    X(MUL, "mul", 2, 2, BINARY)                                              \
    X(DIV, "div", 2, 2, BINARY) /* integers: toward zero */                  \
    X(POW, "pow", 2, 2, BINARY)                                              \
    X(MIN, "min", 2, 2, BINARY)                                              \
    X(MAX, "max", 2, 2, BINARY)                                              \
    X(MOD, "mod", 2, 2, BINARY)     /* fmod=0 */                             \
    X(PRELU, "prelu", 2, 2, BINARY) /* x, slope */                           \
    X(EQUAL, "equal", 2, 2, COMPARE)                                         \
    X(LESS, "less", 2, 2, COMPARE)                                           \
    X(LESS_EQUAL, "less_equal", 2, 2, COMPARE)                               \
    X(GREATER, "greater", 2, 2, COMPARE)                                     \
    X(GREATER_EQUAL, "greater_equal", 2, 2, COMPARE)                         \
    X(AND, "and", 2, 2, LOGIC)                                               \
    X(OR, "or", 2, 2, LOGIC)                                                 \
    X(XOR, "xor", 2, 2, LOGIC)                                               \
    X(NOT, "not", 1, 1, LOGIC)                                               \
    X(WHERE, "where", 3, 3, MOVE) /* bool, x, y; broadcasting */             \
    /* x, weights, bias; strides dilations pads groups activation */         \
    X(CONV, "conv", 2, 3, CONTRACT)                                          \
    X(CONV_TRANSPOSE, "conv_transpose", 2, 3, CONTRACT) /* output_pads */    \
    X(MATMUL, "matmul", 2, 3, CONTRACT) /* a, b, bias [cols]; activation */  \
    /* alpha A B + beta C: trans_a trans_b alpha beta activation */          \
    X(GEMM, "gemm", 2, 3, CONTRACT)                                          \
    /* axes keep_dims=1 */                                                   \
    X(REDUCE_SUM, "reduce_sum", 1, 1, REDUCE)                                \
    X(REDUCE_MEAN, "reduce_mean", 1, 1, REDUCE)                              \
    X(REDUCE_MAX, "reduce_max", 1, 1, REDUCE)                                \
    X(REDUCE_MIN, "reduce_min", 1, 1, REDUCE)                                \
    X(REDUCE_PROD, "reduce_prod", 1, 1, REDUCE)                              \
    X(ARG_MAX, "arg_max", 1, 1, REDUCE) /* axis keep_dims; i64 out */        \
    X(ARG_MIN, "arg_min", 1, 1, REDUCE)                                      \
    X(SOFTMAX, "softmax", 1, 1, NORM)         /* axis */                     \
    X(LOG_SOFTMAX, "log_softmax", 1, 1, NORM) /* axis */                     \
    /* x, scale, bias, mean, variance; epsilon */                            \
    X(BATCH_NORM, "batch_norm", 5, 5, NORM)                                  \
    X(INSTANCE_NORM, "instance_norm", 3, 3, NORM) /* epsilon */              \
    X(LAYER_NORM, "layer_norm", 2, 3, NORM)       /* axis epsilon */         \
    X(LRN, "lrn", 1, 1, NORM)                     /* size alpha beta bias */ \
    /* kernel strides dilations pads ceil_mode count_pad */                  \
    X(MAX_POOL, "max_pool", 1, 1, POOL)                                      \
    X(AVG_POOL, "avg_pool", 1, 1, POOL)                                      \
    X(RESHAPE, "reshape", 1, 1, MOVE)     /* shape */                        \
    X(TRANSPOSE, "transpose", 1, 1, MOVE) /* perm */                         \
    X(CONCAT, "concat", 1, -1, MOVE)      /* axis */                         \
    X(SLICE, "slice", 1, 1, MOVE)         /* starts ends axes steps */       \
    X(PAD, "pad", 1, 1, MOVE)             /* pads mode value */              \
    X(GATHER, "gather", 2, 2, MOVE)       /* axis */                         \
    X(GATHER_ELEMENTS, "gather_elements", 2, 2, MOVE) /* axis */             \
    X(EXPAND, "expand", 1, 1, MOVE)                   /* shape */            \
    X(TILE, "tile", 1, 1, MOVE)                       /* repeats */          \
    X(DEPTH_TO_SPACE, "depth_to_space", 1, 1, MOVE)   /* block mode */       \
    X(SPACE_TO_DEPTH, "space_to_depth", 1, 1, MOVE)   /* block */            \
    X(RESIZE, "resize", 1, 1, MOVE) /* shape scales mode coordinates ... */  \
    X(DIMS, "dims", 0, 0, MAKE)     /* values: dims as i64 [n] */            \
    X(IOTA, "iota", 0, 0, MAKE)     /* start step n: i64 [n] */              \
    /* number dtype shape: the part that this worker gets */                 \
    X(EXCHANGE, "exchange", 0, 1, EXCHANGE)

typedef enum iso_op {
#define X(name, text, least, most, op_class) ISO_OP_##name,
    ISO_OP_MAP(X)
#undef X
        ISO_OP_COUNT
} iso_op_t;

typedef struct iso_op_info {
    const char *text;
    int least_inputs;
    int most_inputs; /* -1: any number */
    iso_op_class_t op_class;
} iso_op_info_t;

const iso_op_info_t *iso_op_info(iso_op_t op);
const char *iso_op_string(iso_op_t op);

/* ISO_OP_COUNT when there is no such op. */
iso_op_t iso_op_from_string(const char *text);

#endif
