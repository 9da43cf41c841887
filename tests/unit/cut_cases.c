#include "cut_cases_impl.h"
#include "kernel/ref.h"

int64_t cut_between(cut_case_t *c, int64_t least, int64_t most)
{
    return test_random_int(c->random, least, most);
}

bool cut_coin(cut_case_t *c)
{
    return cut_between(c, 0, 1) == 1;
}

/* ---- Data ---- */

static float special_number(cut_case_t *c)
{
    static const uint32_t bits[] = {
        0x7fc00000, 0xffc12345, 0x7f800000, 0xff800000, 0x00000000, 0x80000000,
        0x00000001, 0x807fffff, 0x7f7fffff, 0x00800000, 0x3f000000, 0x40000000,
    };
    const int64_t n = (int64_t)(sizeof bits / sizeof bits[0]);
    float value = 0.0F;

    memcpy(&value, &bits[cut_between(c, 0, n - 1)], sizeof value);
    return value;
}

static float any_number(cut_case_t *c)
{
    if (c->special_in > 0 && cut_between(c, 1, c->special_in) == 1) {
        return special_number(c);
    }
    return test_random_float(c->random) * 3.0F;
}

void *cut_case_data(cut_case_t *c, iso_dtype_t dtype, int64_t count)
{
    const size_t bytes = (size_t)count * iso_dtype_bytes(dtype);
    uint8_t *data = iso_arena_alloc(c->arena, bytes + 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (uint8_t)test_random(c->random);
    }
    for (int64_t i = 0; i < count; i++) {
        if (dtype == ISO_DTYPE_F32) {
            ((float *)(void *)data)[i] = any_number(c);
        } else if (dtype == ISO_DTYPE_F64) {
            ((double *)(void *)data)[i] = (double)any_number(c);
        } else if (dtype == ISO_DTYPE_BOOL) {
            data[i] &= 1;
        } else if (dtype == ISO_DTYPE_I64) {
            ((int64_t *)(void *)data)[i] = cut_between(c, -9, 9);
        }
    }
    return data;
}

int64_t cut_product(int rank, const int64_t *dims)
{
    int64_t count = 1;

    for (int i = 0; i < rank; i++) {
        count *= dims[i];
    }
    return count;
}

void cut_case_operand(cut_case_t *c, iso_dtype_t dtype, int rank,
                      const int64_t *dims)
{
    test_call_input(&c->call, dtype, rank, dims,
                    cut_case_data(c, dtype, cut_product(rank, dims)));
}

void cut_any_dims(cut_case_t *c, int rank, int64_t *dims)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7};

    for (int i = 0; i < rank; i++) {
        dims[i] = sizes[cut_between(c, 0, rank > 3 ? 4 : 6)];
    }
}

iso_dtype_t cut_real_dtype(cut_case_t *c)
{
    return cut_between(c, 0, 3) == 0 ? ISO_DTYPE_F64 : ISO_DTYPE_F32;
}

iso_dtype_t cut_any_dtype(cut_case_t *c)
{
    iso_dtype_t dtype = ISO_DTYPE_F32;

    if (cut_coin(c) || !iso_ref_supports(c->call.op, dtype)) {
        do {
            dtype = (iso_dtype_t)cut_between(c, 0, ISO_DTYPE_COUNT - 1);
        } while (!iso_ref_supports(c->call.op, dtype));
    }
    return dtype;
}

void cut_add_float(cut_case_t *c, const char *name, double value)
{
    test_call_floats(&c->call, name, 1, &value);
}

void cut_add_int(cut_case_t *c, const char *name, int64_t value)
{
    test_call_ints(&c->call, name, 1, &value);
}

/* ---- Elementwise ---- */

static void make_unary(cut_case_t *c)
{
    const int rank = (int)cut_between(c, 1, 4);
    const iso_dtype_t dtype = cut_any_dtype(c);
    int64_t dims[ISO_MAX_RANK];

    cut_any_dims(c, rank, dims);
    cut_case_operand(c, dtype, rank, dims);
    switch (c->call.op) {
    case ISO_OP_LEAKY_RELU:
    case ISO_OP_ELU:
        cut_add_float(c, "alpha", 0.3);
        break;
    case ISO_OP_CLIP:
        cut_add_float(c, "min", -0.5);
        cut_add_float(c, "max", 1.25);
        break;
    case ISO_OP_CAST:
        test_call_text(&c->call, "to",
                       iso_dtype_string((iso_dtype_t)cut_between(
                           c, 0, ISO_DTYPE_COUNT - 1)));
        break;
    default:
        break;
    }
}

