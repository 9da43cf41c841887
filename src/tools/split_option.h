/*
 * The option --split, which several commands take: "10,18", "even",
 * "memory" or "balanced"; and --strict, for more ranks than there are layers to
 * split.
 */
#ifndef ISO_SPLIT_OPTION_H
#define ISO_SPLIT_OPTION_H

#include "isotome/plan.h"

enum { ISO_OPT_SPLIT = 768, ISO_OPT_STRICT };

/* For a table of options. */
/* clang-format off */
#define ISO_SPLIT_OPTION \
    {"split", ISO_OPT_SPLIT, "SPLIT", 0, \
     "Layers of each stage: a,b,.. (rank 0 holds the last), even, memory or " \
     "balanced (default)", \
     0}
#define ISO_STRICT_OPTION \
    {"strict", ISO_OPT_STRICT, NULL, 0, \
     "Refuse more ranks than layers instead of leaving some idle", 0}
/* clang-format on */

/*
 * Fill in options->split_kind and, for counts, options->split.
 *
 * text   [in]   NULL: balanced
 * split  [out]  counts that options borrows; iso_layer_split_free() it in
 *               any case
 * Errors: ISO_INVAL for what is none of these.
 */
iso_status_t iso_split_option(const char *text, iso_plan_options_t *options,
                              iso_layer_split_t *split);

#endif
