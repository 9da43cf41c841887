#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "graph/print.h"
#include "io/h5_dataset.h"
#include "kernel/arith.h"
#include "model_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* -- attributes -- */

/* The newest is the one that this program writes. */
static iso_status_t read_version(hid_t file, const char *name, uint64_t oldest,
                                 uint64_t newest, uint64_t *found_out)
{
    ISO_TRY(iso_h5_get_u64(file, name, found_out));
    if (*found_out < oldest || *found_out > newest) {
        return iso_fail(ISO_INPUT,
                        "%s is %" PRIu64 ", this program has %" PRIu64
                        "; import the model again",
                        name, *found_out, newest);
    }
    return ISO_OK;
}

static iso_status_t read_attributes(iso_model_t *model)
{
    char text[ISO__MODEL_TEXT_BYTES] = "";
    uint64_t arithmetic = 0;

    if (!iso_h5_has_attr(model->file, "format") ||
        iso_h5_get_text(model->file, "format", text, sizeof text) != ISO_OK ||
        strcmp(text, ISO__MODEL_FORMAT) != 0) {
        return iso_fail(ISO_INPUT, "not an isotome model; 'isotome import' "
                                   "makes one of an ONNX file");
    }
    ISO_TRY(read_version(model->file, "format_version",
                         ISO__MODEL_OLDEST_VERSION, ISO__MODEL_FORMAT_VERSION,
                         &model->format_version));
    ISO_TRY(read_version(model->file, "arithmetic_version",
                         ISO_ARITHMETIC_VERSION, ISO_ARITHMETIC_VERSION,
                         &arithmetic));
    ISO_TRY(iso_h5_get_u64(model->file, "root_digest", &model->root_digest));
    ISO_TRY(iso_h5_get_text(model->file, "producer", text, sizeof text));
    model->producer = iso_arena_text(model->arena, text);
    return model->producer == NULL ? ISO_NOMEM : ISO_OK;
}

/* -- the graph -- */

/* Read the elements of /graph into an allocated text. */
static iso_status_t read_text(const iso_model_t *model, hid_t dataset,
                              hid_t type, char **text_out, size_t *length_out)
{
    uint64_t expected = 0;
    size_t length = H5Tget_size(type);
    hid_t space = H5Dget_space(dataset);
    hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);

    iso_h5_close(&space);
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ||
        count != 1) {
        return iso_fail(ISO_INPUT, "it is not one text of fixed length");
    }
    ISO_TRY(iso__model_check_storage(model, dataset, length));
    ISO_TRY(iso_h5_get_u64(dataset, "digest", &expected));
    char *text = iso_alloc(length);
    if (text == NULL) {
        return ISO_NOMEM;
    }
    iso_status_t status = ISO_OK;
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0) {
        status = iso_h5_fail(ISO_INPUT, "it cannot be read");
    } else if (iso_digest_of(text, length) != expected) {
        status = iso_fail(ISO_INPUT,
                          "its digest is %016" PRIx64 ", expected %016" PRIx64
                          "; the file is damaged",
                          iso_digest_of(text, length), expected);
    }
    if (status != ISO_OK) {
        iso_free(text);
        return status;
    }
    *text_out = text;
    *length_out = length;
    return ISO_OK;
}

static iso_status_t parse_graph(iso_model_t *model, const char *text,
                                size_t length)
{
    iso_json_t root = {0};

    ISO_TRY(iso_json_parse(text, length, "graph", &root));
    iso_status_t status = iso_graph_from_json(&root, &model->graph);
    json_decref(root.value);
    /* Whatever a graph can have wrong, here it is the file's. */
    return status == ISO_OK || status == ISO_NOMEM ? status : ISO_INPUT;
}

static iso_status_t read_graph(iso_model_t *model)
{
    hid_t dataset = H5I_INVALID_HID;
    hid_t type = H5I_INVALID_HID;
    char *text = NULL;
    size_t length = 0;

    ISO_TRY(iso_h5_dataset_open(model->file, "graph", &dataset));
    iso_status_t status = ISO_OK;
    type = H5Dget_type(dataset);
    if (type < 0) {
        status = iso_h5_fail(ISO_INPUT, "its type");
    } else {
        status = read_text(model, dataset, type, &text, &length);
    }
    if (status == ISO_OK) {
        status = parse_graph(model, text, length);
    }
    iso_free(text);
    iso_h5_close(&type);
    iso_h5_close(&dataset);
    return status;
}

/* -- graph against weights -- */

