/*
 * Exchanges of random layouts: every element arrives where it belongs, with
 * collective calls and with messages in pieces, and the bytes are those that
 * the plan counts.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "exec/exchanger.h"
#include "iso_test_call.h"
#include "iso_test_memory.h"
#include "par/par.h"

#include <stdio.h>
#include <string.h>

enum { SEED = 20250612, SAMPLES = 120, RUNS = 2, MOST_WORKERS = 16 };
enum { UNTOUCHED = 0xa5, GUARD_BYTES = 64 };

typedef struct sample {
    iso_range_t from[MOST_WORKERS];
    iso_range_t to[MOST_WORKERS];
} sample_t;

static iso_exchange_t exchanges[SAMPLES];
static sample_t samples[SAMPLES];

/* ---- Random exchanges, the same on every rank ---- */

static const iso_dtype_t dtypes[] = {ISO_DTYPE_U8, ISO_DTYPE_F32,
                                     ISO_DTYPE_I64};

static iso_shape_t random_shape(uint64_t *state)
{
    iso_shape_t shape = {.rank = (int)test_random_int(state, 0, 5)};
    int64_t most = test_random_int(state, 0, 9) == 0 ? 60000 : 600;

    for (int axis = 0; axis < shape.rank; axis++) {
        const int64_t size =
            test_random_int(state, test_random_int(state, 0, 15) == 0 ? 0 : 1,
                            test_random_int(state, 0, 2) == 0 ? most : 7);

        shape.dim[axis] = iso_dim_of(size > most ? most : size);
        most = size > 0 ? most / shape.dim[axis].size : most;
    }
    return shape;
}

/* Disjoint, in order, covering; pieces may be empty. */
static void random_cut(uint64_t *state, int64_t length, int n_workers,
                       iso_range_t *ranges_out)
{
    int64_t begin = 0;

    for (int i = 0; i < n_workers; i++) {
        const int64_t end =
            i == n_workers - 1 ? length : test_random_int(state, begin, length);

        ranges_out[i] = (iso_range_t){begin, end};
        begin = end;
    }
}

/* What ops need: some more than their own, or less, in order. */
static void random_needs(uint64_t *state, int64_t length, int n_workers,
                         iso_range_t *ranges_out)
{
    const int64_t more = test_random_int(state, -2, 3);

    random_cut(state, length, n_workers, ranges_out);
    for (int i = 0; i < n_workers; i++) {
        iso_range_t *range = &ranges_out[i];

        if (iso_range_length(*range) > 0) {
            range->begin = range->begin > more ? range->begin - more : 0;
            range->end =
                range->end + more < length ? range->end + more : length;
        }
    }
}

static int random_axis(uint64_t *state, const iso_shape_t *shape)
{
    return shape->rank > 0 ? (int)test_random_int(state, 0, shape->rank - 1)
                           : 0;
}

static iso_layout_t random_layout(uint64_t *state, const iso_shape_t *shape,
                                  int axis, int n_workers, iso_range_t *ranges,
                                  bool is_source)
{
    const int kind = (int)test_random_int(state, 0, is_source ? 1 : 2);
    iso_layout_t layout = {.kind = ISO_LAYOUT_ONE};

    if (kind != 0 && shape->rank > 0) {
        layout.kind = ISO_LAYOUT_SPLIT;
        layout.axis = axis;
        layout.ranges = ranges;
        if (is_source) {
            random_cut(state, shape->dim[layout.axis].size, n_workers, ranges);
        } else {
            random_needs(state, shape->dim[layout.axis].size, n_workers,
                         ranges);
        }
    }
    if (!is_source && kind == 2) {
        layout.kind = ISO_LAYOUT_ALL;
    }
    if (layout.kind == ISO_LAYOUT_ONE) {
        layout.worker = (int)test_random_int(state, 0, n_workers - 1);
    }
    return layout;
}

static void make_samples(uint64_t seed, int n_workers)
{
    uint64_t state = seed;

    for (int i = 0; i < SAMPLES; i++) {
        iso_exchange_t *exchange = &exchanges[i];

        *exchange = (iso_exchange_t){
            .value = "value",
            .dtype = dtypes[test_random_int(&state, 0, 2)],
            .shape = random_shape(&state),
            .n_workers = n_workers,
        };

        const int axis = random_axis(&state, &exchange->shape);
        const int other = random_axis(&state, &exchange->shape);
        const bool same = test_random_int(&state, 0, 1) == 0;

        exchange->from = random_layout(&state, &exchange->shape, axis,
                                       n_workers, samples[i].from, true);
        exchange->to =
            random_layout(&state, &exchange->shape, same ? axis : other,
                          n_workers, samples[i].to, false);
        exchange->kind = iso_exchange_kind_of(&exchange->from, &exchange->to);
    }
}

