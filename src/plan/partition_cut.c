/* The cut itself: what each stage holds, its graph, and what passes between. */
#include "isotome/error.h"

#include "base/mem.h"
#include "plan/partition_impl.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A growing list of nodes. */
typedef struct node_list {
    iso_node_id_t *ids;
    int32_t count;
    int32_t most;
} node_list_t;

/*
 * What is known while the stages are built, one after the other. Compute
 * nodes of a stage are a run along the node order, so that each node is
 * looked at once and a mark "seen by stage s" makes every list free of
 * duplicates.
 */
typedef struct cutter {
    const iso_graph_t *graph;
    iso_partition_t *partition;
    int32_t n_nodes;
    const int *stage_of;  /* (n_nodes) ISO__NO_STAGE for leaves; borrowed */
    int *seen_by;         /* (n_nodes) latest stage that holds the node */
    iso_node_id_t *local; /* (n_nodes) id in the graph of that stage */
    int32_t *n_holders;   /* (n_nodes) stages that hold a leaf */
    bool *emitted;        /* (n_nodes) a later stage or the caller needs it */
    node_list_t inputs;   /* of the stage being built; likewise below */
    node_list_t params;
    node_list_t constants;
    node_list_t boundaries;
    node_list_t operands; /* of the node being added, as local ids */
} cutter_t;

/* -- life -- */

static void free_cutter(cutter_t *cutter)
{
    iso_free(cutter->seen_by);
    iso_free(cutter->local);
    iso_free(cutter->n_holders);
    iso_free(cutter->emitted);
    iso_free(cutter->inputs.ids);
    iso_free(cutter->params.ids);
    iso_free(cutter->constants.ids);
    iso_free(cutter->boundaries.ids);
    iso_free(cutter->operands.ids);
}

static iso_status_t start_cutter(const iso_graph_t *graph, const int *stage_of,
                                 iso_partition_t *partition, cutter_t *cutter)
{
    size_t count = (size_t)iso_graph_node_count(graph);

    *cutter = (cutter_t){.graph = graph,
                         .partition = partition,
                         .n_nodes = (int32_t)count,
                         .stage_of = stage_of};
    cutter->seen_by = iso_alloc_zeroed(count, sizeof *cutter->seen_by);
    cutter->local = iso_alloc_zeroed(count, sizeof *cutter->local);
    cutter->n_holders = iso_alloc_zeroed(count, sizeof *cutter->n_holders);
    cutter->emitted = iso_alloc_zeroed(count, sizeof *cutter->emitted);
    if (cutter->seen_by == NULL || cutter->local == NULL ||
        cutter->n_holders == NULL || cutter->emitted == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        cutter->seen_by[i] = ISO__NO_STAGE;
    }
    return ISO_OK;
}

/* -- lists -- */

static iso_status_t add_to_list(node_list_t *list, iso_node_id_t id)
{
    if (list->count == list->most) {
        int32_t most = list->most == 0 ? 16 : 2 * list->most;
        void *grown = iso_realloc(list->ids, (size_t)most * sizeof *list->ids);
        if (grown == NULL) {
            return ISO_NOMEM;
        }
        list->ids = grown;
        list->most = most;
    }
    list->ids[list->count++] = id;
    return ISO_OK;
}

