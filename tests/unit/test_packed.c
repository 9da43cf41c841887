/* A folder of packed weights: what is found is what was put, and no file that
 * is anything else. */
#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "io/packed.h"
#include "iso_test.h"
#include "iso_test_folder.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

enum {
    SMALL_BYTES = 1000,
    LARGE_BYTES = 3 * 1024 * 1024 + 4,
    HEADER_BYTES = 4096
};

static const char key[] = "panels 1; a weight";
static int64_t blocks;
static unsigned char *elements; /* (LARGE_BYTES) */

static int suite_begin(void)
{
    blocks = iso_mem_count().blocks;
    elements = malloc(LARGE_BYTES);
    if (elements == NULL) {
        return 1;
    }
    for (int i = 0; i < LARGE_BYTES; i++) {
        elements[i] = (unsigned char)((unsigned)i * 2654435761U >> 24);
    }
    return 0;
}

static int suite_end(void)
{
    free(elements);
    scratch_clear();
    return iso_mem_count().blocks == blocks ? 0 : 1;
}

static bool text_has(const char *part)
{
    return strstr(iso_error_text(), part) != NULL;
}

static iso_packed_t *open_folder(void)
{
    iso_packed_t *packed = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_packed_open(".", &packed), ISO_OK);
    return packed;
}

/* Two pieces, of which the second one is large; as they are looked for. */
static iso_packed_entry_t wanted(const char *of)
{
    return (iso_packed_entry_t){
        .key = of,
        .n_pieces = 2,
        .pieces = {{.bytes = SMALL_BYTES}, {.bytes = LARGE_BYTES}}};
}

static void put(const iso_packed_t *packed, const char *of)
{
    iso_packed_entry_t entry = wanted(of);

    entry.note = 7;
    entry.pieces[0].data = elements + 5;
    entry.pieces[1].data = elements;
    entry.pieces[1].note = 8;
    CU_ASSERT_EQUAL(iso_packed_put(packed, &entry), ISO_OK);
}

static void check_found(const iso_packed_t *packed, const char *of)
{
    iso_packed_entry_t entry = wanted(of);

    CU_ASSERT_EQUAL(iso_packed_find(packed, &entry), ISO_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry.map);
    CU_ASSERT(entry.note == 7 && entry.pieces[0].note == 0 &&
              entry.pieces[1].note == 8);
    CU_ASSERT_EQUAL(memcmp(entry.pieces[0].data, elements + 5, SMALL_BYTES), 0);
    CU_ASSERT_EQUAL(memcmp(entry.pieces[1].data, elements, LARGE_BYTES), 0);
    CU_ASSERT_EQUAL((uintptr_t)entry.pieces[0].data % 64, 0);
    CU_ASSERT_EQUAL((uintptr_t)entry.pieces[1].data % 64, 0);
    iso_packed_release(&entry);
    iso_packed_release(&entry);
    CU_ASSERT_PTR_NULL(entry.map);
}

static const char *file_of(const char *of)
{
    static char name[64];

    (void)snprintf(name, sizeof name, "%016" PRIx64 ".packed",
                   iso_digest_of(of, strlen(of)));
    return name;
}

/* Refused with this text; then it is replaced and found. */
static void check_refused(const iso_packed_t *packed, const char *why)
{
    iso_packed_entry_t entry = wanted(key);

    CU_ASSERT_EQUAL(iso_packed_find(packed, &entry), ISO_INPUT);
    CU_ASSERT_PTR_NULL(entry.map);
    CU_ASSERT(text_has(why) && text_has(file_of(key)));
    if (!text_has(why)) {
        (void)fprintf(stderr, "%s\nexpected: %s\n", iso_error_text(), why);
    }
    put(packed, key);
    check_found(packed, key);
}

/* -- what is right -- */

static void test_put_and_find(void)
{
    iso_packed_t *packed = open_folder();
    iso_packed_entry_t none = wanted("another key");
    struct stat info;

    put(packed, key);
    check_found(packed, key);
    CU_ASSERT_EQUAL(iso_packed_find(packed, &none), ISO_OK);
    CU_ASSERT_PTR_NULL(none.map);
    CU_ASSERT_EQUAL(scratch_count(), 1);
    CU_ASSERT_EQUAL_FATAL(stat(file_of(key), &info), 0);
    CU_ASSERT_EQUAL(info.st_mode & 0777U, 0600);
    iso_packed_close(&packed);
    iso_packed_close(&packed);
    scratch_clear();
}

