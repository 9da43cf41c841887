#include "isotome/error.h"
#include "isotome/onnx.h"

#include "base/mem.h"
#include "base/text.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/facts.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    OPT_SCALE = 256,
    OPT_MEAN,
    OPT_STD,
    OPT_WEIGHTS_SEED,
    OPT_FREE_BATCH,
    OPT_TAKE,
    OPT_FORCE,
};

enum { MOST_TAKEN = 64 };

static const struct argp_option import_options[] = {
    {"output", 'o', "NET.h5", 0, "Model file to write", 0},
    {"scale", OPT_SCALE, "S", 0,
     "The image input is bytes; the network gets (x / S - mean) / std", 0},
    {"mean", OPT_MEAN, "M,..", 0, "Mean: one number, or one for each channel",
     0},
    {"std", OPT_STD, "D,..", 0,
     "Deviation: one number, or one for each channel", 0},
    {"weights-seed", OPT_WEIGHTS_SEED, "N", 0,
     "Replace every weight by random values that depend on N and its name", 0},
    {"free-batch", OPT_FREE_BATCH, NULL, 0,
     "A model exported for one sample: make the leading 1 of its inputs the "
     "free size N",
     0},
    {"take", OPT_TAKE, "NAME", 0,
     "Make this value of the ONNX file an output, instead of those that the "
     "file names; once for each",
     0},
    {"force", OPT_FORCE, NULL, 0, "Replace NET.h5 if it exists", 0},
    {0},
};

typedef struct import_arguments {
    const char *input;
    const char *output;
    iso_onnx_options_t onnx;
    const char *taken[MOST_TAKEN]; /* what onnx.outputs points at */
    double *mean; /* owned; what onnx.mean and onnx.std point at */
    double *std;
    bool force;
} import_arguments_t;

static iso_status_t set_scale(iso_onnx_options_t *onnx, const char *text)
{
    ISO_TRY(iso_text_parse_double(text, "--scale", &onnx->scale));
    if (onnx->scale <= 0.0) {
        return iso_fail(ISO_INVAL, "--scale: '%s', expected more than 0", text);
    }
    return ISO_OK;
}

static iso_status_t set_list(const char *text, const char *what, double **list,
                             int *count)
{
    iso_free(*list);
    *list = NULL;
    *count = 0;
    return iso_text_parse_doubles(text, what, list, count);
}

static iso_status_t set_seed(iso_onnx_options_t *onnx, const char *text)
{
    int64_t seed = 0;

    ISO_TRY(iso_text_parse_int(text, "--weights-seed", 0, INT64_MAX, &seed));
    onnx->seed_weights = true;
    onnx->seed = (uint64_t)seed;
    return ISO_OK;
}

static iso_status_t take(import_arguments_t *arguments, const char *name)
{
    if (arguments->onnx.n_outputs == MOST_TAKEN) {
        return iso_fail(ISO_INVAL, "--take: more than %d values", MOST_TAKEN);
    }
    arguments->taken[arguments->onnx.n_outputs++] = name;
    return ISO_OK;
}

static iso_status_t set_option(void *input, int key, const char *value)
{
    import_arguments_t *arguments = input;
    iso_onnx_options_t *onnx = &arguments->onnx;

    switch (key) {
    case 'o':
        arguments->output = value;
        return ISO_OK;
    case OPT_SCALE:
        return set_scale(onnx, value);
    case OPT_MEAN:
        return set_list(value, "--mean", &arguments->mean, &onnx->n_mean);
    case OPT_STD:
        return set_list(value, "--std", &arguments->std, &onnx->n_std);
    case OPT_WEIGHTS_SEED:
        return set_seed(onnx, value);
    case OPT_FREE_BATCH:
        onnx->free_batch = true;
        return ISO_OK;
    case OPT_TAKE:
        return take(arguments, value);
    default:
        arguments->force = true;
        return ISO_OK;
    }
}

static const iso_syntax_t import_syntax = {
    .usage = "NET.onnx -o NET.h5",
    .operand = "ONNX file",
    .options = import_options,
    .set = set_option,
    .doc = "Turn an ONNX file into a model file.\v"
           "Shape arithmetic vanishes, batch norms, biases and activations go "
           "into the convolutions and products before them, layers are "
           "marked.",
};

static iso_status_t read_arguments(int argc, char **argv,
                                   import_arguments_t *arguments)
{
    ISO_TRY(iso_arguments_parse(&import_syntax, argc, argv, arguments,
                                &arguments->input));
    if (arguments->output == NULL) {
        return iso_fail(ISO_INVAL, "no model file to write; give -o NET.h5");
    }
    arguments->onnx.mean = arguments->mean;
    arguments->onnx.std = arguments->std;
    arguments->onnx.outputs = arguments->taken;
    return iso_arguments_check_output(arguments->output, arguments->force);
}

static iso_status_t import(const import_arguments_t *arguments)
{
    iso_onnx_t *onnx = NULL;
    iso_weight_source_t weights;
    iso_status_t status;

    ISO_TRY(iso_onnx_import(arguments->input, &arguments->onnx, &onnx));
    weights = iso_onnx_weights(onnx);
    status = iso_model_write(arguments->output, iso_onnx_graph(onnx), &weights);
    if (status == ISO_OK) {
        iso_facts_t facts = iso_facts_of(iso_onnx_graph(onnx));
        (void)printf("operators %" PRId64 "\n", iso_onnx_operator_count(onnx));
        iso_facts_print(&facts);
    }
    iso_onnx_destroy(&onnx);
    return status;
}

int iso_cmd_import(int argc, char **argv)
{
    import_arguments_t arguments = {0};
    iso_status_t status = read_arguments(argc, argv, &arguments);

    if (status == ISO_OK) {
        status = import(&arguments);
    }
    iso_free(arguments.mean);
    iso_free(arguments.std);
    return iso_cmd_end(status);
}
