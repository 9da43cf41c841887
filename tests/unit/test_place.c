#include "isotome/error.h"

#include "base/mem.h"
#include "io/place.h"
#include "iso_test.h"

#include <string.h>

typedef struct good {
    const char *text;
    const char *name;
    const char *path;
    const char *dataset;
} good_t;

static const good_t good[] = {
    {"y.npy", NULL, "y.npy", NULL},
    {"out/y.npy", NULL, "out/y.npy", NULL},
    {".npy", NULL, ".npy", NULL},
    {"x=y.npy", "x", "y.npy", NULL},
    {"input:0=a/b.npy", "input:0", "a/b.npy", NULL},
    {"/conv/out=b.npy", "/conv/out", "b.npy", NULL},
    {"=dir=1/b.npy", NULL, "dir=1/b.npy", NULL},
    {"x=dir=1/b.npy", "x", "dir=1/b.npy", NULL},
    {"f.h5:/x", NULL, "f.h5", "/x"},
    {"f.hdf5:/a/b/c", NULL, "f.hdf5", "/a/b/c"},
    {"logits=/tmp/f.h5:/a b", "logits", "/tmp/f.h5", "/a b"},
    {"a:/b/f.h5:/x", NULL, "a:/b/f.h5", "/x"},
    {"f.h5:/x:/y", NULL, "f.h5", "/x:/y"},
    {"f.h5:/x.npy", NULL, "f.h5", "/x.npy"},
    {"f.h5:/..x", NULL, "f.h5", "/..x"},
    {"f.txt:/x.npy", NULL, "f.txt:/x.npy", NULL},
};

static int same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void test_parts_are_found(void)
{
    int64_t blocks = iso_mem_count().blocks;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        iso_place_t place = {0};
        CU_ASSERT_EQUAL(iso_place_parse(good[i].text, &place), ISO_OK);
        CU_ASSERT(same(place.name, good[i].name));
        CU_ASSERT(same(place.path, good[i].path));
        CU_ASSERT(same(place.dataset, good[i].dataset));
        iso_place_free(&place);
        CU_ASSERT_PTR_NULL(place.path);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void test_other_texts_are_refused(void)
{
    static const char *const bad[] = {
        "",        "=",        "x=",         "y",         "y.txt",
        "y.NPY",   "y.npy ",   "f.h5",       "f.hdf5",    "f.h5:",
        "f.h5:x",  "f.h5:/",   "f.h5://a",   "f.h5:/a/",  "f.h5:/a//b",
        "f.h5:/.", "f.h5:/a/", "f.h5:/a/.",  "f.h5:/./a", ":/x",
        "/x",      "f.txt:/x", "x=f.h5:/a/", "y.npy:/x",
    };
    int64_t blocks = iso_mem_count().blocks;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        iso_place_t place = {0};
        iso_error_clear();
        CU_ASSERT_EQUAL(iso_place_parse(bad[i], &place), ISO_INVAL);
        CU_ASSERT_PTR_NULL(place.path);
        CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), bad[i]));
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void test_text_says_what_to_do(void)
{
    iso_place_t place = {0};

    (void)iso_place_parse("x=f.h5", &place);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "'x=f.h5:/DATASET'"));
    (void)iso_place_parse("y.txt", &place);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "FILE.npy"));
}

static void test_no_memory(void)
{
    int64_t blocks = iso_mem_count().blocks;

    for (int n = 1; n <= 3; n++) {
        iso_place_t place = {0};
        iso_mem_fail_at(n);
        CU_ASSERT_EQUAL(iso_place_parse("x=f.h5:/a", &place), ISO_NOMEM);
        iso_mem_fail_at(0);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"parts are found", test_parts_are_found},
        {"other texts are refused", test_other_texts_are_refused},
        {"the text says what to do", test_text_says_what_to_do},
        {"no memory", test_no_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"place", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
