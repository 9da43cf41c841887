#include "isotome/error.h"

#include "base/mem.h"
#include "io/draft.h"
#include "iso_test.h"
#include "iso_test_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

/* In place of the C library's: interrupted some times, then the same. */
static int interruptions;

int posix_fallocate64(int file, off_t offset, off_t length);

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int posix_fallocate(int file, off_t offset, off_t length)
{
    if (interruptions > 0) {
        interruptions--;
        return EINTR;
    }
    return posix_fallocate64(file, offset, length);
}

static int64_t blocks;

static int suite_begin(void)
{
    blocks = iso_mem_count().blocks;
    scratch_clear();
    return 0;
}

static int text_has(const char *part)
{
    return strstr(iso_error_text(), part) != NULL;
}

static void test_name_appears_at_the_end(void)
{
    iso_draft_t *draft = NULL;
    char bytes[6] = "";

    CU_ASSERT_EQUAL_FATAL(iso_draft_create("y.bin", false, &draft), ISO_OK);
    CU_ASSERT(scratch_exists(iso_draft_temp_path(draft)));
    iso_draft_write(draft, 2, "abc", 3);
    CU_ASSERT(iso_draft_read(draft, 0, bytes, sizeof bytes));
    CU_ASSERT_EQUAL(memcmp(bytes, "\0\0abc\0", 6), 0);
    CU_ASSERT_EQUAL(iso_draft_sync(draft), ISO_OK);
    CU_ASSERT(!scratch_exists("y.bin"));
    CU_ASSERT_EQUAL(iso_draft_publish(draft), ISO_OK);
    iso_draft_close(&draft);
    CU_ASSERT_PTR_NULL(draft);
    CU_ASSERT(scratch_exists("y.bin"));
    CU_ASSERT_EQUAL(scratch_count(), 1);
    scratch_clear();
}

static void test_unpublished_is_removed(void)
{
    iso_draft_t *draft = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_draft_create("y.bin", false, &draft), ISO_OK);
    iso_draft_write(draft, 0, "abc", 3);
    iso_draft_close(&draft);
    iso_draft_close(&draft);
    CU_ASSERT_EQUAL(scratch_count(), 0);
}

static void test_existing_file_is_kept(void)
{
    iso_draft_t *draft = NULL;
    size_t size = 0;

    scratch_save("y.bin", "old", 3);
    CU_ASSERT_EQUAL(iso_draft_create("y.bin", false, &draft), ISO_IO);
    CU_ASSERT(text_has("'y.bin' exists") && text_has("--force"));
    CU_ASSERT_EQUAL_FATAL(iso_draft_create("y.bin", true, &draft), ISO_OK);
    iso_draft_write(draft, 0, "newer", 5);
    char *before = scratch_load("y.bin", &size);
    CU_ASSERT_EQUAL(size, 3);
    CU_ASSERT_EQUAL(iso_draft_publish(draft), ISO_OK);
    iso_draft_close(&draft);
    char *after = scratch_load("y.bin", &size);
    CU_ASSERT_EQUAL(size, 5);
    CU_ASSERT_EQUAL(memcmp(after, "newer", 5), 0);
    free(before);
    free(after);
    scratch_clear();
}

static void test_name_taken_in_the_meantime(void)
{
    iso_draft_t *draft = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_draft_create("y.bin", false, &draft), ISO_OK);
    scratch_save("y.bin", "other", 5);
    CU_ASSERT_EQUAL(iso_draft_publish(draft), ISO_IO);
    iso_draft_withdraw(draft);
    iso_draft_close(&draft);
    CU_ASSERT(scratch_exists("y.bin"));
    CU_ASSERT_EQUAL(scratch_count(), 1);
    scratch_clear();
}

/* Of several that are published under one name at once, one is, and is not
 * replaced. */
static void *publish(void *arg)
{
    iso_draft_t *draft = arg;

    return iso_draft_publish(draft) == ISO_OK ? draft : NULL;
}

