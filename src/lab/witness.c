#include "lab/witness.h"

#include "isotome/error.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/text.h"
#include "graph/param.h"
#include "par/par.h"
#include "plan/shard/cut.h"
#include "tensor/copy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SIZES = 16 };

struct iso_witness {
    iso_arena_t *arena;
    iso_names_t *names; /* "first sample,samples,node" to number in values */
    iso_tensor_t *values;
    int64_t n_values;
    int64_t room;
    int64_t sizes[MOST_SIZES]; /* micro-batches that are known */
    int n_sizes;
    iso_watch_t record;
    iso_watch_t compare;
    iso_difference_t difference;
    int64_t compared;
    void *part; /* of a value, to compare with a piece */
    size_t part_bytes;
};

/* -- remembering -- */

static iso_status_t key_of(const iso_seen_t *seen, const char *name,
                           iso_text_t *key)
{
    iso_text_add(key, "%" PRId64 ",%" PRId64 ",%s", seen->first_sample,
                 seen->samples, name);
    return key->status;
}

static iso_status_t make_room(iso_witness_t *witness)
{
    if (witness->n_values < witness->room) {
        return ISO_OK;
    }
    int64_t room = witness->room == 0 ? 256 : 2 * witness->room;
    iso_tensor_t *values = iso_alloc_zeroed((size_t)room, sizeof *values);

    if (values == NULL) {
        return ISO_NOMEM;
    }
    if (witness->n_values > 0) {
        memcpy(values, witness->values,
               (size_t)witness->n_values * sizeof *values);
    }
    iso_free(witness->values);
    witness->values = values;
    witness->room = room;
    return ISO_OK;
}

static iso_status_t keep(iso_witness_t *witness, const iso_tensor_t *seen)
{
    size_t bytes = iso_tensor_bytes(seen);

    ISO_TRY(make_room(witness));
    iso_tensor_t *value = &witness->values[witness->n_values];

    *value = *seen;
    value->data = iso_alloc(bytes);
    if (value->data == NULL) {
        return iso_fail(ISO_NOMEM,
                        "out of memory while remembering the values of the "
                        "whole run; verify fewer samples");
    }
    memcpy(value->data, seen->data, bytes);
    witness->n_values++;
    return ISO_OK;
}

/* The latest value is known by this name. */
static iso_status_t name_value(iso_witness_t *witness, const iso_seen_t *seen,
                               const char *node)
{
    iso_text_t key = {0};
    const char *name = NULL;

    if (key_of(seen, node, &key) == ISO_OK) {
        name = iso_arena_text(witness->arena, key.data);
    }
    iso_text_free(&key);
    return name == NULL
               ? ISO_NOMEM
               : iso_names_set(witness->names, name, witness->n_values - 1);
}

/* Nobody makes a reshape: it shows the value of another node. */
static iso_node_id_t shown_by(const iso_graph_t *graph, iso_node_id_t id)
{
    while (iso_graph_node(graph, id)->op == ISO_OP_RESHAPE) {
        id = iso_graph_node(graph, id)->inputs[0];
    }
    return id;
}

/* Under the names of all nodes that show the value. */
static iso_status_t name_shown(iso_witness_t *witness, const iso_seen_t *seen)
{
    const iso_graph_t *graph = seen->local->graph;
    iso_status_t status = ISO_OK;

    for (iso_node_id_t id = seen->node;
         status == ISO_OK && id < iso_graph_node_count(graph); id++) {
        if (shown_by(graph, id) == seen->node) {
            status = name_value(witness, seen, iso_graph_node(graph, id)->name);
        }
    }
    return status;
}

static iso_status_t record(void *arg, const iso_seen_t *seen)
{
    ISO_TRY(keep(arg, seen->value));
    return name_shown(arg, seen);
}

/* -- comparing -- */

