/* Why a choice is what it is, in words. */
#include "base/text.h"
#include "plan/shard/choose_impl.h"

#include <math.h>

/* "batch in 4"; NULL when out of memory. */
static const char *name_of(const iso_shard_choice_t *choice, int index)
{
    const iso_shard_option_t *option;

    if (index == ISO_SHARD_WHOLE) {
        return "the whole op";
    }
    option = &choice->candidates[index].option;
    return iso_arena_format(choice->arena, "%s in %d",
                            iso_shard_axis_string(option->axis), option->count);
}

static double seconds_of(const iso_shard_choice_t *choice, int index)
{
    return index == ISO_SHARD_WHOLE ? choice->whole_seconds
                                    : choice->candidates[index].seconds;
}

/* The best that was not chosen. */
static int runner_up(const iso_shard_choice_t *choice)
{
    int best = ISO_SHARD_WHOLE;

    if (choice->chosen == ISO_SHARD_WHOLE) {
        best = 0;
        for (int i = 1; i < choice->n_candidates; i++) {
            if (seconds_of(choice, i) < seconds_of(choice, best)) {
                best = i;
            }
        }
    }
    return best;
}

/* "batch in 2 is fastest: 2.31 ms against 92.2 ms for the whole op". */
static const char *comparison_of(const iso_shard_choice_t *choice)
{
    const int other = runner_up(choice);
    const char *chosen_name = name_of(choice, choice->chosen);
    const char *other_name = name_of(choice, other);
    char chosen[ISO_TEXT_NUMBER_BYTES];
    char against[ISO_TEXT_NUMBER_BYTES];

    if (chosen_name == NULL || other_name == NULL) {
        return NULL;
    }
    return iso_arena_format(
        choice->arena, "%s is fastest: %s against %s for %s", chosen_name,
        iso_text_seconds(seconds_of(choice, choice->chosen), chosen),
        iso_text_seconds(seconds_of(choice, other), against), other_name);
}

static const char *choice_reason(const iso__shard_chooser_t *chooser,
                                 const iso_shard_choice_t *choice)
{
    const iso_shard_op_t *op = &chooser->question->op;
    const iso_node_t *node = iso_graph_node(op->graph, op->node);

    if (chooser->question->n_workers == 0) {
        return "no workers offered";
    }
    if (choice->n_candidates == 0) {
        return iso_arena_format(choice->arena,
                                "'%s' (%s) offers no shard options", node->name,
                                iso_op_string(node->op));
    }
    if (chooser->n_usable == 0) {
        return iso_arena_format(choice->arena, "none of %d workers is rankable",
                                chooser->question->n_workers);
    }
    if (choice->chosen == ISO_SHARD_WHOLE &&
        isinf(seconds_of(choice, runner_up(choice)))) {
        return "no option can be carried out";
    }
    return comparison_of(choice);
}

static const char *rejection_of(const iso__shard_chooser_t *chooser,
                                const iso_shard_choice_t *choice, int index)
{
    const iso_shard_candidate_t *candidate = &choice->candidates[index];
    char own[ISO_TEXT_NUMBER_BYTES];
    char chosen[ISO_TEXT_NUMBER_BYTES];
    const char *name;

    if (candidate->ranks == NULL) {
        return iso_arena_format(choice->arena,
                                "needs %d workers, %d can be ranked",
                                candidate->option.count, chooser->n_usable);
    }
    if (isinf(candidate->seconds)) {
        return "its bytes never arrive";
    }
    name = name_of(choice, choice->chosen);
    if (name == NULL) {
        return NULL;
    }
    return iso_arena_format(choice->arena, "%s, not less than %s of %s",
                            iso_text_seconds(candidate->seconds, own),
                            iso_text_seconds(choice->seconds, chosen), name);
}

iso_status_t iso__shard_give_reasons(const iso__shard_chooser_t *chooser,
                                     iso_shard_choice_t *choice)
{
    for (int i = 0; i < choice->n_candidates; i++) {
        if (i == choice->chosen) {
            continue;
        }
        choice->candidates[i].reason = rejection_of(chooser, choice, i);
        if (choice->candidates[i].reason == NULL) {
            return ISO_NOMEM;
        }
    }
    choice->reason = choice_reason(chooser, choice);
    return choice->reason == NULL ? ISO_NOMEM : ISO_OK;
}
