#include "isotome/error.h"

#include "base/digest.h"
#include "base/log.h"
#include "exec/exchanger_impl.h"
#include "par/counts.h"
#include "par/par.h"

#include <inttypes.h>

enum { TAG_PART = 0 };

/* One run of a step. */
typedef struct run {
    const iso_exchanger_t *exchanger;
    const iso__step_t *step;
    const unsigned char *input; /* tensors */
    unsigned char *output;
    const unsigned char *out; /* the sides' bytes: tensors, or buffers */
    unsigned char *in;
} run_t;

static void pack_part(const run_t *run, int peer)
{
    const iso__side_t *side = &run->step->out;

    if (!side->in_place) {
        iso_copy_run(&side->parts[peer].copy, run->input,
                     run->exchanger->out_buffer + side->parts[peer].offset);
    }
}

static void unpack(const run_t *run)
{
    const iso__side_t *side = &run->step->in;

    for (int i = 0; !side->in_place && i < run->exchanger->n_workers; i++) {
        iso_copy_run(&side->parts[i].copy, run->in + side->parts[i].offset,
                     run->output);
    }
}

/* ---- Messages ---- */

static int receive(const run_t *run, int peer, MPI_Request *requests)
{
    const iso__part_t *part = &run->step->in.parts[peer];
    const int most = run->exchanger->most_count;
    const size_t count = iso_piece_count(part->bytes, most);

    for (size_t i = 0; i < count; i++) {
        ISO_CHECK_MPI(MPI_Irecv(run->in + part->offset + i * (size_t)most,
                                iso_piece_bytes(part->bytes, most, i), MPI_BYTE,
                                peer, TAG_PART, run->exchanger->comm,
                                &requests[i]));
    }
    return (int)count;
}

static int send(const run_t *run, int peer, MPI_Request *requests)
{
    const iso__part_t *part = &run->step->out.parts[peer];
    const int most = run->exchanger->most_count;
    const size_t count = iso_piece_count(part->bytes, most);

    pack_part(run, peer);
    for (size_t i = 0; i < count; i++) {
        ISO_CHECK_MPI(MPI_Isend(run->out + part->offset + i * (size_t)most,
                                iso_piece_bytes(part->bytes, most, i), MPI_BYTE,
                                peer, TAG_PART, run->exchanger->comm,
                                &requests[i]));
    }
    return (int)count;
}

/* Peers are taken from the next worker on, so that not all begin with the
 * same one; pieces of a part arrive in the order they were sent. */
static void send_messages(const run_t *run)
{
    const int n_workers = run->exchanger->n_workers;
    const int worker = run->exchanger->worker;
    MPI_Request *requests = run->exchanger->requests;
    int count = 0;

    for (int i = 1; i < n_workers; i++) {
        count += receive(run, (worker + n_workers - i) % n_workers,
                         requests + count);
    }
    for (int i = 1; i < n_workers; i++) {
        count += send(run, (worker + i) % n_workers, requests + count);
    }
    iso_copy_run(&run->step->own, run->input, run->output);
    ISO_CHECK_MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    unpack(run);
}

/* ---- Collective calls ---- */

static void scatter(const run_t *run)
{
    const iso__side_t *out = &run->step->out;
    const iso__part_t *part = &run->step->in.parts[run->step->root];

    ISO_CHECK_MPI(MPI_Scatterv(
        run->out, out->counts, out->displs, MPI_BYTE, run->in + part->offset,
        (int)part->bytes, MPI_BYTE, run->step->root, run->exchanger->comm));
}

static void gather(const run_t *run)
{
    const iso__side_t *in = &run->step->in;
    const iso__part_t *part = &run->step->out.parts[run->step->root];

    ISO_CHECK_MPI(MPI_Gatherv(run->out + part->offset, (int)part->bytes,
                              MPI_BYTE, run->in, in->counts, in->displs,
                              MPI_BYTE, run->step->root, run->exchanger->comm));
}

static void all_gather(const run_t *run)
{
    const iso__side_t *in = &run->step->in;

    ISO_CHECK_MPI(MPI_Allgatherv(run->input, (int)run->step->out.tensor_bytes,
                                 MPI_BYTE, run->in, in->counts, in->displs,
                                 MPI_BYTE, run->exchanger->comm));
}

