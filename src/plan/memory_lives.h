/*
 * Lives: when each value of a graph, and each copy of one in the other format
 * (kernel/format.h), is born and last used. Time is the id of the node whose
 * step runs.
 *
 * Places are numbered: that of what node id makes is id, that of its copy is
 * n_nodes + id.
 */
#ifndef ISO_MEMORY_LIVES_H
#define ISO_MEMORY_LIVES_H

#include "kernel/format.h"

/* Bytes of a place are a multiple of it. */
enum { ISO__PLACE_ALIGNMENT = 64, ISO__NO_PLACE = -1 };

typedef struct iso__lives {
    int32_t n_nodes;
    int32_t n_places;
    size_t *bytes;       /* (n_places) rounded up; 0: no place is needed */
    int32_t *born;       /* (n_places) */
    int32_t *last_use;   /* (n_places) included; n_nodes: to the end */
    int32_t *home;       /* (n_nodes) place of its plain elements: another
                          * node's for a reshape */
    int32_t *first_born; /* (n_nodes) by time; ISO__NO_PLACE: none */
    int32_t *next_born;  /* (n_places) at the same time */
} iso__lives_t;

/*
 * formats  [in]  of this graph; NULL: all values plain, nothing joined
 * Errors: ISO_SHAPE for an unbound dim; ISO_NOMEM.
 */
iso_status_t iso__lives_create(const iso_graph_t *graph,
                               const iso_formats_t *formats,
                               iso__lives_t *lives_out);
void iso__lives_free(iso__lives_t *lives);

#endif