static int compare_ids(const void *a, const void *b)
{
    iso_node_id_t left = *(const iso_node_id_t *)a;
    iso_node_id_t right = *(const iso_node_id_t *)b;

    return left < right ? -1 : (left > right ? 1 : 0);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of count nodes in order; owned by the arena. */
static iso_status_t sort_names(const cutter_t *cutter, const node_list_t *list,
                               const char ***names_out)
{
    iso_arena_t *arena = cutter->partition->arena;
    size_t count = (size_t)list->count;
    const char **names = iso_arena_array(arena, count, sizeof *names);

    if (names == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = iso_arena_text(
            arena, iso_graph_node(cutter->graph, list->ids[i])->name);
        if (names[i] == NULL) {
            return ISO_NOMEM;
        }
    }
    if (count > 1) {
        qsort(names, count, sizeof *names, compare_names);
    }
    *names_out = names;
    return ISO_OK;
}

/* -- what a stage holds -- */

/* Note that the stage being built holds a node that it does not make. */
static iso_status_t hold(cutter_t *cutter, int stage, iso_node_id_t id)
{
    if (id == ISO_NO_NODE || cutter->seen_by[id] == stage) {
        return ISO_OK;
    }
    cutter->seen_by[id] = stage;
    cutter->n_holders[id]++;
    switch (iso_graph_node(cutter->graph, id)->op) {
    case ISO_OP_INPUT:
        return add_to_list(&cutter->inputs, id);
    case ISO_OP_PARAM:
        return add_to_list(&cutter->params, id);
    case ISO_OP_CONSTANT:
        return add_to_list(&cutter->constants, id);
    default:
        cutter->emitted[id] = true;
        return add_to_list(&cutter->boundaries, id);
    }
}

/* Nodes [begin, end) of the graph hold the compute nodes of the stage. */
typedef struct run {
    int stage;
    iso_node_id_t begin;
    iso_node_id_t end;
} run_t;

static iso_status_t hold_operands_of(cutter_t *cutter, int stage,
                                     iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(cutter->graph, id);

    cutter->seen_by[id] = stage;
    for (int i = 0; i < node->n_inputs; i++) {
        ISO_TRY(hold(cutter, stage, node->inputs[i]));
    }
    return ISO_OK;
}

static iso_status_t hold_operands(cutter_t *cutter, run_t run)
{
    for (iso_node_id_t id = run.begin; id < run.end; id++) {
        if (cutter->stage_of[id] != run.stage) {
            continue;
        }
        ISO_TRY(hold_operands_of(cutter, run.stage, id));
    }
    return ISO_OK;
}

/* Leaves that are model outputs leave through the first stage. */
static iso_status_t hold_leaf_outputs(cutter_t *cutter)
{
    for (int i = 0; i < iso_graph_output_count(cutter->graph); i++) {
        iso_node_id_t id = iso_graph_output(cutter->graph, i)->node;

        if (cutter->stage_of[id] != ISO__NO_STAGE) {
            continue;
        }
        ISO_TRY(hold(cutter, 0, id));
    }
    return ISO_OK;
}

/* -- graph of a stage -- */

static iso_status_t add_inputs(const cutter_t *cutter, iso_stage_t *stage)
{
    node_list_t all = {0};
    const char **names = NULL;
    iso_status_t status = ISO_OK;

    for (int32_t i = 0; i < cutter->inputs.count && status == ISO_OK; i++) {
        status = add_to_list(&all, cutter->inputs.ids[i]);
    }
    for (int32_t i = 0; i < cutter->boundaries.count && status == ISO_OK; i++) {
        status = add_to_list(&all, cutter->boundaries.ids[i]);
    }
    if (status == ISO_OK) {
        status = sort_names(cutter, &all, &names);
    }
    for (int32_t i = 0; i < all.count && status == ISO_OK; i++) {
        iso_node_id_t id = iso_graph_find(cutter->graph, names[i]);
        const iso_node_t *node = iso_graph_node(cutter->graph, id);
        status = iso_graph_add_input(stage->graph, node->name, node->dtype,
                                     &node->shape, &cutter->local[id]);
    }
    iso_free(all.ids);
    return status;
}

static iso_status_t add_params(const cutter_t *cutter, iso_stage_t *stage)
{
    for (int i = 0; i < stage->n_params; i++) {
        iso_node_id_t id = iso_graph_find(cutter->graph, stage->params[i]);
        const iso_node_t *node = iso_graph_node(cutter->graph, id);
        ISO_TRY(iso_graph_add_param(stage->graph, node->name, node->dtype,
                                    &node->shape, &cutter->local[id]));
    }
    return ISO_OK;
}

static iso_status_t add_constants(const cutter_t *cutter, iso_stage_t *stage)
{
    for (int32_t i = 0; i < cutter->constants.count; i++) {
        iso_node_id_t id = cutter->constants.ids[i];
        const iso_node_t *node = iso_graph_node(cutter->graph, id);
        iso_tensor_t value;
        /* The elements are only read. */
        ISO_TRY(iso_tensor_view(node->dtype, &node->shape, (void *)node->data,
                                &value));
        ISO_TRY(iso_graph_add_constant(stage->graph, node->name, &value,
                                       &cutter->local[id]));
    }
    return ISO_OK;
}

static iso_status_t add_compute_node(cutter_t *cutter, iso_graph_t *graph,
                                     iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(cutter->graph, id);
    iso_node_spec_t spec = {.name = node->name,
                            .op = node->op,
                            .n_inputs = node->n_inputs,
                            .n_attrs = node->n_attrs,
                            .attrs = node->attrs};

    cutter->operands.count = 0;
    for (int i = 0; i < node->n_inputs; i++) {
        iso_node_id_t input = node->inputs[i];
        ISO_TRY(add_to_list(&cutter->operands, input == ISO_NO_NODE
                                                   ? ISO_NO_NODE
                                                   : cutter->local[input]));
    }
    spec.inputs = cutter->operands.ids;
    ISO_TRY(iso_graph_add(graph, &spec, &cutter->local[id]));
    iso_graph_set_layer(graph, cutter->local[id], node->layer);
    return ISO_OK;
}

static iso_status_t add_compute_nodes(cutter_t *cutter, iso_graph_t *graph,
                                      run_t run)
{
    for (iso_node_id_t id = run.begin; id < run.end; id++) {
        if (cutter->stage_of[id] != run.stage) {
            continue;
        }
        ISO_TRY(add_compute_node(cutter, graph, id));
    }
    return ISO_OK;
}

static iso_status_t list_leaves(cutter_t *cutter, run_t run)
{
    cutter->inputs.count = 0;
    cutter->params.count = 0;
    cutter->constants.count = 0;
    cutter->boundaries.count = 0;
    if (run.stage == 0) {
        ISO_TRY(hold_leaf_outputs(cutter));
    }
    return hold_operands(cutter, run);
}

/* Lists of the stage, then its graph: inputs, params, constants, nodes. */
static iso_status_t build_stage(cutter_t *cutter, run_t run)
{
    iso_stage_t *stage = &cutter->partition->stages[run.stage];

    ISO_TRY(list_leaves(cutter, run));
    stage->n_inputs = cutter->inputs.count;
    ISO_TRY(sort_names(cutter, &cutter->inputs, &stage->inputs));
    stage->n_params = cutter->params.count;
    ISO_TRY(sort_names(cutter, &cutter->params, &stage->params));
    ISO_TRY(iso_graph_create(&stage->graph));
    ISO_TRY(add_inputs(cutter, stage));
    ISO_TRY(add_params(cutter, stage));
    ISO_TRY(add_constants(cutter, stage));
    return add_compute_nodes(cutter, stage->graph, run);
}

/* -- boundaries -- */

static iso_status_t add_boundary(iso_partition_t *partition,
                                 const iso_boundary_t *boundary)
{
    if (partition->n_boundaries == partition->most_boundaries) {
        int most = partition->most_boundaries == 0
                       ? 16
                       : 2 * partition->most_boundaries;
        void *grown =
            iso_realloc(partition->boundaries, (size_t)most * sizeof *boundary);
        if (grown == NULL) {
            return ISO_NOMEM;
        }
        partition->boundaries = grown;
        partition->most_boundaries = most;
    }
    partition->boundaries[partition->n_boundaries++] = *boundary;
    return ISO_OK;
}

/* Stages grow along the node order, so ordering by node orders by stage. */
static iso_status_t record_boundaries(cutter_t *cutter, int to_stage)
{
    node_list_t *list = &cutter->boundaries;

    if (list->count > 1) {
        qsort(list->ids, (size_t)list->count, sizeof *list->ids, compare_ids);
    }
    for (int32_t i = 0; i < list->count; i++) {
        iso_node_id_t id = list->ids[i];
        const iso_node_t *node = iso_graph_node(cutter->graph, id);
        iso_boundary_t boundary = {
            .name = iso_arena_text(cutter->partition->arena, node->name),
            .node = id,
            .dtype = node->dtype,
            .shape = node->shape,
            .from_stage = cutter->stage_of[id],
            .to_stage = to_stage,
        };
        if (boundary.name == NULL) {
            return ISO_NOMEM;
        }
        ISO_TRY(add_boundary(cutter->partition, &boundary));
    }
    return ISO_OK;
}

/* -- outputs -- */

static void find_output_stages(cutter_t *cutter)
{
    for (int i = 0; i < iso_graph_output_count(cutter->graph); i++) {
        iso_node_id_t id = iso_graph_output(cutter->graph, i)->node;
        int stage = cutter->stage_of[id];
        cutter->partition->output_stages[i] =
            stage == ISO__NO_STAGE ? 0 : stage;
        cutter->emitted[id] = true;
    }
}

/* Every value that leaves becomes an output of the stage that has it, under
 * its node's name. */
static iso_status_t add_stage_outputs(const cutter_t *cutter, bool of_leaves)
{
    for (iso_node_id_t id = 0; id < cutter->n_nodes; id++) {
        int stage = cutter->stage_of[id];
        bool leaf = stage == ISO__NO_STAGE;

        if (!cutter->emitted[id] || leaf != of_leaves) {
            continue;
        }
        const char *name = iso_graph_node(cutter->graph, id)->name;
        iso_graph_t *graph = cutter->partition->stages[leaf ? 0 : stage].graph;

        ISO_TRY(iso_graph_add_output(graph, name, iso_graph_find(graph, name)));
    }
    return ISO_OK;
}

static iso_status_t find_tied(cutter_t *cutter)
{
    iso_partition_t *partition = cutter->partition;

    cutter->params.count = 0;
    for (iso_node_id_t id = 0; id < cutter->n_nodes; id++) {
        if (cutter->n_holders[id] < 2 ||
            iso_graph_node(cutter->graph, id)->op != ISO_OP_PARAM) {
            continue;
        }
        ISO_TRY(add_to_list(&cutter->params, id));
    }
    partition->n_tied = cutter->params.count;
    return sort_names(cutter, &cutter->params, &partition->tied);
}

/* -- the cut -- */

static iso_status_t build_all(cutter_t *cutter)
{
    int n_stages = cutter->partition->n_stages;
    iso_node_id_t id = 0;

    for (int stage = 0; stage < n_stages; stage++) {
        run_t run = {.stage = stage, .begin = id};
        while (id < cutter->n_nodes && cutter->stage_of[id] <= stage) {
            id++;
        }
        run.end = id;
        ISO_TRY(build_stage(cutter, run));
        ISO_TRY(record_boundaries(cutter, stage));
    }
    find_output_stages(cutter);
    ISO_TRY(add_stage_outputs(cutter, true));
    ISO_TRY(add_stage_outputs(cutter, false));
    return find_tied(cutter);
}

iso_status_t iso__partition_cut(const iso_graph_t *graph, const int *stage_of,
                                iso_partition_t *partition)
{
    cutter_t cutter;
    iso_status_t status = start_cutter(graph, stage_of, partition, &cutter);

    if (status == ISO_OK) {
        status = build_all(&cutter);
    }
    free_cutter(&cutter);
    return status;
}
