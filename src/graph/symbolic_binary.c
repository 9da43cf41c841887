/* Elementwise arithmetic and comparison of expressions. */
#include "graph/symbolic.h"
#include "graph/symbolic_impl.h"

/* -- order -- */

/* What is known of a - b for all values of the names, each at least 1. */
typedef struct order {
    bool less;          /* a < b */
    bool less_equal;    /* a <= b */
    bool greater;       /* a > b */
    bool greater_equal; /* a >= b */
    bool equal;
} order_t;

static order_t order_of_numbers(int64_t a, int64_t b)
{
    return (order_t){
        .greater = a > b,
        .greater_equal = a >= b,
        .less = a < b,
        .less_equal = a <= b,
        .equal = a == b,
    };
}

/* No bit is set that does not follow. */
static order_t order_of(iso_dim_t a, iso_dim_t b)
{
    order_t order = {0};
    iso_dim_t difference;
    int64_t least = 0;

    if (iso_dim_is_static(a) && iso_dim_is_static(b)) {
        return order_of_numbers(a.size, b.size);
    }
    if (iso_dim_sub(a, b, &difference) == ISO_OK &&
        iso_dim_is_static(difference)) {
        return order_of_numbers(difference.size, 0);
    }
    if (iso_dim_sub(a, b, &difference) == ISO_OK &&
        iso_dim_least(difference, &least)) {
        order.greater = least > 0;
        order.greater_equal = least >= 0;
    }
    if (iso_dim_sub(b, a, &difference) == ISO_OK &&
        iso_dim_least(difference, &least)) {
        order.less = least > 0;
        order.less_equal = least >= 0;
    }
    return order;
}

static bool decide(bool yes, bool no, iso_dim_t *dim_out)
{
    *dim_out = iso_dim_of(yes ? 1 : 0);
    return yes || no;
}

static bool compare(iso_op_t op, iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out)
{
    order_t order = order_of(a, b);

    switch (op) {
    case ISO_OP_EQUAL:
        return decide(order.equal, order.less || order.greater, dim_out);
    case ISO_OP_LESS:
        return decide(order.less, order.greater_equal, dim_out);
    case ISO_OP_LESS_EQUAL:
        return decide(order.less_equal, order.greater, dim_out);
    case ISO_OP_GREATER:
        return decide(order.greater, order.less_equal, dim_out);
    case ISO_OP_GREATER_EQUAL:
        return decide(order.greater_equal, order.less, dim_out);
    case ISO_OP_MIN:
        *dim_out = order.less_equal ? a : b;
        return order.less_equal || order.greater_equal;
    default: /* max */
        *dim_out = order.greater_equal ? a : b;
        return order.less_equal || order.greater_equal;
    }
}

/* -- arithmetic -- */

/* Toward zero; of two numbers always, else when it leaves no rest. */
static iso_status_t divide(iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out,
                           bool *known_out)
{
    *known_out = false;
    if (iso_dim_equal(b, iso_dim_of(0))) {
        return ISO_OK;
    }
    if (iso_dim_is_static(a) && iso_dim_is_static(b)) {
        *known_out = a.size != INT64_MIN || b.size != -1;
        *dim_out = *known_out ? iso_dim_of(a.size / b.size) : a;
        return ISO_OK;
    }
    return iso_dim_div(a, b, dim_out, known_out);
}

/* Both readings of mod agree when no operand is negative. */
static iso_status_t modulo(iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out,
                           bool *known_out)
{
    iso_dim_t quotient;

    *known_out = false;
    if (iso_dim_is_static(a) && iso_dim_is_static(b)) {
        *known_out = a.size >= 0 && b.size > 0;
        *dim_out = *known_out ? iso_dim_of(a.size % b.size) : a;
        return ISO_OK;
    }
    if (iso_dim_equal(b, iso_dim_of(0))) {
        return ISO_OK;
    }
    *dim_out = iso_dim_of(0);
    return iso_dim_div(a, b, &quotient, known_out);
}

static bool logic(iso_op_t op, iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out)
{
    bool left = a.size != 0;
    bool right = b.size != 0;
    bool value = left && right;

    if (op != ISO_OP_AND) {
        value = op == ISO_OP_OR ? left || right : left != right;
    }
    *dim_out = iso_dim_of(value ? 1 : 0);
    return iso_dim_is_static(a) && iso_dim_is_static(b);
}

