/*
 * A file can ask for a filter that HDF5 would load as a plugin, for a dataset
 * or for the links of a group; none is loaded. CMake gives HDF5_PLUGIN_PATH.
 */
#include "isotome/error.h"

#include "h5_plugin.h"
#include "io/array_in.h"
#include "io/h5_dataset.h"
#include "iso_test.h"
#include "iso_test_folder.h"

enum { VALUES = 4 };

static const char values[VALUES] = {1, 2, 3, 4};

/* As HDF5 wants it: NOLINTBEGIN(readability-non-const-parameter) */
static size_t same_bytes(unsigned flags, size_t n_values,
                         const unsigned *cd_values, size_t bytes, size_t *room,
                         void **buffer)
{
    (void)flags;
    (void)n_values;
    (void)cd_values;
    (void)room;
    (void)buffer;
    return bytes;
}
/* NOLINTEND(readability-non-const-parameter) */

static void add(hid_t parent, hid_t creation)
{
    const hsize_t dims[1] = {VALUES};
    hid_t space = H5Screate_simple(1, dims, NULL);
    hid_t dataset = H5Dcreate2(parent, "x", H5T_STD_I8LE, space, H5P_DEFAULT,
                               creation, H5P_DEFAULT);

    CU_ASSERT_FATAL(dataset >= 0);
    CU_ASSERT(H5Dwrite(dataset, H5T_STD_I8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                       values) >= 0);
    (void)H5Dclose(dataset);
    (void)H5Sclose(space);
}

/* /x, whose elements, and /g/x, whose link went through the filter. */
static void make_file(const char *path)
{
    const H5Z_class2_t filter = {.version = H5Z_CLASS_T_VERS,
                                 .id = H5_PLUGIN_FILTER,
                                 .encoder_present = 1,
                                 .decoder_present = 1,
                                 .name = "plugin",
                                 .filter = same_bytes};
    const hsize_t chunk[1] = {VALUES};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t elements = H5Pcreate(H5P_DATASET_CREATE);
    hid_t links = H5Pcreate(H5P_GROUP_CREATE);

    CU_ASSERT_FATAL(H5Zregister(&filter) >= 0);
    CU_ASSERT(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST,
                                   H5F_LIBVER_LATEST) >= 0);
    CU_ASSERT(H5Pset_chunk(elements, 1, chunk) >= 0 &&
              H5Pset_filter(elements, H5_PLUGIN_FILTER, 0, 0, NULL) >= 0);
    CU_ASSERT(H5Pset_link_phase_change(links, 0, 0) >= 0 &&
              H5Pset_filter(links, H5_PLUGIN_FILTER, 0, 0, NULL) >= 0);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, links, H5P_DEFAULT);
    CU_ASSERT_FATAL(file >= 0 && group >= 0);
    add(file, elements);
    add(group, H5P_DEFAULT);
    (void)H5Gclose(group);
    CU_ASSERT(H5Fclose(file) >= 0);
    (void)H5Pclose(links);
    (void)H5Pclose(elements);
    (void)H5Pclose(access);
    CU_ASSERT(H5Zunregister(H5_PLUGIN_FILTER) >= 0);
}

static void expect_refused(const char *place)
{
    iso_array_in_t *array = NULL;

    CU_ASSERT_EQUAL(iso_array_in_open(place, &array), ISO_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), place + sizeof "x.h5"));
    CU_ASSERT_PTR_NULL(getenv(H5_PLUGIN_MARK));
}

/* HDF5 by itself does load it: the test would see it. */
static void expect_loaded(void)
{
    char read[VALUES] = "";
    hid_t file = H5Fopen("x.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "g/x", H5P_DEFAULT);

    CU_ASSERT_PTR_NOT_NULL(getenv(H5_PLUGIN_MARK));
    CU_ASSERT(H5Dread(dataset, H5T_STD_I8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      read) >= 0);
    CU_ASSERT_EQUAL(memcmp(read, values, VALUES), 0);
    (void)H5Dclose(dataset);
    (void)H5Fclose(file);
}

static void test_no_plugin_is_loaded(void)
{
    unsigned before = 0;
    unsigned after = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(getenv("HDF5_PLUGIN_PATH"));
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    make_file("x.h5");
    CU_ASSERT(H5PLget_loading_state(&before) >= 0 && before != 0);
    expect_refused("x.h5:/x");
    expect_refused("x.h5:/g/x");
    CU_ASSERT(H5PLget_loading_state(&after) >= 0);
    CU_ASSERT_EQUAL(after, before);
    expect_loaded();
    scratch_clear();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"no plugin is loaded", test_no_plugin_is_loaded},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"h5_plugin", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
