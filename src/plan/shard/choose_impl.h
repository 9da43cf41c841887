/* Between the files of choose.h. */
#ifndef ISO_SHARD_CHOOSE_IMPL_H
#define ISO_SHARD_CHOOSE_IMPL_H

#include "plan/shard/choose.h"

/* Workers by their link to the root: no link, the root's host, other hosts. A
 * flat link makes all of them near. */
typedef enum iso__shard_place {
    ISO__SHARD_ROOT,
    ISO__SHARD_NEAR,
    ISO__SHARD_FAR,
    ISO__SHARD_PLACES,
} iso__shard_place_t;

/* A way to carry out an option: pieces and who takes them. */
typedef struct iso__shard_way {
    iso_shard_option_t option; /* its ranges are `pieces` */
    iso_range_t *pieces;       /* (most shards) */
    int *workers;              /* (most shards) indices of usable workers */
    double seconds;
    double compute_seconds;
} iso__shard_way_t;

/* What is known and reserved while options are tried. */
typedef struct iso__shard_chooser {
    const iso_shard_question_t *question;
    iso_arena_t *arena; /* of the choice */
    int n_usable;
    iso_shard_worker_t *usable; /* (n_usable) in the order given */
    int n_at[ISO__SHARD_PLACES];
    int *at[ISO__SHARD_PLACES]; /* (n_at) usable workers, fastest first */
    bool *taken;                /* (n_usable) */
    double *rates;              /* (n_usable) of the shards' workers */
    int *team;                  /* (n_usable + 1) their ranks, and the root's */
    iso_range_t *slabs;         /* (n_usable + 1) */
    iso__shard_way_t now;       /* being tried */
    iso__shard_way_t best;      /* of the option so far */
} iso__shard_chooser_t;

/* Seconds of what way->option moves, bytes and all. */
double iso__shard_move_seconds(iso__shard_chooser_t *chooser,
                               const iso__shard_way_t *way);
size_t iso__shard_moved_bytes(iso__shard_chooser_t *chooser,
                              const iso__shard_way_t *way);

/* Say why: the choice, and each option that was not taken. */
iso_status_t iso__shard_give_reasons(const iso__shard_chooser_t *chooser,
                                     iso_shard_choice_t *choice);

/* Set chooser->best to the fastest way of an option that has no more shards
 * than there are usable workers. */
iso_status_t iso__shard_best_way(iso__shard_chooser_t *chooser,
                                 const iso_shard_option_t *option);

#endif
