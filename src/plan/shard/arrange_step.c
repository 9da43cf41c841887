/* One node of the search: from the states before it to those after it. */
#include "base/mem.h"
#include "base/random.h"
#include "plan/shard/arrange_search_impl.h"

#include <string.h>

static uint64_t digest_of(int slot, int32_t place)
{
    return place == ISO__NOWHERE
               ? 0
               : iso_random_at((uint64_t)slot << 32 | (uint64_t)place, 0);
}

/* Negative when a is better. */
int iso__state_compare(const iso__state_t *a, const iso__state_t *b)
{
    if (a->cost != b->cost) {
        return a->cost < b->cost ? -1 : 1;
    }
    if (a->exchanges != b->exchanges) {
        return a->exchanges < b->exchanges ? -1 : 1;
    }
    if (a->n_cut != b->n_cut) {
        return a->n_cut < b->n_cut ? -1 : 1;
    }
    if (a->choice != b->choice) {
        return a->choice < b->choice ? -1 : 1;
    }
    return (a->parent > b->parent) - (a->parent < b->parent);
}

/* -- operands of the node at hand -- */

/* The places where an operand is in the states there are. */
static iso_status_t find_columns(iso__search_t *search, iso__operand_t *operand)
{
    const size_t n_places = search->arrange->places.n_places;

    while (search->room_column_at < n_places) {
        const size_t begin = search->room_column_at;
        int32_t *larger = iso__room_for_one(
            search->column_at, &search->room_column_at, begin, sizeof *larger);
        if (larger == NULL) {
            return ISO_NOMEM;
        }
        search->column_at = larger;
        memset(larger + begin, 0xff,
               (search->room_column_at - begin) * sizeof *larger);
    }
    operand->n_columns = 0;
    for (int i = 0; i < search->n_states; i++) {
        const int32_t place =
            search->where[i * search->n_slots + operand->slot];
        if (search->column_at[place] < 0) {
            search->column_at[place] = operand->n_columns;
            operand->places[operand->n_columns++] = place;
        }
        operand->column[i] = search->column_at[place];
    }
    for (int i = 0; i < operand->n_columns; i++) {
        search->column_at[operand->places[i]] = -1;
    }
    return ISO_OK;
}

static iso_status_t transfer(iso__search_t *search, iso_node_id_t id,
                             int32_t need, bool exact, iso__transfer_t *sum)
{
    iso__arrange_t *arrange = search->arrange;
    iso__transfer_t one;

    ISO_TRY(iso__places_transfer(&arrange->places, arrange->form_of[id],
                                 sum->place, need, exact, &one));
    sum->seconds += one.seconds;
    sum->exchanges += one.exchanges;
    sum->place = one.place;
    sum->is_exact = sum->is_exact && one.is_exact;
    return ISO_OK;
}

/* Bring a value to worker 0 if it is an output; it is of no use then. */
static iso_status_t retire(iso__search_t *search, iso_node_id_t id, bool exact,
                           iso__transfer_t *sum)
{
    if (search->arrange->is_output[id]) {
        ISO_TRY(transfer(search, id, search->at_root, exact, sum));
    }
    sum->place = ISO__NOWHERE;
    return ISO_OK;
}

static iso__effect_t effect_of(const iso__search_t *search, int slot,
                               const iso__transfer_t *sum)
{
    return (iso__effect_t){.known = sum->is_exact ? ISO__KNOWN_EXACTLY
                                                  : ISO__KNOWN_BOUND,
                           .seconds = iso__search_round(search, sum->seconds),
                           .exchanges = sum->exchanges,
                           .place = sum->place,
                           .digest = digest_of(slot, sum->place)};
}

/* An operand at a place, for a choice: moved to where each use needs it. */
static iso_status_t find_effect(iso__search_t *search,
                                const iso__operand_t *operand, int32_t place,
                                const iso__choice_t *choice, bool exact,
                                iso__effect_t *effect_out)
{
    const iso__arrange_t *arrange = search->arrange;
    const iso_node_t *node = iso_graph_node(arrange->stage, search->id);
    iso__transfer_t sum = {.place = place, .is_exact = true};

    for (int i = 0; i < node->n_inputs; i++) {
        ISO_TRY(
            node->inputs[i] != operand->id
                ? ISO_OK
                : transfer(search, operand->id, choice->needs[i], exact, &sum));
    }
    if (arrange->last_reader[operand->id] == search->id) {
        ISO_TRY(retire(search, operand->id, exact, &sum));
    }
    *effect_out = effect_of(search, operand->slot, &sum);
    return ISO_OK;
}

/* Nothing is known yet of what becomes of an operand. */
static iso_status_t clear_effects(const iso__search_t *search,
                                  iso__operand_t *operand)
{
    const size_t count =
        (size_t)operand->n_columns * (size_t)search->choices->count;

    if (count > operand->room_effects) {
        iso_free(operand->effects);
        operand->effects = iso_alloc(count * sizeof *operand->effects);
        operand->room_effects = operand->effects == NULL ? 0 : count;
        if (operand->effects == NULL) {
            return ISO_NOMEM;
        }
    }
    for (size_t i = 0; i < count; i++) {
        operand->effects[i].known = ISO__KNOWN_NOTHING;
    }
    return ISO_OK;
}

