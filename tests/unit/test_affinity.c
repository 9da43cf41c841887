#include "base/mem.h"
#include "base/random.h"
#include "iso_test.h"
#include "par/affinity.h"

#include <stdlib.h>

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

/* The narrowest cores are named. */
static void test_nested_cores(void)
{
    const iso_affinity_t wide_first[] = {bound("0-1", 1), bound("0", 1),
                                         bound("0", 1)};
    const iso_affinity_t wide_last[] = {bound("0", 1), bound("0-2", 2),
                                        bound("1-2", 1)};

    check(wide_first, 3,
          "host node1: ranks 5-6, of 2 threads together, share core 0: start "
          "the ranks with mpirun --bind-to core, or fewer of them");
    check(wide_last, 3,
          "host node1: ranks 4-6, of 4 threads together, share cores 0-2: "
          "start the ranks with mpirun --map-by slot:PE=2 --bind-to core, or "
          "fewer of them");
}

/* Two to four cores in a row of eight, which may lie within one another. */
static void draw(iso_random_t *random, iso_affinity_t *ranks, int n)
{
    for (int i = 0; i < n; i++) {
        const int width = 2 + (int)iso_random_below(random, 3);
        const int first = (int)iso_random_below(random, 9 - (uint64_t)width);

        ranks[i] = bound("", 1 + (int)iso_random_below(random, 2));
        for (int core = first; core < first + width; core++) {
            iso_cores_add(&ranks[i].cores, core);
        }
    }
}

/* Threads of the ranks that have no cores outside [first, last]. */
static int threads_between(const iso_affinity_t *ranks, int n, int first,
                           int last)
{
    int threads = 0;

    for (int i = 0; i < n; i++) {
        bool is_inside = true;

        for (int core = 0; core < 8; core++) {
            is_inside = is_inside && (!iso_cores_has(&ranks[i].cores, core) ||
                                      (core >= first && core <= last));
        }
        threads += is_inside ? ranks[i].threads : 0;
    }
    return threads;
}

/* Somebody's cores are found exactly when they do not suffice, and no others
 * that are fewer. */
static void test_random_ranks(void)
{
    enum { RANKS = 6, NONE = 9 };
    iso_random_t random = {.state = 12345};
    int shared = 0;

    for (int round = 0; round < 300; round++) {
        iso_affinity_t ranks[RANKS];
        int fewest = NONE;

        draw(&random, ranks, RANKS);
        for (int i = 0; i < RANKS; i++) {
            const int count = iso_cores_count(&ranks[i].cores);
            int first = 0;

            while (!iso_cores_has(&ranks[i].cores, first)) {
                first++;
            }
            if (count < fewest && threads_between(ranks, RANKS, first,
                                                  first + count - 1) > count) {
                fewest = count;
            }
        }
        const int found = iso_affinity_sharing(ranks, RANKS);

        CU_ASSERT_EQUAL(found == RANKS ? NONE
                                       : iso_cores_count(&ranks[found].cores),
                        fewest);
        shared += found < RANKS ? 1 : 0;
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

    for (int n = 1; n <= 3; n++) {
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
        {"nested cores", test_nested_cores},
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
