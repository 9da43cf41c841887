#include "isotome/machine.h"

#include "base/mem.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"
#include "machine_path.h"
#include "plan/machine_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect_error(iso_status_t found, iso_status_t expected,
                         const char *text)
{
    CU_ASSERT_EQUAL(found, expected);
    CU_ASSERT(test_failed_with(text));
}

static void write_text(const char *text)
{
    FILE *file = fopen(machine_path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT(fputs(text, file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void test_default(void)
{
    iso_machine_t *machine = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(5, 2, 1000, &machine), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_world(machine), 5);
    CU_ASSERT_STRING_EQUAL(iso_machine_rank(machine, 0)->host, "host0");
    CU_ASSERT_STRING_EQUAL(iso_machine_rank(machine, 3)->host, "host1");
    CU_ASSERT_STRING_EQUAL(iso_machine_rank(machine, 4)->host, "host2");
    CU_ASSERT_EQUAL(iso_machine_rank(machine, 0)->memory_bytes, 500);
    CU_ASSERT_EQUAL(iso_machine_rank(machine, 4)->memory_bytes, 1000);
    CU_ASSERT_EQUAL(iso_machine_rank(machine, 4)->cost_class, ISO_COST_DEFAULT);
    CU_ASSERT(iso_machine_link(machine, 0, 1).latency_s <
              iso_machine_link(machine, 1, 2).latency_s);
    CU_ASSERT(iso_machine_link(machine, 2, 3).bytes_per_s >
              iso_machine_link(machine, 3, 4).bytes_per_s);
    iso_machine_destroy(&machine);
    CU_ASSERT_PTR_NULL(machine);
}

static void test_default_on_one_host(void)
{
    iso_machine_t *machine = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(3, 0, 0, &machine), ISO_OK);
    for (int rank = 0; rank < 3; rank++) {
        CU_ASSERT_STRING_EQUAL(iso_machine_rank(machine, rank)->host, "host0");
        CU_ASSERT_EQUAL(iso_machine_rank(machine, rank)->memory_bytes,
                        (size_t)4 << 30);
    }
    iso_machine_destroy(&machine);
    expect_error(iso_machine_default(0, 0, 0, &machine), ISO_INVAL, "0 ranks");
    expect_error(iso_machine_default(-3, 0, 0, &machine), ISO_INVAL,
                 "-3 ranks");
    expect_error(iso_machine_default(2, -1, 0, &machine), ISO_INVAL,
                 "-1 ranks for each host");
    expect_error(iso_machine_default(1 << 30, 0, 0, &machine), ISO_INVAL,
                 "1073741824 ranks");
}

static void test_link_seconds(void)
{
    const iso_link_t link = {0.5, 100.0, 0.0, 0};
    const iso_link_t waits = {0.5, 100.0, 4.0, 200};

    CU_ASSERT_EQUAL(iso_link_seconds(link, 0), 0.5);
    CU_ASSERT_EQUAL(iso_link_seconds(link, 200), 2.5);
    CU_ASSERT_EQUAL(iso_link_seconds(waits, 0), 0.5);
    CU_ASSERT_EQUAL(iso_link_seconds(waits, 200), 2.5);
    CU_ASSERT_EQUAL(iso_link_seconds(waits, 300), 7.5);
}

static void test_set_rank(void)
{
    iso_machine_t *machine = NULL;
    char host[8] = "";
    iso_machine_rank_t facts = {.host = host,
                                .memory_bytes = 7,
                                .flops_per_s = 1.0,
                                .memory_bytes_per_s = 2.0,
                                .cost_class = ISO_COST_MEASURED};

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(2, 0, 0, &machine), ISO_OK);
    uint64_t before = iso_machine_digest(machine);
    (void)snprintf(host, sizeof host, "here");
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 1, &facts), ISO_OK);
    (void)snprintf(host, sizeof host, "gone");
    CU_ASSERT_STRING_EQUAL(iso_machine_rank(machine, 1)->host, "here");
    CU_ASSERT_EQUAL(iso_machine_rank(machine, 1)->memory_bytes, 7);
    CU_ASSERT_EQUAL(iso_machine_rank(machine, 1)->copy_bytes_per_s, 1.0);
    CU_ASSERT_EQUAL(iso_machine_rank(machine, 1)->cost_class,
                    ISO_COST_MEASURED);
    CU_ASSERT_NOT_EQUAL(iso_machine_digest(machine), before);
    facts.rates[ISO_RATE_POOL].cost_class = ISO_COST_UNCALIBRATED;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 1, &facts), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_rank(machine, 1)->cost_class,
                    ISO_COST_UNCALIBRATED);
    iso_machine_destroy(&machine);
}

