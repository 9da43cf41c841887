/*
 * A program of several devices: one for each segment (plan/segments.h), run
 * one after the other. What leaves a segment is copied to a place where later
 * ones, and the caller, find it; it stays there until its last use.
 */
#include "base/log.h"
#include "base/mem.h"
#include "device/program_impl.h"
#include "plan/segments.h"
#include "tensor/copy.h"

#include <string.h>

enum { ALIGNMENT = 64 };

/* What a segment hands on. */
typedef struct value {
    int segment;        /* that makes it */
    int output;         /* of its graph */
    iso_node_id_t node; /* of the whole */
    int last;           /* segment that reads it; the count: the caller */
    size_t bytes;
    size_t offset;
} value_t;

/* Where a sub-program's nodes are in the whole, for its observer. */
typedef struct watch {
    const struct mixed *mixed;
    const iso_node_id_t *outer;
} watch_t;

typedef struct segment {
    const iso_graph_t *graph;
    iso_program_t *program;
    iso_node_id_t *outer; /* (nodes of graph) in the whole */
    iso_node_id_t *inner; /* (nodes of the whole) leaves here; ISO_NO_NODE */
    watch_t watch;
} segment_t;

typedef struct mixed {
    iso_program_t base;
    iso_device_t *device;
    iso_segments_t *segments;
    segment_t *parts; /* (segments->count) */
    int n_values;
    value_t *values;      /* (n_values) by segment */
    int32_t *value_of;    /* (nodes of the whole) -1: none */
    iso_tensor_t *leaves; /* (nodes of the whole) */
    size_t values_bytes;  /* then comes what one segment needs at a time */
    size_t room_bytes;    /* in all */
    char *room;
    void *own_room; /* NULL when lent */
    int at;         /* segment */
    iso_program_observer_t *observer;
    void *observer_arg;
} mixed_t;

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- What passes between segments ---- */

static int count_outputs(const mixed_t *mixed)
{
    int count = 0;

    for (int s = 0; s < mixed->segments->count; s++) {
        count += iso_graph_output_count(mixed->parts[s].graph);
    }
    return count;
}

static int last_use_of(const mixed_t *mixed, iso_node_id_t node)
{
    const iso_graph_t *whole = mixed->base.graph;
    const char *name = iso_graph_node(whole, node)->name;
    const iso_partition_t *partition = mixed->segments->partition;
    int last = 0;

    for (int i = 0; i < iso_graph_output_count(whole); i++) {
        if (iso_graph_output(whole, i)->node == node) {
            return mixed->segments->count;
        }
    }
    for (int i = 0; i < iso_partition_boundary_count(partition); i++) {
        const iso_boundary_t *one = iso_partition_boundary(partition, i);

        if (one->to_stage > last && strcmp(one->name, name) == 0) {
            last = one->to_stage;
        }
    }
    return last;
}

static void add_values(mixed_t *mixed, int segment)
{
    const segment_t *part = &mixed->parts[segment];

    for (int i = 0; i < iso_graph_output_count(part->graph); i++) {
        const iso_node_id_t inner = iso_graph_output(part->graph, i)->node;
        const iso_node_t *node = iso_graph_node(part->graph, inner);
        const iso_node_id_t outer = part->outer[inner];
        iso_tensor_t view;

        if (iso_node_is_leaf(node)) {
            continue;
        }
        const iso_status_t status =
            iso_tensor_view(node->dtype, &node->shape, NULL, &view);

        ISO_ASSERT(status == ISO_OK);
        mixed->value_of[outer] = mixed->n_values;
        mixed->values[mixed->n_values++] =
            (value_t){.segment = segment,
                      .output = i,
                      .node = outer,
                      .last = last_use_of(mixed, outer),
                      .bytes = iso_tensor_bytes(&view)};
    }
}

static bool meet(const value_t *a, const value_t *b)
{
    return a->segment <= b->last && b->segment <= a->last &&
           a->offset < b->offset + round_up(b->bytes) &&
           b->offset < a->offset + round_up(a->bytes);
}