/* The piece's part of the whole value, packed. */
static iso_status_t take_part(iso_witness_t *witness, const iso_tensor_t *whole,
                              const iso_box_t *box)
{
    int64_t lengths[ISO_MAX_RANK];
    int64_t begin[ISO_MAX_RANK];
    const int64_t zero[ISO_MAX_RANK] = {0};
    iso_copy_t copy;

    for (int axis = 0; axis < box->rank; axis++) {
        lengths[axis] = iso_range_length(box->range[axis]);
        begin[axis] = box->range[axis].begin;
    }
    iso_copy_of(iso_dtype_bytes(whole->dtype), box->rank, lengths,
                (iso_copy_end_t){whole->dims, begin},
                (iso_copy_end_t){lengths, zero}, &copy);
    if (iso_copy_bytes(&copy) > witness->part_bytes) {
        iso_free(witness->part);
        witness->part_bytes = iso_copy_bytes(&copy);
        witness->part = iso_alloc(witness->part_bytes);
        if (witness->part == NULL) {
            witness->part_bytes = 0;
            return ISO_NOMEM;
        }
    }
    iso_copy_run(&copy, whole->data, witness->part);
    return ISO_OK;
}

/* What is known of the elements that differ. */
typedef struct findings {
    int64_t first;        /* number in the piece */
    int64_t count;        /* that differ */
    bool only_at_borders; /* along the axis that is cut */
    double most_relative; /* difference of floats */
} findings_t;

/* The axis along which a box is less than the whole, -1 for none. */
static int cut_axis(const iso_box_t *box, const iso_tensor_t *whole)
{
    for (int axis = 0; axis < box->rank; axis++) {
        if (iso_range_length(box->range[axis]) < whole->dims[axis]) {
            return axis;
        }
    }
    return -1;
}

static int64_t length_along(const iso_box_t *box, int axis)
{
    int64_t length = iso_range_length(box->range[axis]);

    ISO_ASSERT(length > 0); /* there is an element to compare */
    return length;
}

/* Index along an axis, in the whole value, of element number i of a box. */
static int64_t index_along(const iso_box_t *box, int axis, int64_t i)
{
    for (int inner = box->rank - 1; inner > axis; inner--) {
        i /= length_along(box, inner);
    }
    return box->range[axis].begin + i % length_along(box, axis);
}

static bool is_at_border(const iso_box_t *box, const iso_tensor_t *whole,
                         int axis, int64_t i)
{
    iso_range_t range = box->range[axis];
    int64_t index = index_along(box, axis, i);

    return (index == range.begin && range.begin > 0) ||
           (index == range.end - 1 && range.end < whole->dims[axis]);
}

static double relative(const iso_tensor_t *value, const void *expected,
                       int64_t i)
{
    if (value->dtype != ISO_DTYPE_F32) {
        return INFINITY;
    }
    double a = (double)((const float *)expected)[i];
    double b = (double)((const float *)value->data)[i];

    double difference = fabs(a - b) / fmax(fmax(fabs(a), fabs(b)), 1e-30);

    return isnan(difference) ? INFINITY : difference;
}

/* Are there indices along the axis that do not lie beside a cut? */
static bool has_inside(const iso_box_t *box, const iso_tensor_t *whole,
                       int axis)
{
    iso_range_t range = box->range[axis];

    return iso_range_length(range) >
           (range.begin > 0 ? 1 : 0) + (range.end < whole->dims[axis] ? 1 : 0);
}

static findings_t examine(const iso_tensor_t *value, const void *expected,
                          const iso_box_t *box, const iso_tensor_t *whole)
{
    size_t bytes = iso_dtype_bytes(value->dtype);
    int axis = cut_axis(box, whole);
    findings_t found = {.first = -1,
                        .only_at_borders =
                            axis >= 0 && has_inside(box, whole, axis)};

    for (int64_t i = 0; i < iso_tensor_count(value); i++) {
        if (memcmp((const char *)value->data + (size_t)i * bytes,
                   (const char *)expected + (size_t)i * bytes, bytes) == 0) {
            continue;
        }
        found.first = found.first < 0 ? i : found.first;
        found.count++;
        found.only_at_borders =
            found.only_at_borders && is_at_border(box, whole, axis, i);
        found.most_relative =
            fmax(found.most_relative, relative(value, expected, i));
    }
    return found;
}

/* How a worker has come by a piece. */
static iso_op_t way_of(const iso_seen_t *seen)
{
    return iso_graph_node(seen->local->graph, seen->node)->op;
}

