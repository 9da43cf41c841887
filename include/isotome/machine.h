/*
 * Machine: what planning knows of the ranks and the links between them.
 *
 * Figures carry their class: measured (by isotome-calibrate(1)), default for
 * the architecture (from tables in machine.c, said aloud), or uncalibrated
 * (then the worker is never ranked). The file form is JSON:
 * isotome-machine(5).
 */
#ifndef ISO_MACHINE_H
#define ISO_MACHINE_H

#include "isotome/rate.h"
#include "isotome/status.h"

#include <stddef.h>
#include <stdint.h>

typedef enum iso_cost_class {
    ISO_COST_MEASURED,
    ISO_COST_DEFAULT,
    ISO_COST_UNCALIBRATED,
} iso_cost_class_t;

/* How fast a rank does the work of one rate class. */
typedef struct iso_rate {
    double per_s;  /* flops or bytes, by the class; 0: not stated, so that the
                    * default share of the rank's other figures holds */
    double spread; /* of the repetitions: interquartile range / median */
    iso_cost_class_t cost_class;
} iso_rate_t;

typedef struct iso_machine_device iso_machine_device_t;

typedef struct iso_machine_rank {
    const char *host;
    size_t memory_bytes; /* that one rank may use */
    double flops_per_s;  /* f32, one rank with its threads */
    double memory_bytes_per_s;
    /* Bytes of a slab that are packed into or out of a message; a rank set
     * without it (0) gets half of memory_bytes_per_s. */
    double copy_bytes_per_s;
    iso_rate_t rates[ISO_RATE_CLASS_COUNT];
    iso_cost_class_t cost_class; /* the least certain of all figures */
    /* Devices among which nodes may be placed by cost (device_map.h), all
     * different. The figures above are those of the one that the rank computes
     * on; where "cpu" is none of these, they are those of "cpu". */
    int n_devices;                       /* 0: nothing is known of others */
    const iso_machine_device_t *devices; /* (n_devices) */
} iso_machine_rank_t;

/* One device of a rank. */
struct iso_machine_device {
    const char *name;           /* as in a rule of device_map.h */
    iso_machine_rank_t figures; /* host and memory are the rank's; it has no
                                 * devices */
    /* Of a value between its memory and the host's, either way; of a device
     * that works in host memory, of a copy. */
    double crossing_latency_s;
    double crossing_bytes_per_s;
};

/*
 * Small messages go at once, with their latency alone (eager); a message of
 * more than eager_bytes first waits until its receiver is there, and back.
 */
typedef struct iso_link {
    double latency_s; /* of one message */
    double bytes_per_s;
    double handshake_s; /* more latency of one over eager_bytes; 0: none */
    size_t eager_bytes;
} iso_link_t;

typedef enum iso_link_kind {
    ISO_LINK_SAME_HOST,
    ISO_LINK_OTHER_HOST,
    ISO_LINK_KIND_COUNT
} iso_link_kind_t;

typedef struct iso_link_figures {
    iso_link_t link;
    double spread;               /* as of a rate, the largest of all sizes */
    iso_cost_class_t cost_class; /* measured or default */
} iso_link_figures_t;

/* X(NAME, text): the MPI collectives by which values are exchanged. */
#define ISO_COLLECTIVE_MAP(X)   \
    X(BCAST, "bcast")           \
    X(SCATTERV, "scatterv")     \
    X(GATHERV, "gatherv")       \
    X(ALLGATHERV, "allgatherv") \
    X(ALLTOALLV, "alltoallv")

typedef enum iso_collective {
#define X(name, text) ISO_COLLECTIVE_##name,
    ISO_COLLECTIVE_MAP(X)
#undef X
        ISO_COLLECTIVE_COUNT
} iso_collective_t;

/*
 * How a collective call compares with its messages sent one by one over the
 * links (iso_machine_collective): factors on their latencies and on the time
 * of their bytes, so that they hold for any group of ranks.
 */
typedef struct iso_collective_figures {
    double latency_factor;
    double bytes_factor;
    double spread; /* as of a link */
    iso_cost_class_t cost_class;
} iso_collective_figures_t;

typedef struct iso_machine iso_machine_t;

/*
 * A machine of world ranks with default figures, spread over hosts of
 * ranks_per_host ranks each (0: all on one host) that share
 * host_memory_bytes evenly (0: 4 GiB for each rank).
 */
iso_status_t iso_machine_default(int world, int ranks_per_host,
                                 size_t host_memory_bytes,
                                 iso_machine_t **machine_out);

/* Errors: ISO_INPUT naming the place: NaN, zero or negative rates, unknown
 * members, no ranks. */
iso_status_t iso_machine_read(const char *path, iso_machine_t **machine_out);
iso_status_t iso_machine_write(const iso_machine_t *machine, const char *path);
void iso_machine_destroy(iso_machine_t **machine);

int iso_machine_world(const iso_machine_t *machine);
const iso_machine_rank_t *iso_machine_rank(const iso_machine_t *machine,
                                           int rank);

/* Put other facts in place of a rank's (its real host and memory in a job);
 * the host's name and the devices are copied. A rate less certain than
 * cost_class makes the rank so. Errors: ISO_NOMEM. */
iso_status_t iso_machine_set_rank(iso_machine_t *machine, int rank,
                                  const iso_machine_rank_t *facts);

/* The rate of a class: as stated, else the default share of the rank's
 * flops_per_s or memory_bytes_per_s with the class of these. */
iso_rate_t iso_machine_rank_rate(const iso_machine_rank_t *rank,
                                 iso_rate_class_t rate_class);

/* Link between two ranks: same host or other host. */
iso_link_kind_t iso_machine_link_kind(const iso_machine_t *machine, int from,
                                      int to);
iso_link_t iso_machine_link(const iso_machine_t *machine, int from, int to);

/*
 * The link between two ranks as it is inside a collective call. With it the
 * seconds of a call among a group of ranks are
 *
 *     scatterv, gatherv  sum over the ranks beside the root of the seconds of
 *                        their parts
 *     allgatherv         ranks - 1 times the largest part over the slowest
 *                        link of a ring of the ranks
 *     alltoallv          most over the ranks of the sum of the parts sent
 *     bcast              ceil(log2(ranks)) times the whole value over the
 *                        slowest link
 */
iso_link_t iso_machine_collective(const iso_machine_t *machine,
                                  iso_collective_t collective, int from,
                                  int to);

/* All that is known of a kind of link, or of a collective; borrowed. */
const iso_link_figures_t *iso_machine_link_figures(const iso_machine_t *machine,
                                                   iso_link_kind_t kind);
const iso_collective_figures_t *
iso_machine_collective_figures(const iso_machine_t *machine,
                               iso_collective_t collective);
void iso_machine_set_link(iso_machine_t *machine, iso_link_kind_t kind,
                          const iso_link_figures_t *figures);
void iso_machine_set_collective(iso_machine_t *machine,
                                iso_collective_t collective,
                                const iso_collective_figures_t *figures);

/* "same_host", "bcast", "measured": as in the file. */
const char *iso_link_kind_string(iso_link_kind_t kind);
const char *iso_collective_string(iso_collective_t collective);
const char *iso_cost_class_string(iso_cost_class_t cost_class);

/* Seconds to move bytes in one message; bytes may be an estimate. */
double iso_link_seconds(iso_link_t link, double bytes);

/* Of all that plans depend on: devices, by which each rank places what it was
 * given, are no part of it. */
uint64_t iso_machine_digest(const iso_machine_t *machine);

#endif
