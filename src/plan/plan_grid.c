/* The grid of a plan: which ranks are the workers of which stage. */
#include "isotome/error.h"

#include "base/log.h"
#include "plan/plan_impl.h"

int iso__plan_group_of(const iso_plan_t *plan, int stage)
{
    ISO_ASSERT(stage >= 0 && stage < plan->n_stages);
    return plan->n_stages - 1 - stage;
}

bool iso__plan_leaves_out(const iso_plan_t *plan, const iso_machine_t *machine,
                          int rank)
{
    int group = 0;

    while (plan->bases[group + 1] <= rank) {
        group++;
    }
    return rank > plan->bases[group] &&
           iso_machine_rank(machine, rank)->cost_class == ISO_COST_UNCALIBRATED;
}

int iso_plan_width(const iso_plan_t *plan, int stage)
{
    return plan->widths[iso__plan_group_of(plan, stage)];
}

int iso_plan_rank_of(const iso_plan_t *plan, int stage, int worker)
{
    int group = iso__plan_group_of(plan, stage);

    ISO_ASSERT(worker >= 0 && worker < plan->widths[group]);
    return plan->bases[group] + worker;
}

/* widths  [in]  (n_stages); NULL: one worker each */
iso_status_t iso__plan_set_grid(iso_plan_t *plan, const int *widths,
                                int n_stages)
{
    size_t count = (size_t)n_stages;
    int *copy = iso_arena_array(plan->arena, count, sizeof *copy);
    int *bases = iso_arena_array(plan->arena, count + 1, sizeof *bases);

    if (copy == NULL || bases == NULL) {
        return ISO_NOMEM;
    }
    bases[0] = 0;
    for (int group = 0; group < n_stages; group++) {
        copy[group] = widths == NULL ? 1 : widths[group];
        bases[group + 1] = bases[group] + copy[group];
    }
    plan->n_stages = n_stages;
    plan->widths = copy;
    plan->bases = bases;
    plan->used = bases[n_stages];
    return ISO_OK;
}

static iso_status_t check_grid(const iso_plan_t *plan, const iso_grid_t *grid)
{
    int64_t ranks = 0;

    for (int group = 0; group < grid->n_stages; group++) {
        if (grid->widths[group] < 1) {
            return iso_fail(ISO_INVAL,
                            "grid: stage %d of the list has %d workers, "
                            "expected at least 1",
                            group, grid->widths[group]);
        }
        ranks += grid->widths[group];
    }
    if (grid->n_stages > plan->layer_count) {
        return iso_fail(ISO_INVAL,
                        "grid of %d stages for a model of %d layers: at most "
                        "%d stages are possible",
                        grid->n_stages, plan->layer_count, plan->layer_count);
    }
    if (ranks != plan->world) {
        return iso_fail(ISO_INVAL,
                        "grid of %lld ranks, but there are %d: its widths "
                        "must sum to the number of ranks",
                        (long long)ranks, plan->world);
    }
    return ISO_OK;
}

/* Stages and workers from what is said of them. */
static iso_status_t count_stages(const iso_plan_t *plan,
                                 const iso_plan_options_t *options,
                                 int *stages_out)
{
    int stages = options->stages;
    int workers = options->workers;

    if (stages < 0 || workers < 0 || stages > plan->world ||
        workers > plan->world) {
        return iso_fail(ISO_INVAL,
                        "%d stages of %d workers, but there are only %d ranks",
                        stages, workers, plan->world);
    }
    if (workers > 0 && plan->world % workers != 0) {
        return iso_fail(ISO_INVAL,
                        "%d ranks do not make stages of %d workers each; "
                        "give the width of each stage as a grid",
                        plan->world, workers);
    }
    if (stages > 0 && workers > 0 && stages * (int64_t)workers != plan->world) {
        return iso_fail(ISO_INVAL,
                        "%d stages of %d workers are %lld ranks, but there "
                        "are %d",
                        stages, workers, stages * (long long)workers,
                        plan->world);
    }
    *stages_out = stages > 0 ? stages : plan->world / workers;
    return ISO_OK;
}

/* As even as can be; spare workers go to the last layers. */
static iso_status_t spread(iso_plan_t *plan, int stages)
{
    int *widths = iso_arena_array(plan->arena, (size_t)stages, sizeof *widths);

    if (widths == NULL) {
        return ISO_NOMEM;
    }
    for (int group = 0; group < stages; group++) {
        widths[group] =
            plan->world / stages + (group < plan->world % stages ? 1 : 0);
    }
    iso_grid_t grid = {stages, widths};

    ISO_TRY(check_grid(plan, &grid));
    return iso__plan_set_grid(plan, widths, stages);
}

iso_status_t iso__plan_choose_grid(iso_plan_t *plan,
                                   const iso_plan_options_t *options)
{
    int stages = 0;

    if (options->grid.n_stages > 0) {
        ISO_TRY(check_grid(plan, &options->grid));
        return iso__plan_set_grid(plan, options->grid.widths,
                                  options->grid.n_stages);
    }
    if (options->stages != 0 || options->workers != 0) {
        ISO_TRY(count_stages(plan, options, &stages));
        return spread(plan, stages);
    }
    if (options->strict && plan->world > plan->layer_count) {
        return iso_fail(ISO_INVAL,
                        "%d ranks for a model of %d layers: at most %d have "
                        "a stage",
                        plan->world, plan->layer_count, plan->layer_count);
    }
    stages = plan->world < plan->layer_count ? plan->world : plan->layer_count;
    return iso__plan_set_grid(plan, NULL, stages);
}