static const char *reason_of(const findings_t *found, iso_op_t way)
{
    if (way == ISO_OP_INPUT) {
        return "another value arrived than was sent, or than the file has";
    }
    if (found->only_at_borders) {
        return "only what lies beside the cut differs: a halo is short or a "
               "piece is padded wrongly";
    }
    if (way == ISO_OP_EXCHANGE) {
        return "the exchange brought another part of the value";
    }
    if (found->most_relative < 1e-3) {
        return "the differences are small: a sum was taken in another order";
    }
    return "the values have nothing in common: a piece was computed from "
           "another part of an operand or weight";
}

static const char *way_text(iso_op_t way)
{
    switch (way) {
    case ISO_OP_INPUT:
        return "what came in";
    case ISO_OP_EXCHANGE:
        return "an exchange";
    default:
        return "the value";
    }
}

static void add_bits(const void *data, int64_t i, size_t bytes,
                     iso_text_t *text)
{
    const unsigned char *at = (const unsigned char *)data + (size_t)i * bytes;

    for (size_t k = bytes; k > 0; k--) {
        iso_text_add(text, "%02x", at[k - 1]);
    }
}

/* "height", or "axis 2" where no name says which. */
static void add_axis(const iso_seen_t *seen, iso_node_id_t node, int axis,
                     iso_text_t *text)
{
    const char *name = iso_cut_axis_name(seen->whole, node, axis);

    iso_text_add(text, "%s", name);
    if (strcmp(name, "axis") == 0) {
        iso_text_add(text, " %d", axis);
    }
}

static void add_place(const iso_seen_t *seen, const iso_origin_t *origin,
                      const iso_tensor_t *whole, iso_text_t *text)
{
    const iso_node_t *node = iso_graph_node(seen->whole, origin->node);
    int axis = cut_axis(&origin->box, whole);

    iso_text_add(text, "%s of node '%s' (%s) in stage %d, ",
                 way_text(way_of(seen)), node->name, iso_op_string(node->op),
                 seen->stage);
    if (axis < 0) {
        iso_text_add(text, "whole on worker %d", seen->local->worker);
        return;
    }
    iso_text_add(text, "worker %d with ", seen->local->worker);
    add_axis(seen, origin->node, axis, text);
    iso_text_add(text, " from %" PRId64 " to %" PRId64,
                 origin->box.range[axis].begin,
                 origin->box.range[axis].end - 1);
}

static void describe(iso_witness_t *witness, const iso_seen_t *seen,
                     const iso_origin_t *origin, const iso_tensor_t *whole,
                     const findings_t *found)
{
    const iso_tensor_t *value = seen->value;
    size_t bytes = iso_dtype_bytes(value->dtype);
    iso_text_t text = {0};

    add_place(seen, origin, whole, &text);
    iso_text_add(&text,
                 ": %" PRId64 " of %" PRId64 " elements differ; the first is [",
                 found->count, iso_tensor_count(value));
    for (int axis = 0; axis < origin->box.rank; axis++) {
        iso_text_add(&text, "%s%" PRId64, axis == 0 ? "" : ",",
                     index_along(&origin->box, axis, found->first));
    }
    iso_text_add(&text, "], whole 0x");
    add_bits(witness->part, found->first, bytes, &text);
    iso_text_add(&text, ", cut 0x");
    add_bits(value->data, found->first, bytes, &text);
    iso_text_add(&text, "; %s", reason_of(found, way_of(seen)));
    (void)snprintf(witness->difference.text, sizeof witness->difference.text,
                   "%s", text.status == ISO_OK ? text.data : "out of memory");
    iso_text_free(&text);
}

/* Which exchange brought the piece, -1 for none. */
static iso_status_t exchange_of(const iso_seen_t *seen, int *exchange_out)
{
    const iso_node_t *node = iso_graph_node(seen->local->graph, seen->node);
    int64_t number = -1;

    if (node->op == ISO_OP_EXCHANGE) {
        ISO_TRY(iso_attr_int(node, "number", 0, &number));
    }
    *exchange_out = (int)number;
    return ISO_OK;
}

