/*
 * The search: a beam over the nodes in order. A state says at which place
 * every value is that a later node reads; of two ways to the same state the
 * cheaper one is kept. All nodes ONE is a bound, and so is what a quick look
 * finds: no state that costs more can become part of the best cut.
 *
 * Times are whole multiples of a quantum, so that sums are exact and ties
 * are ties. A tie goes to fewer exchanges, then to fewer nodes that are not
 * ONE, then to the earlier choice.
 */
#include "base/mem.h"
#include "plan/shard/arrange_search_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { QUANTA_BITS = 44, QUICK_BEAM = 6 };

/* -- costs -- */

double iso__search_round(const iso__search_t *search, double seconds)
{
    return seconds <= 2.0 * search->bound
               ? nearbyint(seconds / search->quantum_s) * search->quantum_s
               : (double)INFINITY;
}

double iso__search_cost(const iso__search_t *search,
                        const iso__choice_t *choice)
{
    return iso__search_round(search, choice->seconds) +
           iso__search_round(search, choice->price_s);
}

/* -- before the first node -- */

/* A slot is free again after the last reader of its value. */
static iso_status_t give_slots(iso__search_t *search)
{
    const iso__arrange_t *arrange = search->arrange;
    const int32_t n = iso_graph_node_count(arrange->stage);
    int *free_slots = iso_alloc_zeroed((size_t)n, sizeof *free_slots);
    int n_free = 0;

    if (free_slots == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        const iso_node_t *node = iso_graph_node(arrange->stage, id);
        for (int i = 0; i < node->n_inputs; i++) {
            const iso_node_id_t input = node->inputs[i];
            if (iso__reads_value(arrange->stage, node, i) &&
                arrange->last_reader[input] == id) {
                free_slots[n_free++] = search->slot_of[input];
            }
        }
        search->slot_of[id] = ISO__NO_SLOT;
        if (!iso__is_weight(node) && arrange->last_reader[id] != ISO_NO_NODE) {
            search->slot_of[id] =
                n_free > 0 ? free_slots[--n_free] : search->n_slots++;
        }
    }
    iso_free(free_slots);
    return ISO_OK;
}

static double least_cost(const iso__search_t *search, iso_node_id_t id)
{
    const iso__choices_t *choices = iso__choices_at(search->arrange, id);
    double least = iso__search_cost(search, &choices->list[0]);

    for (int i = 1; i < choices->count; i++) {
        least = fmin(least, iso__search_cost(search, &choices->list[i]));
    }
    return least;
}

static bool is_value(const iso__search_t *search, iso_node_id_t id)
{
    return !iso__is_weight(iso_graph_node(search->arrange->stage, id));
}

/* The bound, exactly and by nodes. False when there is nothing to choose:
 * all is free, or takes forever. */
static bool find_bounds(iso__search_t *search)
{
    const int32_t n = iso_graph_node_count(search->arrange->stage);
    double all = 0.0;

    for (iso_node_id_t id = 0; id < n; id++) {
        if (is_value(search, id)) {
            const iso__choice_t *one =
                iso__choices_at(search->arrange, id)->list;
            all += one->seconds + one->price_s;
        }
    }
    if (!(all > 0.0 && all < (double)INFINITY)) {
        return false;
    }
    search->bound = all;
    search->quantum_s = fmax(ldexp(1.0, ilogb(all) - QUANTA_BITS), DBL_MIN);
    all = 0.0;
    search->rest[n] = 0.0;
    for (iso_node_id_t id = n - 1; id >= 0; id--) {
        search->rest[id] = search->rest[id + 1];
        if (is_value(search, id)) {
            all += iso__search_cost(search,
                                    iso__choices_at(search->arrange, id)->list);
            search->rest[id] += least_cost(search, id);
        }
    }
    search->bound = all;
    return true;
}

static void find_sizes(iso__search_t *search)
{
    const iso__arrange_t *arrange = search->arrange;
    const int32_t n = iso_graph_node_count(arrange->stage);

    for (size_t i = 0; i < arrange->n_classes; i++) {
        if (arrange->classes[i].count > search->most_choices) {
            search->most_choices = arrange->classes[i].count;
        }
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        const int count = iso_graph_node(arrange->stage, id)->n_inputs;
        search->most_inputs =
            count > search->most_inputs ? count : search->most_inputs;
    }
    search->most_states = search->beam + search->most_choices;
}

static void *room(iso_arena_t *arena, int rows, int columns, size_t size)
{
    return iso_arena_array(arena, (size_t)rows, (size_t)columns * size);
}

