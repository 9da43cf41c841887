#include "plan/memory_plan.h"

#include "isotome/error.h"

#include "base/mem.h"

#include <string.h>

enum { PLACE_ALIGNMENT = 64 };

/* -- lives -- */

/*
 * When each value dies. A value is born when its node runs (time = node id)
 * and keeps its bytes through its last use; an alias lives as its owner.
 */
typedef struct lives {
    int32_t n_nodes;
    size_t *bytes;        /* (n_nodes) rounded up; 0 for leaves and aliases */
    iso_node_id_t *owner; /* (n_nodes) node that holds the bytes, or itself */
    int32_t *last_use;    /* (n_nodes) of the owner; n_nodes: to the end */
} lives_t;

static void free_lives(lives_t *lives)
{
    iso_free(lives->bytes);
    iso_free(lives->owner);
    iso_free(lives->last_use);
}

static iso_status_t allocate_lives(int32_t n_nodes, lives_t *lives)
{
    size_t count = (size_t)n_nodes;

    lives->n_nodes = n_nodes;
    lives->bytes = iso_alloc_zeroed(count, sizeof *lives->bytes);
    lives->owner = iso_alloc_zeroed(count, sizeof *lives->owner);
    lives->last_use = iso_alloc_zeroed(count, sizeof *lives->last_use);
    if (lives->bytes == NULL || lives->owner == NULL ||
        lives->last_use == NULL) {
        return ISO_NOMEM;
    }
    return ISO_OK;
}

/* Room that a value takes: whole cache lines, one at least, so that every
 * value has a place of its own. */
static iso_status_t room_of(const iso_node_t *node, size_t *room_out)
{
    size_t bytes = 0;
    iso_status_t status =
        iso_tensor_bytes_of(node->dtype, &node->shape, &bytes);

    if (status != ISO_OK) {
        return iso_fail_context(status, "node '%s'", node->name);
    }
    bytes = bytes == 0 ? 1 : bytes;
    *room_out =
        (bytes + PLACE_ALIGNMENT - 1) / PLACE_ALIGNMENT * PLACE_ALIGNMENT;
    return ISO_OK;
}

static void extend_life(lives_t *lives, iso_node_id_t node, int32_t time)
{
    iso_node_id_t owner = lives->owner[node];

    if (lives->last_use[owner] < time) {
        lives->last_use[owner] = time;
    }
}

static iso_status_t begin_life(const iso_graph_t *graph, iso_node_id_t id,
                               lives_t *lives)
{
    const iso_node_t *node = iso_graph_node(graph, id);
    bool alias = node->op == ISO_OP_RESHAPE;

    lives->owner[id] = alias ? lives->owner[node->inputs[0]] : id;
    lives->last_use[id] = id;
    for (int i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != ISO_NO_NODE) {
            extend_life(lives, node->inputs[i], id);
        }
    }
    return alias || iso_node_is_leaf(node) ? ISO_OK
                                           : room_of(node, &lives->bytes[id]);
}

static iso_status_t fill_lives(const iso_graph_t *graph, lives_t *lives)
{
    for (iso_node_id_t id = 0; id < lives->n_nodes; id++) {
        ISO_TRY(begin_life(graph, id, lives));
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        extend_life(lives, iso_graph_output(graph, i)->node, lives->n_nodes);
    }
    return ISO_OK;
}

/* -- holes -- */

/* Free bytes below the top, in order of offset, never touching each other. */
typedef struct hole {
    size_t begin;
    size_t end;
} hole_t;

