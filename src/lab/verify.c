#include "isotome/error.h"
#include "isotome/run.h"

#include "base/digest.h"
#include "base/mem.h"
#include "exec/feed.h"
#include "lab/verify_impl.h"
#include "par/fields.h"
#include "par/par.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* -- one run -- */

static iso_run_options_t base_options(const iso__verify_t *verify)
{
    const iso_verify_options_t *options = verify->options;
    iso_run_options_t run = {
        .model = options->model,
        .n_inputs = options->n_inputs,
        .inputs = options->inputs,
        .n_outputs = verify->n_outputs,
        .device = options->device,
        .threads = 1,
        .force = true,
    };

    if (options->n_inputs == 0) {
        run.n_inputs = verify->n_inputs;
        run.inputs = (const char *const *)verify->inputs;
    }
    return run;
}

/* The whole model on this rank alone, remembered. */
static iso_status_t run_whole(iso__verify_t *verify, int64_t micro_batch,
                              char **outputs)
{
    iso_run_options_t run = base_options(verify);

    run.outputs = (const char *const *)outputs;
    run.plan.micro_batch = micro_batch;
    return iso_run_watched(&run, MPI_COMM_SELF, NULL,
                           iso_witness_record(verify->witness));
}

/* The outputs must not depend on the micro-batch either. */
static iso_status_t compare_outputs(iso__verify_t *verify, char **places,
                                    const char *who)
{
    bool same = true;

    for (int i = 0; verify->result->equal && i < verify->n_outputs; i++) {
        ISO_TRY(iso__verify_same_files(verify->firsts[i], places[i], &same));
        verify->result->outputs++;
        if (!same) {
            verify->result->equal = false;
            (void)snprintf(
                verify->result->text, sizeof verify->result->text,
                "%s: output number %d differs from the whole run's, although "
                "no value on the way to it does: rows were lost, doubled or "
                "put in another order",
                who, i);
        }
    }
    return ISO_OK;
}

/* A difference that one rank has found is everyone's: the lowest one's.
 * Collective. */
static void share_result(iso__verify_t *verify)
{
    iso_verify_result_t *result = verify->result;
    int size = iso_par_size(verify->comm);
    int first = result->equal ? size : iso_par_rank(verify->comm);

    ISO_CHECK_MPI(
        MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, verify->comm));
    ISO_CHECK_MPI(MPI_Bcast(result, (int)sizeof *result, MPI_BYTE,
                            first < size ? first : 0, verify->comm));
}

/* Every rank by itself. */
static iso_status_t know_whole(iso__verify_t *verify, int64_t micro_batch)
{
    bool first = !iso_witness_knows(verify->witness, verify->most);

    if (iso_witness_knows(verify->witness, micro_batch)) {
        return ISO_OK;
    }
    if (first) {
        ISO_TRY(run_whole(verify, verify->most, verify->firsts));
        iso_witness_learned(verify->witness, verify->most);
    }
    if (micro_batch != verify->most) {
        char who[64];

        (void)snprintf(who, sizeof who, "rank %d, whole, micro-batch %" PRId64,
                       iso_par_rank(verify->comm), micro_batch);
        ISO_TRY(run_whole(verify, micro_batch, verify->wholes));
        iso_witness_learned(verify->witness, micro_batch);
        ISO_TRY(compare_outputs(verify, verify->wholes, who));
    }
    return ISO_OK;
}

/* Collective over the ranks of the trial. */
static iso_status_t run_cut(iso__verify_t *verify, const iso__trial_t *trial,
                            MPI_Comm comm)
{
    iso_run_options_t run = base_options(verify);

    run.outputs = (const char *const *)verify->outputs;
    run.threads = trial->threads;
    run.plan = trial->plan;
    run.plan_path = verify->options->plan_path;
    run.machine_path = verify->options->machine_path;
    return iso_run_watched(&run, comm, NULL,
                           iso_witness_compare(verify->witness));
}

/* -- the result of a trial -- */