static void test_rates(void)
{
    iso_machine_rank_t rank = {.flops_per_s = 100.0,
                               .memory_bytes_per_s = 10.0,
                               .cost_class = ISO_COST_MEASURED};
    iso_rate_t rate = iso_machine_rank_rate(&rank, ISO_RATE_CONV_3X3);

    CU_ASSERT_DOUBLE_EQUAL(rate.per_s, 60.0, 1e-12);
    CU_ASSERT_EQUAL(rate.cost_class, ISO_COST_MEASURED);
    CU_ASSERT_EQUAL(iso_machine_rank_rate(&rank, ISO_RATE_MOVE).per_s, 10.0);
    rank.cost_class = ISO_COST_DEFAULT;
    CU_ASSERT_EQUAL(iso_machine_rank_rate(&rank, ISO_RATE_MOVE).cost_class,
                    ISO_COST_DEFAULT);
    rank.rates[ISO_RATE_MOVE] = (iso_rate_t){3.0, 0.25, ISO_COST_MEASURED};
    rate = iso_machine_rank_rate(&rank, ISO_RATE_MOVE);
    CU_ASSERT_EQUAL(rate.per_s, 3.0);
    CU_ASSERT_EQUAL(rate.spread, 0.25);
    CU_ASSERT_EQUAL(rate.cost_class, ISO_COST_MEASURED);
    rank.rates[ISO_RATE_MOVE] = (iso_rate_t){0.0, 0.0, ISO_COST_UNCALIBRATED};
    rate = iso_machine_rank_rate(&rank, ISO_RATE_MOVE);
    CU_ASSERT_EQUAL(rate.per_s, 10.0);
    CU_ASSERT_EQUAL(rate.cost_class, ISO_COST_UNCALIBRATED);
}

static void test_collective_link(void)
{
    iso_machine_t *machine = NULL;
    const iso_link_figures_t far = {
        {8.0, 100.0, 3.0, 7}, 0.5, ISO_COST_MEASURED};
    const iso_collective_figures_t slow = {2.0, 4.0, 0.5, ISO_COST_MEASURED};
    iso_link_t link;

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(4, 2, 0, &machine), ISO_OK);
    CU_ASSERT_EQUAL(
        iso_machine_link_figures(machine, ISO_LINK_OTHER_HOST)->cost_class,
        ISO_COST_DEFAULT);
    iso_machine_set_link(machine, ISO_LINK_OTHER_HOST, &far);
    CU_ASSERT_EQUAL(iso_machine_link_kind(machine, 0, 1), ISO_LINK_SAME_HOST);
    CU_ASSERT_EQUAL(iso_machine_link_kind(machine, 2, 1), ISO_LINK_OTHER_HOST);
    CU_ASSERT_EQUAL(iso_machine_link(machine, 2, 1).latency_s, 8.0);
    link = iso_machine_collective(machine, ISO_COLLECTIVE_GATHERV, 1, 2);
    CU_ASSERT_EQUAL(link.latency_s, 8.0);
    CU_ASSERT_EQUAL(link.bytes_per_s, 100.0);
    iso_machine_set_collective(machine, ISO_COLLECTIVE_GATHERV, &slow);
    link = iso_machine_collective(machine, ISO_COLLECTIVE_GATHERV, 1, 2);
    CU_ASSERT_EQUAL(link.latency_s, 16.0);
    CU_ASSERT_EQUAL(link.handshake_s, 6.0);
    CU_ASSERT_EQUAL(link.eager_bytes, 7);
    CU_ASSERT_EQUAL(link.bytes_per_s, 25.0);
    link = iso_machine_collective(machine, ISO_COLLECTIVE_SCATTERV, 1, 2);
    CU_ASSERT_EQUAL(link.latency_s, 8.0);
    iso_machine_destroy(&machine);
}

/* -- files -- */

