/*
 * What the files of arrange share. Terms:
 *
 *   value    an input or a computed node of the stage; params and constants
 *            are weights: every worker loads what its nodes need of them
 *   form     dtype and shape of a value
 *   layout   an iso_layout_t, by its number
 *   place    all layouts that a value is in at some time: the one in which it
 *            was made, and those it was brought to since
 *   choice   one way to compute a node, with its layouts and seconds
 *
 * Layouts, forms and places are numbered in the order in which they are met,
 * so that states compare and digest as lists of small numbers and nothing
 * depends on addresses.
 */
#ifndef ISO_ARRANGE_IMPL_H
#define ISO_ARRANGE_IMPL_H

#include "base/arena.h"
#include "graph/cost.h"
#include "plan/shard/arrange.h"

/* -- a map from 64-bit keys to numbers >= 0 (arrange_index.c) -- */

typedef struct iso__index {
    uint64_t *keys;  /* (capacity) */
    int32_t *values; /* (capacity) -1: free */
    size_t capacity; /* a power of two, or 0 */
    size_t count;
} iso__index_t;

/* -1 when the key is not there. */
int32_t iso__index_find(const iso__index_t *index, uint64_t key);
/* The key is not there yet. Errors: ISO_NOMEM. */
iso_status_t iso__index_add(iso__index_t *index, uint64_t key, int32_t value);
void iso__index_free(iso__index_t *index);

/*
 * The array with room for one more behind count elements of size bytes: grown
 * by doubling, maybe moved. NULL when there is no memory; then the array is
 * as it was.
 */
void *iso__room_for_one(void *array, size_t *capacity, size_t count,
                        size_t size);

/* -- where values are (arrange_places.c) -- */

enum {
    ISO__NOWHERE = 0,   /* the place of a value that is not, or no longer */
    ISO__NO_LAYOUT = -1 /* of an operand that is not given */
};

enum { ISO__MOST_COPIES = 3 };

typedef struct iso__place {
    int32_t made; /* layout */
    int n_copies; /* later ones count as used once and forgotten */
    int32_t copies[ISO__MOST_COPIES]; /* layouts, sorted */
} iso__place_t;

/* What it takes to have a value where it is needed, and where it is then. */
typedef struct iso__transfer {
    double seconds;
    int32_t exchanges;
    int32_t place;
    bool is_exact; /* else the seconds are a bound from below */
} iso__transfer_t;

typedef struct iso__form {
    iso_dtype_t dtype;
    iso_shape_t shape;
} iso__form_t;

typedef struct iso__places {
    const iso_arrange_options_t *options;
    iso_link_t fastest; /* no link between two workers is faster */
    iso_arena_t *arena; /* of the ranges of layouts */
    iso_layout_t *layouts;
    iso__form_t *forms;
    iso__place_t *places;
    iso__transfer_t *transfers;
    size_t n_layouts, n_forms, n_places, n_transfers;
    size_t room_layouts, room_forms, room_places, room_transfers;
    iso__index_t layout_index, form_index, place_index, transfer_index;
} iso__places_t;

iso_status_t iso__places_create(const iso_arrange_options_t *options,
                                iso__places_t *places_out);
void iso__places_free(iso__places_t *places);

/* Numbers of things; ranges are copied. Errors: ISO_NOMEM, ISO_INVAL when
 * there are more than can be told apart. */
iso_status_t iso__places_layout(iso__places_t *places,
                                const iso_layout_t *layout,
                                int32_t *layout_out);
iso_status_t iso__places_form(iso__places_t *places, const iso_node_t *node,
                              int32_t *form_out);
/* Of a value just made. */
iso_status_t iso__places_made(iso__places_t *places, int32_t layout,
                              int32_t *place_out);

/*
 * Bring a value that is at a place to a layout in which it is needed. Nothing
 * is to do when one of its layouts covers the need; else there is an exchange
 * from the layout in which it was made, as in local.h. What it takes is
 * remembered.
 *
 * exact  [in]  false: a bound will do, which is found much sooner
 */
iso_status_t iso__places_transfer(iso__places_t *places, int32_t form,
                                  int32_t place, int32_t need, bool exact,
                                  iso__transfer_t *transfer_out);

/* Bytes of a layout on a worker; those of all of a place's layouts. */
double iso__layout_bytes(const iso__places_t *places, int32_t form,
                         int32_t layout, int worker);
double iso__place_bytes(const iso__places_t *places, int32_t form,
                        int32_t place, int worker);

/* -- where pieces may begin (arrange_units.c) -- */

typedef struct iso__units {
    int64_t own[ISO_MAX_RANK]; /* iso_cut_unit */
    /* A multiple, so that pieces of neighbours fall together. */
    int64_t aligned[ISO_MAX_RANK];
} iso__units_t;

