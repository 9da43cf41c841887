/* A plan of the model: refused, or one that can be explained and cut. */
#include "isotome/plan.h"

#include "base/mem.h"
#include "fuzz.h"

static void use(const iso_plan_t *plan, const iso_graph_t *graph)
{
    iso_partition_t *partition = NULL;
    char *text = iso_plan_text(plan);

    if (text == NULL) {
        fuzz_die("a plan cannot be printed");
    }
    iso_free(text);
    if (iso_plan_partition(plan, graph, 1, &partition) != ISO_OK) {
        fuzz_die("a plan that was read cannot be used");
    }
    iso_partition_destroy(&partition);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static iso_graph_t *graph;
    iso_plan_t *plan = NULL;

    if (graph == NULL) {
        graph = fuzz_graph();
    }
    const int64_t held = fuzz_begin();
    const iso_status_t status =
        iso_plan_read(fuzz_file(data, size), graph, &plan);
    if (status == ISO_OK) {
        use(plan, graph);
    }
    iso_plan_destroy(&plan);
    fuzz_end(status, held);
    return 0;
}
