/* Layouts, forms and places by number, and what it takes to move values
 * between them. */
#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "plan/shard/arrange_impl.h"
#include "plan/shard/exchange.h"

#include <math.h>

/* Three of these numbers are packed into one key. */
enum { NUMBER_BITS = 21, MOST_NUMBERS = 1 << NUMBER_BITS };

/* Where both are as fast as the better one, and nothing waits. */
static iso_link_t better_of(iso_link_t a, iso_link_t b)
{
    return (iso_link_t){.latency_s = fmin(a.latency_s, b.latency_s),
                        .bytes_per_s = fmax(a.bytes_per_s, b.bytes_per_s)};
}

static void find_fastest_link(iso__places_t *places)
{
    const iso_arrange_options_t *options = places->options;
    iso_link_t fastest = {.latency_s = INFINITY};

    for (int i = 0; i < options->n_workers; i++) {
        for (int k = 0; k < options->n_workers; k++) {
            const int from = options->ranks[i];
            const int to = options->ranks[k];
            fastest = better_of(fastest,
                                iso_machine_link(options->machine, from, to));
            for (int c = 0; c < ISO_COLLECTIVE_COUNT; c++) {
                fastest = better_of(fastest,
                                    iso_machine_collective(options->machine,
                                                           (iso_collective_t)c,
                                                           from, to));
            }
        }
    }
    places->fastest = fastest;
}

iso_status_t iso__places_create(const iso_arrange_options_t *options,
                                iso__places_t *places_out)
{
    *places_out = (iso__places_t){.options = options};
    find_fastest_link(places_out);
    ISO_TRY(iso_arena_create(&places_out->arena));
    /* Number 0: nowhere. */
    places_out->places = iso__room_for_one(NULL, &places_out->room_places, 0,
                                           sizeof *places_out->places);
    if (places_out->places == NULL) {
        return ISO_NOMEM;
    }
    places_out->places[ISO__NOWHERE] = (iso__place_t){.made = ISO__NO_LAYOUT};
    places_out->n_places = 1;
    return ISO_OK;
}

void iso__places_free(iso__places_t *places)
{
    iso__index_free(&places->layout_index);
    iso__index_free(&places->form_index);
    iso__index_free(&places->place_index);
    iso__index_free(&places->transfer_index);
    iso_free(places->layouts);
    iso_free(places->forms);
    iso_free(places->places);
    iso_free(places->transfers);
    iso_arena_destroy(&places->arena);
}

static iso_status_t check_number(size_t number)
{
    return number < MOST_NUMBERS
               ? ISO_OK
               : iso_fail(ISO_INVAL,
                          "the stage can be cut in more than %d ways, more "
                          "than can be compared; use fewer workers for it",
                          (int)MOST_NUMBERS);
}

/* -- layouts -- */

static uint64_t layout_key(const iso_layout_t *layout, int n_workers)
{
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_int(&digest, layout->kind);
    if (layout->kind == ISO_LAYOUT_ONE) {
        iso_digest_add_int(&digest, layout->worker);
    }
    if (layout->kind == ISO_LAYOUT_SPLIT) {
        iso_digest_add_int(&digest, layout->axis);
        iso_digest_add_bytes(&digest, layout->ranges,
                             (size_t)n_workers * sizeof *layout->ranges);
    }
    return iso_digest_end(&digest);
}

static iso_status_t add_layout(iso__places_t *places,
                               const iso_layout_t *layout)
{
    const int n_workers = places->options->n_workers;
    iso_layout_t copy = *layout;
    iso_layout_t *layouts =
        iso__room_for_one(places->layouts, &places->room_layouts,
                          places->n_layouts, sizeof *layouts);

    if (layouts == NULL) {
        return ISO_NOMEM;
    }
    places->layouts = layouts;
    copy.ranges = NULL;
    if (layout->kind == ISO_LAYOUT_SPLIT) {
        copy.ranges =
            iso_arena_copy(places->arena, layout->ranges,
                           (size_t)n_workers * sizeof *layout->ranges);
        if (copy.ranges == NULL) {
            return ISO_NOMEM;
        }
    }
    layouts[places->n_layouts] = copy;
    places->n_layouts++;
    return ISO_OK;
}

iso_status_t iso__places_layout(iso__places_t *places,
                                const iso_layout_t *layout, int32_t *layout_out)
{
    const uint64_t key = layout_key(layout, places->options->n_workers);

    *layout_out = iso__index_find(&places->layout_index, key);
    if (*layout_out >= 0) {
        return ISO_OK;
    }
    ISO_TRY(check_number(places->n_layouts));
    ISO_TRY(add_layout(places, layout));
    *layout_out = (int32_t)places->n_layouts - 1;
    return iso__index_add(&places->layout_index, key, *layout_out);
}

/* -- forms -- */

