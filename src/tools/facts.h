/*
 * Facts: a model in numbers, as import and inspect print them.
 */
#ifndef ISO_FACTS_H
#define ISO_FACTS_H

#include "isotome/graph.h"

typedef struct iso_facts {
    int layers;
    int64_t nodes; /* without leaves */
    int64_t weights;
    int64_t parameters; /* numbers in the weights */
    size_t bytes;       /* of the weights */
} iso_facts_t;

iso_facts_t iso_facts_of(const iso_graph_t *graph);

/* On stdout, one fact a line. */
void iso_facts_print(const iso_facts_t *facts);

#endif
