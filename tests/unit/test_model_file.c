#include "isotome/error.h"
#include "isotome/model_file.h"

#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_folder.h"

#include <hdf5.h>

#include <signal.h>
#include <sys/resource.h>

static int64_t blocks;

static int suite_begin(void)
{
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    blocks = iso_mem_count().blocks;
    return 0;
}

static int text_has(const char *part)
{
    return strstr(iso_error_text(), part) != NULL;
}

/* -- a model -- */

enum { WEIGHTS = 14, MOST_BYTES = 4096 };

typedef struct sample {
    const char *name;
    iso_dtype_t dtype;
    int rank;
    int64_t dims[4];
} sample_t;

/* Not in name order; names that HDF5 or a shell would mind. */
static const sample_t samples[WEIGHTS] = {
    {"w", ISO_DTYPE_F32, 4, {4, 3, 3, 3}},
    {"layer1.0.conv/weight", ISO_DTYPE_F16, 2, {3, 5}},
    {"%2F", ISO_DTYPE_BF16, 1, {7}},
    {"/", ISO_DTYPE_F64, 2, {2, 2}},
    {".", ISO_DTYPE_I8, 1, {13}},
    {"..", ISO_DTYPE_U8, 1, {1}},
    {"a b\tc", ISO_DTYPE_I32, 2, {1, 1}},
    {"\xc3\xa9\xe2\x82\xac", ISO_DTYPE_I64, 1, {3}},
    {"...", ISO_DTYPE_BOOL, 1, {5}},
    {"scalar", ISO_DTYPE_F32, 0, {0}},
    {"zero", ISO_DTYPE_F32, 3, {2, 0, 4}},
    {"a//b/", ISO_DTYPE_F32, 1, {2}},
    {"W", ISO_DTYPE_F32, 1, {1000}},
    {"100%", ISO_DTYPE_BOOL, 0, {0}},
};

static iso_shape_t shape_of(const sample_t *sample)
{
    return iso_shape_of(sample->rank, sample->dims);
}

/* Elements of a sample: all bit patterns, NaN too; 0 and 1 in bools. */
static void *elements_of(const sample_t *sample)
{
    static unsigned char bytes[MOST_BYTES];
    unsigned state = (unsigned)sample->name[0];

    for (int i = 0; i < MOST_BYTES; i++) {
        state = state * 1664525U + 1013904223U;
        bytes[i] = (unsigned char)(state >> 24);
        if (sample->dtype == ISO_DTYPE_BOOL) {
            bytes[i] &= 1U;
        }
    }
    return bytes;
}

static iso_status_t get_sample(void *arg, const char *name,
                               iso_tensor_t *tensor_out)
{
    (void)arg;
    for (int i = 0; i < WEIGHTS; i++) {
        if (strcmp(samples[i].name, name) == 0) {
            iso_shape_t shape = shape_of(&samples[i]);
            return iso_tensor_view(samples[i].dtype, &shape,
                                   elements_of(&samples[i]), tensor_out);
        }
    }
    return iso_fail(ISO_INVAL, "there is no weight '%s'", name);
}

static const iso_weight_source_t source = {.get = get_sample};

static iso_graph_t *make_graph(int n_weights)
{
    iso_graph_t *graph = NULL;
    iso_node_id_t node = ISO_NO_NODE;
    iso_dim_t batch = {0};
    iso_shape_t shape = {.rank = 2, .dim = {{0, NULL}, {4, NULL}}};

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_dim_parse("N", &batch), ISO_OK);
    shape.dim[0] = batch;
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &node), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_graph_add_output(graph, "y", node), ISO_OK);
    for (int i = 0; i < n_weights; i++) {
        iso_shape_t dims = shape_of(&samples[i]);
        CU_ASSERT_EQUAL_FATAL(iso_graph_add_param(graph, samples[i].name,
                                                  samples[i].dtype, &dims,
                                                  &node),
                              ISO_OK);
    }
    return graph;
}

static void write_model(const char *path, int n_weights)
{
    iso_graph_t *graph = make_graph(n_weights);

    iso_status_t status = iso_model_write(path, graph, &source);
    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    iso_graph_destroy(&graph);
}

static iso_model_t *open_model(const char *path)
{
    iso_model_t *model = NULL;

    iso_status_t status = iso_model_open(path, &model);
    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    return model;
}

