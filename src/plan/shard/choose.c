#include "plan/shard/choose.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "plan/node_seconds.h"
#include "plan/shard/choose_impl.h"

#include <math.h>

/* ---- Workers ---- */

static iso_status_t check_rank(const iso_machine_t *machine, int rank,
                               const char *who)
{
    if (rank < 0 || rank >= iso_machine_world(machine)) {
        return iso_fail(ISO_INVAL,
                        "%s has rank %d, but the machine has ranks 0 to %d",
                        who, rank, iso_machine_world(machine) - 1);
    }
    return ISO_OK;
}

static iso_status_t check_worker(const iso_shard_question_t *question,
                                 int index)
{
    const iso_shard_worker_t *worker = &question->workers[index];

    for (int i = 0; i < index; i++) {
        if (question->workers[i].rank == worker->rank) {
            return iso_fail(ISO_INVAL,
                            "workers '%s' and '%s' both have rank %d, "
                            "expected a rank for each",
                            question->workers[i].name, worker->name,
                            worker->rank);
        }
    }
    return question->machine == NULL
               ? ISO_OK
               : check_rank(question->machine, worker->rank, worker->name);
}

static iso_status_t check_question(const iso_shard_question_t *question)
{
    if (question->n_workers < 0 || question->n_workers > ISO_SHARD_MOST) {
        return iso_fail(ISO_INVAL, "%d workers, expected at most %d",
                        question->n_workers, (int)ISO_SHARD_MOST);
    }
    if (question->machine != NULL) {
        ISO_TRY(check_rank(question->machine, question->root, "the root"));
    }
    for (int i = 0; i < question->n_workers; i++) {
        ISO_TRY(check_worker(question, i));
    }
    return ISO_OK;
}

/* Why a worker cannot be ranked: NULL when it can. */
static const char *exclusion_of(const iso_shard_worker_t *worker,
                                iso_arena_t *arena)
{
    if (worker->cost_class == ISO_COST_UNCALIBRATED) {
        return "its cost is uncalibrated";
    }
    if (worker->elements_per_s > 0 && isfinite(worker->elements_per_s)) {
        return NULL;
    }

    const char *reason =
        iso_arena_format(arena,
                         "its rate is %g elements/s, expected a positive "
                         "number",
                         worker->elements_per_s);

    return reason != NULL ? reason : "its rate is not a positive number";
}

static iso_status_t sort_out_workers(iso__shard_chooser_t *chooser,
                                     iso_shard_choice_t *choice)
{
    const iso_shard_question_t *question = chooser->question;

    for (int i = 0; i < question->n_workers; i++) {
        const iso_shard_worker_t *worker = &question->workers[i];
        const char *reason = exclusion_of(worker, choice->arena);
        iso_shard_excluded_t *excluded = &choice->excluded[choice->n_excluded];

        if (reason == NULL) {
            chooser->usable[chooser->n_usable++] = *worker;
            continue;
        }
        *excluded = (iso_shard_excluded_t){
            .name = iso_arena_text(choice->arena, worker->name),
            .rank = worker->rank,
            .reason = reason};
        if (excluded->name == NULL) {
            return ISO_NOMEM;
        }
        choice->n_excluded++;
    }
    return ISO_OK;
}

static bool is_same_link(const iso_link_t *a, const iso_link_t *b)
{
    return a->latency_s == b->latency_s && a->bytes_per_s == b->bytes_per_s &&
           a->handshake_s == b->handshake_s && a->eager_bytes == b->eager_bytes;
}

static iso__shard_place_t place_of(const iso_shard_question_t *question,
                                   int rank)
{
    const iso_machine_t *machine = question->machine;

    if (machine == NULL) {
        return ISO__SHARD_NEAR;
    }
    if (rank == question->root) {
        return ISO__SHARD_ROOT;
    }

    const iso_link_t own =
        iso_machine_link(machine, question->root, question->root);
    const iso_link_t link = iso_machine_link(machine, question->root, rank);

    return is_same_link(&link, &own) ? ISO__SHARD_NEAR : ISO__SHARD_FAR;
}

