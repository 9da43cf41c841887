/*
 * isotome: one neural network over many MPI ranks.
 */
#include "isotome/error.h"

#include "base/log.h"
#include "base/text.h"
#include "tools/commands.h"
#include "tools/signals.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    char *usage_name; /* argv[0] of the command */
    const char *summary;
} command_t;

static const command_t commands[] = {
    {"import", iso_cmd_import, "isotome import",
     "turn an ONNX file into a model file"},
    {"inspect", iso_cmd_inspect, "isotome inspect", "say what a model is"},
    {"calibrate", iso_cmd_calibrate, "isotome calibrate",
     "measure ranks and links for planning, under mpirun or srun"},
    {"plan", iso_cmd_plan, "isotome plan",
     "decide stages and cuts for a number of ranks; needs no cluster"},
    {"explain", iso_cmd_explain, "isotome explain",
     "say of each op how a plan cuts it, and why"},
    {"run", iso_cmd_run, "isotome run",
     "run a model over its inputs, under mpirun or srun"},
    {"bench", iso_cmd_bench, "isotome bench",
     "measure how fast a model runs, under mpirun or srun"},
    {"verify", iso_cmd_verify, "isotome verify",
     "run a model whole and cut and compare every value"},
    {"equiv", iso_cmd_equiv, "isotome equiv",
     "cut ops of known networks in pieces and compare with the whole"},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(void)
{
    (void)printf("Usage: isotome COMMAND [OPTION...]\n"
                 "Run one neural network over many MPI ranks, with the same "
                 "output bits for any number of them.\n\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        (void)printf("  %-9s %s\n", commands[i].name, commands[i].summary);
    }
    (void)printf(
        "\n'isotome COMMAND --help' lists a command's options; man isotome "
        "has the rest.\n\n"
        "Exit codes: 0 done, 1 failure, 2 usage, 3 ranks disagree, 4 bad "
        "input file,\n5 a rank is lost or a deadline has passed, 6 told to "
        "end, "
        "can be resumed.\n");
}

int iso_cmd_end(iso_status_t status)
{
    if (status != ISO_OK) {
        iso_log(ISO_LOG_ERROR, "%s", iso_error_text());
    }
    return iso_status_exit_code(status);
}

static int unknown_command(const char *name)
{
    const char *names[N_COMMANDS + 1] = {NULL};

    for (int i = 0; i < N_COMMANDS; i++) {
        names[i] = commands[i].name;
    }
    const char *near = iso_text_nearest(name, names);

    if (near != NULL) {
        iso_log(ISO_LOG_ERROR, "there is no command '%s'; did you mean '%s'?",
                name, near);
    } else {
        iso_log(ISO_LOG_ERROR, "there is no command '%s'; see isotome --help",
                name);
    }
    return iso_status_exit_code(ISO_INVAL);
}

/* A full disk shows when stdout is flushed: a lost result is a failure. */
static int flushed(int code)
{
    if (fflush(stdout) != 0 && code == 0) {
        iso_log(ISO_LOG_ERROR, "cannot write to standard output: %s",
                strerror(errno));
        return iso_status_exit_code(ISO_IO);
    }
    return code;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

int main(int argc, char **argv)
{
    /* Whatever is made here, not everybody may write to it. */
    (void)umask(umask(0) | S_IWOTH);
    iso_signals_set();
    if (argc < 2) {
        iso_log(ISO_LOG_ERROR, "no command; see isotome --help");
        return iso_status_exit_code(ISO_INVAL);
    }
    if (is_one_of(argv[1], "--help", "-?") || strcmp(argv[1], "help") == 0) {
        print_help();
        return flushed(0);
    }
    if (is_one_of(argv[1], "--version", "-V")) {
        (void)printf("isotome %s\n", ISO_VERSION);
        return flushed(0);
    }
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            argv[1] = commands[i].usage_name;
            return flushed(commands[i].run(argc - 1, argv + 1));
        }
    }
    return unknown_command(argv[1]);
}
