#include "bench_program.h"

#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "bench.h"
#include "device/weight.h"
#include "plan/plan_local.h"

#include <stdio.h>
#include <stdlib.h>

struct bench_program {
    iso_partition_t *partition;
    iso_plan_local_t mine;
    iso_program_t *program;
    iso_weight_t **weights; /* (weights of the local graph) */
    void **inputs;          /* (nodes), NULL but for inputs */
};

/* ---- Leaves ---- */

/* As ort_bench.js makes them. */
static void *values_of(const iso_tensor_t *tensor)
{
    const int64_t count = iso_tensor_count(tensor);
    void *values = NULL;

    if (tensor->dtype == ISO_DTYPE_F32) {
        return bench_values(count);
    }
    values = bench_zeroed(iso_tensor_bytes(tensor), 1);
    for (int64_t i = 0; i < count; i++) {
        const int64_t step = i * 7919 % 1009;

        switch (tensor->dtype) {
        case ISO_DTYPE_U8:
            ((uint8_t *)values)[i] = (uint8_t)(step % 256);
            break;
        case ISO_DTYPE_I32:
            ((int32_t *)values)[i] = (int32_t)(step % 256);
            break;
        case ISO_DTYPE_I64:
            ((int64_t *)values)[i] = step;
            break;
        default:
            bench_need(iso_fail(ISO_UNSUPPORTED,
                                "inputs of %s are not made by the benches",
                                iso_dtype_string(tensor->dtype)));
        }
    }
    return values;
}

static void bind_inputs(bench_program_t *program)
{
    const iso_graph_t *graph = program->mine.local->graph;
    const iso_node_id_t n_nodes = iso_graph_node_count(graph);

    program->inputs = bench_zeroed((size_t)n_nodes, sizeof(void *));
    for (iso_node_id_t id = 0; id < n_nodes; id++) {
        if (iso_graph_node(graph, id)->op != ISO_OP_INPUT) {
            continue;
        }
        program->inputs[id] = values_of(iso_program_leaf(program->program, id));
        iso_program_bind_node(program->program, id, program->inputs[id]);
    }
}

static void load_weight(bench_program_t *program, iso_device_t *device,
                        iso_model_t *model, int index)
{
    const iso_local_t *local = program->mine.local;
    const iso_weight_part_t *part = &local->weights[index];
    const iso_node_id_t node = iso_graph_find(local->graph, part->node);
    const iso_tensor_t *leaf = iso_program_leaf(program->program, node);
    const iso_weight_info_t *info = iso_model_find(model, part->weight);
    iso_weight_uses_t uses = {.plain = false};
    void *data = NULL;

    ISO_ASSERT(part->slab.axis == ISO_AXIS_WHOLE);
    data = bench_zeroed(info->bytes, 1);
    bench_need(iso_model_read(model, info, data));
    bench_need(iso_program_uses(program->program, node, &uses));
    bench_need(
        iso_weight_create(device, leaf, &uses, &program->weights[index]));
    iso_weight_fill(program->weights[index], 0,
                    leaf->rank > 0 ? leaf->dims[0] : 1, data);
    iso_program_bind_weight(program->program, node, program->weights[index]);
    iso_free(data);
}

/* ---- Programs ---- */

bench_program_t *bench_program_create(iso_device_t *device, iso_model_t *model,
                                      const iso_plan_t *plan, int rank,
                                      int64_t samples)
{
    const iso_program_options_t options = {.buffer = NULL};
    bench_program_t *program = bench_zeroed(1, sizeof *program);

    bench_need(iso_plan_partition(plan, iso_model_graph(model), samples,
                                  &program->partition));
    bench_need(
        iso_plan_local_create(plan, program->partition, rank, &program->mine));

    const iso_local_t *local = program->mine.local;

    bench_need(
        iso_program_create(device, local->graph, &options, &program->program));
    program->weights =
        bench_zeroed((size_t)local->n_weights, sizeof(iso_weight_t *));
    for (int i = 0; i < local->n_weights; i++) {
        load_weight(program, device, model, i);
    }
    bind_inputs(program);
    return program;
}

void bench_program_run(bench_program_t *program)
{
    bench_need(iso_program_run(program->program));
}

const float *bench_program_output(const bench_program_t *program,
                                  int64_t *count_out)
{
    const iso_graph_t *graph = program->mine.local->graph;
    const iso_node_t *node =
        iso_graph_node(graph, iso_graph_output(graph, 0)->node);

    if (node->dtype != ISO_DTYPE_F32) {
        bench_need(iso_fail(ISO_UNSUPPORTED, "output '%s' is %s, not f32",
                            node->name, iso_dtype_string(node->dtype)));
    }
    *count_out = iso_shape_count(&node->shape);
    return iso_program_output(program->program, 0);
}

void bench_program_destroy(bench_program_t **program)
{
    bench_program_t *dead = *program;

    if (dead == NULL) {
        return;
    }

    const iso_local_t *local = dead->mine.local;

    for (int i = 0; i < local->n_weights; i++) {
        iso_weight_destroy(&dead->weights[i]);
    }
    for (iso_node_id_t id = 0; id < iso_graph_node_count(local->graph); id++) {
        iso_free(dead->inputs[id]);
    }
    iso_free(dead->weights);
    iso_free(dead->inputs);
    iso_program_destroy(&dead->program);
    iso_plan_local_free(&dead->mine);
    iso_partition_destroy(&dead->partition);
    iso_free(dead);
    *program = NULL;
}
