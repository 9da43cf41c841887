#include "isotome/error.h"

#include "base/json.h"
#include "base/mem.h"
#include "iso_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char sample[] =
    "{\"name\": \"net\", \"ranks\": 4, \"rate\": 1.5, \"strict\": true,\n"
    " \"stages\": [{\"first\": 0}, {\"first\": \"one\"}], \"none\": null,\n"
    " \"sizes\": [1, 2.5, \"x\", 9223372036854775807]}";

static iso_json_t parse_sample(void)
{
    iso_json_t root = {0};

    CU_ASSERT_EQUAL_FATAL(
        iso_json_parse(sample, strlen(sample), "plan.json", &root), ISO_OK);
    return root;
}

static void test_getters(void)
{
    iso_json_t root = parse_sample();
    iso_json_t stages;
    const char *text = NULL;
    int64_t number = 0;
    double real = 0.0;
    bool flag = false;

    CU_ASSERT_EQUAL(iso_json_text(&root, "name", &text), ISO_OK);
    CU_ASSERT_STRING_EQUAL(text, "net");
    CU_ASSERT_EQUAL(iso_json_int(&root, "ranks", 1, 4, &number), ISO_OK);
    CU_ASSERT_EQUAL(number, 4);
    CU_ASSERT_EQUAL(iso_json_double(&root, "rate", &real), ISO_OK);
    CU_ASSERT_EQUAL(real, 1.5);
    CU_ASSERT_EQUAL(iso_json_double(&root, "ranks", &real), ISO_OK);
    CU_ASSERT_EQUAL(real, 4.0);
    CU_ASSERT_EQUAL(iso_json_bool(&root, "strict", &flag), ISO_OK);
    CU_ASSERT(flag);
    CU_ASSERT(iso_json_has(&root, "none"));
    CU_ASSERT_FALSE(iso_json_has(&root, "other"));
    CU_ASSERT_EQUAL_FATAL(iso_json_array(&root, "stages", &stages), ISO_OK);
    CU_ASSERT_EQUAL(iso_json_size(&stages), 2);
    iso_json_t first = iso_json_at(&stages, 0);
    CU_ASSERT_EQUAL(iso_json_int(&first, "first", 0, 9, &number), ISO_OK);
    CU_ASSERT_EQUAL(number, 0);
    CU_ASSERT_EQUAL(iso_json_array(&root, "sizes", &stages), ISO_OK);
    iso_json_t last = iso_json_at(&stages, 3);
    CU_ASSERT_EQUAL(iso_json_as_int(&last, 0, INT64_MAX, &number), ISO_OK);
    CU_ASSERT_EQUAL(number, INT64_MAX);
    json_decref(root.value);
}

/* The call gave status and the text of its failure is this. */
static void expect_failure(iso_status_t status, const char *text)
{
    CU_ASSERT_EQUAL(status, ISO_INPUT);
    CU_ASSERT_STRING_EQUAL(iso_error_text(), text);
    iso_error_clear();
}

static void test_errors_name_the_place(void)
{
    iso_json_t root = parse_sample();
    iso_json_t out;
    const char *text = NULL;
    int64_t number = 77;
    double real = 0.0;
    bool flag = false;

    expect_failure(iso_json_int(&root, "rank", 0, 1, &number),
                   "plan.json: member 'rank' is missing");
    expect_failure(iso_json_int(&root, "name", 0, 1, &number),
                   "plan.json: name: expected integer, found string");
    expect_failure(iso_json_int(&root, "rate", 0, 1, &number),
                   "plan.json: rate: expected integer, found real number");
    expect_failure(iso_json_int(&root, "ranks", 5, 9, &number),
                   "plan.json: ranks: expected 5 to 9, found 4");
    expect_failure(iso_json_double(&root, "none", &real),
                   "plan.json: none: expected number, found null");
    expect_failure(iso_json_bool(&root, "stages", &flag),
                   "plan.json: stages: expected boolean, found array");
    expect_failure(iso_json_text(&root, "strict", &text),
                   "plan.json: strict: expected string, found boolean");
    expect_failure(iso_json_object(&root, "stages", &out),
                   "plan.json: stages: expected object, found array");
    expect_failure(iso_json_array(&root, "name", &out),
                   "plan.json: name: expected array, found string");
    CU_ASSERT_EQUAL(number, 77);
    json_decref(root.value);
}

static void test_errors_name_the_path(void)
{
    iso_json_t root = parse_sample();
    iso_json_t out;
    int64_t number = 77;

    CU_ASSERT_EQUAL_FATAL(iso_json_array(&root, "stages", &out), ISO_OK);
    iso_json_t second = iso_json_at(&out, 1);
    expect_failure(
        iso_json_int(&second, "first", 0, 1, &number),
        "plan.json: stages[1].first: expected integer, found string");
    expect_failure(iso_json_int(&out, "first", 0, 1, &number),
                   "plan.json: stages: expected object, found array");
    iso_json_t third = iso_json_at(&out, 2);
    expect_failure(iso_json_as_int(&third, 0, 1, &number),
                   "plan.json: stages[2]: expected integer, found nothing");
    expect_failure(iso_json_fail(&second, "stage %d is empty", 1),
                   "plan.json: stages[1]: stage 1 is empty");
    expect_failure(iso_json_fail(&root, "no"), "plan.json: no");
    json_decref(root.value);
}

