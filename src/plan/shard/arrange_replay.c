/* What the stage takes with a choice made for each node. */
#include "base/mem.h"
#include "plan/shard/arrange_impl.h"
#include "plan/shard/cut.h"

/* A walk over the nodes. Bytes are of each worker, (n_workers). */
typedef struct replay {
    iso__arrange_t *arrange;
    int n_workers;
    int32_t at_root;     /* the layout "whole on worker 0" */
    int32_t *place;      /* (nodes) */
    iso__index_t loaded; /* (weight, layout) that is accounted for */
    double seconds;
    double *weights;
    double *live;    /* values that some later node reads */
    double *passing; /* what only the node at hand needs */
    double *most;    /* of live and passing together */
} replay_t;

static void add_layout(const replay_t *replay, iso_node_id_t id, int32_t layout,
                       double factor, double *bytes)
{
    const iso__arrange_t *arrange = replay->arrange;

    for (int i = 0; i < replay->n_workers; i++) {
        bytes[i] += factor * iso__layout_bytes(&arrange->places,
                                               arrange->form_of[id], layout, i);
    }
}

static void set_place(replay_t *replay, iso_node_id_t id, int32_t place)
{
    const iso__arrange_t *arrange = replay->arrange;
    const int32_t form = arrange->form_of[id];

    for (int i = 0; i < replay->n_workers; i++) {
        replay->live[i] +=
            iso__place_bytes(&arrange->places, form, place, i) -
            iso__place_bytes(&arrange->places, form, replay->place[id], i);
    }
    replay->place[id] = place;
}

/* A worker loads a part once, however many nodes read it. */
static iso_status_t load_weight(replay_t *replay, iso_node_id_t weight,
                                int32_t need)
{
    const uint64_t key = (uint64_t)weight << 32 | (uint64_t)need;

    if (iso__index_find(&replay->loaded, key) >= 0) {
        return ISO_OK;
    }
    add_layout(replay, weight, need, 1.0, replay->weights);
    return iso__index_add(&replay->loaded, key, 0);
}

static iso_status_t bring(replay_t *replay, iso_node_id_t id, int32_t need)
{
    iso__arrange_t *arrange = replay->arrange;
    iso__transfer_t transfer;

    ISO_TRY(iso__places_transfer(&arrange->places, arrange->form_of[id],
                                 replay->place[id], need, true, &transfer));
    replay->seconds += transfer.seconds;
    if (transfer.exchanges > 0 && transfer.place == replay->place[id]) {
        add_layout(replay, id, need, 1.0, replay->passing);
    }
    set_place(replay, id, transfer.place);
    return ISO_OK;
}

static iso_status_t read_operand(replay_t *replay, iso_node_id_t id,
                                 int32_t need)
{
    if (id == ISO_NO_NODE) {
        return ISO_OK;
    }
    return iso__is_weight(iso_graph_node(replay->arrange->stage, id))
               ? load_weight(replay, id, need)
               : bring(replay, id, need);
}

/* Partial sums lie where they were computed, and all of them on worker 0. */
static iso_status_t add_partial_sums(replay_t *replay, iso_node_id_t id,
                                     const iso__choice_t *choice)
{
    const iso__arrange_t *arrange = replay->arrange;
    const double bytes = iso__layout_bytes(
        &arrange->places, arrange->form_of[id], choice->made, 0);
    int64_t blocks = 0;

    ISO_TRY(iso_cut_blocks(arrange->stage, id, &blocks));
    for (int i = 0; i < replay->n_workers; i++) {
        iso_range_t subtrees[ISO_MOST_SUBTREES];
        if (iso_range_length(choice->cut.ranges[i]) > 0) {
            const int n =
                iso_cut_subtrees(blocks, choice->cut.ranges[i], subtrees);
            replay->passing[i] += i > 0 ? n * bytes : 0.0;
            replay->passing[0] += n * bytes;
        }
    }
    return ISO_OK;
}

static void note_most(replay_t *replay)
{
    for (int i = 0; i < replay->n_workers; i++) {
        const double bytes = replay->live[i] + replay->passing[i];
        replay->most[i] = bytes > replay->most[i] ? bytes : replay->most[i];
        replay->passing[i] = 0.0;
    }
}

