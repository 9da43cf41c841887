#include "plan/plan_explain.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "base/table.h"
#include "plan/node_seconds.h"
#include "plan/plan_impl.h"
#include "plan/shard/choose.h"
#include "plan/shard/cut.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What a stage is explained with. */
typedef struct explainer {
    const iso_plan_t *plan;
    const iso_machine_t *machine;
    const iso_explain_options_t *options;
    int stage;
    const iso_graph_t *graph; /* of the stage */
    int n_workers;
    int *ranks; /* (n_workers) */
    iso_text_t text;
    bool found; /* the node asked for */
} explainer_t;

/* -- the op in the plan -- */

static void add_pieces(const iso_node_cut_t *cut, int n_workers,
                       iso_text_t *text)
{
    for (int i = 0; i < n_workers; i++) {
        iso_text_add(text, "%s%" PRId64, i == 0 ? " " : ",",
                     iso_range_length(cut->ranges[i]));
    }
}

static void add_cut(const explainer_t *explainer, iso_node_id_t node,
                    const iso_node_cut_t *cut, iso_text_t *text)
{
    switch (cut->kind) {
    case ISO_CUT_ONE:
        iso_text_add(text, "whole on worker 0");
        return;
    case ISO_CUT_ALL:
        iso_text_add(text, "whole on every worker");
        return;
    case ISO_CUT_SPLIT:
        iso_text_add(text, "%s",
                     iso_cut_axis_name(explainer->graph, node, cut->axis));
        break;
    case ISO_CUT_PARTIAL:
        iso_text_add(text, "%s in blocks",
                     iso_cut_reduction_name(explainer->graph, node));
        break;
    }
    add_pieces(cut, explainer->n_workers, text);
}

static void add_head(explainer_t *explainer, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(explainer->graph, id);
    char shape[ISO_SHAPE_TEXT_BYTES];

    iso_text_add(&explainer->text,
                 "\nstage %d, '%s' (%s %s): ", explainer->stage, node->name,
                 iso_op_string(node->op), iso_shape_text(&node->shape, shape));
    add_cut(explainer, id, &explainer->plan->cuts[explainer->stage]->nodes[id],
            &explainer->text);
}

/* Of the slowest worker, in its local graph: pieces of the node there. */
static iso_status_t slowest_piece(const explainer_t *explainer,
                                  iso_node_id_t id, double *seconds_out)
{
    const iso_node_cut_t *cut =
        &explainer->plan->cuts[explainer->stage]->nodes[id];
    const iso_node_t *node = iso_graph_node(explainer->graph, id);
    iso_node_cost_t cost;
    double whole = 0.0;

    *seconds_out = 0.0;
    ISO_TRY(iso_node_cost_of(explainer->graph, id, &cost));
    for (int i = 0; cut->ranges != NULL && i < explainer->n_workers; i++) {
        whole += (double)iso_range_length(cut->ranges[i]);
    }
    for (int i = 0; i < explainer->n_workers; i++) {
        iso_node_cost_t piece = cost;
        double share = 1.0;

        if (cut->ranges != NULL) {
            share = (double)iso_range_length(cut->ranges[i]) / whole;
        } else if (cut->kind == ISO_CUT_ONE && i > 0) {
            share = 0.0;
        }
        piece.flops *= share;
        piece.operand_bytes = (size_t)((double)cost.operand_bytes * share);
        piece.output_bytes = (size_t)((double)cost.output_bytes * share);
        *seconds_out =
            fmax(*seconds_out,
                 iso_cost_seconds(node, &piece,
                                  iso_machine_rank(explainer->machine,
                                                   explainer->ranks[i])));
    }
    return ISO_OK;
}

static iso_status_t add_time(explainer_t *explainer, iso_node_id_t id)
{
    char number[ISO_TEXT_NUMBER_BYTES];
    char whole_number[ISO_TEXT_NUMBER_BYTES];
    double piece_s = 0.0;
    double whole_s = 0.0;

    ISO_TRY(slowest_piece(explainer, id, &piece_s));
    ISO_TRY(iso_node_seconds(
        explainer->graph, id,
        iso_machine_rank(explainer->machine, explainer->ranks[0]), &whole_s));
    iso_text_add(&explainer->text, "; %s of %s for the whole\n",
                 iso_text_seconds(piece_s, number),
                 iso_text_seconds(whole_s, whole_number));
    return ISO_OK;
}

