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

/* Requests come to an end in their order: of the message, then, apart, of one
 * for each parcel. */
typedef struct slot {
    unsigned char *message;
    MPI_Request *requests; /* (n_requests) */
    int next;              /* to be waited for; n_requests: none is started */
} slot_t;

/* Of a parcel. */
typedef struct place {
    size_t header;  /* where its header is in a message */
    size_t payload; /* and where its elements are, when not in memory */
    size_t bytes;   /* of the elements, in whole units */
    iso_device_t *device;
    void *memory; /* (n_slots, bytes) of the device; NULL: in messages */
} place_t;

struct iso_channel {
    bool sends;
    bool verifies;
    bool is_apart;
    int peer;
    int n_slots;
    int n_parcels;
    int n_requests; /* of a slot */
    int64_t n_batches;
    int64_t started; /* messages: sends posted, receives armed */
    int64_t arrived; /* receiver: messages taken from the network */
    int64_t announced;
    MPI_Request announcement;
    size_t sent_bytes;    /* of all messages of a micro-batch */
    size_t message_bytes; /* of a slot in the host's memory */
    const iso_device_t *device;
    MPI_Comm comm;
    MPI_Datatype unit;
    iso_parcel_t *parcels; /* (n_parcels) */
    place_t *places;       /* (n_parcels) */
    slot_t *slots;         /* (n_slots) */
    MPI_Request *requests; /* (n_slots, n_requests) */
    unsigned char *messages;
};

static slot_t *slot_of(const iso_channel_t *channel, int64_t index)
{
    return &channel->slots[index % channel->n_slots];
}

static bool is_under_way(const iso_channel_t *channel, const slot_t *slot)
{
    return slot->next < channel->n_requests;
}

/* ---- Making ---- */

/* One behind the other; apart, the headers come first. */
static void lay_out(iso_channel_t *channel)
{
    size_t offset =
        channel->is_apart ? (size_t)channel->n_parcels * HEADER_BYTES : 0;

    for (int i = 0; i < channel->n_parcels; i++) {
        const iso_parcel_t *parcel = &channel->parcels[i];
        const size_t bytes =
            iso_message_bytes(iso_tensor_bytes(&parcel->form[ISO_FORM_FULL]));
        place_t *place = &channel->places[i];

        channel->sent_bytes += bytes;
        place->bytes = bytes - HEADER_BYTES;
        place->device = parcel->device;
        if (!channel->is_apart) {
            place->header = offset;
            offset += HEADER_BYTES;
        } else {
            place->header = (size_t)i * HEADER_BYTES;
        }
        place->payload = offset;
        offset += place->device == NULL ? place->bytes : 0;
    }
    channel->message_bytes = offset;
}

static iso_status_t make_device_memory(const iso_channel_t *channel,
                                       place_t *place)
{
    if (place->device == NULL) {
        return ISO_OK;
    }
    ISO_ASSERT(channel->is_apart);
    return iso_device_alloc(
        place->device, (size_t)channel->n_slots * place->bytes, &place->memory);
}

static iso_status_t make_memory(iso_channel_t *channel)
{
    ISO_TRY(iso_device_alloc_host(
        channel->device, (size_t)channel->n_slots * channel->message_bytes,
        (void **)&channel->messages));
    for (int i = 0; i < channel->n_parcels; i++) {
        ISO_TRY(make_device_memory(channel, &channel->places[i]));
    }
    return ISO_OK;
}

static void init(const iso_channel_t *channel, void *data, size_t bytes,
                 MPI_Request *request)
{
    const int count = (int)(bytes / UNIT_BYTES);

    if (channel->sends) {
        ISO_CHECK_MPI(MPI_Send_init(data, count, channel->unit, channel->peer,
                                    TAG_DATA, channel->comm, request));
    } else {
        ISO_CHECK_MPI(MPI_Recv_init(data, count, channel->unit, channel->peer,
                                    TAG_DATA, channel->comm, request));
    }
}

static void make_requests(iso_channel_t *channel)
{
    const size_t bytes = channel->is_apart
                             ? (size_t)channel->n_parcels * HEADER_BYTES
                             : channel->message_bytes;

    ISO_CHECK_MPI(MPI_Type_contiguous(UNIT_BYTES, MPI_BYTE, &channel->unit));
    ISO_CHECK_MPI(MPI_Type_commit(&channel->unit));
    for (int i = 0; i < channel->n_slots; i++) {
        slot_t *slot = &channel->slots[i];

        slot->message = channel->messages + (size_t)i * channel->message_bytes;
        slot->requests =
            channel->requests + (size_t)i * (size_t)channel->n_requests;
        slot->next = channel->n_requests;
        init(channel, slot->message, bytes, &slot->requests[0]);
        for (int p = 0; channel->is_apart && p < channel->n_parcels; p++) {
            init(channel, iso_channel_payload(channel, i, p),
                 channel->places[p].bytes, &slot->requests[1 + p]);
        }
    }
}

/* In this order, which is that in which the other end takes them. */
static void start(iso_channel_t *channel, slot_t *slot)
{
    for (int i = 0; i < channel->n_requests; i++) {
        ISO_CHECK_MPI(MPI_Start(&slot->requests[i]));
    }
    slot->next = 0;
    channel->started++;
}