iso_status_t iso__places_form(iso__places_t *places, const iso_node_t *node,
                              int32_t *form_out)
{
    int64_t fields[ISO_MAX_RANK + 2] = {(int64_t)node->dtype, node->shape.rank};

    for (int i = 0; i < node->shape.rank; i++) {
        fields[i + 2] = node->shape.dim[i].size;
    }
    const uint64_t key = iso_digest_of(fields, sizeof fields);

    *form_out = iso__index_find(&places->form_index, key);
    if (*form_out >= 0) {
        return ISO_OK;
    }
    ISO_TRY(check_number(places->n_forms));

    iso__form_t *forms = iso__room_for_one(places->forms, &places->room_forms,
                                           places->n_forms, sizeof *forms);

    if (forms == NULL) {
        return ISO_NOMEM;
    }
    places->forms = forms;
    forms[places->n_forms] = (iso__form_t){node->dtype, node->shape};
    *form_out = (int32_t)places->n_forms;
    places->n_forms++;
    return iso__index_add(&places->form_index, key, *form_out);
}

/* -- places -- */

static iso_status_t number_place(iso__places_t *places,
                                 const iso__place_t *place, int32_t *place_out)
{
    int32_t fields[ISO__MOST_COPIES + 1] = {place->made};

    for (int i = 0; i < ISO__MOST_COPIES; i++) {
        fields[i + 1] = i < place->n_copies ? place->copies[i] : ISO__NO_LAYOUT;
    }
    const uint64_t key = iso_digest_of(fields, sizeof fields);

    *place_out = iso__index_find(&places->place_index, key);
    if (*place_out >= 0) {
        return ISO_OK;
    }
    ISO_TRY(check_number(places->n_places));

    iso__place_t *list = iso__room_for_one(places->places, &places->room_places,
                                           places->n_places, sizeof *list);

    if (list == NULL) {
        return ISO_NOMEM;
    }
    places->places = list;
    list[places->n_places] = *place;
    *place_out = (int32_t)places->n_places;
    places->n_places++;
    return iso__index_add(&places->place_index, key, *place_out);
}

iso_status_t iso__places_made(iso__places_t *places, int32_t layout,
                              int32_t *place_out)
{
    const iso__place_t place = {.made = layout};

    return number_place(places, &place, place_out);
}

/* The place of a value that was brought to one more layout. Once it is on
 * all workers it does not matter where else it is. */
static iso_status_t place_with(iso__places_t *places, int32_t number,
                               int32_t layout, int32_t *place_out)
{
    iso__place_t place = places->places[number];

    *place_out = number;
    if (places->layouts[layout].kind == ISO_LAYOUT_ALL) {
        return iso__places_made(places, layout, place_out);
    }
    if (place.n_copies == ISO__MOST_COPIES) {
        return ISO_OK;
    }
    int at = place.n_copies;

    for (; at > 0 && place.copies[at - 1] > layout; at--) {
        place.copies[at] = place.copies[at - 1];
    }
    place.copies[at] = layout;
    place.n_copies++;
    return number_place(places, &place, place_out);
}

/* -- transfers -- */

/* What a worker has of a value, as a part of it. */
static double share_on(const iso_layout_t *layout, const iso_shape_t *shape,
                       int worker)
{
    if (layout->kind == ISO_LAYOUT_ONE) {
        return layout->worker == worker ? 1.0 : 0.0;
    }
    if (layout->kind == ISO_LAYOUT_ALL || shape->dim[layout->axis].size == 0) {
        return 1.0;
    }
    return (double)iso_range_length(layout->ranges[worker]) /
           (double)shape->dim[layout->axis].size;
}

static bool same_axis(const iso_layout_t *a, const iso_layout_t *b)
{
    return a->kind == ISO_LAYOUT_SPLIT && b->kind == ISO_LAYOUT_SPLIT &&
           a->axis == b->axis;
}

static iso_range_t range_of_both(iso_range_t a, iso_range_t b)
{
    return (iso_range_t){a.begin > b.begin ? a.begin : b.begin,
                         a.end < b.end ? a.end : b.end};
}

/* Has a worker in one layout all that it has in another? */
static bool covers_on(const iso_layout_t *has, const iso_layout_t *needs,
                      const iso_shape_t *shape, int worker)
{
    if (same_axis(has, needs)) {
        const iso_range_t need = needs->ranges[worker];
        return iso_range_length(range_of_both(has->ranges[worker], need)) ==
               iso_range_length(need);
    }
    return share_on(needs, shape, worker) == 0.0 ||
           share_on(has, shape, worker) == 1.0;
}

/* Has every worker what it needs? */
static bool layout_covers(const iso__places_t *places, int32_t form,
                          int32_t has, int32_t needs)
{
    bool covers = true;

    if (has == needs || places->layouts[has].kind == ISO_LAYOUT_ALL) {
        return true;
    }
    for (int i = 0; covers && i < places->options->n_workers; i++) {
        covers = covers_on(&places->layouts[has], &places->layouts[needs],
                           &places->forms[form].shape, i);
    }
    return covers;
}

static bool place_covers(const iso__places_t *places, int32_t form,
                         const iso__place_t *place, int32_t need)
{
    bool covers = layout_covers(places, form, place->made, need);

    for (int i = 0; !covers && i < place->n_copies; i++) {
        covers = layout_covers(places, form, place->copies[i], need);
    }
    return covers;
}

