#include "isotome/equiv.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "base/text.h"
#include "kernel/family.h"
#include "lab/equiv_impl.h"
#include "par/fields.h"
#include "par/par.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What a rank found for a line, as it is sent. */
typedef struct finding {
    iso_equiv_difference_t difference;
    uint64_t digest;
} finding_t;

/* What one rank holds of the experiment. */
typedef struct experiment {
    iso_equiv_table_t *table;
    MPI_Comm comm;
    int rank;
    int size;
    iso_device_t *devices[ISO_EQUIV_MOST_THREADS];
    finding_t *mine; /* (n_lines) */
    finding_t *all;  /* (size, n_lines) */
    int *families;   /* (size) */
} experiment_t;

/* -- the ranks -- */

static iso_status_t options_text(const iso_equiv_options_t *options,
                                 iso_text_t *text)
{
    iso_text_add(text, "%s, %s shapes, lines %s, seed %" PRIu64 ", threads",
                 options->blis ? "plain BLIS" : "isotome's arithmetic",
                 options->quick ? "some" : "all",
                 options->all_ranks ? "on every rank" : "dealt", options->seed);
    for (int i = 0; i < options->n_threads; i++) {
        iso_text_add(text, "%c%d", i == 0 ? ' ' : ',', options->threads[i]);
    }
    return text->status;
}

/* Collective. */
static iso_status_t compare_ranks(const experiment_t *job)
{
    iso_text_t text = {0};
    iso_status_t status =
        iso_par_agree(options_text(&job->table->options, &text), job->comm);

    if (status == ISO_OK) {
        const iso_field_t fields[] = {
            {"the program's build", iso_digest_of(ISO_BUILD, sizeof ISO_BUILD),
             ISO_BUILD},
            {"the experiment", iso_digest_of(text.data, text.length),
             text.data}};

        status = iso_fields_agree(fields, 2, job->comm);
    }
    iso_text_free(&text);
    return status;
}

static iso_status_t reserve(experiment_t *job)
{
    const iso_equiv_options_t *options = &job->table->options;
    const size_t n_lines = (size_t)job->table->n_lines;
    const size_t size = (size_t)job->size;

    for (int i = 0; i < options->n_threads; i++) {
        ISO_TRY(options->blis ? iso_device_open_control(options->threads[i],
                                                        &job->devices[i])
                              : iso_device_open("cpu", options->threads[i],
                                                &job->devices[i]));
    }
    job->mine = iso_alloc_zeroed(n_lines, sizeof *job->mine);
    job->all = iso_alloc_zeroed(n_lines * size, sizeof *job->all);
    job->families = iso_alloc_zeroed(size, sizeof *job->families);
    return job->mine != NULL && job->all != NULL && job->families != NULL
               ? ISO_OK
               : ISO_NOMEM;
}

/* "haswell, skx"; all families are in the text of the table. */
static iso_status_t name_families(experiment_t *job)
{
    iso_text_t text = {0};

    for (int family = 0; family < ISO_FAMILY_COUNT; family++) {
        for (int rank = 0; rank < job->size; rank++) {
            if (job->families[rank] == family) {
                iso_text_add(&text, "%s%s", text.length > 0 ? ", " : "",
                             iso_family_string((iso_family_t)family));
                break;
            }
        }
    }
    iso_status_t status = text.status;

    if (status == ISO_OK) {
        job->table->families = iso__equiv_text(job->table, text.data);
        status = job->table->families != NULL ? ISO_OK : ISO_NOMEM;
    }
    iso_text_free(&text);
    return status;
}

/* Collective. */
static iso_status_t know_families(experiment_t *job)
{
    iso_family_t family = ISO_FAMILY_SCALAR;

    ISO_TRY(iso_par_agree(iso_family_choose(&family), job->comm));
    const int mine = (int)family;

    ISO_CHECK_MPI(
        MPI_Allgather(&mine, 1, MPI_INT, job->families, 1, MPI_INT, job->comm));
    return iso_par_agree(name_families(job), job->comm);
}

/* -- one op -- */

typedef struct trial {
    const experiment_t *job;
    iso__equiv_op_t op;
    iso_shard_list_t *list;
    float *wholes[ISO_EQUIV_MOST_THREADS]; /* NULL when not asked for yet */
    float *result;
} trial_t;

static size_t result_bytes(const trial_t *trial)
{
    return (size_t)iso__equiv_op_elements(&trial->op) * sizeof(float);
}

static iso_status_t trial_begin(const experiment_t *job, int case_index,
                                trial_t *trial)
{
    *trial = (trial_t){.job = job};
    ISO_TRY(iso__equiv_op_create(iso__equiv_case(case_index), &trial->op));

    const iso_shard_op_t asked = {.graph = trial->op.graph,
                                  .node = trial->op.node};

    ISO_TRY(
        iso_shard_list_create(&asked, ISO__EQUIV_MOST_PIECES, &trial->list));
    ISO_TRY(iso__equiv_op_fill(&trial->op, job->table->options.seed +
                                               (uint64_t)case_index));
    trial->result = iso_alloc(result_bytes(trial));
    return trial->result != NULL ? ISO_OK : ISO_NOMEM;
}

static void trial_end(trial_t *trial)
{
    for (int i = 0; i < ISO_EQUIV_MOST_THREADS; i++) {
        iso_free(trial->wholes[i]);
    }
    iso_free(trial->result);
    iso_shard_list_destroy(&trial->list);
    iso__equiv_op_free(&trial->op);
}