static void add_exchanges(explainer_t *explainer, iso_node_id_t id)
{
    const iso_plan_t *plan = explainer->plan;
    const char *name = iso_graph_node(explainer->graph, id)->name;
    char number[ISO_TEXT_NUMBER_BYTES];

    for (int i = 0; i < plan->n_exchanges; i++) {
        const iso_plan_exchange_t *one = &plan->exchanges[i];

        if (one->stage == explainer->stage && strcmp(one->value, name) == 0) {
            iso_text_add(&explainer->text,
                         "  its value moves by %s, %s to other workers\n",
                         iso_exchange_kind_string(one->kind),
                         iso_text_bytes(one->bytes, number));
        }
    }
}

/* -- the op by itself -- */

static bool is_best_of_axis(const iso_shard_choice_t *choice, int index)
{
    const iso_shard_candidate_t *one = &choice->candidates[index];

    for (int i = 0; i < choice->n_candidates; i++) {
        const iso_shard_candidate_t *other = &choice->candidates[i];
        bool alike = other->option.axis == one->option.axis &&
                     other->option.output_axis == one->option.output_axis;

        if (alike && (other->seconds < one->seconds ||
                      (i < index && other->seconds <= one->seconds))) {
            return false;
        }
    }
    return true;
}

static void add_candidate(const iso_shard_candidate_t *one, bool chosen,
                          iso_text_t *cells)
{
    char number[ISO_TEXT_NUMBER_BYTES];

    iso_text_add(cells, "    %s\t%d\t", iso_shard_axis_string(one->option.axis),
                 one->option.count);
    if (isfinite(one->seconds)) {
        iso_text_add(cells, "%s\t", iso_text_seconds(one->seconds, number));
    } else {
        iso_text_add(cells, "never\t");
    }
    iso_text_add(cells, "%s\t%s\n", iso_text_bytes(one->moved_bytes, number),
                 chosen ? "the best by itself" : one->reason);
}

static void add_choice(const explainer_t *explainer,
                       const iso_shard_choice_t *choice, iso_text_t *text)
{
    iso_text_t cells = {0};
    char number[ISO_TEXT_NUMBER_BYTES];

    iso_text_add(&cells, "    by itself\tpieces\ttime\tmoved\t\n");
    iso_text_add(&cells, "    whole\t1\t%s\t0 B\t%s\n",
                 iso_text_seconds(choice->whole_seconds, number),
                 choice->chosen == ISO_SHARD_WHOLE ? choice->reason : "slower");
    for (int i = 0; i < choice->n_candidates; i++) {
        if (explainer->options->all || i == choice->chosen ||
            is_best_of_axis(choice, i)) {
            add_candidate(&choice->candidates[i], i == choice->chosen, &cells);
        }
    }
    iso_table_add(text, "lrrrl", &cells);
    iso_text_free(&cells);
    for (int i = 0; i < choice->n_excluded; i++) {
        iso_text_add(text, "    %s is left out: %s\n", choice->excluded[i].name,
                     choice->excluded[i].reason);
    }
}

/* Weights are where they are needed: each rank reads its own. */
static unsigned resident_operands(const iso_graph_t *graph, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(graph, id);
    unsigned resident = 0;

    for (int i = 0; i < node->n_inputs && i < ISO_SHARD_OPERANDS; i++) {
        if (node->inputs[i] != ISO_NO_NODE &&
            iso_graph_node(graph, node->inputs[i])->op == ISO_OP_PARAM) {
            resident |= 1U << (unsigned)i;
        }
    }
    return resident;
}

