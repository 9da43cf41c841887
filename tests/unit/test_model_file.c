#include "isotome/error.h"
#include "isotome/model_file.h"

#include "iso_test.h"
#include "iso_test_folder.h"
#include "model_samples.h"

#include <hdf5.h>

#include <signal.h>
#include <sys/resource.h>

/* -- good models -- */

static void test_round_trip(void)
{
    char data[MOST_BYTES];
    size_t bytes = 0;

    model_write_sample("m.h5", WEIGHTS);
    CU_ASSERT_EQUAL(scratch_count(), 1);
    iso_model_t *model = model_open_sample("m.h5");
    iso_graph_t *graph = model_make_graph(WEIGHTS);
    CU_ASSERT_EQUAL(iso_graph_digest(iso_model_graph(model)),
                    iso_graph_digest(graph));
    iso_graph_destroy(&graph);
    CU_ASSERT_STRING_EQUAL(iso_model_path(model), "m.h5");
    CU_ASSERT_STRING_EQUAL(iso_model_producer(model), "isotome " ISO_VERSION);
    CU_ASSERT_EQUAL(iso_model_weight_count(model), WEIGHTS);
    for (int i = 0; i < WEIGHTS; i++) {
        const iso_weight_info_t *info =
            iso_model_find(model, model_samples[i].name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(info);
        iso_shape_t shape = model_shape_of(&model_samples[i]);
        CU_ASSERT_STRING_EQUAL(info->name, model_samples[i].name);
        CU_ASSERT_EQUAL(info->dtype, model_samples[i].dtype);
        CU_ASSERT(iso_shape_equal(&info->shape, &shape));
        CU_ASSERT_FATAL(info->bytes <= sizeof data);
        CU_ASSERT_EQUAL(iso_model_read(model, info, data), ISO_OK);
        CU_ASSERT_EQUAL(
            memcmp(data, model_elements_of(&model_samples[i]), info->bytes), 0);
        bytes += info->bytes;
        CU_ASSERT_EQUAL(iso_model_bytes_read(model), bytes);
    }
    CU_ASSERT_PTR_NULL(iso_model_find(model, "none"));
    CU_ASSERT_PTR_NULL(iso_model_find(model, ""));
    iso_model_close(&model);
    iso_model_close(&model);
    scratch_clear();
}

static void test_weights_are_in_name_order(void)
{
    model_write_sample("m.h5", WEIGHTS);
    iso_model_t *model = model_open_sample("m.h5");
    for (int i = 1; i < iso_model_weight_count(model); i++) {
        CU_ASSERT(strcmp(iso_model_weight(model, i - 1)->name,
                         iso_model_weight(model, i)->name) < 0);
        CU_ASSERT_EQUAL(iso_model_weight(model, i) - iso_model_weight(model, 0),
                        i);
    }
    iso_model_close(&model);
    scratch_clear();
}

static void test_no_weights(void)
{
    model_write_sample("m.h5", 0);
    iso_model_t *model = model_open_sample("m.h5");
    CU_ASSERT_EQUAL(iso_model_weight_count(model), 0);
    CU_ASSERT_PTR_NULL(iso_model_find(model, "w"));
    iso_model_close(&model);
    scratch_clear();
}

static void test_same_model_gives_same_bytes(void)
{
    size_t size_a = 0;
    size_t size_b = 0;

    model_write_sample("a.h5", WEIGHTS);
    (void)sleep(1); /* HDF5's times have seconds */
    model_write_sample("b.h5", WEIGHTS);
    char *a = scratch_load("a.h5", &size_a);
    char *b = scratch_load("b.h5", &size_b);
    CU_ASSERT_EQUAL_FATAL(size_a, size_b);
    CU_ASSERT_EQUAL(memcmp(a, b, size_a), 0);
    free(a);
    free(b);
    scratch_clear();
}

/* The root digest is of names, dtypes, shapes and elements. */
static void test_root_digest_tells_models_apart(void)
{
    model_write_sample("a.h5", 3);
    model_write_sample("b.h5", 4);
    iso_model_t *a = model_open_sample("a.h5");
    iso_model_t *b = model_open_sample("b.h5");
    CU_ASSERT_NOT_EQUAL(iso_model_root_digest(a), iso_model_root_digest(b));
    iso_model_close(&a);
    iso_model_close(&b);
    scratch_clear();
}

/* -- writing that fails -- */

static iso_status_t get_wrong(void *arg, const char *name,
                              iso_tensor_t *tensor_out)
{
    ISO_TRY(model_source.get(arg, name, tensor_out));
    if (strcmp(name, "w") == 0) {
        tensor_out->dims[0] = 5;
    }
    return ISO_OK;
}

static iso_status_t get_none(void *arg, const char *name,
                             iso_tensor_t *tensor_out)
{
    (void)arg;
    (void)tensor_out;
    return iso_fail(ISO_INVAL, "there is no '%s'", name);
}

static void test_weights_that_do_not_fit(void)
{
    const iso_weight_source_t wrong = {.get = get_wrong};
    const iso_weight_source_t none = {.get = get_none};
    iso_graph_t *graph = model_make_graph(3);

    scratch_save("m.h5", "old", 3);
    CU_ASSERT_EQUAL(iso_model_write("m.h5", graph, &wrong), ISO_INVAL);
    CU_ASSERT(
        model_text_has("weight 'w': it is f32 [5,3,3,3], the graph says f32 "
                       "[4,3,3,3]"));
    CU_ASSERT_EQUAL(iso_model_write("m.h5", graph, &none), ISO_INVAL);
    CU_ASSERT(model_text_has("there is no '%2F'"));
    CU_ASSERT_EQUAL(iso_model_write("none/m.h5", graph, &model_source), ISO_IO);
    CU_ASSERT(model_text_has("there is no folder 'none'"));
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(scratch_count(), 1);
    scratch_clear();
}

/* At whatever byte the disk is full: one clear error, nothing left. */
static void test_disk_full(void)
{
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    iso_graph_t *graph = model_make_graph(WEIGHTS);
    iso_status_t status = ISO_IO;

    for (rlim_t bytes = 0; bytes < 40000 && status != ISO_OK; bytes += 199) {
        const struct rlimit limit = {bytes, RLIM_INFINITY};
        CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
        status = iso_model_write("m.h5", graph, &model_source);
        CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &none), 0);
        CU_ASSERT(status == ISO_OK ||
                  (status == ISO_IO && model_text_has("disk full") &&
                   model_text_has("m.h5")));
        CU_ASSERT_EQUAL(scratch_count(), status == ISO_OK);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    iso_graph_destroy(&graph);
    scratch_clear();
}