/* Insert behind those that are as fast or faster. */
static void place_workers(iso__shard_chooser_t *chooser)
{
    for (int i = 0; i < chooser->n_usable; i++) {
        const iso__shard_place_t place =
            place_of(chooser->question, chooser->usable[i].rank);
        int *at = chooser->at[place];
        int k = chooser->n_at[place]++;

        for (; k > 0 && chooser->usable[at[k - 1]].elements_per_s <
                            chooser->usable[i].elements_per_s;
             k--) {
            at[k] = at[k - 1];
        }
        at[k] = i;
    }
}

static iso_status_t reserve(iso__shard_chooser_t *chooser,
                            iso_shard_choice_t *choice)
{
    const size_t n = (size_t)chooser->question->n_workers + 1;
    iso_arena_t *arena = choice->arena;
    bool all = true;

#define RESERVE(member) \
    all = all &&        \
          ((member) = iso_arena_array(arena, n, sizeof *(member))) != NULL
    RESERVE(choice->excluded);
    RESERVE(chooser->usable);
    RESERVE(chooser->taken);
    RESERVE(chooser->rates);
    RESERVE(chooser->team);
    RESERVE(chooser->slabs);
    RESERVE(chooser->now.pieces);
    RESERVE(chooser->now.workers);
    RESERVE(chooser->best.pieces);
    RESERVE(chooser->best.workers);
    for (int place = 0; place < ISO__SHARD_PLACES; place++) {
        RESERVE(chooser->at[place]);
    }
#undef RESERVE
    return all ? ISO_OK : ISO_NOMEM;
}

/* ---- Candidates ---- */

static iso_status_t keep_way(iso__shard_chooser_t *chooser,
                             iso_shard_candidate_t *candidate)
{
    const iso__shard_way_t *way = &chooser->best;
    const size_t count = (size_t)way->option.count;
    int *ranks = iso_arena_array(chooser->arena, count, sizeof *ranks);

    candidate->option = way->option;
    candidate->option.ranges = iso_arena_copy(chooser->arena, way->pieces,
                                              count * sizeof *way->pieces);
    if (ranks == NULL || candidate->option.ranges == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        ranks[i] = chooser->usable[way->workers[i]].rank;
    }
    candidate->ranks = ranks;
    candidate->seconds = way->seconds;
    candidate->compute_seconds = way->compute_seconds;
    candidate->moved_bytes = iso__shard_moved_bytes(chooser, way);
    return ISO_OK;
}

/* No workers for it: what it would move is known all the same. */
static iso_status_t keep_without_workers(const iso__shard_chooser_t *chooser,
                                         const iso_shard_option_t *option,
                                         iso_shard_candidate_t *candidate)
{
    candidate->option = *option;
    candidate->option.ranges =
        iso_arena_copy(chooser->arena, option->ranges,
                       (size_t)option->count * sizeof *option->ranges);
    candidate->seconds = (double)INFINITY;
    candidate->compute_seconds = (double)INFINITY;
    candidate->moved_bytes =
        iso_shard_moved_bytes(option, chooser->question->resident);
    return candidate->option.ranges == NULL ? ISO_NOMEM : ISO_OK;
}

static iso_status_t price_option(iso__shard_chooser_t *chooser,
                                 const iso_shard_option_t *option,
                                 iso_shard_candidate_t *candidate)
{
    if (option->count > chooser->n_usable) {
        return keep_without_workers(chooser, option, candidate);
    }
    ISO_TRY(iso__shard_best_way(chooser, option));
    return keep_way(chooser, candidate);
}

static iso_status_t price_options(iso__shard_chooser_t *chooser,
                                  const iso_shard_list_t *list,
                                  iso_shard_choice_t *choice)
{
    choice->candidates = iso_arena_array(choice->arena, (size_t)list->count,
                                         sizeof *choice->candidates);
    if (choice->candidates == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < list->count; i++) {
        const iso_shard_option_t *option = &list->options[i];
        iso_shard_candidate_t *candidate = &choice->candidates[i];

        ISO_TRY(price_option(chooser, option, candidate));
        choice->n_candidates++;
        if (candidate->seconds < choice->seconds) {
            choice->chosen = i;
            choice->seconds = candidate->seconds;
        }
    }
    return ISO_OK;
}