static iso_status_t ask(explainer_t *explainer, iso_node_id_t id,
                        iso_shard_worker_t *workers, iso_arena_t *arena)
{
    iso_shard_op_t op = {.graph = explainer->graph, .node = id};
    iso_shard_question_t question = {
        .op = op,
        .n_workers = explainer->n_workers,
        .workers = workers,
        .resident = resident_operands(explainer->graph, id),
        .machine = explainer->machine,
        .root = explainer->ranks[0],
    };
    iso_shard_choice_t *choice = NULL;

    ISO_TRY(iso_shard_workers_of(&op, explainer->machine, explainer->ranks,
                                 explainer->n_workers, arena, workers));
    question.whole_elements_per_s = workers[0].elements_per_s;
    ISO_TRY(iso_shard_choose(&question, &choice));
    if (choice->n_candidates > 0) {
        add_choice(explainer, choice, &explainer->text);
    }
    iso_shard_choice_destroy(&choice);
    return ISO_OK;
}

static iso_status_t explain_by_itself(explainer_t *explainer, iso_node_id_t id)
{
    iso_shard_worker_t *workers =
        iso_alloc_zeroed((size_t)explainer->n_workers, sizeof *workers);
    iso_arena_t *arena = NULL;
    iso_status_t status = iso_arena_create(&arena);

    if (workers == NULL) {
        status = ISO_NOMEM;
    }
    if (status == ISO_OK) {
        status = ask(explainer, id, workers, arena);
    }
    iso_arena_destroy(&arena);
    iso_free(workers);
    return status;
}

/* -- all of it -- */

static bool is_asked_for(const explainer_t *explainer, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(explainer->graph, id);
    const char *wanted = explainer->options->node;

    return !iso_node_is_leaf(node) &&
           (wanted == NULL || strcmp(wanted, node->name) == 0);
}

static iso_status_t explain_node(explainer_t *explainer, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(explainer->graph, id);

    explainer->found = true;
    add_head(explainer, id);
    ISO_TRY(add_time(explainer, id));
    add_exchanges(explainer, id);
    if (iso_op_info(node->op)->op_class != ISO_OP_CLASS_CONTRACT ||
        explainer->n_workers == 1) {
        return ISO_OK;
    }
    return explain_by_itself(explainer, id);
}

static iso_status_t explain_nodes(explainer_t *explainer)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(explainer->graph);
         id++) {
        if (!is_asked_for(explainer, id)) {
            continue;
        }
        ISO_TRY(explain_node(explainer, id));
    }
    return explainer->text.status;
}

static iso_status_t explain_stage(explainer_t *explainer, int stage)
{
    explainer->stage = stage;
    explainer->graph =
        iso_partition_stage(explainer->plan->partition, stage)->graph;
    explainer->n_workers = iso_plan_width(explainer->plan, stage);
    for (int worker = 0; worker < explainer->n_workers; worker++) {
        explainer->ranks[worker] =
            iso_plan_rank_of(explainer->plan, stage, worker);
    }
    return explain_nodes(explainer);
}

static iso_status_t explain(explainer_t *explainer)
{
    size_t used = (size_t)explainer->plan->used;

    explainer->ranks = iso_alloc_zeroed(used, sizeof *explainer->ranks);
    if (explainer->ranks == NULL) {
        return ISO_NOMEM;
    }
    for (int stage = 0; stage < explainer->plan->n_stages; stage++) {
        ISO_TRY(explain_stage(explainer, stage));
    }
    if (explainer->options->node != NULL && !explainer->found) {
        return iso_fail(ISO_INVAL,
                        "no node '%s' is computed; isotome explain without "
                        "--node lists them",
                        explainer->options->node);
    }
    return ISO_OK;
}

iso_status_t iso_plan_explain(const iso_plan_t *plan,
                              const iso_machine_t *machine,
                              const iso_explain_options_t *options,
                              char **text_out)
{
    explainer_t explainer = {
        .plan = plan, .machine = machine, .options = options};
    iso_status_t status = explain(&explainer);

    iso_free(explainer.ranks);
    if (status != ISO_OK) {
        iso_text_free(&explainer.text);
    }
    *text_out = explainer.text.data;
    return status;
}