/* What one number of threads gives for the op that is not cut. */
static iso_status_t whole(trial_t *trial, int device, const float **whole_out)
{
    if (trial->wholes[device] == NULL) {
        trial->wholes[device] = iso_alloc(result_bytes(trial));
        if (trial->wholes[device] == NULL) {
            return ISO_NOMEM;
        }
        ISO_TRY(iso__equiv_whole(&trial->op, trial->job->devices[device],
                                 trial->wholes[device]));
    }
    *whole_out = trial->wholes[device];
    return ISO_OK;
}

static iso_status_t compare_cut(trial_t *trial, const iso__equiv_part_t *part,
                                finding_t *finding)
{
    const bool is_cut = part->option != ISO__EQUIV_NOT_CUT;
    const iso__equiv_sum_t sum = trial->job->table->options.blis
                                     ? ISO__EQUIV_SUM_CHAIN
                                     : ISO__EQUIV_SUM_TREE;
    const float *expected = NULL;
    const float *found = trial->result;

    ISO_TRY(whole(trial, is_cut ? part->device : 0, &expected));
    if (is_cut) {
        ISO_TRY(iso__equiv_pieces(
            &trial->op, &trial->list->options[part->option], sum,
            trial->job->devices[part->device], trial->result));
    } else {
        ISO_TRY(whole(trial, part->device, &found));
    }
    finding->difference =
        iso_equiv_compare(expected, found, iso__equiv_op_elements(&trial->op));
    finding->digest = iso_digest_of(found, result_bytes(trial));
    return ISO_OK;
}

static bool is_done_by(const experiment_t *job, int line, int rank)
{
    return job->table->options.all_ranks || line % job->size == rank;
}

/* This rank's lines of one op, from line first on; *end_out is the first line
 * of the next op. */
static iso_status_t do_op(experiment_t *job, int first, int *end_out)
{
    const int case_index = iso__equiv_part(job->table, first)->case_index;
    trial_t trial;
    iso_status_t status = trial_begin(job, case_index, &trial);
    int i = first;

    for (; i < job->table->n_lines; i++) {
        const iso__equiv_part_t *part = iso__equiv_part(job->table, i);

        if (part->case_index != case_index) {
            break;
        }
        if (status == ISO_OK && is_done_by(job, i, job->rank)) {
            status = compare_cut(&trial, part, &job->mine[i]);
        }
    }
    trial_end(&trial);
    *end_out = i;
    return status;
}

static iso_status_t do_lines(experiment_t *job)
{
    iso_status_t status = ISO_OK;
    int line = 0;

    while (line < job->table->n_lines && status == ISO_OK) {
        if (is_done_by(job, line, job->rank)) {
            status = do_op(job, line, &line);
        } else {
            line++;
        }
    }
    return status;
}

/* -- all ranks' findings -- */

static void add_finding(const finding_t *finding, bool is_first,
                        iso_equiv_line_t *line)
{
    iso_equiv_difference_t *sum = &line->difference;
    const iso_equiv_difference_t *one = &finding->difference;

    if (is_first) {
        *sum = *one;
        line->digest = finding->digest;
        line->agreed = true;
        return;
    }
    sum->equal = one->equal < sum->equal ? one->equal : sum->equal;
    sum->max_abs = one->max_abs > sum->max_abs ? one->max_abs : sum->max_abs;
    sum->max_ulp = one->max_ulp > sum->max_ulp ? one->max_ulp : sum->max_ulp;
    line->agreed = line->agreed && finding->digest == line->digest;
}

static void merge(const experiment_t *job)
{
    iso_equiv_table_t *table = job->table;

    for (int i = 0; i < table->n_lines; i++) {
        bool is_first = true;

        for (int rank = 0; rank < job->size; rank++) {
            if (is_done_by(job, i, rank)) {
                add_finding(&job->all[rank * table->n_lines + i], is_first,
                            &table->lines[i]);
                is_first = false;
            }
        }
    }
    table->ranks = job->size;
    iso__equiv_sum_up(table);
}

/* Collective. */
static iso_status_t measure(experiment_t *job)
{
    const int bytes = job->table->n_lines * (int)sizeof *job->mine;

    ISO_TRY(compare_ranks(job));
    ISO_TRY(iso_par_agree(reserve(job), job->comm));
    ISO_TRY(know_families(job));
    ISO_TRY(iso_par_agree(do_lines(job), job->comm));
    ISO_CHECK_MPI(MPI_Allgather(job->mine, bytes, MPI_BYTE, job->all, bytes,
                                MPI_BYTE, job->comm));
    merge(job);
    return ISO_OK;
}

iso_status_t iso_equiv_measure(iso_equiv_table_t *table, MPI_Comm comm)
{
    experiment_t job = {.table = table};

    ISO_CHECK_MPI(MPI_Comm_dup(comm, &job.comm));
    ISO_CHECK_MPI(MPI_Comm_set_errhandler(job.comm, MPI_ERRORS_RETURN));
    job.rank = iso_par_rank(job.comm);
    job.size = iso_par_size(job.comm);
    iso_status_t status = measure(&job);

    iso_free(job.families);
    iso_free(job.all);
    iso_free(job.mine);
    for (int i = 0; i < ISO_EQUIV_MOST_THREADS; i++) {
        iso_device_close(&job.devices[i]);
    }
    ISO_CHECK_MPI(MPI_Comm_free(&job.comm));
    return status;
}
