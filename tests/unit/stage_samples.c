#include "stage_samples.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "graph_text.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "plan/shard/cut.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 10, MOST_COUNT = 4096, MOST_WORKERS = 16 };

iso_graph_t *stage_of_text(const char *text)
{
    iso_graph_t *stage = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&stage), ISO_OK);
    if (graph_text_add(stage, text, NULL) != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
        CU_FAIL_FATAL("a stage that cannot be read");
    }
    return stage;
}

/* -- random stages -- */

/* A stage that grows by texts of one node each. */
typedef struct growing {
    uint64_t state;
    iso_graph_t *stage;
    int number; /* for names */
    char text[512];
} growing_t;

static int64_t pick(growing_t *growing, int64_t least, int64_t most)
{
    return test_random_int(&growing->state, least, most);
}

/* Add the node that the text says; false when the op does not fit. */
static bool grow_text(const growing_t *growing)
{
    return graph_text_add(growing->stage, growing->text, NULL) == ISO_OK;
}

#define GROW(growing, ...)                                                \
    ((void)snprintf((growing)->text, sizeof(growing)->text, __VA_ARGS__), \
     grow_text(growing))

/* A late value that was computed, or the input; half of them images. */
static const iso_node_t *some_value(growing_t *growing)
{
    const int least_rank = pick(growing, 0, 1) == 0 ? 4 : 0;
    const int32_t count = iso_graph_node_count(growing->stage);
    const iso_node_t *node = NULL;

    for (int32_t id = count - 1; node == NULL && id >= 0; id--) {
        const iso_node_t *found = iso_graph_node(growing->stage, id);

        if (found->dtype == ISO_DTYPE_F32 && found->shape.rank >= least_rank &&
            (!iso_node_is_leaf(found) || found->op == ISO_OP_INPUT) &&
            (pick(growing, 0, 3) > 0 || id == 0)) {
            node = found;
        }
    }
    return node;
}

static long long dim(const iso_node_t *node, int axis)
{
    return (long long)node->shape.dim[axis].size;
}

static bool grow_conv(growing_t *growing, const iso_node_t *x)
{
    const int n = growing->number;
    const long long channels = dim(x, 1);
    const bool grouped = channels % 2 == 0 && pick(growing, 0, 2) == 0;
    const int kernel = pick(growing, 0, 1) == 0 ? 1 : 3;
    const int pad = (int)pick(growing, 0, 2);

    return GROW(growing, "p%d = param f32[%d,%lld,%d,%d]", n,
                (int)pick(growing, 2, 4) * 2, channels / (grouped ? 2 : 1),
                kernel, kernel) &&
           GROW(growing,
                "n%d = conv(%s, p%d) strides=i:%d,1 pads=i:%d,%d,%d,%d "
                "groups=i:%d activation=t:relu",
                n, x->name, n, (int)pick(growing, 1, 2), pad, pad, pad, pad,
                grouped ? 2 : 1);
}

static bool grow_pool(growing_t *growing, const iso_node_t *x)
{
    const char *op = pick(growing, 0, 1) == 0 ? "max_pool" : "avg_pool";

    return GROW(growing,
                "n%d = %s(%s) kernel=i:3,2 strides=i:%d,2 pads=i:1,0,1,1",
                growing->number, op, x->name, (int)pick(growing, 1, 2));
}

static bool grow_matmul(growing_t *growing, const iso_node_t *x)
{
    const int n = growing->number;
    const long long depth = dim(x, x->shape.rank - 1);

    if (pick(growing, 0, 1) == 0 || x->shape.rank != 2) {
        return GROW(growing, "p%d = param f32[%lld,%d]", n, depth,
                    (int)pick(growing, 1, 7)) &&
               GROW(growing, "n%d = matmul(%s, p%d)", n, x->name, n);
    }
    return GROW(growing, "p%d = param f32[5,%lld]", n, depth) &&
           GROW(growing, "b%d = constant f32[5] 1,2,3,4,5", n) &&
           GROW(growing,
                "n%d = gemm(%s, p%d, b%d) trans_b=i:1 "
                "activation=t:tanh",
                n, x->name, n, n);
}

