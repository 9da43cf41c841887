/*
 * Buffers: what passes between stages and how much memory it takes. The plan
 * counts with these functions; the executor reserves the same.
 *
 * A stage has a channel to each later stage that it sends to. A message
 * holds, for each tensor that goes this way, a header and the elements. Both
 * ends keep as many messages as there are stages from one end to the other,
 * so that a skip over stages does not hold up those between.
 */
#ifndef ISO_BUFFERS_H
#define ISO_BUFFERS_H

#include "isotome/partition.h"

enum {
    ISO_MESSAGE_HEADER_BYTES = 128,
    ISO_MESSAGE_UNIT_BYTES = 64, /* elements are rounded up to these */
};

/* Bytes of one tensor in a message; SIZE_MAX when they cannot be counted. */
size_t iso_message_bytes(size_t tensor_bytes);

/* Messages that each end of a channel keeps. */
int iso_channel_slots(int from_stage, int to_stage);

/*
 * List what passes between stages, ordered by (to_stage, from_stage, node):
 * the boundaries, and model outputs of an early stage on their way to the
 * last one. A value that is both goes once.
 *
 * graph     [in]   what was partitioned
 * list_out  [out]  (*count_out), owned by the caller: iso_free(); names are
 *                  borrowed from graph and partition
 */
iso_status_t iso_transfers_list(const iso_graph_t *graph,
                                const iso_partition_t *partition,
                                iso_boundary_t **list_out, int *count_out);

/* Bytes that each end of a channel keeps for one value, of which this many
 * bytes pass; SIZE_MAX when they cannot be counted. */
size_t iso_transfer_buffer_bytes(const iso_boundary_t *transfer,
                                 size_t tensor_bytes);

/* Bytes that a stage keeps for rows of the model inputs that it reads. */
iso_status_t iso_stage_input_bytes(const iso_stage_t *stage, size_t *bytes_out);

/* Sum, SIZE_MAX instead of an overflow. */
size_t iso_bytes_add(size_t a, size_t b);

#endif