typedef struct holes {
    hole_t *list; /* (n_nodes + 1): each release makes one hole at most */
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

/* Values by the time of their last use: lists linked through next. */
typedef struct deaths {
    iso_node_id_t *first; /* (n_nodes) by time, ISO_NO_NODE when none */
    iso_node_id_t *next;  /* (n_nodes) */
} deaths_t;

static void fill_deaths(const lives_t *lives, deaths_t *deaths)
{
    for (int32_t i = 0; i < lives->n_nodes; i++) {
        deaths->first[i] = ISO_NO_NODE;
    }
    for (iso_node_id_t id = 0; id < lives->n_nodes; id++) {
        int32_t time = lives->last_use[id];
        if (lives->bytes[id] > 0 && time < lives->n_nodes) {
            deaths->next[id] = deaths->first[time];
            deaths->first[time] = id;
        }
    }
}

/* A node's result gets its place while its operands still hold theirs. */
static iso_status_t place_values(const lives_t *lives, const deaths_t *deaths,
                                 holes_t *holes, iso_memory_plan_t *plan)
{
    for (iso_node_id_t id = 0; id < lives->n_nodes; id++) {
        iso_node_id_t owner = lives->owner[id];

        plan->alias[id] = owner == id ? ISO_NO_NODE : owner;
        plan->offset_bytes[id] =
            owner == id ? ISO_MEMORY_NONE : plan->offset_bytes[owner];
        if (lives->bytes[id] > 0) {
            if (lives->bytes[id] > (size_t)INT64_MAX - holes->top) {
                return iso_fail(ISO_SHAPE,
                                "the values of the graph take more than %lld "
                                "bytes",
                                (long long)INT64_MAX);
            }
            plan->offset_bytes[id] = (int64_t)take(holes, lives->bytes[id]);
        }
        for (iso_node_id_t dead = deaths->first[id]; dead != ISO_NO_NODE;
             dead = deaths->next[dead]) {
            give(holes, (size_t)plan->offset_bytes[dead], lives->bytes[dead]);
        }
    }
    plan->total_bytes = holes->top;
    return ISO_OK;
}

static iso_status_t plan_lives(const lives_t *lives, iso_memory_plan_t *plan)
{
    size_t count = (size_t)lives->n_nodes;
    iso_status_t status = ISO_NOMEM;
    holes_t holes = {
        .list = iso_alloc_zeroed(count + 1, sizeof *holes.list),
    };
    deaths_t deaths = {
        .first = iso_alloc_zeroed(count, sizeof *deaths.first),
        .next = iso_alloc_zeroed(count, sizeof *deaths.next),
    };

    plan->n_nodes = lives->n_nodes;
    plan->offset_bytes = iso_alloc_zeroed(count, sizeof *plan->offset_bytes);
    plan->alias = iso_alloc_zeroed(count, sizeof *plan->alias);
    if (holes.list != NULL && deaths.first != NULL && deaths.next != NULL &&
        plan->offset_bytes != NULL && plan->alias != NULL) {
        fill_deaths(lives, &deaths);
        status = place_values(lives, &deaths, &holes, plan);
    }
    iso_free(holes.list);
    iso_free(deaths.first);
    iso_free(deaths.next);
    return status;
}

iso_status_t iso_memory_plan_create(const iso_graph_t *graph,
                                    iso_memory_plan_t *plan_out)
{
    lives_t lives = {0};
    iso_status_t status = allocate_lives(iso_graph_node_count(graph), &lives);

    *plan_out = (iso_memory_plan_t){0};
    if (status == ISO_OK) {
        status = fill_lives(graph, &lives);
    }
    if (status == ISO_OK) {
        status = plan_lives(&lives, plan_out);
    }
    if (status != ISO_OK) {
        iso_memory_plan_free(plan_out);
    }
    free_lives(&lives);
    return status;
}

void iso_memory_plan_free(iso_memory_plan_t *plan)
{
    iso_free(plan->offset_bytes);
    iso_free(plan->alias);
    *plan = (iso_memory_plan_t){0};
}

/* -- check -- */

static iso_status_t check_entry(const iso_graph_t *graph, const lives_t *lives,
                                const iso_memory_plan_t *plan, iso_node_id_t id)
{
    const char *name = iso_graph_node(graph, id)->name;
    iso_node_id_t owner = lives->owner[id];
    iso_node_id_t alias = owner == id ? ISO_NO_NODE : owner;
    int64_t offset = plan->offset_bytes[id];
    bool placed = lives->bytes[owner] > 0;

    if (plan->alias[id] != alias) {
        return iso_fail(ISO_INTERNAL,
                        "memory plan: '%s' is an alias of node %d, expected "
                        "%d",
                        name, plan->alias[id], alias);
    }
    if (placed != (offset != ISO_MEMORY_NONE) ||
        offset != plan->offset_bytes[owner]) {
        return iso_fail(ISO_INTERNAL, "memory plan: '%s' has offset %lld", name,
                        (long long)offset);
    }
    if (placed && (offset < 0 || offset % PLACE_ALIGNMENT != 0 ||
                   (size_t)offset > plan->total_bytes ||
                   lives->bytes[owner] > plan->total_bytes - (size_t)offset)) {
        return iso_fail(ISO_INTERNAL,
                        "memory plan: '%s' has bytes [%lld, +%zu), outside %zu",
                        name, (long long)offset, lives->bytes[owner],
                        plan->total_bytes);
    }
    return ISO_OK;
}

/* Values alive at one time. */
typedef struct alive {
    iso_node_id_t *list; /* (n_nodes) */
    int32_t count;
} alive_t;

static void drop_dead(const lives_t *lives, int32_t time, alive_t *alive)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < alive->count; i++) {
        if (lives->last_use[alive->list[i]] >= time) {
            alive->list[kept++] = alive->list[i];
        }
    }
    alive->count = kept;
}

