#include "kernel/cuda/plan.h"

#include "kernel/arith.h"
#include "kernel/walk.h"

/* ---- Windows ---- */

iso__cuda_window_t iso__cuda_window_of(const iso_window_t *window,
                                       const int64_t *in_dims,
                                       const int64_t *out_dims)
{
    const int missing = ISO__CUDA_SPATIAL - window->n_spatial;
    iso__cuda_window_t to;

    for (int i = 0; i < ISO__CUDA_SPATIAL; i++) {
        const int axis = i - missing;
        const bool is_given = axis >= 0;

        to.out[i] = iso__cuda_divisor_of(is_given ? out_dims[axis] : 1);
        to.in[i] = is_given ? (int32_t)in_dims[axis] : 1;
        to.kernel[i] = is_given ? (int32_t)window->kernel[axis] : 1;
        to.strides[i] = is_given ? (int32_t)window->strides[axis] : 1;
        to.dilations[i] = is_given ? (int32_t)window->dilations[axis] : 1;
        to.pads[i] = is_given ? (int32_t)window->pads_begin[axis] : 0;
        to.pads_end[i] = is_given ? (int32_t)window->pads_end[axis] : 0;
    }
    return to;
}

bool iso__cuda_is_light(iso_op_t op)
{
    return op == ISO_OP_COUNT || op == ISO_OP_RELU || op == ISO_OP_CLIP ||
           op == ISO_OP_LEAKY_RELU || op == ISO_OP_HARD_SWISH;
}

/* ---- The reduction ---- */

static void set_blocks(iso__cuda_contract_t *c, int64_t channels, int64_t taps)
{
    const iso_blocks_t blocks = iso_blocks_of_conv(channels, taps);

    c->length = (int32_t)blocks.length;
    c->n_blocks = (int32_t)blocks.count;
    c->n_taps = (int32_t)taps;
    c->taps = iso__cuda_divisor_of(taps);
    c->block = ISO_BLOCK_MOST;
    if (blocks.channels > 0) {
        c->block = (int32_t)(blocks.channels * taps);
        c->pieces = 0;
    } else {
        c->pieces = (int32_t)((taps + ISO_BLOCK_MOST - 1) / ISO_BLOCK_MOST);
    }
}

/* ---- Tiles and splits ---- */

enum {
    PROCESSORS = 132,      /* that the choice is made for */
    SPLIT_BLOCKS_MOST = 16 /* 2^LEVELS of contract.cu */
};

typedef struct tile_kind {
    int rows;
    int cols;
    int resident;       /* thread blocks on a processor at once */
    int overhead;       /* to begin and to end, as products of each sum */
    double rate;        /* of a processor that is full, in parts of the best */
    double window_rate; /* where columns are windows of many taps */
} tile_kind_t;

/* As measured on an H200. */
static const tile_kind_t tile_kinds[ISO__CUDA_TILE_COUNT] = {
    [ISO__CUDA_TILE_128_128] = {128, 128, 2, 60, 1.0, 1.0},
    [ISO__CUDA_TILE_64_128] = {64, 128, 4, 85, 1.02, 0.89},
    [ISO__CUDA_TILE_64_64] = {64, 64, 4, 30, 0.88, 0.86},
};

static int64_t pieces_of(int64_t whole, int64_t part)
{
    return (whole + part - 1) / part;
}

/* Cost of a choice in products of one processor: what the fullest processor
 * does, slower where it is not full, and the pass over the partial sums. */
