/* Files as an attacker would write them. */
#include "isotome/error.h"

#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_folder.h"
#include "model/onnx/onnx_impl.h"
#include "onnx_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char model_text[] =
    "in x f32 N,4\n"
    "init w f32 4,4 : 1 2 3 4 5 6 7 8 9 10 11 12 13 "
    "14 15 16\n"
    "init b f32 4 : *.5\n"
    "y = MatMul(x, w)\n"
    "z = Add(y, b)\n"
    "out z";

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
    (void)fclose(file);
}

/* Import is refused with this status and a text that contains part. */
static void check_refused(const char *path, iso_status_t status,
                          const char *part)
{
    int64_t blocks = iso_mem_count().blocks;
    iso_onnx_t *onnx = NULL;

    CU_ASSERT_EQUAL(iso_onnx_import(path, NULL, &onnx), status);
    CU_ASSERT_PTR_NULL(onnx);
    if (strstr(iso_error_text(), part) == NULL) {
        CU_FAIL("another text");
        (void)printf("\n%s\nexpected\n%s\n", iso_error_text(), part);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void check_bytes_refused(const void *bytes, size_t size,
                                const char *part)
{
    write_bytes("bad.onnx", bytes, size);
    check_refused("bad.onnx", ISO_INPUT, part);
}

/* The packed model; iso_free(). */
static uint8_t *pack_model(size_t *size_out)
{
    iso_arena_t *arena = NULL;
    Onnx__ModelProto *model;
    uint8_t *bytes;

    CU_ASSERT_EQUAL_FATAL(iso_arena_create(&arena), ISO_OK);
    model = onnx_text_model(arena, 13, model_text);
    *size_out = onnx__model_proto__get_packed_size(model);
    bytes = iso_alloc(*size_out);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    (void)onnx__model_proto__pack(model, bytes);
    iso_arena_destroy(&arena);
    return bytes;
}

static void test_not_a_model(void)
{
    static const char text[] = "This is a text and not a model.";
    static const uint8_t hdf5[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

    check_refused("missing.onnx", ISO_INPUT, "No such file");
    check_refused(".", ISO_INPUT, "not a regular file");
    CU_ASSERT_EQUAL_FATAL(mkfifo("pipe.onnx", 0600), 0);
    check_refused("pipe.onnx", ISO_INPUT, "not a regular file");
    (void)unlink("pipe.onnx");
    check_bytes_refused("", 0, "'bad.onnx' is empty");
    check_bytes_refused(text, sizeof text, "not an ONNX model");
    check_bytes_refused(hdf5, sizeof hdf5, "not an ONNX model");
    check_bytes_refused("\x08\x07", 2, "it has no graph");
}

static void test_truncated(void)
{
    size_t size;
    uint8_t *bytes = pack_model(&size);

    for (size_t i = 1; i < size; i++) {
        check_bytes_refused(bytes, i, "'bad.onnx'");
    }
    iso_free(bytes);
}

/* Every bit of every byte: import may succeed, and must not do worse than
 * refuse. */
static void test_flipped_bits(void)
{
    size_t size;
    uint8_t *bytes = pack_model(&size);

    for (size_t i = 0; i < 8 * size; i++) {
        int64_t blocks = iso_mem_count().blocks;
        iso_onnx_t *onnx = NULL;

        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
        write_bytes("bad.onnx", bytes, size);
        (void)iso_onnx_import("bad.onnx", NULL, &onnx);
        iso_onnx_destroy(&onnx);
        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
        if (iso_mem_count().blocks != blocks) {
            CU_FAIL("blocks are left");
        }
    }
    iso_free(bytes);
}

/* A model in an attribute in a node in a graph in an attribute ...; written
 * from the inside out. */
static void test_nested(void)
{
    enum { DEPTH = 20000, MOST_HEAD = 16 };
    static const uint8_t tags[] = {0x0a, 0x2a, 0x32}; /* node, attribute, g */
    size_t most = (size_t)DEPTH * MOST_HEAD;
    uint8_t *bytes = iso_alloc(most);
    size_t begin = most;

    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (int i = 0; i <= DEPTH; i++) {
        size_t length = most - begin;
        uint8_t head[MOST_HEAD] = {i == DEPTH ? 0x3a
                                              : tags[(DEPTH - 1 - i) % 3]};
        size_t used = 1;

        do {
            head[used] =
                (uint8_t)((length & 0x7f) | (length > 0x7f ? 0x80 : 0));
            used++;
            length >>= 7;
        } while (length > 0);
        begin -= used;
        memcpy(bytes + begin, head, used);
    }
    check_bytes_refused(bytes + begin, most - begin,
                        "more than 64 nested messages");
    iso_free(bytes);
}

static void test_names(void)
{
    static const uint8_t overlong[] = {0x3a, 4, 0x12, 2, 0xc0, 0x80};
    static const uint8_t newline[] = {0x3a, 3, 0x12, 1, '\n'};
    static const uint8_t fine[] = {0x3a, 4, 0x12, 2, 0xc3, 0xa9};

    check_bytes_refused(overlong, sizeof overlong,
                        "a name that is not UTF-8 text at byte 4");
    check_bytes_refused(newline, sizeof newline, "a name that is not");
    check_bytes_refused(fine, sizeof fine, "it has no version");
}

/* -- raw data -- */

/* Import model_text with raw bytes as the weight w. */
static void check_raw(size_t size, iso_status_t status, const char *part)
{
    iso_arena_t *arena = NULL;
    Onnx__TensorProto *tensor;
    Onnx__ModelProto *model;
    iso_onnx_t *onnx = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_arena_create(&arena), ISO_OK);
    model = onnx_text_model(arena, 13, model_text);
    tensor = model->graph->initializer[0];
    tensor->n_float_data = 0;
    tensor->has_raw_data = 1;
    tensor->raw_data.len = size;
    tensor->raw_data.data = iso_arena_alloc(arena, size + 1);
    onnx_text_write(model, "raw.onnx");
    iso_arena_destroy(&arena);
    if (status == ISO_OK) {
        CU_ASSERT_EQUAL(iso_onnx_import("raw.onnx", NULL, &onnx), ISO_OK);
        iso_onnx_destroy(&onnx);
    } else {
        check_refused("raw.onnx", status, part);
    }
}

static void test_raw_data(void)
{
    check_raw(64, ISO_OK, "");
    check_raw(0, ISO_INPUT, "tensor 'w': 0 bytes of data, expected 64");
    check_raw(63, ISO_INPUT, "tensor 'w': 63 bytes of data, expected 64");
    check_raw(65, ISO_INPUT, "tensor 'w': 65 bytes of data, expected 64");
}

/* -- external data -- */

static void set_entry(iso_arena_t *arena, Onnx__TensorProto *tensor,
                      const char *key, const char *value)
{
    Onnx__StringStringEntryProto *entry = iso_arena_alloc(arena, sizeof *entry);

    if (value != NULL) {
        onnx__string_string_entry_proto__init(entry);
        entry->key = iso_arena_text(arena, key);
        entry->value = iso_arena_text(arena, value);
        tensor->external_data[tensor->n_external_data++] = entry;
    }
}

/* Write model_text with the elements of w elsewhere. */
static void write_external(const char *location, const char *offset,
                           const char *length)
{
    iso_arena_t *arena = NULL;
    Onnx__TensorProto *tensor;
    Onnx__ModelProto *model;

    CU_ASSERT_EQUAL_FATAL(iso_arena_create(&arena), ISO_OK);
    model = onnx_text_model(arena, 13, model_text);
    tensor = model->graph->initializer[0];
    tensor->n_float_data = 0;
    tensor->has_data_location = 1;
    tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    tensor->external_data = iso_arena_array(arena, 3, sizeof(void *));
    set_entry(arena, tensor, "location", location);
    set_entry(arena, tensor, "offset", offset);
    set_entry(arena, tensor, "length", length);
    onnx_text_write(model, "external.onnx");
    iso_arena_destroy(&arena);
}

static void test_external(void)
{
    int32_t values[20]; /* bits that are copied as they are */
    iso_onnx_t *onnx = NULL;
    iso_weight_source_t source;
    iso_tensor_t tensor = {0};

    for (int i = 0; i < 20; i++) {
        values[i] = 0x3f800000 + i;
    }
    write_bytes("w.bin", values, sizeof values);
    write_external("w.bin", "16", "64");
    CU_ASSERT_EQUAL_FATAL(iso_onnx_import("external.onnx", NULL, &onnx),
                          ISO_OK);
    source = iso_onnx_weights(onnx);
    CU_ASSERT_EQUAL_FATAL(source.get(source.arg, "w", &tensor), ISO_OK);
    CU_ASSERT_EQUAL(memcmp(tensor.data, &values[4], 64), 0);
    iso_onnx_destroy(&onnx);
    write_external("./w.bin", NULL, NULL);
    CU_ASSERT_EQUAL(iso_onnx_import("external.onnx", NULL, &onnx), ISO_OK);
    iso_onnx_destroy(&onnx);
}

static void test_external_refused(void)
{
    static const struct {
        const char *location;
        const char *offset;
        const char *length;
        const char *part;
    } cases[] = {
        {NULL, NULL, NULL, "tensor 'w': external data in ''"},
        {"/etc/passwd", NULL, NULL, "expected a file in the folder"},
        {"../w.bin", NULL, NULL, "expected a file in the folder"},
        {"a/../../w.bin", NULL, NULL, "expected a file in the folder"},
        {"..", NULL, NULL, "expected a file in the folder"},
        {"a\\b", NULL, NULL, "expected a file in the folder"},
        {".", NULL, NULL, "is not a file"},
        {"pipe", NULL, NULL, "is not a file"},
        {"missing.bin", NULL, NULL, "cannot open external data"},
        {"w.bin", "17", NULL, "has 80 bytes, expected 64 from byte 17 on"},
        {"w.bin", "9223372036854775807", NULL, "has 80 bytes"},
        {"w.bin", "-1", NULL, "tensor 'w': external offset"},
        {"w.bin", "1e3", NULL, "tensor 'w': external offset"},
        {"w.bin", NULL, "63", "63 bytes of external data, expected 64"},
    };

    CU_ASSERT_EQUAL_FATAL(mkfifo("pipe", 0600), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_external(cases[i].location, cases[i].offset, cases[i].length);
        check_refused("external.onnx", ISO_INPUT, cases[i].part);
    }
    (void)unlink("pipe");
}

/* What a link leads to counts, not where it lies. */
static void test_external_links(void)
{
    const char values[80] = {0};
    iso_onnx_t *onnx = NULL;

    write_bytes("w.bin", values, sizeof values);
    CU_ASSERT_EQUAL_FATAL(mkdir("inner", 0700), 0);
    CU_ASSERT_EQUAL_FATAL(symlink("w.bin", "near"), 0);
    CU_ASSERT_EQUAL_FATAL(symlink("/etc/passwd", "far"), 0);
    CU_ASSERT_EQUAL_FATAL(symlink("/etc", "folder"), 0);
    CU_ASSERT_EQUAL_FATAL(symlink("../w.bin", "inner/up"), 0);
    CU_ASSERT_EQUAL_FATAL(symlink("loop", "loop"), 0);
    write_external("near", NULL, "64");
    CU_ASSERT_EQUAL(iso_onnx_import("external.onnx", NULL, &onnx), ISO_OK);
    iso_onnx_destroy(&onnx);
    write_external("inner/up", NULL, NULL);
    CU_ASSERT_EQUAL(iso_onnx_import("external.onnx", NULL, &onnx), ISO_OK);
    iso_onnx_destroy(&onnx);
    write_external("far", NULL, NULL);
    check_refused("external.onnx", ISO_INPUT,
                  "tensor 'w': external data 'far' is a link to '/etc/passwd'");
    write_external("folder/passwd", NULL, NULL);
    check_refused("external.onnx", ISO_INPUT, "is a link to '/etc/passwd'");
    write_external("loop", NULL, NULL);
    check_refused("external.onnx", ISO_INPUT, "cannot open external data");
    write_external("up", NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(rename("external.onnx", "inner/external.onnx"), 0);
    check_refused("inner/external.onnx", ISO_INPUT, "'up' is a link to");
    CU_ASSERT_EQUAL_FATAL(unlink("inner/up"), 0);
    CU_ASSERT_EQUAL_FATAL(rename("w.bin", "inner/up"), 0);
    CU_ASSERT_EQUAL_FATAL(symlink("inner", "innermost"), 0);
    CU_ASSERT_EQUAL(iso_onnx_import("innermost/external.onnx", NULL, &onnx),
                    ISO_OK);
    iso_onnx_destroy(&onnx);
    (void)unlink("inner/external.onnx");
    (void)unlink("inner/up");
}

/* -- memory -- */

/* Each allocation fails once; nothing may be left of the others. */
static void test_no_memory(void)
{
    iso_status_t status = ISO_NOMEM;
    int64_t blocks = iso_mem_count().blocks;
    iso_onnx_t *onnx = NULL;
    size_t size;
    uint8_t *bytes = pack_model(&size);

    write_bytes("good.onnx", bytes, size);
    iso_free(bytes);
    for (int64_t n = 1; status != ISO_OK && n < 100000; n++) {
        iso_mem_fail_at(n);
        status = iso_onnx_import("good.onnx", NULL, &onnx);
        iso_mem_fail_at(0);
        iso_onnx_destroy(&onnx);
        if ((status != ISO_OK && status != ISO_NOMEM) ||
            iso_mem_count().blocks != blocks) {
            CU_FAIL("another failure, or blocks are left");
            (void)printf("\nallocation %lld: %s\n", (long long)n,
                         iso_error_text());
        }
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"files that are not models", test_not_a_model},
        {"truncated at every byte", test_truncated},
        {"every bit flipped", test_flipped_bits},
        {"nested messages", test_nested},
        {"names", test_names},
        {"raw data", test_raw_data},
        {"external data", test_external},
        {"external data that is refused", test_external_refused},
        {"external data behind links", test_external_links},
        {"out of memory", test_no_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"onnx file", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
