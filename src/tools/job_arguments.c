#include "tools/job_arguments.h"

#include "isotome/error.h"

#include "base/text.h"
#include "tools/number_option.h"

iso_status_t iso_job_arguments_set(iso_job_arguments_t *arguments, int key,
                                   const char *value)
{
    iso_run_options_t *run = &arguments->run;

    switch (key) {
    case 'b':
        arguments->has_size = true;
        return iso_text_parse_int(value, "--micro-batch", 1, INT32_MAX,
                                  &run->plan.micro_batch);
    case ISO_OPT_SPLIT:
        arguments->split_text = value;
        return ISO_OK;
    case ISO_OPT_STRICT:
        run->plan.strict = true;
        return ISO_OK;
    case ISO_JOB_OPT_PLAN:
        run->plan_path = value;
        return ISO_OK;
    case ISO_JOB_OPT_MACHINE:
        run->machine_path = value;
        return ISO_OK;
    case ISO_JOB_OPT_DEVICE:
        run->device = value;
        return ISO_OK;
    case ISO_JOB_OPT_THREADS:
        return iso_number_option_threads(value, &run->threads);
    default:
        return iso_grid_option_set(&arguments->grid, key, value, &run->plan);
    }
}

iso_status_t iso_job_arguments_check(const iso_job_arguments_t *arguments,
                                     const char *decider)
{
    const iso_run_options_t *run = &arguments->run;
    const bool is_shaped = arguments->has_size ||
                           arguments->split_text != NULL || run->plan.strict ||
                           iso_grid_option_given(&arguments->grid, &run->plan);

    if (decider == NULL && run->plan_path != NULL) {
        decider = "--plan";
    }
    if (decider == NULL || !is_shaped) {
        return ISO_OK;
    }
    return iso_fail(ISO_INVAL,
                    "%s decides grid, split and micro-batch: leave out --grid, "
                    "--stages, --workers, --split%s",
                    decider,
                    arguments->takes_strict ? ", --micro-batch and --strict"
                                            : " and --micro-batch");
}

iso_status_t iso_job_arguments_end(iso_job_arguments_t *arguments)
{
    iso_run_options_t *run = &arguments->run;

    run->device = run->device != NULL ? run->device : "cpu";
    run->threads = run->threads != 0 ? run->threads : 1;
    ISO_TRY(iso_grid_option_end(&arguments->grid, &run->plan));
    return iso_split_option(arguments->split_text, &run->plan,
                            &arguments->split);
}

void iso_job_arguments_free(iso_job_arguments_t *arguments)
{
    iso_layer_split_free(&arguments->split);
    iso_grid_option_free(&arguments->grid);
}
