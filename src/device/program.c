#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "device/program_impl.h"

iso_status_t iso_program_buffer_bytes(const iso_device_t *device,
                                      const iso_graph_t *graph,
                                      bool keeps_values, size_t *bytes_out)
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

/* ---- Making ---- */

iso_status_t iso_program_create(iso_device_t *device, const iso_graph_t *graph,
                                const iso_program_options_t *options,
                                iso_program_t **program_out)
{
    iso_program_t *program = iso_alloc_zeroed(1, sizeof *program);
    iso_status_t status;

    if (program == NULL) {
        return ISO_NOMEM;
    }
    program->device = device;
    program->graph = graph;
    status = iso__program_make(program, options);
    if (status != ISO_OK) {
        iso_program_destroy(&program);
        return status;
    }
    *program_out = program;
    return ISO_OK;
}

void iso_program_destroy(iso_program_t **program)
{
    iso_program_t *p = *program;

    if (p == NULL) {
        return;
    }
    for (iso_node_id_t id = 0;
         p->bound != NULL && id < iso_graph_node_count(p->graph); id++) {
        iso_weight_destroy(&p->bound[id].own);
    }
    iso_free(p->bound);
    iso_free(p->seen);
    iso_free(p->read);
    iso_free(p->views);
    iso_free(p->links);
    iso_free(p->link_inputs);
    iso_free(p->inputs);
    iso_free(p->steps);
    iso_free(p->copies);
    iso_free(p->values);
    iso_free(p->own_buffer);
    iso_formats_free(&p->formats);
    iso_memory_plan_free(&p->plan);
    iso_free(p);
    *program = NULL;
}

/* ---- Running ---- */

iso_status_t iso_program_begin(iso_program_t *program)
{
    if (!program->is_bound) {
        ISO_TRY(iso__program_finish_binding(program));
    }
    program->next = 0;
    program->paused = NULL;
    program->failed = false;
    program->skips = false;
    return ISO_OK;
}

void iso_program_skip(iso_program_t *program)
{
    program->skips = true;
}

void iso_program_observe(iso_program_t *program,
                         iso_program_observer_t *observer, void *arg)
{
    ISO_ASSERT(observer == NULL || program->keeps_values);
    program->observer = observer;
    program->observer_arg = arg;
}

/* The step's value is there: show it, plain. */
static iso_status_t finish_step(const iso_program_t *program,
                                const iso__step_t *step)
{
    iso_tensor_t value = program->values[step->node];

    if (program->observer == NULL || program->skips) {
        return ISO_OK;
    }
    if (iso__program_made(program, step->node) == ISO_FORMAT_BLOCKED) {
        value.data = program->seen;
        program->device->kind->convert(program->device,
                                       &program->values[step->node],
                                       ISO_FORMAT_PLAIN, &value);
    }
    return program->observer(program->observer_arg, step->node, &value);
}

static iso_status_t run_step(const iso_program_t *program,
                             const iso__step_t *step)
{
    const iso_format_t made = iso__program_made(program, step->node);

    if (program->skips) {
        return ISO_OK;
    }
    if (step->kind == ISO__STEP_CONVERT) {
        program->device->kind->convert(
            program->device, &program->values[step->node],
            made == ISO_FORMAT_PLAIN ? ISO_FORMAT_BLOCKED : ISO_FORMAT_PLAIN,
            &program->copies[step->node]);
        return ISO_OK;
    }
    ISO_TRY(program->device->kind->run(program->device, &step->what));
    return finish_step(program, step);
}

/* To the next exchange: program->paused, NULL at the end. */
static iso_status_t run_steps(iso_program_t *program)
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

static iso_pause_t pause_at(const iso_program_t *program,
                            const iso__step_t *step)
{
    if (step == NULL) {
        return (iso_pause_t){.node = ISO_NO_NODE};
    }

    const int n_inputs = iso_graph_node(program->graph, step->node)->n_inputs;

    return (iso_pause_t){.node = step->node,
                         .number = step->exchange,
                         .input = n_inputs > 0 ? step->what.inputs[0] : NULL,
                         .output = &program->values[step->node]};
}

iso_status_t iso_program_advance(iso_program_t *program, iso_pause_t *pause_out)
{
    iso_status_t status;

    ISO_ASSERT(program->is_bound);
    ISO_ASSERT(!program->failed || program->skips);
    status = run_steps(program);
    program->failed = program->failed || status != ISO_OK;
    if (status == ISO_OK) {
        *pause_out = pause_at(program, program->paused);
    }
    return status;
}

iso_status_t iso_program_run(iso_program_t *program)
{
    iso_pause_t pause;

    ISO_TRY(iso_program_begin(program));
    ISO_TRY(iso_program_advance(program, &pause));
    if (pause.node != ISO_NO_NODE) {
        return iso_fail(ISO_INVAL,
                        "node '%s' is an exchange between workers; run this "
                        "program from exchange to exchange",
                        iso_graph_node(program->graph, pause.node)->name);
    }
    return ISO_OK;
}

const void *iso_program_output(const iso_program_t *program, int index)
{
    const iso_node_id_t node = iso_graph_output(program->graph, index)->node;

    return iso__program_made(program, node) == ISO_FORMAT_PLAIN
               ? program->values[node].data
               : program->copies[node].data;
}
