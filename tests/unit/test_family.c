#include "isotome/error.h"

#include "base/mem.h"
#include "iso_test.h"
#include "kernel/cpu/cpu_impl.h"
#include "kernel/cpu/light_impl.h"
#include "kernel/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_every_family_has_its_text(void)
{
#define X(name, text) \
    CU_ASSERT_STRING_EQUAL(iso_family_string(ISO_FAMILY_##name), text);
    ISO_FAMILY_MAP(X)
#undef X
    CU_ASSERT_STRING_EQUAL(iso_family_string(ISO_FAMILY_COUNT), "unknown");
    CU_ASSERT_TRUE(iso_family_supported(ISO_FAMILY_SCALAR));
    CU_ASSERT_FALSE(iso_family_supported(ISO_FAMILY_COUNT));
}

static void test_default_is_supported(void)
{
    iso_family_t family = ISO_FAMILY_COUNT;

    (void)unsetenv("ISOTOME_KERNELS");
    CU_ASSERT_EQUAL(iso_family_choose(&family), ISO_OK);
    CU_ASSERT_TRUE(iso_family_supported(family));
    (void)setenv("ISOTOME_KERNELS", "", 1);
    CU_ASSERT_EQUAL(iso_family_choose(&family), ISO_OK);
}

static const iso_features_t old = {.fma = false};
static const iso_features_t no_vectors = {.fma = true};
static const iso_features_t haswell = {.fma = true, .avx2 = true};
static const iso_features_t skylake = {
    .fma = true, .avx2 = true, .avx512 = true};

/* Also with AVX2, and whatever is asked for: every family needs FMA. */
static void test_no_fma(void)
{
    static const iso_features_t odd = {.avx2 = true, .avx512 = true};
    iso_family_t family = ISO_FAMILY_COUNT;

    for (int f = 0; f <= ISO_FAMILY_COUNT; f++) {
        const char *wanted =
            f < ISO_FAMILY_COUNT ? iso_family_string((iso_family_t)f) : NULL;

        CU_ASSERT_FALSE(iso_family_runs_on((iso_family_t)f, &old));
        CU_ASSERT_FALSE(iso_family_runs_on((iso_family_t)f, &odd));
        CU_ASSERT_EQUAL(iso_family_choose_for(&old, wanted, &family),
                        ISO_UNSUPPORTED);
        iso_error_clear();
        CU_ASSERT_EQUAL(iso_family_choose_for(&odd, wanted, &family),
                        ISO_UNSUPPORTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "no FMA"));
    }
    CU_ASSERT_EQUAL(iso_features_check(&old), ISO_UNSUPPORTED);
    CU_ASSERT_EQUAL(iso_features_check(&no_vectors), ISO_OK);
    CU_ASSERT_EQUAL(family, ISO_FAMILY_COUNT);
}

static void test_other_cpus(void)
{
    iso_family_t family = ISO_FAMILY_COUNT;

    CU_ASSERT_EQUAL(iso_family_choose_for(&no_vectors, NULL, &family), ISO_OK);
    CU_ASSERT_EQUAL(family, ISO_FAMILY_SCALAR);
    CU_ASSERT_EQUAL(iso_family_choose_for(&haswell, "", &family), ISO_OK);
    CU_ASSERT_EQUAL(family, ISO_FAMILY_HASWELL);
    CU_ASSERT_EQUAL(iso_family_choose_for(&skylake, NULL, &family), ISO_OK);
    CU_ASSERT_EQUAL(family, ISO_FAMILY_SKX);
    CU_ASSERT_EQUAL(iso_family_choose_for(&haswell, "zen3", &family), ISO_OK);
    CU_ASSERT_EQUAL(family, ISO_FAMILY_ZEN3);
    CU_ASSERT_EQUAL(iso_family_choose_for(&haswell, "skx", &family), ISO_INVAL);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(iso_error_text(), "scalar, haswell, zen, zen2, zen3"));
    CU_ASSERT_EQUAL(iso_family_choose_for(&no_vectors, "zen", &family),
                    ISO_INVAL);
    CU_ASSERT_EQUAL(family, ISO_FAMILY_ZEN3);
}

static void test_bad_names(void)
{
    static const char *const names[] = {"SKX", "skx ", "generic", "0", "zen4"};
    const iso_mem_count_t before = iso_mem_count();
    iso_family_t family = ISO_FAMILY_COUNT;
    iso_cpu_t *cpu = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)setenv("ISOTOME_KERNELS", names[i], 1);
        CU_ASSERT_EQUAL(iso_family_choose(&family), ISO_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), names[i]));
        CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "scalar"));
        CU_ASSERT_EQUAL(iso_cpu_create(1, &cpu), ISO_INVAL);
        CU_ASSERT_PTR_NULL(cpu);
    }
    CU_ASSERT_EQUAL(family, ISO_FAMILY_COUNT);
    CU_ASSERT_EQUAL(iso_cpu_create(0, &cpu), ISO_INVAL);
    (void)unsetenv("ISOTOME_KERNELS");
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

