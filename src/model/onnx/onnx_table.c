/* The table of operators, and what a model asks for that is not in it. */
#include "isotome/error.h"

#include "base/text.h"
#include "model/onnx/onnx_impl.h"

#include <string.h>

static const iso__onnx_entry_t *const lists[] = {
    iso__onnx_elementwise, iso__onnx_contract, iso__onnx_shape,
    iso__onnx_range,       iso__onnx_reduce,   iso__onnx_norm,
    iso__onnx_pool,        iso__onnx_move,     iso__onnx_resize,
};

static bool is_standard(const char *domain)
{
    return domain == NULL || domain[0] == '\0' ||
           strcmp(domain, "ai.onnx") == 0;
}

const iso__onnx_entry_t *iso__onnx_find(const Onnx__NodeProto *proto,
                                        int64_t opset)
{
    if (proto->op_type == NULL || !is_standard(proto->domain)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const iso__onnx_entry_t *entry = lists[i];

        while (entry->type != NULL &&
               (strcmp(entry->type, proto->op_type) != 0 ||
                opset < entry->least_opset || opset > entry->most_opset)) {
            entry++;
        }
        if (entry->type != NULL) {
            return entry;
        }
    }
    return NULL;
}

const char *iso__onnx_node_name(const Onnx__NodeProto *proto)
{
    if (proto->name != NULL && proto->name[0] != '\0') {
        return proto->name;
    }
    return proto->n_output > 0 ? proto->output[0] : "";
}

/* "Loop 'a'", "com.microsoft.Gelu 'b'". */
static void name_operator(const Onnx__NodeProto *proto, iso_text_t *text)
{
    bool standard = is_standard(proto->domain);

    iso_text_add(text, "%s%s%s%s '%s'", text->length == 0 ? "" : ", ",
                 standard ? "" : proto->domain, standard ? "" : ".",
                 proto->op_type != NULL ? proto->op_type : "",
                 iso__onnx_node_name(proto));
}

iso_status_t iso__onnx_check_operators(const iso__import_t *import)
{
    enum { MOST_NAMED = 20 };
    const Onnx__GraphProto *graph = import->model->graph;
    iso_text_t text = {0};
    size_t count = 0;
    iso_status_t status;

    for (size_t i = 0; i < graph->n_node; i++) {
        if (iso__onnx_find(graph->node[i], import->opset) == NULL) {
            count++;
            if (count <= MOST_NAMED) {
                name_operator(graph->node[i], &text);
            }
        }
    }
    if (count > MOST_NAMED) {
        iso_text_add(&text, " and %zu more", count - MOST_NAMED);
    }
    status = text.status;
    if (status == ISO_OK && count > 0) {
        status = iso_fail(ISO_UNSUPPORTED,
                          "%zu operator%s not supported in opset %lld: %s",
                          count, count == 1 ? " is" : "s are",
                          (long long)import->opset, text.data);
    }
    iso_text_free(&text);
    return status;
}
