/* The search's own; private to arrange_search.c and arrange_step.c. */
#ifndef ISO_ARRANGE_SEARCH_IMPL_H
#define ISO_ARRANGE_SEARCH_IMPL_H

#include "plan/shard/arrange_impl.h"

enum { ISO__NO_SLOT = -1 };

typedef struct iso__state {
    double cost; /* seconds and prices */
    int32_t exchanges;
    int32_t n_cut;   /* nodes that are not ONE */
    int32_t parent;  /* state of the node before */
    int32_t choice;  /* of this node */
    uint64_t digest; /* of all places: a sum over the slots */
} iso__state_t;

/* How a state came to be. */
typedef struct iso__trail {
    int32_t parent;
    int32_t choice;
} iso__trail_t;

typedef enum iso__known {
    ISO__KNOWN_NOTHING,
    ISO__KNOWN_BOUND, /* all but the seconds, of which a bound from below */
    ISO__KNOWN_EXACTLY,
} iso__known_t;

/* What becomes of a value, and what that takes. */
typedef struct iso__effect {
    iso__known_t known;
    double seconds;
    int32_t exchanges;
    int32_t place;   /* ISO__NOWHERE after the last reader */
    uint64_t digest; /* its share in a state's */
} iso__effect_t;

/* A value that the node at hand reads, however often. */
typedef struct iso__operand {
    iso_node_id_t id;
    int slot;
    int n_columns;          /* different places where it is */
    int32_t *column;        /* (states) */
    int32_t *places;        /* (n_columns) */
    iso__effect_t *effects; /* (n_columns, choices) */
    size_t room_effects;
} iso__operand_t;

typedef struct iso__search {
    iso__arrange_t *arrange;
    int beam;
    int most_states;  /* beam, and one for each choice */
    int most_choices; /* of a node */
    int most_inputs;
    int n_slots;
    int *slot_of;        /* (nodes) of values; ISO__NO_SLOT: nobody reads it */
    int32_t at_root;     /* the layout "whole on worker 0" */
    double quantum_s;    /* a power of two */
    bool only_plain;     /* look at plain choices alone */
    double bound;        /* cost of the best that was found */
    iso__state_t found;  /* its last state */
    double *rest;        /* (nodes + 1) least cost of the nodes from here on */
    iso__trail_t *trail; /* (nodes, most_states) */
    int n_states;
    iso__state_t *states; /* (most_states) */
    int32_t *where;       /* (most_states, n_slots) places */
    iso__state_t *next_states;
    int32_t *next_where;
    /* Of the node at hand. */
    iso_node_id_t id;
    const iso__choices_t *choices;
    double *costs;      /* (choices) */
    iso__effect_t *own; /* (choices) of its value */
    int n_operands;
    iso__operand_t *operands; /* (most_inputs) */
    double most;              /* what a successor may cost */
    int n_successors;
    iso__state_t *successors; /* (most_states, most_choices) */
    int32_t *by_digest;       /* (n_hash) index of a successor, or -1 */
    size_t n_hash;      /* a power of two: that are in use for this node */
    int32_t *kept;      /* (most_states) successors, the best first */
    int32_t *best_of;   /* (choices) successor */
    int32_t *column_at; /* (room_column_at) by place; -1: none */
    size_t room_column_at;
} iso__search_t;

/* As a multiple of the quantum; infinite when it alone is far over the bound.
 */
double iso__search_round(const iso__search_t *search, double seconds);

/* Of computing a node so, with its price. */
double iso__search_cost(const iso__search_t *search,
                        const iso__choice_t *choice);

/* Negative when a is better. */
int iso__state_compare(const iso__state_t *a, const iso__state_t *b);

/* -- the steps of a node, in this order (arrange_step.c) -- */

/* What its choices do to the values that it reads and makes. */
iso_status_t iso__search_begin_node(iso__search_t *search, iso_node_id_t id);
/* From each state by each choice, within the bound. */
iso_status_t iso__search_find_successors(iso__search_t *search);
/* The best of them are the states now. */
void iso__search_advance(iso__search_t *search);

#endif