void cut_broadcast_operand(cut_case_t *c, iso_dtype_t dtype, int rank,
                           const int64_t *dims)
{
    const int skip = cut_coin(c) ? 0 : (int)cut_between(c, 0, rank);
    int64_t own[ISO_MAX_RANK] = {0};

    for (int i = skip; i < rank; i++) {
        own[i - skip] = cut_between(c, 0, 3) == 0 ? 1 : dims[i];
    }
    cut_case_operand(c, dtype, rank - skip, own);
}

static void make_binary(cut_case_t *c)
{
    const int rank = (int)cut_between(c, 1, 4);
    const iso_dtype_t dtype = cut_any_dtype(c);
    const bool is_where = c->call.op == ISO_OP_WHERE;
    const int count = iso_op_info(c->call.op)->most_inputs;
    int64_t dims[ISO_MAX_RANK];

    cut_any_dims(c, rank, dims);
    if (c->call.op == ISO_OP_PRELU) {
        cut_case_operand(c, dtype, rank, dims);
    }
    for (int i = c->call.n_inputs; i < count; i++) {
        cut_broadcast_operand(c, is_where && i == 0 ? ISO_DTYPE_BOOL : dtype,
                              rank, dims);
    }
    if (c->call.op == ISO_OP_MOD) {
        cut_add_int(c, "fmod",
                    dtype == ISO_DTYPE_F32 || dtype == ISO_DTYPE_F64 ||
                        cut_coin(c));
    }
}

/* ---- Contractions ---- */

void cut_add_activation(cut_case_t *c)
{
    static const char *const kinds[] = {
        "none", "relu", "clip", "sigmoid", "tanh", "leaky_relu", "hard_swish"};

    test_call_text(&c->call, "activation", kinds[cut_between(c, 0, 6)]);
    cut_add_float(c, "activation_alpha", 0.1);
    cut_add_float(c, "activation_min", -0.7);
    cut_add_float(c, "activation_max", 1.1);
}

/* The window fits in the padded operand; pads of a pool are less than the
 * window, those of a conv are not, so that windows lie in the padding. */
static void add_window(cut_case_t *c, int n, const int64_t *dims,
                       int64_t *kernel)
{
    const bool is_pool =
        c->call.op == ISO_OP_MAX_POOL || c->call.op == ISO_OP_AVG_POOL;
    int64_t strides[3] = {0};
    int64_t dilations[3] = {0};
    int64_t pads[6] = {0};

    for (int i = 0; i < n; i++) {
        int64_t span = 0;

        do {
            kernel[i] = cut_between(c, 1, 4);
            strides[i] = cut_between(c, 1, 3);
            dilations[i] = cut_between(c, 1, 2);
            span = (kernel[i] - 1) * dilations[i] + 1;
            pads[i] = cut_between(c, 0, is_pool ? span - 1 : 5);
            pads[n + i] = cut_between(c, 0, is_pool ? span - 1 : 5);
        } while (span > dims[i] + pads[i] + pads[n + i]);
    }
    test_call_ints(&c->call, "strides", n, strides);
    test_call_ints(&c->call, "dilations", n, dilations);
    test_call_ints(&c->call, "pads", 2 * n, pads);
    if (is_pool) {
        test_call_ints(&c->call, "kernel", n, kernel);
    }
}

static void make_conv(cut_case_t *c)
{
    const bool transposed = c->call.op == ISO_OP_CONV_TRANSPOSE;
    const int n = (int)cut_between(c, 1, 3);
    const int64_t groups = cut_coin(c) ? 1 : cut_between(c, 2, 5);
    const int64_t in = cut_between(c, 1, 4);
    const int64_t out = cut_between(c, 1, 3);
    const iso_dtype_t dtype = cut_real_dtype(c);
    int64_t x[5] = {cut_between(c, 1, 3), in * groups};
    int64_t weights[5] = {out * groups, in};
    int64_t bias = out * groups;

    if (transposed) {
        weights[0] = in * groups;
        weights[1] = out;
    }
    for (int i = 0; i < n; i++) {
        x[2 + i] = transposed ? cut_between(c, 5, 7) : cut_between(c, 1, 7);
    }
    if (transposed) {
        for (int i = 0; i < n; i++) {
            weights[2 + i] = cut_between(c, 1, 3);
        }
        test_call_ints(&c->call, "strides", n, (const int64_t[]){2, 1, 2});
        test_call_ints(&c->call, "output_pads", n, (const int64_t[]){1, 0, 0});
    } else {
        add_window(c, n, &x[2], &weights[2]);
    }
    cut_add_int(c, "groups", groups);
    cut_add_activation(c);
    cut_case_operand(c, dtype, 2 + n, x);
    cut_case_operand(c, dtype, 2 + n, weights);
    if (cut_coin(c)) {
        cut_case_operand(c, dtype, 1, &bias);
    }
}

