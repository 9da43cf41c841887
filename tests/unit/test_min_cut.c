#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "plan/place/min_cut.h"

#include <stdio.h>

enum { SEED = 31, MOST_VERTICES = 9, MOST_EDGES = 40 };

typedef struct edge {
    int32_t from;
    int32_t to;
    int64_t capacity;
    int64_t back;
} edge_t;

typedef struct net {
    int32_t n_vertices;
    int n_edges;
    edge_t edges[MOST_EDGES];
} net_t;

/* Sum of the edges from a part, a bit for each vertex, to what is not in it. */
static int64_t sum_of(const net_t *net, unsigned part)
{
    int64_t sum = 0;

    for (int i = 0; i < net->n_edges; i++) {
        const edge_t *edge = &net->edges[i];
        const bool has_from = (part >> edge->from & 1) != 0;
        const bool has_to = (part >> edge->to & 1) != 0;

        sum += has_from && !has_to ? edge->capacity : 0;
        sum += has_to && !has_from ? edge->back : 0;
    }
    return sum;
}

/* The least part of all that are least: what they have in common. */
static int64_t least_of(const net_t *net, unsigned *part_out)
{
    int64_t least = INT64_MAX;

    for (unsigned part = 0; part < 1U << net->n_vertices; part++) {
        const int64_t sum = sum_of(net, part);

        if ((part & 3) != 1) {
            continue;
        }
        *part_out = sum < least ? part : *part_out;
        if (sum == least) {
            *part_out &= part;
        }
        least = sum < least ? sum : least;
    }
    return least;
}

static void expect_cut(iso_min_cut_t *cut, const net_t *net)
{
    unsigned expected = 0;
    unsigned found = 0;
    const int64_t least = least_of(net, &expected);

    iso_min_cut_begin(cut, net->n_vertices);
    for (int i = 0; i < net->n_edges; i++) {
        const edge_t *edge = &net->edges[i];

        iso_min_cut_join(cut, edge->from, edge->to, edge->capacity, edge->back);
    }
    CU_ASSERT_EQUAL(iso_min_cut_solve(cut), least);
    for (int32_t i = 0; i < net->n_vertices; i++) {
        found |= iso_min_cut_has(cut, i) ? 1U << i : 0;
    }
    CU_ASSERT_EQUAL(found, expected);
}

/* With room that is used again. */
static void test_random_nets(void)
{
    const int64_t before = iso_mem_count().blocks;
    uint64_t state = SEED;
    iso_min_cut_t *cut = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_min_cut_create(MOST_VERTICES, MOST_EDGES, &cut),
                          ISO_OK);
    for (int trial = 0; trial < 2000; trial++) {
        net_t net = {.n_vertices =
                         (int32_t)test_random_int(&state, 2, MOST_VERTICES)};
        const int64_t most = test_random_int(&state, 1, 12);
        const int n_edges = (int)test_random_int(&state, 0, MOST_EDGES);

        while (net.n_edges < n_edges) {
            const int32_t from =
                (int32_t)test_random_int(&state, 0, net.n_vertices - 1);
            const int32_t to = (from + (int32_t)test_random_int(
                                           &state, 1, net.n_vertices - 1)) %
                               net.n_vertices;

            net.edges[net.n_edges++] =
                (edge_t){from, to, test_random_int(&state, 0, most),
                         test_random_int(&state, -most, most)};
            if (net.edges[net.n_edges - 1].back < 0) {
                net.edges[net.n_edges - 1].back = 0;
            }
        }
        expect_cut(cut, &net);
    }
    iso_min_cut_destroy(&cut);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* Edges that are never cut beside the largest that may be. */
static void test_large_capacities(void)
{
    const int64_t large = (int64_t)1 << 60;
    iso_min_cut_t *cut = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_min_cut_create(5, 8, &cut), ISO_OK);
    iso_min_cut_begin(cut, 5);
    iso_min_cut_join(cut, ISO_MIN_CUT_SOURCE, 2, ISO_MIN_CUT_NEVER, 0);
    iso_min_cut_join(cut, 2, 3, large, large);
    iso_min_cut_join(cut, 3, 4, ISO_MIN_CUT_NEVER, ISO_MIN_CUT_NEVER);
    iso_min_cut_join(cut, 4, ISO_MIN_CUT_SINK, large - 1, 0);
    CU_ASSERT_EQUAL(iso_min_cut_solve(cut), large - 1);
    CU_ASSERT(iso_min_cut_has(cut, 4));
    iso_min_cut_destroy(&cut);
}

/* Flow through a long path does not recurse. */
static void test_long_path(void)
{
    enum { LENGTH = 200000 };
    iso_min_cut_t *cut = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_min_cut_create(LENGTH + 2, LENGTH + 1, &cut),
                          ISO_OK);
    iso_min_cut_begin(cut, LENGTH + 2);
    iso_min_cut_join(cut, ISO_MIN_CUT_SOURCE, 2, 9, 0);
    for (int32_t i = 2; i < LENGTH + 1; i++) {
        iso_min_cut_join(cut, i, i + 1, i == 777 ? 3 : 5, 0);
    }
    iso_min_cut_join(cut, LENGTH + 1, ISO_MIN_CUT_SINK, 9, 0);
    CU_ASSERT_EQUAL(iso_min_cut_solve(cut), 3);
    CU_ASSERT(iso_min_cut_has(cut, 777));
    CU_ASSERT_FALSE(iso_min_cut_has(cut, 778));
    CU_ASSERT(iso_min_cut_looked_at(cut) < (int64_t)10 * LENGTH);
    iso_min_cut_destroy(&cut);
}

static void test_no_memory(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_min_cut_t *cut = NULL;

    for (int64_t n = 1; n <= 4; n++) {
        iso_mem_fail_at(n);
        CU_ASSERT_EQUAL(iso_min_cut_create(4, 4, &cut), ISO_NOMEM);
        CU_ASSERT_PTR_NULL(cut);
    }
    iso_mem_fail_at(0);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"random nets beside all cuts", test_random_nets},
        {"large capacities", test_large_capacities},
        {"a long path", test_long_path},
        {"no memory", test_no_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"min_cut", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    (void)printf("seed %d\n", SEED);
    return iso_test_main(suites);
}
