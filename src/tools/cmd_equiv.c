#include "isotome/equiv.h"
#include "isotome/error.h"

#include "base/log.h"
#include "par/par.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/equiv_output.h"
#include "tools/job.h"
#include "tools/number_option.h"

#include <string.h>

enum { NUMBER_BYTES = 16 };

enum {
    OPT_CONTROL = 256,
    OPT_QUICK,
    OPT_SEED,
    OPT_THREADS,
    OPT_ALL_RANKS,
    OPT_JSON,
    OPT_FORCE,
};

static const struct argp_option equiv_options[] = {
    {"control", OPT_CONTROL, "blis", 0,
     "Do it with plain BLIS instead of isotome's arithmetic", 0},
    {"quick", OPT_QUICK, NULL, 0, "Only some of the shapes", 0},
    {"threads", OPT_THREADS, "N,..", 0, "Numbers of threads (default 1,2)", 0},
    {"seed", OPT_SEED, "S", 0, "Of the random operands (default 1)", 0},
    {"all-ranks", OPT_ALL_RANKS, NULL, 0,
     "Every rank does every line, and they compare what they get; else the "
     "lines are dealt to the ranks",
     0},
    {"json", OPT_JSON, NULL, 0, "Print JSON", 0},
    {"output", 'o', "F.h5[:/GROUP]", 0, "Write the lines as columns", 0},
    {"force", OPT_FORCE, NULL, 0, "Replace F.h5 if it exists", 0},
    {"quiet", 'q', NULL, 0, "No line for each cut, only for each axis", 0},
    {0},
};

typedef struct equiv_arguments {
    iso_equiv_options_t equiv;
    const char *place;
    bool force;
    bool json;
    bool quiet;
} equiv_arguments_t;

static iso_status_t set_control(const char *text, bool *blis)
{
    *blis = true;
    return strcmp(text, "blis") == 0
               ? ISO_OK
               : iso_fail(ISO_INVAL, "--control: '%s', expected blis", text);
}

/* One of the numbers; a text that is too long is no number. */
static iso_status_t add_threads(const char *begin, size_t length,
                                iso_equiv_options_t *equiv)
{
    char number[NUMBER_BYTES];

    if (equiv->n_threads == ISO_EQUIV_MOST_THREADS) {
        return iso_fail(ISO_INVAL, "--threads: more than %d numbers",
                        (int)ISO_EQUIV_MOST_THREADS);
    }
    (void)snprintf(number, sizeof number, "%.*s", (int)length, begin);
    ISO_TRY(iso_number_option_threads(length < sizeof number ? number : begin,
                                      &equiv->threads[equiv->n_threads]));
    equiv->n_threads++;
    return ISO_OK;
}

static iso_status_t set_threads(const char *text, iso_equiv_options_t *equiv)
{
    const char *begin = text;

    equiv->n_threads = 0;
    for (;;) {
        const size_t length = strcspn(begin, ",");

        ISO_TRY(add_threads(begin, length, equiv));
        if (begin[length] == '\0') {
            return ISO_OK;
        }
        begin += length + 1;
    }
}

static iso_status_t set_option(void *input, int key, const char *value)
{
    equiv_arguments_t *arguments = input;

    switch (key) {
    case OPT_CONTROL:
        return set_control(value, &arguments->equiv.blis);
    case OPT_SEED:
        return iso_number_option_seed(value, &arguments->equiv.seed);
    case OPT_THREADS:
        return set_threads(value, &arguments->equiv);
    case 'o':
        arguments->place = value;
        return ISO_OK;
    case OPT_QUICK:
        arguments->equiv.quick = true;
        return ISO_OK;
    case OPT_ALL_RANKS:
        arguments->equiv.all_ranks = true;
        return ISO_OK;
    case OPT_JSON:
        arguments->json = true;
        return ISO_OK;
    case OPT_FORCE:
        arguments->force = true;
        return ISO_OK;
    default:
        arguments->quiet = true;
        return ISO_OK;
    }
}

static const iso_syntax_t equiv_syntax = {
    .usage = NULL,
    .operand = NULL,
    .options = equiv_options,
    .set = set_option,
    .doc = "Compute convolutions and matrix products of known networks whole "
           "and in pieces, and compare bit by bit.\v"
           "In one process, or under mpirun or srun. Exit code 0 only when "
           "all pieces are equal to the whole; with --control, which "
           "measures how often they are not, also when they are not.",
};

static iso_status_t read_arguments(int argc, char **argv,
                                   equiv_arguments_t *arguments)
{
    ISO_TRY(iso_arguments_parse(&equiv_syntax, argc, argv, arguments, NULL));
    if (arguments->json && arguments->quiet) {
        return iso_fail(ISO_INVAL,
                        "--json prints all lines: leave out --quiet");
    }
    return ISO_OK;
}

/* At rank 0. columns are NULL when there is no file to write. */
static iso_status_t show(const equiv_arguments_t *arguments,
                         const iso_equiv_table_t *table,
                         iso_equiv_columns_t **columns)
{
    if (*columns != NULL) {
        ISO_TRY(iso_equiv_columns_end(table, columns));
    }
    return arguments->json ? iso_equiv_print_json(table)
                           : iso_equiv_print(table, arguments->quiet);
}

/* Collective; ends with a common status. */
static iso_status_t measure(const equiv_arguments_t *arguments, bool is_root,
                            iso_equiv_table_t *table,
                            iso_equiv_columns_t **columns)
{
    iso_status_t status = ISO_OK;

    if (is_root && arguments->place != NULL) {
        status = iso_equiv_columns_begin(arguments->place, arguments->force,
                                         table, columns);
    }
    ISO_TRY(iso_par_agree(status, MPI_COMM_WORLD));
    ISO_TRY(iso_equiv_measure(table, MPI_COMM_WORLD));
    if (is_root) {
        status = show(arguments, table, columns);
    }
    return iso_par_agree(status, MPI_COMM_WORLD);
}

int iso_cmd_equiv(int argc, char **argv)
{
    equiv_arguments_t arguments = {
        .equiv = {.seed = 1, .n_threads = 2, .threads = {1, 2}}};
    iso_equiv_table_t *table = NULL;
    iso_equiv_columns_t *columns = NULL;
    iso_status_t status = iso_job_begin(read_arguments(argc, argv, &arguments));
    const bool speaks = iso_par_rank(MPI_COMM_WORLD) == 0;
    int found = 0;

    if (status == ISO_OK) {
        status = iso_par_agree(iso_equiv_create(&arguments.equiv, &table),
                               MPI_COMM_WORLD);
    }
    if (status == ISO_OK) {
        status = measure(&arguments, speaks, table, &columns);
    }
    if (status == ISO_OK) {
        found = iso_equiv_exit_code(table, speaks);
    }
    iso_equiv_columns_abandon(&columns);
    iso_equiv_destroy(&table);
    const int code = iso_job_end(status);

    return code != 0 ? code : found;
}
