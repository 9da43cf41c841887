/*
 * Verify must find what is wrong, and say where: faults are planted in calls
 * that go through here (see CMakeLists.txt), on the last rank alone or on all
 * of them, and must be named. Without them everything is equal.
 */
#include "isotome/error.h"
#include "isotome/model_file.h"
#include "isotome/verify.h"

#include "base/mem.h"
#include "base/random.h"
#include "exec/channel.h"
#include "exec/exchanger.h"
#include "graph/pass.h"
#include "graph_text.h"
#include "iso_test_folder_mpi.h"
#include "iso_test_graph.h"
#include "kernel/cpu/direct/pack.h"
#include "par/par.h"

#include <math.h>

/* Four blocks of products in m; the last of them is short. */
enum { SAMPLES = 4, COLS = 40, REDUCTION = 864 };

/* Plans that are all verified, and at most until one has the fault. */
enum { PLANS = 12, MANY = 1000 };

static const char model_text[] = "x = input f32[N,2,12,12]\n"
                                 "w0 = param f32[6,2,3,3]\n"
                                 "w1 = param f32[6,6,3,3]\n"
                                 "wm = param f32[864,40]\n"
                                 "c0 = conv(x, w0) pads=i:1,1,1,1\n"
                                 "r0 = relu(c0)\n"
                                 "c1 = conv(r0, w1) pads=i:1,1,1,1\n"
                                 "f = reshape(c1) shape=d:N,864\n"
                                 "m = matmul(f, wm)\n"
                                 "y = tanh(m)\n"
                                 "return y\n";

typedef enum fault {
    NO_FAULT,
    OTHER_ORDER,      /* of a sum of products */
    WHOLE_ORDER,      /* likewise, in every run of micro-batches of one */
    SHORT_HALO,       /* by a row */
    REVERSED,         /* what an exchange brings */
    WEIGHT_ROW,       /* a slab is read one row off */
    WEIGHT_ROW_QUIET, /* likewise, and its sum is that of the right one */
    CHANGED_MESSAGE   /* from stage to stage, on its way to rank 0 */
} fault_t;

static fault_t fault;
static int64_t done; /* times that the fault struck */

static int rank_here(void)
{
    return iso_par_rank(MPI_COMM_WORLD);
}

static int last_rank(void)
{
    return iso_par_size(MPI_COMM_WORLD) - 1;
}

/* -- the calls that go through here -- */

iso_status_t
real_run_step(iso_cpu_t *cpu,
              const iso_cpu_step_t *step) __asm__("__real_iso_cpu_run_step");
iso_status_t
planted_run_step(iso_cpu_t *cpu,
                 const iso_cpu_step_t *step) __asm__("__wrap_iso_cpu_run_step");
void real_exchange_part(const iso_exchange_t *exchange, int from, int to,
                        iso_box_t *box_out) __asm__("__real_iso_exchange_part");
void planted_exchange_part(
    const iso_exchange_t *exchange, int from, int to,
    iso_box_t *box_out) __asm__("__wrap_iso_exchange_part");
iso_status_t real_exchanger_run(
    iso_exchanger_t *exchanger, int number, const iso_tensor_t *input,
    const iso_tensor_t *output) __asm__("__real_iso_exchanger_run");
iso_status_t planted_exchanger_run(
    iso_exchanger_t *exchanger, int number, const iso_tensor_t *input,
    const iso_tensor_t *output) __asm__("__wrap_iso_exchanger_run");
iso_status_t real_reader_open(
    iso_model_t *model, const iso_weight_info_t *info, int axis, int64_t begin,
    int64_t end,
    iso_weight_reader_t **reader_out) __asm__("__real_iso_weight_reader_open");
iso_status_t planted_reader_open(
    iso_model_t *model, const iso_weight_info_t *info, int axis, int64_t begin,
    int64_t end,
    iso_weight_reader_t **reader_out) __asm__("__wrap_iso_weight_reader_open");
iso_status_t
real_reader_end(iso_weight_reader_t *reader,
                uint64_t *sum_out) __asm__("__real_iso_weight_reader_end");
iso_status_t
planted_reader_end(iso_weight_reader_t *reader,
                   uint64_t *sum_out) __asm__("__wrap_iso_weight_reader_end");