static double cost_of(const iso__cuda_contract_t *c, const tile_kind_t *kind,
                      int64_t split_blocks)
{
    const int64_t splits =
        c->n_blocks == 0 ? 1 : pieces_of(c->n_blocks, split_blocks);
    const int64_t tiles = pieces_of(c->rows, kind->rows) *
                          pieces_of(c->cols, kind->cols) * c->n_z * splits;
    const int64_t each = pieces_of(tiles, PROCESSORS);
    const int64_t products = splits == 1 ? c->length : split_blocks * c->block;
    const double full = each >= kind->resident
                            ? 1.0
                            : 0.5 + 0.5 * (double)each / kind->resident;
    const double work =
        (double)each * kind->rows * kind->cols *
        (double)(products + kind->overhead) /
        ((c->n_taps > 1 ? kind->window_rate : kind->rate) * full);
    const double bytes = 8.0 * (double)splits * c->elements / PROCESSORS;

    /* In the time of 8 products a processor gets a byte; in that of 600 000
     * there is one more launch. */
    return splits == 1 ? work : work + 8 * bytes + 6e5;
}

static void choose(iso__cuda_contract_t *c)
{
    double best = -1;

    for (int tile = 0; tile < ISO__CUDA_TILE_COUNT; tile++) {
        for (int64_t blocks = SPLIT_BLOCKS_MOST; blocks > 0; blocks /= 2) {
            const double cost = cost_of(c, &tile_kinds[tile], blocks);

            if (best < 0 || cost < best) {
                best = cost;
                c->tile = (iso__cuda_tile_t)tile;
                c->split_blocks = (int32_t)blocks;
            }
        }
    }
    c->n_splits =
        c->n_blocks == 0 ? 1 : (int32_t)pieces_of(c->n_blocks, c->split_blocks);
}

size_t iso__cuda_contract_bytes(const iso__cuda_contract_t *contract)
{
    return contract->n_splits == 1
               ? 0
               : (size_t)contract->n_splits * (size_t)contract->elements *
                     sizeof(float);
}

static bool is_aligned(const void *data)
{
    return (uintptr_t)data % 16 == 0;
}

/* ---- Convolution ---- */

bool iso__cuda_is_direct(const iso_node_t *node,
                         const iso_tensor_t *const *inputs,
                         const iso_tensor_t *output)
{
    iso_conv_param_t param;

    if (node->op == ISO_OP_CONV_TRANSPOSE) {
        return true;
    }
    if (node->op != ISO_OP_CONV ||
        iso_conv_param_of(node, output->rank - 2, &inputs[1]->dims[2],
                          &param) != ISO_OK) {
        return false;
    }
    return output->dims[1] / param.groups < 8;
}

/* Is every window one element, and inside? */
static bool is_pointwise(const iso__cuda_contract_t *c)
{
    for (int axis = 0; axis < ISO__CUDA_SPATIAL; axis++) {
        const int64_t last = ((int64_t)c->window.out[axis].divisor - 1) *
                             c->window.strides[axis];

        if (c->window.kernel[axis] != 1 || c->window.pads[axis] != 0 ||
            last >= c->window.in[axis]) {
            return false;
        }
    }
    return true;
}

static iso__cuda_columns_t columns_of_conv(const iso__cuda_contract_t *c)
{
    if (!is_pointwise(c)) {
        return c->n_taps <= 64 ? ISO__CUDA_COLUMNS_MASK
                               : ISO__CUDA_COLUMNS_WINDOW;
    }
    /* Strides of 1 and no padding: planes have as many positions. */
    if ((uint32_t)c->b_inner == c->positions.divisor && c->b_inner % 4 == 0 &&
        is_aligned(c->b)) {
        return ISO__CUDA_COLUMNS_FOUR;
    }
    return ISO__CUDA_COLUMNS_ONE;
}

