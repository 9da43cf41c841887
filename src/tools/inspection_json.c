/* An inspection as JSON. A NULL goes through to where the whole is printed. */
#include "tools/inspection.h"
#include "tools/print_json.h"

#include <inttypes.h>
#include <stdio.h>

/* Takes both over; gives the array, or NULL when either is. */
static json_t *append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static json_t *json_of_digest(uint64_t digest)
{
    char text[20];

    (void)snprintf(text, sizeof text, "%016" PRIx64, digest);
    return json_string(text);
}

static json_t *json_of_shape(const iso_shape_t *shape)
{
    json_t *json = json_array();

    for (int i = 0; i < shape->rank; i++) {
        iso_dim_t dim = shape->dim[i];
        json = append(json, iso_dim_is_static(dim) ? json_integer(dim.size)
                                                   : json_string(dim.sym));
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
        if (node->op == ISO_OP_INPUT) {
            json = append(json, json_of_value(node->name, node));
        }
    }
    return json;
}

static json_t *json_of_outputs(const iso_graph_t *graph)
{
    json_t *json = json_array();

    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_output_t *output = iso_graph_output(graph, i);
        json = append(json, json_of_value(output->name,
                                          iso_graph_node(graph, output->node)));
    }
    return json;
}

static json_t *json_of_free(const iso_inspection_t *inspection)
{
    json_t *json = json_array();

    for (int i = 0; i < inspection->n_free; i++) {
        json = append(json, json_string(inspection->free_dims[i]));
    }
    return json;
}

static json_t *json_of_weights(const iso_model_t *model)
{
    json_t *json = json_array();

    for (int i = 0; i < iso_model_weight_count(model); i++) {
        const iso_weight_info_t *weight = iso_model_weight(model, i);
        json = append(json, json_pack("{s:s, s:s, s:o, s:I, s:o}", "name",
                                      weight->name, "dtype",
                                      iso_dtype_string(weight->dtype), "shape",
                                      json_of_shape(&weight->shape), "bytes",
                                      (json_int_t)weight->bytes, "digest",
                                      json_of_digest(weight->digest)));
    }
    return json;
}

static json_t *json_of(const iso_inspection_t *inspection)
{
    const iso_model_t *model = inspection->model;
    const iso_graph_t *graph = iso_model_graph(model);
    const iso_facts_t *facts = &inspection->facts;
    json_t *json = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:I, s:I, s:I, s:I, s:f, s:I}",
        "model", iso_model_path(model), "producer", iso_model_producer(model),
        "root_digest", json_of_digest(iso_model_root_digest(model)), "inputs",
        json_of_inputs(graph), "outputs", json_of_outputs(graph), "free",
        json_of_free(inspection), "layers", facts->layers, "nodes",
        (json_int_t)facts->nodes, "weights", (json_int_t)facts->weights,
        "parameters", (json_int_t)facts->parameters, "bytes",
        (json_int_t)facts->bytes, "flops", inspection->flops, "batch",
        (json_int_t)inspection->batch);

    if (json != NULL && inspection->weights &&
        json_object_set_new(json, "weight_list", json_of_weights(model)) != 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

iso_status_t iso_inspection_print_json(const iso_inspection_t *inspection)
{
    return iso_print_json(json_of(inspection));
}
