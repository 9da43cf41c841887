/*
 * The options --grid, --stages and --workers, which several commands take:
 * how ranks form stages of workers.
 */
#ifndef ISO_GRID_OPTION_H
#define ISO_GRID_OPTION_H

#include "isotome/plan.h"

enum { ISO_OPT_GRID = 512, ISO_OPT_STAGES, ISO_OPT_WORKERS };

/* For a table of options. */
/* clang-format off */
#define ISO_GRID_OPTIONS \
    {"grid", ISO_OPT_GRID, "W,W,..", 0, \
     "Workers of each stage, in rank order: the first stage holds the last " \
     "layers; or auto: what is predicted to be fastest (default: one each)", \
     0}, \
    {"stages", ISO_OPT_STAGES, "S", 0, \
     "Stages, of as many workers as there are ranks for", 0}, \
    {"workers", ISO_OPT_WORKERS, "W", 0, "Workers of each stage", 0}
/* clang-format on */

/* What was said; freed by iso_grid_option_free in any case. */
typedef struct iso_grid_option {
    const char *grid_text; /* borrowed */
    int *widths;
} iso_grid_option_t;

/* Take one of the three. Errors: ISO_INVAL for what is no number. */
iso_status_t iso_grid_option_set(iso_grid_option_t *option, int key,
                                 const char *value,
                                 iso_plan_options_t *options);

/*
 * After the last one: fill in options->grid, which borrows from option.
 * Errors: ISO_INVAL naming the piece of a text that is no width, and for --grid
 * beside the other two.
 */
iso_status_t iso_grid_option_end(iso_grid_option_t *option,
                                 iso_plan_options_t *options);
void iso_grid_option_free(iso_grid_option_t *option);

/* Was any of them given? */
bool iso_grid_option_given(const iso_grid_option_t *option,
                           const iso_plan_options_t *options);

#endif