/* After its last reader an output is brought to worker 0 and stays there; any
 * other value is gone. */
static iso_status_t retire(replay_t *replay, iso_node_id_t id)
{
    if (replay->arrange->is_output[id]) {
        return bring(replay, id, replay->at_root);
    }
    set_place(replay, id, ISO__NOWHERE);
    return ISO_OK;
}

static iso_status_t retire_operands(replay_t *replay, iso_node_id_t id)
{
    const iso__arrange_t *arrange = replay->arrange;
    const iso_node_t *node = iso_graph_node(arrange->stage, id);

    for (int i = 0; i < node->n_inputs; i++) {
        const bool is_last = iso__reads_value(arrange->stage, node, i) &&
                             arrange->last_reader[node->inputs[i]] == id;
        ISO_TRY(is_last ? retire(replay, node->inputs[i]) : ISO_OK);
    }
    return arrange->last_reader[id] == ISO_NO_NODE ? retire(replay, id)
                                                   : ISO_OK;
}

static iso_status_t replay_node(replay_t *replay, iso_node_id_t id,
                                const iso__choice_t *choice)
{
    iso__arrange_t *arrange = replay->arrange;
    const iso_node_t *node = iso_graph_node(arrange->stage, id);
    int32_t made;

    for (int i = 0; i < node->n_inputs; i++) {
        ISO_TRY(read_operand(replay, node->inputs[i], choice->needs[i]));
    }
    replay->seconds += choice->seconds;
    ISO_TRY(iso__places_made(&arrange->places, choice->made, &made));
    set_place(replay, id, made);
    if (choice->cut.kind == ISO_CUT_PARTIAL) {
        ISO_TRY(add_partial_sums(replay, id, choice));
    }
    note_most(replay);
    ISO_TRY(retire_operands(replay, id));
    note_most(replay);
    return ISO_OK;
}

static iso_status_t replay_all(replay_t *replay, const int32_t *choice_of)
{
    const iso_layout_t at_root = {.kind = ISO_LAYOUT_ONE};
    iso__arrange_t *arrange = replay->arrange;
    const int32_t n = iso_graph_node_count(arrange->stage);

    ISO_TRY(iso__places_layout(&arrange->places, &at_root, &replay->at_root));
    for (iso_node_id_t id = 0; id < n; id++) {
        if (iso__is_weight(iso_graph_node(arrange->stage, id))) {
            continue;
        }
        ISO_TRY(replay_node(
            replay, id, &iso__choices_at(arrange, id)->list[choice_of[id]]));
    }
    return ISO_OK;
}

static iso_status_t allocate(replay_t *replay, iso_arena_t *arena)
{
    const size_t n = (size_t)iso_graph_node_count(replay->arrange->stage);
    const size_t workers = (size_t)replay->n_workers;

    replay->place = iso_arena_array(arena, n, sizeof *replay->place);
    replay->weights = iso_arena_array(arena, workers, sizeof(double));
    replay->live = iso_arena_array(arena, workers, sizeof(double));
    replay->passing = iso_arena_array(arena, workers, sizeof(double));
    replay->most = iso_arena_array(arena, workers, sizeof(double));
    return replay->place == NULL || replay->weights == NULL ||
                   replay->live == NULL || replay->passing == NULL ||
                   replay->most == NULL
               ? ISO_NOMEM
               : ISO_OK;
}

iso_status_t iso__arrange_replay(iso__arrange_t *arrange,
                                 const int32_t *choice_of, double *seconds_out,
                                 double *bytes_out)
{
    replay_t replay = {.arrange = arrange,
                       .n_workers = arrange->options->n_workers};
    iso_arena_t *arena = NULL;

    ISO_TRY(iso_arena_create(&arena));
    iso_status_t status = allocate(&replay, arena);

    if (status == ISO_OK) {
        status = replay_all(&replay, choice_of);
    }
    if (status == ISO_OK) {
        *seconds_out = replay.seconds;
        for (int i = 0; i < replay.n_workers; i++) {
            bytes_out[i] = replay.weights[i] + replay.most[i];
        }
    }
    iso__index_free(&replay.loaded);
    iso_arena_destroy(&arena);
    return status;
}
