/* The cuts of a plan, and the exchanges that follow from them, as JSON. */
#include "isotome/error.h"

#include "base/mem.h"
#include "plan/plan_impl.h"
#include "plan/plan_json_impl.h"
#include "plan/shard/cut.h"

#include <string.h>

static const char *const kind_names[] = {
    [ISO_CUT_ONE] = "one",
    [ISO_CUT_ALL] = "all",
    [ISO_CUT_SPLIT] = "split",
    [ISO_CUT_PARTIAL] = "partial",
};

enum { N_KINDS = sizeof kind_names / sizeof *kind_names };

/* Takes value over, also when this fails. */
static bool append(json_t *array, json_t *value)
{
    return json_array_append_new(array, value) == 0;
}

/* -- to JSON -- */

/* Lengths say it all: pieces are in order and leave no gap. */
static json_t *pieces_to_json(const iso_node_cut_t *cut, int n_workers)
{
    json_t *array = json_array();

    for (int i = 0; i < n_workers; i++) {
        if (!append(array, json_integer(iso_range_length(cut->ranges[i])))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *node_to_json(const iso_plan_t *plan, int stage, iso_node_id_t id)
{
    const iso_graph_t *graph =
        iso_partition_stage(plan->partition, stage)->graph;
    const char *name = iso_graph_node(graph, id)->name;
    const iso_stage_cut_t *all = plan->cuts[stage];
    const iso_node_cut_t *cut = &all->nodes[id];
    const char *kind = kind_names[cut->kind];

    switch (cut->kind) {
    case ISO_CUT_SPLIT:
        return json_pack("{s:i, s:s, s:s, s:i, s:s, s:o}", "stage", stage,
                         "node", name, "cut", kind, "axis", cut->axis, "along",
                         iso_cut_axis_name(graph, id, cut->axis), "pieces",
                         pieces_to_json(cut, all->n_workers));
    case ISO_CUT_PARTIAL:
        return json_pack("{s:i, s:s, s:s, s:s, s:o}", "stage", stage, "node",
                         name, "cut", kind, "along",
                         iso_cut_reduction_name(graph, id), "pieces",
                         pieces_to_json(cut, all->n_workers));
    case ISO_CUT_ONE:
    case ISO_CUT_ALL:
        break;
    }
    return json_pack("{s:i, s:s, s:s}", "stage", stage, "node", name, "cut",
                     kind);
}

json_t *iso__plan_cuts_to_json(const iso_plan_t *plan)
{
    json_t *array = json_array();

    for (int stage = 0; stage < plan->n_stages; stage++) {
        const iso_stage_cut_t *cut = plan->cuts[stage];

        for (iso_node_id_t id = 0; id < cut->n_nodes; id++) {
            if (cut->nodes[id].kind != ISO_CUT_ONE &&
                !append(array, node_to_json(plan, stage, id))) {
                json_decref(array);
                return NULL;
            }
        }
    }
    return array;
}

json_t *iso__plan_exchanges_to_json(const iso_plan_t *plan)
{
    json_t *array = json_array();

    for (int i = 0; i < plan->n_exchanges; i++) {
        const iso_plan_exchange_t *one = &plan->exchanges[i];
        json_t *json =
            json_pack("{s:i, s:s, s:s, s:I}", "stage", one->stage, "value",
                      one->value, "kind", iso_exchange_kind_string(one->kind),
                      "bytes", (json_int_t)one->bytes);

        if (!append(array, json)) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* -- from JSON -- */

/* ranges  [out]  (n_workers); that they fit the node is checked later */
static iso_status_t read_pieces(const iso_json_t *in, int n_workers,
                                iso_range_t *ranges)
{
    iso_json_t array;
    int64_t end = 0;

    ISO_TRY(iso__plan_check_size(in, "pieces", n_workers, &array));
    for (int i = 0; i < n_workers; i++) {
        iso_json_t element = iso_json_at(&array, (size_t)i);
        int64_t length = 0;

        ISO_TRY(iso_json_as_int(&element, 0, INT64_MAX - end, &length));
        ranges[i] = (iso_range_t){end, end + length};
        end += length;
    }
    return ISO_OK;
}

static iso_status_t read_kind(const iso_json_t *in, iso_cut_kind_t *kind_out)
{
    const char *text = NULL;

    ISO_TRY(iso_json_text(in, "cut", &text));
    for (int kind = 0; kind < N_KINDS; kind++) {
        if (strcmp(text, kind_names[kind]) == 0) {
            *kind_out = (iso_cut_kind_t)kind;
            return ISO_OK;
        }
    }
    return iso_json_fail(in, "'cut' is '%s', which is not known", text);
}

static iso_status_t read_node(const iso_json_t *in, const iso_graph_t *graph,
                              iso_node_id_t *node_out)
{
    const char *name = NULL;

    ISO_TRY(iso_json_text(in, "node", &name));
    *node_out = iso_graph_find(graph, name);
    if (*node_out == ISO_NO_NODE) {
        return iso_json_fail(in, "the stage has no node '%s'", name);
    }
    return ISO_OK;
}

/* "along" is for people, but it must be right. */
static iso_status_t read_where(const iso_json_t *in, const iso_graph_t *graph,
                               iso_node_id_t node, iso_node_cut_t *cut)
{
    int64_t axis = 0;
    int rank = iso_graph_node(graph, node)->shape.rank;

    if (cut->kind == ISO_CUT_PARTIAL) {
        return iso__plan_check_text(in, "along",
                                    iso_cut_reduction_name(graph, node));
    }
    ISO_TRY(iso_json_int(in, "axis", 0, rank - 1, &axis));
    cut->axis = (int)axis;
    return iso__plan_check_text(in, "along",
                                iso_cut_axis_name(graph, node, cut->axis));
}

static iso_status_t read_cut(const iso_json_t *in, const iso_plan_t *plan,
                             iso_range_t *ranges)
{
    static const char *const keys[] = {"stage", "node",   "cut", "axis",
                                       "along", "pieces", NULL};
    iso_node_id_t node = ISO_NO_NODE;
    iso_node_cut_t cut = {.kind = ISO_CUT_ONE};
    int64_t stage = 0;

    ISO_TRY(iso_json_only(in, keys));
    ISO_TRY(iso_json_int(in, "stage", 0, plan->n_stages - 1, &stage));
    const iso_graph_t *graph =
        iso_partition_stage(plan->partition, (int)stage)->graph;
    iso_stage_cut_t *all = plan->cuts[stage];

    ISO_TRY(read_node(in, graph, &node));
    ISO_TRY(read_kind(in, &cut.kind));
    if (cut.kind == ISO_CUT_SPLIT || cut.kind == ISO_CUT_PARTIAL) {
        ISO_TRY(read_where(in, graph, node, &cut));
        ISO_TRY(read_pieces(in, all->n_workers, ranges));
        cut.ranges = ranges;
    }
    return iso_stage_cut_set(all, node, &cut);
}

static iso_status_t read_all(const iso_json_t *file, const iso_plan_t *plan,
                             iso_range_t *ranges)
{
    iso_json_t array;

    ISO_TRY(iso_json_array(file, "cuts", &array));
    for (size_t i = 0; i < iso_json_size(&array); i++) {
        iso_json_t in = iso_json_at(&array, i);

        ISO_TRY(read_cut(&in, plan, ranges));
    }
    return ISO_OK;
}

iso_status_t iso__plan_read_cuts(const iso_json_t *file, iso_plan_t *plan)
{
    iso_range_t *ranges = iso_alloc_zeroed((size_t)plan->used, sizeof *ranges);
    iso_status_t status =
        ranges == NULL ? ISO_NOMEM : iso__plan_start_cuts(plan);

    for (int stage = 0; status == ISO_OK && stage < plan->n_stages; stage++) {
        status = iso_stage_cut_create(
            iso_partition_stage(plan->partition, stage)->graph,
            iso_plan_width(plan, stage), &plan->cuts[stage]);
    }
    if (status == ISO_OK) {
        status = read_all(file, plan, ranges);
    }
    for (int stage = 0; status == ISO_OK && stage < plan->n_stages; stage++) {
        status = iso_stage_cut_check(
            plan->cuts[stage],
            iso_partition_stage(plan->partition, stage)->graph);
    }
    if (status == ISO_OK) {
        status = iso__plan_follow_direct(plan);
    }
    if (status == ISO_INVAL) {
        status = iso_fail(ISO_INPUT, "%s: %s", file->key, iso_error_text());
    }
    iso_free(ranges);
    return status;
}

iso_status_t iso__plan_check_exchanges(const iso_json_t *file,
                                       const iso_plan_t *plan)
{
    static const char *const keys[] = {"stage", "value", "kind", "bytes", NULL};
    iso_json_t array;

    ISO_TRY(iso__plan_check_size(file, "exchanges", plan->n_exchanges, &array));
    for (int i = 0; i < plan->n_exchanges; i++) {
        const iso_plan_exchange_t *one = &plan->exchanges[i];
        iso_json_t in = iso_json_at(&array, (size_t)i);

        ISO_TRY(iso_json_only(&in, keys));
        ISO_TRY(iso__plan_check_int(&in, "stage", one->stage));
        ISO_TRY(iso__plan_check_text(&in, "value", one->value));
        ISO_TRY(iso__plan_check_text(&in, "kind",
                                     iso_exchange_kind_string(one->kind)));
        ISO_TRY(iso__plan_check_int(&in, "bytes", (int64_t)one->bytes));
    }
    return ISO_OK;
}
