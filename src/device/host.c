#include "base/clock.h"
#include "base/mem.h"
#include "device/host_impl.h"

#include <string.h>

iso_status_t iso__host_bytes(const iso_device_t *device,
                             const iso_graph_t *graph, bool keeps_values,
                             size_t *bytes_out)
{
    iso_formats_t formats = {0};
    iso_memory_plan_t plan = {0};
    iso_status_t status = ISO_OK;

    if (device->kind->has_formats) {
        ISO_TRY(iso_formats_create(graph, !keeps_values, &formats));
    }
    status = iso_memory_plan_create(
        graph, device->kind->has_formats ? &formats : NULL, &plan);
    *bytes_out = plan.total_bytes;
    iso_memory_plan_free(&plan);
    iso_formats_free(&formats);
    return status;
}

/* ---- Running ---- */

static iso_status_t begin(iso_program_t *program)
{
    iso__host_t *host = (iso__host_t *)program;

    if (!host->is_bound) {
        ISO_TRY(iso__host_finish_binding(host));
    }
    host->next = 0;
    host->paused = NULL;
    return ISO_OK;
}

static void observe(iso_program_t *program, iso_program_observer_t *observer,
                    void *arg)
{
    iso__host_t *host = (iso__host_t *)program;

    host->observer = observer;
    host->observer_arg = arg;
}

/* The step's value is there: show it, plain. */
static iso_status_t finish_step(const iso__host_t *program,
                                const iso__step_t *step)
{
    iso_tensor_t value = program->values[step->node];

    if (program->observer == NULL || program->base.skips) {
        return ISO_OK;
    }
    if (iso__host_made(program, step->node) == ISO_FORMAT_BLOCKED) {
        value.data = program->seen;
        program->device->kind->convert(program->device,
                                       &program->values[step->node],
                                       ISO_FORMAT_PLAIN, &value);
    }
    return program->observer(program->observer_arg, step->node, &value);
}

/* A throttled device computes nothing faster than it is said to. */
static iso_status_t compute(const iso_device_t *device, const iso__step_t *step)
{
    const double end_s =
        step->least_s > 0.0 ? iso_clock_s() + step->least_s : 0.0;
    const iso_status_t status = device->kind->run(device, &step->what);

    if (step->least_s > 0.0) {
        iso_clock_wait(end_s);
    }
    return status;
}

static iso_status_t run_step(const iso__host_t *program,
                             const iso__step_t *step)
{
    const iso_format_t made = iso__host_made(program, step->node);

    if (program->base.skips) {
        return ISO_OK;
    }
    if (step->kind == ISO__STEP_CONVERT) {
        program->device->kind->convert(
            program->device, &program->values[step->node],
            made == ISO_FORMAT_PLAIN ? ISO_FORMAT_BLOCKED : ISO_FORMAT_PLAIN,
            &program->copies[step->node]);
        return ISO_OK;
    }
    ISO_TRY(compute(program->device, step));
    return finish_step(program, step);
}

/* To the next exchange: program->paused, NULL at the end. */
static iso_status_t run_steps(iso__host_t *program)
{
    const iso__step_t *step = program->paused;

    program->paused = NULL;
    if (step != NULL) {
        ISO_TRY(finish_step(program, step));
    }
    while (program->next < program->n_steps) {
        step = &program->steps[program->next++];
        if (step->kind == ISO__STEP_EXCHANGE) {
            program->paused = step;
            return ISO_OK;
        }
        ISO_TRY(run_step(program, step));
    }
    return ISO_OK;
}

static iso_pause_t pause_at(const iso__host_t *program, const iso__step_t *step)
{
    if (step == NULL) {
        return (iso_pause_t){.node = ISO_NO_NODE};
    }

    const int n_inputs =
        iso_graph_node(program->base.graph, step->node)->n_inputs;

    return (iso_pause_t){.node = step->node,
                         .number = step->exchange,
                         .input = n_inputs > 0 ? step->what.inputs[0] : NULL,
                         .output = &program->values[step->node]};
}

static iso_status_t advance(iso_program_t *program, iso_pause_t *pause_out)
{
    iso__host_t *host = (iso__host_t *)program;

    ISO_TRY(run_steps(host));
    *pause_out = pause_at(host, host->paused);
    return ISO_OK;
}

static const void *output(const iso_program_t *program, int index)
{
    const iso__host_t *host = (const iso__host_t *)program;
    const iso_node_id_t node = iso_graph_output(program->graph, index)->node;

    return iso__host_made(host, node) == ISO_FORMAT_PLAIN
               ? host->values[node].data
               : host->copies[node].data;
}

/* ---- Direct: its memory is the host's ---- */

static iso_device_t *direct_device(const iso__host_t *host)
{
    return host->device->is_direct ? host->device : NULL;
}

static iso_device_t *maker(const iso_program_t *program, int index)
{
    (void)index;
    return direct_device((const iso__host_t *)program);
}

static iso_device_t *reader(const iso_program_t *program, iso_node_id_t input)
{
    (void)input;
    return direct_device((const iso__host_t *)program);
}

static void keep(iso_program_t *program, int index)
{
    (void)program;
    (void)index;
}

static iso_status_t put(const iso_program_t *program, int index, void *to)
{
    const iso__host_t *host = (const iso__host_t *)program;
    const iso_node_id_t node = iso_graph_output(program->graph, index)->node;

    memcpy(to, output(program, index), iso_tensor_bytes(&host->values[node]));
    return ISO_OK;
}

/* ---- Life ---- */

static void destroy(iso_program_t *program)
{
    iso__host_t *host = (iso__host_t *)program;

    for (iso_node_id_t id = 0;
         host->bound != NULL && id < iso_graph_node_count(program->graph);
         id++) {
        iso_weight_destroy(&host->bound[id].own);
    }
    iso_free(host->bound);
    iso_free(host->seen);
    iso_free(host->read);
    iso_free(host->views);
    iso_free(host->links);
    iso_free(host->link_inputs);
    iso_free(host->inputs);
    iso_free(host->steps);
    iso_free(host->copies);
    iso_free(host->values);
    iso_free(host->own_buffer);
    iso_formats_free(&host->formats);
    iso_memory_plan_free(&host->plan);
    iso_free(host);
}

static const iso__program_kind_t kind = {
    .destroy = destroy,
    .uses = iso__host_uses,
    .bind_node = iso__host_bind_node,
    .bind_weight = iso__host_bind_weight,
    .leaf = iso__host_leaf,
    .begin = begin,
    .advance = advance,
    .observe = observe,
    .output = output,
    .maker = maker,
    .keep = keep,
    .put = put,
    .reader = reader,
    .bind_direct = iso__host_bind_node,
};

iso_status_t iso__host_create(iso_device_t *device, const iso_graph_t *graph,
                              const iso_program_options_t *options,
                              iso_program_t **program_out)
{
    iso__host_t *host = iso_alloc_zeroed(1, sizeof *host);

    if (host == NULL) {
        return ISO_NOMEM;
    }
    host->base.kind = &kind;
    host->base.graph = graph;
    host->base.keeps_values = options->keeps_values;
    host->device = device;

    const iso_status_t status = iso__host_make(host, options);

    if (status != ISO_OK) {
        destroy(&host->base);
        return status;
    }
    *program_out = &host->base;
    return ISO_OK;
}
