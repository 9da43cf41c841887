/*
 * Cuts along axes: the pieces of any node, put together, are its value, byte
 * for byte.
 */
#include "cut_cases.h"
#include "kernel/ref.h"
#include "plan/shard/cut.h"

enum { MOST_PIECES = 5 };

/* ---- Slabs ---- */

/* A box of a tensor along one axis: rows of it, each in one run. */
typedef struct runs {
    int64_t outer;
    size_t row_bytes; /* of the whole tensor */
    size_t begin;
    size_t run_bytes;
} runs_t;

static runs_t runs_of(const iso_tensor_t *whole, int axis, iso_range_t range)
{
    runs_t runs = {.outer = 1};
    size_t inner = iso_dtype_bytes(whole->dtype);

    for (int i = 0; i < axis; i++) {
        runs.outer *= whole->dims[i];
    }
    for (int i = axis + 1; i < whole->rank; i++) {
        inner *= (size_t)whole->dims[i];
    }
    runs.row_bytes = (size_t)whole->dims[axis] * inner;
    runs.begin = (size_t)range.begin * inner;
    runs.run_bytes = (size_t)iso_range_length(range) * inner;
    return runs;
}

/* A slab of a tensor, copied; data is to be freed. */
static iso_tensor_t take_slab(const iso_tensor_t *whole, const iso_slab_t *slab)
{
    const bool all = slab->axis == ISO_AXIS_WHOLE;
    const iso_range_t every = {0, whole->rank > 0 ? whole->dims[0] : 1};
    const iso_range_t range = all ? every : slab->range;
    iso_tensor_t part = *whole;

    if (whole->rank == 0) {
        part.data = iso_alloc(iso_tensor_bytes(whole));
        memcpy(part.data, whole->data, iso_tensor_bytes(whole));
        return part;
    }

    const int axis = all ? 0 : slab->axis;
    const runs_t runs = runs_of(whole, axis, range);

    CU_ASSERT_FATAL(axis < whole->rank && range.begin >= 0 &&
                    range.begin <= range.end && range.end <= whole->dims[axis]);
    part.dims[axis] = iso_range_length(range);
    part.data = iso_alloc(iso_tensor_bytes(&part));
    for (int64_t i = 0; i < runs.outer; i++) {
        memcpy((char *)part.data + (size_t)i * runs.run_bytes,
               (const char *)whole->data + (size_t)i * runs.row_bytes +
                   runs.begin,
               runs.run_bytes);
    }
    return part;
}

static void put_slab(const iso_tensor_t *whole, int axis, iso_range_t range,
                     const iso_tensor_t *part)
{
    const runs_t runs = runs_of(whole, axis, range);

    for (int64_t i = 0; i < runs.outer; i++) {
        memcpy((char *)whole->data + (size_t)i * runs.row_bytes + runs.begin,
               (const char *)part->data + (size_t)i * runs.run_bytes,
               runs.run_bytes);
    }
}

/* ---- One piece ---- */

typedef struct piece {
    const test_call_t *call;
    iso_node_id_t node; /* of the whole */
    int axis;
    iso_range_t range;
} piece_t;

/* The operands' slabs and inputs of a local graph for them. */
static void begin_piece(const piece_t *piece, iso_graph_t *local,
                        iso_tensor_t *parts, iso_node_id_t *inputs)
{
    const test_call_t *call = piece->call;

    for (int i = 0; i < call->n_inputs; i++) {
        const iso_mem_count_t before = iso_mem_count();
        iso_slab_t slab;
        char name[16];

        CU_ASSERT_EQUAL_FATAL(iso_cut_operand(call->graph, piece->node,
                                              piece->axis, piece->range, i,
                                              &slab),
                              ISO_OK);
        CU_ASSERT_EQUAL(iso_mem_count().allocations, before.allocations);
        parts[i] = take_slab(&call->inputs[i], &slab);

        const iso_shape_t shape = iso_tensor_shape(&parts[i]);

        (void)snprintf(name, sizeof name, "x%d", i);
        CU_ASSERT_EQUAL_FATAL(iso_graph_add_input(local, name, parts[i].dtype,
                                                  &shape, &inputs[i]),
                              ISO_OK);
    }
}

static void compute_piece(const piece_t *piece, const iso_graph_t *local,
                          iso_node_id_t id, const iso_tensor_t *parts,
                          const iso_tensor_t *assembled)
{
    const iso_node_t *node = iso_graph_node(local, id);
    const iso_tensor_t *operands[TEST_CALL_INPUTS];
    iso_shape_t expected = iso_tensor_shape(assembled);
    iso_tensor_t value;

    expected.dim[piece->axis].size = iso_range_length(piece->range);
    CU_ASSERT_FATAL(iso_shape_equal(&node->shape, &expected));
    CU_ASSERT_EQUAL(node->dtype, assembled->dtype);
    for (int i = 0; i < piece->call->n_inputs; i++) {
        operands[i] = &parts[i];
    }
    CU_ASSERT_EQUAL_FATAL(
        iso_tensor_view(node->dtype, &node->shape, NULL, &value), ISO_OK);
    value.data = iso_alloc(iso_tensor_bytes(&value));
    CU_ASSERT_EQUAL_FATAL(iso_ref_run(node, operands, &value), ISO_OK);
    put_slab(assembled, piece->axis, piece->range, &value);
    iso_free(value.data);
}

