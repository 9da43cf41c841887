/* Devices of a rank in a machine file. */
#include "isotome/device_map.h"
#include "isotome/machine.h"

#include "base/mem.h"
#include "iso_test_graph.h"
#include "machine_path.h"
#include "plan/machine_json.h"

#include <stdlib.h>
#include <unistd.h>

static void write_text(const char *text)
{
    FILE *file = fopen(machine_path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT(fputs(text, file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void expect_devices(const iso_machine_rank_t *rank)
{
    CU_ASSERT_EQUAL_FATAL(rank->n_devices, 2);

    const iso_machine_device_t *cpu = &rank->devices[0];
    const iso_machine_device_t *cuda = &rank->devices[1];

    CU_ASSERT_STRING_EQUAL(cpu->name, "cpu");
    CU_ASSERT_EQUAL(cpu->figures.flops_per_s, 7.0);
    CU_ASSERT_EQUAL(cpu->figures.copy_bytes_per_s, 4.5);
    CU_ASSERT_EQUAL(cpu->figures.cost_class, ISO_COST_MEASURED);
    CU_ASSERT_EQUAL(cpu->crossing_latency_s, 0.0);
    CU_ASSERT_EQUAL(cpu->crossing_bytes_per_s, 3.0);
    CU_ASSERT_STRING_EQUAL(cuda->name, "cuda1");
    CU_ASSERT_EQUAL(cuda->figures.copy_bytes_per_s, 11.0);
    CU_ASSERT_EQUAL(cuda->figures.rates[ISO_RATE_MOVE].per_s, 1.0 / 7.0);
    CU_ASSERT_EQUAL(cuda->figures.cost_class, ISO_COST_DEFAULT);
    CU_ASSERT_EQUAL(cuda->figures.n_devices, 0);
    CU_ASSERT_EQUAL(cuda->crossing_latency_s, 1.0 / 3.0);
    CU_ASSERT_STRING_EQUAL(cuda->figures.host, rank->host);
    CU_ASSERT_EQUAL(cuda->figures.memory_bytes, rank->memory_bytes);
}

static void test_round_trip(void)
{
    const int64_t before = iso_mem_count().blocks;
    char name[] = "cuda1";
    const iso_machine_device_t devices[] = {
        {"cpu",
         {.memory_bytes = 5, .flops_per_s = 7.0, .memory_bytes_per_s = 9.0},
         0.0,
         3.0},
        {name,
         {.memory_bytes = 5,
          .flops_per_s = 8.0,
          .memory_bytes_per_s = 10.0,
          .copy_bytes_per_s = 11.0,
          .rates = {[ISO_RATE_MOVE] = {1.0 / 7.0, 0.5, ISO_COST_DEFAULT}}},
         1.0 / 3.0,
         4.0},
    };
    iso_machine_rank_t facts = {.host = "h",
                                .memory_bytes = 5,
                                .flops_per_s = 1.0,
                                .memory_bytes_per_s = 2.0,
                                .n_devices = 2,
                                .devices = devices};
    iso_machine_t *machine = NULL;
    iso_machine_t *again = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(3, 0, 0, &machine), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 1, &facts), ISO_OK);
    memset(name, '?', sizeof name - 1); /* a copy was taken */
    expect_devices(iso_machine_rank(machine, 1));
    CU_ASSERT_EQUAL_FATAL(iso_machine_write(machine, machine_path), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_machine_read(machine_path, &again), ISO_OK);
    expect_devices(iso_machine_rank(again, 1));
    CU_ASSERT_EQUAL(iso_machine_rank(again, 0)->n_devices, 0);
    CU_ASSERT_EQUAL(iso_machine_rank(again, 1)->cost_class, ISO_COST_MEASURED);
    CU_ASSERT_EQUAL(iso_machine_digest(machine), iso_machine_digest(again));
    /* Plans do not depend on them. */
    facts.n_devices = 0;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 1, &facts), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_digest(machine), iso_machine_digest(again));
    iso_machine_destroy(&machine);
    iso_machine_destroy(&again);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

#define FILE_OF(devices)                                                  \
    "{\"format\":\"isotome-machine\",\"format_version\":1,"               \
    "\"links\":{\"same_host\":{\"latency_s\":0,\"bytes_per_s\":1},"       \
    "\"other_host\":{\"latency_s\":0,\"bytes_per_s\":1}},"                \
    "\"ranks\":[{\"host\":\"h\",\"memory_bytes\":1,\"flops_per_s\":10,"   \
    "\"memory_bytes_per_s\":4,\"cost\":\"measured\",\"devices\":" devices \
    "}]}"
#define SPEED                 "\"flops_per_s\":8,\"memory_bytes_per_s\":4,\"cost\":\"default\""
#define CROSSING              "\"crossing_latency_s\":0,\"crossing_bytes_per_s\":2"
#define DEVICE(name, members) "{\"name\":\"" name "\"," members "}"

static const struct {
    const char *text;
    const char *message; /* NULL: it is a file */
} files[] = {
    {FILE_OF("[]"), NULL},
    {FILE_OF("[" DEVICE("cpu", SPEED "," CROSSING) "]"), NULL},
    {FILE_OF("[" DEVICE("throttled:0.05", SPEED "," CROSSING) "]"), NULL},
    {FILE_OF("{}"), "ranks[0].devices: expected array"},
    {FILE_OF("[7]"), "ranks[0].devices[0]: expected object"},
    {FILE_OF("[" DEVICE("cpu", SPEED "," CROSSING) ",{}]"),
     "ranks[0].devices[1]: member 'name' is missing"},
    {FILE_OF("[" DEVICE("gpu", SPEED "," CROSSING) "]"),
     "ranks[0].devices[0]: 'name': no device 'gpu'; there are: ref, cpu, "
     "cuda"},
    {FILE_OF("[" DEVICE("cpu", SPEED "," CROSSING) "," DEVICE(
         "cpu", SPEED "," CROSSING) "]"),
     "ranks[0].devices[1]: 'name': there is a device 'cpu' already"},
    {FILE_OF("[" DEVICE("cpu", SPEED) "]"),
     "ranks[0].devices[0]: member 'crossing_latency_s' is missing"},
    {FILE_OF("[" DEVICE("cpu", CROSSING) "]"),
     "ranks[0].devices[0]: member 'flops_per_s' is missing"},
    {FILE_OF("[" DEVICE("cpu", SPEED ",\"crossing_latency_s\":-1,"
                                     "\"crossing_bytes_per_s\":2") "]"),
     "ranks[0].devices[0]: 'crossing_latency_s' is -1"},
    {FILE_OF("[" DEVICE("cpu", SPEED ",\"crossing_latency_s\":0,"
                                     "\"crossing_bytes_per_s\":0") "]"),
     "ranks[0].devices[0]: 'crossing_bytes_per_s' is 0"},
    {FILE_OF("[" DEVICE("cpu", SPEED "," CROSSING ",\"host\":\"h\"") "]"),
     "ranks[0].devices[0]: unknown member 'host'"},
    {FILE_OF(
         "[" DEVICE("cpu", SPEED "," CROSSING ",\"rates\":{\"moves\":{}}") "]"),
     "ranks[0].devices[0].rates: unknown member 'moves'; did you mean 'move'?"},
    {FILE_OF("[1,2,3,4,5,6,7,8,9]"),
     "ranks[0].devices: 9 devices, expected at most 8"},
};

static void test_files(void)
{
    const int64_t before = iso_mem_count().blocks;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        iso_machine_t *machine = NULL;

        write_text(files[i].text);
        const iso_status_t status = iso_machine_read(machine_path, &machine);

        CU_ASSERT_EQUAL(status, files[i].message == NULL ? ISO_OK : ISO_INPUT);
        if (files[i].message != NULL) {
            CU_ASSERT(test_failed_with(files[i].message));
        }
        iso_machine_destroy(&machine);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"write and read", test_round_trip},
        {"good and bad files", test_files},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"machine_devices", machine_path_make, machine_path_remove, NULL, NULL,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
