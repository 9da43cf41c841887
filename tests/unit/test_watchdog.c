/*
 * What a rank waits for, what it says of that, and when it speaks.
 */
#include "base/text.h"
#include "iso_test.h"
#include "par/watchdog.h"

static const iso_wait_t receive = {.kind = ISO_WAIT_RECEIVE,
                                   .value = "relu",
                                   .micro_batch = 7,
                                   .peer = 2,
                                   .n_peers = 1};

static void test_the_outermost_wait_is_seen(void)
{
    iso_wait_seen_t seen;

    CU_ASSERT_FALSE(iso_wait_look(&seen));
    iso_wait_begin(&receive);
    iso_wait_begin_call("MPI_Recv(x)");
    CU_ASSERT_TRUE(iso_wait_look(&seen));
    CU_ASSERT_EQUAL(seen.wait.kind, ISO_WAIT_RECEIVE);
    CU_ASSERT_EQUAL(seen.wait.micro_batch, 7);
    CU_ASSERT_EQUAL(seen.wait.peer, 2);
    const uint64_t number = seen.number;

    iso_wait_end();
    CU_ASSERT_TRUE(iso_wait_look(&seen));
    CU_ASSERT_EQUAL(seen.number, number);
    iso_wait_end();
    CU_ASSERT_FALSE(iso_wait_look(&seen));
    iso_wait_begin_call("MPI_Barrier(comm)");
    CU_ASSERT_TRUE(iso_wait_look(&seen));
    CU_ASSERT_EQUAL(seen.wait.kind, ISO_WAIT_ALL);
    CU_ASSERT_NOT_EQUAL(seen.number, number);
    iso_wait_end();
}

static void says(const iso_wait_t *wait, const char *phase,
                 const char *expected)
{
    const iso_wait_seen_t seen = {.wait = *wait, .phase = phase};
    iso_text_t text = {0};

    iso_watchdog_say(&seen, 3, NULL, &text);
    CU_ASSERT_STRING_EQUAL(text.data, expected);
    iso_text_free(&text);
}

static void test_texts(void)
{
    iso_wait_t wait = receive;

    says(&wait, NULL,
         "waited 3 s for 'relu' of micro-batch 7 from rank 2 on ?");
    wait.kind = ISO_WAIT_SEND;
    says(&wait, NULL,
         "waited 3 s for rank 2 on ? to take 'relu' of micro-batch 7");
    wait = (iso_wait_t){.kind = ISO_WAIT_EXCHANGE,
                        .op = "halo",
                        .value = "conv",
                        .peer = 4,
                        .n_peers = 3};
    says(&wait, NULL,
         "waited 3 s for the exchange (halo) of 'conv' with the workers of the "
         "stage, rank 4 to 6 (?...)");
    wait = (iso_wait_t){.kind = ISO_WAIT_ALL, .op = "MPI_Bcast(a, b)"};
    says(&wait, "loading weights",
         "waited 3 s for the other ranks while loading weights (MPI_Bcast)");
}

static int turn(iso_wait_kind_t kind, int stage, int worker)
{
    const iso_watchdog_place_t place = {
        .stage = stage, .n_stages = 4, .worker = worker, .most_workers = 2};
    const iso_wait_t wait = {.kind = kind};

    return iso_watchdog_turn(&wait, &place, 3);
}

/* Who is next to the trouble comes before who waits for that one. */
static void test_turns(void)
{
    CU_ASSERT_EQUAL(turn(ISO_WAIT_EXCHANGE, 3, 0), 0);
    CU_ASSERT_TRUE(turn(ISO_WAIT_DONE, 0, 0) < turn(ISO_WAIT_DONE, 0, 1));
    CU_ASSERT_TRUE(turn(ISO_WAIT_EXCHANGE, 3, 1) <
                   turn(ISO_WAIT_RECEIVE, 1, 0));
    CU_ASSERT_TRUE(turn(ISO_WAIT_RECEIVE, 1, 0) < turn(ISO_WAIT_RECEIVE, 2, 0));
    CU_ASSERT_TRUE(turn(ISO_WAIT_RECEIVE, 3, 0) < turn(ISO_WAIT_SEND, 2, 0));
    CU_ASSERT_TRUE(turn(ISO_WAIT_SEND, 2, 0) < turn(ISO_WAIT_SEND, 1, 0));
    CU_ASSERT_TRUE(turn(ISO_WAIT_SEND, 0, 0) < turn(ISO_WAIT_READY, 0, 1));
    CU_ASSERT_TRUE(turn(ISO_WAIT_READY, 3, 1) < turn(ISO_WAIT_ALL, 0, 0));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"the outermost wait is seen", test_the_outermost_wait_is_seen},
        {"texts", test_texts},
        {"turns", test_turns},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"watchdog", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