/* A family means the same for contractions and for all else. */
static bool has_kernels_of(const iso_cpu_t *cpu, iso_family_t family)
{
    const bool is_plain = family == ISO_FAMILY_SCALAR;

    return cpu->light.isa == iso__light_isa_of(family) &&
           (cpu->light.isa == &iso__light_portable) == is_plain &&
           (cpu->isa == iso__isa_portable()) == is_plain &&
           (cpu->isa == iso__isa_avx512()) == (family == ISO_FAMILY_SKX);
}

/* What a child that asks for a family makes of it: 0 it runs it, 1 it is
 * refused with a message that names it, 2 anything else. */
static int child_result(iso_family_t family)
{
    const char *name = iso_family_string(family);
    iso_cpu_t *cpu = NULL;
    int result = 2;

    (void)setenv("ISOTOME_KERNELS", name, 1);
    if (iso_cpu_create(1, &cpu) == ISO_OK) {
        result = iso_cpu_family(cpu) == family && has_kernels_of(cpu, family)
                     ? 0
                     : 2;
    } else if (strstr(iso_error_text(), name) != NULL) {
        result = 1;
    }
    iso_cpu_destroy(&cpu);
    return result;
}

static int run_child(iso_family_t family)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        _exit(child_result(family));
    }
    CU_ASSERT_TRUE_FATAL(child > 0);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* BLIS takes one family in a process, so each is a process of its own. */
static void test_environment_chooses(void)
{
    for (int f = 0; f < ISO_FAMILY_COUNT; f++) {
        const iso_family_t family = (iso_family_t)f;

        CU_ASSERT_EQUAL(run_child(family),
                        iso_family_supported(family) ? 0 : 1);
    }
}

/* The environment that a later child of ours would see is as it was. */
static void test_environment_is_kept(void)
{
    iso_cpu_t *cpu = NULL;
    const char *kept = NULL;

    (void)setenv("BLIS_ARCH_TYPE", "3", 1);
    CU_ASSERT_EQUAL(iso_cpu_create(1, &cpu), ISO_OK);
    kept = getenv("BLIS_ARCH_TYPE");
    CU_ASSERT_TRUE(kept != NULL && strcmp(kept, "3") == 0);
    iso_cpu_destroy(&cpu);
    (void)unsetenv("BLIS_ARCH_TYPE");
    CU_ASSERT_EQUAL(iso_cpu_create(2, &cpu), ISO_OK);
    CU_ASSERT_PTR_NULL(getenv("BLIS_ARCH_TYPE"));
    CU_ASSERT_EQUAL(iso_cpu_threads(cpu), 2);
    iso_cpu_destroy(&cpu);
    iso_cpu_destroy(&cpu);
}

/* The first context decides; another family cannot follow it. */
static void test_second_family_is_refused(void)
{
    iso_cpu_t *cpu = NULL;

    if (!iso_family_supported(ISO_FAMILY_SKX)) {
        return;
    }
    CU_ASSERT_EQUAL(iso_cpu_create(1, &cpu), ISO_OK);
    iso_cpu_destroy(&cpu);
    (void)setenv("ISOTOME_KERNELS", "haswell", 1);
    CU_ASSERT_EQUAL(iso_cpu_create(1, &cpu), ISO_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "skx"));
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "haswell"));
    (void)unsetenv("ISOTOME_KERNELS");
}

static void test_failed_allocations(void)
{
    const iso_mem_count_t before = iso_mem_count();
    iso_cpu_t *cpu = NULL;

    for (int n = 1; n <= 2; n++) {
        iso_mem_fail_at(n);
        CU_ASSERT_EQUAL(iso_cpu_create(1, &cpu), ISO_NOMEM);
        iso_mem_fail_at(0);
    }
    CU_ASSERT_PTR_NULL(cpu);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"every family has its text", test_every_family_has_its_text},
        {"the default is supported", test_default_is_supported},
        {"no FMA", test_no_fma},
        {"other CPUs", test_other_cpus},
        {"bad names", test_bad_names},
        {"the environment chooses", test_environment_chooses},
        {"the environment is kept", test_environment_is_kept},
        {"a second family is refused", test_second_family_is_refused},
        {"failed allocations", test_failed_allocations},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"family", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