static void expect_refused(const char *path, const char *why)
{
    iso_model_t *model = NULL;

    CU_ASSERT_EQUAL(iso_model_open(path, &model), ISO_INPUT);
    CU_ASSERT_PTR_NULL(model);
    if (!text_has(why) || !text_has(path)) {
        (void)fprintf(stderr, "expected '%s': %s\n", why, iso_error_text());
        CU_FAIL("another text");
    }
    CU_ASSERT_PTR_NULL(strchr(iso_error_text(), '\n'));
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

/* -- good models -- */

static void test_round_trip(void)
{
    char data[MOST_BYTES];
    size_t bytes = 0;

    write_model("m.h5", WEIGHTS);
    CU_ASSERT_EQUAL(scratch_count(), 1);
    iso_model_t *model = open_model("m.h5");
    iso_graph_t *graph = make_graph(WEIGHTS);
    CU_ASSERT_EQUAL(iso_graph_digest(iso_model_graph(model)),
                    iso_graph_digest(graph));
    iso_graph_destroy(&graph);
    CU_ASSERT_STRING_EQUAL(iso_model_path(model), "m.h5");
    CU_ASSERT_STRING_EQUAL(iso_model_producer(model), "isotome " ISO_VERSION);
    CU_ASSERT_EQUAL(iso_model_weight_count(model), WEIGHTS);
    for (int i = 0; i < WEIGHTS; i++) {
        const iso_weight_info_t *info = iso_model_find(model, samples[i].name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(info);
        iso_shape_t shape = shape_of(&samples[i]);
        CU_ASSERT_STRING_EQUAL(info->name, samples[i].name);
        CU_ASSERT_EQUAL(info->dtype, samples[i].dtype);
        CU_ASSERT(iso_shape_equal(&info->shape, &shape));
        CU_ASSERT_FATAL(info->bytes <= sizeof data);
        CU_ASSERT_EQUAL(iso_model_read(model, info, data), ISO_OK);
        CU_ASSERT_EQUAL(memcmp(data, elements_of(&samples[i]), info->bytes), 0);
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
    write_model("m.h5", WEIGHTS);
    iso_model_t *model = open_model("m.h5");
    for (int i = 1; i < iso_model_weight_count(model); i++) {
        CU_ASSERT(strcmp(iso_model_weight(model, i - 1)->name,
                         iso_model_weight(model, i)->name) < 0);
    }
    iso_model_close(&model);
    scratch_clear();
}

static void test_no_weights(void)
{
    write_model("m.h5", 0);
    iso_model_t *model = open_model("m.h5");
    CU_ASSERT_EQUAL(iso_model_weight_count(model), 0);
    CU_ASSERT_PTR_NULL(iso_model_find(model, "w"));
    iso_model_close(&model);
    scratch_clear();
}

static void test_same_model_gives_same_bytes(void)
{
    size_t size_a = 0;
    size_t size_b = 0;

    write_model("a.h5", WEIGHTS);
    (void)sleep(1); /* HDF5's times have seconds */
    write_model("b.h5", WEIGHTS);
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
    write_model("a.h5", 3);
    write_model("b.h5", 4);
    iso_model_t *a = open_model("a.h5");
    iso_model_t *b = open_model("b.h5");
    CU_ASSERT_NOT_EQUAL(iso_model_root_digest(a), iso_model_root_digest(b));
    iso_model_close(&a);
    iso_model_close(&b);
    scratch_clear();
}

/* -- writing that fails -- */

static iso_status_t get_wrong(void *arg, const char *name,
                              iso_tensor_t *tensor_out)
{
    ISO_TRY(get_sample(arg, name, tensor_out));
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
    iso_graph_t *graph = make_graph(3);

    scratch_save("m.h5", "old", 3);
    CU_ASSERT_EQUAL(iso_model_write("m.h5", graph, &wrong), ISO_INVAL);
    CU_ASSERT(text_has("weight 'w': it is f32 [5,3,3,3], the graph says f32 "
                       "[4,3,3,3]"));
    CU_ASSERT_EQUAL(iso_model_write("m.h5", graph, &none), ISO_INVAL);
    CU_ASSERT(text_has("there is no '%2F'"));
    CU_ASSERT_EQUAL(iso_model_write("none/m.h5", graph, &source), ISO_IO);
    CU_ASSERT(text_has("there is no folder 'none'"));
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(scratch_count(), 1);
    scratch_clear();
}

/* At whatever byte the disk is full: one clear error, nothing left. */
static void test_disk_full(void)
{
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    iso_graph_t *graph = make_graph(WEIGHTS);
    iso_status_t status = ISO_IO;

    for (rlim_t bytes = 0; bytes < 40000 && status != ISO_OK; bytes += 199) {
        const struct rlimit limit = {bytes, RLIM_INFINITY};
        CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
        status = iso_model_write("m.h5", graph, &source);
        CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &none), 0);
        CU_ASSERT(
            status == ISO_OK ||
            (status == ISO_IO && text_has("disk full") && text_has("m.h5")));
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

/* Add a dataset of 4 floats with a digest attribute. */
static void add_floats(hid_t file, const char *name, hid_t creation)
{
    const hsize_t dims[1] = {4};
    const uint64_t digest = 1;
    const float values[4] = {0};
    hid_t space = H5Screate_simple(1, dims, NULL);
    hid_t dataset = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT,
                               creation, H5P_DEFAULT);
    hid_t scalar = H5Screate(H5S_SCALAR);
    hid_t attr = H5Acreate2(dataset, "digest", H5T_STD_U64LE, scalar,
                            H5P_DEFAULT, H5P_DEFAULT);

    CU_ASSERT_FATAL(dataset >= 0 && attr >= 0);
    (void)H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                   values);
    (void)H5Awrite(attr, H5T_NATIVE_UINT64, &digest);
    (void)H5Aclose(attr);
    (void)H5Sclose(scalar);
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
        write_model("m.h5", 3);
        hid_t file = alter("m.h5");
        set_u64(file, changed[i].name, 99);
        done(file);
        expect_refused("m.h5", changed[i].why);
    }
    for (size_t i = 0; i < 5; i++) {
        write_model("m.h5", 3);
        hid_t file = alter("m.h5");
        CU_ASSERT(H5Adelete(file, names[i]) >= 0);
        done(file);
        expect_refused("m.h5", i == 0 ? "not an isotome model" : names[i]);
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
        write_model("m.h5", 3);
        hid_t file = alter("m.h5");
        CU_ASSERT(H5Ldelete(file, parts[i].link, H5P_DEFAULT) >= 0);
        done(file);
        expect_refused("m.h5", parts[i].why);
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
    write_model("less.h5", 3);
    write_model("more.h5", 4);
    swap_graphs("less.h5", "more.h5");
    expect_refused("less.h5", "weight '/' is missing");
    expect_refused("more.h5", "weight '/' is not in the graph");
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
    write_model("m.h5", 1);
    replace_weight("m.h5", creation);
    expect_refused("m.h5", "weight 'w': its elements are in other files");
    (void)H5Pclose(creation);

    creation = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_layout(creation, H5D_COMPACT);
    write_model("m.h5", 1);
    replace_weight("m.h5", creation);
    expect_refused("m.h5", "weight 'w': it is not stored contiguously");
    (void)H5Pclose(creation);

    creation = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(creation, 1, chunk);
    (void)H5Pset_deflate(creation, 1);
    write_model("m.h5", 1);
    replace_weight("m.h5", creation);
    expect_refused("m.h5", "weight 'w': it is not stored contiguously");
    (void)H5Pclose(creation);
    scratch_clear();
}

static void test_links(void)
{
    hid_t file = H5I_INVALID_HID;

    write_model("other.h5", 1);
    write_model("m.h5", 1);
    file = alter("m.h5");
    (void)H5Ldelete(file, "/weights/w", H5P_DEFAULT);
    (void)H5Lcreate_external("other.h5", "/weights/w", file, "/weights/w",
                             H5P_DEFAULT, H5P_DEFAULT);
    done(file);
    expect_refused("m.h5", "weight 'w': it is a link to elsewhere");
    write_model("m.h5", 1);
    file = alter("m.h5");
    (void)H5Lcreate_soft("/weights/w", file, "/weights/v", H5P_DEFAULT,
                         H5P_DEFAULT);
    done(file);
    expect_refused("m.h5", "weight 'v': it is a link to elsewhere");
    write_model("m.h5", 1);
    file = alter("m.h5");
    (void)H5Ldelete(file, "/weights", H5P_DEFAULT);
    (void)H5Lcreate_external("other.h5", "/weights", file, "/weights",
                             H5P_DEFAULT, H5P_DEFAULT);
    done(file);
    expect_refused("m.h5", "/weights is a link to elsewhere");
    write_model("m.h5", 1);
    file = alter("m.h5");
    (void)H5Ldelete(file, "/graph", H5P_DEFAULT);
    (void)H5Lcreate_external("other.h5", "/graph", file, "/graph", H5P_DEFAULT,
                             H5P_DEFAULT);
    done(file);
    expect_refused("m.h5", "/graph: it is a link into another file");
    scratch_clear();
}

/* Many names for the same large dataset would claim any memory. */
static void test_shared_bytes(void)
{
    char name[32];

    write_model("m.h5", 1);
    hid_t file = alter("m.h5");
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "/weights/v%d", i);
        CU_ASSERT(H5Lcreate_hard(file, "/weights/w", file, name, H5P_DEFAULT,
                                 H5P_DEFAULT) >= 0);
    }
    done(file);
    expect_refused("m.h5", "shares its bytes");
    scratch_clear();
}

