#include "kernel/ref.h"

#include "isotome/error.h"

#include "base/log.h"
#include "kernel/ref/ref_impl.h"

/* What computes an op, by the dtype of its first operand. */
typedef struct ref_entry {
    iso__ref_fn *f32;
    iso__ref_fn *f64;
    iso__ref_fn *integer;
    iso__ref_fn *half; /* f16, bf16 */
    iso__ref_fn *boolean;
    iso__ref_fn *any; /* does not look at the dtype */
} ref_entry_t;

#define REAL_ENTRY(name)                                           \
    {                                                              \
        .f32 = iso__ref_##name##_f32, .f64 = iso__ref_##name##_f64 \
    }
#define NUMBER_ENTRY(name, int_name)                                \
    {                                                               \
        .f32 = iso__ref_##name##_f32, .f64 = iso__ref_##name##_f64, \
        .integer = iso__ref_int_##int_name                          \
    }
#define COMPARE_ENTRY(boolean_function)                                 \
    {                                                                   \
        .f32 = iso__ref_compare_f32, .f64 = iso__ref_compare_f64,       \
        .integer = iso__ref_int_compare, .half = iso__ref_half_compare, \
        .boolean = boolean_function                                     \
    }
#define ANY_ENTRY(name)        \
    {                          \
        .any = iso__ref_##name \
    }

/* X(op, entry): ops whose function is not that of their class. */
#define OWN_MAP(X)                                 \
    X(CAST, ANY_ENTRY(cast))                       \
    X(EQUAL, COMPARE_ENTRY(iso__ref_logic))        \
    X(CONV, REAL_ENTRY(conv))                      \
    X(CONV_TRANSPOSE, REAL_ENTRY(conv_transpose))  \
    X(MATMUL, REAL_ENTRY(matmul))                  \
    X(GEMM, REAL_ENTRY(gemm))                      \
    X(ARG_MAX, NUMBER_ENTRY(arg, arg))             \
    X(ARG_MIN, NUMBER_ENTRY(arg, arg))             \
    X(SOFTMAX, REAL_ENTRY(softmax))                \
    X(LOG_SOFTMAX, REAL_ENTRY(softmax))            \
    X(BATCH_NORM, REAL_ENTRY(batch_norm))          \
    X(INSTANCE_NORM, REAL_ENTRY(row_norm))         \
    X(LAYER_NORM, REAL_ENTRY(row_norm))            \
    X(LRN, REAL_ENTRY(lrn))                        \
    X(MAX_POOL, NUMBER_ENTRY(max_pool, max_pool))  \
    X(AVG_POOL, REAL_ENTRY(avg_pool))              \
    X(WHERE, ANY_ENTRY(where))                     \
    X(RESHAPE, ANY_ENTRY(reshape))                 \
    X(TRANSPOSE, ANY_ENTRY(steps))                 \
    X(CONCAT, ANY_ENTRY(concat))                   \
    X(SLICE, ANY_ENTRY(steps))                     \
    X(PAD, ANY_ENTRY(pad))                         \
    X(GATHER, ANY_ENTRY(gather))                   \
    X(GATHER_ELEMENTS, ANY_ENTRY(gather_elements)) \
    X(EXPAND, ANY_ENTRY(steps))                    \
    X(TILE, ANY_ENTRY(tile))                       \
    X(DEPTH_TO_SPACE, ANY_ENTRY(steps))            \
    X(SPACE_TO_DEPTH, ANY_ENTRY(steps))            \
    X(RESIZE, ANY_ENTRY(resize))                   \
    X(DIMS, ANY_ENTRY(dims))                       \
    X(IOTA, ANY_ENTRY(iota))

static ref_entry_t own_entry(iso_op_t op)
{
    static const ref_entry_t own[ISO_OP_COUNT] = {
#define X(op, ...) [ISO_OP_##op] = __VA_ARGS__,
        OWN_MAP(X)
#undef X
    };

    return own[op];
}

static ref_entry_t entry_of(iso_op_t op)
{
    static const ref_entry_t unary = NUMBER_ENTRY(unary, unary);
    static const ref_entry_t binary = NUMBER_ENTRY(binary, binary);
    static const ref_entry_t compare = COMPARE_ENTRY(NULL);
    static const ref_entry_t logic = {.boolean = iso__ref_logic};
    static const ref_entry_t reduce = NUMBER_ENTRY(reduce, reduce);
    const ref_entry_t own = own_entry(op);

    if (own.any != NULL || own.f32 != NULL) {
        return own;
    }
    switch (iso_op_info(op)->op_class) {
    case ISO_OP_CLASS_UNARY:
        return unary;
    case ISO_OP_CLASS_BINARY:
        return binary;
    case ISO_OP_CLASS_COMPARE:
        return compare;
    case ISO_OP_CLASS_LOGIC:
        return logic;
    case ISO_OP_CLASS_REDUCE:
        return reduce;
    default:
        return own;
    }
}

/* Integer arithmetic that an op class entry covers but the op does not. */
static bool has_integers(iso_op_t op)
{
    switch (iso_op_info(op)->op_class) {
    case ISO_OP_CLASS_UNARY:
        return op == ISO_OP_ABS || op == ISO_OP_NEG;
    case ISO_OP_CLASS_BINARY:
        return op != ISO_OP_POW && op != ISO_OP_PRELU;
    case ISO_OP_CLASS_REDUCE:
        return op != ISO_OP_REDUCE_MEAN;
    default:
        return true;
    }
}

static iso__ref_fn *function_of(iso_op_t op, iso_dtype_t dtype)
{
    const ref_entry_t entry = entry_of(op);

    if (entry.any != NULL) {
        return entry.any;
    }
    switch (dtype) {
    case ISO_DTYPE_F32:
        return entry.f32;
    case ISO_DTYPE_F64:
        return entry.f64;
    case ISO_DTYPE_I8:
    case ISO_DTYPE_U8:
    case ISO_DTYPE_I32:
    case ISO_DTYPE_I64:
        return has_integers(op) ? entry.integer : NULL;
    case ISO_DTYPE_F16:
    case ISO_DTYPE_BF16:
        return entry.half;
    case ISO_DTYPE_BOOL:
        return entry.boolean;
    default:
        return NULL;
    }
}

bool iso_ref_supports(iso_op_t op, iso_dtype_t dtype)
{
    return function_of(op, dtype) != NULL;
}

iso_status_t iso_ref_run(const iso_node_t *node,
                         const iso_tensor_t *const *inputs,
                         const iso_tensor_t *output)
{
    const iso_dtype_t dtype =
        node->n_inputs > 0 ? inputs[0]->dtype : output->dtype;
    iso__ref_fn *function = function_of(node->op, dtype);

    if (function == NULL) {
        return iso_fail(ISO_UNSUPPORTED,
                        "node '%s': %s does not compute in %s; cast its "
                        "operands to f32",
                        node->name, iso_op_string(node->op),
                        iso_dtype_string(dtype));
    }
    if (iso_tensor_count(output) == 0) {
        return ISO_OK;
    }
    return function(node, inputs, output);
}