/* The first place behind those of earlier values that live at the same time. */
static void place_value(mixed_t *mixed, int index)
{
    value_t *value = &mixed->values[index];

    value->offset = 0;
    for (int i = 0; i < index; i++) {
        if (meet(value, &mixed->values[i])) {
            value->offset =
                mixed->values[i].offset + round_up(mixed->values[i].bytes);
            i = -1; /* those before may now be in the way */
        }
    }
    if (value->offset + round_up(value->bytes) > mixed->values_bytes) {
        mixed->values_bytes = value->offset + round_up(value->bytes);
    }
}

static iso_status_t find_values(mixed_t *mixed)
{
    const size_t n = (size_t)iso_graph_node_count(mixed->base.graph);

    mixed->values =
        iso_alloc_zeroed((size_t)count_outputs(mixed), sizeof *mixed->values);
    mixed->value_of = iso_alloc_zeroed(n, sizeof *mixed->value_of);
    if (mixed->values == NULL || mixed->value_of == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        mixed->value_of[i] = -1;
    }
    for (int s = 0; s < mixed->segments->count; s++) {
        add_values(mixed, s);
    }
    for (int i = 0; i < mixed->n_values; i++) {
        place_value(mixed, i);
    }
    return ISO_OK;
}

/* ---- Segments ---- */

static iso_status_t map_nodes(const iso_graph_t *whole, segment_t *part)
{
    const int32_t n = iso_graph_node_count(part->graph);
    const int32_t n_whole = iso_graph_node_count(whole);

    part->outer = iso_alloc_zeroed((size_t)n, sizeof *part->outer);
    part->inner = iso_alloc_zeroed((size_t)n_whole, sizeof *part->inner);
    if (part->outer == NULL || part->inner == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n_whole; id++) {
        part->inner[id] = ISO_NO_NODE;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        const iso_node_id_t outer =
            iso_graph_find(whole, iso_graph_node(part->graph, id)->name);

        ISO_ASSERT(outer != ISO_NO_NODE);
        part->outer[id] = outer;
        if (iso_node_is_leaf(iso_graph_node(part->graph, id))) {
            part->inner[outer] = id;
        }
    }
    return ISO_OK;
}

static iso_status_t find_segments(mixed_t *mixed)
{
    iso_placement_t placement;

    ISO_TRY(iso_placement_create(mixed->base.graph, mixed->device->map,
                                 &placement));
    const iso_status_t status =
        iso_segments_create(mixed->base.graph, &placement, &mixed->segments);

    iso_placement_free(&placement);
    ISO_TRY(status);
    mixed->parts =
        iso_alloc_zeroed((size_t)mixed->segments->count, sizeof *mixed->parts);
    if (mixed->parts == NULL) {
        return ISO_NOMEM;
    }
    for (int s = 0; s < mixed->segments->count; s++) {
        segment_t *part = &mixed->parts[s];

        part->graph = iso_partition_stage(mixed->segments->partition, s)->graph;
        ISO_TRY(map_nodes(mixed->base.graph, part));
    }
    return find_values(mixed);
}

static iso_device_t *device_of(const mixed_t *mixed, int segment)
{
    iso_device_t *device =
        mixed->device->units[mixed->segments->device_of[segment]];

    ISO_ASSERT(device != NULL);
    return device;
}

static iso_status_t count_room(mixed_t *mixed)
{
    size_t most = 0;

    for (int s = 0; s < mixed->segments->count; s++) {
        size_t bytes = 0;

        ISO_TRY(iso_program_buffer_bytes(device_of(mixed, s),
                                         mixed->parts[s].graph,
                                         mixed->base.keeps_values, &bytes));
        most = bytes > most ? bytes : most;
    }
    mixed->room_bytes = mixed->values_bytes + most;
    return ISO_OK;
}

/* ---- Life ---- */