/* Attention without weights: softmax(x x') x. */
static bool grow_attention(growing_t *growing, const iso_node_t *x)
{
    const int n = growing->number;
    const char *perm = x->shape.rank == 2   ? "1,0"
                       : x->shape.rank == 3 ? "0,2,1"
                                            : "0,1,3,2";

    return GROW(growing, "t%d = transpose(%s) perm=i:%s", n, x->name, perm) &&
           GROW(growing, "s%d = matmul(%s, t%d)", n, x->name, n) &&
           GROW(growing, "q%d = softmax(s%d) axis=i:-1", n, n) &&
           GROW(growing, "n%d = matmul(q%d, %s)", n, n, x->name);
}

static bool grow_reshape(growing_t *growing, const iso_node_t *x)
{
    const int n = growing->number;
    const int rank = x->shape.rank;

    if (rank == 4) {
        return GROW(growing, "n%d = reshape(%s) shape=d:%lld,%lld", n, x->name,
                    dim(x, 0), dim(x, 1) * dim(x, 2) * dim(x, 3));
    }
    if (rank == 3) {
        return GROW(growing, "n%d = reshape(%s) shape=d:%lld,%lld", n, x->name,
                    dim(x, 0) * dim(x, 1), dim(x, 2));
    }
    for (int heads = 6; heads > 1; heads--) {
        if (dim(x, 1) % heads == 0) {
            return GROW(growing, "r%d = reshape(%s) shape=d:%lld,%d,%lld", n,
                        x->name, dim(x, 0), heads, dim(x, 1) / heads) &&
                   GROW(growing, "n%d = transpose(r%d) perm=i:1,0,2", n, n);
        }
    }
    return false;
}

static bool grow_pair(growing_t *growing, const iso_node_t *x)
{
    const int n = growing->number;
    const iso_node_t *y = some_value(growing);

    switch (pick(growing, 0, 3)) {
    case 0:
        return GROW(growing, "n%d = add(%s, %s)", n, x->name, y->name);
    case 1:
        return GROW(growing, "n%d = concat(%s, %s) axis=i:%d", n, x->name,
                    y->name, (int)pick(growing, 0, x->shape.rank - 1));
    case 2:
        return GROW(growing, "p%d = param f32[%lld]", n,
                    dim(x, x->shape.rank - 1)) &&
               GROW(growing, "n%d = mul(p%d, %s)", n, n, x->name);
    default:
        return GROW(growing, "c%d = constant f32[] 0.5", n) &&
               GROW(growing, "n%d = sub(%s, c%d)", n, x->name, n);
    }
}

static bool grow_move(growing_t *growing, const iso_node_t *x)
{
    const int n = growing->number;
    const int axis = (int)pick(growing, 0, x->shape.rank - 1);

    switch (pick(growing, 0, 3)) {
    case 0:
        return GROW(growing,
                    "n%d = slice(%s) starts=d:1 ends=d:%lld "
                    "axes=i:%d steps=i:%d",
                    n, x->name, dim(x, axis) + 1, axis,
                    (int)pick(growing, 1, 2));
    case 1:
        return GROW(growing, "i%d = constant i64[3] 0,%lld,0", n,
                    dim(x, axis) - 1) &&
               GROW(growing, "n%d = gather(%s, i%d) axis=i:%d", n, x->name, n,
                    axis);
    case 2:
        return GROW(growing, "n%d = reduce_mean(%s) axes=i:%d keep_dims=i:1", n,
                    x->name, axis);
    default:
        return GROW(growing, "n%d = softmax(%s) axis=i:%d", n, x->name, axis);
    }
}