static void test_race_for_a_name(void)
{
    enum { ROUNDS = 100, RACERS = 4 };

    for (int round = 0; round < ROUNDS; round++) {
        iso_draft_t *drafts[RACERS] = {NULL};
        pthread_t threads[RACERS];
        int winner = -1;
        int winners = 0;
        size_t size = 0;

        for (int i = 0; i < RACERS; i++) {
            const char number = (char)i;

            CU_ASSERT_EQUAL_FATAL(iso_draft_create("y.bin", false, &drafts[i]),
                                  ISO_OK);
            iso_draft_write(drafts[i], 0, &number, 1);
        }
        for (int i = 0; i < RACERS; i++) {
            CU_ASSERT_EQUAL_FATAL(
                pthread_create(&threads[i], NULL, publish, drafts[i]), 0);
        }
        for (int i = 0; i < RACERS; i++) {
            void *won = NULL;

            CU_ASSERT_EQUAL_FATAL(pthread_join(threads[i], &won), 0);
            winner = won != NULL ? i : winner;
            winners += won != NULL;
            iso_draft_close(&drafts[i]);
        }
        char *bytes = scratch_load("y.bin", &size);

        CU_ASSERT_EQUAL(winners, 1);
        CU_ASSERT(bytes != NULL && size == 1 && bytes[0] == (char)winner);
        CU_ASSERT_EQUAL(scratch_count(), 1);
        free(bytes);
        scratch_clear();
    }
}

static void test_interrupted_reserve(void)
{
    iso_draft_t *draft = NULL;
    struct stat info;

    CU_ASSERT_EQUAL_FATAL(iso_draft_create("y.bin", false, &draft), ISO_OK);
    interruptions = 3;
    CU_ASSERT_EQUAL(iso_draft_reserve(draft, 5000), ISO_OK);
    CU_ASSERT_EQUAL(interruptions, 0);
    CU_ASSERT_EQUAL(stat(iso_draft_temp_path(draft), &info), 0);
    CU_ASSERT_EQUAL(info.st_size, 5000);
    interruptions = 0;
    iso_draft_close(&draft);
    CU_ASSERT_EQUAL(scratch_count(), 0);
}

static void test_withdrawn_is_gone(void)
{
    iso_draft_t *draft = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_draft_create("y.bin", false, &draft), ISO_OK);
    CU_ASSERT_EQUAL(iso_draft_publish(draft), ISO_OK);
    iso_draft_withdraw(draft);
    iso_draft_close(&draft);
    CU_ASSERT_EQUAL(scratch_count(), 0);
}

static void test_bad_places(void)
{
    iso_draft_t *draft = NULL;

    CU_ASSERT_EQUAL(iso_draft_create("none/y.bin", false, &draft), ISO_IO);
    CU_ASSERT(text_has("there is no folder 'none'"));
    CU_ASSERT_EQUAL(mkdir("folder", 0777), 0);
    CU_ASSERT_EQUAL(iso_draft_create("folder", true, &draft), ISO_IO);
    CU_ASSERT(text_has("it is a folder"));
    CU_ASSERT_EQUAL(iso_draft_create("/dev/null", true, &draft), ISO_IO);
    CU_ASSERT(text_has("not a regular file"));
    scratch_save("file", "", 0);
    CU_ASSERT_EQUAL(iso_draft_create("file/y.bin", false, &draft), ISO_IO);
    CU_ASSERT(text_has("there is no folder 'file'"));
    CU_ASSERT_PTR_NULL(draft);
    scratch_clear();
}

static void test_same_file_however_spelled(void)
{
    iso_draft_t *draft = NULL;
    char folder[500] = "";
    char path[600] = "";

    CU_ASSERT_EQUAL(mkdir("folder", 0777), 0);
    CU_ASSERT_EQUAL(symlink("folder", "link"), 0);
    CU_ASSERT_EQUAL_FATAL(iso_draft_create("folder/y", false, &draft), ISO_OK);
    CU_ASSERT(iso_draft_is_for(draft, "folder/y"));
    CU_ASSERT(iso_draft_is_for(draft, "./folder//y"));
    CU_ASSERT(iso_draft_is_for(draft, "link/y"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(folder, sizeof folder));
    (void)snprintf(path, sizeof path, "%s/folder/y", folder);
    CU_ASSERT(iso_draft_is_for(draft, path));
    CU_ASSERT(!iso_draft_is_for(draft, "y"));
    CU_ASSERT(!iso_draft_is_for(draft, "folder/z"));
    CU_ASSERT(!iso_draft_is_for(draft, "none/y"));
    iso_draft_close(&draft);
    scratch_clear();
}

static void test_failed_write_is_remembered(void)
{
    const struct rlimit small = {1000, RLIM_INFINITY};
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    static const char bytes[2000];
    iso_draft_t *draft = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_draft_create("y.bin", false, &draft), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    CU_ASSERT_EQUAL(iso_draft_reserve(draft, 0), ISO_OK);
    CU_ASSERT_EQUAL(iso_draft_reserve(draft, 2000), ISO_IO);
    CU_ASSERT(text_has("disk full") && text_has("y.bin"));
    CU_ASSERT_EQUAL(iso_draft_status(draft), ISO_OK);
    iso_draft_write(draft, 0, bytes, sizeof bytes);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &none), 0);
    iso_draft_write(draft, 0, bytes, sizeof bytes);
    CU_ASSERT_EQUAL(iso_draft_status(draft), ISO_IO);
    CU_ASSERT(text_has("disk full") && text_has("y.bin"));
    CU_ASSERT_EQUAL(iso_draft_sync(draft), ISO_IO);
    iso_draft_close(&draft);
    CU_ASSERT_EQUAL(scratch_count(), 0);
}