static iso_status_t apply(iso_op_t op, iso_dim_t a, iso_dim_t b,
                          iso_dim_t *dim_out, bool *known_out)
{
    *known_out = true;
    switch (op) {
    case ISO_OP_ADD:
        return iso_dim_add(a, b, dim_out);
    case ISO_OP_SUB:
        return iso_dim_sub(a, b, dim_out);
    case ISO_OP_MUL:
        return iso_dim_mul(a, b, dim_out);
    case ISO_OP_DIV:
        return divide(a, b, dim_out, known_out);
    case ISO_OP_MOD:
        return modulo(a, b, dim_out, known_out);
    case ISO_OP_EQUAL:
    case ISO_OP_LESS:
    case ISO_OP_LESS_EQUAL:
    case ISO_OP_GREATER:
    case ISO_OP_GREATER_EQUAL:
    case ISO_OP_MIN:
    case ISO_OP_MAX:
        *known_out = compare(op, a, b, dim_out);
        return ISO_OK;
    case ISO_OP_AND:
    case ISO_OP_OR:
    case ISO_OP_XOR:
        *known_out = logic(op, a, b, dim_out);
        return ISO_OK;
    default:
        *known_out = false;
        return ISO_OK;
    }
}

/* -- broadcasting -- */

static iso_shape_t shape_of(const iso_ints_t *ints)
{
    return iso_shape_of(ints->rank, ints->dims);
}

/* Room for the broadcast of two; *fits_out false when that is too large. */
static iso_status_t create_broadcast(iso_arena_t *arena, iso_dtype_t dtype,
                                     const iso_shape_t *a, const iso_shape_t *b,
                                     iso_ints_t *ints_out, bool *fits_out)
{
    int64_t dims[ISO_MAX_RANK];
    iso_shape_t shape;

    ISO_TRY(iso_shape_broadcast(a, b, &shape));
    *fits_out = iso_shape_count(&shape) <= ISO_INTS_MOST;
    if (!*fits_out) {
        return ISO_OK;
    }
    for (int i = 0; i < shape.rank; i++) {
        dims[i] = shape.dim[i].size;
    }
    return iso__ints_create(arena, dtype, shape.rank, dims, ints_out);
}

/* Element of ints that stands at an index of the broadcast value. */
static iso_dim_t element_at(const iso_ints_t *ints, const iso_ints_t *whole,
                            int64_t index)
{
    int64_t at = 0;
    int64_t stride = 1;

    for (int i = 1; i <= ints->rank; i++) {
        int64_t length = whole->dims[whole->rank - i];
        int64_t own = ints->dims[ints->rank - i];

        at += own == 1 ? 0 : index % length * stride;
        index /= length;
        stride *= own;
    }
    return ints->values[at];
}

static bool gives_bool(iso_op_t op)
{
    iso_op_class_t op_class = iso_op_info(op)->op_class;

    return op_class == ISO_OP_CLASS_COMPARE || op_class == ISO_OP_CLASS_LOGIC;
}

iso_status_t iso_ints_binary(iso_arena_t *arena, iso_op_t op,
                             const iso_ints_t *a, const iso_ints_t *b,
                             iso_ints_t *ints_out, bool *known_out)
{
    iso_shape_t shape_a = shape_of(a);
    iso_shape_t shape_b = shape_of(b);
    bool known = true;
    iso_ints_t result;

    *known_out = false;
    ISO_TRY(create_broadcast(arena, gives_bool(op) ? ISO_DTYPE_BOOL : a->dtype,
                             &shape_a, &shape_b, &result, &known));
    if (!known) {
        return ISO_OK;
    }
    for (int64_t i = 0; i < result.count; i++) {
        iso_status_t status =
            apply(op, element_at(a, &result, i), element_at(b, &result, i),
                  &result.values[i], &known);

        if (status == ISO_INVAL) { /* an expression that grows too large */
            return ISO_OK;
        }
        ISO_TRY(status);
        if (!known) {
            return ISO_OK;
        }
    }
    *ints_out = result;
    *known_out = true;
    return ISO_OK;
}

iso_status_t iso_ints_where(iso_arena_t *arena, const iso_ints_t *condition,
                            const iso_ints_t *a, const iso_ints_t *b,
                            iso_ints_t *ints_out, bool *known_out)
{
    iso_shape_t shape = shape_of(condition);
    iso_shape_t shape_a = shape_of(a);
    iso_shape_t shape_b = shape_of(b);
    bool fits = true;
    iso_ints_t result;

    *known_out = false;
    ISO_TRY(iso_shape_broadcast(&shape, &shape_a, &shape));
    ISO_TRY(
        create_broadcast(arena, a->dtype, &shape, &shape_b, &result, &fits));
    if (!fits) {
        return ISO_OK;
    }
    for (int64_t i = 0; i < result.count; i++) {
        iso_dim_t chosen = element_at(condition, &result, i);
        iso_dim_t yes = element_at(a, &result, i);
        iso_dim_t no = element_at(b, &result, i);

        if (!iso_dim_is_static(chosen) && !iso_dim_equal(yes, no)) {
            return ISO_OK;
        }
        result.values[i] =
            iso_dim_is_static(chosen) && chosen.size == 0 ? no : yes;
    }
    *ints_out = result;
    *known_out = true;
    return ISO_OK;
}
