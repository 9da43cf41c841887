#include "tools/grid_option.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "tools/number_option.h"

#include <string.h>

iso_status_t iso_grid_option_set(iso_grid_option_t *option, int key,
                                 const char *value, iso_plan_options_t *options)
{
    switch (key) {
    case ISO_OPT_STAGES:
        return iso_number_option_count(value, "--stages", ISO_MAX_WORLD,
                                       &options->stages);
    case ISO_OPT_WORKERS:
        return iso_number_option_count(value, "--workers", ISO_MAX_WORLD,
                                       &options->workers);
    default:
        option->grid_text = value;
        return ISO_OK;
    }
}

/* One width; blanks around it do not count. */
static iso_status_t read_width(char *text, int *width_out)
{
    text += strspn(text, " ");
    size_t length = strlen(text);

    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    text[length] = '\0';
    return iso_number_option_count(text, "--grid", ISO_MAX_WORLD, width_out);
}

/* list: widths, each of which ends with a zero now. */
static iso_status_t read_widths(char *list, int count, int *widths)
{
    for (int i = 0; i < count; i++) {
        size_t length = strlen(list);

        ISO_TRY(read_width(list, &widths[i]));
        list += length + 1;
    }
    return ISO_OK;
}

static int count_widths(const char *text)
{
    size_t count = 1;

    for (; *text != '\0'; text++) {
        count += *text == ',' ? 1 : 0;
    }
    return count > ISO_MAX_WORLD ? 0 : (int)count;
}

static iso_status_t read_grid(iso_grid_option_t *option, iso_grid_t *grid)
{
    size_t bytes = strlen(option->grid_text) + 1;
    int count = count_widths(option->grid_text);
    char *list = NULL;
    iso_status_t status = ISO_NOMEM;

    if (count == 0) {
        return iso_fail(ISO_INVAL, "--grid: more than %d stages",
                        (int)ISO_MAX_WORLD);
    }
    list = iso_alloc(bytes);
    option->widths = iso_alloc_zeroed((size_t)count, sizeof *option->widths);
    if (list != NULL && option->widths != NULL) {
        memcpy(list, option->grid_text, bytes);
        for (char *at = strchr(list, ','); at != NULL; at = strchr(at, ',')) {
            *at++ = '\0';
        }
        status = read_widths(list, count, option->widths);
        *grid = (iso_grid_t){count, option->widths};
    }
    iso_free(list);
    return status;
}

iso_status_t iso_grid_option_end(iso_grid_option_t *option,
                                 iso_plan_options_t *options)
{
    if (option->grid_text == NULL) {
        return ISO_OK;
    }
    if (options->stages != 0 || options->workers != 0) {
        return iso_fail(ISO_INVAL, "--grid says it all: leave out --stages "
                                   "and --workers");
    }
    options->propose = strcmp(option->grid_text, "auto") == 0;
    return options->propose ? ISO_OK : read_grid(option, &options->grid);
}

void iso_grid_option_free(iso_grid_option_t *option)
{
    iso_free(option->widths);
    option->widths = NULL;
}

bool iso_grid_option_given(const iso_grid_option_t *option,
                           const iso_plan_options_t *options)
{
    return option->grid_text != NULL || options->stages != 0 ||
           options->workers != 0;
}
