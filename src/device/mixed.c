#include "base/log.h"
#include "base/mem.h"
#include "device/direct.h"
#include "device/mixed_impl.h"

#include <string.h>

/* ---- Life ---- */

static void destroy(iso_program_t *program)
{
    iso__mixed_t *mixed = (iso__mixed_t *)program;

    for (int s = 0; mixed->parts != NULL && s < mixed->segments->count; s++) {
        iso_program_destroy(&mixed->parts[s].program);
        iso_free(mixed->parts[s].outer);
        iso_free(mixed->parts[s].inner);
    }
    iso_free(mixed->parts);
    iso_segments_destroy(&mixed->segments);
    iso_free(mixed->values);
    iso_free(mixed->value_of);
    iso_free(mixed->leaves);
    iso_free(mixed->own_room);
    iso_free(mixed);
}

/* ---- Leaves ---- */

static iso_status_t add_uses(const iso__segment_t *part, iso_node_id_t param,
                             iso_weight_uses_t *uses)
{
    return part->inner[param] == ISO_NO_NODE
               ? ISO_OK
               : iso_program_uses(part->program, part->inner[param], uses);
}

static iso_status_t uses(const iso_program_t *program, iso_node_id_t param,
                         iso_weight_uses_t *uses)
{
    const iso__mixed_t *mixed = (const iso__mixed_t *)program;

    for (int s = 0; s < mixed->segments->count; s++) {
        ISO_TRY(add_uses(&mixed->parts[s], param, uses));
    }
    return ISO_OK;
}

static void bind_node(iso_program_t *program, iso_node_id_t node,
                      const void *data)
{
    iso__mixed_t *mixed = (iso__mixed_t *)program;

    mixed->leaves[node].data = (void *)data;
    for (int s = 0; s < mixed->segments->count; s++) {
        const iso__segment_t *part = &mixed->parts[s];

        if (part->inner[node] != ISO_NO_NODE) {
            iso_program_bind_node(part->program, part->inner[node], data);
        }
    }
}

static void bind_weight(iso_program_t *program, iso_node_id_t param,
                        const iso_weight_t *weight)
{
    iso__mixed_t *mixed = (iso__mixed_t *)program;

    mixed->leaves[param].data = iso_weight_plain(weight);
    for (int s = 0; s < mixed->segments->count; s++) {
        const iso__segment_t *part = &mixed->parts[s];

        if (part->inner[param] != ISO_NO_NODE) {
            iso_program_bind_weight(part->program, part->inner[param], weight);
        }
    }
}

static const iso_tensor_t *leaf(const iso_program_t *program,
                                iso_node_id_t node)
{
    return &((const iso__mixed_t *)program)->leaves[node];
}

/* ---- Running ---- */

static iso_status_t observe_part(void *arg, iso_node_id_t node,
                                 const iso_tensor_t *value)
{
    const iso__watch_t *watch = arg;

    return watch->mixed->observer(watch->mixed->observer_arg,
                                  watch->outer[node], value);
}

static void observe(iso_program_t *program, iso_program_observer_t *observer,
                    void *arg)
{
    iso__mixed_t *mixed = (iso__mixed_t *)program;

    mixed->observer = observer;
    mixed->observer_arg = arg;
    for (int s = 0; s < mixed->segments->count; s++) {
        iso__segment_t *part = &mixed->parts[s];

        iso_program_observe(part->program,
                            observer != NULL ? observe_part : NULL,
                            &part->watch);
    }
}

static iso_status_t begin(iso_program_t *program)
{
    iso__mixed_t *mixed = (iso__mixed_t *)program;

    for (int s = 0; s < mixed->segments->count; s++) {
        ISO_TRY(iso_program_begin(mixed->parts[s].program));
        mixed->parts[s].is_under_way = false;
    }
    mixed->at = 0;
    return ISO_OK;
}

/* Does what it made stay where it is until it runs again? */
static bool has_own_memory(const iso__segment_t *part)
{
    return part->program->kind->finish != NULL;
}

/* Copy what a segment made, once it is there. */
static iso_status_t hand_on(const iso__mixed_t *mixed, int segment)
{
    iso__segment_t *part = &mixed->parts[segment];

    if (!part->is_under_way) {
        return ISO_OK;
    }
    part->is_under_way = false;
    ISO_TRY(iso__program_finish(part->program));
    for (int i = 0; i < mixed->n_values; i++) {
        const iso__mixed_value_t *value = &mixed->values[i];

        if (value->segment == segment && !value->is_kept) {
            memcpy(mixed->room + value->offset,
                   iso_program_output(part->program, value->output),
                   value->bytes);
        }
    }
    return ISO_OK;
}

