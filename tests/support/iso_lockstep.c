#include "iso_lockstep.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "kernel/ref.h"
#include "kernel/walk.h"

#include <string.h>

enum { MOST_OPERANDS = 256 };

/* -- parts -- */

/* Elements that belong to a box of a value. */
typedef struct place {
    const iso_tensor_t *tensor; /* has the elements of box */
    iso_box_t box;
} place_t;

static bool box_fits(const iso_box_t *box, const iso_tensor_t *tensor)
{
    bool fits = box->rank == tensor->rank;

    for (int axis = 0; fits && axis < box->rank; axis++) {
        fits = iso_range_length(box->range[axis]) == tensor->dims[axis];
    }
    return fits;
}

/* Let walk follow the elements of part, in a tensor that has more. */
static void follow(iso__walk_t *walk, const place_t *place,
                   const iso_box_t *part)
{
    int64_t strides[ISO_MAX_RANK];
    int64_t first = 0;

    iso__strides_of(place->tensor->rank, place->tensor->dims, strides);
    for (int axis = 0; axis < part->rank; axis++) {
        first += (part->range[axis].begin - place->box.range[axis].begin) *
                 strides[axis];
    }
    (void)iso__walk_add(walk, first, strides);
}

/* What a step of a walk over a part does with an element of each place;
 * false ends the walk. */
typedef bool visit_fn(char *a, const char *b, size_t size);

static bool copy_element(char *a, const char *b, size_t size)
{
    memcpy(a, b, size);
    return true;
}

