/*
 * A program of several devices: one for each segment (plan/segments.h), run
 * one after the other. What leaves a segment is copied to a place where later
 * ones, and the caller, find it; it stays there until its last use. Made in
 * mixed_make.c, run in mixed.c.
 */
#ifndef ISO_MIXED_IMPL_H
#define ISO_MIXED_IMPL_H

#include "device/program_impl.h"
#include "plan/place/segments.h"

/* What a segment hands on. */
typedef struct iso__mixed_value {
    int segment;        /* that makes it */
    int output;         /* of its graph */
    iso_node_id_t node; /* of the whole */
    int last;           /* segment that reads it; the count: the caller */
    size_t bytes;
    size_t offset;
    bool is_kept; /* by its segment: not handed on (direct.h) */
} iso__mixed_value_t;

/* Where a sub-program's nodes are in the whole, for its observer. */
typedef struct iso__watch {
    const struct iso__mixed *mixed;
    const iso_node_id_t *outer;
} iso__watch_t;

typedef struct iso__segment {
    const iso_graph_t *graph;
    bool is_under_way; /* its outputs are not handed on yet */
    iso_program_t *program;
    iso_node_id_t *outer; /* (nodes of graph) in the whole */
    iso_node_id_t *inner; /* (nodes of the whole) leaves here; ISO_NO_NODE */
    iso__watch_t watch;
} iso__segment_t;

typedef struct iso__mixed {
    iso_program_t base;
    const iso_device_t *device;
    iso_segments_t *segments;
    iso__segment_t *parts; /* (segments->count) */
    int n_values;
    iso__mixed_value_t *values; /* (n_values) by segment */
    int32_t *value_of;          /* (nodes of the whole) -1: none */
    iso_tensor_t *leaves;       /* (nodes of the whole) */
    size_t values_bytes; /* then comes what one segment needs at a time */
    size_t room_bytes;   /* in all */
    char *room;
    void *own_room; /* NULL when lent */
    int at;         /* segment */
    iso_program_observer_t *observer;
    void *observer_arg;
} iso__mixed_t;

/*
 * Find the segments of mixed->base.graph, the places of what passes between
 * them, and how much room all need.
 *
 * single_out  [out]  the one device that computes all: nothing else is found
 *                    then; NULL: there are several
 */
iso_status_t iso__mixed_find(iso__mixed_t *mixed, iso_device_t **single_out);

/* Reserve the room and make the programs; everything is found. */
iso_status_t iso__mixed_make(iso__mixed_t *mixed,
                             const iso_program_options_t *options);

#endif
