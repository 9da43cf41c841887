#include "isotome/error.h"
#include "isotome/onnx.h"

#include "base/mem.h"
#include "base/text.h"
#include "tools/commands.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
    iso_status_t status; /* of the first argument that is wrong */
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

static iso_status_t set_option(import_arguments_t *arguments, int key,
                               char *text)
{
    iso_onnx_options_t *onnx = &arguments->onnx;

    switch (key) {
    case 'o':
        arguments->output = text;
        return ISO_OK;
    case OPT_SCALE:
        return set_scale(onnx, text);
    case OPT_MEAN:
        return set_list(text, "--mean", &arguments->mean, &onnx->n_mean);
    case OPT_STD:
        return set_list(text, "--std", &arguments->std, &onnx->n_std);
    case OPT_WEIGHTS_SEED:
        return set_seed(onnx, text);
    case OPT_FREE_BATCH:
        onnx->free_batch = true;
        return ISO_OK;
    case OPT_TAKE:
        return take(arguments, text);
    default:
        arguments->force = true;
        return ISO_OK;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    import_arguments_t *arguments = state->input;
    iso_status_t status = ISO_OK;

    switch (key) {
    case ARGP_KEY_ARG:
        if (arguments->input != NULL) {
            status = iso_fail(ISO_INVAL, "one ONNX file, not also '%s'", text);
        } else {
            arguments->input = text;
        }
        break;
    case ARGP_KEY_INIT:
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_END:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_ERROR:
    case ARGP_KEY_FINI:
        break;
    case ARGP_KEY_ARGS:
        return ARGP_ERR_UNKNOWN;
    default:
        status = set_option(arguments, key, text);
        break;
    }
    if (arguments->status == ISO_OK) {
        arguments->status = status;
    }
    return 0;
}

static const struct argp import_argp = {
    .options = import_options,
    .parser = parse,
    .args_doc = "NET.onnx",
    .doc = "Turn an ONNX file into a model file.\v"
           "Shape arithmetic vanishes, batch norms, biases and activations go "
           "into the convolutions and products before them, layers are "
           "marked.",
};

static iso_status_t complete(import_arguments_t *arguments)
{
    struct stat info;

    ISO_TRY(arguments->status);
    if (arguments->input == NULL || arguments->output == NULL) {
        return iso_fail(ISO_INVAL, "no %s; see isotome import --help",
                        arguments->input == NULL ? "ONNX file"
                                                 : "output (-o NET.h5)");
    }
    arguments->onnx.mean = arguments->mean;
    arguments->onnx.std = arguments->std;
    arguments->onnx.outputs = arguments->taken;
    if (!arguments->force && stat(arguments->output, &info) == 0) {
        return iso_fail(ISO_IO, "'%s' exists; --force replaces it",
                        arguments->output);
    }
    return ISO_OK;
}

/* -- facts -- */

typedef struct facts {
    int64_t nodes; /* without leaves */
    int64_t params;
    int64_t parameters;
    size_t bytes;
} facts_t;

static facts_t facts_of(const iso_graph_t *graph)
{
    facts_t facts = {0};

    for (int32_t i = 0; i < iso_graph_node_count(graph); i++) {
        const iso_node_t *node = iso_graph_node(graph, i);
        size_t bytes = 0;

        facts.nodes += !iso_node_is_leaf(node);
        if (node->op == ISO_OP_PARAM &&
            iso_tensor_bytes_of(node->dtype, &node->shape, &bytes) == ISO_OK) {
            facts.params++;
            facts.parameters += iso_shape_count(&node->shape);
            facts.bytes += bytes;
        }
    }
    return facts;
}

static void print_facts(const iso_onnx_t *onnx)
{
    const iso_graph_t *graph = iso_onnx_graph(onnx);
    facts_t facts = facts_of(graph);
    char bytes[ISO_TEXT_NUMBER_BYTES];

    (void)printf("operators %" PRId64 "\n", iso_onnx_operator_count(onnx));
    (void)printf("nodes %" PRId64 "\n", facts.nodes);
    (void)printf("layers %d\n", iso_graph_layer_count(graph));
    (void)printf("weights %" PRId64 "\n", facts.params);
    (void)printf("parameters %" PRId64 "\n", facts.parameters);
    (void)printf("bytes %zu (%s)\n", facts.bytes,
                 iso_text_bytes(facts.bytes, bytes));
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
        print_facts(onnx);
    }
    iso_onnx_destroy(&onnx);
    return status;
}

int iso_cmd_import(int argc, char **argv)
{
    import_arguments_t arguments = {0};
    iso_status_t status = ISO_OK;

    argp_err_exit_status = iso_status_exit_code(ISO_INVAL);
    if (argp_parse(&import_argp, argc, argv, 0, NULL, &arguments) != 0) {
        status = iso_fail(ISO_INVAL, "bad usage; see isotome import --help");
    }
    if (status == ISO_OK) {
        status = complete(&arguments);
    }
    if (status == ISO_OK) {
        status = import(&arguments);
    }
    iso_free(arguments.mean);
    iso_free(arguments.std);
    return status == ISO_OK ? 0 : iso_cmd_failed(status);
}