static void test_write_and_read(void)
{
    iso_machine_t *machine = NULL;
    iso_machine_t *again = NULL;
    const iso_machine_rank_t facts = {
        .host = "node-7",
        .memory_bytes = 123456789,
        .flops_per_s = 1.0 / 3.0 * 1e12,
        .memory_bytes_per_s = 0.1,
        .cost_class = ISO_COST_MEASURED,
        .copy_bytes_per_s = 1.0 / 7.0,
        .rates = {[ISO_RATE_CONV_1X1] = {1e9 / 3.0, 0.1, ISO_COST_MEASURED},
                  [ISO_RATE_POOL] = {7.0, 0.0, ISO_COST_UNCALIBRATED},
                  [ISO_RATE_NORM] = {0.0, 0.5, ISO_COST_UNCALIBRATED},
                  [ISO_RATE_MOVE] = {1e10 / 7.0, 0.0, ISO_COST_DEFAULT}}};
    const iso_link_figures_t link = {{1e-6 / 3.0, 1e9 / 7.0, 2e-6 / 3.0, 4032},
                                     1.0 / 3.0,
                                     ISO_COST_MEASURED};
    const iso_collective_figures_t bcast = {1.0 / 3.0, 1.0 / 7.0, 0.1,
                                            ISO_COST_MEASURED};
    char *text = NULL;
    char *text_again = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(4, 2, 0, &machine), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 2, &facts), ISO_OK);
    iso_machine_set_link(machine, ISO_LINK_OTHER_HOST, &link);
    iso_machine_set_collective(machine, ISO_COLLECTIVE_BCAST, &bcast);
    CU_ASSERT_EQUAL_FATAL(iso_machine_write(machine, machine_path), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_machine_read(machine_path, &again), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_digest(machine), iso_machine_digest(again));
    CU_ASSERT_EQUAL(iso_machine_rank(again, 2)->flops_per_s, facts.flops_per_s);
    CU_ASSERT_EQUAL(iso_machine_rank(again, 2)->cost_class,
                    ISO_COST_UNCALIBRATED);
    CU_ASSERT_EQUAL(iso_machine_print(machine, &text), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_print(again, &text_again), ISO_OK);
    CU_ASSERT_STRING_EQUAL(text, text_again);
    free(text);
    free(text_again);
    iso_machine_destroy(&again);
    expect_error(iso_machine_write(machine, "/nowhere/at/all.json"), ISO_IO,
                 "/nowhere/at/all.json");
    iso_machine_destroy(&machine);
}

enum { SEED = 20 };

static uint64_t random_state = SEED;

static double any(double least, double most)
{
    return least + (most - least) *
                       ((double)(test_random(&random_state) >> 11) * 0x1p-53);
}

static iso_cost_class_t any_class(int most)
{
    return (iso_cost_class_t)(test_random(&random_state) %
                              (uint64_t)(most + 1));
}

static void randomise(iso_machine_t *machine)
{
    for (int i = 0; i < iso_machine_world(machine); i++) {
        iso_machine_rank_t rank = *iso_machine_rank(machine, i);

        rank.flops_per_s = any(1e-3, 1e15);
        rank.memory_bytes_per_s = any(1e-3, 1e15);
        rank.cost_class = any_class(ISO_COST_UNCALIBRATED);
        for (int r = 0; r < ISO_RATE_CLASS_COUNT; r++) {
            if (test_random(&random_state) % 3 > 0) {
                rank.rates[r] = (iso_rate_t){any(1e-9, 1e13), any(0.0, 3.0),
                                             any_class(ISO_COST_UNCALIBRATED)};
            }
        }
        CU_ASSERT_EQUAL(iso_machine_set_rank(machine, i, &rank), ISO_OK);
    }
    for (int i = 0; i < ISO_LINK_KIND_COUNT; i++) {
        const iso_link_figures_t link = {
            {any(0.0, 1e-3), any(1.0, 1e12), any(0.0, 1e-3),
             (size_t)test_random(&random_state) >> 40},
            any(0.0, 2.0),
            any_class(ISO_COST_DEFAULT)};
        iso_machine_set_link(machine, (iso_link_kind_t)i, &link);
    }
    for (int i = 0; i < ISO_COLLECTIVE_COUNT; i++) {
        const iso_collective_figures_t figures = {any(1e-6, 1e3),
                                                  any(1e-6, 1e3), any(0.0, 2.0),
                                                  any_class(ISO_COST_DEFAULT)};
        iso_machine_set_collective(machine, (iso_collective_t)i, &figures);
    }
}

