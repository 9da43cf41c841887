/*
 * jansson takes its memory from here: whatever allocation of it fails, a file
 * is read or written as a whole, or the failure is a lack of memory and nothing
 * is kept.
 */
#include "base/json.h"
#include "graph/pass.h"
#include "graph/print.h"
#include "iso_test_folder.h"
#include "iso_test_memory.h"
#include "plan/machine_json.h"
#include "plan_model.h"

#include <stdbool.h>

static int64_t held;    /* blocks of jansson's */
static int64_t calls;   /* so far */
static int64_t failing; /* the call from which on all fail; 0: none */

/* jansson's scanner has a buffer of 2^n bytes, and (in 2.14) an assertion that
 * fails when it cannot grow; these are let alone. */
static bool is_scanners(size_t bytes)
{
    return (bytes & (bytes - 1)) == 0;
}

static void *counted_malloc(size_t bytes)
{
    calls++;
    if (failing > 0 && calls >= failing && !is_scanners(bytes)) {
        return NULL;
    }
    void *block = malloc(bytes);
    held += block != NULL ? 1 : 0;
    return block;
}

static void counted_free(void *block)
{
    held -= block != NULL ? 1 : 0;
    free(block);
}

typedef iso_status_t action_t(void);

/* The action with every allocation failing, one after the other. */
static void try_all(action_t *action, const char *written)
{
    const int64_t blocks = iso_mem_count().blocks;
    int64_t count;

    json_set_alloc_funcs(counted_malloc, counted_free);
    failing = 0;
    calls = 0;
    CU_ASSERT_EQUAL_FATAL(action(), ISO_OK);
    count = calls;
    CU_ASSERT(count > 20);
    for (int64_t n = 1; n <= count; n++) {
        if (written != NULL) {
            (void)unlink(written);
        }
        failing = n;
        calls = 0;
        held = 0;
        const iso_status_t status = action();
        if (status != ISO_OK && status != ISO_NOMEM) {
            (void)fprintf(stderr, "allocation %lld: %s\n", (long long)n,
                          iso_error_text());
            CU_FAIL("another failure than a lack of memory");
        }
        CU_ASSERT(written == NULL ||
                  scratch_exists(written) == (status == ISO_OK));
        /* The text of a file that was written is freed by free(). */
        CU_ASSERT_EQUAL(held, written != NULL && status == ISO_OK ? 1 : 0);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    json_set_alloc_funcs(malloc, free);
}

static iso_graph_t *model;
static iso_plan_t *whole_plan;
static iso_machine_t *facts;

static iso_status_t write_machine(void)
{
    return iso_machine_write(facts, "machine.json");
}

static iso_status_t read_machine(void)
{
    iso_machine_t *again = NULL;
    const iso_status_t status = iso_machine_read("machine.json", &again);

    CU_ASSERT(status != ISO_OK ||
              iso_machine_digest(again) == iso_machine_digest(facts));
    iso_machine_destroy(&again);
    return status;
}

static iso_status_t write_plan(void)
{
    return iso_plan_write(whole_plan, "plan.json");
}

static iso_status_t read_plan(void)
{
    iso_plan_t *again = NULL;
    const iso_status_t status = iso_plan_read("plan.json", model, &again);

    CU_ASSERT(status != ISO_OK ||
              iso_plan_digest(again) == iso_plan_digest(whole_plan));
    iso_plan_destroy(&again);
    return status;
}

static iso_status_t copy_graph(void)
{
    iso_json_t root = {.key = "graph"};
    iso_json_t again = {0};
    iso_graph_t *copy = NULL;
    char *text = NULL;

    ISO_TRY(iso_graph_to_json(model, &root.value));
    iso_status_t status = iso_json_print(root.value, 0, &text);
    json_decref(root.value);
    ISO_TRY(status);
    status = iso_json_parse(text, strlen(text), "graph", &again);
    counted_free(text); /* what jansson prints is freed as its values are */
    ISO_TRY(status);
    status = iso_graph_from_json(&again, &copy);
    json_decref(again.value);
    CU_ASSERT(status != ISO_OK ||
              iso_graph_digest(copy) == iso_graph_digest(model));
    iso_graph_destroy(&copy);
    return status;
}

static void test_machine(void)
{
    try_all(write_machine, "machine.json");
    CU_ASSERT_EQUAL(write_machine(), ISO_OK);
    try_all(read_machine, NULL);
}

static void test_plan(void)
{
    try_all(write_plan, "plan.json");
    CU_ASSERT_EQUAL(write_plan(), ISO_OK);
    try_all(read_plan, NULL);
}

static void test_graph_json(void)
{
    try_all(copy_graph, NULL);
}

static void test_making_them(void)
{
    const iso_machine_device_t device = {.name = "cpu",
                                         .figures = {.host = "a",
                                                     .memory_bytes = 1 << 30,
                                                     .flops_per_s = 1e9,
                                                     .memory_bytes_per_s = 1e9},
                                         .crossing_latency_s = 1e-5,
                                         .crossing_bytes_per_s = 1e9};
    const iso_plan_options_t options = {
        .world = 2, .micro_batch = 4096, .samples = 9999, .workers = 2};
    iso_machine_rank_t rank = device.figures;

    rank.n_devices = 1;
    rank.devices = &device;
    model = make_model("N,64");
    whole_plan = make_plan(model, &options);
    CU_ASSERT_EQUAL(iso_machine_default(2, 2, 0, &facts), ISO_OK);
    CU_ASSERT_EQUAL(iso_machine_set_rank(facts, 1, &rank), ISO_OK);
}

static int suite_end(void)
{
    iso_machine_destroy(&facts);
    iso_plan_destroy(&whole_plan);
    iso_graph_destroy(&model);
    return iso_mem_count().blocks == 0 ? 0 : 1;
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"making them", test_making_them},
        {"machine", test_machine},
        {"plan", test_plan},
        {"graph", test_graph_json},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"json_memory", NULL, suite_end, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
