/* The planner's own grid: the one of the least predicted time. */
#include "isotome/error.h"

#include "base/mem.h"
#include "plan/plan_impl.h"

/* Predicted seconds of a plan's job. */
static double price_of(const iso_plan_t *plan)
{
    return iso_plan_seconds(plan, plan->samples > 0 ? plan->samples
                                                    : ISO_PLAN_JOB_SAMPLES);
}

/* Keep the faster of two plans; ties keep the one with more stages, which
 * hold fewer weights each. */
static void keep_faster(iso_plan_t **best, iso_plan_t **plan)
{
    if (*best == NULL || price_of(*plan) <= price_of(*best)) {
        iso_plan_destroy(best);
        *best = *plan;
        *plan = NULL;
    }
    iso_plan_destroy(plan);
}

/*
 * Stages of equal width, all that the ranks divide into and that the model has
 * layers for. A grid that does not fit in memory is passed over; when none
 * fits, the failure of the last one tried, with the most stages, is what the
 * user hears of.
 */
iso_status_t iso__plan_propose(const iso_graph_t *graph,
                               const iso_machine_t *machine,
                               const iso_plan_options_t *options,
                               iso_plan_t **plan_out)
{
    iso_plan_options_t tried = *options;
    iso_status_t status = ISO_OK;
    iso_plan_t *best = NULL;
    int layers = iso_graph_layer_count(graph);
    int most = options->world < layers ? options->world : layers;

    tried.propose = false;
    for (int stages = 1; stages <= most; stages++) {
        iso_plan_t *plan = NULL;

        if (options->world % stages != 0) {
            continue;
        }
        tried.stages = stages;
        tried.workers = options->world / stages;
        status = iso_plan_create(graph, machine, &tried, &plan);
        if (status == ISO_OK) {
            keep_faster(&best, &plan);
        } else if (status == ISO_NOMEM) {
            iso_plan_destroy(&best);
            return status;
        }
    }
    if (best == NULL) {
        return status;
    }
    iso_error_clear();
    *plan_out = best;
    return ISO_OK;
}