static void test_any_round_trip(void)
{
    (void)printf("  seed %d\n", SEED);
    for (int n = 0; n < 50; n++) {
        iso_machine_t *machine = NULL;
        iso_machine_t *again = NULL;

        CU_ASSERT_EQUAL_FATAL(
            iso_machine_default(1 + (int)(test_random(&random_state) % 5), 2, 0,
                                &machine),
            ISO_OK);
        randomise(machine);
        CU_ASSERT_EQUAL_FATAL(iso_machine_write(machine, machine_path), ISO_OK);
        CU_ASSERT_EQUAL_FATAL(iso_machine_read(machine_path, &again), ISO_OK);
        CU_ASSERT_EQUAL(iso_machine_digest(machine), iso_machine_digest(again));
        iso_machine_destroy(&machine);
        iso_machine_destroy(&again);
    }
}

/* The digest is of every figure. */
static void test_digest(void)
{
    iso_machine_t *machine = NULL;
    iso_link_figures_t link;
    iso_collective_figures_t figures;
    iso_machine_rank_t rank;
    uint64_t seen[6];
    int n = 0;

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(2, 0, 0, &machine), ISO_OK);
    seen[n++] = iso_machine_digest(machine);
    link = *iso_machine_link_figures(machine, ISO_LINK_SAME_HOST);
    link.spread = 0.5;
    iso_machine_set_link(machine, ISO_LINK_SAME_HOST, &link);
    seen[n++] = iso_machine_digest(machine);
    figures = *iso_machine_collective_figures(machine, ISO_COLLECTIVE_BCAST);
    figures.bytes_factor = 2.0;
    iso_machine_set_collective(machine, ISO_COLLECTIVE_BCAST, &figures);
    seen[n++] = iso_machine_digest(machine);
    rank = *iso_machine_rank(machine, 1);
    rank.copy_bytes_per_s *= 2.0;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 1, &rank), ISO_OK);
    seen[n++] = iso_machine_digest(machine);
    rank.rates[ISO_RATE_MOVE].per_s = 7.0;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 1, &rank), ISO_OK);
    seen[n++] = iso_machine_digest(machine);
    rank.rates[ISO_RATE_MOVE].spread = 7.0;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 1, &rank), ISO_OK);
    seen[n++] = iso_machine_digest(machine);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            CU_ASSERT_NOT_EQUAL(seen[i], seen[j]);
        }
    }
    iso_machine_destroy(&machine);
}

#define LINKS                                                       \
    "\"links\":{\"same_host\":{\"latency_s\":0,\"bytes_per_s\":1}," \
    "\"other_host\":{\"latency_s\":0,\"bytes_per_s\":1}}"
#define HANDSHAKE(members)                                                     \
    HEAD                                                                       \
        "\"links\":{\"same_host\":{\"latency_s\":0,\"bytes_per_s\":1," members \
        "},\"other_host\":{\"latency_s\":0,\"bytes_per_s\":1}},"               \
        "\"ranks\":[" RANK("1", "1", "measured") "]}"
#define HEAD "{\"format\":\"isotome-machine\",\"format_version\":1,"
#define RANK(memory, flops, cost)                                        \
    "{\"host\":\"h\",\"memory_bytes\":" memory ",\"flops_per_s\":" flops \
    ",\"memory_bytes_per_s\":1e9,\"cost\":\"" cost "\"}"
#define FILE_OF(rank) HEAD LINKS ",\"ranks\":[" rank "]}"

#define RATED(rates)                                                           \
    FILE_OF("{\"host\":\"h\",\"memory_bytes\":1,\"flops_per_s\":10,"           \
            "\"memory_bytes_per_s\":4,\"cost\":\"measured\",\"rates\":{" rates \
            "}}")
#define WITH_COLLECTIVES(members)           \
    HEAD LINKS ",\"collectives\":{" members \
               "},\"ranks\":[" RANK("1", "1", "measured") "]}"

/* Without what was added since the first version of the file. */
static void test_smallest_file(void)
{
    iso_machine_t *machine = NULL;

    write_text(FILE_OF(RANK("1", "1", "measured")));
    CU_ASSERT_EQUAL_FATAL(iso_machine_read(machine_path, &machine), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_world(machine), 1);
    const iso_machine_rank_t *rank = iso_machine_rank(machine, 0);

    CU_ASSERT_EQUAL(rank->cost_class, ISO_COST_MEASURED);
    CU_ASSERT_EQUAL(rank->copy_bytes_per_s, 0.5e9);
    CU_ASSERT_EQUAL(rank->rates[ISO_RATE_CONV_1X1].per_s, 0.0);
    CU_ASSERT_EQUAL(
        iso_machine_link_figures(machine, ISO_LINK_SAME_HOST)->cost_class,
        ISO_COST_DEFAULT);
    CU_ASSERT_EQUAL(
        iso_machine_collective_figures(machine, ISO_COLLECTIVE_BCAST)
            ->latency_factor,
        1.0);
    iso_machine_destroy(&machine);
}