/* The difference that comes first of all ranks'. Collective. */
static void find_first(const iso__verify_t *verify, iso_difference_t *first_out,
                       int *rank_out)
{
    int size = iso_par_size(verify->comm);
    iso_difference_t mine = *iso_witness_difference(verify->witness);

    *first_out = (iso_difference_t){0};
    *rank_out = 0;
    for (int rank = 0; rank < size; rank++) {
        iso_difference_t one = mine;

        ISO_CHECK_MPI(
            MPI_Bcast(&one, (int)sizeof one, MPI_BYTE, rank, verify->comm));
        if (iso_difference_before(&one, first_out)) {
            *first_out = one;
            *rank_out = rank;
        }
    }
}

/* Collective. */
static iso_status_t judge(iso__verify_t *verify, const iso__trial_t *trial,
                          int64_t *pieces_out)
{
    iso_verify_result_t *result = verify->result;
    iso_difference_t first;
    iso_text_t who = {0};
    iso_status_t status = ISO_OK;
    int rank = 0;

    *pieces_out = iso_witness_compared(verify->witness);
    ISO_CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, pieces_out, 1, MPI_INT64_T,
                                MPI_SUM, verify->comm));
    result->pieces += *pieces_out;
    find_first(verify, &first, &rank);
    iso__trial_add_text(verify, trial, &who);
    if (who.status == ISO_OK && first.found) {
        result->equal = false;
        (void)snprintf(result->text, sizeof result->text, "%s: on rank %d, %s",
                       who.data, rank, first.text);
    } else if (who.status == ISO_OK && iso_par_rank(verify->comm) == 0) {
        status = compare_outputs(verify, verify->outputs, who.data);
    }
    status = status == ISO_OK ? who.status : status;
    iso_text_free(&who);
    share_result(verify);
    return iso_par_agree(status, verify->comm);
}

static void print_trial(const iso__verify_t *verify, const iso__trial_t *trial,
                        int64_t pieces)
{
    iso_text_t text = {0};

    if (verify->lines == NULL || verify->options->quiet) {
        return;
    }
    iso__trial_add_text(verify, trial, &text);
    if (text.status == ISO_OK) {
        (void)fprintf(verify->lines, "plan %d: %s: %" PRId64 " pieces %s\n",
                      verify->result->plans, text.data, pieces,
                      verify->result->equal ? "equal" : "compared, not equal");
    }
    iso_text_free(&text);
}

/* -- trials -- */

/* Collective. */
static iso_status_t try_plan(iso__verify_t *verify, const iso__trial_t *trial)
{
    int rank = iso_par_rank(verify->comm);
    MPI_Comm some = MPI_COMM_NULL;
    iso_status_t status =
        know_whole(verify, trial->plan.micro_batch > 0 ? trial->plan.micro_batch
                                                       : verify->most);
    int64_t pieces = 0;

    ISO_TRY(iso_par_agree(status, verify->comm));
    share_result(verify);
    if (!verify->result->equal) {
        return ISO_OK; /* there is no whole value to compare with */
    }
    ISO_CHECK_MPI(MPI_Comm_split(
        verify->comm, rank < trial->ranks ? 0 : MPI_UNDEFINED, rank, &some));
    iso_witness_forget(verify->witness);
    if (some != MPI_COMM_NULL) {
        status = run_cut(verify, trial, some);
        ISO_CHECK_MPI(MPI_Comm_free(&some));
    }
    ISO_TRY(iso_par_agree(status, verify->comm));
    verify->result->plans++;
    ISO_TRY(judge(verify, trial, &pieces));
    print_trial(verify, trial, pieces);
    return ISO_OK;
}

/* Collective. */
static iso_status_t try_plans(iso__verify_t *verify)
{
    iso_status_t status = ISO_OK;
    iso__trial_t trial;

    if (verify->options->random == 0) {
        iso__trial_take(verify, &trial);
        return try_plan(verify, &trial);
    }
    for (int i = 0; i < verify->options->random && verify->result->equal &&
                    status == ISO_OK;
         i++) {
        status = iso_par_agree(iso__trial_draw(verify, &trial), verify->comm);
        if (status == ISO_OK) {
            status = try_plan(verify, &trial);
        }
        iso__trial_free(&trial);
    }
    return status;
}

/* -- all of it -- */