static void test_only_known_members(void)
{
    static const char *const all[] = {"name",   "ranks", "rate",  "strict",
                                      "stages", "none",  "sizes", NULL};
    static const char *const some[] = {"name",   "rank", "rate",  "strict",
                                       "stages", "none", "sizes", NULL};
    static const char *const none[] = {NULL};
    iso_json_t root = parse_sample();
    iso_json_t name = {.value = json_object_get(root.value, "name"),
                       .parent = &root,
                       .key = "name"};

    CU_ASSERT_EQUAL(iso_json_only(&root, all), ISO_OK);
    expect_failure(iso_json_only(&root, some),
                   "plan.json: unknown member 'ranks'; did you mean 'rank'?");
    CU_ASSERT_EQUAL(iso_json_only(&root, none), ISO_INPUT);
    expect_failure(iso_json_only(&name, all),
                   "plan.json: name: expected object, found string");
    json_decref(root.value);
}

static void test_hostile_texts(void)
{
    static const char *const bad[] = {
        "",          " ",           "{",        "{\"a\":1,}",
        "[1,2",      "{\"a\":1}x",  "\xff",     "{\"a\":1,\"a\":2}",
        "[1e999]",   "nan",         "[01]",     "[99999999999999999999]",
        "{\"a\" 1}", "\"\\u0000\"", "// c\n{}", "['a']",
    };
    static char deep[200001];
    iso_json_t root = {0};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CU_ASSERT_EQUAL(iso_json_parse(bad[i], strlen(bad[i]), "f", &root),
                        ISO_INPUT);
        CU_ASSERT_EQUAL(strncmp(iso_error_text(), "f: line ", 8), 0);
    }
    memset(deep, '[', sizeof deep - 1);
    CU_ASSERT_EQUAL(iso_json_parse(deep, sizeof deep - 1, "f", &root),
                    ISO_INPUT);
    CU_ASSERT_EQUAL(iso_json_parse(sample, strlen(sample) - 1, "f", &root),
                    ISO_INPUT);
    CU_ASSERT_PTR_NULL(root.value);
}

/* A place far down is cut at its front, and does not overflow anything. */
static void test_deep_places(void)
{
    enum { DEPTH = 300 };
    static iso_json_t chain[DEPTH];
    json_t *null = json_null();

    for (size_t i = 0; i < DEPTH; i++) {
        chain[i] = (iso_json_t){.value = null,
                                .parent = i == 0 ? NULL : &chain[i - 1],
                                .key = i == 0 ? "f" : NULL,
                                .index = i};
    }
    CU_ASSERT_EQUAL(iso_json_fail(&chain[DEPTH - 1], "bad"), ISO_INPUT);
    CU_ASSERT_EQUAL(strncmp(iso_error_text(), "f: [", 4), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "[298][299]: bad"));
}

static void test_doubles_read_back_equal(void)
{
    static const double values[] = {0.1,     1.0 / 3.0, 1e300,  5e-324,
                                    -0.0,    1.0,       1e22,   123456789.123,
                                    2.5e-10, 0.7,       -1e-15, 1.7e308};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        json_t *object = json_pack("{s:f}", "v", values[i]);
        char *text = NULL;
        iso_json_t root = {0};
        double back = 0.0;
        CU_ASSERT_EQUAL_FATAL(iso_json_print(object, 0, &text), ISO_OK);
        CU_ASSERT_EQUAL_FATAL(iso_json_parse(text, strlen(text), "f", &root),
                              ISO_OK);
        CU_ASSERT_EQUAL(iso_json_double(&root, "v", &back), ISO_OK);
        CU_ASSERT_EQUAL(back, values[i]);
        CU_ASSERT_EQUAL(signbit(back), signbit(values[i]));
        free(text);
        json_decref(root.value);
        json_decref(object);
    }
}

static void test_print(void)
{
    json_t *object = json_pack("{s:i,s:[i,i]}", "b", 1, "a", 2, 3);
    char *text = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_json_print(object, 0, &text), ISO_OK);
    CU_ASSERT_STRING_EQUAL(text, "{\"b\":1,\"a\":[2,3]}");
    free(text);
    CU_ASSERT_EQUAL_FATAL(iso_json_print(object, 2, &text), ISO_OK);
    CU_ASSERT_STRING_EQUAL(text,
                           "{\n  \"b\": 1,\n  \"a\": [\n    2,\n    3\n  ]\n}");
    free(text);
    json_decref(object);
}

static char folder[] = "/tmp/iso_json_XXXXXX";
static char path[64];