static double exchange_seconds(const iso__places_t *places, int32_t form,
                               int32_t from, int32_t to)
{
    iso_exchange_t exchange = {.value = "",
                               .dtype = places->forms[form].dtype,
                               .shape = places->forms[form].shape,
                               .n_workers = places->options->n_workers,
                               .from = places->layouts[from],
                               .to = places->layouts[to]};

    exchange.kind = iso_exchange_kind_of(&exchange.from, &exchange.to);
    return iso_exchange_seconds(&exchange, places->options->machine,
                                places->options->ranks);
}

/* What a worker lacks, as a part of the value. */
static double missing_on(const iso_layout_t *has, const iso_layout_t *needs,
                         const iso_shape_t *shape, int worker)
{
    const double need = share_on(needs, shape, worker);
    const int64_t length =
        same_axis(has, needs) ? shape->dim[has->axis].size : 0;

    /* Along two axes the parts are independent. */
    return length == 0
               ? need - need * share_on(has, shape, worker)
               : need - (double)iso_range_length(range_of_both(
                            has->ranges[worker], needs->ranges[worker])) /
                            (double)length;
}

/* All that is lacking passes over the root, if there is one; else the busiest
 * worker has no less to do than the mean. Over the fastest link there is. */
static double least_seconds(const iso__places_t *places, int32_t form,
                            int32_t from, int32_t to)
{
    const iso__form_t *of = &places->forms[form];
    const iso_layout_t *has = &places->layouts[from];
    const iso_layout_t *needs = &places->layouts[to];
    const bool has_root =
        needs->kind == ISO_LAYOUT_ONE ||
        (has->kind == ISO_LAYOUT_ONE && needs->kind == ISO_LAYOUT_SPLIT);
    const int n_workers = places->options->n_workers;
    double bytes = 0.0;

    for (int i = 0; i < n_workers; i++) {
        bytes += missing_on(has, needs, &of->shape, i);
    }
    bytes *= (double)iso_shape_count(&of->shape) *
             (double)iso_dtype_bytes(of->dtype) / (has_root ? 1 : n_workers);
    /* A little less, for the rounding of other sums. */
    return bytes > 0.0 ? iso_link_seconds(places->fastest, bytes) * 0.999 : 0.0;
}

static iso_status_t make_transfer(iso__places_t *places, int32_t form,
                                  int32_t place, int32_t need,
                                  iso__transfer_t *transfer_out)
{
    const iso__place_t *from = &places->places[place];

    *transfer_out = (iso__transfer_t){.place = place, .is_exact = true};
    if (place_covers(places, form, from, need)) {
        return ISO_OK;
    }
    transfer_out->seconds = least_seconds(places, form, from->made, need);
    transfer_out->exchanges = 1;
    transfer_out->is_exact = false;
    return place_with(places, place, need, &transfer_out->place);
}

static iso_status_t add_transfer(iso__places_t *places, int32_t form,
                                 int32_t place, int32_t need, uint64_t key)
{
    iso__transfer_t *list =
        iso__room_for_one(places->transfers, &places->room_transfers,
                          places->n_transfers, sizeof *list);

    if (list == NULL) {
        return ISO_NOMEM;
    }
    places->transfers = list;
    ISO_TRY(
        make_transfer(places, form, place, need, &list[places->n_transfers]));
    places->n_transfers++;
    return iso__index_add(&places->transfer_index, key,
                          (int32_t)places->n_transfers - 1);
}

iso_status_t iso__places_transfer(iso__places_t *places, int32_t form,
                                  int32_t place, int32_t need, bool exact,
                                  iso__transfer_t *transfer_out)
{
    const uint64_t key = (uint64_t)form << (2 * NUMBER_BITS) |
                         (uint64_t)place << NUMBER_BITS | (uint64_t)need;
    int32_t known = iso__index_find(&places->transfer_index, key);

    if (known < 0) {
        known = (int32_t)places->n_transfers;
        ISO_TRY(add_transfer(places, form, place, need, key));
    }
    iso__transfer_t *transfer = &places->transfers[known];

    if (exact && !transfer->is_exact) {
        transfer->seconds =
            exchange_seconds(places, form, places->places[place].made, need);
        transfer->is_exact = true;
    }
    *transfer_out = *transfer;
    return ISO_OK;
}

/* -- bytes -- */

double iso__layout_bytes(const iso__places_t *places, int32_t form,
                         int32_t layout, int worker)
{
    iso_box_t box;

    iso_layout_box(&places->layouts[layout], &places->forms[form].shape, worker,
                   &box);
    return (double)iso_box_count(&box) *
           (double)iso_dtype_bytes(places->forms[form].dtype);
}

double iso__place_bytes(const iso__places_t *places, int32_t form,
                        int32_t place, int worker)
{
    const iso__place_t *is = &places->places[place];
    double bytes = 0.0;

    if (place == ISO__NOWHERE) {
        return 0.0;
    }
    bytes = iso__layout_bytes(places, form, is->made, worker);
    for (int i = 0; i < is->n_copies; i++) {
        bytes += iso__layout_bytes(places, form, is->copies[i], worker);
    }
    return bytes;
}
