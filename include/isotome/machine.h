/*
 * Machine: what planning knows of the ranks and the links between them.
 *
 * Figures carry their class: measured (by calibration), default for the
 * architecture (from tables in machine.c, said aloud), or uncalibrated (then
 * the worker is never ranked). The file form is JSON: isotome-machine(5).
 */
#ifndef ISO_MACHINE_H
#define ISO_MACHINE_H

#include "isotome/status.h"

#include <stddef.h>
#include <stdint.h>

typedef enum iso_cost_class {
    ISO_COST_MEASURED,
    ISO_COST_DEFAULT,
    ISO_COST_UNCALIBRATED,
} iso_cost_class_t;

typedef struct iso_machine_rank {
    const char *host;
    size_t memory_bytes; /* that one rank may use */
    double flops_per_s;  /* f32, one rank with its threads */
    double memory_bytes_per_s;
    iso_cost_class_t cost_class;
} iso_machine_rank_t;

typedef struct iso_link {
    double latency_s; /* of one message */
    double bytes_per_s;
} iso_link_t;

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
 * the host's name is copied. Errors: ISO_NOMEM. */
iso_status_t iso_machine_set_rank(iso_machine_t *machine, int rank,
                                  const iso_machine_rank_t *facts);

/* Link between two ranks: same host or other host. */
iso_link_t iso_machine_link(const iso_machine_t *machine, int from, int to);

/* Seconds to move bytes in one message. */
double iso_link_seconds(iso_link_t link, size_t bytes);

uint64_t iso_machine_digest(const iso_machine_t *machine);

#endif
