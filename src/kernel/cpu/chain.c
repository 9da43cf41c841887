#include "kernel/cpu/chain.h"

#include "kernel/cpu/light_impl.h"
#include "kernel/cpu/light_isa.h"

#include <math.h>
#include <omp.h>
#include <string.h>

_Static_assert((int)ISO_CHAIN_MOST *(int)ISO_CHAIN_ROW_MOST <=
                   (int)ISO_SPACE_NARROW,
               "a slot for each link fits");

typedef iso__chain_operand_t operand_t;
typedef iso__chain_item_t item_t;
typedef iso__chain_t chain_t;

/* A piece: so many rows from the first one, their columns from the first. */
typedef struct piece {
    int64_t row;
    int64_t rows;
    int64_t column;
    int64_t columns;
    float *slots;
    int64_t room;       /* elements of a slot */
    const float *block; /* of the piece's rows */
} piece_t;

/* Where what a link makes of a piece goes. */
typedef struct place {
    float *data;
    int64_t row; /* elements to the next row */
} place_t;

/* What a link makes of the rows of a piece: `width` numbers each. */
static int64_t width_in(const chain_t *chain, const piece_t *piece,
                        int64_t width)
{
    return width == chain->n ? piece->columns : 1;
}

/* Where the row that a piece begins with finds its own. */
static int64_t row_at(const chain_t *chain, const piece_t *piece,
                      const iso_chain_rows_t *rows)
{
    if (rows->count == 1) {
        return 0;
    }
    if (rows->inner == 1 && rows->count == chain->rows) {
        return piece->row * rows->width;
    }
    return piece->row / rows->inner % rows->count * rows->width;
}

/* Rows of an operand in this piece; step 0 where a row is one number. */
static iso__plane_t plane_of(const chain_t *chain, const piece_t *piece,
                             const operand_t *operand)
{
    const iso_chain_rows_t *rows = &operand->rows;
    const bool is_row = rows->width == chain->n && chain->n > 1;

    if (operand->data == NULL) {
        return (iso__plane_t){
            .data = operand->slot == ISO__CHAIN_BLOCK
                        ? piece->block
                        : piece->slots + operand->slot * piece->room,
            .row = is_row ? piece->columns : 1,
            .step = is_row ? 1 : 0,
        };
    }
    return (iso__plane_t){
        .data = operand->data + row_at(chain, piece, rows) +
                (is_row ? piece->column : 0),
        .row = rows->count == 1 ? 0 : rows->width,
        .step = is_row ? 1 : 0,
    };
}

/* A power of two whose reciprocal is one, too: x / y is x times that, to the
 * last bit. */
static bool is_power_of_2(float y)
{
    int exponent;

    return isfinite(y) && fabsf(frexpf(y, &exponent)) == 0.5F &&
           exponent > -120 && exponent < 120;
}

/* z of a binary link; the exponents 2 and 0.5 of all need no powers. */
static void run_binary(const chain_t *chain, const piece_t *piece,
                       const item_t *item, const iso__plane_t planes[2],
                       place_t z)
{
    const iso__light_isa_t *isa = chain->cpu->light.isa;
    iso__plane_t x = planes[0];
    iso__plane_t y = planes[1];
    int64_t rows = piece->rows;
    int64_t n = width_in(chain, piece, item->width);
    iso_op_t op = item->op;
    float reciprocal;

    if (n == 1 || (x.row == n * x.step && y.row == n * y.step && z.row == n)) {
        /* one number of each row: the rows are the elements; or all rows go
         * on as one does */
        x.step = n == 1 ? x.row : x.step;
        y.step = n == 1 ? y.row : y.step;
        n *= rows;
        rows = 1;
    }
    if (op == ISO_OP_POW && y.row == 0 && y.step == 0) {
        if (*y.data == 2.0F) {
            op = ISO_OP_MUL;
            y = x;
        } else if (*y.data == 0.5F && rows == 1 && x.step == 1) {
            isa->unary(ISO_OP_SQRT, &item->coeff, x.data, z.data, n);
            return;
        }
    }
    if (op == ISO_OP_DIV && y.row == 0 && y.step == 0 &&
        is_power_of_2(*y.data)) {
        reciprocal = 1.0F / *y.data;
        op = ISO_OP_MUL;
        y.data = &reciprocal;
    }
    isa->binary_rows(op, &x, &y, z.data, z.row, rows, n);
}

