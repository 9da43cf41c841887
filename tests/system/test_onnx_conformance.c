/*
 * The single-operator tests of the ONNX conformance suite (Debian:
 * libonnx-testdata), through import and the reference device. An operator
 * that import refuses is counted; one that gives another answer is a failure.
 */
#include "isotome/error.h"
#include "isotome/onnx.h"

#include "base/mem.h"
#include "base/text.h"
#include "iso_eval.h"
#include "iso_test.h"
#include "model/onnx/onnx_impl.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char default_folder[] = "/usr/share/libonnx-testdata/data";
static const char *const sets[] = {"node", "simple", "pytorch-operator"};

/* What passes today; a change that loses one must say why. */
enum { LEAST_PASSED = 581, MOST_INPUTS = 16, MOST_VALUES = 32 };

static const double relative = 1e-3;
static const double absolute = 1e-5;

/* Tests whose answer is not the one expected, and why. */
static const struct {
    const char *name;
    const char *reason;
} excluded[] = {
    {"test_resize_downsample_scales_linear_align_corners",
     "the suite aligns to the length before it is rounded (2.4), ONNX Runtime "
     "and PyTorch to the rounded one (2)"},
};

typedef struct tally {
    int passed;
    int refused;
    int differ;
    int excluded;
} tally_t;

static bool is_verbose(void)
{
    return getenv("ISO_TEST_VERBOSE") != NULL;
}

/* -- files -- */

/* A file's bytes, or NULL; iso_free(). */
static uint8_t *read_file(const char *path, size_t *size_out)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long size;

    if (file == NULL) {
        return NULL;
    }
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
        fseek(file, 0, SEEK_SET) == 0) {
        bytes = iso_alloc((size_t)size);
        if (bytes != NULL &&
            fread(bytes, 1, (size_t)size, file) != (size_t)size) {
            iso_free(bytes);
            bytes = NULL;
        }
        *size_out = (size_t)size;
    }
    (void)fclose(file);
    return bytes;
}

static void *allocate(void *arg, size_t bytes)
{
    (void)arg;
    return iso_alloc(bytes);
}

static void release(void *arg, void *block)
{
    (void)arg;
    iso_free(block);
}

static ProtobufCAllocator counted = {allocate, release, NULL};

static Onnx__TensorProto *read_tensor(const char *folder, const char *kind,
                                      size_t index)
{
    Onnx__TensorProto *proto = NULL;
    iso_text_t path = {0};
    size_t size = 0;
    uint8_t *bytes;

    iso_text_add(&path, "%s/test_data_set_0/%s_%zu.pb", folder, kind, index);
    bytes = read_file(path.data, &size);
    if (bytes != NULL) {
        proto = onnx__tensor_proto__unpack(&counted, size, bytes);
    }
    iso_free(bytes);
    iso_text_free(&path);
    return proto;
}

/* -- one test -- */

/* A model, the tensors fed to it and those expected. */
typedef struct sample {
    const char *name;
    const char *folder;
    Onnx__ModelProto *model;
    int n_inputs;
    iso_tensor_t inputs[MOST_INPUTS];
} sample_t;

static iso_status_t give_input(void *arg, const char *name,
                               iso_tensor_t *tensor_out)
{
    const sample_t *sample = arg;
    const Onnx__GraphProto *graph = sample->model->graph;

    for (int i = 0; i < sample->n_inputs; i++) {
        if (strcmp(graph->input[i]->name, name) == 0) {
            *tensor_out = sample->inputs[i];
            return ISO_OK;
        }
    }
    return iso_fail(ISO_INVAL, "no input '%s'", name);
}

static bool is_near(double found, double expected)
{
    if (isnan(found) || isnan(expected)) {
        return isnan(found) && isnan(expected);
    }
    return found == expected ||
           fabs(found - expected) <= absolute + relative * fabs(expected);
}

static bool is_equal(const iso_tensor_t *found, const iso_tensor_t *expected)
{
    iso_shape_t a = iso_tensor_shape(found);
    iso_shape_t b = iso_tensor_shape(expected);

    if (found->dtype != expected->dtype || !iso_shape_equal(&a, &b)) {
        return false;
    }
    for (int64_t i = 0; i < iso_tensor_count(found); i++) {
        if (!is_near(iso__onnx_element(found, i),
                     iso__onnx_element(expected, i))) {
            return false;
        }
    }
    return true;
}