/* Short reductions, and such of several blocks. */
static int64_t any_inner(cut_case_t *c)
{
    return cut_coin(c) ? cut_between(c, 1, 9) : cut_between(c, 250, 800);
}

static void make_matmul(cut_case_t *c)
{
    const iso_dtype_t dtype = cut_real_dtype(c);
    const int batch = (int)cut_between(c, 0, 2);
    const int64_t inner = any_inner(c);
    int64_t dims[4] = {cut_between(c, 1, 4), cut_between(c, 1, 3)};
    int64_t shapes[2][4];
    int64_t cols = cut_between(c, 1, 7);
    int ranks[2];

    for (int i = 0; i < 2; i++) {
        const int own = cut_coin(c) ? batch : (int)cut_between(c, 0, batch);

        ranks[i] = own + 2;
        for (int k = 0; k < own; k++) {
            shapes[i][k] =
                cut_between(c, 0, 3) == 0 ? 1 : dims[batch - own + k];
        }
        shapes[i][own] = i == 0 ? cut_between(c, 1, 7) : inner;
        shapes[i][own + 1] = i == 0 ? inner : cols;
        cut_case_operand(c, dtype, ranks[i], shapes[i]);
    }
    if (cut_coin(c)) {
        cut_case_operand(c, dtype, 1, &cols);
    }
    cut_add_activation(c);
}

static void make_gemm(cut_case_t *c)
{
    const iso_dtype_t dtype = cut_real_dtype(c);
    const int64_t inner = any_inner(c);
    const bool trans_a = cut_coin(c);
    const bool trans_b = cut_coin(c);
    const int64_t dims[2] = {cut_between(c, 1, 7), cut_between(c, 1, 7)};
    const int64_t a[2] = {trans_a ? inner : dims[0], trans_a ? dims[0] : inner};
    const int64_t b[2] = {trans_b ? dims[1] : inner, trans_b ? inner : dims[1]};

    cut_case_operand(c, dtype, 2, a);
    cut_case_operand(c, dtype, 2, b);
    if (cut_coin(c)) {
        cut_broadcast_operand(c, dtype, 2, dims);
    }
    cut_add_int(c, "trans_a", trans_a);
    cut_add_int(c, "trans_b", trans_b);
    if (cut_coin(c)) {
        cut_add_float(c, "alpha", 0.7);
        cut_add_float(c, "beta", -1.3);
    }
    cut_add_activation(c);
}

/* ---- Reductions, norms, pools ---- */

static void make_reduce(cut_case_t *c)
{
    const bool is_arg =
        c->call.op == ISO_OP_ARG_MAX || c->call.op == ISO_OP_ARG_MIN;
    const int rank = (int)cut_between(c, 2, 4);
    int64_t dims[ISO_MAX_RANK];
    int64_t axes[ISO_MAX_RANK];
    int count = 0;

    cut_any_dims(c, rank, dims);
    dims[0] = cut_between(c, 15, 40);
    cut_case_operand(c, cut_any_dtype(c), rank, dims);
    for (int axis = 0; axis < rank; axis++) {
        if (cut_coin(c)) {
            axes[count++] = cut_coin(c) ? axis : axis - rank;
        }
    }
    if (is_arg) {
        cut_add_int(c, "axis", cut_between(c, -rank, rank - 1));
    } else {
        test_call_ints(&c->call, "axes", count, axes);
    }
    cut_add_int(c, "keep_dims", cut_coin(c));
}

static void make_norm(cut_case_t *c)
{
    const iso_dtype_t dtype = cut_real_dtype(c);
    const int rank = (int)cut_between(c, 3, 4);
    int64_t dims[ISO_MAX_RANK];

    cut_any_dims(c, rank, dims);
    cut_case_operand(c, dtype, rank, dims);
    switch (c->call.op) {
    case ISO_OP_BATCH_NORM:
    case ISO_OP_INSTANCE_NORM:
        for (int i = 1; i < iso_op_info(c->call.op)->most_inputs; i++) {
            cut_case_operand(c, dtype, 1, &dims[1]);
        }
        break;
    case ISO_OP_LRN:
        cut_add_int(c, "size", cut_between(c, 1, 5));
        break;
    default:
        cut_add_int(c, "axis", cut_between(c, -rank, rank - 1));
        break;
    }
}

