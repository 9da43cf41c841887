/*
 * What all commands' command lines have in common: options, one operand,
 * --help, --usage and --version, and the wording of usage errors.
 *
 *     static iso_status_t set_option(void *arguments, int key,
 *                                    const char *value);
 *     static const iso_syntax_t plan_syntax = {
 *         .usage = "NET.h5 -n RANKS", .operand = "model file",
 *         .options = plan_options, .set = set_option, .doc = "..."};
 *
 *     ISO_TRY(iso_arguments_parse(&plan_syntax, argc, argv, &arguments,
 *                                 &arguments.model));
 *
 * An error is a status with one line of text and nothing is printed, so that
 * the ranks of a job can agree on it before one of them speaks.
 */
#ifndef ISO_ARGUMENTS_H
#define ISO_ARGUMENTS_H

#include "isotome/status.h"

#include <argp.h>
#include <stdbool.h>

typedef struct iso_syntax {
    const char *usage;   /* what the usage line ends with */
    const char *operand; /* "model file": the one word that is no option;
                          * NULL: there is none */
    const struct argp_option *options; /* ends with {0} */
    /* Called for each option; a failure ends the parsing. */
    iso_status_t (*set)(void *arguments, int key, const char *value);
    const char *doc; /* what the command does */
} iso_syntax_t;

/*
 * Parse a command line. Does not return after --help, --usage or --version.
 *
 * argv         [in]   argv[0] is "isotome COMMAND"
 * arguments    [in]   goes to syntax->set
 * operand_out  [out]  borrowed from argv; not used when there is none
 * Errors: that of syntax->set; ISO_INVAL for an unknown option, one without
 * its value, no operand or one too many.
 */
iso_status_t iso_arguments_parse(const iso_syntax_t *syntax, int argc,
                                 char **argv, void *arguments,
                                 const char **operand_out);

/* For the file of --output: ISO_IO when it exists and force is false. */
iso_status_t iso_arguments_check_output(const char *path, bool force);

#endif