/* A rank is as certain as its least certain rate. */
static void test_class_of_rates(void)
{
    static const struct {
        const char *text;
        iso_cost_class_t expected;
    } cases[] = {
        {RATED(""), ISO_COST_MEASURED},
        {RATED("\"move\":{\"bytes_per_s\":5,\"cost\":\"measured\"}"),
         ISO_COST_MEASURED},
        {RATED("\"move\":{\"bytes_per_s\":5,\"cost\":\"default\"}"),
         ISO_COST_DEFAULT},
        {RATED("\"norm\":{\"flops_per_s\":5,\"cost\":\"uncalibrated\"}"),
         ISO_COST_UNCALIBRATED},
        {RATED("\"norm\":{\"cost\":\"uncalibrated\"}"), ISO_COST_UNCALIBRATED},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_machine_t *machine = NULL;

        write_text(cases[i].text);
        CU_ASSERT_EQUAL_FATAL(iso_machine_read(machine_path, &machine), ISO_OK);
        CU_ASSERT_EQUAL(iso_machine_rank(machine, 0)->cost_class,
                        cases[i].expected);
        iso_machine_destroy(&machine);
    }
}

static const struct {
    const char *text;
    const char *message;
} bad_files[] = {
    {"", "line 1"},
    {"[]", "object"},
    {"{}", "'format' is missing"},
    {"{\"format\":\"isotome-plan\"}", "expected 'isotome-machine'"},
    {"{\"format\":\"isotome-machine\",\"format_version\":2}", "format_version"},
    {HEAD LINKS ",\"ranks\":[],\"rank\":1}", "unknown member 'rank'"},
    {HEAD LINKS "}", "'ranks' is missing"},
    {HEAD LINKS ",\"ranks\":[]}", "ranks: 0 ranks"},
    {HEAD LINKS ",\"ranks\":{}}", "ranks: expected array"},
    {HEAD "\"ranks\":[" RANK("1", "1", "default") "]}", "'links' is missing"},
    {FILE_OF(RANK("0", "1", "default")), "ranks[0].memory_bytes"},
    {FILE_OF(RANK("-1", "1", "default")), "ranks[0].memory_bytes"},
    {FILE_OF(RANK("1.5", "1", "default")), "expected integer"},
    {FILE_OF(RANK("1", "0", "default")), "'flops_per_s' is 0"},
    {FILE_OF(RANK("1", "-3", "default")), "'flops_per_s' is -3"},
    {FILE_OF(RANK("1", "NaN", "default")), "line 1"},
    {FILE_OF(RANK("1", "-NaN", "default")), "line 1"},
    {FILE_OF(RANK("1", "Infinity", "default")), "line 1"},
    {FILE_OF(RANK("1", "1e999", "default")), "line 1"},
    {FILE_OF(RANK("1", "null", "default")), "expected number"},
    {FILE_OF(RANK("1", "\"fast\"", "default")), "expected number"},
    {FILE_OF(RANK("1", "1", "guessed")), "'cost' is 'guessed'"},
    {FILE_OF("{\"host\":\"\"}"), "'host' is empty"},
    {FILE_OF("7"), "ranks[0]: expected object"},
    {FILE_OF(RANK("1", "1", "default") ",{\"hosts\":\"a\"}"),
     "ranks[1]: unknown member 'hosts'; did you mean 'host'?"},
    {RATED("\"move\":7"), "ranks[0].rates.move: expected object"},
    {RATED("\"moves\":{}"),
     "ranks[0].rates: unknown member 'moves'; did you mean 'move'?"},
    {RATED("\"move\":{}"), "rates.move: member 'cost' is missing"},
    {RATED("\"move\":{\"cost\":\"measured\"}"),
     "rates.move: member 'bytes_per_s' is missing"},
    {RATED("\"move\":{\"flops_per_s\":1,\"cost\":\"measured\"}"),
     "rates.move: unknown member 'flops_per_s'"},
    {RATED("\"norm\":{\"flops_per_s\":0,\"cost\":\"measured\"}"),
     "rates.norm: 'flops_per_s' is 0"},
    {RATED("\"norm\":{\"flops_per_s\":-1,\"cost\":\"uncalibrated\"}"),
     "rates.norm: 'flops_per_s' is -1"},
    {RATED("\"norm\":{\"flops_per_s\":1,\"cost\":\"Measured\"}"),
     "rates.norm: 'cost' is 'Measured'"},
    {RATED("\"norm\":{\"flops_per_s\":1,\"cost\":\"measured\","
           "\"spread\":-0.5}"),
     "rates.norm: 'spread' is -0.5"},
    {FILE_OF("{\"host\":\"h\",\"memory_bytes\":1,\"flops_per_s\":10,"
             "\"memory_bytes_per_s\":4,\"cost\":\"measured\","
             "\"copy_bytes_per_s\":0}"),
     "ranks[0]: 'copy_bytes_per_s' is 0"},
    {FILE_OF("{\"host\":\"h\",\"memory_bytes\":1,\"flops_per_s\":10,"
             "\"memory_bytes_per_s\":4,\"cost\":\"measured\","
             "\"rates\":[]}"),
     "ranks[0].rates: expected object"},
    {HANDSHAKE("\"handshake_s\":1"),
     "links.same_host: member 'eager_bytes' is missing"},
    {HANDSHAKE("\"eager_bytes\":1"),
     "links.same_host: member 'handshake_s' is missing"},
    {HANDSHAKE("\"handshake_s\":-1,\"eager_bytes\":1"),
     "links.same_host: 'handshake_s' is -1"},
    {HANDSHAKE("\"handshake_s\":1,\"eager_bytes\":-1"),
     "links.same_host.eager_bytes: expected 0 to"},
    {WITH_COLLECTIVES("\"scatter\":{}"),
     "collectives: unknown member 'scatter'; did you mean 'scatterv'?"},
    {WITH_COLLECTIVES("\"bcast\":{\"latency_factor\":0,"
                      "\"bytes_factor\":1,\"cost\":\"measured\"}"),
     "collectives.bcast: 'latency_factor' is 0"},
    {WITH_COLLECTIVES("\"bcast\":{\"latency_factor\":1,"
                      "\"cost\":\"measured\"}"),
     "collectives.bcast: member 'bytes_factor' is missing"},
    {WITH_COLLECTIVES("\"bcast\":{\"latency_factor\":1,"
                      "\"bytes_factor\":1,\"cost\":\"uncalibrated\"}"),
     "collectives.bcast: 'cost' is 'uncalibrated', expected measured or "
     "default"},
};

