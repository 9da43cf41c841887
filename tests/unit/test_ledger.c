/* The ledger of a job: what is said is found again, whatever is cut off or
 * damaged behind it, and another job's is refused. */
#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "io/ledger.h"
#include "iso_test.h"
#include "iso_test_folder.h"

#include <inttypes.h>

enum { RANGES = 5, SAMPLES = 1000 };

/* Samples in a range. */
static const int64_t each = 10;

static const char path[] = "y.npy.ledger";
static int64_t blocks;

static int suite_begin(void)
{
    blocks = iso_mem_count().blocks;
    return 0;
}

static int text_has(const char *part)
{
    return strstr(iso_error_text(), part) != NULL;
}

static iso_ledger_spec_t spec_of(const iso_ledger_trait_t *traits)
{
    return (iso_ledger_spec_t){.path = path,
                               .traits = traits,
                               .n_traits = 2,
                               .n_outputs = 2,
                               .samples = SAMPLES};
}

static const iso_ledger_trait_t traits[] = {{"the model's weights", 17},
                                            {"the inputs", UINT64_MAX}};

static uint64_t digest_of(int range, int output)
{
    return iso_digest_of(&range, sizeof range) + (uint64_t)output;
}

static iso_ledger_t *open_ledger(bool resume)
{
    iso_ledger_t *ledger = NULL;
    iso_ledger_spec_t spec = spec_of(traits);

    spec.resume = resume;
    CU_ASSERT_EQUAL_FATAL(iso_ledger_open(&spec, &ledger), ISO_OK);
    return ledger;
}

static void add(iso_ledger_t *ledger, int range)
{
    const uint64_t digests[2] = {digest_of(range, 0), digest_of(range, 1)};

    CU_ASSERT_EQUAL_FATAL(iso_ledger_add(ledger, each * (range + 1), digests),
                          ISO_OK);
}

/* A ledger of RANGES ranges. */
static void make(bool finish)
{
    iso_ledger_t *ledger = open_ledger(false);

    for (int range = 0; range < RANGES; range++) {
        add(ledger, range);
    }
    if (finish) {
        CU_ASSERT_EQUAL(iso_ledger_finish(ledger), ISO_OK);
    }
    CU_ASSERT_EQUAL(iso_ledger_sync(ledger), ISO_OK);
    iso_ledger_close(&ledger, false);
}

/* What is found is the beginning of what was said. Returns how much. */
static int expect_beginning(iso_ledger_t *ledger)
{
    const int count = iso_ledger_range_count(ledger);

    CU_ASSERT(count <= RANGES);
    for (int i = 0; i < count; i++) {
        const iso_ledger_range_t range = iso_ledger_range(ledger, i);

        CU_ASSERT_EQUAL(range.first, each * i);
        CU_ASSERT_EQUAL(range.end, each * (i + 1));
        CU_ASSERT_EQUAL(range.digests[0], digest_of(i, 0));
        CU_ASSERT_EQUAL(range.digests[1], digest_of(i, 1));
    }
    CU_ASSERT_EQUAL(iso_ledger_done(ledger), each * count);
    return count;
}

static void test_what_is_said_is_found(void)
{
    make(false);
    iso_ledger_t *ledger = open_ledger(true);
    CU_ASSERT_EQUAL(expect_beginning(ledger), RANGES);
    CU_ASSERT_FALSE(iso_ledger_is_finished(ledger));
    CU_ASSERT_EQUAL(iso_ledger_cut(ledger, 3), ISO_OK);
    iso_ledger_close(&ledger, false);
    ledger = open_ledger(true);
    CU_ASSERT_EQUAL(expect_beginning(ledger), 3);
    for (int range = 3; range < RANGES; range++) {
        add(ledger, range);
    }
    CU_ASSERT_EQUAL(iso_ledger_finish(ledger), ISO_OK);
    iso_ledger_close(&ledger, false);
    ledger = open_ledger(true);
    CU_ASSERT_EQUAL(expect_beginning(ledger), RANGES);
    CU_ASSERT_TRUE(iso_ledger_is_finished(ledger));
    CU_ASSERT_EQUAL(iso_ledger_cut(ledger, 0), ISO_OK);
    CU_ASSERT_FALSE(iso_ledger_is_finished(ledger));
    iso_ledger_close(&ledger, true);
    CU_ASSERT_EQUAL(scratch_count(), 0);
}