/* Compare all outputs; an expected one that cannot be read is refused. */
static iso_status_t compare(const sample_t *sample, const iso_eval_t *eval,
                            bool *equal_out)
{
    *equal_out = true;
    for (int i = 0; i < iso_graph_output_count(eval->graph); i++) {
        Onnx__TensorProto *proto =
            read_tensor(sample->folder, "output", (size_t)i);
        iso_tensor_t expected = {0};
        iso_status_t status = proto == NULL
                                  ? iso_fail(ISO_UNSUPPORTED, "output %d", i)
                                  : iso__onnx_tensor_load("", proto, &expected);

        if (status == ISO_OK) {
            *equal_out =
                *equal_out && is_equal(iso_eval_output(eval, i), &expected);
        }
        iso_free(expected.data);
        onnx__tensor_proto__free_unpacked(proto, &counted);
        ISO_TRY(status);
    }
    return ISO_OK;
}

static iso_status_t run_file(sample_t *sample, const char *path,
                             bool *equal_out)
{
    const iso_weight_source_t inputs = {give_input, sample};
    iso_weight_source_t weights;
    iso_onnx_t *onnx = NULL;
    iso_eval_t eval = {0};
    iso_status_t status;

    ISO_TRY(iso_onnx_import(path, NULL, &onnx));
    weights = iso_onnx_weights(onnx);
    status = iso_eval_run(iso_onnx_graph(onnx), &weights, &inputs, &eval);
    if (status == ISO_OK) {
        status = compare(sample, &eval, equal_out);
    }
    iso_eval_free(&eval);
    iso_onnx_destroy(&onnx);
    return status;
}

/* Write the model with the inputs from first on as initializers, and with
 * its first output alone. */
static bool write_bound(const sample_t *sample, int first, int fd)
{
    Onnx__GraphProto *graph = sample->model->graph;
    Onnx__TensorProto *added[MOST_INPUTS];
    Onnx__TensorProto **kept = graph->initializer;
    size_t n_kept = graph->n_initializer;
    size_t n_outputs = graph->n_output;
    size_t n_added = 0;
    bool is_written = false;
    uint8_t *bytes;
    size_t size;

    for (int i = first; i < sample->n_inputs && n_kept == 0; i++) {
        added[n_added] = read_tensor(sample->folder, "input", (size_t)i);
        if (added[n_added] != NULL) {
            release(NULL, added[n_added]->name);
            added[n_added]->name = iso_text_copy(graph->input[i]->name);
            n_added++;
        }
    }
    graph->initializer = added;
    graph->n_initializer = n_added;
    graph->n_output = n_outputs > 0 ? 1 : 0;
    size = onnx__model_proto__get_packed_size(sample->model);
    bytes = iso_alloc(size);
    if (bytes != NULL && n_kept == 0) {
        (void)onnx__model_proto__pack(sample->model, bytes);
        is_written = write(fd, bytes, size) == (ssize_t)size;
    }
    iso_free(bytes);
    for (size_t i = 0; i < n_added; i++) {
        onnx__tensor_proto__free_unpacked(added[i], &counted);
    }
    graph->initializer = kept;
    graph->n_initializer = n_kept;
    graph->n_output = n_outputs;
    return is_written;
}

/*
 * Operands that import must know (axes, shapes, limits) are inputs of these
 * models: bind all inputs from first on to what the test feeds. Outputs that
 * only training needs (means, masks) are left away.
 */
static iso_status_t run_bound(sample_t *sample, int first, bool *equal_out)
{
    char path[] = "/tmp/isotome-conformance-XXXXXX";
    int fd = mkstemp(path);
    iso_status_t status;

    if (fd < 0) {
        return iso_fail(ISO_IO, "mkstemp");
    }
    if (write_bound(sample, first, fd)) {
        status = run_file(sample, path, equal_out);
    } else {
        status = iso_fail(ISO_UNSUPPORTED, "nothing to bind");
    }
    (void)close(fd);
    (void)unlink(path);
    return status;
}

