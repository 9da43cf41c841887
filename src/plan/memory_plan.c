#include "plan/memory_plan.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "plan/memory_lives.h"

#include <string.h>

/* -- holes -- */

/* Free bytes below the top, in order of offset, never touching each other. */
typedef struct hole {
    size_t begin;
    size_t end;
} hole_t;

typedef struct holes {
    hole_t *list; /* (n_places + 1): each release makes one hole at most */
    int32_t count;
    size_t top; /* bytes in use at some time: what the buffer needs */
} holes_t;

static void remove_hole(holes_t *holes, int32_t index)
{
    holes->count--;
    memmove(&holes->list[index], &holes->list[index + 1],
            (size_t)(holes->count - index) * sizeof *holes->list);
}

/* Take bytes from the smallest hole that has them, else from the top, where
 * a hole that reaches the top is used first. */
static size_t take(holes_t *holes, size_t bytes)
{
    int32_t best = -1;
    size_t best_bytes = SIZE_MAX;
    hole_t *last = holes->count > 0 ? &holes->list[holes->count - 1] : NULL;
    size_t begin;

    for (int32_t i = 0; i < holes->count; i++) {
        size_t have = holes->list[i].end - holes->list[i].begin;
        if (have >= bytes && have < best_bytes) {
            best = i;
            best_bytes = have;
        }
    }
    if (best >= 0) {
        begin = holes->list[best].begin;
        holes->list[best].begin += bytes;
        if (best_bytes == bytes) {
            remove_hole(holes, best);
        }
        return begin;
    }
    begin = holes->top;
    if (last != NULL && last->end == holes->top) {
        begin = last->begin;
        holes->count--;
    }
    holes->top = begin + bytes;
    return begin;
}

