/*
 * Channels and stop: order, headers, failures in the middle; with tensors in
 * messages of their own, and those in the memory of a device at either end.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "exec/channel.h"
#include "iso_test.h"
#include "par/par.h"

#include <string.h>

enum { N_BATCHES = 23, N_VALUES = 100 };

/* How a channel is made: of tensor 0 each end may have its own memory. */
typedef struct way {
    bool is_apart;
    bool has_device[2]; /* by rank */
} way_t;

static const way_t ways[] = {
    {false, {false, false}}, {true, {false, false}}, {true, {true, false}},
    {true, {false, true}},   {true, {true, true}},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static const way_t *way = &ways[0];
static iso_device_t *device;

static iso_channel_t *channel_to(int peer, bool sends, int id)
{
    iso_channel_t *channel = NULL;
    iso_tensor_t full = {ISO_DTYPE_F32, 1, {N_VALUES}, NULL};
    iso_tensor_t tail = {ISO_DTYPE_F32, 1, {N_VALUES / 3}, NULL};
    iso_device_t *mine = way->has_device[1 - peer] ? device : NULL;
    iso_parcel_t parcels[2] = {
        {.id = id, .name = "a", .form = {full, tail}, .device = mine},
        {.id = id + 1, .name = "b", .form = {full, tail}}};
    iso_channel_spec_t spec = {.sends = sends,
                               .is_apart = way->is_apart,
                               .peer = peer,
                               .n_slots = 3,
                               .n_batches = N_BATCHES,
                               .n_parcels = 2,
                               .parcels = parcels};

    CU_ASSERT_EQUAL_FATAL(iso_channel_create(&spec, MPI_COMM_WORLD, &channel),
                          ISO_OK);
    return channel;
}

static void put(iso_channel_t *channel, int64_t index, iso_form_t form)
{
    for (int parcel = 0; parcel < 2; parcel++) {
        float *values = iso_channel_payload(channel, index, parcel);

        for (int i = 0; i < N_VALUES; i++) {
            values[i] = (float)(index * 1000 + (int64_t)parcel * 500 + i);
        }
    }
    iso_channel_post(channel, index, form);
}

static bool holds(const iso_channel_t *channel, int64_t index)
{
    for (int parcel = 0; parcel < 2; parcel++) {
        const float *values = iso_channel_payload(channel, index, parcel);

        for (int i = 0; i < N_VALUES / 3; i++) {
            if (values[i] !=
                (float)(index * 1000 + (int64_t)parcel * 500 + i)) {
                return false;
            }
        }
    }
    return true;
}

/* What was counted, of messages that all arrived. */
static void check_bytes(const iso_channel_t *channel, int rank)
{
    const double tensor = 448; /* 100 floats in units of 64 bytes */

    CU_ASSERT_EQUAL(iso_channel_direct_bytes(channel),
                    way->has_device[rank] ? N_BATCHES * tensor : 0);
    if (rank == 1) {
        CU_ASSERT_EQUAL(iso_channel_sent_bytes(channel),
                        N_BATCHES * 2 * (tensor + 128));
    }
}

/* A ring of two: rank 1 sends to rank 0; `fails_at` is the message at which
 * the receiver gives up (N_BATCHES: never). Collective. */
static void send_all(int64_t fails_at, int wrong_id)
{
    int rank = iso_par_rank(MPI_COMM_WORLD);
    iso_channel_t *channel = NULL;
    iso_stop_t *stop = NULL;
    bool ready = true;
    int64_t blocks = iso_mem_count().blocks;

    if (iso_par_size(MPI_COMM_WORLD) < 2) {
        return;
    }
    CU_ASSERT_EQUAL_FATAL(iso_stop_create(MPI_COMM_WORLD, 0, &stop), ISO_OK);
    if (rank < 2) {
        channel = channel_to(1 - rank, rank == 1, rank == 1 ? wrong_id : 4);
    }
    for (int64_t i = 0; rank < 2 && i < N_BATCHES && ready; i++) {
        iso_form_t form = i == N_BATCHES - 1 ? ISO_FORM_TAIL : ISO_FORM_FULL;
        iso_status_t status =
            iso_channel_acquire(channel, i, form, stop, &ready);

        if (rank == 1 && ready) {
            put(channel, i, form);
        }
        if (rank == 0) {
            CU_ASSERT_EQUAL(status, wrong_id == 4 ? ISO_OK : ISO_DISAGREE);
            if (i == fails_at || status != ISO_OK) {
                iso_stop_raise(stop);
                break;
            }
            CU_ASSERT_TRUE(holds(channel, i));
            iso_channel_release(channel, i);
        }
    }
    CU_ASSERT_EQUAL(iso_par_agree(ISO_OK, MPI_COMM_WORLD), ISO_OK);
    if (rank < 2) {
        iso_channel_announce(channel);
        iso_channel_finish(channel);
        if (fails_at == N_BATCHES && wrong_id == 4) {
            check_bytes(channel, rank);
        }
        iso_channel_destroy(&channel);
    }
    iso_stop_destroy(&stop);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void test_all_messages_arrive_in_order(void)
{
    for (int i = 0; i < N_WAYS; i++) {
        way = &ways[i];
        send_all(N_BATCHES, 4);
    }
}

static void test_a_receiver_may_fail_at_any_message(void)
{
    for (int64_t i = 0; i < (int64_t)N_BATCHES * N_WAYS; i++) {
        way = &ways[i % N_WAYS];
        send_all(i / N_WAYS, 4);
    }
}

static void test_a_wrong_header_is_refused(void)
{
    const bool is_receiver =
        iso_par_rank(MPI_COMM_WORLD) == 0 && iso_par_size(MPI_COMM_WORLD) > 1;

    for (int i = 0; i < N_WAYS; i++) {
        way = &ways[i];
        send_all(N_BATCHES, 6);
        if (is_receiver) {
            CU_ASSERT_PTR_NOT_NULL(
                strstr(iso_error_text(), "expected tensor 4 ('a')"));
            CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "found tensor 6"));
        }
        iso_error_clear();
    }
}