static iso_status_t add_alive(const iso_graph_t *graph, const lives_t *lives,
                              const iso_memory_plan_t *plan, iso_node_id_t id,
                              alive_t *alive)
{
    size_t begin = (size_t)plan->offset_bytes[id];
    size_t end = begin + lives->bytes[id];

    for (int32_t i = 0; i < alive->count; i++) {
        iso_node_id_t other = alive->list[i];
        size_t other_begin = (size_t)plan->offset_bytes[other];

        if (other_begin < end && begin < other_begin + lives->bytes[other]) {
            return iso_fail(ISO_INTERNAL,
                            "memory plan: '%s' and '%s' overlap at byte %zu",
                            iso_graph_node(graph, other)->name,
                            iso_graph_node(graph, id)->name,
                            begin > other_begin ? begin : other_begin);
        }
    }
    alive->list[alive->count++] = id;
    return ISO_OK;
}

static iso_status_t check_overlaps(const iso_graph_t *graph,
                                   const lives_t *lives,
                                   const iso_memory_plan_t *plan)
{
    iso_status_t status = ISO_OK;
    alive_t alive = {
        .list = iso_alloc_zeroed((size_t)lives->n_nodes, sizeof *alive.list),
    };

    if (alive.list == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < lives->n_nodes && status == ISO_OK; id++) {
        if (lives->bytes[id] > 0) {
            drop_dead(lives, id, &alive);
            status = add_alive(graph, lives, plan, id, &alive);
        }
    }
    iso_free(alive.list);
    return status;
}

iso_status_t iso_memory_plan_check(const iso_graph_t *graph,
                                   const iso_memory_plan_t *plan)
{
    lives_t lives = {0};
    iso_status_t status;

    if (plan->n_nodes != iso_graph_node_count(graph)) {
        return iso_fail(ISO_INTERNAL, "memory plan: %d nodes, expected %d",
                        plan->n_nodes, iso_graph_node_count(graph));
    }
    status = allocate_lives(plan->n_nodes, &lives);
    if (status == ISO_OK) {
        status = fill_lives(graph, &lives);
    }
    for (iso_node_id_t id = 0; id < lives.n_nodes && status == ISO_OK; id++) {
        status = check_entry(graph, &lives, plan, id);
    }
    if (status == ISO_OK) {
        status = check_overlaps(graph, &lives, plan);
    }
    free_lives(&lives);
    return status;
}