/* units_out [out] (nodes), in the arena */
iso_status_t iso__units_create(const iso_graph_t *stage, iso_arena_t *arena,
                               iso__units_t **units_out);

/* -- ways to compute a node -- */

typedef struct iso__choice {
    iso_node_cut_t cut;
    double seconds;       /* computing; partial sums: bringing them together,
                           * too */
    int32_t exchanges;    /* of partial sums */
    int32_t made;         /* layout of the value */
    const int32_t *needs; /* (n_inputs) layouts, also of weights */
    double price_s;       /* for what it holds in memory, see arrange.c */
    bool is_plain;        /* ONE, or split among all that can work */
} iso__choice_t;

/* Of nodes that are alike; the first is ONE. */
typedef struct iso__choices {
    iso_node_id_t node; /* the first of them */
    int count;
    iso__choice_t *list;
} iso__choices_t;

/* -- the problem (arrange_prepare.c) -- */

typedef struct iso__arrange {
    const iso_graph_t *stage;
    const iso_arrange_options_t *options;
    int n_usable;
    int *fastest;  /* (n_usable) workers, the fastest first */
    double *rates; /* (n_workers) of the whole stage; 0: gets nothing */
    iso_arena_t *arena;
    iso__places_t places;
    iso__units_t *units;        /* (nodes) */
    int32_t *form_of;           /* (nodes) */
    iso_node_id_t *last_reader; /* (nodes) ISO_NO_NODE: none */
    bool *is_output;            /* (nodes) */
    iso__index_t class_index;
    int32_t *class_of; /* (nodes) of values */
    iso__choices_t *classes;
    size_t n_classes, room_classes;
} iso__arrange_t;

/* Everything but the search. Errors also leave something to free. */
iso_status_t iso__arrange_prepare(const iso_graph_t *stage,
                                  const iso_arrange_options_t *options,
                                  iso__arrange_t *arrange_out);
void iso__arrange_free(iso__arrange_t *arrange);

bool iso__is_weight(const iso_node_t *node);

/* Is this operand a value, and no earlier operand the same one? */
bool iso__reads_value(const iso_graph_t *stage, const iso_node_t *node,
                      int operand);
/* The first operand that is the same node. */
int iso__first_use(const iso_node_t *node, int operand);

/* -- choices of nodes (arrange_choices.c) -- */

/* Find or make the class of a value. */
iso_status_t iso__choices_of_node(iso__arrange_t *arrange, iso_node_id_t node);

/* Set price_s of all choices: seconds for each byte of weights and value on
 * the workers that are over their limit. */
void iso__arrange_set_price(iso__arrange_t *arrange, const bool *is_over,
                            double s_per_byte);

static inline const iso__choices_t *
iso__choices_at(const iso__arrange_t *arrange, iso_node_id_t node)
{
    return &arrange->classes[arrange->class_of[node]];
}

/* -- one choice (arrange_pieces.c) -- */

/* What the choices of one node are made with. */
typedef struct iso__maker {
    iso__arrange_t *arrange;
    iso_node_id_t id;
    const iso_node_t *node;
    int n_workers;
    iso_node_cost_t cost; /* of the whole node */
    int64_t blocks;       /* of the reduction; 0: none */
    double *read;         /* (n_inputs) bytes of each operand that are read */
    double *piece_read;   /* (n_workers) bytes that a piece reads */
    double *weights;      /* (n_workers) rates of those that share a cut */
    iso_range_t *pieces;  /* (n_workers) */
    iso_range_t *needs;   /* (n_workers) */
    iso__choice_t *list;
    size_t count, room;
} iso__maker_t;

/* The layout in which a cut makes the value. */
iso_status_t iso__choice_find_made(iso__maker_t *maker,
                                   const iso_node_cut_t *cut,
                                   int32_t *made_out);

/* What choice->cut, whose ranges share out length, needs and takes; the
 * ranges are copied. */
iso_status_t iso__choice_fill(iso__maker_t *maker, int64_t length,
                              iso__choice_t *choice);

/* -- the search (arrange_search.c) -- */

/*
 * Choose for all nodes, so that the sum of seconds and prices is least.
 *
 * beam        [in]   most states kept for each node; and besides the best
 *                    one for each choice of the node
 * choice_out  [out]  (nodes) index into the class' list; of weights 0
 */
iso_status_t iso__arrange_search(iso__arrange_t *arrange, int beam,
                                 int32_t *choice_out);

/* -- a result (arrange_replay.c) -- */

/*
 * What the stage takes with these choices.
 *
 * seconds_out  [out]  computing and exchanging, without prices
 * bytes_out    [out]  (n_workers) the most that each worker holds at a time:
 *                     weights, and values in all their layouts
 */
iso_status_t iso__arrange_replay(iso__arrange_t *arrange,
                                 const int32_t *choice_of, double *seconds_out,
                                 double *bytes_out);

#endif