/* The micro-batches to draw from: all samples, half of them, one. */
static void choose_sizes(iso__verify_t *verify)
{
    verify->sizes[0] = verify->most;
    verify->sizes[1] = (verify->most + 1) / 2;
    verify->sizes[2] = 1;
}

/* A plan that is read, or that the planner makes, has a micro-batch of its
 * own, which the whole run must have too. */
static iso_status_t fix_batch(iso__verify_t *verify, iso_verify_options_t *own)
{
    iso_plan_t *plan = NULL;

    if (own->plan_path != NULL) {
        ISO_TRY(iso_plan_read(own->plan_path, iso_model_graph(verify->model),
                              &plan));
        own->plan.micro_batch = iso_plan_micro_batch(plan);
        iso_plan_destroy(&plan);
    }
    if (own->plan.micro_batch == 0 || own->plan.micro_batch > verify->samples) {
        own->plan.micro_batch = verify->most;
    }
    return ISO_OK;
}

/* Of the files that were given, or those asked for; one when nothing in the
 * model follows the batch. */
static iso_status_t count_samples(iso__verify_t *verify)
{
    const iso_graph_t *graph = iso_model_graph(verify->model);
    const iso_verify_options_t *options = verify->options;
    const char **names = NULL;
    iso_feed_t *feed = NULL;
    int count = 0;

    ISO_TRY(iso_graph_free_dims(graph, &names, &count));
    const char *batch = count > 0 ? names[0] : NULL;
    iso_status_t status = ISO_OK;

    if (options->n_inputs > 0) {
        status = iso_feed_open(graph, batch, options->inputs, options->n_inputs,
                               &feed);
        if (status == ISO_OK) {
            status = iso_feed_samples(feed, &verify->samples);
        }
        iso_feed_close(&feed);
    } else if (batch == NULL) {
        verify->samples = 1;
    }
    verify->most = batch == NULL ? 1 : verify->samples;
    iso_free(names);
    if (status == ISO_OK && verify->samples < 1) {
        status = iso_fail(ISO_INVAL, "no samples to verify the model with");
    }
    return status;
}

static iso_status_t start(iso__verify_t *verify, iso_verify_options_t *own)
{
    ISO_TRY(iso_model_open(own->model, &verify->model));
    ISO_TRY(count_samples(verify));
    ISO_TRY(iso_witness_create(&verify->witness));
    choose_sizes(verify);
    return fix_batch(verify, own);
}

static void end(iso__verify_t *verify)
{
    iso__verify_remove_files(verify);
    iso_witness_destroy(&verify->witness);
    iso_model_close(&verify->model);
}

/* What decides how many runs there are, and of what: ranks that were told
 * otherwise would wait for each other. Collective. */
static iso_status_t agree_on_runs(const iso__verify_t *verify)
{
    const iso_verify_options_t *options = verify->options;
    char text[ISO_FIELD_TEXT_BYTES];

    (void)snprintf(text, sizeof text,
                   "%d random plans, seed %" PRIu64 ", %" PRId64
                   " samples, %d input files",
                   options->random, options->seed, verify->samples,
                   options->n_inputs);
    const iso_field_t field = {"what to verify",
                               iso_digest_of(text, strlen(text)), text};

    return iso_fields_agree(&field, 1, verify->comm);
}

iso_status_t iso_verify(const iso_verify_options_t *options, MPI_Comm comm,
                        FILE *lines, iso_verify_result_t *result_out)
{
    iso_verify_options_t own = *options;
    iso__verify_t verify = {
        .options = &own,
        .comm = comm,
        .lines = iso_par_rank(comm) == 0 ? lines : NULL,
        .result = result_out,
        .random = {.state = options->seed},
        .samples = options->samples,
    };

    memset(result_out, 0, sizeof *result_out);
    result_out->equal = true;
    iso_status_t status = iso_par_agree(start(&verify, &own), comm);

    if (status == ISO_OK) {
        status = agree_on_runs(&verify);
    }
    if (status == ISO_OK) {
        status = iso__verify_make_files(&verify);
    }
    if (status == ISO_OK) {
        status = try_plans(&verify);
    }
    end(&verify);
    return status;
}