/* First hole that begins at or after offset. */
static int32_t hole_after(const holes_t *holes, size_t offset)
{
    int32_t low = 0;
    int32_t high = holes->count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (holes->list[middle].begin < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Give bytes back and join them with the holes they touch. */
static void give(holes_t *holes, size_t begin, size_t bytes)
{
    int32_t next = hole_after(holes, begin);
    size_t end = begin + bytes;
    bool joins_next = next < holes->count && holes->list[next].begin == end;
    bool joins_previous = next > 0 && holes->list[next - 1].end == begin;

    if (joins_previous && joins_next) {
        holes->list[next - 1].end = holes->list[next].end;
        remove_hole(holes, next);
    } else if (joins_previous) {
        holes->list[next - 1].end = end;
    } else if (joins_next) {
        holes->list[next].begin = begin;
    } else {
        memmove(&holes->list[next + 1], &holes->list[next],
                (size_t)(holes->count - next) * sizeof *holes->list);
        holes->list[next] = (hole_t){begin, end};
        holes->count++;
    }
}

/* -- plan -- */

/* Places by the time of their last use: lists linked through next. */
typedef struct deaths {
    int32_t *first; /* (n_nodes) by time, ISO__NO_PLACE when none */
    int32_t *next;  /* (n_places) */
} deaths_t;

static void fill_deaths(const iso__lives_t *lives, deaths_t *deaths)
{
    for (int32_t i = 0; i < lives->n_nodes; i++) {
        deaths->first[i] = ISO__NO_PLACE;
    }
    for (int32_t place = 0; place < lives->n_places; place++) {
        int32_t time = lives->last_use[place];
        if (lives->bytes[place] > 0 && time < lives->n_nodes) {
            deaths->next[place] = deaths->first[time];
            deaths->first[time] = place;
        }
    }
}

/* Where the plan keeps the offset of a place. */
static int64_t *offset_of(const iso_memory_plan_t *plan, int32_t place)
{
    return place < plan->n_nodes
               ? &plan->offset_bytes[place]
               : &plan->copy_offset_bytes[place - plan->n_nodes];
}

static iso_status_t give_birth(const iso__lives_t *lives, int32_t time,
                               holes_t *holes, iso_memory_plan_t *plan)
{
    for (int32_t place = lives->first_born[time]; place != ISO__NO_PLACE;
         place = lives->next_born[place]) {
        if (lives->bytes[place] > (size_t)INT64_MAX - holes->top) {
            return iso_fail(ISO_SHAPE,
                            "the values of the graph take more than %lld "
                            "bytes",
                            (long long)INT64_MAX);
        }
        *offset_of(plan, place) = (int64_t)take(holes, lives->bytes[place]);
    }
    return ISO_OK;
}

/* What a step makes gets its place while its operands still hold theirs. */
static iso_status_t place_values(const iso__lives_t *lives,
                                 const deaths_t *deaths, holes_t *holes,
                                 iso_memory_plan_t *plan)
{
    for (int32_t time = 0; time < lives->n_nodes; time++) {
        ISO_TRY(give_birth(lives, time, holes, plan));
        for (int32_t dead = deaths->first[time]; dead != ISO__NO_PLACE;
             dead = deaths->next[dead]) {
            give(holes, (size_t)*offset_of(plan, dead), lives->bytes[dead]);
        }
    }
    plan->total_bytes = holes->top;
    return ISO_OK;
}

/* Whose bytes a node's plain elements are; itself when they are its own. */
static iso_node_id_t owner_of(const iso__lives_t *lives, iso_node_id_t id)
{
    return lives->home[id] % lives->n_nodes;
}

static void begin_plan(const iso__lives_t *lives, iso_memory_plan_t *plan)
{
    for (iso_node_id_t id = 0; id < lives->n_nodes; id++) {
        const iso_node_id_t owner = owner_of(lives, id);

        plan->alias[id] = owner == id ? ISO_NO_NODE : owner;
        plan->offset_bytes[id] = ISO_MEMORY_NONE;
        plan->copy_offset_bytes[id] = ISO_MEMORY_NONE;
    }
}

static void place_aliases(const iso__lives_t *lives, iso_memory_plan_t *plan)
{
    for (iso_node_id_t id = 0; id < lives->n_nodes; id++) {
        if (plan->alias[id] != ISO_NO_NODE) {
            plan->offset_bytes[id] = *offset_of(plan, lives->home[id]);
        }
    }
}

static iso_status_t plan_lives(const iso__lives_t *lives,
                               iso_memory_plan_t *plan)
{
    const size_t n_nodes = (size_t)lives->n_nodes;
    const size_t n_places = (size_t)lives->n_places;
    iso_status_t status = ISO_NOMEM;
    holes_t holes = {
        .list = iso_alloc_zeroed(n_places + 1, sizeof *holes.list),
    };
    deaths_t deaths = {
        .first = iso_alloc_zeroed(n_nodes, sizeof *deaths.first),
        .next = iso_alloc_zeroed(n_places, sizeof *deaths.next),
    };

    plan->n_nodes = lives->n_nodes;
    plan->offset_bytes = iso_alloc_zeroed(n_nodes, sizeof *plan->offset_bytes);
    plan->copy_offset_bytes =
        iso_alloc_zeroed(n_nodes, sizeof *plan->copy_offset_bytes);
    plan->alias = iso_alloc_zeroed(n_nodes, sizeof *plan->alias);
    if (holes.list != NULL && deaths.first != NULL && deaths.next != NULL &&
        plan->offset_bytes != NULL && plan->copy_offset_bytes != NULL &&
        plan->alias != NULL) {
        begin_plan(lives, plan);
        fill_deaths(lives, &deaths);
        status = place_values(lives, &deaths, &holes, plan);
    }
    if (status == ISO_OK) {
        place_aliases(lives, plan);
    }
    iso_free(holes.list);
    iso_free(deaths.first);
    iso_free(deaths.next);
    return status;
}

iso_status_t iso_memory_plan_create(const iso_graph_t *graph,
                                    const iso_formats_t *formats,
                                    iso_memory_plan_t *plan_out)
{
    iso__lives_t lives = {0};

    *plan_out = (iso_memory_plan_t){0};
    ISO_TRY(iso__lives_create(graph, formats, &lives));
    iso_status_t status = plan_lives(&lives, plan_out);

    if (status != ISO_OK) {
        iso_memory_plan_free(plan_out);
    }
    iso__lives_free(&lives);
    return status;
}

void iso_memory_plan_free(iso_memory_plan_t *plan)
{
    iso_free(plan->offset_bytes);
    iso_free(plan->copy_offset_bytes);
    iso_free(plan->alias);
    *plan = (iso_memory_plan_t){0};
}

iso_status_t iso_memory_plan_bytes(const iso_graph_t *graph, size_t *bytes_out)
{
    iso_formats_t formats = {0};
    iso_memory_plan_t plan = {0};
    iso_status_t status = iso_formats_create(graph, true, &formats);

    if (status == ISO_OK) {
        status = iso_memory_plan_create(graph, &formats, &plan);
    }
    *bytes_out = plan.total_bytes;
    iso_memory_plan_free(&plan);
    iso_formats_free(&formats);
    return status;
}

/* -- check -- */

/* "'x'", or "the copy of 'x'". */
typedef struct place_name {
    const char *before;
    const char *name;
} place_name_t;

static place_name_t name_of(const iso_graph_t *graph, int32_t place)
{
    const int32_t n_nodes = iso_graph_node_count(graph);

    return (place_name_t){place < n_nodes ? "" : "the copy of ",
                          iso_graph_node(graph, place % n_nodes)->name};
}

static iso_status_t check_place(const iso_graph_t *graph,
                                const iso__lives_t *lives,
                                const iso_memory_plan_t *plan, int32_t place)
{
    const place_name_t name = name_of(graph, place);
    const int64_t offset = *offset_of(plan, place);
    const size_t bytes = lives->bytes[place];

    if ((bytes > 0) != (offset != ISO_MEMORY_NONE)) {
        return iso_fail(ISO_INTERNAL, "memory plan: %s'%s' has offset %lld",
                        name.before, name.name, (long long)offset);
    }
    if (bytes > 0 && (offset < 0 || offset % ISO__PLACE_ALIGNMENT != 0 ||
                      (size_t)offset > plan->total_bytes ||
                      bytes > plan->total_bytes - (size_t)offset)) {
        return iso_fail(ISO_INTERNAL,
                        "memory plan: %s'%s' has bytes [%lld, +%zu), outside "
                        "%zu",
                        name.before, name.name, (long long)offset, bytes,
                        plan->total_bytes);
    }
    return ISO_OK;
}

static iso_status_t check_node(const iso_graph_t *graph,
                               const iso__lives_t *lives,
                               const iso_memory_plan_t *plan, iso_node_id_t id)
{
    const char *name = iso_graph_node(graph, id)->name;
    const iso_node_id_t owner = owner_of(lives, id);
    const iso_node_id_t alias = owner == id ? ISO_NO_NODE : owner;

    if (plan->alias[id] != alias) {
        return iso_fail(ISO_INTERNAL,
                        "memory plan: '%s' is an alias of node %d, expected "
                        "%d",
                        name, plan->alias[id], alias);
    }
    if (alias == ISO_NO_NODE) {
        ISO_TRY(check_place(graph, lives, plan, id));
    } else if (plan->offset_bytes[id] != *offset_of(plan, lives->home[id])) {
        return iso_fail(ISO_INTERNAL, "memory plan: '%s' has offset %lld", name,
                        (long long)plan->offset_bytes[id]);
    }
    if (lives->n_places > lives->n_nodes) {
        return check_place(graph, lives, plan, lives->n_nodes + id);
    }
    return ISO_OK;
}

/* Places in use at one time. */
typedef struct alive {
    int32_t *list; /* (n_places) */
    int32_t count;
} alive_t;

static void drop_dead(const iso__lives_t *lives, int32_t time, alive_t *alive)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < alive->count; i++) {
        if (lives->last_use[alive->list[i]] >= time) {
            alive->list[kept++] = alive->list[i];
        }
    }
    alive->count = kept;
}

