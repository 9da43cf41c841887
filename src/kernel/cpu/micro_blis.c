#include "isotome/error.h"

#include "base/mem.h"
#include "kernel/cpu/micro.h"

#include <blis.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* BLIS has one family in a process, so these are set once. */
static sgemm_ukr_ft blis_kernel;
static cntx_t *blis_context;
static bool blis_is_wide_first; /* the wide panel is BLIS's A */

static const struct blis_arch {
    const char *text;
    arch_t id;
} archs[] = {
    {"haswell", BLIS_ARCH_HASWELL}, {"zen", BLIS_ARCH_ZEN},
    {"zen2", BLIS_ARCH_ZEN2},       {"zen3", BLIS_ARCH_ZEN3},
    {"skx", BLIS_ARCH_SKX},
};

static const struct blis_arch *arch_of(iso_family_t family)
{
    const char *text = iso_family_string(family);

    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        if (strcmp(archs[i].text, text) == 0) {
            return &archs[i];
        }
    }
    return NULL;
}

static const char *arch_text(arch_t id)
{
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        if (archs[i].id == id) {
            return archs[i].text;
        }
    }
    return "another";
}

/* Not set for good: a program that this one starts may want its own. */
static iso_status_t start_blis(arch_t id)
{
    static const char name[] = "BLIS_ARCH_TYPE";
    const char *set = getenv(name);
    char *kept = set != NULL ? iso_text_copy(set) : NULL;
    char number[16];

    if (set != NULL && kept == NULL) {
        return ISO_NOMEM;
    }
    (void)snprintf(number, sizeof number, "%d", (int)id);
    (void)setenv(name, number, 1);
    blis_context = bli_gks_query_nat_cntx();
    if (kept != NULL) {
        (void)setenv(name, kept, 1);
    } else {
        (void)unsetenv(name);
    }
    iso_free(kept);
    if (bli_arch_query_id() != id) {
        return iso_fail(ISO_INVAL,
                        "BLIS runs the kernel family '%s' already, found when "
                        "'%s' was asked for: set ISOTOME_KERNELS to the former "
                        "or to 'scalar'",
                        arch_text(bli_arch_query_id()), arch_text(id));
    }
    return ISO_OK;
}

void iso__micro_blis_call(const iso_micro_t *micro, int64_t k,
                          const float *narrow, const float *wide, float *tile)
{
    /* BLIS takes pointers to what it only reads. */
    float one = 1.0F;
    float zero = 0.0F;
    float *n = (float *)narrow;
    float *w = (float *)wide;
    auxinfo_t next = {.a_next = n, .b_next = w};

    if (blis_is_wide_first) {
        blis_kernel(micro->wide, micro->narrow, k, &one, w, n, &zero, tile, 1,
                    micro->wide, &next, blis_context);
    } else {
        blis_kernel(micro->narrow, micro->wide, k, &one, n, w, &zero, tile,
                    micro->wide, 1, &next, blis_context);
    }
}

/* A number in [-1, 1) with a full mantissa, the same in every run. */
static float sample(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return (float)(*state >> 8) * 0x1p-23F - 1.0F;
}

/* Is every element of a tile the chain of arith.h? */
static bool is_chain(const iso_micro_t *micro, const float *narrow,
                     const float *wide, const float *tile)
{
    for (int64_t i = 0; i < micro->narrow * micro->wide; i++) {
        float chain = 0.0F;

        for (int64_t k = 0; k < ISO_BLOCK_MOST; k++) {
            chain = fmaf(narrow[k * micro->narrow + i / micro->wide],
                         wide[k * micro->wide + i % micro->wide], chain);
        }
        /* The samples make neither zeros nor NaN. */
        if (chain != tile[i]) {
            return false;
        }
    }
    return true;
}

static iso_status_t check_bits(iso_family_t family, const iso_micro_t *micro)
{
    const int64_t panels = (micro->narrow + micro->wide) * ISO_BLOCK_MOST;
    /* The kernel may read a little past a panel. */
    const size_t slack = 256;
    float *narrow = iso_alloc_zeroed((size_t)panels + slack, sizeof *narrow);
    float *tile = iso_alloc_zeroed(ISO_TILE_MOST, sizeof *tile);
    uint32_t state = 1;
    iso_status_t status = ISO_NOMEM;

    if (narrow != NULL && tile != NULL) {
        const float *wide = narrow + micro->narrow * ISO_BLOCK_MOST;

        for (int64_t i = 0; i < panels; i++) {
            narrow[i] = sample(&state);
        }
        iso__micro_blis_call(micro, ISO_BLOCK_MOST, narrow, wide, tile);
        status = ISO_OK;
        if (!is_chain(micro, narrow, wide, tile)) {
            status = iso_fail(ISO_INTERNAL,
                              "BLIS's kernels for '%s' do not multiply in "
                              "the order of the arithmetic; set "
                              "ISOTOME_KERNELS=scalar",
                              iso_family_string(family));
        }
    }
    iso_free(tile);
    iso_free(narrow);
    return status;
}

iso_status_t iso__micro_blis(iso_family_t family, iso_micro_t *micro_out)
{
    const struct blis_arch *arch = arch_of(family);
    void_fp kernel;

    if (arch == NULL) {
        return iso_fail(ISO_INTERNAL, "no BLIS kernels for family '%s'",
                        iso_family_string(family));
    }
    ISO_TRY(start_blis(arch->id));
    kernel =
        bli_cntx_get_l3_nat_ukr_dt(BLIS_FLOAT, BLIS_GEMM_UKR, blis_context);
    memcpy(&blis_kernel, &kernel, sizeof blis_kernel);
    blis_is_wide_first = !bli_cntx_get_l3_nat_ukr_prefs_dt(
        BLIS_FLOAT, BLIS_GEMM_UKR, blis_context);

    const int64_t mr =
        bli_cntx_get_blksz_def_dt(BLIS_FLOAT, BLIS_MR, blis_context);
    const int64_t nr =
        bli_cntx_get_blksz_def_dt(BLIS_FLOAT, BLIS_NR, blis_context);

    *micro_out = (iso_micro_t){
        .narrow = blis_is_wide_first ? nr : mr,
        .wide = blis_is_wide_first ? mr : nr,
    };
    if (micro_out->narrow > ISO_NARROW_MOST ||
        micro_out->wide > ISO_WIDE_MOST ||
        micro_out->narrow * micro_out->wide > ISO_TILE_MOST) {
        return iso_fail(ISO_INTERNAL,
                        "BLIS's tile of %lld x %lld is larger than expected; "
                        "set ISOTOME_KERNELS=scalar",
                        (long long)mr, (long long)nr);
    }
    return check_bits(family, micro_out);
}
