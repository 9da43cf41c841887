#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "graph/print.h"
#include "io/h5_dataset.h"
#include "kernel/arith.h"
#include "model_impl.h"

#include <stdlib.h>
#include <string.h>

/* A file on its way. */
typedef struct writer {
    const iso_graph_t *graph;
    const iso_weight_source_t *source;
    iso_draft_t *draft;
    hid_t file;
    hid_t group; /* /weights */
    int n_weights;
    iso_weight_info_t *weights; /* (n_weights), in name order */
} writer_t;

/* -- what to write -- */

/* Add a node to the list if it is a param. */
static iso_status_t list_node(writer_t *writer, const iso_node_t *node)
{
    if (node->op != ISO_OP_PARAM) {
        return ISO_OK;
    }
    iso_weight_info_t *weight = &writer->weights[writer->n_weights];
    *weight = (iso_weight_info_t){
        .name = node->name, .dtype = node->dtype, .shape = node->shape};
    if (iso_tensor_bytes_of(node->dtype, &node->shape, &weight->bytes) !=
        ISO_OK) {
        return iso_fail_context(ISO_INVAL, "weight '%s'", node->name);
    }
    writer->n_weights++;
    return ISO_OK;
}

/* List the params of the graph in name order. */
static iso_status_t list_params(writer_t *writer)
{
    int32_t n_nodes = iso_graph_node_count(writer->graph);

    writer->weights =
        iso_alloc_zeroed((size_t)n_nodes, sizeof *writer->weights);
    if (writer->weights == NULL) {
        return ISO_NOMEM;
    }
    for (int32_t i = 0; i < n_nodes; i++) {
        ISO_TRY(list_node(writer, iso_graph_node(writer->graph, i)));
    }
    iso__model_sort(writer->weights, writer->n_weights);
    return ISO_OK;
}

/* -- the parts of the file -- */

static iso_status_t create_weights_group(writer_t *writer)
{
    iso_status_t status = ISO_OK;
    hid_t creation = H5Pcreate(H5P_GROUP_CREATE);

    if (creation >= 0 && H5Pset_obj_track_times(creation, false) >= 0) {
        writer->group = H5Gcreate2(writer->file, "weights", H5P_DEFAULT,
                                   creation, H5P_DEFAULT);
    }
    if (writer->group < 0) {
        status = iso_h5_fail(ISO_IO, "cannot create /weights");
    }
    iso_h5_close(&creation);
    return status;
}

/* Get a weight from the source; it must be what the graph says. */
static iso_status_t get_weight(const writer_t *writer,
                               const iso_weight_info_t *weight,
                               iso_tensor_t *tensor)
{
    ISO_TRY(writer->source->get(writer->source->arg, weight->name, tensor));
    iso_shape_t shape = iso_tensor_shape(tensor);
    if (tensor->dtype != weight->dtype ||
        !iso_shape_equal(&shape, &weight->shape)) {
        char found[ISO_SHAPE_TEXT_BYTES];
        char expected[ISO_SHAPE_TEXT_BYTES];
        return iso_fail(ISO_INVAL, "it is %s %s, the graph says %s %s",
                        iso_dtype_string(tensor->dtype),
                        iso_shape_text(&shape, found),
                        iso_dtype_string(weight->dtype),
                        iso_shape_text(&weight->shape, expected));
    }
    return ISO_OK;
}

/* Write the elements and their digests. */
static iso_status_t fill_weight(iso_weight_info_t *weight,
                                const iso_tensor_t *tensor, hid_t dataset)
{
    int64_t rows = tensor->rank == 0 ? 1 : tensor->dims[0];

    weight->digest = iso_digest_of(tensor->data, weight->bytes);
    weight->part_digest =
        iso_digest_elements(tensor->data, iso_dtype_bytes(tensor->dtype), 0,
                            (size_t)iso_tensor_count(tensor));
    ISO_TRY(iso_h5_dataset_write(dataset, tensor, 0, rows, tensor->data));
    ISO_TRY(iso_h5_put_u64(dataset, "digest", weight->digest));
    return iso_h5_put_u64(dataset, "part_digest", weight->part_digest);
}

static iso_status_t write_weight(const writer_t *writer,
                                 iso_weight_info_t *weight)
{
    iso_tensor_t tensor = {0};
    iso_text_t link = {0};
    hid_t dataset = H5I_INVALID_HID;

    iso__model_link_of(weight->name, &link);
    iso_status_t status = link.status;
    if (status == ISO_OK) {
        status = get_weight(writer, weight, &tensor);
    }
    if (status == ISO_OK) {
        status =
            iso_h5_dataset_create(writer->group, link.data, &tensor, &dataset);
    }
    if (status == ISO_OK) {
        status = fill_weight(weight, &tensor, dataset);
    }
    if (status != ISO_OK) {
        (void)iso_fail_context(status, "weight '%s'", weight->name);
    }
    iso_h5_close(&dataset);
    iso_text_free(&link);
    return status == ISO_OK ? iso_draft_status(writer->draft) : status;
}

