/*
 * The relay: a pipeline without a model. The first stage turns token t into
 * h[i] = t + i; layer g adds g + 1 to every element; the last stage gives
 * round(h[0]) = t + L (L + 1) / 2, the next token. Layers go to ranks by the
 * split (rank 0 last), values through the executor's channels.
 */
#include "isotome/layer_split.h"

#include "base/mem.h"
#include "exec/channel.h"
#include "exec/stop.h"
#include "iso_test.h"
#include "par/par.h"

#include <math.h>
#include <string.h>

enum { MOST_HIDDEN = 64, MOST_TOKENS = 8 };

/* One stage of the relay and its neighbours. */
typedef struct stage {
    int rank;
    int world;
    int hidden;
    iso_layer_range_t layers;
    iso_channel_t *in;  /* NULL at the first stage */
    iso_channel_t *out; /* NULL at the last stage */
    iso_stop_t *stop;
} stage_t;

static iso_channel_t *channel_to(const stage_t *stage, int peer, bool sends,
                                 int64_t tokens)
{
    iso_channel_t *channel = NULL;
    iso_tensor_t hidden = {ISO_DTYPE_F64, 1, {stage->hidden}, NULL};
    iso_parcel_t parcel = {.id = 0, .name = "h", .form = {hidden, hidden}};
    iso_channel_spec_t spec = {.sends = sends,
                               .peer = peer,
                               .n_slots = 2,
                               .n_batches = tokens,
                               .n_parcels = 1,
                               .parcels = &parcel};

    CU_ASSERT_EQUAL_FATAL(iso_channel_create(&spec, MPI_COMM_WORLD, &channel),
                          ISO_OK);
    return channel;
}

/* Token number index through this stage; the last one returns the next. */
static int64_t pass(stage_t *stage, int64_t index, int64_t token)
{
    double h[MOST_HIDDEN] = {0};
    bool ready = true;
    size_t bytes = (size_t)stage->hidden * sizeof h[0];

    if (stage->in == NULL) {
        for (int i = 0; i < stage->hidden; i++) {
            h[i] = (double)(token + i);
        }
    } else {
        CU_ASSERT_EQUAL(iso_channel_acquire(stage->in, index, ISO_FORM_FULL,
                                            stage->stop, &ready),
                        ISO_OK);
        memcpy(h, iso_channel_payload(stage->in, index, 0), bytes);
        iso_channel_release(stage->in, index);
    }
    for (int64_t g = 0; g < stage->layers.count; g++) {
        for (int i = 0; i < stage->hidden; i++) {
            h[i] += (double)(stage->layers.start + g + 1);
        }
    }
    if (stage->out == NULL) {
        return (int64_t)round(h[0]);
    }
    CU_ASSERT_EQUAL(iso_channel_acquire(stage->out, index, ISO_FORM_FULL,
                                        stage->stop, &ready),
                    ISO_OK);
    memcpy(iso_channel_payload(stage->out, index, 0), h, bytes);
    iso_channel_post(stage->out, index, ISO_FORM_FULL);
    return 0;
}

static void open_stage(stage_t *stage, const iso_layer_split_t *split,
                       int64_t tokens)
{
    CU_ASSERT_EQUAL(iso_layer_split_range(split, stage->rank, &stage->layers),
                    ISO_OK);
    if (stage->rank < stage->world - 1) {
        stage->in = channel_to(stage, stage->rank + 1, false, tokens);
    }
    if (stage->rank > 0) {
        stage->out = channel_to(stage, stage->rank - 1, true, tokens);
    }
}

static void close_stage(stage_t *stage)
{
    if (stage->out != NULL) {
        iso_channel_announce(stage->out);
    }
    if (stage->in != NULL) {
        iso_channel_finish(stage->in);
    }
    if (stage->out != NULL) {
        iso_channel_finish(stage->out);
    }
    iso_channel_destroy(&stage->in);
    iso_channel_destroy(&stage->out);
}

/*
 * Generate n tokens from the first `world` ranks; the others only take part
 * in the collectives. Collective. Every rank gets the tokens.
 */
static void relay(int world, int64_t layers, int hidden, int64_t token, int n,
                  int64_t *tokens)
{
    int rank = iso_par_rank(MPI_COMM_WORLD);
    stage_t stage = {.rank = rank, .world = world, .hidden = hidden};
    iso_layer_split_t split;

    CU_ASSERT_EQUAL_FATAL(iso_layer_split_even(layers, world, &split), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_stop_create(MPI_COMM_WORLD, 0, &stage.stop),
                          ISO_OK);
    if (rank < world) {
        open_stage(&stage, &split, n);
    }
    for (int i = 0; i < n; i++) {
        if (rank < world) {
            tokens[i] = pass(&stage, i, token);
        }
        MPI_Bcast(&tokens[i], 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
        token = tokens[i];
    }
    if (rank < world) {
        close_stage(&stage);
    }
    iso_stop_destroy(&stage.stop);
    iso_layer_split_free(&split);
}

static void check(int world, int64_t layers, int hidden, int64_t token,
                  int64_t expected)
{
    int64_t next = 0;

    if (iso_par_size(MPI_COMM_WORLD) >= world) {
        relay(world, layers, hidden, token, 1, &next);
        CU_ASSERT_EQUAL(next, expected);
    }
}

static void test_golden_tokens(void)
{
    int64_t blocks = iso_mem_count().blocks;

    check(4, 16, 8, 5, 141);
    check(3, 10, 6, 7, 62);
    check(2, 5, 4, 11, 26);
    check(1, 6, 4, 9, 30);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void test_generating(void)
{
    int64_t tokens[MOST_TOKENS] = {0};

    if (iso_par_size(MPI_COMM_WORLD) >= 2) {
        relay(2, 5, 4, 11, 3, tokens);
        CU_ASSERT_EQUAL(tokens[0], 26);
        CU_ASSERT_EQUAL(tokens[1], 41);
        CU_ASSERT_EQUAL(tokens[2], 56);
    }
}

/* The answer does not depend on how many ranks share the layers. */
static void test_every_world_gives_the_same_token(void)
{
    for (int world = 1; world <= iso_par_size(MPI_COMM_WORLD); world++) {
        for (int64_t layers = world; layers < 12; layers++) {
            check(world, layers, MOST_HIDDEN, 3, 3 + layers * (layers + 1) / 2);
        }
    }
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"golden tokens", test_golden_tokens},
        {"generating", test_generating},
        {"every world gives the same token",
         test_every_world_gives_the_same_token},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"relay", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main_mpi(argc, argv, suites);
}
