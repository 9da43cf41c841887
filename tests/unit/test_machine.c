#include "isotome/machine.h"

#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_graph.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/isotome-machine-XXXXXX";
static char path[sizeof folder + 16];

static void expect_error(iso_status_t found, iso_status_t expected,
                         const char *text)
{
    CU_ASSERT_EQUAL(found, expected);
    CU_ASSERT(test_failed_with(text));
}

static void write_text(const char *text)
{
    FILE *file = fopen(path, "w");

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
    const iso_link_t link = {0.5, 100.0};

    CU_ASSERT_EQUAL(iso_link_seconds(link, 0), 0.5);
    CU_ASSERT_EQUAL(iso_link_seconds(link, 200), 2.5);
}

static void test_set_rank(void)
{
    iso_machine_t *machine = NULL;
    char host[8] = "";
    iso_machine_rank_t facts = {host, 7, 1.0, 2.0, ISO_COST_MEASURED};

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(2, 0, 0, &machine), ISO_OK);
    uint64_t before = iso_machine_digest(machine);
    (void)snprintf(host, sizeof host, "here");
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 1, &facts), ISO_OK);
    (void)snprintf(host, sizeof host, "gone");
    CU_ASSERT_STRING_EQUAL(iso_machine_rank(machine, 1)->host, "here");
    CU_ASSERT_EQUAL(iso_machine_rank(machine, 1)->memory_bytes, 7);
    CU_ASSERT_NOT_EQUAL(iso_machine_digest(machine), before);
    iso_machine_destroy(&machine);
}

static void test_write_and_read(void)
{
    iso_machine_t *machine = NULL;
    iso_machine_t *again = NULL;
    const iso_machine_rank_t facts = {"node-7", 123456789, 1.0 / 3.0 * 1e12,
                                      0.1, ISO_COST_UNCALIBRATED};

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(4, 2, 0, &machine), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 2, &facts), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_machine_write(machine, path), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_machine_read(path, &again), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_digest(machine), iso_machine_digest(again));
    CU_ASSERT_EQUAL(iso_machine_rank(again, 2)->flops_per_s, facts.flops_per_s);
    iso_machine_destroy(&again);
    expect_error(iso_machine_write(machine, "/nowhere/at/all.json"), ISO_IO,
                 "/nowhere/at/all.json");
    iso_machine_destroy(&machine);
}

#define LINKS                                                       \
    "\"links\":{\"same_host\":{\"latency_s\":0,\"bytes_per_s\":1}," \
    "\"other_host\":{\"latency_s\":0,\"bytes_per_s\":1}}"
#define HEAD "{\"format\":\"isotome-machine\",\"format_version\":1,"
#define RANK(memory, flops, cost)                                        \
    "{\"host\":\"h\",\"memory_bytes\":" memory ",\"flops_per_s\":" flops \
    ",\"memory_bytes_per_s\":1e9,\"cost\":\"" cost "\"}"
#define FILE_OF(rank) HEAD LINKS ",\"ranks\":[" rank "]}"

static void test_smallest_file(void)
{
    iso_machine_t *machine = NULL;

    write_text(FILE_OF(RANK("1", "1", "measured")));
    CU_ASSERT_EQUAL_FATAL(iso_machine_read(path, &machine), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_world(machine), 1);
    iso_machine_destroy(&machine);
}

static void test_bad_files(void)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "line 1"},
        {"[]", "object"},
        {"{}", "'format' is missing"},
        {"{\"format\":\"isotome-plan\"}", "expected 'isotome-machine'"},
        {"{\"format\":\"isotome-machine\",\"format_version\":2}",
         "format_version"},
        {HEAD LINKS ",\"ranks\":[],\"rank\":1}", "unknown member 'rank'"},
        {HEAD LINKS "}", "'ranks' is missing"},
        {HEAD LINKS ",\"ranks\":[]}", "ranks: 0 ranks"},
        {HEAD LINKS ",\"ranks\":{}}", "ranks: expected array"},
        {HEAD "\"ranks\":[" RANK("1", "1", "default") "]}",
         "'links' is missing"},
        {FILE_OF(RANK("0", "1", "default")), "ranks[0].memory_bytes"},
        {FILE_OF(RANK("-1", "1", "default")), "ranks[0].memory_bytes"},
        {FILE_OF(RANK("1.5", "1", "default")), "expected integer"},
        {FILE_OF(RANK("1", "0", "default")), "'flops_per_s' is 0"},
        {FILE_OF(RANK("1", "-3", "default")), "'flops_per_s' is -3"},
        {FILE_OF(RANK("1", "NaN", "default")), "line 1"},
        {FILE_OF(RANK("1", "1e999", "default")), "line 1"},
        {FILE_OF(RANK("1", "\"fast\"", "default")), "expected number"},
        {FILE_OF(RANK("1", "1", "guessed")), "'cost' is 'guessed'"},
        {FILE_OF("{\"host\":\"\"}"), "'host' is empty"},
        {FILE_OF("7"), "ranks[0]: expected object"},
        {FILE_OF(RANK("1", "1", "default") ",{\"hosts\":\"a\"}"),
         "ranks[1]: unknown member 'hosts'; did you mean 'host'?"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_machine_t *machine = NULL;
        write_text(cases[i].text);
        expect_error(iso_machine_read(path, &machine), ISO_INPUT,
                     cases[i].message);
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
    expect_error(iso_machine_read(path, &machine), ISO_INPUT,
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

static int make_folder(void)
{
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    (void)snprintf(path, sizeof path, "%s/machine.json", folder);
    return 0;
}

static int remove_folder(void)
{
    (void)unlink(path);
    return rmdir(folder);
}

static int64_t blocks_at_start;

static void remember_blocks(void)
{
    blocks_at_start = iso_mem_count().blocks;
}

static void check_blocks(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks_at_start);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"default", test_default},
        {"default on one host", test_default_on_one_host},
        {"link seconds", test_link_seconds},
        {"set rank", test_set_rank},
        {"write and read", test_write_and_read},
        {"smallest file", test_smallest_file},
        {"bad files", test_bad_files},
        {"bad link", test_bad_link},
        {"no file", test_no_file},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"machine", make_folder, remove_folder, remember_blocks, check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