static void reduce_row(const iso__light_isa_t *isa, const item_t *item,
                       const float *x, float *z)
{
    const float count = (float)item->reduced;

    *z = isa->reduce_row(item->op, x, item->reduced);
    if (item->op == ISO_OP_REDUCE_MEAN) {
        isa->binary(ISO_OP_DIV, z, 1, &count, 0, z, 1);
    }
}

static void norm_row(const iso__light_isa_t *isa, const item_t *item,
                     const iso__plane_t *planes, int64_t row, float *z)
{
    const int64_t n = item->reduced;
    const float *x = planes[0].data + row * planes[0].row;
    const float mean = isa->reduce_row(ISO_OP_REDUCE_SUM, x, n) / (float)n;
    const float variance = isa->squares_row(x, mean, n) / (float)n;
    const iso__norm_row_t norm = {
        .mean = mean,
        .deviation = sqrtf(variance + item->epsilon),
        .scale = planes[1].data,
        .bias = item->n_operands > 2 ? planes[2].data : NULL,
        .step = 1,
    };

    isa->norm_row(&norm, x, z, n);
}

static void unary_rows(const chain_t *chain, const piece_t *piece,
                       const item_t *item, const iso__plane_t *x, float *z)
{
    const iso__light_isa_t *isa = chain->cpu->light.isa;
    const int64_t n = width_in(chain, piece, item->width);

    if (piece->rows == 1 || x->row == n) {
        isa->unary(item->op, &item->coeff, x->data, z, piece->rows * n);
        return;
    }
    for (int64_t r = 0; r < piece->rows; r++) {
        isa->unary(item->op, &item->coeff, x->data + r * x->row, z + r * n, n);
    }
}

/* Links that need a whole row at a time. */
static void run_rows(const chain_t *chain, const piece_t *piece,
                     const item_t *item, const iso__plane_t *planes, float *z)
{
    const iso__light_isa_t *isa = chain->cpu->light.isa;
    const int64_t n = item->reduced;

    if (item->kind == ISO_CHAIN_SOFTMAX) {
        isa->softmax_rows(item->op == ISO_OP_LOG_SOFTMAX, &planes[0], z,
                          piece->rows, n);
        return;
    }
    for (int64_t r = 0; r < piece->rows; r++) {
        const float *x = planes[0].data + r * planes[0].row;

        if (item->kind == ISO_CHAIN_REDUCE) {
            reduce_row(isa, item, x, z + r);
        } else {
            norm_row(isa, item, planes, r, z + r * n);
        }
    }
}

/* z: rows that follow each other, but for a binary link. */
static void run_item(const chain_t *chain, const piece_t *piece,
                     const item_t *item, place_t z)
{
    iso__plane_t planes[ISO_CHAIN_OPERANDS];

    for (int k = 0; k < ISO_CHAIN_OPERANDS; k++) {
        planes[k] = plane_of(chain, piece,
                             &item->operands[k < item->n_operands ? k : 0]);
    }
    if (item->kind == ISO_CHAIN_BINARY) {
        run_binary(chain, piece, item, planes, z);
    } else if (item->kind == ISO_CHAIN_UNARY) {
        unary_rows(chain, piece, item, planes, z.data);
    } else {
        run_rows(chain, piece, item, planes, z.data);
    }
}

static place_t slot_of(const chain_t *chain, const piece_t *piece,
                       const item_t *item)
{
    return (place_t){
        .data = piece->slots + item->slot * piece->room,
        .row = width_in(chain, piece, item->width),
    };
}

/* The last link, to the output; by way of a slot where the rows of the piece
 * do not follow each other there. */