static void test_special_files_stay(void)
{
    iso_draft_t *draft = NULL;

    CU_ASSERT_EQUAL_FATAL(mkfifo("pipe", 0600), 0);
    CU_ASSERT_EQUAL_FATAL(symlink("pipe", "link"), 0);
    CU_ASSERT_EQUAL(iso_draft_create("pipe", true, &draft), ISO_IO);
    CU_ASSERT(text_has("not a regular file"));
    CU_ASSERT_EQUAL(iso_draft_create("link", true, &draft), ISO_IO);
    CU_ASSERT(text_has("'link': not a regular file"));
    CU_ASSERT_EQUAL(scratch_count(), 2);
    scratch_clear();
}

static void test_same_name(void)
{
    CU_ASSERT(iso_draft_same_name("y.bin", "./y.bin"));
    CU_ASSERT(iso_draft_same_name(".//y.bin", "y.bin"));
    CU_ASSERT(!iso_draft_same_name("y.bin", "z.bin"));
    CU_ASSERT(!iso_draft_same_name("y.bin", "/y.bin"));
    CU_ASSERT(!iso_draft_same_name("none/y.bin", "none/y.bin"));
}

static void test_remove_all(void)
{
    iso_draft_t *drafts[3] = {NULL};
    const char *names[3] = {"a.bin", "b.bin", "c.bin"};

    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL_FATAL(iso_draft_create(names[i], false, &drafts[i]),
                              ISO_OK);
    }
    CU_ASSERT_EQUAL(iso_draft_publish(drafts[1]), ISO_OK);
    iso_draft_close(&drafts[2]);
    iso_draft_remove_all();
    CU_ASSERT(scratch_exists("b.bin"));
    CU_ASSERT_EQUAL(scratch_count(), 1);
    iso_draft_close(&drafts[0]);
    iso_draft_close(&drafts[1]);
    iso_draft_remove_all();
    scratch_clear();

    /* More than are kept track of: the later ones are left. */
    enum { MANY = 300 };
    static iso_draft_t *many[MANY];

    for (int i = 0; i < MANY; i++) {
        CU_ASSERT_EQUAL_FATAL(iso_draft_create("y.bin", false, &many[i]),
                              ISO_OK);
    }
    iso_draft_remove_all();
    CU_ASSERT_EQUAL(scratch_count(), MANY - 256);
    for (int i = 0; i < MANY; i++) {
        iso_draft_close(&many[i]);
    }
    CU_ASSERT_EQUAL(scratch_count(), 0);
}

static void test_no_memory(void)
{
    iso_draft_t *draft = NULL;
    iso_status_t status = ISO_NOMEM;
    int n = 0;

    while (status != ISO_OK && n < 50) {
        n++;
        iso_mem_fail_at(n);
        status = iso_draft_create("y.bin", false, &draft);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        iso_draft_close(&draft);
        CU_ASSERT_EQUAL(scratch_count(), 0);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT(n > 3 && status == ISO_OK);
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"the name appears at the end", test_name_appears_at_the_end},
        {"an unpublished one is removed", test_unpublished_is_removed},
        {"an existing file is kept", test_existing_file_is_kept},
        {"the name is taken in the meantime", test_name_taken_in_the_meantime},
        {"a race for a name", test_race_for_a_name},
        {"an interrupted reserve", test_interrupted_reserve},
        {"a withdrawn one is gone", test_withdrawn_is_gone},
        {"bad places", test_bad_places},
        {"same file however spelled", test_same_file_however_spelled},
        {"a failed write is remembered", test_failed_write_is_remembered},
        {"special files stay", test_special_files_stay},
        {"same name", test_same_name},
        {"remove all", test_remove_all},
        {"no memory", test_no_memory},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"draft", suite_begin, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    (void)signal(SIGXFSZ, SIG_IGN);
    return iso_test_main(suites);
}
