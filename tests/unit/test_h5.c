#include "isotome/error.h"

#include "base/mem.h"
#include "io/h5_dataset.h"
#include "iso_test.h"
#include "iso_test_folder.h"

static int64_t blocks;
static iso_h5_scope_t scope;

static int suite_begin(void)
{
    scope = iso_h5_begin();
    blocks = iso_mem_count().blocks;
    return 0;
}

static int suite_end(void)
{
    iso_h5_end(&scope);
    return 0;
}

static int text_has(const char *part)
{
    return strstr(iso_error_text(), part) != NULL;
}

/* A file with one dataset of f32 [2,3] and two attributes on it. */
static void make_file(const char *path)
{
    const iso_tensor_t header = {
        .dtype = ISO_DTYPE_F32, .rank = 2, .dims = {2, 3}};
    const float values[6] = {0, 1, 2, 3, 4, 5};
    iso_draft_t *draft = NULL;
    hid_t file = H5I_INVALID_HID;
    hid_t dataset = H5I_INVALID_HID;

    CU_ASSERT_EQUAL_FATAL(iso_draft_create(path, true, &draft), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_h5_create(draft, &file), ISO_OK);
    CU_ASSERT_EQUAL(iso_h5_groups_create(file, "/a/b/x"), ISO_OK);
    CU_ASSERT_EQUAL(iso_h5_groups_create(file, "a/b/x"), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(
        iso_h5_dataset_create(file, "/a/b/x", &header, &dataset), ISO_OK);
    CU_ASSERT_EQUAL(iso_h5_dataset_write(dataset, &header, 0, 2, values),
                    ISO_OK);
    CU_ASSERT_EQUAL(iso_h5_put_text(dataset, "text", "h\xc3\xa9llo"), ISO_OK);
    CU_ASSERT_EQUAL(iso_h5_put_text(dataset, "none", ""), ISO_OK);
    CU_ASSERT_EQUAL(iso_h5_put_u64(dataset, "number", UINT64_MAX), ISO_OK);
    iso_h5_close(&dataset);
    iso_h5_close(&file);
    CU_ASSERT_EQUAL(iso_draft_sync(draft), ISO_OK);
    CU_ASSERT_EQUAL(iso_draft_publish(draft), ISO_OK);
    iso_draft_close(&draft);
}

static void test_attributes_round_trip(void)
{
    hid_t file = H5I_INVALID_HID;
    hid_t dataset = H5I_INVALID_HID;
    size_t bytes = 0;
    uint64_t number = 0;
    char text[8] = "";

    make_file("x.h5");
    CU_ASSERT_EQUAL_FATAL(iso_h5_open("x.h5", &file, &bytes), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_h5_dataset_open(file, "/a/b/x", &dataset),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_h5_get_text(dataset, "text", text, 8), ISO_OK);
    CU_ASSERT_STRING_EQUAL(text, "h\xc3\xa9llo");
    CU_ASSERT_EQUAL(iso_h5_get_text(dataset, "none", text, 8), ISO_OK);
    CU_ASSERT_STRING_EQUAL(text, "");
    CU_ASSERT_EQUAL(iso_h5_get_u64(dataset, "number", &number), ISO_OK);
    CU_ASSERT_EQUAL(number, UINT64_MAX);
    CU_ASSERT(iso_h5_has_attr(dataset, "text"));
    CU_ASSERT(!iso_h5_has_attr(dataset, "other"));
    CU_ASSERT_EQUAL(iso_h5_get_text(dataset, "text", text, 6), ISO_INPUT);
    CU_ASSERT(text_has("'text' has 6 bytes"));
    CU_ASSERT_EQUAL(iso_h5_get_text(dataset, "number", text, 8), ISO_INPUT);
    CU_ASSERT_EQUAL(iso_h5_get_u64(dataset, "text", &number), ISO_INPUT);
    CU_ASSERT(text_has("'text' is not an integer"));
    CU_ASSERT_EQUAL(iso_h5_get_u64(dataset, "other", &number), ISO_INPUT);
    CU_ASSERT(text_has("'other' is missing"));
    iso_h5_close(&dataset);
    iso_h5_close(&dataset);
    iso_h5_close(&file);
    scratch_clear();
}

static void test_same_calls_give_same_bytes(void)
{
    size_t size_a = 0;
    size_t size_b = 0;

    make_file("a.h5");
    (void)sleep(1); /* HDF5's times have seconds */
    make_file("b.h5");
    char *a = scratch_load("a.h5", &size_a);
    char *b = scratch_load("b.h5", &size_b);
    CU_ASSERT_EQUAL_FATAL(size_a, size_b);
    CU_ASSERT_EQUAL(memcmp(a, b, size_a), 0);
    free(a);
    free(b);
    scratch_clear();
}

static void expect_refused(const char *path, const char *why)
{
    hid_t file = H5I_INVALID_HID;
    size_t bytes = 0;

    CU_ASSERT_EQUAL(iso_h5_open(path, &file, &bytes), ISO_INPUT);
    CU_ASSERT(file < 0);
    CU_ASSERT(text_has(path));
    CU_ASSERT(text_has(why));
    CU_ASSERT_PTR_NULL(strpbrk(iso_error_text(), "\n\r"));
}

static void test_other_files_are_refused(void)
{
    expect_refused("none.h5", "No such file");
    expect_refused(".", "not a regular file");
    scratch_save("empty.h5", "", 0);
    expect_refused("empty.h5", "is empty");
    scratch_save("text.h5", "hello", 5);
    expect_refused("text.h5", "not an HDF5 file");
    CU_ASSERT_EQUAL_FATAL(mkfifo("pipe.h5", 0600), 0);
    expect_refused("pipe.h5", "not a regular file");
    scratch_clear();
}

static void test_every_truncation_is_refused(void)
{
    size_t size = 0;

    make_file("x.h5");
    char *bytes = scratch_load("x.h5", &size);
    for (size_t length = 0; length < size; length += 1 + length % 5) {
        hid_t file = H5I_INVALID_HID;
        size_t found = 0;
        scratch_save("cut.h5", bytes, length);
        CU_ASSERT_EQUAL(iso_h5_open("cut.h5", &file, &found), ISO_INPUT);
        CU_ASSERT(text_has("cut.h5"));
    }
    free(bytes);
    scratch_clear();
}

static herr_t count_print(hid_t stack, void *arg)
{
    (void)stack;
    (*(int *)arg)++;
    return 0;
}

/* The printing of a program that uses HDF5 itself is not touched. */
static void test_printing_is_given_back(void)
{
    int printed = 0;
    H5E_auto2_t print = NULL;
    void *arg = NULL;
    hid_t file = H5I_INVALID_HID;
    size_t bytes = 0;

    (void)H5Eset_auto2(H5E_DEFAULT, count_print, &printed);
    iso_h5_scope_t inner = iso_h5_begin();
    scratch_save("text.h5", "\211HDF\r\n\032\n", 8);
    CU_ASSERT_EQUAL(iso_h5_open("text.h5", &file, &bytes), ISO_INPUT);
    CU_ASSERT_EQUAL(printed, 0);
    iso_h5_end(&inner);
    (void)H5Eget_auto2(H5E_DEFAULT, &print, &arg);
    CU_ASSERT(print == count_print && arg == &printed);
    (void)H5Fopen("text.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    CU_ASSERT_EQUAL(printed, 1);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    scratch_clear();
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"attributes round-trip", test_attributes_round_trip},
        {"same calls give same bytes", test_same_calls_give_same_bytes},
        {"other files are refused", test_other_files_are_refused},
        {"every truncation is refused", test_every_truncation_is_refused},
        {"printing is given back", test_printing_is_given_back},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"h5", suite_begin, suite_end, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