static bool grow_some(growing_t *growing, const iso_node_t *x)
{
    const bool image = x->shape.rank == 4;

    switch (pick(growing, 0, 7)) {
    case 0:
    case 1:
        return image ? grow_conv(growing, x) : grow_matmul(growing, x);
    case 2:
        return image ? grow_pool(growing, x) : grow_attention(growing, x);
    case 3:
        return grow_reshape(growing, x);
    case 4:
        return grow_pair(growing, x);
    case 5:
        return grow_move(growing, x);
    case 6:
        return grow_matmul(growing, x);
    default:
        return GROW(growing, "n%d = sigmoid(%s)", growing->number, x->name);
    }
}

/* A value without elements, or too many, is not gone on with. */
static bool is_usable(const iso_node_t *node)
{
    const int64_t count = iso_shape_count(&node->shape);

    return count > 0 && count <= MOST_COUNT;
}

/* What nobody reads, so that nothing is computed for nothing; and some. */
static void return_outputs(growing_t *growing)
{
    const int32_t count = iso_graph_node_count(growing->stage);

    for (int32_t id = 0; id < count; id++) {
        const char *name = iso_graph_node(growing->stage, id)->name;
        bool read = false;

        for (int32_t k = id + 1; k < count; k++) {
            const iso_node_t *reader = iso_graph_node(growing->stage, k);

            for (int i = 0; i < reader->n_inputs; i++) {
                read = read || reader->inputs[i] == id;
            }
        }
        if (!read || pick(growing, 0, 7) == 0) {
            CU_ASSERT(GROW(growing, "return %s", name));
        }
    }
}

iso_graph_t *stage_random(uint64_t *state, int64_t batch)
{
    growing_t growing = {.state = *state};
    const int channels = 2 * (int)pick(&growing, 2, 5);
    const int height = (int)pick(&growing, 3, 9);
    const int width = (int)pick(&growing, 3, 9);

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&growing.stage), ISO_OK);
    CU_ASSERT(GROW(&growing, "x = input f32[%lld,%d,%d,%d]", (long long)batch,
                   channels, height, width));
    /* Sums of several blocks: over channels, and over all of a sample. */
    CU_ASSERT(GROW(&growing, "z = input f32[%lld,%d,3,3]", (long long)batch,
                   (int)pick(&growing, 30, 50) * 2));
    CU_ASSERT(grow_reshape(&growing, iso_graph_node(growing.stage, 1)));
    growing.number++;
    while (growing.number < STEPS) {
        const iso_node_t *x = some_value(&growing);

        if (is_usable(x)) {
            (void)grow_some(&growing, x);
        }
        growing.number++;
    }
    return_outputs(&growing);
    *state = growing.state;
    return growing.stage;
}

/* -- cuts -- */

iso_stage_cut_t *stage_cut_one(const iso_graph_t *stage, int n_workers)
{
    iso_stage_cut_t *cut = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_stage_cut_create(stage, n_workers, &cut), ISO_OK);
    return cut;
}

void stage_split(iso_stage_cut_t *cut, const iso_graph_t *stage,
                 const char *name, int axis, const int64_t *ends)
{
    iso_range_t ranges[MOST_WORKERS];
    iso_node_cut_t node_cut = {.kind = ISO_CUT_SPLIT, .axis = axis};
    int64_t begin = 0;

    for (int i = 0; i < cut->n_workers; i++) {
        ranges[i] = (iso_range_t){begin, ends[i]};
        begin = ends[i];
    }
    node_cut.ranges = ranges;
    CU_ASSERT_EQUAL(
        iso_stage_cut_set(cut, iso_graph_find(stage, name), &node_cut), ISO_OK);
}

