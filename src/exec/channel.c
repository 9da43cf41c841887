#include "exec/channel.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "par/par.h"
#include "plan/buffers.h"

#include <inttypes.h>
#include <string.h>

enum {
    HEADER_BYTES = ISO_MESSAGE_HEADER_BYTES,
    UNIT_BYTES = ISO_MESSAGE_UNIT_BYTES, /* counts stay below 2^31 */
    TAG_DATA = 0,
    TAG_COUNT = 1,
};

#define MAGIC UINT64_C(0x69736f746f6d6531) /* "isotome1" */

typedef struct header {
    uint64_t magic;
    int64_t micro_batch;
    uint64_t bytes;
    int64_t dims[ISO_MAX_RANK];
    int32_t parcel;
    int32_t dtype;
    int32_t rank; /* of the tensor */
    int32_t unused;
    uint64_t digest; /* of the elements; 0: not verified */
    uint64_t spare;
} header_t;

_Static_assert(sizeof(header_t) <= HEADER_BYTES, "header must fit");

typedef struct slot {
    unsigned char *message;
    MPI_Request request;
    bool active;
} slot_t;

struct iso_channel {
    bool sends;
    bool verifies;
    int peer;
    int n_slots;
    int n_parcels;
    int64_t n_batches;
    int64_t started; /* messages: sends posted, receives armed */
    int64_t arrived; /* receiver: messages taken from the network */
    int64_t announced;
    MPI_Request announcement;
    size_t message_bytes;
    MPI_Comm comm;
    MPI_Datatype unit;
    iso_parcel_t *parcels; /* (n_parcels) */
    size_t *offsets;       /* (n_parcels) of the header in a message */
    slot_t *slots;         /* (n_slots) */
    unsigned char *messages;
};

static void lay_out(iso_channel_t *channel)
{
    size_t offset = 0;

    for (int i = 0; i < channel->n_parcels; i++) {
        channel->offsets[i] = offset;
        offset += iso_message_bytes(
            iso_tensor_bytes(&channel->parcels[i].form[ISO_FORM_FULL]));
    }
    channel->message_bytes = offset;
}

static void make_requests(iso_channel_t *channel)
{
    int count = (int)(channel->message_bytes / UNIT_BYTES);

    ISO_CHECK_MPI(MPI_Type_contiguous(UNIT_BYTES, MPI_BYTE, &channel->unit));
    ISO_CHECK_MPI(MPI_Type_commit(&channel->unit));
    for (int i = 0; i < channel->n_slots; i++) {
        slot_t *slot = &channel->slots[i];

        slot->message = channel->messages + (size_t)i * channel->message_bytes;
        if (channel->sends) {
            ISO_CHECK_MPI(MPI_Send_init(slot->message, count, channel->unit,
                                        channel->peer, TAG_DATA, channel->comm,
                                        &slot->request));
        } else {
            ISO_CHECK_MPI(MPI_Recv_init(slot->message, count, channel->unit,
                                        channel->peer, TAG_DATA, channel->comm,
                                        &slot->request));
        }
    }
}

static void start(iso_channel_t *channel, slot_t *slot)
{
    ISO_CHECK_MPI(MPI_Start(&slot->request));
    slot->active = true;
    channel->started++;
}

iso_status_t iso_channel_create(const iso_channel_spec_t *spec, MPI_Comm comm,
                                iso_channel_t **channel_out)
{
    iso_channel_t *channel = iso_alloc_zeroed(1, sizeof *channel);

    *channel_out = NULL;
    if (channel == NULL) {
        return ISO_NOMEM;
    }
    channel->sends = spec->sends;
    channel->verifies = spec->verifies;
    channel->peer = spec->peer;
    channel->n_slots = spec->n_slots;
    channel->n_parcels = spec->n_parcels;
    channel->n_batches = spec->n_batches;
    channel->announcement = MPI_REQUEST_NULL;
    channel->unit = MPI_DATATYPE_NULL;
    channel->comm = comm;
    channel->parcels =
        iso_alloc_zeroed((size_t)spec->n_parcels, sizeof *channel->parcels);
    channel->offsets =
        iso_alloc_zeroed((size_t)spec->n_parcels, sizeof *channel->offsets);
    channel->slots =
        iso_alloc_zeroed((size_t)spec->n_slots, sizeof *channel->slots);
    if (channel->parcels == NULL || channel->offsets == NULL ||
        channel->slots == NULL) {
        goto no_memory;
    }
    for (int i = 0; i < spec->n_parcels; i++) {
        channel->parcels[i] = spec->parcels[i];
    }
    lay_out(channel);
    channel->messages =
        iso_alloc_zeroed((size_t)spec->n_slots, channel->message_bytes);
    if (channel->messages == NULL) {
        goto no_memory;
    }
    make_requests(channel);
    for (int i = 0; !spec->sends && i < spec->n_slots && i < spec->n_batches;
         i++) {
        start(channel, &channel->slots[i]);
    }
    *channel_out = channel;
    return ISO_OK;

no_memory:
    iso_channel_destroy(&channel);
    return ISO_NOMEM;
}

