#include "isotome/error.h"

#include "base/log.h"
#include "exec/exchanger_impl.h"
#include "par/counts.h"
#include "plan/buffers.h"

/* A box's corner and lengths, in indices of what another box holds. */
typedef struct place {
    int64_t dims[ISO_MAX_RANK];
    int64_t begin[ISO_MAX_RANK];
} place_t;

static place_t place_in(const iso_box_t *box, const iso_box_t *holder)
{
    place_t place = {{0}, {0}};

    for (int axis = 0; axis < box->rank; axis++) {
        place.dims[axis] = iso_range_length(holder->range[axis]);
        place.begin[axis] = box->range[axis].begin - holder->range[axis].begin;
    }
    return place;
}

/* Copy a part of the value from what one box holds to what another does; a
 * packed part is held by its own box. */
static iso_copy_t copy_between(const iso_box_t *part, const iso_box_t *from,
                               const iso_box_t *to, iso_dtype_t dtype)
{
    iso_copy_t copy = {0};

    if (iso_box_count(part) > 0) {
        const place_t box = place_in(part, part);
        const place_t source = place_in(part, from);
        const place_t target = place_in(part, to);

        iso_copy_of(iso_dtype_bytes(dtype), part->rank, box.dims,
                    (iso_copy_end_t){source.dims, source.begin},
                    (iso_copy_end_t){target.dims, target.begin}, &copy);
    }
    return copy;
}

static size_t box_bytes(const iso_box_t *box, iso_dtype_t dtype)
{
    return (size_t)iso_box_count(box) * iso_dtype_bytes(dtype);
}

/* Bytes that any worker's counts and displacements may reach: those of the
 * value, or of all parts one after the other where they overlap. */
static size_t reach_of(const iso_exchange_t *exchange, size_t value_bytes)
{
    size_t reach = 0;

    if (exchange->to.kind != ISO_LAYOUT_SPLIT) {
        return value_bytes;
    }
    for (int worker = 0; worker < exchange->n_workers; worker++) {
        iso_box_t box;

        iso_layout_box(&exchange->to, &exchange->shape, worker, &box);
        reach = iso_bytes_add(reach, box_bytes(&box, exchange->dtype));
    }
    return reach > value_bytes ? reach : value_bytes;
}

static bool goes_by_messages(const iso_exchange_t *exchange, size_t value_bytes,
                             int most_count)
{
    switch (exchange->kind) {
    case ISO_EXCHANGE_SEND:
    case ISO_EXCHANGE_HALO:
        return true;
    case ISO_EXCHANGE_BROADCAST:
        return false; /* whole, so that it can be cut in pieces itself */
    case ISO_EXCHANGE_SCATTER:
    case ISO_EXCHANGE_GATHER:
    case ISO_EXCHANGE_ALL_GATHER:
    case ISO_EXCHANGE_ALL_TO_ALL:
        break;
    }
    return !iso_count_fits(reach_of(exchange, value_bytes), most_count);
}

/* Is every part one run, and, for a collective call, which may read no byte
 * twice, behind those before it? */
static bool fits_in_place(const iso__side_t *side, int n_workers, bool sends,
                          bool may_overlap)
{
    size_t end = 0;

    for (int i = 0; i < n_workers; i++) {
        const iso__part_t *part = &side->parts[i];
        const size_t first =
            sends ? part->copy.from_first : part->copy.to_first;

        if (part->bytes == 0) {
            continue;
        }
        if (part->copy.rank > 0 || (!may_overlap && first < end)) {
            return false;
        }
        end = first + part->bytes;
    }
    return true;
}

static void lay_out(iso__side_t *side, int n_workers, bool sends,
                    bool may_overlap)
{
    size_t offset = 0;

    side->in_place = fits_in_place(side, n_workers, sends, may_overlap);
    for (int i = 0; i < n_workers; i++) {
        iso__part_t *part = &side->parts[i];

        if (side->in_place) {
            part->offset = sends ? part->copy.from_first : part->copy.to_first;
        } else {
            part->offset = offset;
            offset += part->bytes;
        }
    }
    side->packed_bytes = offset;
}