static iso_status_t add_alive(const iso_graph_t *graph,
                              const iso__lives_t *lives,
                              const iso_memory_plan_t *plan, int32_t place,
                              alive_t *alive)
{
    const size_t begin = (size_t)*offset_of(plan, place);
    const size_t end = begin + lives->bytes[place];

    for (int32_t i = 0; i < alive->count; i++) {
        const int32_t other = alive->list[i];
        const size_t other_begin = (size_t)*offset_of(plan, other);

        if (other_begin < end && begin < other_begin + lives->bytes[other]) {
            const place_name_t first = name_of(graph, other);
            const place_name_t second = name_of(graph, place);

            return iso_fail(
                ISO_INTERNAL,
                "memory plan: %s'%s' and %s'%s' overlap at byte %zu",
                first.before, first.name, second.before, second.name,
                begin > other_begin ? begin : other_begin);
        }
    }
    alive->list[alive->count++] = place;
    return ISO_OK;
}

static iso_status_t check_overlaps(const iso_graph_t *graph,
                                   const iso__lives_t *lives,
                                   const iso_memory_plan_t *plan)
{
    iso_status_t status = ISO_OK;
    alive_t alive = {
        .list = iso_alloc_zeroed((size_t)lives->n_places, sizeof *alive.list),
    };

    if (alive.list == NULL) {
        return ISO_NOMEM;
    }
    for (int32_t time = 0; time < lives->n_nodes && status == ISO_OK; time++) {
        int32_t place = lives->first_born[time];

        if (place != ISO__NO_PLACE) {
            drop_dead(lives, time, &alive);
        }
        while (place != ISO__NO_PLACE && status == ISO_OK) {
            status = add_alive(graph, lives, plan, place, &alive);
            place = lives->next_born[place];
        }
    }
    iso_free(alive.list);
    return status;
}

iso_status_t iso_memory_plan_check(const iso_graph_t *graph,
                                   const iso_formats_t *formats,
                                   const iso_memory_plan_t *plan)
{
    iso__lives_t lives = {0};
    iso_status_t status = ISO_OK;

    if (plan->n_nodes != iso_graph_node_count(graph)) {
        return iso_fail(ISO_INTERNAL, "memory plan: %d nodes, expected %d",
                        plan->n_nodes, iso_graph_node_count(graph));
    }
    ISO_TRY(iso__lives_create(graph, formats, &lives));
    for (iso_node_id_t id = 0; id < lives.n_nodes && status == ISO_OK; id++) {
        status = check_node(graph, &lives, plan, id);
    }
    if (status == ISO_OK) {
        status = check_overlaps(graph, &lives, plan);
    }
    iso__lives_free(&lives);
    return status;
}