static void destroy(iso_program_t *program)
{
    mixed_t *mixed = (mixed_t *)program;

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

static iso_device_t *any_unit(const iso_device_t *device)
{
    int number = 0;

    while (device->units[number] == NULL) {
        number++;
    }
    return device->units[number];
}

static bool is_placed(const iso_placement_t *placement)
{
    bool is_placed = false;

    for (iso_node_id_t id = 0; id < placement->n_nodes; id++) {
        is_placed = is_placed || placement->device_of[id] != ISO_NO_DEVICE;
    }
    return is_placed;
}

/* All on one device: a program of that device. */
static iso_status_t find_single(const iso_device_t *device,
                                const iso_graph_t *graph,
                                iso_device_t **single_out)
{
    iso_placement_t placement;

    ISO_TRY(iso_placement_create(graph, device->map, &placement));
    const int number = iso_placement_single(&placement);

    *single_out = !is_placed(&placement)    ? any_unit(device)
                  : number != ISO_NO_DEVICE ? device->units[number]
                                            : NULL;
    iso_placement_free(&placement);
    return ISO_OK;
}

iso_status_t iso__mixed_bytes(const iso_device_t *device,
                              const iso_graph_t *graph, bool keeps_values,
                              size_t *bytes_out)
{
    iso_device_t *single = NULL;
    mixed_t *mixed;

    *bytes_out = 0;
    ISO_TRY(find_single(device, graph, &single));
    if (single != NULL) {
        return iso_program_buffer_bytes(single, graph, keeps_values, bytes_out);
    }
    mixed = iso_alloc_zeroed(1, sizeof *mixed);
    if (mixed == NULL) {
        return ISO_NOMEM;
    }
    mixed->base.graph = graph;
    mixed->base.keeps_values = keeps_values;
    mixed->device = (iso_device_t *)device;
    iso_status_t status = find_segments(mixed);

    if (status == ISO_OK) {
        status = count_room(mixed);
        *bytes_out = mixed->room_bytes;
    }
    destroy(&mixed->base);
    return status;
}

static iso_status_t make_leaves(mixed_t *mixed)
{
    const int32_t n = iso_graph_node_count(mixed->base.graph);

    mixed->leaves = iso_alloc_zeroed((size_t)n, sizeof *mixed->leaves);
    if (mixed->leaves == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        const iso_node_t *node = iso_graph_node(mixed->base.graph, id);

        ISO_TRY(iso_tensor_view(node->dtype, &node->shape, (void *)node->data,
                                &mixed->leaves[id]));
    }
    return ISO_OK;
}

/* Bind what other segments make. */
static void bind_values(const mixed_t *mixed, const segment_t *part)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(part->graph); id++) {
        const int32_t value = mixed->value_of[part->outer[id]];

        if (iso_graph_node(part->graph, id)->op == ISO_OP_INPUT && value >= 0) {
            iso_program_bind_node(part->program, id,
                                  mixed->room + mixed->values[value].offset);
        }
    }
}

static iso_status_t make_programs(mixed_t *mixed)
{
    const iso_program_options_t options = {
        .buffer = mixed->room + mixed->values_bytes,
        .buffer_bytes = mixed->room_bytes - mixed->values_bytes,
        .keeps_values = mixed->base.keeps_values};

    for (int s = 0; s < mixed->segments->count; s++) {
        segment_t *part = &mixed->parts[s];

        ISO_TRY(iso_program_create(device_of(mixed, s), part->graph, &options,
                                   &part->program));
        part->watch = (watch_t){mixed, part->outer};
        bind_values(mixed, part);
    }
    return ISO_OK;
}

static iso_status_t make_room(mixed_t *mixed,
                              const iso_program_options_t *options)
{
    ISO_TRY(count_room(mixed));
    if (options->buffer != NULL) {
        mixed->room = options->buffer;
        return iso__program_check_buffer(options, mixed->room_bytes);
    }
    mixed->own_room = iso_alloc(mixed->room_bytes);
    mixed->room = mixed->own_room;
    return mixed->own_room != NULL ? ISO_OK : ISO_NOMEM;
}

static iso_status_t make(mixed_t *mixed, const iso_program_options_t *options)
{
    ISO_TRY(find_segments(mixed));
    ISO_TRY(make_leaves(mixed));
    ISO_TRY(make_room(mixed, options));
    return make_programs(mixed);
}

/* ---- Leaves ---- */

static iso_status_t uses(const iso_program_t *program, iso_node_id_t param,
                         iso_weight_uses_t *uses)
{
    const mixed_t *mixed = (const mixed_t *)program;

    for (int s = 0; s < mixed->segments->count; s++) {
        const segment_t *part = &mixed->parts[s];

        if (part->inner[param] != ISO_NO_NODE) {
            ISO_TRY(iso_program_uses(part->program, part->inner[param], uses));
        }
    }
    return ISO_OK;
}