static iso_status_t conv_of(const iso_node_t *node,
                            const iso_tensor_t *const *inputs,
                            const iso_tensor_t *output, iso__cuda_contract_t *c)
{
    const iso_tensor_t *x = inputs[0];
    const iso_tensor_t *w = inputs[1];
    const int rank = output->rank;
    iso_conv_param_t param;

    ISO_TRY(iso_conv_param_of(node, rank - 2, &w->dims[2], &param));

    const int64_t channels = x->dims[1] / param.groups;
    const int64_t taps = iso__dims_product(w->dims, 2, rank);
    const int64_t in_positions = iso__dims_product(x->dims, 2, rank);
    const int64_t positions = iso__dims_product(output->dims, 2, rank);
    const int64_t rows = output->dims[1] / param.groups;

    set_blocks(c, channels, taps);
    c->window =
        iso__cuda_window_of(&param.window, &x->dims[2], &output->dims[2]);
    c->rows = (int32_t)rows;
    c->cols = (int32_t)(output->dims[0] * positions);
    c->a_row = (int32_t)(channels * taps);
    c->a_inner = 1;
    c->a_is_inner = 1;
    c->b_inner = (int32_t)in_positions;
    c->b_image = (int32_t)(x->dims[1] * in_positions);
    c->positions = iso__cuda_divisor_of(positions);
    c->y_image = (int32_t)(output->dims[1] * positions);
    c->y_row = (int32_t)positions;
    c->n_z = (int32_t)param.groups;
    c->z_rank = 1;
    c->z_dims[0] = c->n_z;
    c->z_a[0] = (int32_t)(rows * channels * taps);
    c->z_b[0] = (int32_t)(channels * in_positions);
    c->z_y = (int32_t)(rows * positions);
    c->z_bias = (int32_t)rows;
    c->bias_by_row = 1;
    c->columns = columns_of_conv(c);
    return ISO_OK;
}

/* ---- Matrices ---- */

/* Steps of a product of matrices. */
static void set_matrices(iso__cuda_contract_t *c, int64_t rows, int64_t inner,
                         int64_t cols, int64_t b_col)
{
    set_blocks(c, inner, 1);
    c->rows = (int32_t)rows;
    c->cols = (int32_t)cols;
    c->positions = iso__cuda_divisor_of(cols);
    c->y_row = (int32_t)cols;
    for (int axis = 0; axis < ISO__CUDA_SPATIAL; axis++) {
        c->window.in[axis] = c->window.kernel[axis] = c->window.strides[axis] =
            1;
        c->window.dilations[axis] = 1;
        c->window.out[axis] = iso__cuda_divisor_of(1);
    }
    c->window.out[ISO__CUDA_SPATIAL - 1] = c->positions;
    c->window.strides[ISO__CUDA_SPATIAL - 1] = (int32_t)b_col;
    c->n_z = 1;
    c->z_y = (int32_t)(rows * cols);
}

static void choose_columns(iso__cuda_contract_t *c)
{
    const int32_t b_col = c->window.strides[ISO__CUDA_SPATIAL - 1];
    bool are_four = b_col == 1 && c->b_inner % 4 == 0 && c->cols % 4 == 0 &&
                    is_aligned(c->b);

    for (int axis = 0; axis < c->z_rank; axis++) {
        are_four = are_four && c->z_b[axis] % 4 == 0;
    }
    c->a_is_inner = c->a_inner == 1;
    c->columns = ISO__CUDA_COLUMNS_ONE;
    if (are_four) {
        c->columns = ISO__CUDA_COLUMNS_FOUR;
    } else if (c->b_inner == 1 && b_col != 1) {
        c->columns = ISO__CUDA_COLUMNS_INNER;
    }
}

/* Follow the matrices of an operand through the batch dims. */
static void add_matrices(iso__walk_t *walk, const iso_tensor_t *tensor)
{
    const int matrix = tensor->rank > 1 ? 2 : 1;
    const int64_t elements =
        iso__dims_product(tensor->dims, tensor->rank - matrix, tensor->rank);
    iso_tensor_t batch = *tensor;

    batch.rank = tensor->rank - matrix;

    const int array = iso__walk_add_broadcast(walk, &batch);

    for (int axis = 0; axis < walk->rank; axis++) {
        walk->step[array][axis] *= elements;
    }
}

static void set_batch(iso__cuda_contract_t *c, const iso__walk_t *walk)
{
    c->n_z = (int32_t)iso__walk_count(walk);
    c->z_rank = walk->rank;
    for (int axis = 0; axis < walk->rank; axis++) {
        c->z_dims[axis] = (int32_t)walk->dims[axis];
        c->z_a[axis] = (int32_t)walk->step[0][axis];
        c->z_b[axis] = (int32_t)walk->step[1][axis];
    }
}

