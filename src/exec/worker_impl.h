/* A worker as made by worker.c and run by worker_run.c. */
#ifndef ISO_WORKER_IMPL_H
#define ISO_WORKER_IMPL_H

#include "exec/worker.h"

/* A channel to one other stage and what its parcels are on this side: an
 * input of the stage graph or one of its outputs, in each form. */
typedef struct iso__worker_link {
    iso_channel_t *channel;
    int peer_stage;
    int n_parcels;
    iso_parcel_t *parcels;         /* (n_parcels) */
    int32_t *ends[ISO_FORM_COUNT]; /* (n_parcels) node id of an input
                                    * (ISO_NO_NODE: only delivered) or number
                                    * of an output */
} iso__worker_link_t;

/* Where the rows of a wanted model output come from at the last stage. */
typedef struct iso__pickup {
    int output; /* of the model */
    int from_stage;
    int parcel; /* in the link from that stage; -1 when made here */
    int stage_output[ISO_FORM_COUNT]; /* of this stage's graph */
} iso__pickup_t;

struct iso_worker {
    iso_worker_spec_t spec;
    MPI_Comm comm;
    iso_team_t *team;
    iso_seen_t seen;   /* what the watch is told */
    bool team_stopped; /* all workers know that they stop */
    iso_program_t *programs[ISO_FORM_COUNT];
    void *buffer; /* activations of both programs */
    int n_in;
    int n_out;
    iso__worker_link_t *in;  /* (n_stages) room; (n_in) used */
    iso__worker_link_t *out; /* (n_stages) room; (n_out) used */
    int n_pickups;
    iso__pickup_t *pickups;
};

/* Of this worker, in a form; NULL when there is no such form. */
static inline const iso_graph_t *iso__worker_graph(const iso_worker_t *worker,
                                                   iso_form_t form)
{
    const iso_local_t *local = worker->spec.local[form];

    return local == NULL ? NULL : local->graph;
}

/* Say which parcels of a link, whose ends are found, this end has in the memory
 * of a device. */
void iso__worker_find_devices(const iso_worker_t *worker,
                              iso__worker_link_t *link, bool sends);

/* Of all links: what only goes from the memory of a device stays there. The
 * last stage, which delivers its outputs, sends none. */
void iso__worker_keep_outputs(const iso_worker_t *worker);

/* The link from an earlier stage, which there is. */
const iso__worker_link_t *iso__worker_link_from(const iso_worker_t *worker,
                                                int stage);

#endif
