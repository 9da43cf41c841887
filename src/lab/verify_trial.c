/* The plans that verify runs. */
#include "isotome/error.h"

#include "base/mem.h"
#include "lab/verify_impl.h"
#include "par/par.h"

#include <inttypes.h>

/*
 * total as a sum of count parts of at least 1, at random: spare units go to
 * parts one by one.
 */
static void compose(iso_random_t *random, int64_t total, int count,
                    int64_t *parts_out)
{
    for (int i = 0; i < count; i++) {
        parts_out[i] = 1;
    }
    for (int64_t spare = total - count; spare > 0; spare--) {
        parts_out[iso_random_below(random, (uint64_t)count)]++;
    }
}

static int draw(iso_random_t *random, int most)
{
    return 1 + (int)iso_random_below(random, (uint64_t)most);
}

static iso_status_t draw_grid(iso__verify_t *verify, int stages,
                              iso__trial_t *trial)
{
    int layers = iso_graph_layer_count(iso_model_graph(verify->model));
    int64_t *widths = iso_alloc_zeroed((size_t)stages, sizeof *widths);

    trial->widths = iso_alloc_zeroed((size_t)stages, sizeof *trial->widths);
    trial->split.counts =
        iso_alloc_zeroed((size_t)stages, sizeof *trial->split.counts);
    if (widths == NULL || trial->widths == NULL ||
        trial->split.counts == NULL) {
        iso_free(widths);
        return ISO_NOMEM;
    }
    compose(&verify->random, trial->ranks, stages, widths);
    for (int i = 0; i < stages; i++) {
        trial->widths[i] = (int)widths[i];
    }
    iso_free(widths);
    trial->split.world = stages;
    compose(&verify->random, layers, stages, trial->split.counts);
    trial->plan.grid = (iso_grid_t){stages, trial->widths};
    trial->plan.split_kind = ISO_SPLIT_EXPLICIT;
    trial->plan.split = &trial->split;
    return ISO_OK;
}

iso_status_t iso__trial_draw(iso__verify_t *verify, iso__trial_t *trial)
{
    iso_random_t *random = &verify->random;
    int layers = iso_graph_layer_count(iso_model_graph(verify->model));

    *trial = (iso__trial_t){.ranks = draw(random, iso_par_size(verify->comm))};
    int most = trial->ranks < layers ? trial->ranks : layers;
    int stages = draw(random, most);

    trial->threads = draw(random, 2);
    trial->plan.micro_batch =
        verify->sizes[iso_random_below(random, ISO__VERIFY_SIZES)];
    trial->plan.cuts = draw(random, 4) == 1 ? ISO_CUT_CHOSEN : ISO_CUT_RANDOM;
    trial->plan.seed = iso_random_next(random);
    return draw_grid(verify, stages, trial);
}

void iso__trial_take(const iso__verify_t *verify, iso__trial_t *trial)
{
    *trial = (iso__trial_t){
        .ranks = iso_par_size(verify->comm),
        .threads = verify->options->threads,
        .plan = verify->options->plan,
    };
}

void iso__trial_free(iso__trial_t *trial)
{
    iso_free(trial->widths);
    iso_layer_split_free(&trial->split);
    trial->widths = NULL;
}

static void add_grid(const iso__trial_t *trial, iso_text_t *text)
{
    const iso_grid_t *grid = &trial->plan.grid;

    for (int i = 0; i < grid->n_stages; i++) {
        iso_text_add(text, "%s%d", i == 0 ? ", grid " : ",", grid->widths[i]);
    }
    if (trial->plan.split != NULL) {
        char *split = iso_layer_split_text(trial->plan.split);

        iso_text_add(text, ", split %s", split == NULL ? "?" : split);
        iso_free(split);
    }
}

void iso__trial_add_text(const iso__verify_t *verify, const iso__trial_t *trial,
                         iso_text_t *text)
{
    iso_text_add(text, "%d %s", trial->ranks,
                 trial->ranks == 1 ? "rank" : "ranks");
    if (verify->options->plan_path != NULL) {
        iso_text_add(text, ", %s", verify->options->plan_path);
        return;
    }
    add_grid(trial, text);
    if (trial->plan.micro_batch > 0) {
        iso_text_add(text, ", micro-batch %" PRId64, trial->plan.micro_batch);
    }
    iso_text_add(text, ", %d %s", trial->threads,
                 trial->threads == 1 ? "thread" : "threads");
    if (trial->plan.cuts == ISO_CUT_RANDOM) {
        iso_text_add(text, ", cuts at random by seed %" PRIu64,
                     trial->plan.seed);
    }
}