/* The weight of a param must be there and as the graph says. */
static iso_status_t check_node(const iso_model_t *model, const iso_node_t *node)
{
    if (node->op != ISO_OP_PARAM) {
        return ISO_OK;
    }
    const iso_weight_info_t *weight = iso_model_find(model, node->name);
    if (weight == NULL) {
        return iso_fail(ISO_INPUT, "weight '%s' is missing", node->name);
    }
    if (weight->dtype != node->dtype ||
        !iso_shape_equal(&weight->shape, &node->shape)) {
        char found[ISO_SHAPE_TEXT_BYTES];
        char expected[ISO_SHAPE_TEXT_BYTES];
        return iso_fail(ISO_INPUT, "weight '%s' is %s %s, the graph says %s %s",
                        node->name, iso_dtype_string(weight->dtype),
                        iso_shape_text(&weight->shape, found),
                        iso_dtype_string(node->dtype),
                        iso_shape_text(&node->shape, expected));
    }
    return ISO_OK;
}

static bool is_param(const iso_graph_t *graph, const char *name)
{
    iso_node_id_t id = iso_graph_find(graph, name);

    return id != ISO_NO_NODE && iso_graph_node(graph, id)->op == ISO_OP_PARAM;
}

static iso_status_t check_weights(const iso_model_t *model)
{
    for (int32_t i = 0; i < iso_graph_node_count(model->graph); i++) {
        ISO_TRY(check_node(model, iso_graph_node(model->graph, i)));
    }
    for (int i = 0; i < model->n_weights; i++) {
        if (!is_param(model->graph, model->weights[i].name)) {
            return iso_fail(ISO_INPUT, "weight '%s' is not in the graph",
                            model->weights[i].name);
        }
    }
    return ISO_OK;
}

static iso_status_t check_root_digest(const iso_model_t *model)
{
    uint64_t found = iso__model_digest(model->weights, model->n_weights,
                                       model->format_version);

    if (found != model->root_digest) {
        return iso_fail(ISO_INPUT,
                        "the weights' names, shapes and digests give the root "
                        "digest %016" PRIx64 ", expected %016" PRIx64
                        "; the file is damaged",
                        found, model->root_digest);
    }
    return ISO_OK;
}

/* -- open and close -- */

static iso_status_t read_metadata(iso_model_t *model)
{
    ISO_TRY(read_attributes(model));
    ISO_TRY(iso__model_list_weights(model));
    ISO_TRY(check_root_digest(model));
    iso_status_t status = read_graph(model);
    if (status != ISO_OK) {
        return iso_fail_context(status, "/graph");
    }
    return check_weights(model);
}

static iso_status_t open_model(const char *path, iso_model_t *model)
{
    ISO_TRY(iso_arena_create(&model->arena));
    model->path = iso_arena_text(model->arena, path);
    if (model->path == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(iso_h5_open(path, &model->file, &model->file_bytes));
    iso_status_t status = read_metadata(model);
    if (status != ISO_OK) {
        return iso_fail_context(status, "model '%s'", path);
    }
    return ISO_OK;
}

iso_status_t iso_model_open(const char *path, iso_model_t **model_out)
{
    iso_model_t *model = iso_alloc_zeroed(1, sizeof *model);

    *model_out = NULL;
    if (model == NULL) {
        return ISO_NOMEM;
    }
    model->file = H5I_INVALID_HID;
    iso_h5_scope_t scope = iso_h5_begin();
    iso_status_t status = open_model(path, model);
    iso_h5_end(&scope);
    if (status != ISO_OK) {
        iso_model_close(&model);
        return status;
    }
    *model_out = model;
    return ISO_OK;
}

void iso_model_close(iso_model_t **model)
{
    iso_model_t *closing = *model;

    if (closing == NULL) {
        return;
    }
    iso_h5_scope_t scope = iso_h5_begin();
    iso_h5_close(&closing->file);
    iso_h5_end(&scope);
    iso_graph_destroy(&closing->graph);
    iso_arena_destroy(&closing->arena);
    iso_free(closing);
    *model = NULL;
}

/* -- use -- */

const iso_graph_t *iso_model_graph(const iso_model_t *model)
{
    return model->graph;
}

const char *iso_model_path(const iso_model_t *model)
{
    return model->path;
}

const char *iso_model_producer(const iso_model_t *model)
{
    return model->producer;
}

uint64_t iso_model_root_digest(const iso_model_t *model)
{
    return model->root_digest;
}

int iso_model_weight_count(const iso_model_t *model)
{
    return model->n_weights;
}

const iso_weight_info_t *iso_model_weight(const iso_model_t *model, int index)
{
    return &model->weights[index];
}

static int compare_name(const void *name, const void *weight)
{
    return strcmp(name, ((const iso_weight_info_t *)weight)->name);
}

const iso_weight_info_t *iso_model_find(const iso_model_t *model,
                                        const char *name)
{
    if (model->n_weights == 0) {
        return NULL;
    }
    return bsearch(name, model->weights, (size_t)model->n_weights,
                   sizeof *model->weights, compare_name);
}

size_t iso_model_bytes_read(const iso_model_t *model)
{
    return model->bytes_read;
}