static void test_write_and_read(void)
{
    iso_json_t root = {0};
    int64_t number = 0;
    json_t *object = json_pack("{s:i}", "v", 5);

    CU_ASSERT_EQUAL(iso_json_read(path, &root), ISO_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), path));
    CU_ASSERT_EQUAL(iso_json_write(object, path), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_json_read(path, &root), ISO_OK);
    CU_ASSERT_EQUAL(iso_json_int(&root, "v", 0, 9, &number), ISO_OK);
    CU_ASSERT_EQUAL(number, 5);
    json_decref(root.value);
    CU_ASSERT_EQUAL(unlink(path), 0);
    json_decref(object);
}

static void test_hostile_files(void)
{
    iso_json_t root = {0};
    FILE *file = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_EQUAL(iso_json_read(path, &root), ISO_INPUT);
    CU_ASSERT_EQUAL(truncate(path, ((off_t)256 << 20) + 1), 0);
    CU_ASSERT_EQUAL(iso_json_read(path, &root), ISO_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "too many"));
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    CU_ASSERT_EQUAL(iso_json_read(path, &root), ISO_INPUT);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(iso_json_read(folder, &root), ISO_INPUT);
}

/* A target that cannot be replaced leaves no temporary file behind: the
 * folder can be removed at the end. */
static void test_write_errors(void)
{
    char missing[96];
    json_t *object = json_pack("{s:i}", "v", 5);

    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
    CU_ASSERT_EQUAL(iso_json_write(object, path), ISO_IO);
    CU_ASSERT_EQUAL(rmdir(path), 0);
    (void)snprintf(missing, sizeof missing, "%s/no/a.json", folder);
    CU_ASSERT_EQUAL(iso_json_write(object, missing), ISO_IO);
    json_decref(object);
}

/* In a folder where others may write, somebody could know the temporary name
 * and have put a link there. */
static void test_planted_link(void)
{
    char victim[96];
    char link[96];
    struct stat info;
    json_t *object = json_pack("{s:i}", "v", 5);

    (void)snprintf(victim, sizeof victim, "%s/victim", folder);
    (void)snprintf(link, sizeof link, "%s.%ld.tmp", path, (long)getpid());
    FILE *file = fopen(victim, "w");
    CU_ASSERT_FATAL(file != NULL && fputs("mine", file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_EQUAL_FATAL(symlink(victim, link), 0);
    CU_ASSERT_EQUAL(iso_json_write(object, path), ISO_OK);
    CU_ASSERT(stat(victim, &info) == 0 && info.st_size == 4);
    CU_ASSERT(lstat(path, &info) == 0 && S_ISREG(info.st_mode));
    CU_ASSERT_EQUAL(lstat(link, &info), -1);
    CU_ASSERT_EQUAL(unlink(victim), 0);
    CU_ASSERT_EQUAL(unlink(path), 0);
    json_decref(object);
}

static void test_no_memory(void)
{
    json_t *object = json_pack("{s:i}", "v", 5);
    iso_json_t root = {.key = "f", .value = object};

    iso_mem_fail_at(1);
    CU_ASSERT_EQUAL(iso_json_write(object, path), ISO_NOMEM);
    CU_ASSERT_EQUAL(access(path, F_OK), -1);
    iso_mem_fail_at(1);
    CU_ASSERT_EQUAL(iso_json_fail(&root, "bad"), ISO_NOMEM);
    CU_ASSERT_EQUAL(iso_json_write(object, path), ISO_OK);
    iso_mem_fail_at(1);
    CU_ASSERT_EQUAL(iso_json_read(path, &root), ISO_NOMEM);
    CU_ASSERT_EQUAL(unlink(path), 0);
    json_decref(object);
}

static void test_special_files_stay(void)
{
    json_t *object = json_pack("{s:i}", "v", 5);
    struct stat info;

    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    CU_ASSERT_EQUAL(iso_json_write(object, path), ISO_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "not a regular file"));
    CU_ASSERT(stat(path, &info) == 0 && S_ISFIFO(info.st_mode));
    CU_ASSERT_EQUAL(unlink(path), 0);
    json_decref(object);
}

static int64_t blocks_before;

static int make_folder(void)
{
    blocks_before = iso_mem_count().blocks;
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    (void)snprintf(path, sizeof path, "%s/a.json", folder);
    return 0;
}

static int remove_folder(void)
{
    bool clean = iso_mem_count().blocks == blocks_before;

    return rmdir(folder) == 0 && clean ? 0 : 1;
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"getters", test_getters},
        {"errors name the place", test_errors_name_the_place},
        {"errors name the path", test_errors_name_the_path},
        {"only known members", test_only_known_members},
        {"hostile texts", test_hostile_texts},
        {"deep places", test_deep_places},
        {"doubles read back equal", test_doubles_read_back_equal},
        {"print", test_print},
        {"write and read", test_write_and_read},
        {"hostile files", test_hostile_files},
        {"write errors", test_write_errors},
        {"planted link", test_planted_link},
        {"special files stay", test_special_files_stay},
        {"no memory", test_no_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"json", make_folder, remove_folder, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