static void all_to_all(const run_t *run)
{
    const iso__side_t *out = &run->step->out;
    const iso__side_t *in = &run->step->in;

    ISO_CHECK_MPI(MPI_Alltoallv(run->out, out->counts, out->displs, MPI_BYTE,
                                run->in, in->counts, in->displs, MPI_BYTE,
                                run->exchanger->comm));
}

/* The root sends from its input, which MPI_Bcast only reads. */
static void broadcast(const run_t *run)
{
    const bool sends = run->exchanger->worker == run->step->root;
    unsigned char *data = sends ? (unsigned char *)run->input : run->output;
    const int most = run->exchanger->most_count;
    const size_t bytes = run->step->value_bytes;

    for (size_t i = 0; i < iso_piece_count(bytes, most); i++) {
        ISO_CHECK_MPI(MPI_Bcast(data + i * (size_t)most,
                                iso_piece_bytes(bytes, most, i), MPI_BYTE,
                                run->step->root, run->exchanger->comm));
    }
}

static void call_collective(const run_t *run)
{
    switch (run->step->kind) {
    case ISO_EXCHANGE_SCATTER:
        scatter(run);
        return;
    case ISO_EXCHANGE_GATHER:
        gather(run);
        return;
    case ISO_EXCHANGE_ALL_GATHER:
        all_gather(run);
        return;
    case ISO_EXCHANGE_ALL_TO_ALL:
        all_to_all(run);
        return;
    case ISO_EXCHANGE_BROADCAST:
        broadcast(run);
        return;
    case ISO_EXCHANGE_SEND:
    case ISO_EXCHANGE_HALO:
        break;
    }
    ISO_UNREACHABLE("sends and halos are messages");
}

/* ---- Digests ---- */

static uint64_t sum_of(const unsigned char *side, const iso__part_t *part)
{
    return part->bytes == 0 ? 0
                            : iso_digest_of(side + part->offset, part->bytes);
}

/* Every part as it was sent against what came. Collective. */
static iso_status_t verify(const run_t *run)
{
    const iso_exchanger_t *exchanger = run->exchanger;
    uint64_t *out = exchanger->sums;
    uint64_t *in = out + exchanger->n_workers;

    for (int peer = 0; peer < exchanger->n_workers; peer++) {
        out[peer] = sum_of(run->out, &run->step->out.parts[peer]);
    }
    ISO_CHECK_MPI(MPI_Alltoall(out, 1, MPI_UINT64_T, in, 1, MPI_UINT64_T,
                               exchanger->comm));
    for (int peer = 0; peer < exchanger->n_workers; peer++) {
        const iso__part_t *part = &run->step->in.parts[peer];

        if (peer != exchanger->worker && sum_of(run->in, part) != in[peer]) {
            return iso_fail(
                ISO_DISAGREE,
                "exchange (%s) of '%s': what came from rank %d was damaged on "
                "its way: digest %016" PRIx64 ", expected %016" PRIx64
                "; see to the network and the memory of both hosts",
                iso_exchange_kind_string(run->step->kind), run->step->value,
                exchanger->first_rank + peer, sum_of(run->in, part), in[peer]);
        }
    }
    return ISO_OK;
}

static iso_status_t end_run(const run_t *run)
{
    return run->exchanger->verifies ? verify(run) : ISO_OK;
}

iso_status_t iso__step_run(const iso_exchanger_t *exchanger,
                           const iso__step_t *step, const unsigned char *input,
                           unsigned char *output)
{
    const run_t run = {
        .exchanger = exchanger,
        .step = step,
        .input = input,
        .output = output,
        /* Never NULL, so that offsets can be added also where nothing goes. */
        .out =
            step->out.in_place && input != NULL ? input : exchanger->out_buffer,
        .in =
            step->in.in_place && output != NULL ? output : exchanger->in_buffer,
    };

    if (step->by_messages) {
        send_messages(&run);
        return end_run(&run);
    }
    for (int peer = 0; peer < exchanger->n_workers; peer++) {
        pack_part(&run, peer);
    }
    call_collective(&run);
    unpack(&run);
    iso_copy_run(&step->own, input, output);
    return end_run(&run);
}
