#include "isotome/calibrate.h"
#include "isotome/error.h"

#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/job.h"
#include "tools/number_option.h"

enum { OPT_THREADS = 256, OPT_DEVICE, OPT_FORCE };

static const struct argp_option calibrate_options[] = {
    {"output", 'o', "M.json", 0, "Machine file to write", 0},
    {"threads", OPT_THREADS, "N", 0, "Threads of each rank (default 1)", 0},
    {"device", OPT_DEVICE, "RULE", 0,
     "Devices to measure, one after the other: those of a rule as of isotome "
     "run, 'cuda|cpu' say (default cpu)",
     0},
    {"force", OPT_FORCE, NULL, 0, "Replace M.json if it exists", 0},
    {"quiet", 'q', NULL, 0, "No table", 0},
    {0},
};

typedef struct calibrate_arguments {
    iso_calibrate_options_t calibrate;
    bool quiet;
} calibrate_arguments_t;

static iso_status_t set_option(void *input, int key, const char *value)
{
    calibrate_arguments_t *arguments = input;

    switch (key) {
    case 'o':
        arguments->calibrate.path = value;
        return ISO_OK;
    case OPT_THREADS:
        return iso_number_option_threads(value, &arguments->calibrate.threads);
    case OPT_DEVICE:
        arguments->calibrate.device = value;
        return ISO_OK;
    case OPT_FORCE:
        arguments->calibrate.force = true;
        return ISO_OK;
    default:
        arguments->quiet = true;
        return ISO_OK;
    }
}

static const iso_syntax_t calibrate_syntax = {
    .usage = "-o M.json",
    .operand = NULL,
    .options = calibrate_options,
    .set = set_option,
    .doc = "Measure the ranks of a job and the links between them.\v"
           "Start it under mpirun or srun as isotome run will be: as many "
           "ranks on the same hosts, with as many threads. The file is for "
           "the option --machine of isotome plan and isotome run.",
};

static iso_status_t read_arguments(int argc, char **argv,
                                   calibrate_arguments_t *arguments)
{
    ISO_TRY(
        iso_arguments_parse(&calibrate_syntax, argc, argv, arguments, NULL));
    return arguments->calibrate.path != NULL
               ? ISO_OK
               : iso_fail(ISO_INVAL,
                          "no machine file to write; give -o M.json");
}

int iso_cmd_calibrate(int argc, char **argv)
{
    calibrate_arguments_t arguments = {.calibrate = {.threads = 1}};
    iso_status_t status = iso_job_begin(read_arguments(argc, argv, &arguments));

    if (status == ISO_OK) {
        status = iso_calibrate(&arguments.calibrate, MPI_COMM_WORLD,
                               arguments.quiet ? NULL : stdout);
    }
    return iso_job_end(status);
}