static iso_status_t compare_with(iso_witness_t *witness, const iso_seen_t *seen,
                                 const iso_origin_t *origin,
                                 const iso_tensor_t *whole)
{
    if (iso_tensor_count(seen->value) == 0) {
        return ISO_OK;
    }
    ISO_TRY(take_part(witness, whole, &origin->box));
    witness->compared++;
    if (memcmp(witness->part, seen->value->data,
               iso_tensor_bytes(seen->value)) == 0 ||
        witness->difference.found) {
        return ISO_OK;
    }
    findings_t found = examine(seen->value, witness->part, &origin->box, whole);

    witness->difference.found = true;
    witness->difference.first_sample = seen->first_sample;
    witness->difference.stage = seen->stage;
    witness->difference.node = origin->node;
    describe(witness, seen, origin, whole, &found);
    return exchange_of(seen, &witness->difference.exchange);
}

static iso_status_t compare(void *arg, const iso_seen_t *seen)
{
    iso_witness_t *witness = arg;
    const iso_origin_t *origin = &seen->local->origins[seen->node];
    iso_text_t key = {0};
    int64_t number = 0;
    iso_tensor_t whole;

    if (origin->node == ISO_NO_NODE) {
        return ISO_OK;
    }
    const iso_node_t *node = iso_graph_node(seen->whole, origin->node);
    iso_status_t status = key_of(seen, node->name, &key);

    if (status == ISO_OK && iso_names_get(witness->names, key.data, &number)) {
        status = iso_tensor_view(node->dtype, &node->shape,
                                 witness->values[number].data, &whole);
        if (status == ISO_OK) {
            status = compare_with(witness, seen, origin, &whole);
        }
    }
    iso_text_free(&key);
    return status;
}

/* -- life -- */

iso_status_t iso_witness_create(iso_witness_t **witness_out)
{
    iso_witness_t *witness = iso_alloc_zeroed(1, sizeof *witness);

    *witness_out = NULL;
    if (witness == NULL) {
        return ISO_NOMEM;
    }
    witness->record = (iso_watch_t){record, witness};
    witness->compare = (iso_watch_t){compare, witness};
    iso_status_t status = iso_arena_create(&witness->arena);

    if (status == ISO_OK) {
        status = iso_names_create(&witness->names);
    }
    if (status != ISO_OK) {
        iso_witness_destroy(&witness);
    }
    *witness_out = witness;
    return status;
}

void iso_witness_destroy(iso_witness_t **witness)
{
    iso_witness_t *gone = *witness;

    if (gone == NULL) {
        return;
    }
    for (int64_t i = 0; i < gone->n_values; i++) {
        iso_free(gone->values[i].data);
    }
    iso_free(gone->values);
    iso_free(gone->part);
    iso_names_destroy(&gone->names);
    iso_arena_destroy(&gone->arena);
    iso_free(gone);
    *witness = NULL;
}

const iso_watch_t *iso_witness_record(iso_witness_t *witness)
{
    return &witness->record;
}

const iso_watch_t *iso_witness_compare(iso_witness_t *witness)
{
    return &witness->compare;
}

bool iso_witness_knows(const iso_witness_t *witness, int64_t samples)
{
    for (int i = 0; i < witness->n_sizes; i++) {
        if (witness->sizes[i] == samples) {
            return true;
        }
    }
    return false;
}

void iso_witness_learned(iso_witness_t *witness, int64_t samples)
{
    ISO_ASSERT(witness->n_sizes < MOST_SIZES);
    witness->sizes[witness->n_sizes++] = samples;
}

const iso_difference_t *iso_witness_difference(const iso_witness_t *witness)
{
    return &witness->difference;
}

int64_t iso_witness_compared(const iso_witness_t *witness)
{
    return witness->compared;
}

void iso_witness_forget(iso_witness_t *witness)
{
    memset(&witness->difference, 0, sizeof witness->difference);
    witness->compared = 0;
}

bool iso_difference_before(const iso_difference_t *a, const iso_difference_t *b)
{
    if (a->found != b->found) {
        return a->found;
    }
    if (a->first_sample != b->first_sample) {
        return a->first_sample < b->first_sample;
    }
    if (a->stage != b->stage) {
        return a->stage < b->stage;
    }
    if (a->node != b->node) {
        return a->node < b->node;
    }
    return a->exchange < b->exchange;
}