static void make_layer_norm(cut_case_t *c)
{
    const iso_dtype_t dtype = cut_real_dtype(c);
    const int rank = (int)cut_between(c, 2, 4);
    const int axis = (int)cut_between(c, 1, rank - 1);
    int64_t dims[ISO_MAX_RANK];

    cut_any_dims(c, rank, dims);
    cut_case_operand(c, dtype, rank, dims);
    for (int i = (int)cut_between(c, 0, 1); i < 2; i++) {
        cut_case_operand(c, dtype, rank - axis, &dims[axis]);
    }
    cut_add_int(c, "axis", cut_coin(c) ? axis : axis - rank);
}

static void make_pool(cut_case_t *c)
{
    const int n = (int)cut_between(c, 1, 3);
    int64_t x[5];
    int64_t kernel[3];

    cut_any_dims(c, 2 + n, x);
    for (int i = 0; i < n; i++) {
        x[2 + i] = cut_between(c, 1, 9);
    }
    add_window(c, n, &x[2], kernel);
    cut_add_int(c, "ceil_mode", cut_coin(c));
    cut_add_int(c, "count_pad", cut_coin(c));
    cut_case_operand(c, cut_any_dtype(c), 2 + n, x);
}

/* ---- Which ---- */

static cut_make_fn *maker_of(iso_op_t op)
{
    static cut_make_fn *const makers[ISO_OP_COUNT] = {
        [ISO_OP_WHERE] = make_binary,
        [ISO_OP_CONV] = make_conv,
        [ISO_OP_CONV_TRANSPOSE] = make_conv,
        [ISO_OP_MATMUL] = make_matmul,
        [ISO_OP_GEMM] = make_gemm,
        [ISO_OP_SOFTMAX] = make_norm,
        [ISO_OP_LOG_SOFTMAX] = make_norm,
        [ISO_OP_BATCH_NORM] = make_norm,
        [ISO_OP_INSTANCE_NORM] = make_norm,
        [ISO_OP_LAYER_NORM] = make_layer_norm,
        [ISO_OP_LRN] = make_norm,
        [ISO_OP_RESHAPE] = cut_make_reshape,
        [ISO_OP_TRANSPOSE] = cut_make_transpose,
        [ISO_OP_CONCAT] = cut_make_concat,
        [ISO_OP_SLICE] = cut_make_slice,
        [ISO_OP_PAD] = cut_make_pad,
        [ISO_OP_GATHER] = cut_make_gather,
        [ISO_OP_GATHER_ELEMENTS] = cut_make_gather_elements,
        [ISO_OP_EXPAND] = cut_make_expand,
        [ISO_OP_TILE] = cut_make_tile,
        [ISO_OP_DEPTH_TO_SPACE] = cut_make_blocks,
        [ISO_OP_SPACE_TO_DEPTH] = cut_make_blocks,
        [ISO_OP_RESIZE] = cut_make_resize,
    };

    switch (iso_op_info(op)->op_class) {
    case ISO_OP_CLASS_UNARY:
        return make_unary;
    case ISO_OP_CLASS_BINARY:
    case ISO_OP_CLASS_COMPARE:
    case ISO_OP_CLASS_LOGIC:
        return make_binary;
    case ISO_OP_CLASS_REDUCE:
        return make_reduce;
    case ISO_OP_CLASS_POOL:
        return make_pool;
    default:
        return makers[op];
    }
}

bool cut_case_begin(cut_case_t *c, iso_op_t op, uint64_t *random)
{
    static const int64_t special[] = {0, 5, 40, 1000};
    cut_make_fn *make = maker_of(op);

    *c = (cut_case_t){0};
    c->random = random;
    test_call_begin(&c->call, op);
    if (make == NULL) {
        return false;
    }
    CU_ASSERT_EQUAL_FATAL(iso_arena_create(&c->arena), ISO_OK);
    c->special_in = special[cut_between(c, 0, 3)];
    make(c);
    CU_ASSERT_FATAL(test_call_make(&c->call));
    return true;
}

void cut_case_end(cut_case_t *c)
{
    test_call_end(&c->call);
    iso_arena_destroy(&c->arena);
}
