#include "cut_cases_impl.h"

/* The same factors, put together in two ways. */
void cut_make_reshape(cut_case_t *c)
{
    static const int64_t sizes[] = {1, 2, 2, 3, 5};
    const int count = (int)cut_between(c, 2, 5);
    int64_t dims[2][ISO_MAX_RANK];
    int rank[2] = {0, 0};

    for (int i = 0; i < count; i++) {
        const int64_t factor = sizes[cut_between(c, 0, 4)];

        for (int side = 0; side < 2; side++) {
            if (i == 0 || cut_coin(c)) {
                dims[side][rank[side]++] = factor;
            } else {
                dims[side][rank[side] - 1] *= factor;
            }
        }
    }
    cut_case_operand(c, cut_any_dtype(c), rank[0], dims[0]);
    if (cut_coin(c)) {
        dims[1][cut_between(c, 0, rank[1] - 1)] = -1;
    }
    if (cut_coin(c)) {
        test_call_dims(&c->call, "shape", rank[1], dims[1]);
    } else {
        test_call_ints(&c->call, "shape", rank[1], dims[1]);
    }
}

void cut_make_transpose(cut_case_t *c)
{
    const int rank = (int)cut_between(c, 1, 4);
    int64_t dims[ISO_MAX_RANK];
    int64_t perm[ISO_MAX_RANK];

    cut_any_dims(c, rank, dims);
    cut_case_operand(c, cut_any_dtype(c), rank, dims);
    for (int i = 0; i < rank; i++) {
        const int64_t at = cut_between(c, 0, i);

        perm[i] = perm[at];
        perm[at] = i;
    }
    if (cut_coin(c)) {
        test_call_ints(&c->call, "perm", rank, perm);
    }
}

void cut_make_concat(cut_case_t *c)
{
    const int rank = (int)cut_between(c, 2, 4);
    const int axis = (int)cut_between(c, 0, rank - 1);
    const int count = (int)cut_between(c, 1, 4);
    const iso_dtype_t dtype = cut_any_dtype(c);
    int64_t dims[ISO_MAX_RANK];

    cut_any_dims(c, rank, dims);
    for (int i = 0; i < count; i++) {
        dims[axis] = cut_between(c, i == 0, 4);
        cut_case_operand(c, dtype, rank, dims);
    }
    cut_add_int(c, "axis", cut_coin(c) ? axis : axis - rank);
}

/* Every way to say "all of it", and real slices. */
void cut_make_slice(cut_case_t *c)
{
    const int rank = (int)cut_between(c, 2, 4);
    int64_t dims[ISO_MAX_RANK];
    int64_t starts[ISO_MAX_RANK] = {0};
    int64_t ends[ISO_MAX_RANK] = {0};
    int64_t axes[ISO_MAX_RANK] = {0};
    int64_t steps[ISO_MAX_RANK] = {0};

    cut_any_dims(c, rank, dims);
    for (int i = 0; i < rank; i++) {
        axes[i] = cut_coin(c) ? i : i - rank;
        steps[i] = 1;
        starts[i] = cut_coin(c) ? 0 : -dims[i] - cut_between(c, 0, 3);
        ends[i] = cut_coin(c) ? dims[i] : INT64_MAX - cut_between(c, 0, 3);
        if (cut_between(c, 0, 2) == 0) {
            const bool backwards = cut_coin(c);

            steps[i] = backwards ? -1 : cut_between(c, 1, 2);
            starts[i] =
                backwards ? dims[i] - 1 : cut_between(c, 0, dims[i] - 1);
            ends[i] = backwards ? -dims[i] - 1 : dims[i];
        }
    }
    cut_case_operand(c, cut_any_dtype(c), rank, dims);
    test_call_dims(&c->call, "starts", rank, starts);
    test_call_dims(&c->call, "ends", rank, ends);
    test_call_ints(&c->call, "axes", rank, axes);
    test_call_ints(&c->call, "steps", rank, steps);
}

void cut_make_pad(cut_case_t *c)
{
    static const char *const modes[] = {"constant", "reflect", "edge"};
    const int rank = (int)cut_between(c, 2, 4);
    int64_t dims[ISO_MAX_RANK];
    int64_t pads[8] = {0};

    for (int i = 0; i < rank; i++) {
        dims[i] = cut_between(c, 3, 5);
        if (cut_coin(c)) {
            pads[i] = cut_between(c, -1, 2);
            pads[rank + i] = cut_between(c, -1, 2);
        }
    }
    cut_case_operand(c, cut_any_dtype(c), rank, dims);
    test_call_ints(&c->call, "pads", 2 * rank, pads);
    test_call_text(&c->call, "mode", modes[cut_between(c, 0, 2)]);
    cut_add_float(c, "value", 2.5);
}

/* Indices into an axis of dim elements, from both ends. */
static void index_operand(cut_case_t *c, int rank, const int64_t *dims,
                          int64_t dim)
{
    const int64_t count = cut_product(rank, dims);
    int64_t *data = cut_case_data(c, ISO_DTYPE_I64, count);

    for (int64_t i = 0; i < count; i++) {
        data[i] = cut_between(c, -dim, dim - 1);
    }
    test_call_input(&c->call, ISO_DTYPE_I64, rank, dims, data);
}

