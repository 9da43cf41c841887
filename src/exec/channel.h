/*
 * Channel: the messages from one stage to one other, one for each
 * micro-batch.
 *
 * A message holds all tensors that go this way, each behind a header that
 * says what it is; the receiver checks every header. Or, apart, it holds the
 * headers alone and a message for each tensor follows it: these may come from
 * the memory of a device, or go there, at either end (direct.h). Messages live
 * in slots with persistent requests, so that a slot is on its way while
 * another is computed. How many slots there are and what a message weighs is
 * said in plan/buffers.h, because the plan counts them.
 *
 *     sender                             receiver
 *     iso_channel_acquire(c, i)          iso_channel_acquire(c, i, form)
 *     fill iso_channel_payload(c, i, t)  read iso_channel_payload(c, i, t)
 *     iso_channel_post(c, i, form)       iso_channel_release(c, i)
 */
#ifndef ISO_CHANNEL_H
#define ISO_CHANNEL_H

#include "isotome/tensor.h"

#include "exec/batches.h"
#include "exec/direct.h"
#include "exec/stop.h"

/* A tensor on its way: number (the same at both ends), name for messages,
 * what it is in each form, and where this end has it. */
typedef struct iso_parcel {
    int id;
    const char *name; /* borrowed; outlives the channel */
    iso_tensor_t form[ISO_FORM_COUNT];
    iso_device_t *device; /* borrowed, in whose memory; NULL: the host's */
} iso_parcel_t;

typedef struct iso_channel_spec {
    bool sends;
    bool verifies; /* elements, by digests; the same at both ends */
    bool is_apart; /* the same at both ends; where a parcel has a device */
    int peer;      /* rank in comm */
    int n_slots;
    int64_t n_batches; /* messages in the job */
    int n_parcels;
    const iso_parcel_t *parcels; /* copied */
    const iso_device_t *device;  /* borrowed; which computes at this end, NULL:
                                  * no GPU */
} iso_channel_spec_t;

typedef struct iso_channel iso_channel_t;

/* Not collective. comm is borrowed and must outlive the channel; there is
 * one channel for each ordered pair of ranks. A receiver's slots are armed
 * here. Errors: ISO_NOMEM. */
iso_status_t iso_channel_create(const iso_channel_spec_t *spec, MPI_Comm comm,
                                iso_channel_t **channel_out);

/*
 * Wait for the slot of micro-batch index: at the sender until it is free, at
 * the receiver until the message is there; then its headers are checked.
 *
 * *ready_out  [out]  false when another rank stopped
 * Errors: ISO_DISAGREE when a header is not the expected one, with both, or
 * elements do not have its digest.
 */
iso_status_t iso_channel_acquire(iso_channel_t *channel, int64_t index,
                                 iso_form_t form, iso_stop_t *stop,
                                 bool *ready_out);

/* Where the elements of parcel number i (in the spec's order) are: in the
 * memory of its device. */
void *iso_channel_payload(const iso_channel_t *channel, int64_t index, int i);

/* Sender: write headers and start sending. */
void iso_channel_post(iso_channel_t *channel, int64_t index, iso_form_t form);

/* Receiver: the slot may be overwritten; arms it for a later message. */
void iso_channel_release(iso_channel_t *channel, int64_t index);

/*
 * Bring what is under way to an end, also after a failure: the sender tells
 * how many messages it started and the receiver takes them. Both ends of a
 * channel must do this; first announce on all channels, then finish on all.
 */
void iso_channel_announce(iso_channel_t *channel);
void iso_channel_finish(iso_channel_t *channel);

/* After finish, or when nothing was posted: then a receiver's slots are
 * unarmed here. Not collective. */
void iso_channel_destroy(iso_channel_t **channel);

/* Bytes of the messages started so far by a sender. */
double iso_channel_sent_bytes(const iso_channel_t *channel);

/* Bytes of those sent or received so far that this end had in the memory of a
 * device. */
double iso_channel_direct_bytes(const iso_channel_t *channel);

#endif