/* ---- Life ---- */

static iso_status_t answer(const iso_shard_question_t *question,
                           iso_shard_choice_t *choice)
{
    const iso_shard_op_t *op = &question->op;
    const int64_t elements =
        iso_shape_count(&iso_graph_node(op->graph, op->node)->shape);
    const int most_shards = question->most_shards != 0 ? question->most_shards
                                                       : question->n_workers;
    iso__shard_chooser_t chooser = {.question = question,
                                    .arena = choice->arena};
    iso_shard_list_t *list = NULL;

    choice->chosen = ISO_SHARD_WHOLE;
    choice->whole_seconds =
        elements < 0 ? (double)NAN
        : question->whole_elements_per_s > 0
            ? (double)elements / question->whole_elements_per_s
            : (double)INFINITY;
    choice->seconds = choice->whole_seconds;
    ISO_TRY(reserve(&chooser, choice));
    ISO_TRY(sort_out_workers(&chooser, choice));
    place_workers(&chooser);
    ISO_TRY(iso_shard_list_create(op, most_shards, &list));

    iso_status_t status = price_options(&chooser, list, choice);

    iso_shard_list_destroy(&list);
    return status == ISO_OK ? iso__shard_give_reasons(&chooser, choice)
                            : status;
}

iso_status_t iso_shard_choose(const iso_shard_question_t *question,
                              iso_shard_choice_t **choice_out)
{
    *choice_out = NULL;
    ISO_TRY(check_question(question));

    iso_shard_choice_t *choice = iso_alloc_zeroed(1, sizeof *choice);

    if (choice == NULL) {
        return ISO_NOMEM;
    }

    iso_status_t status = iso_arena_create(&choice->arena);

    if (status == ISO_OK) {
        status = answer(question, choice);
    }
    if (status != ISO_OK) {
        iso_shard_choice_destroy(&choice);
    }
    *choice_out = choice;
    return status;
}

void iso_shard_choice_destroy(iso_shard_choice_t **choice)
{
    if (*choice != NULL) {
        iso_arena_destroy(&(*choice)->arena);
        iso_free(*choice);
        *choice = NULL;
    }
}

/* ---- From a machine ---- */

iso_status_t iso_shard_rate(const iso_shard_op_t *op,
                            const iso_machine_rank_t *rank,
                            double *elements_per_s_out)
{
    const int64_t elements =
        iso_shape_count(&iso_graph_node(op->graph, op->node)->shape);
    double seconds = 0.0;

    ISO_TRY(iso_node_seconds(op->graph, op->node, rank, &seconds));
    /* What takes no time is done at any rate. */
    *elements_per_s_out =
        seconds > 0 ? (double)elements / seconds : rank->flops_per_s;
    return ISO_OK;
}

iso_status_t iso_shard_workers_of(const iso_shard_op_t *op,
                                  const iso_machine_t *machine,
                                  const int *ranks, int n_ranks,
                                  iso_arena_t *arena,
                                  iso_shard_worker_t *workers_out)
{
    for (int i = 0; i < n_ranks; i++) {
        iso_shard_worker_t *worker = &workers_out[i];

        ISO_TRY(check_rank(machine, ranks[i], "a worker"));

        const iso_machine_rank_t *facts = iso_machine_rank(machine, ranks[i]);

        *worker = (iso_shard_worker_t){
            .name =
                iso_arena_format(arena, "rank %d (%s)", ranks[i], facts->host),
            .rank = ranks[i],
            .cost_class = facts->cost_class};
        if (worker->name == NULL) {
            return ISO_NOMEM;
        }
        ISO_TRY(iso_shard_rate(op, facts, &worker->elements_per_s));
    }
    return ISO_OK;
}
