#include "tools/facts.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

iso_facts_t iso_facts_of(const iso_graph_t *graph)
{
    iso_facts_t facts = {.layers = iso_graph_layer_count(graph)};

    for (int32_t i = 0; i < iso_graph_node_count(graph); i++) {
        const iso_node_t *node = iso_graph_node(graph, i);
        size_t bytes = 0;

        facts.nodes += iso_node_is_leaf(node) ? 0 : 1;
        if (node->op == ISO_OP_PARAM &&
            iso_tensor_bytes_of(node->dtype, &node->shape, &bytes) == ISO_OK) {
            facts.weights++;
            facts.parameters += iso_shape_count(&node->shape);
            facts.bytes += bytes;
        }
    }
    return facts;
}

void iso_facts_print(const iso_facts_t *facts)
{
    char number[ISO_TEXT_NUMBER_BYTES];

    (void)printf("layers %d\n", facts->layers);
    (void)printf("nodes %" PRId64 "\n", facts->nodes);
    (void)printf("weights %" PRId64 "\n", facts->weights);
    (void)printf("parameters %" PRId64 "\n", facts->parameters);
    (void)printf("bytes %zu (%s)\n", facts->bytes,
                 iso_text_bytes(facts->bytes, number));
}
