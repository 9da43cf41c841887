#include "base/mem.h"
#include "base/random.h"
#include "iso_test.h"
#include "par/affinity.h"

#include <stdlib.h>
#include <string.h>

/* Of a text as iso_cores_add_text makes it, "0-3,8". */
static iso_cores_t cores_of(const char *text)
{
    iso_cores_t cores = {{0}};

    while (*text != '\0') {
        char *end = NULL;
        const int first = (int)strtol(text, &end, 10);
        const int last = *end == '-' ? (int)strtol(end + 1, &end, 10) : first;

        for (int core = first; core <= last; core++) {
            iso_cores_add(&cores, core);
        }
        text = *end == ',' ? end + 1 : end;
    }
    return cores;
}

static iso_affinity_t bound(const char *cores, int threads)
{
    return (iso_affinity_t){
        .cores = cores_of(cores), .threads = threads, .is_bound = true};
}

static void test_texts(void)
{
    static const char *const texts[] = {"0",    "4095",      "0-3,8",
                                        "0-63", "1,3,63-65", "0-4095"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const iso_cores_t cores = cores_of(texts[i]);
        iso_text_t text = {0};

        iso_cores_add_text(&cores, &text);
        CU_ASSERT_STRING_EQUAL_FATAL(text.data, texts[i]);
        iso_text_free(&text);
    }
    const iso_cores_t none = {{0}};
    iso_text_t text = {0};

    iso_cores_add_text(&none, &text);
    CU_ASSERT_EQUAL(text.length, 0);
    CU_ASSERT_EQUAL(iso_cores_count(&none), 0);
}

/* What is said of ranks that are numbered from 4; "" for nothing. */
static void check(const iso_affinity_t *ranks, int n, const char *expected)
{
    const int numbers[] = {4, 5, 6, 7, 9, 10, 11, 12};
    iso_text_t text = {0};

    CU_ASSERT_EQUAL(iso_affinity_add_warning("node1", ranks, numbers, n, &text),
                    ISO_OK);
    CU_ASSERT_STRING_EQUAL(text.length > 0 ? text.data : "", expected);
    iso_text_free(&text);
}

static void test_enough_cores(void)
{
    const iso_affinity_t own[] = {bound("0", 1), bound("1", 1)};
    const iso_affinity_t wide[] = {bound("0-1", 1), bound("0-1", 1),
                                   bound("2-5", 2), bound("2-5", 2)};
    /* Each has one, but only if the first two move. */
    const iso_affinity_t chain[] = {bound("0-1", 1), bound("0-2", 1),
                                    bound("1", 1), bound("0,3", 1)};

    check(own, 2, "");
    check(wide, 4, "");
    check(chain, 4, "");
    check(own, 0, "");
}

static void test_shared_cores(void)
{
    const iso_affinity_t same[] = {bound("0", 1), bound("2", 1), bound("0", 1)};
    const iso_affinity_t pair[] = {bound("0-2", 2), bound("8-9", 2),
                                   bound("1-2", 2)};
    /* No two of them have too few, all three have. */
    const iso_affinity_t three[] = {bound("0-1", 1), bound("4", 1),
                                    bound("0-1", 1), bound("0-1", 1),
                                    bound("0-7", 1)};

    check(same, 3,
          "host node1: ranks 4,6, of 2 threads together, share core 0: start "
          "the ranks with mpirun --bind-to core, or fewer of them");
    check(pair, 3,
          "host node1: ranks 4,6, of 4 threads together, share cores 0-2: "
          "start the ranks with mpirun --map-by slot:PE=2 --bind-to core, or "
          "fewer of them");
    check(three, 5,
          "host node1: ranks 4,6-7, of 3 threads together, share cores 0-1: "
          "start the ranks with mpirun --bind-to core, or fewer of them");
}

