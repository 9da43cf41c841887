/*
 * The option --split, which several commands take: "10,18", "even",
 * "memory" or "balanced".
 */
#ifndef ISO_SPLIT_OPTION_H
#define ISO_SPLIT_OPTION_H

#include "isotome/plan.h"

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
