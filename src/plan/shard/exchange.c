#include "plan/shard/exchange.h"

#include "base/log.h"

#include <math.h>

const char *iso_exchange_kind_string(iso_exchange_kind_t kind)
{
    static const char *const texts[] = {
        [ISO_EXCHANGE_SEND] = "send",
        [ISO_EXCHANGE_SCATTER] = "scatter",
        [ISO_EXCHANGE_BROADCAST] = "broadcast",
        [ISO_EXCHANGE_GATHER] = "gather",
        [ISO_EXCHANGE_ALL_GATHER] = "all-gather",
        [ISO_EXCHANGE_ALL_TO_ALL] = "all-to-all",
        [ISO_EXCHANGE_HALO] = "halo",
    };
    _Static_assert(sizeof texts / sizeof texts[0] == ISO_EXCHANGE_HALO + 1,
                   "a text for each kind");

    ISO_ASSERT((unsigned)kind < sizeof texts / sizeof texts[0]);
    return texts[kind];
}

iso_exchange_kind_t iso_exchange_kind_of(const iso_layout_t *from,
                                         const iso_layout_t *to)
{
    ISO_ASSERT(from->kind != ISO_LAYOUT_ALL);
    if (from->kind == ISO_LAYOUT_ONE) {
        return to->kind == ISO_LAYOUT_ONE     ? ISO_EXCHANGE_SEND
               : to->kind == ISO_LAYOUT_SPLIT ? ISO_EXCHANGE_SCATTER
                                              : ISO_EXCHANGE_BROADCAST;
    }
    if (to->kind == ISO_LAYOUT_SPLIT) {
        return to->axis == from->axis ? ISO_EXCHANGE_HALO
                                      : ISO_EXCHANGE_ALL_TO_ALL;
    }
    return to->kind == ISO_LAYOUT_ONE ? ISO_EXCHANGE_GATHER
                                      : ISO_EXCHANGE_ALL_GATHER;
}

void iso_exchange_part(const iso_exchange_t *exchange, int from, int to,
                       iso_box_t *box_out)
{
    iso_box_t has;
    iso_box_t gets;

    iso_layout_box(&exchange->from, &exchange->shape, from, &has);
    iso_layout_box(&exchange->to, &exchange->shape, to, &gets);
    *box_out = iso_box_intersect(&has, &gets);
}

/* -- bytes -- */

/* Can the bytes of the whole value be counted? Then those of any part can. */
static bool is_countable(const iso_exchange_t *exchange, int64_t count)
{
    const size_t size = iso_dtype_bytes(exchange->dtype);

    return count >= 0 && (uint64_t)count <= SIZE_MAX / size;
}

static iso_range_t range_of_both(iso_range_t a, iso_range_t b)
{
    return (iso_range_t){a.begin > b.begin ? a.begin : b.begin,
                         a.end < b.end ? a.end : b.end};
}

/*
 * Bytes for each index along the axes that the layouts split: sizes of parts
 * come from the ranges alone, since a plan asks for very many of them. False
 * when the bytes of the value cannot be counted.
 */
static bool find_row_bytes(const iso_exchange_t *exchange, size_t *row_out)
{
    const iso_layout_t *from = &exchange->from;
    const iso_layout_t *to = &exchange->to;
    int64_t count = iso_shape_count(&exchange->shape);

    if (!is_countable(exchange, count)) {
        return false;
    }
    if (count > 0 && from->kind == ISO_LAYOUT_SPLIT) {
        count /= exchange->shape.dim[from->axis].size;
    }
    if (count > 0 && to->kind == ISO_LAYOUT_SPLIT &&
        exchange->kind != ISO_EXCHANGE_HALO) {
        count /= exchange->shape.dim[to->axis].size;
    }
    *row_out = (size_t)count * iso_dtype_bytes(exchange->dtype);
    return true;
}

/* Indices of what a worker has, along the axis that is split if one is. */
static int64_t length_in(const iso_layout_t *layout, int worker)
{
    if (layout->kind == ISO_LAYOUT_SPLIT) {
        return iso_range_length(layout->ranges[worker]);
    }
    return layout->kind == ISO_LAYOUT_ALL || layout->worker == worker ? 1 : 0;
}

static size_t part_bytes(const iso_exchange_t *exchange, size_t row, int from,
                         int to)
{
    if (exchange->kind == ISO_EXCHANGE_HALO) {
        return row * (size_t)iso_range_length(range_of_both(
                         exchange->from.ranges[from], exchange->to.ranges[to]));
    }
    return row * (size_t)length_in(&exchange->from, from) *
           (size_t)length_in(&exchange->to, to);
}