/* ---- A worker's tensors ---- */

typedef struct piece {
    iso_box_t box;
    iso_tensor_t tensor;
} piece_t;

static piece_t piece_of(const iso_exchange_t *exchange,
                        const iso_layout_t *layout, int worker)
{
    piece_t piece;

    iso_layout_box(layout, &exchange->shape, worker, &piece.box);
    piece.tensor =
        (iso_tensor_t){.dtype = exchange->dtype, .rank = piece.box.rank};
    for (int axis = 0; axis < piece.box.rank; axis++) {
        piece.tensor.dims[axis] = iso_range_length(piece.box.range[axis]);
    }
    piece.tensor.data =
        iso_alloc(iso_tensor_bytes(&piece.tensor) + GUARD_BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(piece.tensor.data);
    memset(piece.tensor.data, UNTOUCHED,
           iso_tensor_bytes(&piece.tensor) + GUARD_BYTES);
    return piece;
}

/* Row-major number in the whole value of the piece's element number i. */
static int64_t global_index(const iso_exchange_t *exchange,
                            const piece_t *piece, int64_t i)
{
    int64_t index = 0;
    int64_t stride = 1;

    for (int axis = piece->box.rank - 1; axis >= 0; axis--) {
        const int64_t length =
            piece->tensor.dims[axis] > 0 ? piece->tensor.dims[axis] : 1;

        index += (piece->box.range[axis].begin + i % length) * stride;
        stride *= exchange->shape.dim[axis].size;
        i /= length;
    }
    return index;
}

/* The element number i of the piece, as it has to be. */
static uint64_t element_of(const iso_exchange_t *exchange, const piece_t *piece,
                           int64_t i, uint64_t salt)
{
    uint64_t state = (uint64_t)global_index(exchange, piece, i) + (salt << 32);

    return test_random(&state);
}

static void fill(const iso_exchange_t *exchange, const piece_t *piece,
                 uint64_t salt)
{
    const size_t bytes = iso_dtype_bytes(exchange->dtype);

    for (int64_t i = 0; i < iso_tensor_count(&piece->tensor); i++) {
        const uint64_t element = element_of(exchange, piece, i, salt);

        memcpy((uint8_t *)piece->tensor.data + (size_t)i * bytes, &element,
               bytes);
    }
}

static bool holds(const iso_exchange_t *exchange, const piece_t *piece,
                  uint64_t salt)
{
    const size_t bytes = iso_dtype_bytes(exchange->dtype);
    const uint8_t *data = piece->tensor.data;
    const int64_t count = iso_tensor_count(&piece->tensor);

    for (int64_t i = 0; i < count; i++) {
        const uint64_t element = element_of(exchange, piece, i, salt);

        if (memcmp(data + (size_t)i * bytes, &element, bytes) != 0) {
            return false;
        }
    }
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (data[(size_t)count * bytes + i] != UNTOUCHED) {
            return false;
        }
    }
    return true;
}

/* ---- Running ---- */

static iso_exchanger_t *exchanger_of(int n_exchanges, int most_count)
{
    const iso_exchanger_spec_t spec = {.exchanges = exchanges,
                                       .n_exchanges = n_exchanges,
                                       .worker = iso_par_rank(MPI_COMM_WORLD),
                                       .verifies = most_count > 0,
                                       .most_count = most_count};
    iso_exchanger_t *exchanger = NULL;

    CU_ASSERT_EQUAL_FATAL(
        iso_exchanger_create(&spec, MPI_COMM_WORLD, &exchanger), ISO_OK);
    return exchanger;
}

static const iso_tensor_t *given(const piece_t *piece, uint64_t salt)
{
    const bool absent = iso_tensor_count(&piece->tensor) == 0 && salt % 2 == 0;

    return absent ? NULL : &piece->tensor;
}