static void run_piece(const piece_t *piece, const iso_tensor_t *assembled)
{
    iso_tensor_t parts[TEST_CALL_INPUTS];
    iso_node_id_t inputs[TEST_CALL_INPUTS];
    iso_node_id_t id = ISO_NO_NODE;
    iso_graph_t *local;

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&local), ISO_OK);
    begin_piece(piece, local, parts, inputs);

    const iso_status_t status =
        iso_cut_add(piece->call->graph, piece->node, piece->axis, piece->range,
                    local, "piece", inputs, &id);

    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    compute_piece(piece, local, id, parts, assembled);
    for (int i = 0; i < piece->call->n_inputs; i++) {
        iso_free(parts[i].data);
    }
    iso_graph_destroy(&local);
}

/* ---- All pieces ---- */

/* Up to MOST_PIECES pieces at random multiples of unit; returns how many. */
static int random_cut(uint64_t *seed, int64_t length, int64_t unit,
                      iso_range_t *ranges)
{
    const int64_t units = length / unit;
    int64_t at = 0;
    int count = 0;

    while (at < units) {
        int64_t end = test_random_int(seed, at + 1, units);

        if (count == MOST_PIECES - 1) {
            end = units;
        }
        ranges[count++] = (iso_range_t){at * unit, end * unit};
        at = end;
    }
    return count;
}

static bool equal_bytes(const test_call_t *call, const iso_tensor_t *assembled,
                        int axis, const iso_range_t *ranges, int count)
{
    const size_t bytes = iso_tensor_bytes(assembled);

    if (memcmp(call->output.data, assembled->data, bytes) == 0) {
        return true;
    }
    (void)fprintf(
        stderr, "%s: pieces of axis %d differ:", iso_op_string(call->op), axis);
    for (int i = 0; i < count; i++) {
        (void)fprintf(stderr, " %lld-%lld", (long long)ranges[i].begin,
                      (long long)ranges[i].end);
    }
    (void)fprintf(stderr, "\n");
    return false;
}

/* Returns the number of pieces. */
static int check_axis(const test_call_t *call, int axis, int64_t unit,
                      uint64_t *seed)
{
    iso_tensor_t assembled = call->output;
    const int64_t length = call->output.dims[axis];
    const size_t bytes = iso_tensor_bytes(&assembled);
    piece_t piece = {.call = call,
                     .node = iso_graph_find(call->graph, "call"),
                     .axis = axis};
    iso_range_t ranges[MOST_PIECES];

    CU_ASSERT_EQUAL_FATAL(length % unit, 0);
    assembled.data = iso_alloc(bytes);
    memset(assembled.data, 0x5a, bytes);

    const int count = random_cut(seed, length, unit, ranges);

    for (int i = 0; i < count; i++) {
        piece.range = ranges[i];
        run_piece(&piece, &assembled);
    }
    CU_ASSERT(equal_bytes(call, &assembled, axis, ranges, count));
    iso_free(assembled.data);
    return count;
}

/* Number of cuts into more than one piece. */
static int check_node(const test_call_t *call, uint64_t *seed)
{
    const iso_node_id_t node = iso_graph_find(call->graph, "call");
    int cuts = 0;

    for (int axis = 0; axis < call->output.rank; axis++) {
        const iso_mem_count_t before = iso_mem_count();
        int64_t unit = -1;

        CU_ASSERT_EQUAL(iso_cut_unit(call->graph, node, axis, &unit), ISO_OK);
        CU_ASSERT_EQUAL(iso_mem_count().allocations, before.allocations);
        CU_ASSERT_FATAL(unit >= 0);
        if (unit > 0) {
            cuts += check_axis(call, axis, unit, seed) > 1;
        }
    }
    return cuts;
}

static void test_pieces(void)
{
    const uint64_t start = 4711;
    uint64_t seed = start;

    (void)printf("\n    seed %llu ", (unsigned long long)start);
    for (int op = 0; op < ISO_OP_COUNT; op++) {
        const int rounds =
            iso_op_info((iso_op_t)op)->op_class == ISO_OP_CLASS_UNARY ? 20
                                                                      : 150;
        int cuts = 0;

        for (int round = 0; round < rounds; round++) {
            cut_case_t c;

            if (!cut_case_begin(&c, (iso_op_t)op, &seed)) {
                cuts = rounds;
                break;
            }
            CU_ASSERT_EQUAL_FATAL(test_call_run(&c.call, iso_ref_run), ISO_OK);
            cuts += check_node(&c.call, &seed);
            cut_case_end(&c);
        }
        if (cuts < rounds / 4) {
            (void)fprintf(stderr, "%s: only %d cuts\n",
                          iso_op_string((iso_op_t)op), cuts);
            CU_FAIL("an op was hardly ever cut");
        }
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"pieces are the whole", test_pieces},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"cut", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