static void test_other_objects_as_weights(void)
{
    write_model("m.h5", 1);
    hid_t file = alter("m.h5");
    (void)H5Gclose(
        H5Gcreate2(file, "/weights/g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    done(file);
    expect_refused("m.h5", "weight 'g'");
    /* Two spellings of one name. */
    write_model("m.h5", 1);
    file = alter("m.h5");
    add_floats(file, "/weights/%77", H5P_DEFAULT);
    done(file);
    expect_refused("m.h5", "'%77' below /weights is not the name of a weight");
    write_model("m.h5", 1);
    file = alter("m.h5");
    add_floats(file, "/weights/%2f", H5P_DEFAULT);
    done(file);
    expect_refused("m.h5", "is not the name of a weight");
    scratch_clear();
}

static void test_wrong_shape(void)
{
    write_model("m.h5", 1);
    replace_weight("m.h5", H5P_DEFAULT);
    expect_refused("m.h5", "root digest");
    /* With the root digest put right, the graph tells. */
    uint64_t digest =
        strtoull(strstr(iso_error_text(), "root digest ") + 12, NULL, 16);
    hid_t file = alter("m.h5");
    set_u64(file, "root_digest", digest);
    done(file);
    expect_refused("m.h5", "weight 'w' is f32 [4], the graph says f32 "
                           "[4,3,3,3]");
    scratch_clear();
}

static void test_foreign_files(void)
{
    const char *shared = getenv("ISO_SHARED_DATA");

    hid_t file = H5Fcreate("m.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Fclose(file);
    expect_refused("m.h5", "not an isotome model");
    scratch_save("m.h5", "", 0);
    expect_refused("m.h5", "is empty");
    scratch_save("m.h5", "PK", 2);
    expect_refused("m.h5", "not an HDF5 file");
    expect_refused("none.h5", "No such file");
    expect_refused(".", "not a regular file");
    if (shared != NULL) {
        char path[1024] = "";
        (void)snprintf(path, sizeof path,
                       "%s/fer2013_mini_XCEPTION.102-0.66.hdf5", shared);
        expect_refused(path, "not an isotome model");
    }
    scratch_clear();
}

/* -- attacks on the bytes -- */

static char *find_bytes(char *bytes, size_t size, const void *wanted,
                        size_t length)
{
    for (size_t i = 0; i + length <= size; i++) {
        if (memcmp(bytes + i, wanted, length) == 0) {
            return bytes + i;
        }
    }
    return NULL;
}

static void test_flipped_byte_in_a_weight(void)
{
    size_t size = 0;
    char data[MOST_BYTES];

    write_model("m.h5", WEIGHTS);
    char *bytes = scratch_load("m.h5", &size);
    for (int i = 0; i < WEIGHTS; i++) {
        iso_shape_t shape = shape_of(&samples[i]);
        size_t length = 0;
        (void)iso_tensor_bytes_of(samples[i].dtype, &shape, &length);
        char *at = find_bytes(bytes, size, elements_of(&samples[i]), length);
        if (length < 8) {
            continue; /* such bytes are found elsewhere too */
        }
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        at[length / 2] ^= 0x10;
        scratch_save("bad.h5", bytes, size);
        at[length / 2] ^= 0x10;
        iso_model_t *model = open_model("bad.h5");
        const iso_weight_info_t *info = iso_model_find(model, samples[i].name);
        CU_ASSERT_EQUAL(iso_model_read(model, info, data), ISO_INPUT);
        CU_ASSERT(text_has("bad.h5") && text_has(samples[i].name));
        CU_ASSERT(text_has("its digest is") && text_has("expected"));
        iso_model_close(&model);
    }
    free(bytes);
    scratch_clear();
}

/* Open and read everything. */
static iso_status_t read_all(const char *path)
{
    iso_model_t *model = NULL;
    char data[MOST_BYTES];

    iso_status_t status = iso_model_open(path, &model);
    for (int i = 0; status == ISO_OK && i < iso_model_weight_count(model);
         i++) {
        const iso_weight_info_t *info = iso_model_weight(model, i);
        CU_ASSERT_FATAL(info->bytes <= sizeof data);
        status = iso_model_read(model, info, data);
    }
    iso_model_close(&model);
    return status;
}

static void flip(char *byte, size_t bit)
{
    *(unsigned char *)byte ^= (unsigned char)(1U << bit);
}

/* Any byte flipped: an error that names the file, or (in bytes that mean
 * nothing) the very same model; never a crash or another model. */
static void test_any_flipped_byte(void)
{
    size_t size = 0;
    int refused = 0;

    write_model("m.h5", 3);
    iso_model_t *model = open_model("m.h5");
    uint64_t graph = iso_graph_digest(iso_model_graph(model));
    uint64_t root = iso_model_root_digest(model);
    iso_model_close(&model);
    char *bytes = scratch_load("m.h5", &size);
    for (size_t i = 0; i < size; i += 1 + i % 7) {
        flip(&bytes[i], i % 8);
        scratch_save("bad.h5", bytes, size);
        flip(&bytes[i], i % 8);
        iso_status_t status = read_all("bad.h5");
        refused += status != ISO_OK;
        CU_ASSERT(status == ISO_OK || status == ISO_INPUT);
        CU_ASSERT(status == ISO_OK || text_has("bad.h5"));
        if (status == ISO_OK) {
            model = open_model("bad.h5");
            CU_ASSERT_EQUAL(iso_graph_digest(iso_model_graph(model)), graph);
            CU_ASSERT_EQUAL(iso_model_root_digest(model), root);
            iso_model_close(&model);
        }
        CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    }
    CU_ASSERT(refused > (int)size / 12);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    free(bytes);
    scratch_clear();
}

static void test_every_truncation(void)
{
    size_t size = 0;

    write_model("m.h5", 4);
    char *bytes = scratch_load("m.h5", &size);
    for (size_t length = 0; length < size; length += 1 + length % 29) {
        scratch_save("cut.h5", bytes, length);
        expect_refused("cut.h5", length == 0 ? "empty" : "cut.h5");
    }
    free(bytes);
    scratch_clear();
}

/* -- memory -- */

static void test_no_memory_to_read(void)
{
    iso_status_t status = ISO_NOMEM;
    int n = 0;

    write_model("m.h5", 5);
    while (status != ISO_OK && n < 5000) {
        n++;
        iso_mem_fail_at(n);
        status = read_all("m.h5");
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
        CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    }
    CU_ASSERT(n > 10 && status == ISO_OK);
    scratch_clear();
}

/* HDF5 opens a new file twice and forgives the first failure: any allocation
 * may fail, and the model is written or not. */
static void test_no_memory_to_write(void)
{
    iso_graph_t *graph = make_graph(5);
    int64_t held = iso_mem_count().blocks;
    int64_t before = iso_mem_count().allocations;

    CU_ASSERT_EQUAL(iso_model_write("m.h5", graph, &source), ISO_OK);
    int64_t allocations = iso_mem_count().allocations - before;
    CU_ASSERT(allocations > 10);
    for (int64_t n = 1; n <= allocations; n++) {
        scratch_clear();
        iso_mem_fail_at(n);
        iso_status_t status = iso_model_write("m.h5", graph, &source);
        iso_mem_fail_at(0);
        CU_ASSERT_EQUAL(scratch_count(), status == ISO_OK);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, held);
        CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    }
    iso_graph_destroy(&graph);
    scratch_clear();
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
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
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo bad[] = {
        {"attributes", test_attributes},
        {"missing parts", test_missing_parts},
        {"weights of another graph", test_weights_of_another_graph},
        {"odd storage", test_odd_storage},
        {"links", test_links},
        {"shared bytes", test_shared_bytes},
        {"other objects as weights", test_other_objects_as_weights},
        {"wrong shape", test_wrong_shape},
        {"foreign files", test_foreign_files},
        {"flipped byte in a weight", test_flipped_byte_in_a_weight},
        {"any flipped byte", test_any_flipped_byte},
        {"every truncation", test_every_truncation},
        {"no memory to read", test_no_memory_to_read},
        {"no memory to write", test_no_memory_to_write},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"good models", suite_begin, NULL, NULL, NULL, good},
        {"bad models", suite_begin, NULL, NULL, NULL, bad},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    (void)signal(SIGXFSZ, SIG_IGN);
    return iso_test_main(suites);
}
