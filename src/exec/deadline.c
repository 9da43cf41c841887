#include "exec/deadline.h"

static const double batches_in_time = 100;
static const double batches_of_stage = 2; /* while the pipeline fills, drains */
static const double read_bytes_per_s = 10e6;

static double greater(double a, double b)
{
    return a > b ? a : b;
}

double iso_deadline_of(const iso_plan_t *plan)
{
    const double batches =
        batches_in_time + batches_of_stage * iso_plan_stage_count(plan);
    double most_s = ISO_DEADLINE_LEAST_S;

    for (int rank = 0; rank < iso_plan_used(plan); rank++) {
        const iso_plan_part_t *part = iso_plan_part(plan, rank);
        const double batch_s =
            part->compute_s + part->exchange_s + part->send_s;

        most_s = greater(most_s, batches * batch_s);
        most_s = greater(most_s, (double)part->weight_bytes / read_bytes_per_s);
    }
    return most_s;
}
