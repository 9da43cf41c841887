#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "graph/pass.h"
#include "graph/print.h"
#include "plan/node_seconds.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/inspection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    OPT_BATCH = 256,
    OPT_GRAPH,
    OPT_JSON,
    OPT_WEIGHTS,
};

static const struct argp_option inspect_options[] = {
    {"batch", OPT_BATCH, "B", 0,
     "Count operations for B samples: the size that every free size is given "
     "(default 1)",
     0},
    {"graph", OPT_GRAPH, "text|dot", 0, "Print the graph instead", 0},
    {"json", OPT_JSON, NULL, 0, "Print the facts as JSON", 0},
    {"weights", OPT_WEIGHTS, NULL, 0, "List the weights too", 0},
    {0},
};

typedef struct inspect_arguments {
    const char *model;
    int64_t batch;
    const char *graph; /* "text", "dot" or NULL */
    bool json;
    bool weights;
} inspect_arguments_t;

static iso_status_t set_option(void *input, int key, const char *value)
{
    inspect_arguments_t *arguments = input;

    switch (key) {
    case OPT_BATCH:
        return iso_text_parse_int(value, "--batch", 1, INT32_MAX,
                                  &arguments->batch);
    case OPT_GRAPH:
        if (strcmp(value, "text") != 0 && strcmp(value, "dot") != 0) {
            return iso_fail(ISO_INVAL, "--graph: '%s', expected text or dot",
                            value);
        }
        arguments->graph = value;
        return ISO_OK;
    case OPT_JSON:
        arguments->json = true;
        return ISO_OK;
    default:
        arguments->weights = true;
        return ISO_OK;
    }
}

static const iso_syntax_t inspect_syntax = {
    .usage = "NET.h5",
    .operand = "model file",
    .options = inspect_options,
    .set = set_option,
    .doc = "Say what a model is, one fact a line.\v"
           "Only the model's description is read, not its weights.",
};

static iso_status_t read_arguments(int argc, char **argv,
                                   inspect_arguments_t *arguments)
{
    ISO_TRY(iso_arguments_parse(&inspect_syntax, argc, argv, arguments,
                                &arguments->model));
    if (arguments->graph != NULL && (arguments->json || arguments->weights)) {
        return iso_fail(ISO_INVAL, "--graph prints the graph alone: leave out "
                                   "--json and --weights");
    }
    return ISO_OK;
}

/* -- facts -- */

/* Operations with every free dim bound to the batch. */
static iso_status_t count_flops(const iso_graph_t *graph,
                                iso_inspection_t *inspection)
{
    iso_graph_t *bound = NULL;
    iso_binding_t *bindings =
        iso_alloc_zeroed((size_t)inspection->n_free, sizeof *bindings);

    if (bindings == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < inspection->n_free; i++) {
        bindings[i].name = inspection->free_dims[i];
        bindings[i].size = inspection->batch;
    }
    iso_status_t status =
        iso_graph_bind(graph, bindings, inspection->n_free, &bound);
    if (status == ISO_OK) {
        status = iso_graph_flops(bound, &inspection->flops);
    }
    iso_graph_destroy(&bound);
    iso_free(bindings);
    return status;
}

static iso_status_t find_facts(iso_inspection_t *inspection)
{
    const iso_graph_t *graph = iso_model_graph(inspection->model);

    inspection->facts = iso_facts_of(graph);
    ISO_TRY(iso_graph_free_dims(graph, &inspection->free_dims,
                                &inspection->n_free));
    return count_flops(graph, inspection);
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

static void print_lines(const iso_inspection_t *inspection)
{
    const iso_model_t *model = inspection->model;
    char number[ISO_TEXT_NUMBER_BYTES];

    (void)printf("model %s\n", iso_model_path(model));
    (void)printf("producer %s\n", iso_model_producer(model));
    (void)printf("root digest %016" PRIx64 "\n", iso_model_root_digest(model));
    print_interface(iso_model_graph(model));
    for (int i = 0; i < inspection->n_free; i++) {
        (void)printf("free %s\n", inspection->free_dims[i]);
    }
    iso_facts_print(&inspection->facts);
    (void)printf("flops %.0f (%s, batch %" PRId64 ")\n", inspection->flops,
                 iso_text_count(inspection->flops, number), inspection->batch);
    if (inspection->weights) {
        print_weights(model);
    }
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
    iso_inspection_t inspection = {.model = model,
                                   .batch = arguments->batch,
                                   .weights = arguments->weights};
    iso_status_t status = find_facts(&inspection);

    if (status == ISO_OK && arguments->json) {
        status = iso_inspection_print_json(&inspection);
    } else if (status == ISO_OK) {
        print_lines(&inspection);
    }
    iso_free(inspection.free_dims);
    return status;
}

static iso_status_t inspect(const inspect_arguments_t *arguments)
{
    iso_model_t *model = NULL;

    ISO_TRY(iso_model_open(arguments->model, &model));
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
    iso_status_t status = read_arguments(argc, argv, &arguments);

    if (status == ISO_OK) {
        status = inspect(&arguments);
    }
    return iso_cmd_end(status);
}