static slot_t *slot_of(const iso_channel_t *channel, int64_t index)
{
    return &channel->slots[index % channel->n_slots];
}

static header_t header_of(const iso_channel_t *channel, int64_t index,
                          iso_form_t form, int i)
{
    const iso_parcel_t *parcel = &channel->parcels[i];
    const iso_tensor_t *tensor = &parcel->form[form];
    header_t header;

    memset(&header, 0, sizeof header);
    header.magic = MAGIC;
    header.micro_batch = index;
    header.bytes = iso_tensor_bytes(tensor);
    header.parcel = parcel->id;
    header.dtype = (int32_t)tensor->dtype;
    header.rank = tensor->rank;
    memcpy(header.dims, tensor->dims,
           (size_t)tensor->rank * sizeof tensor->dims[0]);
    if (channel->verifies) {
        header.digest = iso_digest_of(iso_channel_payload(channel, index, i),
                                      (size_t)header.bytes);
    }
    return header;
}

/* Is the digest all that differs? */
static bool has_other_elements(const header_t *expected, header_t found)
{
    found.digest = expected->digest;
    return memcmp(&found, expected, sizeof found) == 0;
}

static iso_status_t fail_header(const iso_channel_t *channel, int64_t index,
                                int i, const header_t *expected,
                                const header_t *found)
{
    const char *name = channel->parcels[i].name;

    if (has_other_elements(expected, *found)) {
        return iso_fail(ISO_DISAGREE,
                        "'%s' of micro-batch %" PRId64
                        " from rank %d was damaged on its way: digest "
                        "%016" PRIx64 ", expected %016" PRIx64
                        "; see to the network and the memory of both hosts",
                        name, index, channel->peer, expected->digest,
                        found->digest);
    }
    if (found->parcel == expected->parcel && found->bytes == expected->bytes &&
        found->micro_batch == expected->micro_batch) {
        return iso_fail(ISO_DISAGREE,
                        "message from rank %d for micro-batch %" PRId64
                        " is damaged: no header where '%s' begins; see to the "
                        "network and the memory of both hosts",
                        channel->peer, index, name);
    }
    return iso_fail(
        ISO_DISAGREE,
        "message from rank %d: expected tensor %d ('%s') of micro-batch "
        "%" PRId64 ", %" PRIu64 " bytes; found tensor %d of micro-batch "
        "%" PRId64 ", %" PRIu64 " bytes",
        channel->peer, expected->parcel, name, index, expected->bytes,
        found->parcel, found->micro_batch, found->bytes);
}

static iso_status_t check_headers(const iso_channel_t *channel, int64_t index,
                                  iso_form_t form)
{
    const unsigned char *message = slot_of(channel, index)->message;

    for (int i = 0; i < channel->n_parcels; i++) {
        header_t expected = header_of(channel, index, form, i);
        header_t found;

        memcpy(&found, message + channel->offsets[i], sizeof found);
        if (memcmp(&found, &expected, sizeof found) == 0) {
            continue;
        }
        return fail_header(channel, index, i, &expected, &found);
    }
    return ISO_OK;
}

static void begin_wait(const iso_channel_t *channel, int64_t index)
{
    const iso_wait_t wait = {
        .kind = channel->sends ? ISO_WAIT_SEND : ISO_WAIT_RECEIVE,
        .value = channel->parcels[0].name,
        .micro_batch = index,
        .peer = channel->peer,
        .n_peers = 1,
    };

    iso_wait_begin(&wait);
}