/* What becomes of the value that the node makes. */
static iso_status_t find_own(iso__search_t *search)
{
    iso__arrange_t *arrange = search->arrange;

    for (int c = 0; c < search->choices->count; c++) {
        const iso__choice_t *choice = &search->choices->list[c];
        iso__transfer_t made = {.is_exact = true};
        ISO_TRY(iso__places_made(&arrange->places, choice->made, &made.place));
        ISO_TRY(search->slot_of[search->id] == ISO__NO_SLOT
                    ? retire(search, search->id, true, &made)
                    : ISO_OK);
        search->costs[c] = iso__search_cost(search, choice);
        search->own[c] = effect_of(search, search->slot_of[search->id], &made);
        search->own[c].exchanges += choice->exchanges;
    }
    return ISO_OK;
}

iso_status_t iso__search_begin_node(iso__search_t *search, iso_node_id_t id)
{
    const iso_graph_t *stage = search->arrange->stage;
    const iso_node_t *node = iso_graph_node(stage, id);

    search->id = id;
    search->choices = iso__choices_at(search->arrange, id);
    search->n_operands = 0;
    for (int i = 0; i < node->n_inputs; i++) {
        iso__operand_t *operand = &search->operands[search->n_operands];
        if (!iso__reads_value(stage, node, i)) {
            continue;
        }
        operand->id = node->inputs[i];
        operand->slot = search->slot_of[operand->id];
        ISO_TRY(find_columns(search, operand));
        ISO_TRY(clear_effects(search, operand));
        search->n_operands++;
    }
    return find_own(search);
}

/* -- successors -- */

/* Where the successor with a digest is in by_digest, or the free place. */
static size_t slot_of_digest(const iso__search_t *search, uint64_t digest)
{
    size_t slot = (size_t)iso_random_mix(digest) & (search->n_hash - 1);

    while (search->by_digest[slot] >= 0 &&
           search->successors[search->by_digest[slot]].digest != digest) {
        slot = (slot + 1) & (search->n_hash - 1);
    }
    return slot;
}

/* The digest of a state without the operands. */
static uint64_t digest_of_others(const iso__search_t *search, int index)
{
    uint64_t digest = search->states[index].digest;

    for (int i = 0; i < search->n_operands; i++) {
        const iso__operand_t *operand = &search->operands[i];
        digest -=
            digest_of(operand->slot, operand->places[operand->column[index]]);
    }
    return digest;
}

/* As far as it is known without the operands. */
static iso__state_t begin_successor(const iso__search_t *search, int index,
                                    int choice, uint64_t others)
{
    const iso__state_t *from = &search->states[index];
    const iso__effect_t *own = &search->own[choice];

    return (iso__state_t){.cost =
                              from->cost + search->costs[choice] + own->seconds,
                          .exchanges = from->exchanges + own->exchanges,
                          .n_cut = from->n_cut + (choice > 0),
                          .parent = index,
                          .choice = choice,
                          .digest = others + own->digest};
}

/* Add what happens to the operands, or a bound of it. */
static bool is_known(const iso__effect_t *effect, bool exact)
{
    return effect->known >= (exact ? ISO__KNOWN_EXACTLY : ISO__KNOWN_BOUND);
}

static iso_status_t add_effects(iso__search_t *search, bool exact,
                                iso__state_t *state)
{
    for (int i = 0; i < search->n_operands; i++) {
        const iso__operand_t *operand = &search->operands[i];
        const int column = operand->column[state->parent];
        iso__effect_t *effect =
            &operand->effects[column * search->choices->count + state->choice];
        ISO_TRY(is_known(effect, exact)
                    ? ISO_OK
                    : find_effect(search, operand, operand->places[column],
                                  &search->choices->list[state->choice], exact,
                                  effect));
        state->cost += effect->seconds;
        state->exchanges += effect->exchanges;
        state->digest += effect->digest;
    }
    return ISO_OK;
}

/* Keep a successor if it is within the bound and there is no better way to
 * the same places; exact seconds are asked for last. */
static iso_status_t try_successor(iso__search_t *search,
                                  const iso__state_t *begun)
{
    iso__state_t state = *begun;
    size_t slot = 0;

    if (state.cost > search->most) {
        return ISO_OK;
    }
    for (int exact = 0; exact <= 1; exact++) {
        state = *begun;
        ISO_TRY(add_effects(search, exact == 1, &state));
        if (state.cost > search->most) {
            return ISO_OK;
        }
        slot = slot_of_digest(search, state.digest);
        const int32_t other = search->by_digest[slot];
        if (other >= 0 &&
            iso__state_compare(&search->successors[other], &state) < 0) {
            return ISO_OK;
        }
    }
    if (search->by_digest[slot] < 0) {
        search->by_digest[slot] = search->n_successors++;
    }
    search->successors[search->by_digest[slot]] = state;
    return ISO_OK;
}