static size_t add_bytes(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

size_t iso_exchange_sent_bytes(const iso_exchange_t *exchange, int worker)
{
    size_t bytes = 0;
    size_t row = 0;

    if (!find_row_bytes(exchange, &row)) {
        return SIZE_MAX;
    }
    for (int to = 0; to < exchange->n_workers; to++) {
        if (to != worker) {
            bytes = add_bytes(bytes, part_bytes(exchange, row, worker, to));
        }
    }
    return bytes;
}

size_t iso_exchange_bytes(const iso_exchange_t *exchange)
{
    size_t bytes = 0;

    for (int worker = 0; worker < exchange->n_workers; worker++) {
        bytes = add_bytes(bytes, iso_exchange_sent_bytes(exchange, worker));
    }
    return bytes;
}

void iso_exchange_count_bytes(const iso_exchange_t *exchange, size_t *sent_out,
                              size_t *received_out)
{
    const int n = exchange->n_workers;
    size_t row = 0;
    const bool countable = find_row_bytes(exchange, &row);

    for (int i = 0; i < n; i++) {
        sent_out[i] = countable ? 0 : SIZE_MAX;
        received_out[i] = sent_out[i];
    }
    for (int from = 0; countable && from < n; from++) {
        for (int to = 0; to < n; to++) {
            const size_t bytes =
                to == from ? 0 : part_bytes(exchange, row, from, to);

            sent_out[from] = add_bytes(sent_out[from], bytes);
            received_out[to] = add_bytes(received_out[to], bytes);
        }
    }
}

/* -- seconds -- */

/*
 * An exchange among ranks. The planner asks for very many of these, so that
 * bytes come from the ranges alone: what a layout splits is `row_bytes` for
 * each index along the axis.
 */
typedef struct pricing {
    const iso_exchange_t *exchange;
    const iso_machine_t *machine;
    const int *ranks;
    double bytes; /* of the whole value */
} pricing_t;

static double share_of(const iso_exchange_t *exchange,
                       const iso_layout_t *layout, int worker)
{
    int64_t length;

    if (layout->kind == ISO_LAYOUT_ONE) {
        return layout->worker == worker ? 1.0 : 0.0;
    }
    if (layout->kind == ISO_LAYOUT_ALL) {
        return 1.0;
    }
    length = exchange->shape.dim[layout->axis].size;
    return length > 0 ? (double)iso_range_length(layout->ranges[worker]) /
                            (double)length
                      : 0.0;
}

/* Bytes of what a worker has, or is to have. */
static double bytes_in(const pricing_t *pricing, const iso_layout_t *layout,
                       int worker)
{
    return pricing->bytes * share_of(pricing->exchange, layout, worker);
}

/* Bytes from one worker to another when both layouts are split. */
static double bytes_between(const pricing_t *pricing, int from, int to)
{
    const iso_exchange_t *exchange = pricing->exchange;
    const iso_layout_t *has = &exchange->from;
    const iso_layout_t *gets = &exchange->to;
    iso_range_t both;

    if (has->axis != gets->axis) {
        return bytes_in(pricing, has, from) * share_of(exchange, gets, to);
    }
    both = range_of_both(has->ranges[from], gets->ranges[to]);
    /* A part that is there comes from an axis that has a length. */
    return iso_range_length(both) == 0
               ? 0.0
               : pricing->bytes * (double)iso_range_length(both) /
                     (double)exchange->shape.dim[has->axis].size;
}

/* The link as the call that does the exchange sees it. */
static iso_link_t link_of(const pricing_t *pricing, int from, int to)
{
    static const iso_collective_t collectives[] = {
        [ISO_EXCHANGE_SCATTER] = ISO_COLLECTIVE_SCATTERV,
        [ISO_EXCHANGE_BROADCAST] = ISO_COLLECTIVE_BCAST,
        [ISO_EXCHANGE_GATHER] = ISO_COLLECTIVE_GATHERV,
        [ISO_EXCHANGE_ALL_GATHER] = ISO_COLLECTIVE_ALLGATHERV,
        [ISO_EXCHANGE_ALL_TO_ALL] = ISO_COLLECTIVE_ALLTOALLV,
    };
    const iso_exchange_kind_t kind = pricing->exchange->kind;

    if (kind == ISO_EXCHANGE_SEND || kind == ISO_EXCHANGE_HALO) {
        return iso_machine_link(pricing->machine, from, to);
    }
    return iso_machine_collective(pricing->machine, collectives[kind], from,
                                  to);
}

/* One message; nothing is sent where there is nothing. */
static double message_seconds(const pricing_t *pricing, int from, int to,
                              double bytes)
{
    return bytes > 0.0 ? iso_link_seconds(link_of(pricing, pricing->ranks[from],
                                                  pricing->ranks[to]),
                                          bytes)
                       : 0.0;
}

static double copy_seconds(const pricing_t *pricing, int worker, double bytes)
{
    return bytes / iso_machine_rank(pricing->machine, pricing->ranks[worker])
                       ->copy_bytes_per_s;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Are parts along an axis contiguous in the value, or in a part of it? Then
 * they are sent from there, and received there. */
static bool is_contiguous(const pricing_t *pricing, int axis)
{
    for (int i = 0; i < axis; i++) {
        if (pricing->exchange->shape.dim[i].size > 1) {
            return false;
        }
    }
    return true;
}

/* What is packed or unpacked of so many bytes. */
static double packed(const pricing_t *pricing, int axis, double bytes)
{
    return is_contiguous(pricing, axis) ? 0.0 : bytes;
}

/* The root copies its own part, packs those of the others where they are not
 * contiguous in the whole, and moves one after the other. parts: the layout
 * that is split (or on one). */
static double root_seconds(const pricing_t *pricing, int root,
                           const iso_layout_t *parts, bool sends)
{
    const int axis = parts->kind == ISO_LAYOUT_SPLIT ? parts->axis : 0;
    double seconds = 0;

    for (int worker = 0; worker < pricing->exchange->n_workers; worker++) {
        const double bytes = bytes_in(pricing, parts, worker);

        if (worker != root) {
            seconds +=
                copy_seconds(pricing, root, packed(pricing, axis, bytes)) +
                (sends ? message_seconds(pricing, root, worker, bytes)
                       : message_seconds(pricing, worker, root, bytes));
        }
    }
    return seconds > 0.0
               ? seconds +
                     copy_seconds(pricing, root, bytes_in(pricing, parts, root))
               : 0.0;
}

/* Binomial tree: who has the value sends it on, in rounds; workers are
 * counted from the root, which copies the value for itself. */
static double broadcast_seconds(const pricing_t *pricing, int root)
{
    const int n = pricing->exchange->n_workers;
    double seconds = 0;

    for (int have = 1; have < n; have *= 2) {
        double round = 0;

        for (int i = 0; i < have && i + have < n; i++) {
            const int from = (root + i) % n;
            const int to = (root + i + have) % n;

            round = larger(round,
                           message_seconds(pricing, from, to, pricing->bytes));
        }
        seconds += round;
    }
    return seconds > 0.0 ? seconds + copy_seconds(pricing, root, pricing->bytes)
                         : 0.0;
}

/* Ring: in each of n - 1 steps everyone hands on a part, and in each the
 * largest part is under way. */
static double all_gather_seconds(const pricing_t *pricing)
{
    const int n = pricing->exchange->n_workers;
    const int axis = pricing->exchange->from.axis;
    double most = 0;
    double step = 0;
    double copies = 0;

    for (int i = 0; i < n; i++) {
        most = larger(most, bytes_in(pricing, &pricing->exchange->from, i));
    }
    for (int i = 0; i < n; i++) {
        const double own = bytes_in(pricing, &pricing->exchange->from, i);

        step = larger(step, message_seconds(pricing, i, (i + 1) % n, most));
        /* Its own part copied, those of the others unpacked. */
        copies = larger(
            copies,
            copy_seconds(pricing, i,
                         own + packed(pricing, axis, pricing->bytes - own)));
    }
    return step > 0.0 ? (n - 1) * step + copies : 0.0;
}

/* Everyone sends its messages one after the other, while it receives. A part
 * is a range of one axis in what its sender has and of the other in what its
 * receiver gets. */
static double pairs_seconds(const pricing_t *pricing)
{
    const iso_exchange_t *exchange = pricing->exchange;
    const int n = exchange->n_workers;
    double slowest = 0;
    bool moves = false;

    for (int i = 0; i < n; i++) {
        double sends = 0;
        double receives = 0;
        double copied = bytes_between(pricing, i, i);

        for (int k = 0; k < n; k++) {
            const double out = k == i ? 0.0 : bytes_between(pricing, i, k);
            const double in = k == i ? 0.0 : bytes_between(pricing, k, i);

            sends += message_seconds(pricing, i, k, out);
            receives += message_seconds(pricing, k, i, in);
            copied += packed(pricing, exchange->to.axis, out) +
                      packed(pricing, exchange->from.axis, in);
        }
        moves = moves || sends > 0.0;
        slowest = larger(slowest, larger(sends, receives) +
                                      copy_seconds(pricing, i, copied));
    }
    return moves ? slowest : 0.0;
}

double iso_exchange_seconds(const iso_exchange_t *exchange,
                            const iso_machine_t *machine, const int *ranks)
{
    const int64_t count = iso_shape_count(&exchange->shape);
    const pricing_t pricing = {
        .exchange = exchange,
        .machine = machine,
        .ranks = ranks,
        .bytes = (double)count * (double)iso_dtype_bytes(exchange->dtype)};

    if (!is_countable(exchange, count)) {
        return HUGE_VAL;
    }
    switch (exchange->kind) {
    case ISO_EXCHANGE_SEND:
    case ISO_EXCHANGE_SCATTER:
        return root_seconds(&pricing, exchange->from.worker, &exchange->to,
                            true);
    case ISO_EXCHANGE_GATHER:
        return root_seconds(&pricing, exchange->to.worker, &exchange->from,
                            false);
    case ISO_EXCHANGE_BROADCAST:
        return broadcast_seconds(&pricing, exchange->from.worker);
    case ISO_EXCHANGE_ALL_GATHER:
        return all_gather_seconds(&pricing);
    case ISO_EXCHANGE_ALL_TO_ALL:
    case ISO_EXCHANGE_HALO:
        return pairs_seconds(&pricing);
    }
    return 0.0;
}