static void run_last(const chain_t *chain, const piece_t *piece,
                     const item_t *last)
{
    const place_t slot = slot_of(chain, piece, last);
    const place_t out = {
        .data = chain->out + piece->row * last->width + piece->column,
        .row = last->width,
    };

    if (piece->rows == 1 || slot.row == out.row ||
        (last->kind == ISO_CHAIN_BINARY && slot.row > 1)) {
        run_item(chain, piece, last, out);
        return;
    }
    run_item(chain, piece, last, slot);
    for (int64_t r = 0; r < piece->rows; r++) {
        memcpy(out.data + r * out.row, slot.data + r * slot.row,
               (size_t)slot.row * sizeof *out.data);
    }
}

static void run_piece(const chain_t *chain, const piece_t *piece)
{
    const int last = chain->n_items - 1;

    for (int k = chain->first; k < last; k++) {
        const item_t *item = &chain->items[k];

        run_item(chain, piece, item, slot_of(chain, piece, item));
    }
    run_last(chain, piece, &chain->items[last]);
}

static void run_part(const void *arg, int64_t begin, int64_t end)
{
    const chain_t *chain = arg;
    const int64_t of_row = (chain->n + chain->columns - 1) / chain->columns;
    float *slots = chain->cpu->space[omp_get_thread_num()].narrow;

    for (int64_t i = begin; i < end; i++) {
        piece_t piece = {
            .row = i / of_row * chain->many,
            .rows = chain->many,
            .column = i % of_row * chain->columns,
            .columns = chain->columns,
            .slots = slots,
            .room = chain->many * chain->columns,
        };

        if (piece.rows > chain->rows - piece.row) {
            piece.rows = chain->rows - piece.row;
        }
        if (piece.columns > chain->n - piece.column) {
            piece.columns = chain->n - piece.column;
        }
        run_piece(chain, &piece);
    }
}

/* Pieces of all rows. */
static void split(const chain_t *chain, int64_t pieces,
                  iso__light_part_fn *part)
{
    iso__light_split(&chain->cpu->light, pieces,
                     (size_t)chain->rows * (size_t)chain->n * sizeof(float),
                     part, chain);
}

void iso__chain_run(const iso__chain_t *chain)
{
    split(chain,
          (chain->rows + chain->many - 1) / chain->many *
              ((chain->n + chain->columns - 1) / chain->columns),
          run_part);
}

/* Rows of a block that are done at once. */
static int64_t rows_of_piece(const chain_t *chain, int64_t columns)
{
    return columns < ISO__CHAIN_PIECE && chain->is_even
               ? ISO__CHAIN_PIECE / columns
               : 1;
}

void iso__chain_run_block(const iso__chain_t *chain,
                          const iso__chain_block_t *block, iso_space_t *space)
{
    const int64_t many = rows_of_piece(chain, block->columns);

    for (int64_t row = 0; row < block->rows; row += many) {
        const int64_t left = block->rows - row;
        const piece_t piece = {
            .row = block->row + row,
            .rows = left < many ? left : many,
            .column = block->column,
            .columns = block->columns,
            .slots = space->narrow,
            .room = many * block->columns,
            .block = block->values + row * block->columns,
        };

        run_piece(chain, &piece);
    }
}

/* Rows [begin, end): some at a time are taken from the output first. */
static void run_rows_behind(const void *arg, int64_t begin, int64_t end)
{
    const chain_t *chain = arg;
    iso_space_t *space = &chain->cpu->space[omp_get_thread_num()];
    const int64_t many = rows_of_piece(chain, chain->n);

    for (int64_t row = begin; row < end; row += many) {
        const int64_t rows = end - row < many ? end - row : many;
        const iso__chain_block_t block = {
            .values = space->partials,
            .row = row,
            .rows = rows,
            .columns = chain->n,
        };

        memcpy(space->partials, chain->out + row * chain->n,
               (size_t)(rows * chain->n) * sizeof *chain->out);
        iso__chain_run_block(chain, &block, space);
    }
}

void iso__chain_run_behind(const iso__chain_t *chain)
{
    split(chain, chain->rows, run_rows_behind);
}
