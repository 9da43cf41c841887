#include "tools/plan_arguments.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "plan/plan_segments.h"
#include "plan/seating.h"
#include "tools/number_option.h"

#include <stdio.h>

static iso_status_t set_number(iso_plan_arguments_t *arguments, int key,
                               const char *value)
{
    switch (key) {
    case 'n':
        return iso_number_option_count(value, "--ranks", ISO_MAX_WORLD,
                                       &arguments->options.world);
    case 'b':
        return iso_text_parse_int(value, "--micro-batch", 1, INT32_MAX,
                                  &arguments->options.micro_batch);
    case 's':
        return iso_text_parse_int(value, "--samples", 1, INT64_MAX,
                                  &arguments->options.samples);
    default:
        return iso_text_parse_int(value, "--ranks-per-host", 1, ISO_MAX_WORLD,
                                  &arguments->ranks_per_host);
    }
}

iso_status_t iso_plan_arguments_set(iso_plan_arguments_t *arguments, int key,
                                    const char *value)
{
    switch (key) {
    case ISO_OPT_SPLIT:
        arguments->split_text = value;
        return ISO_OK;
    case ISO_OPT_MACHINE:
        arguments->machine_path = value;
        return ISO_OK;
    case ISO_OPT_DEVICE:
        arguments->rule = value;
        return ISO_OK;
    case ISO_OPT_STRICT:
        arguments->options.strict = true;
        return ISO_OK;
    case ISO_OPT_GRID:
    case ISO_OPT_STAGES:
    case ISO_OPT_WORKERS:
        return iso_grid_option_set(&arguments->grid, key, value,
                                   &arguments->options);
    default:
        return set_number(arguments, key, value);
    }
}

iso_status_t iso_plan_arguments_end(iso_plan_arguments_t *arguments)
{
    if (arguments->options.world == 0) {
        return iso_fail(ISO_INVAL, "no number of ranks; give -n RANKS");
    }
    if (arguments->machine_path != NULL && arguments->ranks_per_host != 0) {
        return iso_fail(ISO_INVAL, "--machine says where ranks are: leave out "
                                   "--ranks-per-host");
    }
    if (arguments->rule != NULL) { /* before anything is printed */
        iso_device_map_t *map = NULL;

        ISO_TRY(iso_device_map_create(arguments->rule, &map));
        iso_device_map_destroy(&map);
    }
    ISO_TRY(iso_grid_option_end(&arguments->grid, &arguments->options));
    return iso_split_option(arguments->split_text, &arguments->options,
                            &arguments->split);
}

void iso_plan_arguments_free(iso_plan_arguments_t *arguments)
{
    iso_layer_split_free(&arguments->split);
    iso_grid_option_free(&arguments->grid);
}

/* Seat the ranks of a plan for *machine, and plan again for those seats. */
static iso_status_t seat(const iso_plan_arguments_t *arguments,
                         const iso_graph_t *graph, iso_machine_t **machine,
                         iso_plan_t **plan)
{
    const int n_stages = iso_plan_stage_count(*plan);
    iso_plan_options_t options = arguments->options;
    iso_machine_t *seated = NULL;
    int *widths = iso_alloc_zeroed((size_t)n_stages, sizeof *widths);
    iso_status_t status;

    if (widths == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < n_stages; i++) {
        widths[i] = iso_plan_width(*plan, n_stages - 1 - i);
    }
    options.grid = (iso_grid_t){n_stages, widths};
    options.stages = 0;
    options.workers = 0;
    options.propose = false;
    status = iso_seating_create(*machine, &options.grid, &seated);
    if (status == ISO_OK) {
        iso_machine_destroy(machine);
        *machine = seated;
        iso_plan_destroy(plan);
        status = iso_plan_create(graph, seated, &options, plan);
    }
    iso_free(widths);
    return status;
}

iso_status_t iso_plan_arguments_plan(const iso_plan_arguments_t *arguments,
                                     const iso_graph_t *graph,
                                     iso_machine_t **machine_out,
                                     iso_plan_t **plan_out)
{
    iso_machine_t *machine = NULL;
    iso_status_t status;

    if (arguments->machine_path != NULL) {
        status = iso_machine_read(arguments->machine_path, &machine);
    } else {
        status =
            iso_machine_default(arguments->options.world,
                                (int)arguments->ranks_per_host, 0, &machine);
    }
    if (status == ISO_OK) {
        status = iso_plan_create(graph, machine, &arguments->options, plan_out);
    }
    if (status == ISO_OK && arguments->seated &&
        arguments->machine_path != NULL) {
        status = seat(arguments, graph, &machine, plan_out);
    }
    if (machine_out != NULL && status == ISO_OK) {
        *machine_out = machine;
    } else {
        iso_machine_destroy(&machine);
    }
    return status;
}

iso_status_t
iso_plan_arguments_print_segments(const iso_plan_arguments_t *arguments,
                                  const iso_plan_t *plan,
                                  const iso_machine_t *machine, bool names)
{
    iso_device_map_t *map = NULL;
    char *text = NULL;
    iso_status_t status;

    if (arguments->rule == NULL) {
        return ISO_OK;
    }
    ISO_TRY(iso_device_map_create(arguments->rule, &map));
    status = iso_plan_segments_text(plan, map, machine, names, &text);
    if (status == ISO_OK) {
        (void)fputs(text, stdout);
    }
    iso_free(text);
    iso_device_map_destroy(&map);
    return status;
}

int64_t iso_plan_arguments_samples(const iso_plan_arguments_t *arguments)
{
    return arguments->options.samples > 0 ? arguments->options.samples
                                          : ISO_PLAN_JOB_SAMPLES;
}

/* No other grid may be possible, or fit: then there is nothing to propose. */
static iso_status_t try_to_propose(const iso_plan_arguments_t *arguments,
                                   const iso_graph_t *graph,
                                   iso_plan_t **proposal_out)
{
    iso_plan_arguments_t proposed = *arguments;

    proposed.options.propose = true;
    iso_status_t status =
        iso_plan_arguments_plan(&proposed, graph, NULL, proposal_out);

    if (status == ISO_INVAL) {
        iso_error_clear();
        return ISO_OK;
    }
    return status;
}

iso_status_t iso_plan_arguments_propose(const iso_plan_arguments_t *arguments,
                                        const iso_graph_t *graph,
                                        const iso_plan_t *plan,
                                        iso_plan_t **proposal_out)
{
    const iso_plan_options_t *options = &arguments->options;
    int64_t samples = iso_plan_arguments_samples(arguments);

    *proposal_out = NULL;
    if (arguments->split_text != NULL || options->world == 1 ||
        options->world > ISO_PROPOSE_MOST ||
        iso_grid_option_given(&arguments->grid, options)) {
        return ISO_OK;
    }
    ISO_TRY(try_to_propose(arguments, graph, proposal_out));
    if (*proposal_out != NULL && iso_plan_seconds(*proposal_out, samples) >
                                     0.9 * iso_plan_seconds(plan, samples)) {
        iso_plan_destroy(proposal_out);
    }
    return ISO_OK;
}