void stage_split_all(iso_stage_cut_t *cut, const iso_graph_t *stage, int axis,
                     const char *const *names)
{
    for (; *names != NULL; names++) {
        const iso_node_id_t id = iso_graph_find(stage, *names);
        iso_range_t ranges[MOST_WORKERS];
        const iso_node_cut_t node_cut = {ISO_CUT_SPLIT, axis, ranges};
        int64_t unit = 0;

        CU_ASSERT_FATAL(id != ISO_NO_NODE);
        CU_ASSERT_EQUAL_FATAL(iso_cut_unit(stage, id, axis, &unit), ISO_OK);
        iso_ranges_share(iso_graph_node(stage, id)->shape.dim[axis].size,
                         unit == 0 ? 1 : unit, NULL, cut->n_workers, ranges);
        CU_ASSERT_EQUAL(iso_stage_cut_set(cut, id, &node_cut), ISO_OK);
    }
}

void stage_set(iso_stage_cut_t *cut, const iso_graph_t *stage, const char *name,
               iso_cut_kind_t kind)
{
    const iso_node_cut_t node_cut = {.kind = kind};

    CU_ASSERT_EQUAL(
        iso_stage_cut_set(cut, iso_graph_find(stage, name), &node_cut), ISO_OK);
}

/* Pieces in random proportions, some of them empty. */
static void random_pieces(uint64_t *state, int64_t length, int64_t unit,
                          int n_workers, iso_range_t *ranges_out)
{
    double weights[MOST_WORKERS];
    double sum = 0;

    for (int i = 0; i < n_workers; i++) {
        weights[i] = (double)test_random_int(state, 0, 3);
        sum += weights[i];
    }
    iso_ranges_share(length, unit,
                     sum > 0 && test_random_int(state, 0, 1) == 0 ? weights
                                                                  : NULL,
                     n_workers, ranges_out);
}

static int64_t unit_of(const iso_graph_t *stage, iso_node_id_t id, int axis)
{
    const iso_node_t *node = iso_graph_node(stage, id);
    int64_t unit = 0;

    if (axis < 0 || axis >= node->shape.rank) {
        return 0;
    }
    if (node->op == ISO_OP_INPUT) {
        return 1;
    }
    CU_ASSERT_EQUAL(iso_cut_unit(stage, id, axis, &unit), ISO_OK);
    return unit;
}

/* Of the first operand that is split; 0 when there is none. */
static int operand_axis(const iso_stage_cut_t *cut, const iso_node_t *node)
{
    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_id_t input = node->inputs[i];

        if (input != ISO_NO_NODE && cut->nodes[input].kind == ISO_CUT_SPLIT) {
            return cut->nodes[input].axis;
        }
    }
    return 0;
}

static void random_split(uint64_t *state, const iso_graph_t *stage,
                         iso_node_id_t id, iso_stage_cut_t *cut)
{
    const iso_node_t *node = iso_graph_node(stage, id);
    iso_range_t ranges[MOST_WORKERS];
    iso_node_cut_t node_cut = {ISO_CUT_SPLIT, operand_axis(cut, node), ranges};
    int64_t unit = unit_of(stage, id, node_cut.axis);

    if (unit == 0 || test_random_int(state, 0, 1) == 0) {
        for (int i = 0; i < ISO_MAX_RANK; i++) {
            const int axis = (int)test_random_int(state, 0, ISO_MAX_RANK - 1);

            if (unit_of(stage, id, axis) > 0) {
                node_cut.axis = axis;
                unit = unit_of(stage, id, axis);
            }
        }
    }
    if (unit > 0) {
        random_pieces(state, node->shape.dim[node_cut.axis].size, unit,
                      cut->n_workers, ranges);
        CU_ASSERT_EQUAL(iso_stage_cut_set(cut, id, &node_cut), ISO_OK);
    }
}