/*
 * A GPU may still compute while the next segment runs, if that needs nothing
 * of it: its values have memory of their own. One that works in the memory
 * that segments share hands on at once.
 */
static iso_status_t leave(const iso__mixed_t *mixed, int segment)
{
    iso__segment_t *part = &mixed->parts[segment];

    part->is_under_way = true;
    return has_own_memory(part) ? ISO_OK : hand_on(mixed, segment);
}

/* What a segment reads must have been handed on. */
static iso_status_t enter(const iso__mixed_t *mixed, int segment)
{
    const iso_partition_t *partition = mixed->segments->partition;
    const int n_boundaries = iso_partition_boundary_count(partition);

    if (mixed->base.skips) {
        iso_program_skip(mixed->parts[segment].program);
        return ISO_OK;
    }
    for (int i = 0; i < n_boundaries; i++) {
        const iso_boundary_t *one = iso_partition_boundary(partition, i);

        ISO_TRY(one->to_stage == segment ? hand_on(mixed, one->from_stage)
                                         : ISO_OK);
    }
    return ISO_OK;
}

/* To the next exchange, or to the end of one segment. */
static iso_status_t advance_part(iso__mixed_t *mixed, iso_pause_t *pause_out)
{
    const iso__segment_t *part = &mixed->parts[mixed->at];

    ISO_TRY(enter(mixed, mixed->at));
    ISO_TRY(iso__program_advance(part->program, pause_out));
    if (pause_out->node != ISO_NO_NODE) {
        pause_out->node = part->outer[pause_out->node];
        return ISO_OK;
    }
    mixed->at++;
    return mixed->base.skips ? ISO_OK : leave(mixed, mixed->at - 1);
}

static iso_status_t advance(iso_program_t *program, iso_pause_t *pause_out)
{
    iso__mixed_t *mixed = (iso__mixed_t *)program;

    *pause_out = (iso_pause_t){.node = ISO_NO_NODE};
    while (mixed->at < mixed->segments->count) {
        ISO_TRY(advance_part(mixed, pause_out));
        if (pause_out->node != ISO_NO_NODE) {
            return ISO_OK;
        }
    }
    for (int s = 0; !program->skips && s < mixed->segments->count; s++) {
        ISO_TRY(hand_on(mixed, s));
    }
    return ISO_OK;
}

static const void *output(const iso_program_t *program, int index)
{
    const iso__mixed_t *mixed = (const iso__mixed_t *)program;
    const iso_node_id_t node = iso_graph_output(program->graph, index)->node;
    const int32_t value = mixed->value_of[node];

    return value < 0 ? mixed->leaves[node].data
                     : mixed->room + mixed->values[value].offset;
}

/* ---- Direct ---- */

static iso__mixed_value_t *value_of_output(const iso__mixed_t *mixed, int index)
{
    const iso_node_id_t node = iso_graph_output(mixed->base.graph, index)->node;
    const int32_t value = mixed->value_of[node];

    ISO_ASSERT(value >= 0); /* no leaf */
    return &mixed->values[value];
}

static iso_device_t *maker(const iso_program_t *program, int index)
{
    const iso__mixed_t *mixed = (const iso__mixed_t *)program;
    const iso__mixed_value_t *value = value_of_output(mixed, index);

    return iso_program_maker(mixed->parts[value->segment].program,
                             value->output);
}

/* Does another segment read it? */
static bool crosses(const iso__mixed_t *mixed, const iso__mixed_value_t *value)
{
    const iso_partition_t *partition = mixed->segments->partition;
    const char *name = iso_graph_node(mixed->base.graph, value->node)->name;
    bool found = false;

    for (int i = 0; i < iso_partition_boundary_count(partition); i++) {
        found = found ||
                strcmp(iso_partition_boundary(partition, i)->name, name) == 0;
    }
    return found;
}

