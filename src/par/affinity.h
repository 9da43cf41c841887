/*
 * Affinity: which cores the threads of each rank may run on, and whether there
 * are enough of them. Ranks that wait for one another on one core are slow
 * without any sign of it.
 *
 * A core is what the system counts as a processor: a core with two hardware
 * threads is two.
 *
 *     const iso_affinity_t mine = iso_affinity_here(threads);
 *
 *     ISO_TRY(iso_affinity_check(&mine, comm)); // rank 0 warns
 */
#ifndef ISO_AFFINITY_H
#define ISO_AFFINITY_H

#include "base/text.h"

#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>

enum { ISO_CORES_MOST = 4096 };

/* A set of cores, as the system numbers them. */
typedef struct iso_cores {
    uint64_t words[ISO_CORES_MOST / 64];
} iso_cores_t;

/* core  [in]  0 to ISO_CORES_MOST - 1 */
void iso_cores_add(iso_cores_t *cores, int core);
bool iso_cores_has(const iso_cores_t *cores, int core);
int iso_cores_count(const iso_cores_t *cores);

/* "0-3,8"; nothing when there are none. */
void iso_cores_add_text(const iso_cores_t *cores, iso_text_t *text);

/* One rank's; plain bytes, for MPI. */
typedef struct iso_affinity {
    iso_cores_t cores; /* that its threads may run on; none: not known */
    int threads;
    bool is_bound; /* to fewer cores than the host gives to anybody */
} iso_affinity_t;

/* This rank's. Called before anything is timed: it starts the threads. Not
 * collective. */
iso_affinity_t iso_affinity_here(int threads);

/* Is it bound, and to no cores but these? Such ranks share them. Not
 * collective. */
bool iso_affinity_is_within(const iso_affinity_t *rank,
                            const iso_cores_t *cores);

/*
 * Find a bound rank whose cores are fewer than the threads of all ranks of the
 * host that are bound within them, itself among these; of several, the first
 * with the fewest cores. More threads than a rank has cores count as one for
 * each core. Not found are ranks that have too few cores together, but none of
 * which may use them all: launchers do not bind so. Not collective.
 *
 * ranks  [in]  (n) bindings
 * Returns its index, n when there is none.
 */
int iso_affinity_sharing(const iso_affinity_t *ranks, int n);

/*
 * What there is to say of the ranks of one host, a line without its end;
 * nothing when each thread has a core. Not collective.
 *
 * ranks    [in]  (n) bindings
 * numbers  [in]  (n) of the ranks in the job, ascending
 * Errors: ISO_NOMEM.
 */
iso_status_t iso_affinity_add_warning(const char *host,
                                      const iso_affinity_t *ranks,
                                      const int *numbers, int n,
                                      iso_text_t *text);

/* Compare the ranks of each host; rank 0 prints one line at most for each.
 * Collective over comm. Errors: ISO_NOMEM. */
iso_status_t iso_affinity_check(const iso_affinity_t *mine, MPI_Comm comm);

#endif
