#include "base/mem.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"
#include "tools/grid_option.h"

#include <stdbool.h>
#include <stdlib.h>

/* What a command line says; NULL: nothing. */
typedef struct said {
    const char *grid;
    const char *stages;
    const char *workers;
} said_t;

static iso_status_t take(const said_t *said, iso_grid_option_t *option,
                         iso_plan_options_t *options)
{
    iso_status_t status = ISO_OK;

    *option = (iso_grid_option_t){0};
    *options = (iso_plan_options_t){0};
    if (said->grid != NULL) {
        status = iso_grid_option_set(option, ISO_OPT_GRID, said->grid, options);
    }
    if (status == ISO_OK && said->stages != NULL) {
        status =
            iso_grid_option_set(option, ISO_OPT_STAGES, said->stages, options);
    }
    if (status == ISO_OK && said->workers != NULL) {
        status = iso_grid_option_set(option, ISO_OPT_WORKERS, said->workers,
                                     options);
    }
    return status == ISO_OK ? iso_grid_option_end(option, options) : status;
}

static void test_widths(void)
{
    static const struct {
        const char *text;
        int n_stages;
        int widths[4];
    } cases[] = {
        {"1", 1, {1}},           {"4", 1, {4}},
        {"2,2", 2, {2, 2}},      {" 1 , 3 ", 2, {1, 3}},
        {"2,1,1", 3, {2, 1, 1}}, {"1048576", 1, {ISO_MAX_WORLD}},
        {"007", 1, {7}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const said_t said = {.grid = cases[i].text};
        iso_grid_option_t option;
        iso_plan_options_t options;

        CU_ASSERT_EQUAL_FATAL(take(&said, &option, &options), ISO_OK);
        CU_ASSERT(iso_grid_option_given(&option, &options));
        CU_ASSERT(!options.propose);
        CU_ASSERT_EQUAL_FATAL(options.grid.n_stages, cases[i].n_stages);
        for (int k = 0; k < cases[i].n_stages; k++) {
            CU_ASSERT_EQUAL(options.grid.widths[k], cases[i].widths[k]);
        }
        iso_grid_option_free(&option);
    }
}

static void test_nothing_said(void)
{
    const said_t said = {0};
    iso_grid_option_t option;
    iso_plan_options_t options;

    CU_ASSERT_EQUAL(take(&said, &option, &options), ISO_OK);
    CU_ASSERT(!iso_grid_option_given(&option, &options));
    CU_ASSERT_EQUAL(options.grid.n_stages, 0);
    CU_ASSERT_PTR_NULL(options.grid.widths);
    CU_ASSERT(!options.propose);
    iso_grid_option_free(&option);
}

static void test_auto(void)
{
    const said_t said = {.grid = "auto"};
    iso_grid_option_t option;
    iso_plan_options_t options;

    CU_ASSERT_EQUAL(take(&said, &option, &options), ISO_OK);
    CU_ASSERT(iso_grid_option_given(&option, &options));
    CU_ASSERT(options.propose);
    CU_ASSERT_EQUAL(options.grid.n_stages, 0);
    iso_grid_option_free(&option);
}

static void test_stages_and_workers(void)
{
    static const said_t cases[] = {
        {.stages = "3"}, {.workers = "4"}, {.stages = "3", .workers = "4"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_grid_option_t option;
        iso_plan_options_t options;

        CU_ASSERT_EQUAL(take(&cases[i], &option, &options), ISO_OK);
        CU_ASSERT(iso_grid_option_given(&option, &options));
        CU_ASSERT_EQUAL(options.stages, cases[i].stages == NULL ? 0 : 3);
        CU_ASSERT_EQUAL(options.workers, cases[i].workers == NULL ? 0 : 4);
        CU_ASSERT_EQUAL(options.grid.n_stages, 0);
        iso_grid_option_free(&option);
    }
}

static void test_errors(void)
{
    static const struct {
        said_t said;
        const char *message;
    } cases[] = {
        {{.grid = ""}, "--grid: '' is not a whole number from 1 to"},
        {{.grid = "2,"}, "--grid: '' is not a whole number from 1 to"},
        {{.grid = ",2"}, "--grid: '' is not a whole number from 1 to"},
        {{.grid = "2,,1"}, "--grid: '' is not a whole number from 1 to"},
        {{.grid = "0"}, "--grid: '0' is not a whole number from 1 to"},
        {{.grid = "2,0"}, "--grid: '0' is not a whole number from 1 to"},
        {{.grid = "-1"}, "--grid: '-1' is not a whole number from 1 to"},
        {{.grid = "+1"}, "--grid: '+1' is not a whole number from 1 to"},
        {{.grid = "2;2"}, "--grid: '2;2' is not a whole number from 1 to"},
        {{.grid = "2.0"}, "--grid: '2.0' is not a whole number from 1 to"},
        {{.grid = "two"}, "--grid: 'two' is not a whole number from 1 to"},
        {{.grid = "1e9"}, "--grid: '1e9' is not a whole number from 1 to"},
        {{.grid = "0x2"}, "--grid: '0x2' is not a whole number from 1 to"},
        {{.grid = "AUTO"}, "--grid: 'AUTO' is not a whole number from 1 to"},
        {{.grid = "auto,1"}, "--grid: 'auto' is not a whole number from 1 to"},
        {{.grid = "1048577"},
         "--grid: '1048577' is not a whole number from 1 to"},
        {{.grid = "1,9223372036854775807"},
         "--grid: '9223372036854775807' is not a whole number from 1 to"},
        {{.grid = "9223372036854775808"},
         "--grid: '9223372036854775808' is not a whole number from 1 to"},
        {{.grid = "2 2"}, "--grid: '2 2' is not a whole number from 1 to"},
        {{.grid = " "}, "--grid: '' is not a whole number from 1 to"},
        {{.grid = "2", .stages = "1"}, "leave out --stages and --workers"},
        {{.grid = "2", .workers = "2"}, "leave out --stages and --workers"},
        {{.grid = "auto", .workers = "2"}, "leave out --stages and --workers"},
        {{.stages = "0"}, "--stages: '0' is not"},
        {{.stages = "two"}, "--stages: 'two' is not"},
        {{.stages = ""}, "--stages: '' is not"},
        {{.stages = "1048577"}, "--stages: '1048577' is not"},
        {{.workers = "-2"}, "--workers: '-2' is not"},
        {{.workers = "2,2"}, "--workers: '2,2' is not"},
        {{.workers = "99999999999999999999"},
         "--workers: '99999999999999999999'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_grid_option_t option;
        iso_plan_options_t options;

        CU_ASSERT_EQUAL(take(&cases[i].said, &option, &options), ISO_INVAL);
        CU_ASSERT(test_failed_with(cases[i].message));
        iso_grid_option_free(&option);
        test_check_blocks();
    }
}

/* More stages than there can be ranks. */
static void test_very_long(void)
{
    const size_t count = (size_t)ISO_MAX_WORLD + 1;
    char *text = malloc(2 * count);
    said_t said = {.grid = text};
    iso_grid_option_t option;
    iso_plan_options_t options;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t i = 0; i < count; i++) {
        memcpy(text + 2 * i, "1,", 2);
    }
    text[2 * count - 1] = '\0';
    CU_ASSERT_EQUAL(take(&said, &option, &options), ISO_INVAL);
    CU_ASSERT(test_failed_with("--grid: more than 1048576 stages"));
    iso_grid_option_free(&option);
    text[2 * count - 3] = '\0';
    CU_ASSERT_EQUAL(take(&said, &option, &options), ISO_OK);
    CU_ASSERT_EQUAL(options.grid.n_stages, ISO_MAX_WORLD);
    iso_grid_option_free(&option);
    free(text);
}

static void test_no_memory(void)
{
    const said_t said = {.grid = "2,1,3"};
    iso_status_t status = ISO_NOMEM;
    int n = 0;

    while (status != ISO_OK && n < 20) {
        iso_grid_option_t option;
        iso_plan_options_t options;

        iso_mem_fail_at(++n);
        status = take(&said, &option, &options);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        iso_grid_option_free(&option);
        test_check_blocks();
    }
    CU_ASSERT(n > 2 && status == ISO_OK);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"widths", test_widths},
        {"nothing said", test_nothing_said},
        {"auto", test_auto},
        {"stages and workers", test_stages_and_workers},
        {"errors", test_errors},
        {"very long", test_very_long},
        {"no memory", test_no_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"grid_option", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