/* For a collective call; goes_by_messages saw to it that they fit. */
static void fill_counts(iso__side_t *side, int n_workers)
{
    for (int i = 0; i < n_workers; i++) {
        side->counts[i] = (int)side->parts[i].bytes;
        side->displs[i] = (int)side->parts[i].offset;
    }
}

/* The parts that go to and come from one worker. */
static void add_peer(const iso_exchange_t *exchange, int worker, int peer,
                     iso__step_t *step)
{
    iso_box_t part;
    iso_box_t from;
    iso_box_t to;

    iso_layout_box(&exchange->from, &exchange->shape, worker, &from);
    iso_layout_box(&exchange->to, &exchange->shape, worker, &to);
    if (peer == worker) {
        iso_exchange_part(exchange, worker, worker, &part);
        step->own = copy_between(&part, &from, &to, exchange->dtype);
        return;
    }
    iso_exchange_part(exchange, worker, peer, &part);
    step->out.parts[peer].copy =
        copy_between(&part, &from, &part, exchange->dtype);
    step->out.parts[peer].bytes = box_bytes(&part, exchange->dtype);
    step->sent_bytes += step->out.parts[peer].bytes;
    iso_exchange_part(exchange, peer, worker, &part);
    step->in.parts[peer].copy =
        copy_between(&part, &part, &to, exchange->dtype);
    step->in.parts[peer].bytes = box_bytes(&part, exchange->dtype);
}

/* MPI_Allgatherv wants each worker's own part among the others. */
static void add_own_of_all_gather(const iso_exchange_t *exchange, int worker,
                                  iso__step_t *step)
{
    iso__part_t *mine = &step->in.parts[worker];
    iso_box_t part;
    iso_box_t to;

    iso_layout_box(&exchange->to, &exchange->shape, worker, &to);
    iso_exchange_part(exchange, worker, worker, &part);
    mine->copy = copy_between(&part, &part, &to, exchange->dtype);
    mine->bytes = box_bytes(&part, exchange->dtype);
    step->own = (iso_copy_t){0};
}

static size_t layout_bytes(const iso_exchange_t *exchange,
                           const iso_layout_t *layout, int worker)
{
    iso_box_t box;

    iso_layout_box(layout, &exchange->shape, worker, &box);
    return box_bytes(&box, exchange->dtype);
}

iso_status_t iso__step_fill(const iso_exchange_t *exchange, int worker,
                            int most_count, iso__step_t *step)
{
    const int n_workers = exchange->n_workers;
    const iso_status_t status = iso_tensor_bytes_of(
        exchange->dtype, &exchange->shape, &step->value_bytes);

    if (status != ISO_OK) {
        return iso_fail_context(status, "exchange of '%s'", exchange->value);
    }
    step->kind = exchange->kind;
    step->value = exchange->value;
    step->dtype = exchange->dtype;
    step->root = exchange->from.kind == ISO_LAYOUT_ONE ? exchange->from.worker
                                                       : exchange->to.worker;
    step->by_messages =
        goes_by_messages(exchange, step->value_bytes, most_count);
    step->out.tensor_bytes = layout_bytes(exchange, &exchange->from, worker);
    step->in.tensor_bytes = layout_bytes(exchange, &exchange->to, worker);
    for (int peer = 0; peer < n_workers; peer++) {
        add_peer(exchange, worker, peer, step);
    }
    if (step->kind == ISO_EXCHANGE_ALL_GATHER && !step->by_messages) {
        add_own_of_all_gather(exchange, worker, step);
    }
    /* To all go the same bytes, all of the tensor. */
    lay_out(&step->out, n_workers, true,
            step->by_messages || exchange->to.kind == ISO_LAYOUT_ALL);
    lay_out(&step->in, n_workers, false, false);
    if (!step->by_messages && step->kind != ISO_EXCHANGE_BROADCAST) {
        fill_counts(&step->out, n_workers);
        fill_counts(&step->in, n_workers);
    }
    return ISO_OK;
}

size_t iso__step_messages(const iso__step_t *step, int n_workers,
                          int most_count)
{
    size_t count = 0;

    for (int i = 0; step->by_messages && i < n_workers; i++) {
        count += iso_piece_count(step->out.parts[i].bytes, most_count);
        count += iso_piece_count(step->in.parts[i].bytes, most_count);
    }
    return count;
}