void *real_payload(const iso_channel_t *channel, int64_t index,
                   int i) __asm__("__real_iso_channel_payload");
void *planted_payload(const iso_channel_t *channel, int64_t index,
                      int i) __asm__("__wrap_iso_channel_payload");

/* Element k, col of a matrix [n_products,cols], which may be packed. */
static float weight_of(const iso_cpu_step_t *step, int64_t n_products,
                       int64_t cols, int64_t k, int64_t col)
{
    const int64_t lanes = ISO_PANEL_LANES;

    if (step->panels == NULL) {
        return ((const float *)step->inputs[1]->data)[k * cols + col];
    }
    return step->panels
        ->data[(col / lanes * n_products + k) * lanes + col % lanes];
}

/* a [rows,k], b [k,cols]: one chain over all products, as if there were no
 * blocks. */
static void multiply_in_a_chain(const iso_cpu_step_t *step)
{
    const float *a = step->inputs[0]->data;
    float *c = step->output->data;
    const int64_t cols = step->output->dims[1];
    const int64_t n_products = step->inputs[0]->dims[1];

    for (int64_t i = 0; i < step->output->dims[0] * cols; i++) {
        float sum = 0.0F;

        for (int64_t k = 0; k < n_products; k++) {
            sum = fmaf(a[i / cols * n_products + k],
                       weight_of(step, n_products, cols, k, i % cols), sum);
        }
        c[i] = sum;
    }
}

/* Only all products make a chain that is wrong. */
static bool strikes_product(const iso_cpu_step_t *step)
{
    const int64_t *dims = step->output->dims;
    const bool all = step->node->op == ISO_OP_MATMUL &&
                     step->inputs[0]->dims[1] == REDUCTION &&
                     rank_here() == last_rank();

    return (fault == OTHER_ORDER && all && dims[1] > 0 && dims[1] < COLS) ||
           (fault == WHOLE_ORDER && all && dims[0] == 1);
}

iso_status_t planted_run_step(iso_cpu_t *cpu, const iso_cpu_step_t *step)
{
    if (strikes_product(step)) {
        done++;
        multiply_in_a_chain(step);
        return ISO_OK;
    }
    return real_run_step(cpu, step);
}

/* The first row of what comes from a worker above. */
void planted_exchange_part(const iso_exchange_t *exchange, int from, int to,
                           iso_box_t *box_out)
{
    const int height = 2;

    real_exchange_part(exchange, from, to, box_out);
    if (fault == SHORT_HALO && from < to && iso_box_count(box_out) > 0 &&
        exchange->to.kind == ISO_LAYOUT_SPLIT && exchange->to.axis == height &&
        (exchange->kind == ISO_EXCHANGE_HALO ||
         exchange->kind == ISO_EXCHANGE_SCATTER)) {
        done++;
        box_out->range[height].begin++;
    }
}

iso_status_t planted_exchanger_run(iso_exchanger_t *exchanger, int number,
                                   const iso_tensor_t *input,
                                   const iso_tensor_t *output)
{
    const iso_status_t status =
        real_exchanger_run(exchanger, number, input, output);

    if (fault != REVERSED || output == NULL || rank_here() != last_rank()) {
        return status;
    }
    float *elements = output->data;
    const int64_t count = iso_tensor_count(output);

    for (int64_t i = 0; i < count / 2; i++) {
        const float kept = elements[i];

        elements[i] = elements[count - 1 - i];
        elements[count - 1 - i] = kept;
        done++;
    }
    return status;
}

/* What reads a slab one row off, and the sum of the right one. */
static const iso_weight_reader_t *shifted;
static uint64_t right_sum;

iso_status_t planted_reader_open(iso_model_t *model,
                                 const iso_weight_info_t *info, int axis,
                                 int64_t begin, int64_t end,
                                 iso_weight_reader_t **reader_out)
{
    static float right[REDUCTION * COLS];
    const bool shifts = (fault == WEIGHT_ROW || fault == WEIGHT_ROW_QUIET) &&
                        axis != ISO_READ_WHOLE && begin < end &&
                        end < info->shape.dim[axis].size &&
                        strcmp(info->name, "wm") == 0;

    shifted = NULL;
    if (!shifts) {
        return real_reader_open(model, info, axis, begin, end, reader_out);
    }
    iso_status_t status =
        iso_model_read_part(model, info, axis, begin, end, right, &right_sum);

    if (status == ISO_OK) {
        done++;
        status =
            real_reader_open(model, info, axis, begin + 1, end + 1, reader_out);
        shifted = *reader_out;
    }
    return status;
}