static iso_status_t load_inputs(sample_t *sample)
{
    while (sample->n_inputs < MOST_INPUTS &&
           (size_t)sample->n_inputs < sample->model->graph->n_input) {
        Onnx__TensorProto *proto =
            read_tensor(sample->folder, "input", (size_t)sample->n_inputs);
        iso_status_t status;

        if (proto == NULL) {
            break;
        }
        status =
            iso__onnx_tensor_load("", proto, &sample->inputs[sample->n_inputs]);
        onnx__tensor_proto__free_unpacked(proto, &counted);
        ISO_TRY(status);
        sample->n_inputs++;
    }
    return ISO_OK;
}

static iso_status_t run_sample(sample_t *sample, const char *path,
                               bool *equal_out)
{
    iso_status_t status;
    iso_status_t again;

    ISO_TRY(load_inputs(sample));
    status = run_file(sample, path, equal_out);
    for (int first = sample->n_inputs; status != ISO_OK && first >= 0;
         first = first > 1 ? 1 : first - 1) {
        char reason[ISO_ERROR_TEXT_BYTES];

        (void)snprintf(reason, sizeof reason, "%s", iso_error_text());
        again = run_bound(sample, first, equal_out);
        if (again == ISO_OK) {
            return ISO_OK;
        }
        if (strcmp(iso_error_text(), "nothing to bind") == 0) {
            (void)iso_fail(status, "%s", reason);
        }
    }
    return status;
}

static const char *exclusion_of(const char *name)
{
    for (size_t i = 0; i < sizeof excluded / sizeof excluded[0]; i++) {
        if (strcmp(name, excluded[i].name) == 0) {
            return excluded[i].reason;
        }
    }
    return NULL;
}

static void count_sample(sample_t *sample, const char *path, tally_t *tally)
{
    bool equal = false;
    iso_status_t status = run_sample(sample, path, &equal);
    const char *reason = exclusion_of(sample->name);

    if (status != ISO_OK) {
        tally->refused++;
        if (is_verbose()) {
            (void)printf("refused %s: %s\n", sample->name, iso_error_text());
        }
    } else if (equal) {
        tally->passed++;
        if (is_verbose()) {
            (void)printf("passed %s\n", sample->name);
        }
    } else if (reason != NULL) {
        tally->excluded++;
        (void)printf("excluded %s: %s\n", sample->name, reason);
    } else {
        tally->differ++;
        (void)printf("differs %s\n", sample->name);
    }
    for (int i = 0; i < sample->n_inputs; i++) {
        iso_free(sample->inputs[i].data);
    }
}

static void run_test(const char *folder, const char *name, tally_t *tally)
{
    iso_text_t path = {0};
    sample_t sample = {.name = name, .folder = folder};

    iso_text_add(&path, "%s/model.onnx", folder);
    if (iso__onnx_file_read(path.data, &sample.model) == ISO_OK &&
        sample.model->graph != NULL) {
        count_sample(&sample, path.data, tally);
    }
    iso__onnx_file_free(&sample.model);
    iso_text_free(&path);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run_set(const char *folder, const char *set, tally_t *tally)
{
    struct dirent **entries = NULL;
    iso_text_t path = {0};
    int count;

    iso_text_add(&path, "%s/%s", folder, set);
    count = scandir(path.data, &entries, is_visible, alphasort);
    for (int i = 0; i < count; i++) {
        iso_text_t test = {0};

        iso_text_add(&test, "%s/%s", path.data, entries[i]->d_name);
        run_test(test.data, entries[i]->d_name, tally);
        iso_text_free(&test);
        free(entries[i]);
    }
    free(entries);
    iso_text_free(&path);
}

static const char *suite_folder(void)
{
    const char *folder = getenv("ISO_ONNX_TESTDATA");

    return folder != NULL ? folder : default_folder;
}

static void test_suite(void)
{
    int64_t blocks = iso_mem_count().blocks;
    tally_t tally = {0};

    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        run_set(suite_folder(), sets[i], &tally);
    }
    (void)printf("passed %d, differ %d, excluded %d, refused %d\n",
                 tally.passed, tally.differ, tally.excluded, tally.refused);
    CU_ASSERT_EQUAL(tally.differ, 0);
    CU_ASSERT(tally.passed >= LEAST_PASSED);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"single operators", test_suite},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"ONNX conformance", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    if (access(suite_folder(), R_OK) != 0) {
        return iso_test_without(suite_folder());
    }
    return iso_test_main(suites);
}