/* -- attacks through HDF5 -- */

/* Open the file to change it. */
static hid_t alter(const char *path)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);

    CU_ASSERT_FATAL(file >= 0);
    return file;
}

static void done(hid_t file)
{
    CU_ASSERT(H5Fclose(file) >= 0);
}

static void set_u64(hid_t object, const char *name, uint64_t value)
{
    hid_t attr = H5Aopen(object, name, H5P_DEFAULT);

    CU_ASSERT_FATAL(attr >= 0);
    CU_ASSERT(H5Awrite(attr, H5T_NATIVE_UINT64, &value) >= 0);
    (void)H5Aclose(attr);
}

static void add_u64(hid_t object, const char *name, uint64_t value)
{
    hid_t scalar = H5Screate(H5S_SCALAR);
    hid_t attr = H5Acreate2(object, name, H5T_STD_U64LE, scalar, H5P_DEFAULT,
                            H5P_DEFAULT);

    CU_ASSERT_FATAL(attr >= 0);
    (void)H5Awrite(attr, H5T_NATIVE_UINT64, &value);
    (void)H5Aclose(attr);
    (void)H5Sclose(scalar);
}

/* Add a dataset of 4 floats with the attributes of digests. */
static void add_floats(hid_t file, const char *name, hid_t creation)
{
    const hsize_t dims[1] = {4};
    const float values[4] = {0};
    hid_t space = H5Screate_simple(1, dims, NULL);
    hid_t dataset = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT,
                               creation, H5P_DEFAULT);

    CU_ASSERT_FATAL(dataset >= 0);
    (void)H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                   values);
    add_u64(dataset, "digest", 1);
    add_u64(dataset, "part_digest", 1);
    (void)H5Dclose(dataset);
    (void)H5Sclose(space);
}

static void test_attributes(void)
{
    static const struct {
        const char *name;
        const char *why;
    } changed[] = {{"format_version", "format_version is 99"},
                   {"arithmetic_version", "arithmetic_version is 99"},
                   {"root_digest", "root digest"}};
    static const char *const names[] = {"format", "format_version",
                                        "arithmetic_version", "root_digest",
                                        "producer"};

    for (size_t i = 0; i < 3; i++) {
        model_write_sample("m.h5", 3);
        hid_t file = alter("m.h5");
        set_u64(file, changed[i].name, 99);
        done(file);
        model_expect_refused("m.h5", changed[i].why);
    }
    for (size_t i = 0; i < 5; i++) {
        model_write_sample("m.h5", 3);
        hid_t file = alter("m.h5");
        CU_ASSERT(H5Adelete(file, names[i]) >= 0);
        done(file);
        model_expect_refused("m.h5",
                             i == 0 ? "not an isotome model" : names[i]);
    }
    scratch_clear();
}