/* Store text as one string of fixed length, with its digest. */
static iso_status_t write_text(hid_t file, const char *text)
{
    size_t length = strlen(text);
    hid_t dataset = H5I_INVALID_HID;
    iso_status_t status = ISO_OK;
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t type = iso_h5_text_type(length);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);

    if (space >= 0 && type >= 0 && creation >= 0 &&
        H5Pset_obj_track_times(creation, false) >= 0) {
        dataset = H5Dcreate2(file, "graph", type, space, H5P_DEFAULT, creation,
                             H5P_DEFAULT);
    }
    if (dataset < 0 ||
        H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0) {
        status = iso_h5_fail(ISO_IO, "cannot write /graph");
    } else {
        status = iso_h5_put_u64(dataset, "digest", iso_digest_of(text, length));
    }
    iso_h5_close(&dataset);
    iso_h5_close(&creation);
    iso_h5_close(&type);
    iso_h5_close(&space);
    return status;
}

static iso_status_t write_graph(const writer_t *writer)
{
    json_t *json = NULL;
    char *text = NULL;

    ISO_TRY(iso_graph_to_json(writer->graph, &json));
    iso_status_t status = iso_json_print(json, 0, &text);
    if (status == ISO_OK) {
        status = write_text(writer->file, text);
    }
    free(text);
    json_decref(json);
    return status;
}

static iso_status_t write_attributes(const writer_t *writer)
{
    ISO_TRY(iso_h5_put_text(writer->file, "format", ISO__MODEL_FORMAT));
    ISO_TRY(iso_h5_put_u64(writer->file, "format_version",
                           ISO__MODEL_FORMAT_VERSION));
    ISO_TRY(iso_h5_put_u64(writer->file, "arithmetic_version",
                           ISO_ARITHMETIC_VERSION));
    ISO_TRY(iso_h5_put_text(writer->file, "producer", "isotome " ISO_VERSION));
    return iso_h5_put_u64(writer->file, "root_digest",
                          iso__model_digest(writer->weights, writer->n_weights,
                                            ISO__MODEL_FORMAT_VERSION));
}

/* -- the whole -- */

/* Take the disk space of everything now, so that a full disk is known before
 * hundreds of megabytes are written. */
static iso_status_t reserve(const writer_t *writer)
{
    size_t bytes = 0;

    for (int i = 0; i < writer->n_weights; i++) {
        if (writer->weights[i].bytes > INT64_MAX - bytes) {
            return iso_fail(ISO_INVAL, "the weights are over 2^63 bytes");
        }
        bytes += writer->weights[i].bytes;
    }
    return iso_draft_reserve(writer->draft, bytes);
}

static iso_status_t write_parts(writer_t *writer)
{
    ISO_TRY(reserve(writer));
    ISO_TRY(iso_h5_create(writer->draft, &writer->file));
    ISO_TRY(write_graph(writer));
    ISO_TRY(create_weights_group(writer));
    for (int i = 0; i < writer->n_weights; i++) {
        ISO_TRY(write_weight(writer, &writer->weights[i]));
    }
    return write_attributes(writer);
}

static iso_status_t write_file(writer_t *writer, const char *path)
{
    ISO_TRY(list_params(writer));
    ISO_TRY(iso_draft_create(path, true, &writer->draft));
    iso_status_t status = write_parts(writer);
    iso_h5_close(&writer->group);
    if (writer->file >= 0 && H5Fclose(writer->file) < 0 && status == ISO_OK) {
        status = iso_h5_fail(ISO_IO, "cannot close the file");
    }
    if (status != ISO_OK) {
        return iso_fail_context(status, "model '%s'", path);
    }
    ISO_TRY(iso_draft_sync(writer->draft));
    return iso_draft_publish(writer->draft);
}

iso_status_t iso_model_write(const char *path, const iso_graph_t *graph,
                             const iso_weight_source_t *source)
{
    writer_t writer = {.graph = graph,
                       .source = source,
                       .file = H5I_INVALID_HID,
                       .group = H5I_INVALID_HID};
    iso_h5_scope_t scope = iso_h5_begin();

    iso_status_t status = write_file(&writer, path);
    iso_draft_close(&writer.draft);
    iso_free(writer.weights);
    iso_h5_end(&scope);
    return status;
}
