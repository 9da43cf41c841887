#include "exec/job_plan.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/job_machine.h"
#include "kernel/arith.h"
#include "par/fields.h"
#include "par/par.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* This rank's plan; a machine file takes the place of this job's figures. Not
 * collective. */
static iso_status_t plan_alone(const iso_run_options_t *options, int size,
                               iso_job_plan_t *job)
{
    const iso_graph_t *graph = iso_model_graph(job->model);
    iso_plan_options_t wanted = options->plan;

    if (options->machine_path != NULL) {
        iso_machine_destroy(&job->machine);
        ISO_TRY(iso_machine_read(options->machine_path, &job->machine));
        if (iso_machine_world(job->machine) != size) {
            return iso_fail(ISO_INVAL,
                            "machine file '%s' describes %d ranks, this job "
                            "has %d",
                            options->machine_path,
                            iso_machine_world(job->machine), size);
        }
    }
    if (options->plan_path == NULL) {
        wanted.world = size;
        return iso_plan_create(graph, job->machine, &wanted, &job->plan);
    }
    ISO_TRY(iso_plan_read(options->plan_path, graph, &job->plan));
    if (iso_plan_world(job->plan) != size) {
        return iso_fail(ISO_INVAL,
                        "plan '%s' is for %d ranks, this job has %d: start "
                        "it with that many or make another plan",
                        options->plan_path, iso_plan_world(job->plan), size);
    }
    return ISO_OK;
}

/* What plans may differ in; digests differ in any case, and come first: a
 * text that is too long is cut. */
static void add_plan_text(const iso_plan_t *plan, const char *split,
                          iso_text_t *text)
{
    int n_stages = iso_plan_stage_count(plan);

    iso_text_add(text, "digest %016" PRIx64 ", micro-batch %" PRId64 ", grid ",
                 iso_plan_digest(plan), iso_plan_micro_batch(plan));
    for (int group = 0; group < n_stages; group++) {
        iso_text_add(text, "%s%d", group == 0 ? "" : ",",
                     iso_plan_width(plan, n_stages - 1 - group));
    }
    iso_text_add(text, ", split %s", split);
}

enum { N_FIELDS = 7 };

/* reason  [in]  why there is no plan, when there is none */
static iso_status_t compare(const iso_run_options_t *options,
                            const iso_job_plan_t *job, const char *reason,
                            MPI_Comm comm)
{
    char arithmetic[16];
    char none[ISO_FIELD_TEXT_BYTES];
    char plan_text[ISO_FIELD_TEXT_BYTES];
    char *split = NULL;
    iso_text_t text = {0};
    uint64_t plan_digest = 0;
    uint64_t split_digest = 0;

    (void)snprintf(arithmetic, sizeof arithmetic, "%d", ISO_ARITHMETIC_VERSION);
    (void)snprintf(none, sizeof none, "none: %.*s",
                   (int)(sizeof none - sizeof "none: "), reason);
    if (job->plan != NULL) {
        split = iso_layer_split_text(iso_plan_split(job->plan));
        split_digest = iso_layer_split_digest(iso_plan_split(job->plan));
        plan_digest = iso_plan_digest(job->plan);
        add_plan_text(job->plan, split != NULL ? split : "?", &text);
        (void)snprintf(plan_text, sizeof plan_text, "%s",
                       text.status == ISO_OK ? text.data : "?");
        iso_text_free(&text);
    }
    const iso_field_t fields[N_FIELDS] = {
        {"the program's build", iso_digest_of(ISO_BUILD, sizeof ISO_BUILD),
         ISO_BUILD},
        {"the arithmetic's version", ISO_ARITHMETIC_VERSION, arithmetic},
        {"the model's graph", iso_graph_digest(iso_model_graph(job->model)),
         iso_model_path(job->model)},
        {"the model's weights", iso_model_root_digest(job->model),
         iso_model_path(job->model)},
        {"the layer split", split_digest, split != NULL ? split : none},
        {"the plan", plan_digest, job->plan != NULL ? plan_text : none},
        {"--verify-transfers", options->verify_transfers ? 1 : 0,
         options->verify_transfers ? "yes" : "no"},
    };
    iso_status_t status = iso_fields_agree(fields, N_FIELDS, comm);

    iso_free(split);
    return status;
}

/*
 * Fields are compared before a failure to plan is made common: a rank that
 * was told another split or model may well be unable to plan, and the reason
 * to show is that it was told otherwise.
 */
iso_status_t iso_job_plan_agree(const iso_run_options_t *options, MPI_Comm comm,
                                iso_job_plan_t *job)
{
    char text[ISO_ERROR_TEXT_BYTES] = "";
    iso_status_t planned =
        iso_par_agree(iso_model_open(options->model, &job->model), comm);

    if (planned != ISO_OK) {
        return planned;
    }
    /* Also with a machine file: not every rank may have been given one. */
    ISO_TRY(iso_job_machine(comm, &job->machine));
    planned = plan_alone(options, iso_par_size(comm), job);
    /* A lack of memory is no matter of what a rank was told. */
    ISO_TRY(iso_par_agree(planned == ISO_NOMEM ? planned : ISO_OK, comm));
    if (planned != ISO_OK) {
        (void)snprintf(text, sizeof text, "%s", iso_error_text());
    }
    ISO_TRY(compare(options, job, text, comm));
    if (planned != ISO_OK) {
        (void)iso_fail(planned, "%s", text);
    }
    return iso_par_agree(planned, comm);
}

void iso_job_plan_free(iso_job_plan_t *job)
{
    iso_plan_destroy(&job->plan);
    iso_machine_destroy(&job->machine);
    iso_model_close(&job->model);
}