/* More ranks than cores, told to go anywhere: that was asked for. */
static void test_unbound_ranks_are_left_alone(void)
{
    iso_affinity_t ranks[4];

    for (int i = 0; i < 4; i++) {
        ranks[i] = bound("0-1", 1);
        ranks[i].is_bound = false;
    }
    check(ranks, 4, "");
    ranks[2] = bound("1", 1);
    check(ranks, 4, "");
    ranks[3] = bound("1", 1);
    check(ranks, 4,
          "host node1: ranks 6-7, of 2 threads together, share core 1: start "
          "the ranks with mpirun --bind-to core, or fewer of them");
}

static void test_too_many_threads(void)
{
    const iso_affinity_t ranks[] = {bound("0", 1), bound("1", 4),
                                    bound("1", 4)};
    iso_affinity_t unknown = bound("", 3);

    check(ranks, 3,
          "host node1: rank 5 has 4 threads and may use core 1 alone: start "
          "the ranks with mpirun --map-by slot:PE=4 --bind-to core, or give "
          "fewer --threads");
    unknown.is_bound = false;
    check(&unknown, 1, "");
}

/* Ranks of one thread, each core of seven with a chance of a quarter. */
static void draw(iso_random_t *random, iso_affinity_t *ranks, int n)
{
    for (int i = 0; i < n; i++) {
        ranks[i] = bound("", 1);
        for (int core = 0; core < 7; core++) {
            if (iso_random_below(random, 4) == 0) {
                iso_cores_add(&ranks[i].cores, core);
            }
        }
    }
}

static void add_all(const iso_cores_t *from, iso_cores_t *to)
{
    for (size_t i = 0; i < sizeof to->words / sizeof *to->words; i++) {
        to->words[i] |= from->words[i];
    }
}

/* What is said of who shares is true, and something is said. */
static void test_random_ranks(void)
{
    enum { RANKS = 6 };
    iso_random_t random = {.state = 12345};
    int shared = 0;

    for (int round = 0; round < 300; round++) {
        iso_affinity_t ranks[RANKS];
        bool shares[RANKS];
        iso_cores_t cores;
        iso_cores_t of_sharers = {{0}};
        int threads = 0;

        draw(&random, ranks, RANKS);
        CU_ASSERT_EQUAL_FATAL(
            iso_affinity_sharing(ranks, RANKS, shares, &cores), ISO_OK);
        for (int i = 0; i < RANKS; i++) {
            if (shares[i]) {
                threads++;
                add_all(&ranks[i].cores, &of_sharers);
            }
        }
        CU_ASSERT_EQUAL(memcmp(&of_sharers, &cores, sizeof cores), 0);
        CU_ASSERT(threads == 0 || threads > iso_cores_count(&cores));
        CU_ASSERT(threads > 0 || iso_cores_count(&cores) == 0);
        shared += threads > 0 ? 1 : 0;
    }
    CU_ASSERT(shared > 50 && shared < 250);
}

static void test_this_process(void)
{
    const iso_affinity_t mine = iso_affinity_here(2);

    CU_ASSERT_EQUAL(mine.threads, 2);
    CU_ASSERT(iso_cores_count(&mine.cores) >= 1);
}

static void test_no_memory(void)
{
    const iso_affinity_t ranks[] = {bound("0", 1), bound("0", 1)};
    const int numbers[] = {0, 1};

    for (int n = 1; n <= 5; n++) {
        iso_text_t text = {0};

        iso_mem_fail_at(n);
        CU_ASSERT_EQUAL(
            iso_affinity_add_warning("node1", ranks, numbers, 2, &text),
            ISO_NOMEM);
        iso_mem_fail_at(0);
        iso_text_free(&text);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"texts", test_texts},
        {"enough cores", test_enough_cores},
        {"shared cores", test_shared_cores},
        {"unbound ranks are left alone", test_unbound_ranks_are_left_alone},
        {"too many threads", test_too_many_threads},
        {"random ranks", test_random_ranks},
        {"this process", test_this_process},
        {"no memory", test_no_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"affinity", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
