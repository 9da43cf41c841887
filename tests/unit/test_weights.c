#include "base/mem.h"
#include "graph/pass.h"
#include "iso_test_graph.h"

static iso_tensor_t make_tensor(float value)
{
    iso_tensor_t tensor = {ISO_DTYPE_F32, 1, {1}, iso_alloc(sizeof value)};

    CU_ASSERT_PTR_NOT_NULL_FATAL(tensor.data);
    memcpy(tensor.data, &value, sizeof value);
    return tensor;
}

static void test_add_and_find(void)
{
    enum { COUNT = 1000 };
    int64_t before = iso_mem_count().blocks;
    iso_weights_t *weights = NULL;
    const iso_tensor_t *first;
    iso_tensor_t again;
    int bad = 0;

    CU_ASSERT_EQUAL_FATAL(iso_weights_create(&weights), ISO_OK);
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        iso_tensor_t tensor = make_tensor((float)i);

        (void)snprintf(name, sizeof name, "w%d", i);
        bad += iso_weights_add(weights, name, &tensor) != ISO_OK;
        if (i == 0) {
            first = iso_weights_find(weights, "w0");
        }
    }
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT_PTR_EQUAL(iso_weights_find(weights, "w0"), first);
    CU_ASSERT_EQUAL(*(float *)iso_weights_find(weights, "w997")->data, 997.0F);
    CU_ASSERT_PTR_NULL(iso_weights_find(weights, "w1000"));
    again = make_tensor(1.0F);
    CU_ASSERT_EQUAL(iso_weights_add(weights, "w7", &again), ISO_INVAL);
    CU_ASSERT(test_failed_with("'w7'"));
    iso_free(again.data); /* still the caller's */
    iso_weights_destroy(&weights);
    CU_ASSERT_PTR_NULL(weights);
    iso_weights_destroy(&weights);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_out_of_memory(void)
{
    int64_t before = iso_mem_count().blocks;
    int failures = 0;

    for (int64_t n = 1; n < 20; n++) {
        iso_weights_t *weights = NULL;
        iso_tensor_t tensor = make_tensor(1.0F);
        iso_status_t status;

        iso_mem_fail_at(n);
        status = iso_weights_create(&weights);
        if (status == ISO_OK) {
            status = iso_weights_add(weights, "w", &tensor);
        }
        iso_mem_fail_at(0);
        if (status != ISO_OK) {
            CU_ASSERT_EQUAL(status, ISO_NOMEM);
            iso_free(tensor.data);
            failures++;
        }
        iso_weights_destroy(&weights);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
    }
    CU_ASSERT(failures >= 4 && failures < 19);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"add and find", test_add_and_find},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"weights", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
