/*
 * Choices that fit in memory. The fastest ones are taken if they do; if not,
 * every byte held on a worker that was over its limit gets a price, and the
 * price that is just high enough is searched for.
 */
#include "plan/shard/arrange.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "plan/shard/arrange_impl.h"

#include <string.h>

enum { ROUNDS = 12, PRICE_STEP = 4 };

/* States that are kept for each node: as many as a stage of this size can be
 * arranged with in a fraction of a second. Inception-like blocks, where they
 * matter most, come within 1 % of the best with 96, mostly with 48. */
enum { LEAST_BEAM = 48, MOST_BEAM = 192, STATES_OF_ALL_NODES = 192 * 1024 };

/* First price: holding the whole need for it costs this part of the time. */
static const double first_share = 1.0 / 64.0;

/* One result, and where it does not fit. */
typedef struct result {
    int32_t *choice_of; /* (nodes) */
    double *bytes;      /* (n_workers) */
    double seconds;
    int worst;    /* worker that is furthest over its limit; -1: it fits */
    double ratio; /* its need by its limit */
} result_t;

typedef struct fit {
    iso__arrange_t *arrange;
    bool *was_over; /* (n_workers) in any round */
    result_t tried;
    result_t best; /* that fits; of those that do not, the nearest */
} fit_t;

static double limit_of(const iso__arrange_t *arrange, int worker)
{
    return (double)arrange->options->memory_bytes[worker];
}

static void find_worst(const iso__arrange_t *arrange, result_t *result)
{
    result->worst = -1;
    result->ratio = 1.0;
    for (int i = 0; arrange->options->memory_bytes != NULL &&
                    i < arrange->options->n_workers;
         i++) {
        const double need = result->bytes[i];
        const double limit = limit_of(arrange, i);
        const double ratio = limit > 0.0 ? need / limit : need;
        if (need > limit && (result->worst < 0 || ratio > result->ratio)) {
            result->worst = i;
            result->ratio = ratio;
        }
    }
}

static bool is_better(const result_t *a, const result_t *b)
{
    if (a->worst < 0 && b->worst < 0) {
        return a->seconds < b->seconds;
    }
    return a->worst < 0 || (b->worst >= 0 && a->ratio < b->ratio);
}

static void copy_result(const iso__arrange_t *arrange, const result_t *from,
                        result_t *to)
{
    const size_t n = (size_t)iso_graph_node_count(arrange->stage);
    const size_t n_workers = (size_t)arrange->options->n_workers;

    memcpy(to->choice_of, from->choice_of, n * sizeof *to->choice_of);
    memcpy(to->bytes, from->bytes, n_workers * sizeof *to->bytes);
    to->seconds = from->seconds;
    to->worst = from->worst;
    to->ratio = from->ratio;
}

static int beam_for(const iso_graph_t *stage)
{
    const int beam = STATES_OF_ALL_NODES / (iso_graph_node_count(stage) + 1);

    return beam < LEAST_BEAM ? LEAST_BEAM : beam > MOST_BEAM ? MOST_BEAM : beam;
}

static iso_status_t try_once(fit_t *fit, bool is_first)
{
    iso__arrange_t *arrange = fit->arrange;
    result_t *tried = &fit->tried;

    ISO_TRY(iso__arrange_search(arrange, beam_for(arrange->stage),
                                tried->choice_of));
    ISO_TRY(iso__arrange_replay(arrange, tried->choice_of, &tried->seconds,
                                tried->bytes));
    find_worst(arrange, tried);
    for (int i = 0; tried->worst >= 0 && i < arrange->options->n_workers; i++) {
        fit->was_over[i] =
            fit->was_over[i] || tried->bytes[i] > limit_of(arrange, i);
    }
    if (is_first || is_better(tried, &fit->best)) {
        copy_result(arrange, tried, &fit->best);
    }
    return ISO_OK;
}

