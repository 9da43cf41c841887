/* ONNX import from the path to the finished graph. */
#include "isotome/onnx.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "kernel/features.h"
#include "kernel/ref.h"
#include "model/onnx/onnx_impl.h"

#include <string.h>

struct iso_onnx {
    iso_graph_t *graph;
    iso_weights_t *weights;
    int64_t n_operators; /* of the file */
};

/* -- conversion -- */

static iso_status_t opset_of(const Onnx__ModelProto *model, int64_t *opset_out)
{
    *opset_out = 0;
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const char *domain = model->opset_import[i]->domain;

        if (domain == NULL || domain[0] == '\0' ||
            strcmp(domain, "ai.onnx") == 0) {
            *opset_out = model->opset_import[i]->version;
        }
    }
    if (!model->has_ir_version || model->graph == NULL || *opset_out == 0) {
        return iso_fail(ISO_INPUT,
                        "not an ONNX model, or damaged: it has no %s",
                        !model->has_ir_version ? "version"
                        : model->graph == NULL ? "graph"
                                               : "opset");
    }
    if (*opset_out < ISO__LEAST_OPSET || *opset_out > ISO__MOST_OPSET) {
        return iso_fail(ISO_UNSUPPORTED, "opset %lld, expected %d to %d",
                        (long long)*opset_out, (int)ISO__LEAST_OPSET,
                        (int)ISO__MOST_OPSET);
    }
    return ISO_OK;
}

static iso_status_t convert_model(iso__import_t *import, iso_onnx_t *onnx)
{
    ISO_TRY(opset_of(import->model, &import->opset));
    ISO_TRY(iso_dim_parse("N", &import->batch));
    ISO_TRY(iso_arena_create(&import->arena));
    ISO_TRY(iso_graph_create(&onnx->graph));
    ISO_TRY(iso_weights_create(&onnx->weights));
    import->graph = onnx->graph;
    import->weights = onnx->weights;
    onnx->n_operators = (int64_t)import->model->graph->n_node;
    ISO_TRY(iso__onnx_values_create(import));
    return iso__onnx_convert(import);
}

static iso_status_t convert_file(const char *path,
                                 const iso_onnx_options_t *options,
                                 iso_onnx_t *onnx)
{
    iso__import_t import = {.path = path, .options = options};
    Onnx__ModelProto *model = NULL;
    iso_status_t status;

    ISO_TRY(iso__onnx_file_read(path, &model));
    import.model = model;
    status = convert_model(&import, onnx);
    iso__onnx_values_destroy(&import);
    iso_arena_destroy(&import.arena);
    iso__onnx_file_free(&model);
    return status == ISO_OK ? ISO_OK : iso_fail_context(status, "'%s'", path);
}

/* -- passes -- */

/* A pass made next from the graph: it takes its place. */
static void replace(iso_onnx_t *onnx, iso_graph_t *next)
{
    iso_graph_destroy(&onnx->graph);
    onnx->graph = next;
}

static iso_status_t optimize(iso_onnx_t *onnx)
{
    const iso_features_t features = iso_features_of_cpu();
    iso_graph_t *next = NULL;

    ISO_TRY(iso_features_check(&features)); /* folding computes */
    ISO_TRY(iso_graph_prune(onnx->graph, &next));
    replace(onnx, next);
    ISO_TRY(iso_graph_fold(onnx->graph, iso_ref_run, onnx->weights, &next));
    replace(onnx, next);
    ISO_TRY(iso_graph_fuse(onnx->graph, onnx->weights, &next));
    replace(onnx, next);
    ISO_TRY(iso_graph_prune(onnx->graph, &next));
    replace(onnx, next);
    return iso_graph_mark_layers(onnx->graph);
}

/* -- entries -- */

iso_status_t iso_onnx_import(const char *path,
                             const iso_onnx_options_t *options,
                             iso_onnx_t **onnx_out)
{
    static const iso_onnx_options_t no_options = {0};
    iso_onnx_t *onnx = iso_alloc_zeroed(1, sizeof *onnx);
    iso_status_t status;

    *onnx_out = NULL;
    if (onnx == NULL) {
        return ISO_NOMEM;
    }
    status = convert_file(path, options == NULL ? &no_options : options, onnx);
    if (status == ISO_OK) {
        status = optimize(onnx);
    }
    if (status != ISO_OK) {
        iso_onnx_destroy(&onnx);
        return status;
    }
    *onnx_out = onnx;
    return ISO_OK;
}

void iso_onnx_destroy(iso_onnx_t **onnx)
{
    if (*onnx != NULL) {
        iso_graph_destroy(&(*onnx)->graph);
        iso_weights_destroy(&(*onnx)->weights);
        iso_free(*onnx);
        *onnx = NULL;
    }
}

const iso_graph_t *iso_onnx_graph(const iso_onnx_t *onnx)
{
    return onnx->graph;
}

int64_t iso_onnx_operator_count(const iso_onnx_t *onnx)
{
    return onnx->n_operators;
}

static iso_status_t get_weight(void *arg, const char *name,
                               iso_tensor_t *tensor_out)
{
    const iso_tensor_t *tensor = iso_weights_find(arg, name);

    if (tensor == NULL) {
        return iso_fail(ISO_INVAL, "weight '%s' is not in the model", name);
    }
    *tensor_out = *tensor;
    return ISO_OK;
}

iso_weight_source_t iso_onnx_weights(const iso_onnx_t *onnx)
{
    return (iso_weight_source_t){.get = get_weight, .arg = onnx->weights};
}