/* Who has mapped a file keeps it when it is replaced or removed. */
static void test_replaced_while_mapped(void)
{
    iso_packed_t *packed = open_folder();
    iso_packed_entry_t entry = wanted(key);

    put(packed, key);
    CU_ASSERT_EQUAL(iso_packed_find(packed, &entry), ISO_OK);
    put(packed, key);
    CU_ASSERT_EQUAL(scratch_count(), 1);
    CU_ASSERT_EQUAL(remove(file_of(key)), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry.map);
    CU_ASSERT_EQUAL(memcmp(entry.pieces[1].data, elements, LARGE_BYTES), 0);
    iso_packed_release(&entry);
    iso_packed_close(&packed);
}

/* -- files that are not what they should be -- */

static void test_lengths(void)
{
    static const off_t lengths[] = {
        0,      1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + SMALL_BYTES,
        4000000};
    iso_packed_t *packed = open_folder();
    struct stat info;

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        put(packed, key);
        CU_ASSERT_EQUAL(truncate(file_of(key), lengths[i]), 0);
        check_refused(packed, "truncated");
    }
    CU_ASSERT_EQUAL_FATAL(stat(file_of(key), &info), 0);
    CU_ASSERT_EQUAL(truncate(file_of(key), info.st_size + 1), 0);
    check_refused(packed, "too long");
    iso_packed_close(&packed);
    scratch_clear();
}

static void flip(const char *name, long place)
{
    FILE *file = fopen(name, "r+b");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fseek(file, place, SEEK_SET), 0);
    const int byte = fgetc(file);
    CU_ASSERT(byte != EOF);
    CU_ASSERT_EQUAL(fseek(file, place, SEEK_SET), 0);
    CU_ASSERT(fputc(byte ^ 0x10, file) != EOF);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void test_flipped_bits(void)
{
    static const struct {
        long place;
        const char *why;
    } flips[] = {{0, "no file of packed weights"},
                 {16, "another version or on another machine"},
                 {24, "another version"},
                 {32, "its header is damaged"}, /* length of the file */
                 {40, "its header is damaged"}, /* note */
                 {300, "its header is damaged"},
                 {HEADER_BYTES, "it is damaged"},
                 {HEADER_BYTES + SMALL_BYTES - 1, "it is damaged"},
                 {2L * 1024 * 1024, "it is damaged"},
                 {2L * 1024 * 1024 + LARGE_BYTES - 1, "it is damaged"}};
    iso_packed_t *packed = open_folder();

    put(packed, key);
    for (size_t i = 0; i < sizeof flips / sizeof *flips; i++) {
        flip(file_of(key), flips[i].place);
        check_refused(packed, flips[i].why);
    }
    iso_packed_close(&packed);
    scratch_clear();
}

static void test_another_key(void)
{
    static const char other[] = "panels 1; b weight";
    iso_packed_t *packed = open_folder();
    char name[64];

    put(packed, other);
    (void)snprintf(name, sizeof name, "%s", file_of(other));
    CU_ASSERT_EQUAL(rename(name, file_of(key)), 0);
    check_refused(packed, "of another weight");
    iso_packed_close(&packed);
    scratch_clear();
}

/* The same key, but pieces of other sizes. */
static void test_other_pieces(void)
{
    iso_packed_t *packed = open_folder();
    iso_packed_entry_t entry = wanted(key);

    put(packed, key);
    entry.pieces[0].bytes--;
    CU_ASSERT_EQUAL(iso_packed_find(packed, &entry), ISO_INPUT);
    CU_ASSERT(text_has("not what was expected"));
    entry = wanted(key);
    entry.n_pieces = 1;
    CU_ASSERT_EQUAL(iso_packed_find(packed, &entry), ISO_INPUT);
    CU_ASSERT_PTR_NULL(entry.map);
    check_found(packed, key);
    iso_packed_close(&packed);
    scratch_clear();
}

