#include "isotome/error.h"
#include "isotome/model_file.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "graph/cost.h"
#include "graph/pass.h"
#include "graph/print.h"
#include "tools/commands.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_BATCH = 256,
    OPT_GRAPH,
    OPT_JSON,
    OPT_WEIGHTS,
};

static const struct argp_option inspect_options[] = {
    {"batch", OPT_BATCH, "B", 0,
     "Free sizes in the count of operations (default 1)", 0},
    {"graph", OPT_GRAPH, "text|dot", 0, "Print the graph instead", 0},
    {"json", OPT_JSON, NULL, 0, "Print JSON", 0},
    {"weights", OPT_WEIGHTS, NULL, 0, "List the weights as well", 0},
    {0},
};

typedef struct inspect_arguments {
    const char *path;
    int64_t batch;
    const char *graph; /* "text", "dot" or NULL */
    bool json;
    bool weights;
    iso_status_t status; /* of the first argument that is wrong */
} inspect_arguments_t;

/* What is printed, but for what the model itself tells. */
typedef struct facts {
    int64_t batch;
    int64_t nodes; /* without leaves */
    int64_t parameters;
    size_t bytes;
    double flops;
    const char **free_dims; /* owned array; (n_free) */
    int n_free;
} facts_t;

/* -- options -- */