void cut_make_gather(cut_case_t *c)
{
    const int rank = (int)cut_between(c, 1, 3);
    const int axis = (int)cut_between(c, 0, rank - 1);
    const int rank_indices = (int)cut_between(c, rank == 1, 2);
    int64_t dims[ISO_MAX_RANK];
    int64_t indices[ISO_MAX_RANK];

    cut_any_dims(c, rank, dims);
    cut_any_dims(c, rank_indices, indices);
    cut_case_operand(c, cut_any_dtype(c), rank, dims);
    index_operand(c, rank_indices, indices, dims[axis]);
    cut_add_int(c, "axis", cut_coin(c) ? axis : axis - rank);
}

void cut_make_gather_elements(cut_case_t *c)
{
    const int rank = (int)cut_between(c, 1, 3);
    const int axis = (int)cut_between(c, 0, rank - 1);
    int64_t dims[ISO_MAX_RANK];
    int64_t indices[ISO_MAX_RANK];

    cut_any_dims(c, rank, dims);
    for (int i = 0; i < rank; i++) {
        indices[i] = cut_between(c, 1, i == axis ? 7 : dims[i]);
    }
    cut_case_operand(c, cut_any_dtype(c), rank, dims);
    index_operand(c, rank, indices, dims[axis]);
    cut_add_int(c, "axis", cut_coin(c) ? axis : axis - rank);
}

void cut_make_expand(cut_case_t *c)
{
    const int rank = (int)cut_between(c, 1, 4);
    const int skip = (int)cut_between(c, 0, rank);
    int64_t dims[ISO_MAX_RANK];

    cut_any_dims(c, rank, dims);
    cut_broadcast_operand(c, cut_any_dtype(c), rank, dims);
    /* The shape may leave out what x has. */
    if (skip > 0 && c->call.inputs[0].rank == rank) {
        for (int i = 0; i < skip; i++) {
            dims[i] = c->call.inputs[0].dims[i];
        }
        test_call_dims(&c->call, "shape", rank - skip, &dims[skip]);
    } else {
        test_call_dims(&c->call, "shape", rank, dims);
    }
}

void cut_make_tile(cut_case_t *c)
{
    const int rank = (int)cut_between(c, 1, 4);
    int64_t dims[ISO_MAX_RANK];
    int64_t repeats[ISO_MAX_RANK] = {0};

    cut_any_dims(c, rank, dims);
    for (int i = 0; i < rank; i++) {
        repeats[i] = cut_between(c, 1, 2);
    }
    cut_case_operand(c, cut_any_dtype(c), rank, dims);
    test_call_ints(&c->call, "repeats", rank, repeats);
}

void cut_make_blocks(cut_case_t *c)
{
    const int64_t block = cut_between(c, 1, 3);
    const bool to_space = c->call.op == ISO_OP_DEPTH_TO_SPACE;
    const int64_t space = to_space ? 1 : block;
    const int64_t dims[4] = {
        cut_between(c, 1, 3),
        cut_between(c, 1, 3) * (to_space ? block * block : 1),
        cut_between(c, 1, 5) * space, cut_between(c, 1, 5) * space};

    cut_case_operand(c, cut_any_dtype(c), 4, dims);
    cut_add_int(c, "block", block);
    if (to_space) {
        test_call_text(&c->call, "mode", cut_coin(c) ? "dcr" : "crd");
    }
}

void cut_make_resize(cut_case_t *c)
{
    static const char *const places[] = {"half_pixel", "pytorch_half_pixel",
                                         "align_corners", "asymmetric"};
    static const char *const roundings[] = {
        "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    const bool linear = cut_coin(c);
    const int rank = (int)cut_between(c, 2, 4);
    int64_t dims[ISO_MAX_RANK];
    int64_t shape[ISO_MAX_RANK];
    double scales[ISO_MAX_RANK];

    cut_any_dims(c, rank, dims);
    for (int i = 0; i < rank; i++) {
        shape[i] = cut_coin(c) ? dims[i] : cut_between(c, 1, 9);
        scales[i] = (double)shape[i] / (double)dims[i];
        if (shape[i] == dims[i] && cut_between(c, 0, 3) == 0) {
            scales[i] = 1.1;
        }
    }
    cut_case_operand(c, linear ? cut_real_dtype(c) : cut_any_dtype(c), rank,
                     dims);
    test_call_dims(&c->call, "shape", rank, shape);
    test_call_text(&c->call, "mode", linear ? "linear" : "nearest");
    test_call_text(&c->call, "coordinates", places[cut_between(c, 0, 3)]);
    test_call_text(&c->call, "nearest", roundings[cut_between(c, 0, 3)]);
    if (cut_coin(c)) {
        test_call_floats(&c->call, "scales", rank, scales);
    }
}
