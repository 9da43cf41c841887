/* A graph without free sizes. */
#ifndef ISO_TEST_BOUND_H
#define ISO_TEST_BOUND_H

#include "base/mem.h"
#include "graph/pass.h"
#include "iso_test.h"

/* All of them become size. */
static inline iso_graph_t *test_bound(const iso_graph_t *graph, int64_t size)
{
    enum { MOST_FREE_DIMS = 8 };
    iso_binding_t bindings[MOST_FREE_DIMS];
    const char **names = NULL;
    iso_graph_t *bound = NULL;
    int count = 0;

    CU_ASSERT_EQUAL_FATAL(iso_graph_free_dims(graph, &names, &count), ISO_OK);
    CU_ASSERT_FATAL(count <= MOST_FREE_DIMS);
    for (int i = 0; i < count; i++) {
        bindings[i] = (iso_binding_t){names[i], size};
    }
    CU_ASSERT_EQUAL_FATAL(iso_graph_bind(graph, bindings, count, &bound),
                          ISO_OK);
    iso_free(names);
    return bound;
}

#endif