/* One exchange; false when an element or a byte behind is wrong. */
static bool run_one(iso_exchanger_t *exchanger, int number, uint64_t salt)
{
    const iso_exchange_t *exchange = &exchanges[number];
    const int worker = iso_par_rank(MPI_COMM_WORLD);
    piece_t input = piece_of(exchange, &exchange->from, worker);
    piece_t output = piece_of(exchange, &exchange->to, worker);
    int64_t allocations;
    bool right;

    fill(exchange, &input, salt);
    allocations = iso_mem_count().allocations;
    CU_ASSERT_EQUAL(iso_exchanger_run(exchanger, number, given(&input, salt),
                                      given(&output, salt)),
                    ISO_OK);
    CU_ASSERT_EQUAL(iso_mem_count().allocations, allocations);
    right = holds(exchange, &output, salt) && holds(exchange, &input, salt);
    iso_free(input.tensor.data);
    iso_free(output.tensor.data);
    return right;
}

static void print_sample(int number, int most_count)
{
    const iso_exchange_t *exchange = &exchanges[number];
    char text[ISO_SHAPE_TEXT_BYTES];

    (void)fprintf(stderr, "rank %d: exchange %d, %s of %s %s, most %d\n",
                  iso_par_rank(MPI_COMM_WORLD), number,
                  iso_exchange_kind_string(exchange->kind),
                  iso_dtype_string(exchange->dtype),
                  iso_shape_text(&exchange->shape, text), most_count);
}