/* What a weight says of itself is in the root digest. */
static void test_digests_of_a_weight(void)
{
    static const char *const names[] = {"digest", "part_digest"};

    for (size_t i = 0; i < 4; i++) {
        model_write_sample("m.h5", 3);
        hid_t file = alter("m.h5");
        hid_t dataset = H5Dopen2(file, "/weights/w", H5P_DEFAULT);
        if (i < 2) {
            set_u64(dataset, names[i], 99);
        } else {
            CU_ASSERT(H5Adelete(dataset, names[i - 2]) >= 0);
        }
        (void)H5Dclose(dataset);
        done(file);
        model_expect_refused("m.h5", i < 2 ? "root digest" : names[i - 2]);
    }
    scratch_clear();
}

static void test_missing_parts(void)
{
    static const struct {
        const char *link;
        const char *why;
    } parts[] = {{"/graph", "/graph"},
                 {"/weights", "/weights is missing"},
                 {"/weights/w", "root digest"}};

    for (size_t i = 0; i < 3; i++) {
        model_write_sample("m.h5", 3);
        hid_t file = alter("m.h5");
        CU_ASSERT(H5Ldelete(file, parts[i].link, H5P_DEFAULT) >= 0);
        done(file);
        model_expect_refused("m.h5", parts[i].why);
    }
    scratch_clear();
}