static void test_bad_files(void)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        iso_machine_t *machine = NULL;
        write_text(bad_files[i].text);
        expect_error(iso_machine_read(machine_path, &machine), ISO_INPUT,
                     bad_files[i].message);
        CU_ASSERT_PTR_NULL(machine);
    }
}

static void test_bad_link(void)
{
    iso_machine_t *machine = NULL;

    write_text(
        HEAD
        "\"links\":{\"same_host\":{\"latency_s\":-1,\"bytes_per_s\":1},"
        "\"other_host\":{\"latency_s\":0,\"bytes_per_s\":0}},\"ranks\":[" RANK(
            "1", "1", "default") "]}");
    expect_error(iso_machine_read(machine_path, &machine), ISO_INPUT,
                 "links.same_host: 'latency_s' is -1");
}

static void test_no_file(void)
{
    iso_machine_t *machine = NULL;

    expect_error(iso_machine_read("/nowhere/machine.json", &machine), ISO_INPUT,
                 "/nowhere/machine.json");
}

static void test_out_of_memory(void)
{
    int64_t blocks = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 100; n++) {
        iso_machine_t *machine = NULL;
        iso_mem_fail_at(n);
        status = iso_machine_default(3, 1, 0, &machine);
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        iso_machine_destroy(&machine);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures >= 2);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"default", test_default},
        {"default on one host", test_default_on_one_host},
        {"link seconds", test_link_seconds},
        {"set rank", test_set_rank},
        {"rates", test_rates},
        {"collective link", test_collective_link},
        {"write and read", test_write_and_read},
        {"any round trip", test_any_round_trip},
        {"digest", test_digest},
        {"smallest file", test_smallest_file},
        {"class of rates", test_class_of_rates},
        {"bad files", test_bad_files},
        {"bad link", test_bad_link},
        {"no file", test_no_file},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"machine", machine_path_make, machine_path_remove,
         test_remember_blocks, test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