static void clear_successors(iso__search_t *search)
{
    const size_t most =
        (size_t)search->n_states * (size_t)search->choices->count;

    search->n_successors = 0;
    search->n_hash = 1;
    while (search->n_hash < 2 * most) {
        search->n_hash *= 2;
    }
    memset(search->by_digest, 0xff, search->n_hash * sizeof *search->by_digest);
}

static iso_status_t try_choices(iso__search_t *search, int index)
{
    const uint64_t others = digest_of_others(search, index);

    for (int c = 0; c < search->choices->count; c++) {
        const iso__state_t state = begin_successor(search, index, c, others);
        if (search->only_plain && !search->choices->list[c].is_plain) {
            continue;
        }
        ISO_TRY(try_successor(search, &state));
    }
    return ISO_OK;
}

iso_status_t iso__search_find_successors(iso__search_t *search)
{
    search->most = search->bound - search->rest[search->id + 1];
    clear_successors(search);
    for (int i = 0; i < search->n_states; i++) {
        ISO_TRY(try_choices(search, i));
    }
    return ISO_OK;
}

/* -- the best of them -- */

static bool is_worse(const iso__search_t *search, int32_t a, int32_t b)
{
    return iso__state_compare(&search->successors[a], &search->successors[b]) >
           0;
}

static void swap(int32_t *a, int32_t *b)
{
    const int32_t kept = *a;

    *a = *b;
    *b = kept;
}

/* Put kept[at] where it belongs, above what is better. */
static void sink(const iso__search_t *search, int at, int count)
{
    for (int child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count &&
            is_worse(search, search->kept[child + 1], search->kept[child])) {
            child++;
        }
        if (!is_worse(search, search->kept[child], search->kept[at])) {
            return;
        }
        swap(&search->kept[child], &search->kept[at]);
        at = child;
    }
}

/* The best successors into kept, a heap with the worst on top; returns their
 * number. */
static int keep_best(const iso__search_t *search)
{
    const int count = search->n_successors < search->beam ? search->n_successors
                                                          : search->beam;

    for (int i = 0; i < count; i++) {
        search->kept[i] = i;
    }
    for (int at = count / 2 - 1; at >= 0; at--) {
        sink(search, at, count);
    }
    for (int i = count; i < search->n_successors; i++) {
        if (is_worse(search, search->kept[0], i)) {
            search->kept[0] = i;
            sink(search, 0, count);
        }
    }
    return count;
}

/* A heap with the worst on top to a list with the best first. */
static void sort_kept(const iso__search_t *search, int count)
{
    for (int last = count - 1; last > 0; last--) {
        swap(&search->kept[0], &search->kept[last]);
        sink(search, 0, last);
    }
}

/* And the best one of each choice, however bad: a cut that pays only later
 * must not be crowded out by many ways of doing without it. */
static int keep_each_choice(const iso__search_t *search, int count)
{
    if (count == search->n_successors) {
        return count;
    }
    const int32_t worst = search->kept[count - 1];

    memset(search->best_of, 0xff,
           (size_t)search->choices->count * sizeof *search->best_of);
    for (int i = 0; i < search->n_successors; i++) {
        int32_t *best = &search->best_of[search->successors[i].choice];
        if (*best < 0 || is_worse(search, *best, i)) {
            *best = i;
        }
    }
    for (int c = 0; c < search->choices->count; c++) {
        if (search->best_of[c] >= 0 &&
            is_worse(search, search->best_of[c], worst)) {
            search->kept[count++] = search->best_of[c];
        }
    }
    return count;
}

/* The places of a successor: those of its parent, changed. */
static void fill_where(const iso__search_t *search, const iso__state_t *state,
                       int32_t *where)
{
    const int own_slot = search->slot_of[search->id];
    const size_t n_slots = (size_t)search->n_slots;

    memcpy(where, search->where + (size_t)state->parent * n_slots,
           n_slots * sizeof *where);
    for (int i = 0; i < search->n_operands; i++) {
        const iso__operand_t *operand = &search->operands[i];
        where[operand->slot] = operand
                                   ->effects[operand->column[state->parent] *
                                                 search->choices->count +
                                             state->choice]
                                   .place;
    }
    if (own_slot != ISO__NO_SLOT) {
        where[own_slot] = search->own[state->choice].place;
    }
}

void iso__search_advance(iso__search_t *search)
{
    int count = keep_best(search);
    iso__trail_t *trail =
        search->trail + (size_t)search->id * (size_t)search->most_states;
    iso__state_t *states = search->next_states;
    int32_t *where = search->next_where;

    sort_kept(search, count);
    count = keep_each_choice(search, count);
    for (int i = 0; i < count; i++) {
        states[i] = search->successors[search->kept[i]];
        trail[i] = (iso__trail_t){states[i].parent, states[i].choice};
        fill_where(search, &states[i],
                   where + (size_t)i * (size_t)search->n_slots);
    }
    search->next_states = search->states;
    search->next_where = search->where;
    search->states = states;
    search->where = where;
    search->n_states = count;
}
