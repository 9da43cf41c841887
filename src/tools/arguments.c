#include "tools/arguments.h"

#include "isotome/error.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPT_USAGE = 0x10000, MOST_OPTIONS = 64, LONGEST_NAME = 63 };

/* argp's own --help ends where its own errors are silent; so these are not
 * argp's. */
static const struct argp_option common_options[] = {
    {"help", '?', NULL, 0, "Print this list", -1},
    {"usage", OPT_USAGE, NULL, 0, "Print a short usage message", 0},
    {"version", 'V', NULL, 0, "Print the program's version", 0},
    {0},
};

typedef struct parse {
    const iso_syntax_t *syntax;
    void *arguments;
    const char *operand;
    int next; /* index of the word after the last one understood */
    iso_status_t status;
} parse_t;

/* -- words that are no options -- */

static const struct argp_option *find(const struct argp_option *options,
                                      const char *word, const char *name)
{
    const struct argp_option *found = NULL;

    for (; options->name != NULL; options++) {
        if ((options->flags & OPTION_ALIAS) == 0) {
            found = options; /* an alias has the value of this one */
        }
        bool is_short = word[1] == options->key && word[2] == '\0';
        if (is_short || strcmp(name, options->name) == 0) {
            return found;
        }
    }
    return NULL;
}

static iso_status_t fail_unknown(const struct argp_option *options,
                                 const char *word, const char *name,
                                 const char *command)
{
    const char *names[MOST_OPTIONS + 1] = {NULL};

    for (int i = 0; i < MOST_OPTIONS && options[i].name != NULL; i++) {
        names[i] = options[i].name;
    }
    const char *near = iso_text_nearest(name, names);
    if (near != NULL) {
        return iso_fail(ISO_INVAL,
                        "there is no option '%.60s'; did you mean '--%s'?",
                        word, near);
    }
    return iso_fail(ISO_INVAL, "there is no option '%.60s'; see %s --help",
                    word, command);
}

/* getopt says no more than that it stopped at this word. */
static iso_status_t fail_option(const parse_t *parse, const char *word,
                                const char *command)
{
    const struct argp_option *options = parse->syntax->options;
    char name[LONGEST_NAME + 1] = "";

    if (strncmp(word, "--", 2) == 0) {
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="),
                       word + 2);
    }
    const struct argp_option *option = find(options, word, name);
    if (option == NULL) {
        return fail_unknown(options, word, name, command);
    }
    if (option->arg == NULL) {
        return iso_fail(ISO_INVAL, "option '--%s' takes no value", name);
    }
    return iso_fail(ISO_INVAL, "option '%s' needs a value (%s); see %s --help",
                    word, option->arg, command);
}

/* -- the parser -- */

static iso_status_t take_operand(parse_t *parse, const char *text,
                                 const char *command)
{
    if (parse->syntax->operand == NULL) {
        return iso_fail(ISO_INVAL, "'%.60s' is no option; see %s --help", text,
                        command);
    }
    if (parse->operand != NULL) {
        return iso_fail(ISO_INVAL, "one %s, not also '%s'",
                        parse->syntax->operand, text);
    }
    parse->operand = text;
    return ISO_OK;
}

static error_t parse_word(int key, char *text, struct argp_state *state)
{
    parse_t *parse = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        parse->status = take_operand(parse, text, state->name);
        break;
    case ARGP_KEY_ERROR:
        if (parse->status == ISO_OK && parse->next < state->argc) {
            parse->status =
                fail_option(parse, state->argv[parse->next], state->name);
        }
        return 0;
    case ARGP_KEY_INIT:
    case ARGP_KEY_ARGS:
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_END:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_FINI:
        return ARGP_ERR_UNKNOWN;
    default:
        parse->status = parse->syntax->set(parse->arguments, key, text);
        break;
    }
    parse->next = state->next;
    return parse->status == ISO_OK ? 0 : EINVAL;
}

static _Noreturn void help(const struct argp_state *state, unsigned flags)
{
    argp_help(state->root_argp, stdout, flags, state->name);
    exit(EXIT_SUCCESS);
}

static error_t parse_common(int key, char *text __attribute__((unused)),
                            struct argp_state *state)
{
    switch (key) {
    case '?':
        help(state, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
    case OPT_USAGE:
        help(state, ARGP_HELP_USAGE);
    case 'V':
        (void)printf("isotome %s\n", ISO_VERSION);
        exit(EXIT_SUCCESS);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

iso_status_t iso_arguments_parse(const iso_syntax_t *syntax, int argc,
                                 char **argv, void *arguments,
                                 const char **operand_out)
{
    static const struct argp common = {.options = common_options,
                                       .parser = parse_common};
    const struct argp_child children[] = {{&common, 0, NULL, 0}, {0}};
    parse_t parse = {.syntax = syntax, .arguments = arguments, .next = 1};
    const struct argp argp = {.options = syntax->options,
                              .parser = parse_word,
                              .args_doc = syntax->usage,
                              .doc = syntax->doc,
                              .children = children};

    const unsigned flags = ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_IN_ORDER;
    error_t error = argp_parse(&argp, argc, argv, flags, NULL, &parse);

    ISO_TRY(parse.status);
    if (error != 0) {
        return iso_fail(ISO_NOMEM, "cannot read the command line: %s",
                        strerror(error));
    }
    if (syntax->operand == NULL) {
        return ISO_OK;
    }
    if (parse.operand == NULL) {
        return iso_fail(ISO_INVAL, "no %s; see %s --help", syntax->operand,
                        argv[0]);
    }
    *operand_out = parse.operand;
    return ISO_OK;
}

iso_status_t iso_arguments_check_output(const char *path, bool force)
{
    struct stat info;

    if (!force && lstat(path, &info) == 0) {
        return iso_fail(ISO_IO, "'%s' exists; give --force to replace it",
                        path);
    }
    return ISO_OK;
}