static void test_no_regular_file(void)
{
    iso_packed_t *packed = open_folder();
    iso_packed_entry_t entry = wanted(key);

    put(packed, key);
    CU_ASSERT_EQUAL(rename(file_of(key), "kept"), 0);
    CU_ASSERT_EQUAL(symlink("kept", file_of(key)), 0);
    check_refused(packed, "");
    CU_ASSERT_EQUAL(remove(file_of(key)), 0);
    CU_ASSERT_EQUAL(mkfifo(file_of(key), 0600), 0);
    CU_ASSERT_EQUAL(iso_packed_find(packed, &entry), ISO_INPUT);
    CU_ASSERT(text_has("not a regular file"));
    CU_ASSERT_EQUAL(remove(file_of(key)), 0);
    put(packed, key);
    CU_ASSERT_EQUAL(chmod(file_of(key), 0620), 0);
    check_refused(packed, "others may write to it");
    iso_packed_close(&packed);
    scratch_clear();
}

/* Only root can give files away. */
static void test_of_another_user(void)
{
    iso_packed_t *packed = open_folder();

    put(packed, key);
    if (chown(file_of(key), 12345, (gid_t)-1) == 0) {
        check_refused(packed, "belongs to another user");
    }
    iso_packed_close(&packed);
    scratch_clear();
}

/* -- folders -- */

static void check_no_folder(const char *folder, const char *why)
{
    iso_packed_t *packed = NULL;

    CU_ASSERT_EQUAL(iso_packed_open(folder, &packed), ISO_IO);
    CU_ASSERT_PTR_NULL(packed);
    CU_ASSERT(text_has(why) && text_has(folder));
    if (!text_has(why)) {
        (void)fprintf(stderr, "%s\nexpected: %s\n", iso_error_text(), why);
    }
}

static void test_folders(void)
{
    iso_packed_t *packed = NULL;
    struct stat info;

    CU_ASSERT_EQUAL(iso_packed_open("own", &packed), ISO_OK);
    iso_packed_close(&packed);
    CU_ASSERT_EQUAL_FATAL(stat("own", &info), 0);
    CU_ASSERT_EQUAL(info.st_mode & 0777U, 0700);
    CU_ASSERT_EQUAL(chmod("own", 0755), 0);
    CU_ASSERT_EQUAL(iso_packed_open("own", &packed), ISO_OK);
    iso_packed_close(&packed);
    CU_ASSERT_EQUAL(chmod("own", 0770), 0);
    check_no_folder("own", "chmod go-w 'own'");
    CU_ASSERT_EQUAL(chmod("own", 01777), 0);
    check_no_folder("own", "others may write");
    CU_ASSERT_EQUAL(chmod("own", 0700), 0);
    if (chown("own", 12345, (gid_t)-1) == 0) {
        check_no_folder("own", "belongs to user 12345");
    }
    check_no_folder("none/here", "No such file");
    scratch_save("file", "", 0);
    check_no_folder("file", "Not a directory");
    scratch_clear();
}

/* -- what fails -- */

/* A file that cannot be written leaves nothing behind. */
static void test_no_space(void)
{
    iso_packed_t *packed = open_folder();
    iso_packed_entry_t entry = wanted(key);
    struct rlimit limit;

    entry.pieces[0].data = elements;
    entry.pieces[1].data = elements;
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 65536;
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL(iso_packed_put(packed, &entry), ISO_IO);
    CU_ASSERT(text_has("disk full") && text_has(file_of(key)));
    limit.rlim_cur = before;
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CU_ASSERT_EQUAL(scratch_count(), 0);
    iso_packed_close(&packed);
}

static void test_no_memory(void)
{
    iso_status_t status = ISO_NOMEM;

    for (int n = 1; status != ISO_OK && n < 100; n++) {
        iso_packed_t *packed = NULL;
        iso_packed_entry_t entry = wanted(key);

        entry.pieces[0].data = elements;
        entry.pieces[1].data = elements;
        iso_mem_fail_at(n);
        status = iso_packed_open(".", &packed);
        if (status == ISO_OK) {
            status = iso_packed_put(packed, &entry);
        }
        if (status == ISO_OK) {
            status = iso_packed_find(packed, &entry);
        }
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        iso_packed_release(&entry);
        iso_packed_close(&packed);
        CU_ASSERT_EQUAL(scratch_count(), status == ISO_OK ? 1 : 0);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    scratch_clear();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"put and find", test_put_and_find},
        {"replaced while mapped", test_replaced_while_mapped},
        {"lengths", test_lengths},
        {"flipped bits", test_flipped_bits},
        {"another key", test_another_key},
        {"other pieces", test_other_pieces},
        {"no regular file", test_no_regular_file},
        {"of another user", test_of_another_user},
        {"folders", test_folders},
        {"no space", test_no_space},
        {"no memory", test_no_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"packed", suite_begin, suite_end, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
