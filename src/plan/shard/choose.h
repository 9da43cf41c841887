/*
 * Choose: the fastest way to compute one op, among its shard options and
 * computing it whole at the root, by prices from the workers' rates and the
 * links between them.
 *
 *     iso_shard_choice_t *choice;
 *     ISO_TRY(iso_shard_choose(&question, &choice));
 *     if (choice->chosen == ISO_SHARD_WHOLE) { say choice->reason }
 *     else { choice->candidates[choice->chosen] }
 *     iso_shard_choice_destroy(&choice);
 *
 * Price of an option: the slowest shard's work + the time of what moves. It is
 * tried with equal pieces and with pieces in proportion to the workers'
 * rates, on many subsets of the workers: so many at the root, on its host, on
 * other hosts, and of each kind the fastest. (With equal pieces and nothing
 * to broadcast that is the best of all subsets.)
 *
 * What moves is priced on the machine's links (exchange.h: each message with
 * its latency, what the root keeps does not move) or, without a machine, on
 * one flat link: one latency, then all bytes, the root's own too.
 */
#ifndef ISO_SHARD_CHOOSE_H
#define ISO_SHARD_CHOOSE_H

#include "isotome/machine.h"

#include "plan/shard/option.h"

typedef struct iso_shard_worker {
    const char *name;
    double elements_per_s; /* of this op's value, computing all of it */
    int rank;              /* no two workers have the same */
    iso_cost_class_t cost_class;
} iso_shard_worker_t;

typedef struct iso_shard_question {
    iso_shard_op_t op;
    int n_workers;
    const iso_shard_worker_t *workers; /* (n_workers) */
    double whole_elements_per_s; /* of the root; 0 or less: it never ends */
    unsigned resident; /* bit i: operand i is at every worker already */
    int most_shards;   /* 0: as many as there are workers */
    bool equal_pieces; /* only */
    /* NULL: flat_link. Ranks of workers and the root are the machine's. */
    const iso_machine_t *machine;
    int root;             /* rank that has the operands and gets the value;
                           * it need not be a worker. With machine only. */
    iso_link_t flat_link; /* bytes_per_s 0 or less: bytes never arrive */
} iso_shard_question_t;

/* An option with its price. */
typedef struct iso_shard_candidate {
    iso_shard_option_t option; /* with the pieces of this price */
    const int *ranks;          /* (option.count) of each shard; NULL when there
                                * are too few workers */
    double seconds;            /* infinite: never */
    double compute_seconds;
    size_t moved_bytes;
    const char *reason; /* why it was not taken; NULL for the chosen one */
} iso_shard_candidate_t;

typedef struct iso_shard_excluded {
    const char *name;
    int rank;
    const char *reason;
} iso_shard_excluded_t;

enum { ISO_SHARD_WHOLE = -1 };

/* All texts and lists are the choice's. */
typedef struct iso_shard_choice {
    iso_arena_t *arena;
    int chosen; /* index into candidates, or ISO_SHARD_WHOLE */
    const char *reason;
    double seconds; /* of what was chosen */
    /* Of the op at the root: NAN when a dim is not bound. */
    double whole_seconds;
    int n_candidates;
    iso_shard_candidate_t *candidates; /* every option, in option order */
    int n_excluded;
    iso_shard_excluded_t *excluded;
} iso_shard_choice_t;

/*
 * Whole comes first and options in their order; a later one must be faster.
 * Workers that are uncalibrated, or whose rate is not a positive number, are
 * excluded.
 *
 * Errors: ISO_INVAL for two workers of one rank, a rank that the machine does
 * not have, more than ISO_SHARD_MOST workers or shards; ISO_NOMEM.
 */
iso_status_t iso_shard_choose(const iso_shard_question_t *question,
                              iso_shard_choice_t **choice_out);
void iso_shard_choice_destroy(iso_shard_choice_t **choice);

/* ---- From a machine ---- */

/* Elements of this op's value that a rank computes in a second, predicted by
 * node_seconds.h. Errors: ISO_SHAPE when a dim is not bound. */
iso_status_t iso_shard_rate(const iso_shard_op_t *op,
                            const iso_machine_rank_t *rank,
                            double *elements_per_s_out);

/*
 * Workers from ranks of a machine, named "rank 3 (host1)".
 *
 * arena        [in]   owns the names
 * workers_out  [out]  (n_ranks)
 * Errors: ISO_INVAL for a rank that the machine does not have, ISO_SHAPE,
 * ISO_NOMEM.
 */
iso_status_t iso_shard_workers_of(const iso_shard_op_t *op,
                                  const iso_machine_t *machine,
                                  const int *ranks, int n_ranks,
                                  iso_arena_t *arena,
                                  iso_shard_worker_t *workers_out);

#endif