static iso_status_t allocate(iso__search_t *search, iso_arena_t *arena)
{
    const int32_t n = iso_graph_node_count(search->arrange->stage);
    const int k = search->most_states;
    const int c = search->most_choices;

    search->n_hash = 1;
    while (search->n_hash < (size_t)k * (size_t)c * 2) {
        search->n_hash *= 2;
    }
    search->trail = room(arena, n, k, sizeof *search->trail);
    search->states = room(arena, k, 1, sizeof *search->states);
    search->next_states = room(arena, k, 1, sizeof *search->states);
    search->where = room(arena, k, search->n_slots, sizeof *search->where);
    search->next_where = room(arena, k, search->n_slots, sizeof *search->where);
    search->costs = room(arena, c, 1, sizeof *search->costs);
    search->own = room(arena, c, 1, sizeof *search->own);
    search->operands =
        room(arena, search->most_inputs, 1, sizeof *search->operands);
    search->successors = room(arena, k, c, sizeof *search->successors);
    search->by_digest =
        iso_arena_array(arena, search->n_hash, sizeof *search->by_digest);
    search->kept = room(arena, k, 1, sizeof *search->kept);
    search->best_of = room(arena, c, 1, sizeof *search->best_of);
    if (search->trail == NULL || search->states == NULL ||
        search->next_states == NULL || search->where == NULL ||
        search->next_where == NULL || search->costs == NULL ||
        search->own == NULL || search->operands == NULL ||
        search->successors == NULL || search->by_digest == NULL ||
        search->kept == NULL || search->best_of == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < search->most_inputs; i++) {
        search->operands[i].column = room(arena, k, 1, sizeof(int32_t));
        search->operands[i].places = room(arena, k, 1, sizeof(int32_t));
        if (search->operands[i].column == NULL ||
            search->operands[i].places == NULL) {
            return ISO_NOMEM;
        }
    }
    return ISO_OK;
}

/* -- the whole -- */

/* Follow the trail of the best state, if it is better than what was found
 * before. */
static void read_trail(iso__search_t *search, int32_t *choice_out)
{
    int32_t at = 0;

    for (int i = 1; i < search->n_states; i++) {
        if (iso__state_compare(&search->states[i], &search->states[at]) < 0) {
            at = i;
        }
    }
    if (search->n_states == 0 ||
        iso__state_compare(&search->states[at], &search->found) > 0) {
        return;
    }
    search->found = search->states[at];
    search->found.choice = -1; /* wins a tie */
    search->bound = search->found.cost;
    for (iso_node_id_t id = iso_graph_node_count(search->arrange->stage) - 1;
         id >= 0; id--) {
        if (is_value(search, id)) {
            const iso__trail_t *step =
                &search->trail[(size_t)id * (size_t)search->most_states +
                               (size_t)at];
            choice_out[id] = step->choice;
            at = step->parent;
        }
    }
}

static iso_status_t search_nodes(iso__search_t *search, int32_t *choice_out)
{
    const int32_t n = iso_graph_node_count(search->arrange->stage);

    search->n_states = 1;
    search->states[0] = (iso__state_t){0};
    memset(search->where, 0, (size_t)search->n_slots * sizeof *search->where);
    for (iso_node_id_t id = 0; id < n && search->n_states > 0; id++) {
        if (!is_value(search, id)) {
            continue;
        }
        ISO_TRY(iso__search_begin_node(search, id));
        ISO_TRY(iso__search_find_successors(search));
        iso__search_advance(search);
    }
    read_trail(search, choice_out);
    return ISO_OK;
}

/* First a quick look at few choices and states: a good bound spares most of
 * the others. */
static iso_status_t search_twice(iso__search_t *search, int32_t *choice_out)
{
    const int beam = search->beam;

    search->found = (iso__state_t){.cost = search->bound, .choice = -1};
    search->beam = beam < QUICK_BEAM ? beam : QUICK_BEAM;
    search->only_plain = true;
    ISO_TRY(search_nodes(search, choice_out));
    search->beam = beam;
    search->only_plain = false;
    return search_nodes(search, choice_out);
}

static iso_status_t begin_search(iso__search_t *search, iso_arena_t *arena,
                                 bool *needed_out)
{
    const iso_layout_t at_root = {.kind = ISO_LAYOUT_ONE};
    const size_t n = (size_t)iso_graph_node_count(search->arrange->stage);

    search->slot_of = iso_arena_array(arena, n, sizeof *search->slot_of);
    search->rest = iso_arena_array(arena, n + 1, sizeof *search->rest);
    if (search->slot_of == NULL || search->rest == NULL) {
        return ISO_NOMEM;
    }
    *needed_out = find_bounds(search);
    find_sizes(search);
    ISO_TRY(give_slots(search));
    ISO_TRY(iso__places_layout(&search->arrange->places, &at_root,
                               &search->at_root));
    return allocate(search, arena);
}

iso_status_t iso__arrange_search(iso__arrange_t *arrange, int beam,
                                 int32_t *choice_out)
{
    const size_t n = (size_t)iso_graph_node_count(arrange->stage);
    iso__search_t search = {.arrange = arrange, .beam = beam};
    iso_arena_t *arena = NULL;
    bool needed = false;

    memset(choice_out, 0, n * sizeof *choice_out);
    ISO_TRY(iso_arena_create(&arena));
    iso_status_t status = begin_search(&search, arena, &needed);

    if (status == ISO_OK && needed) {
        status = search_twice(&search, choice_out);
    }
    for (int i = 0; search.operands != NULL && i < search.most_inputs; i++) {
        iso_free(search.operands[i].effects);
    }
    iso_free(search.column_at);
    iso_arena_destroy(&arena);
    return status;
}