static iso_status_t set_option(inspect_arguments_t *arguments, int key,
                               const char *text)
{
    switch (key) {
    case OPT_BATCH:
        return iso_text_parse_int(text, "--batch", 1, INT32_MAX,
                                  &arguments->batch);
    case OPT_GRAPH:
        arguments->graph = text;
        if (strcmp(text, "text") != 0 && strcmp(text, "dot") != 0) {
            return iso_fail(ISO_INVAL, "--graph: '%s', expected text or dot",
                            text);
        }
        return ISO_OK;
    case OPT_JSON:
        arguments->json = true;
        return ISO_OK;
    default:
        arguments->weights = true;
        return ISO_OK;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    inspect_arguments_t *arguments = state->input;
    iso_status_t status = ISO_OK;

    switch (key) {
    case ARGP_KEY_ARG:
        if (arguments->path != NULL) {
            status = iso_fail(ISO_INVAL, "one model file, not also '%s'", text);
        } else {
            arguments->path = text;
        }
        break;
    case OPT_BATCH:
    case OPT_GRAPH:
    case OPT_JSON:
    case OPT_WEIGHTS:
        status = set_option(arguments, key, text);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (arguments->status == ISO_OK) {
        arguments->status = status;
    }
    return 0;
}

static const struct argp inspect_argp = {
    .options = inspect_options,
    .parser = parse,
    .args_doc = "NET.h5",
    .doc = "Say what a model is, one fact a line.\v"
           "Only the model's description is read, not its weights.",
};

static iso_status_t complete(const inspect_arguments_t *arguments)
{
    ISO_TRY(arguments->status);
    if (arguments->path == NULL) {
        return iso_fail(ISO_INVAL, "no model file; see isotome inspect --help");
    }
    if (arguments->graph != NULL && (arguments->json || arguments->weights)) {
        return iso_fail(ISO_INVAL,
                        "--graph prints the graph alone; leave out --json and "
                        "--weights");
    }
    return ISO_OK;
}

/* -- facts -- */

static iso_status_t sum_flops(const iso_graph_t *graph, double *flops_out)
{
    double flops = 0;

    for (int32_t i = 0; i < iso_graph_node_count(graph); i++) {
        iso_node_cost_t cost = {0};
        ISO_TRY(iso_node_cost_of(graph, i, &cost));
        flops += cost.flops;
    }
    *flops_out = flops;
    return ISO_OK;
}

/* Operations with every free dim bound to the batch. */
static iso_status_t count_flops(const iso_graph_t *graph, facts_t *facts)
{
    iso_graph_t *bound = NULL;
    iso_binding_t *bindings =
        iso_alloc_zeroed((size_t)facts->n_free, sizeof *bindings);

    if (bindings == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < facts->n_free; i++) {
        bindings[i].name = facts->free_dims[i];
        bindings[i].size = facts->batch;
    }
    iso_status_t status =
        iso_graph_bind(graph, bindings, facts->n_free, &bound);
    if (status == ISO_OK) {
        status = sum_flops(bound, &facts->flops);
        iso_graph_destroy(&bound);
    }
    iso_free(bindings);
    return status;
}

static iso_status_t find_facts(const iso_model_t *model, int64_t batch,
                               facts_t *facts)
{
    const iso_graph_t *graph = iso_model_graph(model);

    facts->batch = batch;
    for (int32_t i = 0; i < iso_graph_node_count(graph); i++) {
        facts->nodes += !iso_node_is_leaf(iso_graph_node(graph, i));
    }
    for (int i = 0; i < iso_model_weight_count(model); i++) {
        const iso_weight_info_t *weight = iso_model_weight(model, i);
        facts->parameters += iso_shape_count(&weight->shape);
        facts->bytes += weight->bytes;
    }
    ISO_TRY(iso_graph_free_dims(graph, &facts->free_dims, &facts->n_free));
    return count_flops(graph, facts);
}

/* -- as lines -- */

static void print_value(const char *what, const char *name,
                        const iso_node_t *node)
{
    char shape[ISO_SHAPE_TEXT_BYTES];

    (void)printf("%s %s %s %s\n", what, name, iso_dtype_string(node->dtype),
                 iso_shape_text(&node->shape, shape));
}

static void print_interface(const iso_graph_t *graph)
{
    for (int32_t i = 0; i < iso_graph_node_count(graph); i++) {
        const iso_node_t *node = iso_graph_node(graph, i);
        if (node->op == ISO_OP_INPUT) {
            print_value("input", node->name, node);
        }
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_output_t *output = iso_graph_output(graph, i);
        print_value("output", output->name,
                    iso_graph_node(graph, output->node));
    }
}

static void print_weights(const iso_model_t *model)
{
    char shape[ISO_SHAPE_TEXT_BYTES];

    for (int i = 0; i < iso_model_weight_count(model); i++) {
        const iso_weight_info_t *weight = iso_model_weight(model, i);
        (void)printf("weight %s %s %s %zu %016" PRIx64 "\n", weight->name,
                     iso_dtype_string(weight->dtype),
                     iso_shape_text(&weight->shape, shape), weight->bytes,
                     weight->digest);
    }
}

static void print_lines(const iso_model_t *model, const facts_t *facts,
                        bool weights)
{
    char number[ISO_TEXT_NUMBER_BYTES];

    (void)printf("model %s\n", iso_model_path(model));
    (void)printf("producer %s\n", iso_model_producer(model));
    (void)printf("root digest %016" PRIx64 "\n", iso_model_root_digest(model));
    print_interface(iso_model_graph(model));
    for (int i = 0; i < facts->n_free; i++) {
        (void)printf("free %s\n", facts->free_dims[i]);
    }
    (void)printf("layers %d\n", iso_graph_layer_count(iso_model_graph(model)));
    (void)printf("nodes %" PRId64 "\n", facts->nodes);
    (void)printf("weights %d\n", iso_model_weight_count(model));
    (void)printf("parameters %" PRId64 "\n", facts->parameters);
    (void)printf("bytes %zu (%s)\n", facts->bytes,
                 iso_text_bytes(facts->bytes, number));
    (void)printf("flops %.0f (%s, batch %" PRId64 ")\n", facts->flops,
                 iso_text_count(facts->flops, number), facts->batch);
    if (weights) {
        print_weights(model);
    }
}

/* -- as JSON; a NULL goes through to where the whole is printed -- */

static json_t *hex(uint64_t value)
{
    char text[20];

    (void)snprintf(text, sizeof text, "%016" PRIx64, value);
    return json_string(text);
}

static json_t *json_of_shape(const iso_shape_t *shape)
{
    json_t *json = json_array();

    for (int i = 0; i < shape->rank; i++) {
        iso_dim_t dim = shape->dim[i];
        if (json_array_append_new(json, iso_dim_is_static(dim)
                                            ? json_integer(dim.size)
                                            : json_string(dim.sym)) != 0) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

static json_t *json_of_value(const char *name, const iso_node_t *node)
{
    return json_pack("{s:s, s:s, s:o}", "name", name, "dtype",
                     iso_dtype_string(node->dtype), "shape",
                     json_of_shape(&node->shape));
}

static json_t *json_of_inputs(const iso_graph_t *graph)
{
    json_t *json = json_array();

    for (int32_t i = 0; i < iso_graph_node_count(graph); i++) {
        const iso_node_t *node = iso_graph_node(graph, i);
        if (node->op == ISO_OP_INPUT &&
            json_array_append_new(json, json_of_value(node->name, node)) != 0) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

static json_t *json_of_outputs(const iso_graph_t *graph)
{
    json_t *json = json_array();

    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_output_t *output = iso_graph_output(graph, i);
        const iso_node_t *node = iso_graph_node(graph, output->node);
        if (json_array_append_new(json, json_of_value(output->name, node)) !=
            0) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

static json_t *json_of_free(const facts_t *facts)
{
    json_t *json = json_array();

    for (int i = 0; i < facts->n_free; i++) {
        if (json_array_append_new(json, json_string(facts->free_dims[i])) !=
            0) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

static json_t *json_of_weights(const iso_model_t *model)
{
    json_t *json = json_array();

    for (int i = 0; i < iso_model_weight_count(model); i++) {
        const iso_weight_info_t *weight = iso_model_weight(model, i);
        json_t *item =
            json_pack("{s:s, s:s, s:o, s:I, s:o}", "name", weight->name,
                      "dtype", iso_dtype_string(weight->dtype), "shape",
                      json_of_shape(&weight->shape), "bytes",
                      (json_int_t)weight->bytes, "digest", hex(weight->digest));
        if (json_array_append_new(json, item) != 0) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

static json_t *json_of_model(const iso_model_t *model, const facts_t *facts,
                             bool weights)
{
    const iso_graph_t *graph = iso_model_graph(model);
    json_t *json = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:I, s:i, s:I, s:I, s:f, s:I}",
        "model", iso_model_path(model), "producer", iso_model_producer(model),
        "root_digest", hex(iso_model_root_digest(model)), "inputs",
        json_of_inputs(graph), "outputs", json_of_outputs(graph), "free",
        json_of_free(facts), "layers", iso_graph_layer_count(graph), "nodes",
        (json_int_t)facts->nodes, "weights", iso_model_weight_count(model),
        "parameters", (json_int_t)facts->parameters, "bytes",
        (json_int_t)facts->bytes, "flops", facts->flops, "batch",
        (json_int_t)facts->batch);

    if (json != NULL && weights &&
        json_object_set_new(json, "weight_list", json_of_weights(model)) != 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static iso_status_t print_json(const iso_model_t *model, const facts_t *facts,
                               bool weights)
{
    char *text = NULL;
    json_t *json = json_of_model(model, facts, weights);

    if (json == NULL) {
        return iso_fail(ISO_NOMEM, "out of memory: cannot print JSON");
    }
    iso_status_t status = iso_json_print(json, 2, &text);
    if (status == ISO_OK) {
        (void)printf("%s\n", text);
    }
    free(text);
    json_decref(json);
    return status;
}

/* -- the command -- */

static iso_status_t print_graph(const iso_graph_t *graph, const char *form)
{
    iso_text_t text = {0};

    if (strcmp(form, "dot") == 0) {
        iso_graph_print_dot(graph, &text);
    } else {
        iso_graph_print_text(graph, &text);
    }
    iso_status_t status = text.status;
    if (status == ISO_OK && text.data != NULL) {
        (void)fputs(text.data, stdout);
    }
    iso_text_free(&text);
    return status;
}

static iso_status_t print_facts(const iso_model_t *model,
                                const inspect_arguments_t *arguments)
{
    facts_t facts = {0};
    iso_status_t status = find_facts(model, arguments->batch, &facts);

    if (status == ISO_OK && arguments->json) {
        status = print_json(model, &facts, arguments->weights);
    } else if (status == ISO_OK) {
        print_lines(model, &facts, arguments->weights);
    }
    iso_free(facts.free_dims);
    return status;
}

static iso_status_t inspect(const inspect_arguments_t *arguments)
{
    iso_model_t *model = NULL;

    ISO_TRY(iso_model_open(arguments->path, &model));
    iso_status_t status =
        arguments->graph != NULL
            ? print_graph(iso_model_graph(model), arguments->graph)
            : print_facts(model, arguments);
    iso_model_close(&model);
    return status;
}

int iso_cmd_inspect(int argc, char **argv)
{
    inspect_arguments_t arguments = {.batch = 1};
    iso_status_t status = ISO_OK;

    argp_err_exit_status = iso_status_exit_code(ISO_INVAL);
    if (argp_parse(&inspect_argp, argc, argv, 0, NULL, &arguments) != 0) {
        status = iso_fail(ISO_INVAL, "bad usage; see isotome inspect --help");
    }
    if (status == ISO_OK) {
        status = complete(&arguments);
    }
    if (status == ISO_OK) {
        status = inspect(&arguments);
    }
    return status == ISO_OK ? 0 : iso_cmd_failed(status);
}