iso_status_t planted_reader_end(iso_weight_reader_t *reader, uint64_t *sum_out)
{
    iso_status_t status = real_reader_end(reader, sum_out);

    if (fault == WEIGHT_ROW_QUIET && reader == shifted) {
        *sum_out = right_sum;
    }
    return status;
}

/* Rank 0 has the last stage: it only receives. */
void *planted_payload(const iso_channel_t *channel, int64_t index, int i)
{
    void *payload = real_payload(channel, index, i);

    if (fault == CHANGED_MESSAGE && rank_here() == 0) {
        done++;
        *(float *)payload = 1000.0F;
    }
    return payload;
}

/* -- the model -- */

/* arg: random; every weight is asked for once, and kept. */
typedef struct weights {
    iso_random_t random;
    const iso_graph_t *graph;
    int count;
    float *data[8];
} weights_t;

static iso_status_t get_weight(void *arg, const char *name,
                               iso_tensor_t *tensor_out)
{
    weights_t *weights = arg;
    const iso_node_t *node =
        iso_graph_node(weights->graph, iso_graph_find(weights->graph, name));
    const int64_t count = iso_shape_count(&node->shape);
    float *data = iso_alloc((size_t)count * sizeof *data);

    if (data == NULL) {
        return ISO_NOMEM;
    }
    for (int64_t i = 0; i < count; i++) {
        data[i] = 0.1F * iso_random_float(&weights->random);
    }
    weights->data[weights->count++] = data;
    return iso_tensor_view(ISO_DTYPE_F32, &node->shape, data, tensor_out);
}

static void write_model(void)
{
    iso_graph_t *graph = test_graph();
    weights_t weights = {.random = {.state = 7}, .graph = graph};
    iso_weight_source_t source = {get_weight, &weights};

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph, model_text, NULL), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT(iso_graph_layer_count(graph) >= 3);
    CU_ASSERT_EQUAL_FATAL(iso_model_write("m.h5", graph, &source), ISO_OK);
    for (int i = 0; i < weights.count; i++) {
        iso_free(weights.data[i]);
    }
    iso_graph_destroy(&graph);
}