/* A receiver that is given up before the work begins leaves no receive behind
 * that takes the message of the next one. */
static void test_an_unused_channel_takes_nothing(void)
{
    int rank = iso_par_rank(MPI_COMM_WORLD);

    for (int i = 0; i < N_WAYS; i++) {
        way = &ways[i];
        if (iso_par_size(MPI_COMM_WORLD) > 1 && rank < 2) {
            iso_channel_t *unused = channel_to(1 - rank, rank == 1, 4);

            iso_channel_destroy(&unused);
        }
        send_all(N_BATCHES, 4);
    }
}

/* Any number of ranks may stop; none is left waiting. */
static void test_everyone_may_stop_at_once(void)
{
    int rank = iso_par_rank(MPI_COMM_WORLD);
    int size = iso_par_size(MPI_COMM_WORLD);

    for (int raising = 0; raising <= size; raising++) {
        iso_stop_t *stop = NULL;
        MPI_Request never = MPI_REQUEST_NULL;
        int nothing = 0;

        CU_ASSERT_EQUAL_FATAL(iso_stop_create(MPI_COMM_WORLD, 0, &stop),
                              ISO_OK);
        if (rank < raising) {
            iso_stop_raise(stop);
            iso_stop_raise(stop);
        } else if (raising > 0) {
            MPI_Irecv(&nothing, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, &never);
            CU_ASSERT_FALSE(iso_stop_wait(stop, 0, &never));
            CU_ASSERT_FALSE(iso_stop_wait(stop, 0, &never));
            MPI_Cancel(&never);
            MPI_Wait(&never, MPI_STATUS_IGNORE);
        }
        iso_stop_destroy(&stop);
    }
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"all messages arrive in order", test_all_messages_arrive_in_order},
        {"a receiver may fail at any message",
         test_a_receiver_may_fail_at_any_message},
        {"a wrong header is refused", test_a_wrong_header_is_refused},
        {"an unused channel takes nothing",
         test_an_unused_channel_takes_nothing},
        {"everyone may stop at once", test_everyone_may_stop_at_once},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"channel", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    if (iso_device_open("cpu", 1, &device) != ISO_OK) {
        return 1;
    }

    const int code = iso_test_main_mpi(argc, argv, suites);

    iso_device_close(&device);
    return code;
}