static bool same_element(char *a, const char *b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

/* Elements visited. */
static int64_t walk_part(const place_t *a, const place_t *b,
                         const iso_box_t *part, visit_fn *visit)
{
    const size_t size = iso_dtype_bytes(a->tensor->dtype);
    const int64_t count = iso_box_count(part);
    int64_t dims[ISO_MAX_RANK];
    iso__walk_t walk;
    int64_t done = 0;

    for (int axis = 0; axis < part->rank; axis++) {
        dims[axis] = iso_range_length(part->range[axis]);
    }
    if (count == 0) {
        return 0;
    }
    iso__walk_begin(&walk, part->rank, dims);
    follow(&walk, a, part);
    follow(&walk, b, part);
    while (done < count &&
           visit((char *)a->tensor->data + (size_t)walk.offset[0] * size,
                 (const char *)b->tensor->data + (size_t)walk.offset[1] * size,
                 size)) {
        iso__walk_next(&walk);
        done++;
    }
    return done;
}

static iso_box_t whole_box(const iso_tensor_t *tensor)
{
    const iso_layout_t all = {.kind = ISO_LAYOUT_ALL};
    const iso_shape_t shape = iso_tensor_shape(tensor);
    iso_box_t box;

    iso_layout_box(&all, &shape, 0, &box);
    return box;
}

/* -- one node -- */

/* Room for a node's value. */
static iso_status_t make_value(const iso_node_t *node, iso_tensor_t *value)
{
    size_t bytes = 0;

    ISO_TRY(iso_tensor_view(node->dtype, &node->shape, NULL, value));
    bytes = iso_tensor_bytes(value);
    value->data = iso_alloc(bytes);
    if (value->data == NULL) {
        return ISO_NOMEM;
    }
    memset(value->data, 0xa5, bytes);
    return ISO_OK;
}

/* Name and part of a whole value that a leaf of the local graph is. */
static iso_status_t take_part(const iso_weight_source_t *source,
                              const char *name, const iso_box_t *box,
                              const iso_node_t *node, iso_tensor_t *value)
{
    iso_tensor_t whole = {0};
    place_t to = {value, *box};
    place_t from = {&whole, {0}};

    ISO_TRY(source->get(source->arg, name, &whole));
    ISO_TRY(make_value(node, value));
    from.box = whole_box(&whole);
    if (!box_fits(box, value) || whole.rank != box->rank ||
        whole.dtype != value->dtype) {
        return iso_fail(ISO_INTERNAL, "'%s' is not a part of '%s'", node->name,
                        name);
    }
    (void)walk_part(&to, &from, box, copy_element);
    return ISO_OK;
}

static const iso_weight_part_t *find_weight(const iso_local_t *local,
                                            const char *node)
{
    for (int i = 0; i < local->n_weights; i++) {
        if (strcmp(local->weights[i].node, node) == 0) {
            return &local->weights[i];
        }
    }
    return NULL;
}

static iso_status_t take_weight(const iso_local_t *local,
                                const iso_weight_source_t *weights,
                                const iso_node_t *node, iso_tensor_t *value)
{
    const iso_weight_part_t *part = find_weight(local, node->name);
    iso_tensor_t whole = {0};
    iso_box_t box;

    if (part == NULL) {
        return iso_fail(ISO_INTERNAL, "worker %d: '%s' is not in its weights",
                        local->worker, node->name);
    }
    ISO_TRY(weights->get(weights->arg, part->weight, &whole));
    box = whole_box(&whole);
    if (part->slab.axis != ISO_AXIS_WHOLE) {
        box.range[part->slab.axis] = part->slab.range;
    }
    return take_part(weights, part->weight, &box, node, value);
}

static iso_status_t compute(const iso_node_t *node, const iso_tensor_t *values,
                            iso_tensor_t *value)
{
    const iso_tensor_t *operands[MOST_OPERANDS];

    if (node->n_inputs > MOST_OPERANDS) {
        return iso_fail(ISO_UNSUPPORTED, "'%s' has %d operands", node->name,
                        node->n_inputs);
    }
    for (int i = 0; i < node->n_inputs; i++) {
        operands[i] =
            node->inputs[i] == ISO_NO_NODE ? NULL : &values[node->inputs[i]];
    }
    ISO_TRY(make_value(node, value));
    return iso_ref_run(node, operands, value);
}

/* -- one worker -- */

typedef struct run {
    iso_lockstep_t *lockstep;
    const iso_weight_source_t *weights;
    const iso_weight_source_t *inputs;
    iso_node_id_t *next; /* (n_workers) node that each is about to do */
} run_t;

static const iso_node_t *next_node(const run_t *run, int worker)
{
    const iso_graph_t *graph = run->lockstep->locals[worker]->graph;

    return run->next[worker] < iso_graph_node_count(graph)
               ? iso_graph_node(graph, run->next[worker])
               : NULL;
}

static iso_status_t do_node(const run_t *run, int worker,
                            const iso_node_t *node)
{
    const iso_local_t *local = run->lockstep->locals[worker];
    const iso_node_id_t id = run->next[worker];
    iso_tensor_t *values = run->lockstep->values[worker];

    switch (node->op) {
    case ISO_OP_INPUT:
        return take_part(run->inputs, node->name, &local->origins[id].box, node,
                         &values[id]);
    case ISO_OP_PARAM:
        return take_weight(local, run->weights, node, &values[id]);
    case ISO_OP_CONSTANT:
        /* A view has no const; nothing writes to operands. */
        return iso_tensor_view(node->dtype, &node->shape, (void *)node->data,
                               &values[id]);
    default:
        return compute(node, values, &values[id]);
    }
}

static iso_status_t run_to_exchange(run_t *run, int worker)
{
    const iso_node_t *node = next_node(run, worker);

    while (node != NULL && node->op != ISO_OP_EXCHANGE) {
        iso_status_t status = do_node(run, worker, node);

        if (status != ISO_OK) {
            return iso_fail_context(status, "worker %d", worker);
        }
        run->next[worker]++;
        node = next_node(run, worker);
    }
    return ISO_OK;
}

/* -- one exchange -- */

/* Is every worker at exchange number? *done_out: none is at any. */
static iso_status_t meet(const run_t *run, int number, bool *done_out)
{
    *done_out = number == run->lockstep->locals[0]->n_exchanges;
    for (int worker = 0; worker < run->lockstep->n_workers; worker++) {
        const iso_node_t *node = next_node(run, worker);
        const int64_t at =
            node == NULL ? -1 : iso_node_attr(node, "number")->value.ints[0];

        if (run->lockstep->locals[worker]->n_exchanges !=
                run->lockstep->locals[0]->n_exchanges ||
            at != (*done_out ? -1 : number)) {
            return iso_fail(ISO_INTERNAL,
                            "worker %d is at exchange %lld, expected %d of %d",
                            worker, (long long)at, number,
                            run->lockstep->locals[0]->n_exchanges);
        }
    }
    return ISO_OK;
}

/* What one worker gives to another; a worker gives to itself as well. */
static iso_status_t give(const run_t *run, int number, int from,
                         const place_t *to_place, int to, int64_t *given)
{
    iso_lockstep_t *lockstep = run->lockstep;
    const iso_exchange_t *exchange = &lockstep->locals[from]->exchanges[number];
    const iso_node_t *node = next_node(run, from);
    place_t from_place = {.tensor = NULL};
    int64_t count;
    iso_box_t part;

    iso_exchange_part(exchange, from, to, &part);
    if (iso_box_count(&part) == 0) {
        return ISO_OK;
    }
    if (node->n_inputs == 1) {
        from_place.tensor = &lockstep->values[from][node->inputs[0]];
    }
    iso_layout_box(&exchange->from, &exchange->shape, from, &from_place.box);
    if (from_place.tensor == NULL ||
        !box_fits(&from_place.box, from_place.tensor)) {
        return iso_fail(ISO_INTERNAL,
                        "exchange %d: worker %d does not have what it is to "
                        "send of '%s'",
                        number, from, exchange->value);
    }
    count = walk_part(to_place, &from_place, &part, copy_element);
    *given += count;
    if (from != to) {
        lockstep->sent_bytes[number * lockstep->n_workers + from] +=
            (size_t)count * iso_dtype_bytes(exchange->dtype);
    }
    return ISO_OK;
}

static iso_status_t receive(const run_t *run, int number, int to)
{
    iso_lockstep_t *lockstep = run->lockstep;
    const iso_exchange_t *exchange = &lockstep->locals[to]->exchanges[number];
    iso_tensor_t *value = &lockstep->values[to][run->next[to]];
    place_t place = {.tensor = value};
    int64_t given = 0;

    ISO_TRY(make_value(next_node(run, to), value));
    iso_layout_box(&exchange->to, &exchange->shape, to, &place.box);
    if (!box_fits(&place.box, value) || value->dtype != exchange->dtype) {
        return iso_fail(ISO_INTERNAL,
                        "exchange %d: worker %d has another box than its node",
                        number, to);
    }
    for (int from = 0; from < lockstep->n_workers; from++) {
        ISO_TRY(give(run, number, from, &place, to, &given));
    }
    if (given != iso_box_count(&place.box)) {
        return iso_fail(ISO_INTERNAL,
                        "exchange %d: worker %d gets %lld elements of '%s', "
                        "expected %lld",
                        number, to, (long long)given, exchange->value,
                        (long long)iso_box_count(&place.box));
    }
    return ISO_OK;
}

static iso_status_t run_to_exchanges(run_t *run)
{
    for (int worker = 0; worker < run->lockstep->n_workers; worker++) {
        ISO_TRY(run_to_exchange(run, worker));
    }
    return ISO_OK;
}

static iso_status_t run_exchange(run_t *run, int number)
{
    for (int to = 0; to < run->lockstep->n_workers; to++) {
        ISO_TRY(receive(run, number, to));
    }
    for (int worker = 0; worker < run->lockstep->n_workers; worker++) {
        run->next[worker]++;
    }
    return ISO_OK;
}

static iso_status_t run_all(run_t *run)
{
    bool done = false;
    int number = 0;

    ISO_TRY(run_to_exchanges(run));
    ISO_TRY(meet(run, number, &done));
    while (!done) {
        ISO_TRY(run_exchange(run, number++));
        ISO_TRY(run_to_exchanges(run));
        ISO_TRY(meet(run, number, &done));
    }
    return ISO_OK;
}

/* -- life -- */

static iso_status_t make_room(iso_lockstep_t *lockstep)
{
    const size_t n_workers = (size_t)lockstep->n_workers;
    const size_t n_exchanges = (size_t)lockstep->locals[0]->n_exchanges;

    lockstep->values = iso_alloc_zeroed(n_workers, sizeof(iso_tensor_t *));
    lockstep->sent_bytes =
        iso_alloc_zeroed(n_exchanges * n_workers, sizeof *lockstep->sent_bytes);
    if (lockstep->values == NULL || lockstep->sent_bytes == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < n_workers; i++) {
        const int32_t count = iso_graph_node_count(lockstep->locals[i]->graph);

        lockstep->values[i] =
            iso_alloc_zeroed((size_t)count, sizeof(iso_tensor_t));
        if (lockstep->values[i] == NULL) {
            return ISO_NOMEM;
        }
    }
    return ISO_OK;
}

iso_status_t iso_lockstep_run(iso_local_t *const *locals, int n_workers,
                              const iso_weight_source_t *weights,
                              const iso_weight_source_t *inputs,
                              iso_lockstep_t *lockstep_out)
{
    run_t run = {lockstep_out, weights, inputs, NULL};
    iso_status_t status;

    *lockstep_out = (iso_lockstep_t){.locals = locals, .n_workers = n_workers};
    run.next = iso_alloc_zeroed((size_t)n_workers, sizeof *run.next);
    status = run.next == NULL ? ISO_NOMEM : make_room(lockstep_out);
    if (status == ISO_OK) {
        status = run_all(&run);
    }
    iso_free(run.next);
    if (status != ISO_OK) {
        iso_lockstep_free(lockstep_out);
    }
    return status;
}

static void free_values(const iso_graph_t *graph, iso_tensor_t *values)
{
    for (int32_t id = 0; values != NULL && id < iso_graph_node_count(graph);
         id++) {
        if (iso_graph_node(graph, id)->op != ISO_OP_CONSTANT) {
            iso_free(values[id].data);
        }
    }
    iso_free(values);
}

void iso_lockstep_free(iso_lockstep_t *lockstep)
{
    for (int i = 0; lockstep->values != NULL && i < lockstep->n_workers; i++) {
        free_values(lockstep->locals[i]->graph, lockstep->values[i]);
    }
    iso_free(lockstep->values);
    iso_free(lockstep->sent_bytes);
    *lockstep = (iso_lockstep_t){0};
}

/* -- check -- */

static iso_status_t check_value(const iso_lockstep_t *lockstep, int worker,
                                iso_node_id_t id, const iso_eval_t *whole)
{
    const iso_local_t *local = lockstep->locals[worker];
    const iso_origin_t *origin = &local->origins[id];
    place_t part = {&lockstep->values[worker][id], origin->box};
    place_t all = {.tensor = NULL};
    int64_t same;

    if (origin->node == ISO_NO_NODE) {
        return ISO_OK;
    }
    all.tensor = &whole->values[origin->node];
    all.box = whole_box(all.tensor);
    if (!box_fits(&part.box, part.tensor) ||
        part.tensor->dtype != all.tensor->dtype) {
        return iso_fail(ISO_INTERNAL, "worker %d: '%s' is not its part of '%s'",
                        worker, iso_graph_node(local->graph, id)->name,
                        iso_graph_node(whole->graph, origin->node)->name);
    }
    same = walk_part(&part, &all, &part.box, same_element);
    if (same < iso_box_count(&part.box)) {
        return iso_fail(
            ISO_INTERNAL, "worker %d: '%s' differs from '%s' at element %lld",
            worker, iso_graph_node(local->graph, id)->name,
            iso_graph_node(whole->graph, origin->node)->name, (long long)same);
    }
    return ISO_OK;
}

static iso_status_t check_worker(const iso_lockstep_t *lockstep, int worker,
                                 const iso_eval_t *whole)
{
    const iso_graph_t *graph = lockstep->locals[worker]->graph;

    for (int32_t id = 0; id < iso_graph_node_count(graph); id++) {
        ISO_TRY(check_value(lockstep, worker, id, whole));
    }
    return ISO_OK;
}

iso_status_t iso_lockstep_check(const iso_lockstep_t *lockstep,
                                const iso_eval_t *whole)
{
    for (int worker = 0; worker < lockstep->n_workers; worker++) {
        ISO_TRY(check_worker(lockstep, worker, whole));
    }
    return ISO_OK;
}