static void keep(iso_program_t *program, int index)
{
    const iso__mixed_t *mixed = (const iso__mixed_t *)program;
    iso__mixed_value_t *value = value_of_output(mixed, index);
    const iso__segment_t *part = &mixed->parts[value->segment];

    if (has_own_memory(part) && !crosses(mixed, value)) {
        iso_program_keep(part->program, value->output);
        value->is_kept = true;
    }
}

static iso_status_t put(const iso_program_t *program, int index, void *to)
{
    const iso__mixed_t *mixed = (const iso__mixed_t *)program;
    const iso__mixed_value_t *value = value_of_output(mixed, index);
    const iso__segment_t *part = &mixed->parts[value->segment];

    if (has_own_memory(part)) {
        return iso_program_put(part->program, value->output, to);
    }
    memcpy(to, mixed->room + value->offset, value->bytes);
    return ISO_OK;
}

/* Of the segments that read it, when all are on the same device. */
static iso_device_t *reader(const iso_program_t *program, iso_node_id_t input)
{
    const iso__mixed_t *mixed = (const iso__mixed_t *)program;
    iso_device_t *all = NULL;

    for (int s = 0; s < mixed->segments->count; s++) {
        const iso__segment_t *part = &mixed->parts[s];

        if (part->inner[input] == ISO_NO_NODE) {
            continue;
        }
        iso_device_t *one =
            iso_program_reader(part->program, part->inner[input]);

        if (one == NULL || (all != NULL && all != one)) {
            return NULL;
        }
        all = one;
    }
    return all;
}

static void bind_direct(iso_program_t *program, iso_node_id_t input,
                        const void *data)
{
    iso__mixed_t *mixed = (iso__mixed_t *)program;

    mixed->leaves[input].data = (void *)data;
    for (int s = 0; s < mixed->segments->count; s++) {
        const iso__segment_t *part = &mixed->parts[s];

        if (part->inner[input] != ISO_NO_NODE) {
            iso_program_bind_direct(part->program, part->inner[input], data);
        }
    }
}

static const iso__program_kind_t kind = {
    .destroy = destroy,
    .uses = uses,
    .bind_node = bind_node,
    .bind_weight = bind_weight,
    .leaf = leaf,
    .begin = begin,
    .advance = advance,
    .observe = observe,
    .output = output,
    .maker = maker,
    .keep = keep,
    .put = put,
    .reader = reader,
    .bind_direct = bind_direct,
};

/* A program whose segments are found; NULL when all is on one device, single.
 */
static iso_status_t start(const iso_device_t *device, const iso_graph_t *graph,
                          bool keeps_values, iso__mixed_t **mixed_out,
                          iso_device_t **single_out)
{
    iso__mixed_t *mixed = iso_alloc_zeroed(1, sizeof *mixed);

    *mixed_out = NULL;
    if (mixed == NULL) {
        return ISO_NOMEM;
    }
    mixed->base = (iso_program_t){
        .kind = &kind, .graph = graph, .keeps_values = keeps_values};
    mixed->device = device;

    const iso_status_t status = iso__mixed_find(mixed, single_out);

    if (status != ISO_OK || *single_out != NULL) {
        destroy(&mixed->base);
        return status;
    }
    *mixed_out = mixed;
    return ISO_OK;
}

iso_status_t iso__mixed_bytes(const iso_device_t *device,
                              const iso_graph_t *graph, bool keeps_values,
                              size_t *bytes_out)
{
    iso_device_t *single = NULL;
    iso__mixed_t *mixed = NULL;

    *bytes_out = 0;
    ISO_TRY(start(device, graph, keeps_values, &mixed, &single));
    if (mixed == NULL) {
        return iso_program_buffer_bytes(single, graph, keeps_values, bytes_out);
    }
    *bytes_out = mixed->room_bytes;
    destroy(&mixed->base);
    return ISO_OK;
}

iso_status_t iso__mixed_create(iso_device_t *device, const iso_graph_t *graph,
                               const iso_program_options_t *options,
                               iso_program_t **program_out)
{
    iso_device_t *single = NULL;
    iso__mixed_t *mixed = NULL;

    ISO_TRY(start(device, graph, options->keeps_values, &mixed, &single));
    if (mixed == NULL) {
        return iso_program_create(single, graph, options, program_out);
    }

    const iso_status_t status = iso__mixed_make(mixed, options);

    if (status != ISO_OK) {
        destroy(&mixed->base);
        return status;
    }
    *program_out = &mixed->base;
    return ISO_OK;
}