/* One matrix b and matrices a that follow each other: one matrix a. */
static bool are_rows(const iso__walk_t *walk, int64_t rows, int64_t inner)
{
    return walk->rank == 0 || (walk->rank == 1 && walk->step[1][0] == 0 &&
                               walk->step[0][0] == rows * inner);
}

static void matmul_of(const iso_tensor_t *a, const iso_tensor_t *b,
                      const iso_tensor_t *output, iso__cuda_contract_t *c)
{
    const int batch_rank = output->rank - (a->rank > 1) - (b->rank > 1);
    const int64_t inner = a->dims[a->rank - 1];
    const int64_t rows = a->rank > 1 ? a->dims[a->rank - 2] : 1;
    const int64_t cols = b->rank > 1 ? b->dims[b->rank - 1] : 1;
    iso__walk_t walk;

    iso__walk_begin(&walk, batch_rank, output->dims);
    add_matrices(&walk, a);
    add_matrices(&walk, b);
    iso__walk_merge(&walk);
    if (are_rows(&walk, rows, inner)) {
        set_matrices(c, rows * iso__walk_count(&walk), inner, cols, 1);
    } else {
        set_matrices(c, rows, inner, cols, 1);
        set_batch(c, &walk);
    }
    c->a_row = (int32_t)inner;
    c->a_inner = 1;
    c->b_inner = (int32_t)cols;
    choose_columns(c);
}

static void gemm_of(const iso_gemm_param_t *param, const iso_tensor_t *a,
                    const iso_tensor_t *b, iso__cuda_contract_t *c)
{
    const int64_t rows = a->dims[param->trans_a ? 1 : 0];
    const int64_t inner = a->dims[param->trans_a ? 0 : 1];
    const int64_t cols = b->dims[param->trans_b ? 0 : 1];

    set_matrices(c, rows, inner, cols, param->trans_b ? inner : 1);
    c->a_row = (int32_t)(param->trans_a ? 1 : inner);
    c->a_inner = (int32_t)(param->trans_a ? rows : 1);
    c->b_inner = (int32_t)(param->trans_b ? 1 : cols);
    choose_columns(c);
}

bool iso__cuda_gemm_is_plain(const iso_gemm_param_t *param,
                             const iso_tensor_t *c, int64_t cols)
{
    if (param->alpha != 1.0F) {
        return false;
    }
    return c == NULL || (param->beta == 1.0F && iso_tensor_count(c) == cols &&
                         c->rank > 0 && c->dims[c->rank - 1] == cols);
}

iso_status_t iso__cuda_contract_of(const iso_node_t *node,
                                   const iso_tensor_t *const *inputs,
                                   const iso_tensor_t *output,
                                   iso__cuda_contract_t *contract_out)
{
    iso__cuda_contract_t *c = contract_out;
    const iso_tensor_t *bias = iso__cuda_input(node, inputs, 2);
    iso_gemm_param_t param;

    *c = (iso__cuda_contract_t){.a = inputs[0]->data,
                                .b = inputs[1]->data,
                                .bias = bias != NULL ? bias->data : NULL,
                                .y = output->data};
    c->elements = (int32_t)iso_tensor_count(output);
    c->activation.op = ISO_OP_COUNT;
    switch (node->op) {
    case ISO_OP_CONV:
        c->a = inputs[1]->data;
        c->b = inputs[0]->data;
        ISO_TRY(conv_of(node, inputs, output, c));
        break;
    case ISO_OP_MATMUL:
        matmul_of(inputs[0], inputs[1], output, c);
        break;
    default:
        ISO_TRY(iso_gemm_param_of(node, &param));
        gemm_of(&param, inputs[0], inputs[1], c);
        if (!iso__cuda_gemm_is_plain(&param, bias, c->cols)) {
            c->bias = NULL;
        }
        break;
    }
    choose(c);
    return ISO_OK;
}