/* Give each file the graph of the other. */
static void swap_graphs(const char *path_a, const char *path_b)
{
    hid_t a = alter(path_a);
    hid_t b = alter(path_b);

    CU_ASSERT(H5Ocopy(a, "/graph", b, "/new", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    CU_ASSERT(H5Ldelete(a, "/graph", H5P_DEFAULT) >= 0);
    CU_ASSERT(H5Ocopy(b, "/graph", a, "/graph", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    CU_ASSERT(H5Ldelete(b, "/graph", H5P_DEFAULT) >= 0);
    CU_ASSERT(H5Lmove(b, "/new", b, "/graph", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    done(a);
    done(b);
}

/* A weight that is not there, or one too many, with a root digest that is
 * right: the graph tells. */
static void test_weights_of_another_graph(void)
{
    model_write_sample("less.h5", 3);
    model_write_sample("more.h5", 4);
    swap_graphs("less.h5", "more.h5");
    model_expect_refused("less.h5", "weight '/' is missing");
    model_expect_refused("more.h5", "weight '/' is not in the graph");
    scratch_clear();
}

static void replace_weight(const char *path, hid_t creation)
{
    hid_t file = alter(path);

    CU_ASSERT(H5Ldelete(file, "/weights/w", H5P_DEFAULT) >= 0);
    add_floats(file, "/weights/w", creation);
    done(file);
}

static void test_odd_storage(void)
{
    const hsize_t chunk[1] = {2};
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);

    scratch_save("raw", "0123456789abcdef", 16);
    (void)H5Pset_external(creation, "raw", 0, 16);
    model_write_sample("m.h5", 1);
    replace_weight("m.h5", creation);
    model_expect_refused("m.h5", "weight 'w': its elements are in other files");
    (void)H5Pclose(creation);

    creation = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_layout(creation, H5D_COMPACT);
    model_write_sample("m.h5", 1);
    replace_weight("m.h5", creation);
    model_expect_refused("m.h5", "weight 'w': it is not stored contiguously");
    (void)H5Pclose(creation);

    creation = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(creation, 1, chunk);
    (void)H5Pset_deflate(creation, 1);
    model_write_sample("m.h5", 1);
    replace_weight("m.h5", creation);
    model_expect_refused("m.h5", "weight 'w': it is not stored contiguously");
    (void)H5Pclose(creation);
    scratch_clear();
}

static void test_links(void)
{
    hid_t file = H5I_INVALID_HID;

    model_write_sample("other.h5", 1);
    model_write_sample("m.h5", 1);
    file = alter("m.h5");
    (void)H5Ldelete(file, "/weights/w", H5P_DEFAULT);
    (void)H5Lcreate_external("other.h5", "/weights/w", file, "/weights/w",
                             H5P_DEFAULT, H5P_DEFAULT);
    done(file);
    model_expect_refused("m.h5", "weight 'w': it is a link to elsewhere");
    model_write_sample("m.h5", 1);
    file = alter("m.h5");
    (void)H5Lcreate_soft("/weights/w", file, "/weights/v", H5P_DEFAULT,
                         H5P_DEFAULT);
    done(file);
    model_expect_refused("m.h5", "weight 'v': it is a link to elsewhere");
    model_write_sample("m.h5", 1);
    file = alter("m.h5");
    (void)H5Ldelete(file, "/weights", H5P_DEFAULT);
    (void)H5Lcreate_external("other.h5", "/weights", file, "/weights",
                             H5P_DEFAULT, H5P_DEFAULT);
    done(file);
    model_expect_refused("m.h5", "/weights is a link to elsewhere");
    model_write_sample("m.h5", 1);
    file = alter("m.h5");
    (void)H5Ldelete(file, "/graph", H5P_DEFAULT);
    (void)H5Lcreate_external("other.h5", "/graph", file, "/graph", H5P_DEFAULT,
                             H5P_DEFAULT);
    done(file);
    model_expect_refused("m.h5", "/graph: it is a link into another file");
    scratch_clear();
}

/* Many names for the same large dataset would claim any memory. */
static void test_shared_bytes(void)
{
    char name[32];

    model_write_sample("m.h5", 1);
    hid_t file = alter("m.h5");
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "/weights/v%d", i);
        CU_ASSERT(H5Lcreate_hard(file, "/weights/w", file, name, H5P_DEFAULT,
                                 H5P_DEFAULT) >= 0);
    }
    done(file);
    model_expect_refused("m.h5", "shares its bytes");
    scratch_clear();
}

static void test_other_objects_as_weights(void)
{
    model_write_sample("m.h5", 1);
    hid_t file = alter("m.h5");
    (void)H5Gclose(
        H5Gcreate2(file, "/weights/g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    done(file);
    model_expect_refused("m.h5", "weight 'g'");
    /* Two spellings of one name. */
    model_write_sample("m.h5", 1);
    file = alter("m.h5");
    add_floats(file, "/weights/%77", H5P_DEFAULT);
    done(file);
    model_expect_refused("m.h5",
                         "'%77' below /weights is not the name of a weight");
    model_write_sample("m.h5", 1);
    file = alter("m.h5");
    add_floats(file, "/weights/%2f", H5P_DEFAULT);
    done(file);
    model_expect_refused("m.h5", "is not the name of a weight");
    scratch_clear();
}

static void test_wrong_shape(void)
{
    model_write_sample("m.h5", 1);
    replace_weight("m.h5", H5P_DEFAULT);
    model_expect_refused("m.h5", "root digest");
    /* With the root digest put right, the graph tells. */
    uint64_t digest =
        strtoull(strstr(iso_error_text(), "root digest ") + 12, NULL, 16);
    hid_t file = alter("m.h5");
    set_u64(file, "root_digest", digest);
    done(file);
    model_expect_refused("m.h5", "weight 'w' is f32 [4], the graph says f32 "
                                 "[4,3,3,3]");
    scratch_clear();
}

static void test_foreign_files(void)
{
    const char *shared = getenv("ISO_SHARED_DATA");

    hid_t file = H5Fcreate("m.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Fclose(file);
    model_expect_refused("m.h5", "not an isotome model");
    scratch_save("m.h5", "", 0);
    model_expect_refused("m.h5", "is empty");
    scratch_save("m.h5", "PK", 2);
    model_expect_refused("m.h5", "not an HDF5 file");
    model_expect_refused("none.h5", "No such file");
    model_expect_refused(".", "not a regular file");
    if (shared != NULL) {
        char path[1024] = "";
        (void)snprintf(path, sizeof path,
                       "%s/fer2013_mini_XCEPTION.102-0.66.hdf5", shared);
        model_expect_refused(path, "not an isotome model");
    }
    scratch_clear();
}

int main(void)
{
    CU_TestInfo good[] = {
        {"round trip", test_round_trip},
        {"weights are in name order", test_weights_are_in_name_order},
        {"no weights", test_no_weights},
        {"same model gives same bytes", test_same_model_gives_same_bytes},
        {"root digest tells models apart", test_root_digest_tells_models_apart},
        {"weights that do not fit", test_weights_that_do_not_fit},
        {"disk full", test_disk_full},
        {"nothing is left", model_test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo bad[] = {
        {"attributes", test_attributes},
        {"digests of a weight", test_digests_of_a_weight},
        {"missing parts", test_missing_parts},
        {"weights of another graph", test_weights_of_another_graph},
        {"odd storage", test_odd_storage},
        {"links", test_links},
        {"shared bytes", test_shared_bytes},
        {"other objects as weights", test_other_objects_as_weights},
        {"wrong shape", test_wrong_shape},
        {"foreign files", test_foreign_files},
        {"nothing is left", model_test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"good models", model_suite_begin, NULL, NULL, NULL, good},
        {"bad models", model_suite_begin, NULL, NULL, NULL, bad},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    (void)signal(SIGXFSZ, SIG_IGN);
    return iso_test_main(suites);
}