iso_status_t iso_channel_acquire(iso_channel_t *channel, int64_t index,
                                 iso_form_t form, iso_stop_t *stop,
                                 bool *ready_out)
{
    slot_t *slot = slot_of(channel, index);

    *ready_out = true;
    if (slot->active) {
        begin_wait(channel, index);
        *ready_out = iso_stop_wait(stop, index, &slot->request);
        iso_wait_end();
        slot->active = !*ready_out;
    }
    if (!*ready_out || channel->sends) {
        return ISO_OK;
    }
    channel->arrived++;
    return check_headers(channel, index, form);
}

void *iso_channel_payload(const iso_channel_t *channel, int64_t index, int i)
{
    return slot_of(channel, index)->message + channel->offsets[i] +
           HEADER_BYTES;
}

void iso_channel_post(iso_channel_t *channel, int64_t index, iso_form_t form)
{
    slot_t *slot = slot_of(channel, index);

    ISO_ASSERT(channel->sends && !slot->active);
    for (int i = 0; i < channel->n_parcels; i++) {
        header_t header = header_of(channel, index, form, i);

        memcpy(slot->message + channel->offsets[i], &header, sizeof header);
    }
    start(channel, slot);
}

void iso_channel_release(iso_channel_t *channel, int64_t index)
{
    if (index + channel->n_slots < channel->n_batches) {
        start(channel, slot_of(channel, index));
    }
}

void iso_channel_announce(iso_channel_t *channel)
{
    if (channel->sends) {
        channel->announced = channel->started;
        ISO_CHECK_MPI(MPI_Isend(&channel->announced, 1, MPI_INT64_T,
                                channel->peer, TAG_COUNT, channel->comm,
                                &channel->announcement));
    }
}

/* Receiver: take back the receives that no message will come for. */
static void unarm(iso_channel_t *channel)
{
    for (int i = 0; i < channel->n_slots; i++) {
        slot_t *slot = &channel->slots[i];

        if (slot->active) {
            ISO_CHECK_MPI(MPI_Cancel(&slot->request));
            ISO_CHECK_MPI(MPI_Wait(&slot->request, MPI_STATUS_IGNORE));
            slot->active = false;
        }
    }
}

/* Take every message that the sender started; unarm what is left. */
static void drain(iso_channel_t *channel)
{
    int64_t count = 0;

    ISO_CHECK_MPI(MPI_Recv(&count, 1, MPI_INT64_T, channel->peer, TAG_COUNT,
                           channel->comm, MPI_STATUS_IGNORE));
    while (channel->arrived < count) {
        slot_t *slot = slot_of(channel, channel->arrived);

        if (!slot->active) {
            start(channel, slot);
        }
        ISO_CHECK_MPI(MPI_Wait(&slot->request, MPI_STATUS_IGNORE));
        slot->active = false;
        channel->arrived++;
    }
    unarm(channel);
}

/* Sender: until all messages have been taken. */
static void complete(iso_channel_t *channel)
{
    for (int i = 0; i < channel->n_slots; i++) {
        if (channel->slots[i].active) {
            ISO_CHECK_MPI(
                MPI_Wait(&channel->slots[i].request, MPI_STATUS_IGNORE));
            channel->slots[i].active = false;
        }
    }
    ISO_CHECK_MPI(MPI_Wait(&channel->announcement, MPI_STATUS_IGNORE));
}

void iso_channel_finish(iso_channel_t *channel)
{
    begin_wait(channel, channel->sends ? channel->started : channel->arrived);
    if (channel->sends) {
        complete(channel);
    } else {
        drain(channel);
    }
    iso_wait_end();
}

void iso_channel_destroy(iso_channel_t **channel)
{
    iso_channel_t *gone = *channel;

    if (gone == NULL) {
        return;
    }
    if (gone->unit != MPI_DATATYPE_NULL) {
        if (!gone->sends) {
            unarm(gone);
        }
        for (int i = 0; i < gone->n_slots; i++) {
            ISO_CHECK_MPI(MPI_Request_free(&gone->slots[i].request));
        }
        ISO_CHECK_MPI(MPI_Type_free(&gone->unit));
    }
    iso_free(gone->messages);
    iso_free(gone->slots);
    iso_free(gone->offsets);
    iso_free(gone->parcels);
    iso_free(gone);
    *channel = NULL;
}

double iso_channel_sent_bytes(const iso_channel_t *channel)
{
    return (double)channel->started * (double)channel->message_bytes;
}
