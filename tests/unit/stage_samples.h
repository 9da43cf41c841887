/*
 * Stages for tests of sharding: from a text, or made at random, with legal
 * cuts at random and values for inputs and weights.
 */
#ifndef ISO_STAGE_SAMPLES_H
#define ISO_STAGE_SAMPLES_H

#include "isotome/model_file.h"

#include "plan/shard/stage_cut.h"

/* In the form of graph_text.h. */
iso_graph_t *stage_of_text(const char *text);

/* Ops of all classes on values of rank 2 to 4; the same state gives the same
 * stage. batch: length of the input's first axis. */
iso_graph_t *stage_random(uint64_t *state, int64_t batch);

/* A legal cut: each node at random ONE, ALL, SPLIT in random pieces, some of
 * them empty, or PARTIAL; half of the nodes follow their operand's axis. */
iso_stage_cut_t *stage_random_cut(uint64_t *state, const iso_graph_t *stage,
                                  int n_workers);

/* A cut of all nodes ONE, to be changed. */
iso_stage_cut_t *stage_cut_one(const iso_graph_t *stage, int n_workers);

/* Split the named node; ends: (n_workers) where each piece ends. */
void stage_split(iso_stage_cut_t *cut, const iso_graph_t *stage,
                 const char *name, int axis, const int64_t *ends);
/* Likewise, all in equal pieces; names ends with NULL. */
void stage_split_all(iso_stage_cut_t *cut, const iso_graph_t *stage, int axis,
                     const char *const *names);
void stage_set(iso_stage_cut_t *cut, const iso_graph_t *stage, const char *name,
               iso_cut_kind_t kind);

/* Elements of inputs and weights by name, made from seed. */
typedef struct stage_values {
    const iso_graph_t *stage;
    iso_tensor_t *tensors; /* (nodes of the stage) */
} stage_values_t;

void stage_values_begin(stage_values_t *values, const iso_graph_t *stage,
                        uint64_t seed);
void stage_values_end(stage_values_t *values);
iso_weight_source_t stage_values_source(stage_values_t *values);

#endif