iso_status_t iso_channel_create(const iso_channel_spec_t *spec, MPI_Comm comm,
                                iso_channel_t **channel_out)
{
    iso_channel_t *channel = iso_alloc_zeroed(1, sizeof *channel);
    iso_status_t status = ISO_NOMEM;

    *channel_out = NULL;
    if (channel == NULL) {
        return ISO_NOMEM;
    }
    channel->sends = spec->sends;
    channel->verifies = spec->verifies;
    channel->is_apart = spec->is_apart;
    channel->peer = spec->peer;
    channel->n_slots = spec->n_slots;
    channel->n_parcels = spec->n_parcels;
    channel->n_requests = spec->is_apart ? 1 + spec->n_parcels : 1;
    channel->n_batches = spec->n_batches;
    channel->announcement = MPI_REQUEST_NULL;
    channel->unit = MPI_DATATYPE_NULL;
    channel->comm = comm;
    channel->device = spec->device;
    channel->parcels =
        iso_alloc_zeroed((size_t)spec->n_parcels, sizeof *channel->parcels);
    channel->places =
        iso_alloc_zeroed((size_t)spec->n_parcels, sizeof *channel->places);
    channel->slots =
        iso_alloc_zeroed((size_t)spec->n_slots, sizeof *channel->slots);
    channel->requests =
        iso_alloc_zeroed((size_t)spec->n_slots * (size_t)channel->n_requests,
                         sizeof(MPI_Request));
    if (channel->parcels == NULL || channel->places == NULL ||
        channel->slots == NULL || channel->requests == NULL) {
        goto fail;
    }
    for (int i = 0; i < spec->n_parcels; i++) {
        channel->parcels[i] = spec->parcels[i];
    }
    lay_out(channel);
    status = make_memory(channel);
    if (status != ISO_OK) {
        goto fail;
    }
    make_requests(channel);
    for (int i = 0; !spec->sends && i < spec->n_slots && i < spec->n_batches;
         i++) {
        start(channel, &channel->slots[i]);
    }
    *channel_out = channel;
    return ISO_OK;

fail:
    iso_channel_destroy(&channel);
    return status;
}

/* ---- Messages ---- */

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

        memcpy(&found, message + channel->places[i].header, sizeof found);
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
    while (*ready_out && is_under_way(channel, slot)) {
        begin_wait(channel, index);
        *ready_out = iso_stop_wait(stop, index, &slot->requests[slot->next]);
        iso_wait_end();
        slot->next += *ready_out ? 1 : 0;
    }
    if (!*ready_out || channel->sends) {
        return ISO_OK;
    }
    channel->arrived++;
    return check_headers(channel, index, form);
}

void *iso_channel_payload(const iso_channel_t *channel, int64_t index, int i)
{
    const place_t *place = &channel->places[i];
    const size_t slot = (size_t)(index % channel->n_slots);

    return place->memory != NULL
               ? (unsigned char *)place->memory + slot * place->bytes
               : channel->slots[slot].message + place->payload;
}

void iso_channel_post(iso_channel_t *channel, int64_t index, iso_form_t form)
{
    slot_t *slot = slot_of(channel, index);

    ISO_ASSERT(channel->sends && !is_under_way(channel, slot));
    for (int i = 0; i < channel->n_parcels; i++) {
        header_t header = header_of(channel, index, form, i);

        memcpy(slot->message + channel->places[i].header, &header,
               sizeof header);
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

/* ---- The end ---- */

static void wait_for(const iso_channel_t *channel, slot_t *slot)
{
    ISO_CHECK_MPI(
        MPI_Waitall(channel->n_requests, slot->requests, MPI_STATUSES_IGNORE));
    slot->next = channel->n_requests;
}

/* Receiver: take back the receives that no message will come for. */
static void unarm(iso_channel_t *channel)
{
    for (int i = 0; i < channel->n_slots; i++) {
        slot_t *slot = &channel->slots[i];

        for (; is_under_way(channel, slot); slot->next++) {
            MPI_Request *request = &slot->requests[slot->next];

            ISO_CHECK_MPI(MPI_Cancel(request));
            ISO_CHECK_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
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

        if (!is_under_way(channel, slot)) {
            start(channel, slot);
        }
        wait_for(channel, slot);
        channel->arrived++;
    }
    unarm(channel);
}

/* Sender: until all messages have been taken. */
static void complete(iso_channel_t *channel)
{
    for (int i = 0; i < channel->n_slots; i++) {
        wait_for(channel, &channel->slots[i]);
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

static void free_memory(iso_channel_t *channel)
{
    for (int i = 0; channel->places != NULL && i < channel->n_parcels; i++) {
        const place_t *place = &channel->places[i];

        if (place->device != NULL) {
            iso_device_free(place->device, place->memory);
        }
    }
    iso_device_free_host(channel->device, channel->messages);
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
        for (int i = 0; i < gone->n_slots * gone->n_requests; i++) {
            ISO_CHECK_MPI(MPI_Request_free(&gone->requests[i]));
        }
        ISO_CHECK_MPI(MPI_Type_free(&gone->unit));
    }
    free_memory(gone);
    iso_free(gone->requests);
    iso_free(gone->slots);
    iso_free(gone->places);
    iso_free(gone->parcels);
    iso_free(gone);
    *channel = NULL;
}

double iso_channel_sent_bytes(const iso_channel_t *channel)
{
    return (double)channel->started * (double)channel->sent_bytes;
}

double iso_channel_direct_bytes(const iso_channel_t *channel)
{
    const int64_t count = channel->sends ? channel->started : channel->arrived;
    size_t bytes = 0;

    for (int i = 0; i < channel->n_parcels; i++) {
        bytes +=
            channel->places[i].memory != NULL ? channel->places[i].bytes : 0;
    }
    return (double)count * (double)bytes;
}