static void test_writing_the_model(void)
{
    if (rank_here() == 0) {
        write_model();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -- verifying -- */

static int64_t all_done(void)
{
    int64_t all = done;

    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static iso_status_t verify(fault_t what, int random, int64_t micro_batch,
                           iso_verify_result_t *result)
{
    iso_verify_options_t options = {
        .model = "m.h5",
        .random = random,
        .seed = 3,
        .samples = SAMPLES,
        .device = "cpu",
        .threads = 1,
        .folder = ".",
        .plan = {.stages = 1, .micro_batch = micro_batch}};
    iso_status_t status;

    options.plan.stages = what == CHANGED_MESSAGE ? 2 : 1;
    fault = what;
    done = 0;
    status = iso_verify(&options, MPI_COMM_WORLD, NULL, result);
    fault = NO_FAULT;
    return status;
}

static void expect_text(const iso_verify_result_t *result, const char *part)
{
    if (strstr(result->text, part) == NULL) {
        (void)fprintf(stderr, "expected '%s' in: %s\n", part, result->text);
        CU_FAIL("another text");
    }
}

/* Whatever else the text says, it has the bits of both. */
static void expect_found(const iso_verify_result_t *result)
{
    char mine[ISO_VERIFY_TEXT_BYTES];

    CU_ASSERT(all_done() > 0);
    CU_ASSERT(!result->equal);
    expect_text(result, " elements differ; the first is [");
    expect_text(result, "], whole 0x");
    expect_text(result, ", cut 0x");
    expect_text(result, "micro-batch");
    /* The same on every rank. */
    memcpy(mine, result->text, sizeof mine);
    MPI_Bcast(mine, (int)sizeof mine, MPI_CHAR, 0, MPI_COMM_WORLD);
    CU_ASSERT_STRING_EQUAL(mine, result->text);
}

static void test_equal(void)
{
    iso_verify_result_t result;

    CU_ASSERT_EQUAL(verify(NO_FAULT, PLANS, 0, &result), ISO_OK);
    CU_ASSERT(result.equal);
    CU_ASSERT_EQUAL(result.plans, PLANS);
    /* At least the values that are made, in each of them. */
    CU_ASSERT(result.pieces >= 5 * (int64_t)PLANS);
    CU_ASSERT(result.outputs >= PLANS);
    CU_ASSERT_STRING_EQUAL(result.text, "");
}

/* Only the last rank sums so, but others hear of it by exchanges: it is the
 * value that is named, not how it came. */
static void test_other_order(void)
{
    iso_verify_result_t result;
    char where[64];

    CU_ASSERT_EQUAL(verify(OTHER_ORDER, MANY, 0, &result), ISO_OK);
    expect_found(&result);
    expect_text(&result, "the value of node 'm' (matmul) in stage ");
    (void)snprintf(where, sizeof where, ": on rank %d, ", last_rank());
    expect_text(&result, where);
    expect_text(&result, ", worker ");
    expect_text(&result, " with cols from ");
    expect_text(&result, "a sum was taken in another order");
}

static void test_short_halo(void)
{
    iso_verify_result_t result;

    CU_ASSERT_EQUAL(verify(SHORT_HALO, MANY, 0, &result), ISO_OK);
    expect_found(&result);
    expect_text(&result, "an exchange of node '");
    expect_text(&result, "worker ");
    expect_text(&result, " with axis 2 from ");
    expect_text(&result, "a halo is short");
}

static void test_another_part(void)
{
    iso_verify_result_t result;

    CU_ASSERT_EQUAL(verify(REVERSED, MANY, 0, &result), ISO_OK);
    expect_found(&result);
    expect_text(&result, "an exchange of node '");
    expect_text(&result, "the exchange brought another part of the value");
}

/* The weights' own sums find it before anything is computed. */
static void test_shifted_weight(void)
{
    iso_verify_result_t result;

    CU_ASSERT_EQUAL(verify(WEIGHT_ROW, MANY, 0, &result), ISO_INPUT);
    CU_ASSERT(all_done() > 0);
    CU_ASSERT(test_failed_with("'m.h5'"));
    CU_ASSERT(test_failed_with("'wm'"));
    CU_ASSERT(test_failed_with("the file is damaged"));
}

/* Were they not there, the values would. */
static void test_shifted_weight_unseen(void)
{
    iso_verify_result_t result;

    CU_ASSERT_EQUAL(verify(WEIGHT_ROW_QUIET, MANY, 0, &result), ISO_OK);
    expect_found(&result);
    expect_text(&result, "the value of node 'm' (matmul) in stage ");
    expect_text(&result, "computed from another part of an operand or weight");
}

/* On one rank samples by themselves give other bits than all of them together,
 * whole and cut alike. */
static void test_whole_of_one_rank(void)
{
    iso_verify_result_t result;
    char who[64];

    CU_ASSERT_EQUAL(verify(WHOLE_ORDER, 0, 1, &result), ISO_OK);
    CU_ASSERT(all_done() > 0);
    CU_ASSERT(!result.equal);
    (void)snprintf(who, sizeof who, "rank %d, whole, micro-batch 1: output",
                   last_rank());
    expect_text(&result, who);
}

static void test_changed_message(void)
{
    iso_verify_result_t result;

    CU_ASSERT_EQUAL(verify(CHANGED_MESSAGE, 0, 2, &result), ISO_OK);
    expect_found(&result);
    expect_text(&result, "on rank 0, what came in of node '");
    expect_text(&result, "(input) in stage 1, ");
    expect_text(&result, ", cut 0x447a0000;");
    expect_text(&result, "another value arrived than was sent");
}

static void test_nothing_is_left(void)
{
    scratch_check_mpi(1);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"writing the model", test_writing_the_model},
        {"equal", test_equal},
        {"another order", test_other_order},
        {"a short halo", test_short_halo},
        {"another part", test_another_part},
        {"a shifted weight", test_shifted_weight},
        {"a shifted weight, unseen", test_shifted_weight_unseen},
        {"the whole of one rank", test_whole_of_one_rank},
        {"a changed message", test_changed_message},
        {"equal again", test_equal},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"planted", scratch_begin_mpi, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main_mpi(argc, argv, suites);
}
