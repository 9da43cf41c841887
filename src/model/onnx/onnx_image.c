/*
 * Image inputs: bytes in, and (x / scale - mean) / std as ordinary nodes
 * before the model's first.
 */
#include "isotome/error.h"

#include "model/onnx/onnx_impl.h"

#include <math.h>
#include <stdio.h>

static bool is_wanted(const iso_onnx_options_t *options)
{
    return options->scale != 0.0 || options->n_mean > 0 || options->n_std > 0;
}

static iso_status_t check_numbers(const iso_onnx_options_t *options)
{
    if (!isfinite(options->scale) || options->scale < 0.0) {
        return iso_fail(ISO_INVAL, "scale is %g, expected more than 0",
                        options->scale);
    }
    for (int i = 0; i < options->n_mean; i++) {
        if (!isfinite(options->mean[i])) {
            return iso_fail(ISO_INVAL, "mean %d is %g, expected a number", i,
                            options->mean[i]);
        }
    }
    for (int i = 0; i < options->n_std; i++) {
        if (!isfinite(options->std[i]) || options->std[i] <= 0.0) {
            return iso_fail(ISO_INVAL, "std %d is %g, expected more than 0", i,
                            options->std[i]);
        }
    }
    return ISO_OK;
}

static size_t rank_of(const Onnx__ValueInfoProto *proto)
{
    const Onnx__TypeProto *type = proto->type;
    bool has_shape = type != NULL &&
                     type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
                     type->tensor_type->shape != NULL;

    return has_shape ? type->tensor_type->shape->n_dim : 0;
}

iso_status_t iso__onnx_choose_image(iso__import_t *import)
{
    const Onnx__GraphProto *graph = import->model->graph;
    iso__value_t *only = NULL;
    iso__value_t *image = NULL;
    int n_inputs = 0;
    int n_images = 0;

    if (!is_wanted(import->options)) {
        return ISO_OK;
    }
    ISO_TRY(check_numbers(import->options));
    for (size_t i = 0; i < graph->n_input; i++) {
        iso__value_t *value = iso__onnx_value(import, graph->input[i]->name);

        if (value == NULL || value->initializer != NULL) {
            continue;
        }
        n_inputs++;
        only = value;
        if (rank_of(graph->input[i]) >= 3) {
            n_images++;
            image = value;
        }
    }
    import->image = n_inputs == 1 ? only : (n_images == 1 ? image : NULL);
    if (import->image == NULL) {
        return iso_fail(ISO_INVAL,
                        "scale, mean and std are for one image input; the "
                        "model has %d inputs, %d of them with 3 dims or more",
                        n_inputs, n_images);
    }
    return ISO_OK;
}

/* -- nodes -- */

/* One of the steps: its numbers, and the number that changes nothing. */
typedef struct step {
    const char *part;
    iso_op_t op;
    const double *values;
    int count;
    double neutral;
} step_t;

static bool changes_something(const step_t *step)
{
    for (int i = 0; i < step->count; i++) {
        if (step->values[i] != step->neutral) {
            return true;
        }
    }
    return false;
}

/* A constant of the step's numbers: a scalar, or [1, channels, 1, ...]. */
static iso_status_t step_constant(iso__import_t *import, const step_t *step,
                                  iso_dtype_t dtype, const iso_shape_t *input,
                                  iso_node_id_t *node_out)
{
    iso_tensor_t tensor = {.dtype = dtype};
    size_t size = iso_dtype_bytes(dtype);
    char part[32];

    (void)snprintf(part, sizeof part, "%s_by", step->part);
    if (step->count > 1) {
        iso_dim_t channels = input->rank > 1 ? input->dim[1] : iso_dim_of(0);
        char text[ISO_DIM_TEXT_BYTES];

        if (!iso_dim_equal(channels, iso_dim_of(step->count))) {
            return iso_fail(ISO_INVAL,
                            "%s has %d values, expected 1 or %s, the channels "
                            "of '%s'",
                            step->part, step->count,
                            iso_dim_text(channels, text), import->image->name);
        }
        tensor.rank = input->rank;
        for (int i = 0; i < tensor.rank; i++) {
            tensor.dims[i] = i == 1 ? step->count : 1;
        }
    }
    tensor.data = iso_arena_array(import->arena, (size_t)step->count, size);
    if (tensor.data == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < step->count; i++) {
        iso__onnx_store(dtype, step->values[i],
                        (char *)tensor.data + (size_t)i * size);
    }
    return iso_graph_add_constant(
        import->graph, iso__onnx_name(import, import->image->name, part),
        &tensor, node_out);
}

static iso_status_t add_step(iso__import_t *import, const step_t *step,
                             const iso_shape_t *input, iso_node_id_t *node)
{
    iso_node_id_t inputs[2] = {*node, ISO_NO_NODE};
    iso_dtype_t dtype = iso_graph_node(import->graph, *node)->dtype;
    iso__draft_t draft;

    if (!changes_something(step)) {
        return ISO_OK;
    }
    ISO_TRY(step_constant(import, step, dtype, input, &inputs[1]));
    iso__draft_begin(&draft, step->op, 2, inputs);
    return iso__onnx_add(
        import, iso__onnx_name(import, import->image->name, step->part), &draft,
        node);
}

static iso_status_t add_steps(iso__import_t *import, iso_dtype_t dtype,
                              const iso_shape_t *shape, iso_node_id_t *node)
{
    const iso_onnx_options_t *options = import->options;
    const step_t steps[] = {
        {"scale", ISO_OP_DIV, &options->scale, options->scale == 0.0 ? 0 : 1,
         1.0},
        {"mean", ISO_OP_SUB, options->mean, options->n_mean, 0.0},
        {"std", ISO_OP_DIV, options->std, options->n_std, 1.0},
    };
    iso__draft_t draft;

    if (dtype != ISO_DTYPE_F32 && dtype != ISO_DTYPE_F64) {
        return iso_fail(ISO_INVAL,
                        "scale, mean and std need an input of floats, '%s' is "
                        "%s",
                        import->image->name, iso_dtype_string(dtype));
    }
    iso__draft_begin(&draft, ISO_OP_CAST, 1, &(const iso_node_id_t){*node});
    iso__draft_text(&draft, "to", iso_dtype_string(dtype));
    ISO_TRY(iso__onnx_add(import,
                          iso__onnx_name(import, import->image->name, "float"),
                          &draft, node));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        ISO_TRY(add_step(import, &steps[i], shape, node));
    }
    return ISO_OK;
}

iso_status_t iso__onnx_add_input(iso__import_t *import, iso__value_t *value,
                                 iso_dtype_t dtype, const iso_shape_t *shape)
{
    bool is_image = value == import->image;

    ISO_TRY(iso_graph_add_input(import->graph, value->name,
                                is_image ? ISO_DTYPE_U8 : dtype, shape,
                                &value->node));
    return is_image ? add_steps(import, dtype, shape, &value->node) : ISO_OK;
}
