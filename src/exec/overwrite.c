#include "exec/overwrite.h"

#include "isotome/error.h"

#include "io/draft.h"
#include "io/place.h"

#include <stdbool.h>
#include <sys/stat.h>

static bool is_same_file(const char *a, const char *b)
{
    struct stat info_a;
    struct stat info_b;

    return stat(a, &info_a) == 0 && stat(b, &info_b) == 0 &&
           info_a.st_dev == info_b.st_dev && info_a.st_ino == info_b.st_ino;
}

/* source may be NULL. */
static iso_status_t check_pair(const char *target, const char *source,
                               const char *what)
{
    if (source == NULL || !is_same_file(target, source)) {
        return ISO_OK;
    }
    return iso_fail(ISO_INVAL,
                    "'%s' is %s of this job and would be replaced; write to "
                    "another file",
                    target, what);
}

static iso_status_t check_target(const iso_run_options_t *options,
                                 const char *target)
{
    iso_status_t status = check_pair(target, options->model, "the model");

    if (status == ISO_OK) {
        status = check_pair(target, options->plan_path, "the plan");
    }
    if (status == ISO_OK) {
        status = check_pair(target, options->machine_path, "the machine file");
    }
    for (int i = 0; status == ISO_OK && i < options->n_inputs; i++) {
        iso_place_t place;

        status = iso_place_parse(options->inputs[i], &place);
        if (status == ISO_OK) {
            status = check_pair(target, place.path, "an input");
            iso_place_free(&place);
        }
    }
    return status;
}

/* other may be NULL. */
static iso_status_t check_apart(const char *path, const char *other,
                                const char *what)
{
    if (other == NULL || !iso_draft_same_name(path, other)) {
        return ISO_OK;
    }
    return iso_fail(ISO_INVAL,
                    "'%s' is named for an output and for %s; give each a file "
                    "of its own",
                    path, what);
}

static iso_status_t check_output(const iso_run_options_t *options,
                                 const char *path)
{
    ISO_TRY(check_apart(path, options->report_path, "the report"));
    ISO_TRY(check_apart(path, options->status_path, "the status"));
    return check_target(options, path);
}

iso_status_t iso_overwrite_check(const iso_run_options_t *options)
{
    iso_status_t status = ISO_OK;

    if (options->report_path != NULL) {
        status = check_target(options, options->report_path);
    }
    if (status == ISO_OK && options->status_path != NULL) {
        status = check_target(options, options->status_path);
    }
    for (int i = 0; status == ISO_OK && i < options->n_outputs; i++) {
        iso_place_t place;

        status = iso_place_parse(options->outputs[i], &place);
        if (status == ISO_OK) {
            status = check_output(options, place.path);
            iso_place_free(&place);
        }
    }
    return status;
}
