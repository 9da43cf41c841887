/* Which host the ranks of a plan sit on. */
#include "iso_test_memory.h"
#include "plan/seating.h"

#include <stdio.h>
#include <string.h>

/* A machine whose ranks are on the hosts named by the letters of a word. Its
 * ranks differ in speed: rank r has r + 1 flop/s. */
static iso_machine_t *make_machine(const char *hosts)
{
    iso_machine_t *machine = NULL;
    int world = (int)strlen(hosts);

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(world, 0, 0, &machine), ISO_OK);
    for (int rank = 0; rank < world; rank++) {
        char host[] = {hosts[rank], '\0'};
        iso_machine_rank_t facts = *iso_machine_rank(machine, rank);

        facts.host = host;
        facts.flops_per_s = rank + 1;
        CU_ASSERT_EQUAL(iso_machine_set_rank(machine, rank, &facts), ISO_OK);
    }
    return machine;
}

/* The hosts of the seated ranks, as a word; each place is taken once. */
static void check(const char *hosts, iso_grid_t grid, const char *expected)
{
    iso_machine_t *machine = make_machine(hosts);
    iso_machine_t *seated = NULL;
    char found[16] = "";
    double sum = 0;
    int world = iso_machine_world(machine);

    CU_ASSERT_EQUAL_FATAL(iso_seating_create(machine, &grid, &seated), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_world(seated), world);
    for (int rank = 0; rank < world; rank++) {
        const iso_machine_rank_t *facts = iso_machine_rank(seated, rank);

        CU_ASSERT_EQUAL(facts->host[0], hosts[(int)facts->flops_per_s - 1]);
        sum += facts->flops_per_s;
        found[rank] = facts->host[0];
    }
    CU_ASSERT_EQUAL(sum, world * (world + 1) / 2.0);
    CU_ASSERT_STRING_EQUAL(found, expected);
    if (strcmp(found, expected) != 0) {
        (void)printf("%s: found %s, expected %s\n", hosts, found, expected);
    }
    iso_machine_destroy(&machine);
    iso_machine_destroy(&seated);
}

#define GRID(...)                                             \
    ((iso_grid_t){sizeof((int[]){__VA_ARGS__}) / sizeof(int), \
                  (const int[]){__VA_ARGS__}})

static void test_in_order(void)
{
    check("a", GRID(1), "a");
    check("aabb", GRID(1, 1, 1, 1), "aabb");
    check("aabb", GRID(2, 2), "aabb");
    check("abab", GRID(2, 2), "aabb");
    check("bacbac", GRID(1, 1, 1, 1, 1, 1), "bbaacc");
    check("abab", GRID(4), "aabb"); /* no host has room */
    check("aaab", GRID(1, 1), "aaab");
}

static void test_by_width(void)
{
    check("aaabbb", GRID(2, 3, 1), "bbaaab");
    check("aaaabbbb", GRID(3, 3), "aaabbbab"); /* two ranks are idle */
    check("aabbb", GRID(3, 2), "bbbaa");
    check("aaabb", GRID(2, 3), "bbaaa");
    check("aaaabbcc", GRID(1, 2, 2, 3), "abbccaaa");
}

/* One stage must be parted; the others are not. */
static void test_parted(void)
{
    check("aaaabbbb", GRID(3, 3, 2), "aaaabbbb"); /* either way */
    check("aabbccdd", GRID(5, 2), "aabbcddc");
}

static void test_figures(void)
{
    iso_machine_t *machine = make_machine("abab");
    iso_machine_t *seated = NULL;
    iso_link_figures_t link =
        *iso_machine_link_figures(machine, ISO_LINK_OTHER_HOST);
    iso_collective_figures_t bcast =
        *iso_machine_collective_figures(machine, ISO_COLLECTIVE_BCAST);

    link.link.latency_s = 0.125;
    bcast.bytes_factor = 3;
    iso_machine_set_link(machine, ISO_LINK_OTHER_HOST, &link);
    iso_machine_set_collective(machine, ISO_COLLECTIVE_BCAST, &bcast);
    CU_ASSERT_EQUAL_FATAL(iso_seating_create(machine, &GRID(2, 2), &seated),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_link(seated, 0, 2).latency_s, 0.125);
    CU_ASSERT_EQUAL(iso_machine_collective_figures(seated, ISO_COLLECTIVE_BCAST)
                        ->bytes_factor,
                    3);
    iso_machine_destroy(&machine);
    iso_machine_destroy(&seated);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"ranks sit host by host", test_in_order},
        {"wide stages choose first", test_by_width},
        {"a stage that fits on no host", test_parted},
        {"links and collectives stay", test_figures},
        CU_TEST_INFO_NULL,
    };

    CU_SuiteInfo suites[] = {
        {"seating", NULL, NULL, test_remember_blocks, test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
