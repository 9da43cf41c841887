/* The graph of a model file, as JSON: refused, or one that is written back as
 * the same and can be planned or is refused there. */
#include "isotome/plan.h"

#include "fuzz.h"
#include "graph/print.h"

enum { MOST_NODES = 64, SAMPLES = 3 };

static void check_again(const iso_graph_t *graph)
{
    iso_json_t root = {.key = "again"};
    iso_graph_t *again = NULL;

    if (iso_graph_to_json(graph, &root.value) != ISO_OK ||
        iso_graph_from_json(&root, &again) != ISO_OK ||
        iso_graph_digest(again) != iso_graph_digest(graph)) {
        fuzz_die("a graph is not read back");
    }
    json_decref(root.value);
    iso_graph_destroy(&again);
}

static iso_status_t make_plan(const iso_graph_t *graph)
{
    const iso_plan_options_t options = {
        .world = 2, .workers = 2, .micro_batch = SAMPLES, .samples = SAMPLES};
    iso_machine_t *machine = NULL;
    iso_plan_t *plan = NULL;
    iso_status_t status = iso_machine_default(2, 2, 0, &machine);

    if (status == ISO_OK) {
        status = iso_plan_create(graph, machine, &options, &plan);
    }
    iso_plan_destroy(&plan);
    iso_machine_destroy(&machine);
    return status;
}

static iso_status_t use(const iso_graph_t *graph)
{
    check_again(graph);
    return iso_graph_node_count(graph) > MOST_NODES ? ISO_OK : make_plan(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    iso_json_t root = {0};
    iso_graph_t *graph = NULL;
    const int64_t held = fuzz_begin();
    iso_status_t status =
        iso_json_parse((const char *)data, size, "graph", &root);

    if (status == ISO_OK) {
        status = iso_graph_from_json(&root, &graph);
        json_decref(root.value);
    }
    if (status == ISO_OK) {
        status = use(graph);
    }
    iso_graph_destroy(&graph);
    fuzz_end(status, held);
    return 0;
}