static void bind_node(iso_program_t *program, iso_node_id_t node,
                      const void *data)
{
    mixed_t *mixed = (mixed_t *)program;

    mixed->leaves[node].data = (void *)data;
    for (int s = 0; s < mixed->segments->count; s++) {
        const segment_t *part = &mixed->parts[s];

        if (part->inner[node] != ISO_NO_NODE) {
            iso_program_bind_node(part->program, part->inner[node], data);
        }
    }
}

static void bind_weight(iso_program_t *program, iso_node_id_t param,
                        const iso_weight_t *weight)
{
    mixed_t *mixed = (mixed_t *)program;

    mixed->leaves[param].data = iso_weight_plain(weight);
    for (int s = 0; s < mixed->segments->count; s++) {
        const segment_t *part = &mixed->parts[s];

        if (part->inner[param] != ISO_NO_NODE) {
            iso_program_bind_weight(part->program, part->inner[param], weight);
        }
    }
}

static const iso_tensor_t *leaf(const iso_program_t *program,
                                iso_node_id_t node)
{
    return &((const mixed_t *)program)->leaves[node];
}

/* ---- Running ---- */

static iso_status_t observe_part(void *arg, iso_node_id_t node,
                                 const iso_tensor_t *value)
{
    const watch_t *watch = arg;

    return watch->mixed->observer(watch->mixed->observer_arg,
                                  watch->outer[node], value);
}

static void observe(iso_program_t *program, iso_program_observer_t *observer,
                    void *arg)
{
    mixed_t *mixed = (mixed_t *)program;

    mixed->observer = observer;
    mixed->observer_arg = arg;
    for (int s = 0; s < mixed->segments->count; s++) {
        segment_t *part = &mixed->parts[s];

        iso_program_observe(part->program,
                            observer != NULL ? observe_part : NULL,
                            &part->watch);
    }
}

static iso_status_t begin(iso_program_t *program)
{
    mixed_t *mixed = (mixed_t *)program;

    for (int s = 0; s < mixed->segments->count; s++) {
        ISO_TRY(iso_program_begin(mixed->parts[s].program));
    }
    mixed->at = 0;
    return ISO_OK;
}

static void hand_on(const mixed_t *mixed, int segment)
{
    for (int i = 0; i < mixed->n_values; i++) {
        const value_t *value = &mixed->values[i];

        if (value->segment == segment) {
            memcpy(mixed->room + value->offset,
                   iso_program_output(mixed->parts[segment].program,
                                      value->output),
                   value->bytes);
        }
    }
}

static iso_status_t advance(iso_program_t *program, iso_pause_t *pause_out)
{
    mixed_t *mixed = (mixed_t *)program;

    for (; mixed->at < mixed->segments->count; mixed->at++) {
        const segment_t *part = &mixed->parts[mixed->at];

        if (program->skips) {
            iso_program_skip(part->program);
        }
        ISO_TRY(iso_program_advance(part->program, pause_out));
        if (pause_out->node != ISO_NO_NODE) {
            pause_out->node = part->outer[pause_out->node];
            return ISO_OK;
        }
        if (!program->skips) {
            hand_on(mixed, mixed->at);
        }
    }
    *pause_out = (iso_pause_t){.node = ISO_NO_NODE};
    return ISO_OK;
}

static const void *output(const iso_program_t *program, int index)
{
    const mixed_t *mixed = (const mixed_t *)program;
    const iso_node_id_t node = iso_graph_output(program->graph, index)->node;
    const int32_t value = mixed->value_of[node];

    return value < 0 ? mixed->leaves[node].data
                     : mixed->room + mixed->values[value].offset;
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
};

iso_status_t iso__mixed_create(iso_device_t *device, const iso_graph_t *graph,
                               const iso_program_options_t *options,
                               iso_program_t **program_out)
{
    iso_device_t *single = NULL;
    mixed_t *mixed;

    ISO_TRY(find_single(device, graph, &single));
    if (single != NULL) {
        return iso_program_create(single, graph, options, program_out);
    }
    mixed = iso_alloc_zeroed(1, sizeof *mixed);
    if (mixed == NULL) {
        return ISO_NOMEM;
    }
    mixed->base = (iso_program_t){
        .kind = &kind, .graph = graph, .keeps_values = options->keeps_values};
    mixed->device = device;

    const iso_status_t status = make(mixed, options);

    if (status != ISO_OK) {
        destroy(&mixed->base);
        return status;
    }
    *program_out = &mixed->base;
    return ISO_OK;
}