static void check_bytes(const iso_exchanger_t *exchanger, int runs)
{
    for (int i = 0; i < SAMPLES; i++) {
        double sent = iso_exchanger_sent_bytes(exchanger, i);
        double all = 0;

        CU_ASSERT_EQUAL(sent, (double)iso_exchange_sent_bytes(
                                  &exchanges[i], iso_par_rank(MPI_COMM_WORLD)) *
                                  runs);
        ISO_CHECK_MPI(
            MPI_Allreduce(&sent, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        CU_ASSERT_EQUAL(all, (double)iso_exchange_bytes(&exchanges[i]) * runs);
    }
}

static void run_samples(int most_count)
{
    iso_exchanger_t *exchanger = exchanger_of(SAMPLES, most_count);
    uint64_t salt = 0;

    check_bytes(exchanger, 0);
    /* The salts of an exchange are odd and even (given). */
    for (int run = 0; run < RUNS; run++, salt++) {
        for (int i = 0; i < SAMPLES; i++) {
            const bool right = run_one(exchanger, i, salt++);

            CU_ASSERT_TRUE(right);
            if (!right) {
                print_sample(i, most_count);
            }
        }
    }
    check_bytes(exchanger, RUNS);
    iso_exchanger_destroy(&exchanger);
    CU_ASSERT_PTR_NULL(exchanger);
    iso_exchanger_destroy(&exchanger);
}

static void begin_samples(uint64_t seed)
{
    const int size = iso_par_size(MPI_COMM_WORLD);

    CU_ASSERT_FATAL(size <= MOST_WORKERS);
    make_samples(seed, size);
    if (iso_par_rank(MPI_COMM_WORLD) == 0) {
        (void)printf("seed %llu ", (unsigned long long)seed);
    }
}

/* ---- Tests ---- */

static void test_collective_calls(void)
{
    begin_samples(SEED);
    run_samples(0);
}

/* What does not fit in a count: some exchanges, then all, in pieces that do
 * not end with an element. */
static void test_pieces(void)
{
    begin_samples(SEED + 1);
    run_samples(1009);
    run_samples(251);
}

/* Every kind is among the random ones (with one worker, too). */
static void test_all_kinds_occur(void)
{
    int counts[ISO_EXCHANGE_HALO + 1] = {0};

    for (int i = 0; i < SAMPLES; i++) {
        counts[exchanges[i].kind]++;
    }
    for (int kind = 0; kind <= ISO_EXCHANGE_HALO; kind++) {
        CU_ASSERT_TRUE(counts[kind] > 2);
    }
}

static void set_split(int number, const int64_t *dims, int from_axis,
                      int to_axis)
{
    const int size = iso_par_size(MPI_COMM_WORLD);
    iso_exchange_t *exchange = &exchanges[number];

    *exchange = (iso_exchange_t){.value = "value",
                                 .dtype = ISO_DTYPE_F32,
                                 .shape = iso_shape_of(3, dims),
                                 .n_workers = size};
    exchange->from =
        (iso_layout_t){ISO_LAYOUT_SPLIT, 0, from_axis, samples[number].from};
    exchange->to =
        (iso_layout_t){ISO_LAYOUT_SPLIT, 0, to_axis, samples[number].to};
    iso_ranges_share(dims[from_axis], 1, NULL, size, samples[number].from);
    iso_ranges_share(dims[to_axis], 1, NULL, size, samples[number].to);
    exchange->kind = iso_exchange_kind_of(&exchange->from, &exchange->to);
}

static size_t buffer_bytes_of(int n_exchanges)
{
    iso_exchanger_t *exchanger = exchanger_of(n_exchanges, 0);
    const size_t bytes = iso_exchanger_buffer_bytes(exchanger);

    for (int i = 0; i < n_exchanges; i++) {
        CU_ASSERT_TRUE(run_one(exchanger, i, 1));
    }
    iso_exchanger_destroy(&exchanger);
    return bytes;
}

/* What is contiguous is not packed. */
static void test_in_place(void)
{
    set_split(0, (const int64_t[]){8, 12, 6}, 0, 0);
    samples[0].to[0].end += 1; /* a halo of one row */
    samples[0].to[0].end = samples[0].to[0].end > 8 ? 8 : samples[0].to[0].end;
    set_split(1, (const int64_t[]){8, 12, 6}, 0, 0);
    exchanges[1].to = (iso_layout_t){.kind = ISO_LAYOUT_ALL};
    exchanges[1].kind = ISO_EXCHANGE_ALL_GATHER;
    set_split(2, (const int64_t[]){1, 12, 6}, 1, 1);
    exchanges[2].from = (iso_layout_t){.kind = ISO_LAYOUT_ONE};
    exchanges[2].kind = ISO_EXCHANGE_SCATTER;
    CU_ASSERT_EQUAL(buffer_bytes_of(3), 0);
}

/* The rest is, on the side that needs it, and only what goes to others. */
static void test_packing(void)
{
    const int size = iso_par_size(MPI_COMM_WORLD);
    const int worker = iso_par_rank(MPI_COMM_WORLD);
    const int64_t dims[] = {2 * (int64_t)size, 12, 6};

    /* Columns are sent, packed; rows arrive where they belong. */
    set_split(0, dims, 0, 1);
    CU_ASSERT_EQUAL(buffer_bytes_of(1),
                    iso_exchange_sent_bytes(&exchanges[0], worker));
    /* Rows that overlap: a collective call may read none of them twice. */
    set_split(0, dims, 0, 0);
    exchanges[0].from = (iso_layout_t){.kind = ISO_LAYOUT_ONE};
    exchanges[0].kind = ISO_EXCHANGE_SCATTER;
    for (int i = 1; i < size; i++) {
        samples[0].to[i].begin--;
    }
    CU_ASSERT_EQUAL(buffer_bytes_of(1),
                    size > 2 ? iso_exchange_sent_bytes(&exchanges[0], worker)
                             : 0);
}

static void test_no_exchanges(void)
{
    iso_exchanger_t *exchanger = exchanger_of(0, 0);

    CU_ASSERT_EQUAL(iso_exchanger_buffer_bytes(exchanger), 0);
    iso_exchanger_destroy(&exchanger);
}

static void test_failures(void)
{
    static const int64_t huge[] = {INT64_C(1) << 30, INT64_C(1) << 30, 8};
    const iso_exchanger_spec_t spec = {.exchanges = exchanges,
                                       .n_exchanges = 2,
                                       .worker = iso_par_rank(MPI_COMM_WORLD)};
    const int64_t blocks = iso_mem_count().blocks;
    iso_exchanger_t *exchanger = NULL;
    int failures = 0;

    set_split(0, (const int64_t[]){4, 5, 6}, 0, 2);
    set_split(1, (const int64_t[]){4, 5, 6}, 1, 2);
    for (int n = 1; exchanger == NULL && n < 20; n++) {
        iso_mem_fail_at(n);
        if (iso_exchanger_create(&spec, MPI_COMM_WORLD, &exchanger) != ISO_OK) {
            CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
            CU_ASSERT_PTR_NULL(exchanger);
            failures++;
        }
        iso_mem_fail_at(0);
    }
    CU_ASSERT_EQUAL(failures, 8);
    iso_exchanger_destroy(&exchanger);
    set_split(1, huge, 0, 2);
    CU_ASSERT_EQUAL(iso_exchanger_create(&spec, MPI_COMM_WORLD, &exchanger),
                    ISO_SHAPE);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "'value'"));
    CU_ASSERT_PTR_NULL(exchanger);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"collective calls", test_collective_calls},
        {"messages in pieces", test_pieces},
        {"all kinds occur", test_all_kinds_occur},
        {"in place", test_in_place},
        {"packing", test_packing},
        {"no exchanges", test_no_exchanges},
        {"failures", test_failures},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"exchanger", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main_mpi(argc, argv, suites);
}