static void random_node_cut(uint64_t *state, const iso_graph_t *stage,
                            iso_node_id_t id, iso_stage_cut_t *cut)
{
    const iso_node_t *node = iso_graph_node(stage, id);
    const int64_t what = test_random_int(state, 0, 9);
    iso_range_t ranges[MOST_WORKERS];
    iso_node_cut_t node_cut = {.kind = ISO_CUT_PARTIAL, .ranges = ranges};
    int64_t blocks = 0;

    if (!iso_node_is_leaf(node)) {
        CU_ASSERT_EQUAL(iso_cut_blocks(stage, id, &blocks), ISO_OK);
    }
    if (blocks > 0 && what < 6) {
        random_pieces(state, blocks, 1, cut->n_workers, ranges);
        CU_ASSERT_EQUAL(iso_stage_cut_set(cut, id, &node_cut), ISO_OK);
    } else if (what > 2) {
        random_split(state, stage, id, cut);
    } else if (what > 1 && !iso_node_is_leaf(node)) {
        node_cut = (iso_node_cut_t){.kind = ISO_CUT_ALL};
        CU_ASSERT_EQUAL(iso_stage_cut_set(cut, id, &node_cut), ISO_OK);
    }
}

iso_stage_cut_t *stage_random_cut(uint64_t *state, const iso_graph_t *stage,
                                  int n_workers)
{
    iso_stage_cut_t *cut = stage_cut_one(stage, n_workers);

    for (iso_node_id_t id = 0; id < iso_graph_node_count(stage); id++) {
        const iso_op_t op = iso_graph_node(stage, id)->op;

        if (op != ISO_OP_PARAM && op != ISO_OP_CONSTANT) {
            random_node_cut(state, stage, id, cut);
        }
    }
    for (int i = 0; i < iso_graph_output_count(stage); i++) {
        cut->keep_outputs[i] = test_random_int(state, 0, 2) == 0;
    }
    return cut;
}

/* -- values -- */

static void fill(uint64_t *state, iso_tensor_t *tensor)
{
    const int64_t count = iso_tensor_count(tensor);
    const size_t bytes = iso_tensor_bytes(tensor);

    tensor->data = iso_alloc_zeroed(bytes, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tensor->data);
    for (int64_t i = 0; i < count && tensor->dtype == ISO_DTYPE_F32; i++) {
        ((float *)tensor->data)[i] = test_random_float(state);
    }
}

void stage_values_begin(stage_values_t *values, const iso_graph_t *stage,
                        uint64_t seed)
{
    const int32_t count = iso_graph_node_count(stage);
    uint64_t state = seed;

    values->stage = stage;
    values->tensors = iso_alloc_zeroed((size_t)count, sizeof(iso_tensor_t));
    CU_ASSERT_PTR_NOT_NULL_FATAL(values->tensors);
    for (int32_t id = 0; id < count; id++) {
        const iso_node_t *node = iso_graph_node(stage, id);

        if (node->op == ISO_OP_INPUT || node->op == ISO_OP_PARAM) {
            CU_ASSERT_EQUAL_FATAL(iso_tensor_view(node->dtype, &node->shape,
                                                  NULL, &values->tensors[id]),
                                  ISO_OK);
            fill(&state, &values->tensors[id]);
        }
    }
}

void stage_values_end(stage_values_t *values)
{
    const int32_t count = iso_graph_node_count(values->stage);

    for (int32_t id = 0; id < count; id++) {
        iso_free(values->tensors[id].data);
    }
    iso_free(values->tensors);
}

static iso_status_t get_value(void *arg, const char *name,
                              iso_tensor_t *tensor_out)
{
    const stage_values_t *values = arg;
    const iso_node_id_t id = iso_graph_find(values->stage, name);

    if (id == ISO_NO_NODE || values->tensors[id].data == NULL) {
        return iso_fail(ISO_INTERNAL, "no value for '%s'", name);
    }
    *tensor_out = values->tensors[id];
    return ISO_OK;
}

iso_weight_source_t stage_values_source(stage_values_t *values)
{
    return (iso_weight_source_t){get_value, values};
}