/* Prices go up in large steps until the choices fit, then half way back. */
static iso_status_t search_price(fit_t *fit)
{
    const result_t *tried = &fit->tried;
    double price = first_share * tried->seconds / tried->bytes[tried->worst];
    double too_low = 0.0;
    double enough = 0.0; /* 0: not found yet */

    for (int round = 0; round < ROUNDS; round++) {
        iso__arrange_set_price(fit->arrange, fit->was_over, price);
        ISO_TRY(try_once(fit, false));
        if (tried->worst >= 0) {
            too_low = price;
        } else {
            enough = price;
        }
        price = enough > 0.0 ? (too_low + enough) / 2.0 : price * PRICE_STEP;
    }
    return ISO_OK;
}

static iso_status_t fail_to_fit(const iso__arrange_t *arrange,
                                const result_t *nearest)
{
    char need_text[ISO_TEXT_NUMBER_BYTES];
    char limit_text[ISO_TEXT_NUMBER_BYTES];
    const size_t limit = arrange->options->memory_bytes[nearest->worst];
    const double need = nearest->bytes[nearest->worst];

    return iso_fail(
        ISO_INVAL,
        "the stage does not fit on its %d workers: worker %d "
        "(rank %d) would need about %s but has %s; use a smaller "
        "micro-batch, more workers or stages, or more memory for "
        "each",
        arrange->options->n_workers, nearest->worst,
        arrange->options->ranks[nearest->worst],
        iso_text_bytes(need < (double)(SIZE_MAX / 2) ? (size_t)need : SIZE_MAX,
                       need_text),
        iso_text_bytes(limit, limit_text));
}

static iso_status_t find_choices(fit_t *fit)
{
    ISO_TRY(try_once(fit, true));
    if (fit->best.worst >= 0) {
        ISO_TRY(search_price(fit));
    }
    return fit->best.worst < 0 ? ISO_OK : fail_to_fit(fit->arrange, &fit->best);
}

static iso_status_t allocate_result(const iso__arrange_t *arrange,
                                    result_t *result)
{
    const size_t n = (size_t)iso_graph_node_count(arrange->stage);
    const size_t n_workers = (size_t)arrange->options->n_workers;

    result->choice_of =
        iso_arena_array(arrange->arena, n, sizeof *result->choice_of);
    result->bytes =
        iso_arena_array(arrange->arena, n_workers, sizeof *result->bytes);
    return result->choice_of == NULL || result->bytes == NULL ? ISO_NOMEM
                                                              : ISO_OK;
}

static iso_status_t write_cut(const iso__arrange_t *arrange,
                              const int32_t *choice_of, iso_stage_cut_t *cut)
{
    for (iso_node_id_t id = 0; id < cut->n_nodes; id++) {
        if (iso__is_weight(iso_graph_node(arrange->stage, id))) {
            continue;
        }
        const iso__choices_t *choices = iso__choices_at(arrange, id);

        ISO_TRY(iso_stage_cut_set(cut, id, &choices->list[choice_of[id]].cut));
    }
    return ISO_OK;
}

static iso_status_t arrange_with(iso__arrange_t *arrange, iso_stage_cut_t *cut,
                                 double *seconds_out)
{
    fit_t fit = {.arrange = arrange};

    ISO_TRY(allocate_result(arrange, &fit.tried));
    ISO_TRY(allocate_result(arrange, &fit.best));
    fit.was_over =
        iso_arena_array(arrange->arena, (size_t)arrange->options->n_workers,
                        sizeof *fit.was_over);
    if (fit.was_over == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(find_choices(&fit));
    *seconds_out = fit.best.seconds;
    return write_cut(arrange, fit.best.choice_of, cut);
}

iso_status_t iso_arrange(const iso_graph_t *stage,
                         const iso_arrange_options_t *options,
                         iso_stage_cut_t **cut_out, double *seconds_out)
{
    iso__arrange_t arrange;

    *cut_out = NULL;
    *seconds_out = 0.0;
    iso_status_t status = iso__arrange_prepare(stage, options, &arrange);

    if (status == ISO_OK) {
        status = iso_stage_cut_create(stage, options->n_workers, cut_out);
    }
    if (status == ISO_OK) {
        status = arrange_with(&arrange, *cut_out, seconds_out);
    }
    if (status != ISO_OK) {
        iso_stage_cut_destroy(cut_out);
    }
    iso__arrange_free(&arrange);
    return status;
}