/* Cut off after each byte: a beginning is found, and can be gone on with. */
static void test_cut_off_anywhere(void)
{
    size_t size = 0;
    int most = 0;

    make(true);
    char *whole = scratch_load(path, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(whole);
    for (size_t length = 0; length < size; length++) {
        scratch_save(path, whole, length);
        iso_ledger_t *ledger = open_ledger(true);
        const int count = expect_beginning(ledger);

        CU_ASSERT(count >= most);
        most = count;
        CU_ASSERT_FALSE(iso_ledger_is_finished(ledger));
        add(ledger, count);
        iso_ledger_close(&ledger, false);
        ledger = open_ledger(true);
        CU_ASSERT_EQUAL(iso_ledger_done(ledger), each * (count + 1));
        iso_ledger_close(&ledger, true);
    }
    CU_ASSERT_EQUAL(most, RANGES);
    free(whole);
}

/* Each byte changed: what is found was said, or it is refused. */
static void test_damaged_anywhere(void)
{
    size_t size = 0;
    int n_found = 0;
    int n_refused = 0;

    make(true);
    char *whole = scratch_load(path, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(whole);
    for (size_t at = 0; at < size; at++) {
        iso_ledger_t *ledger = NULL;
        iso_ledger_spec_t spec = spec_of(traits);

        spec.resume = true;
        whole[at] ^= 1;
        scratch_save(path, whole, size);
        whole[at] ^= 1;
        if (iso_ledger_open(&spec, &ledger) == ISO_OK) {
            n_found += expect_beginning(ledger) > 0 ? 1 : 0;
            CU_ASSERT_FALSE(iso_ledger_is_finished(ledger));
        } else {
            CU_ASSERT(text_has("is not a ledger") ||
                      text_has("is damaged in its first lines"));
        }
        n_refused += ledger == NULL ? 1 : 0;
        iso_ledger_close(&ledger, false);
    }
    CU_ASSERT(n_found > 0 && n_refused > 0);
    free(whole);
    scratch_clear();
}

static void refuse(const iso_ledger_spec_t *spec, iso_status_t status,
                   const char *why)
{
    iso_ledger_t *ledger = NULL;
    size_t before = 0;
    size_t after = 0;
    char *was = scratch_load(path, &before);

    CU_ASSERT_EQUAL(iso_ledger_open(spec, &ledger), status);
    if (!text_has(why)) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    CU_ASSERT(text_has(why));
    char *is = scratch_load(path, &after);
    CU_ASSERT(was != NULL && is != NULL && before == after &&
              memcmp(was, is, after) == 0);
    free(was);
    free(is);
}

static void test_another_job_is_refused(void)
{
    const iso_ledger_trait_t other_model[] = {{"the model's weights", 18},
                                              {"the inputs", UINT64_MAX}};
    const iso_ledger_trait_t other_inputs[] = {{"the model's weights", 17},
                                               {"the inputs", 0}};
    iso_ledger_spec_t spec;

    for (int finish = 0; finish < 2; finish++) {
        make(finish != 0);
        spec = spec_of(other_model);
        spec.resume = true;
        refuse(&spec, ISO_INPUT, "of another job, in the model's weights");
        spec = spec_of(other_inputs);
        spec.resume = true;
        refuse(&spec, ISO_INPUT, "of another job, in the inputs");
        spec = spec_of(traits);
        spec.resume = true;
        spec.samples++;
        refuse(&spec, ISO_INPUT, "in the number of samples");
        spec.samples--;
        spec.n_outputs = 1;
        refuse(&spec, ISO_INPUT, "in the outputs");
        spec.n_outputs = 2;
        spec.n_traits = 1;
        refuse(&spec, ISO_INPUT, "in the program's version");
        spec = spec_of(traits);
        spec.gone = finish == 0;
        refuse(&spec, ISO_IO, "give --resume");
        scratch_clear();
    }
}

/* What says nothing is in nobody's way. */
static void test_begins_anew(void)
{
    const iso_ledger_trait_t other[] = {{"the model's weights", 18},
                                        {"the inputs", UINT64_MAX}};
    iso_ledger_t *ledger = open_ledger(false);
    iso_ledger_spec_t spec = spec_of(other);

    iso_ledger_close(&ledger, false);
    CU_ASSERT_EQUAL(scratch_count(), 1);
    CU_ASSERT_EQUAL_FATAL(iso_ledger_open(&spec, &ledger), ISO_OK);
    iso_ledger_close(&ledger, true);
    make(false);
    spec.force = true;
    CU_ASSERT_EQUAL_FATAL(iso_ledger_open(&spec, &ledger), ISO_OK);
    CU_ASSERT_EQUAL(iso_ledger_done(ledger), 0);
    iso_ledger_close(&ledger, true);
    make(true);
    spec.force = false;
    spec.gone = true;
    CU_ASSERT_EQUAL_FATAL(iso_ledger_open(&spec, &ledger), ISO_OK);
    CU_ASSERT_FALSE(iso_ledger_is_finished(ledger));
    iso_ledger_close(&ledger, true);
    CU_ASSERT_EQUAL(scratch_count(), 0);
}

static void test_no_file_for_it(void)
{
    iso_ledger_t *ledger = NULL;
    iso_ledger_spec_t spec = spec_of(traits);

    spec.path = "none/y.ledger";
    CU_ASSERT_EQUAL(iso_ledger_open(&spec, &ledger), ISO_IO);
    CU_ASSERT(text_has("cannot write 'none/y.ledger'"));
    CU_ASSERT_EQUAL(symlink("/dev/null", path), 0);
    spec.path = path;
    CU_ASSERT_EQUAL(iso_ledger_open(&spec, &ledger), ISO_IO);
    CU_ASSERT_PTR_NULL(ledger);
    scratch_clear();
}

static void test_no_memory(void)
{
    iso_ledger_spec_t spec = spec_of(traits);
    iso_status_t status = ISO_NOMEM;
    int n = 0;

    make(false);
    spec.resume = true;
    while (status != ISO_OK && n < 50) {
        iso_ledger_t *ledger = NULL;

        n++;
        iso_mem_fail_at(n);
        status = iso_ledger_open(&spec, &ledger);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        iso_ledger_close(&ledger, false);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT(n > 4 && status == ISO_OK);
    scratch_clear();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"what is said is found", test_what_is_said_is_found},
        {"cut off anywhere", test_cut_off_anywhere},
        {"damaged anywhere", test_damaged_anywhere},
        {"another job is refused", test_another_job_is_refused},
        {"begins anew", test_begins_anew},
        {"no file for it", test_no_file_for_it},
        {"no memory", test_no_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"ledger", suite_begin, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
