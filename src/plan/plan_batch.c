/* The micro-batch of a plan. */
#include "isotome/error.h"

#include "graph/pass.h"
#include "plan/memory_plan.h"
#include "plan/plan_impl.h"

enum {
    LARGEST_CHOSEN = 64,
    /* Micro-batches for each stage that a job should have, so that filling
     * and draining the pipeline take a fifth of the time at most. */
    BATCHES_PER_STAGE = 4,
};

/* Activations that are still likely to be cached, or soon again. */
static const size_t modest_bytes = (size_t)64 << 20;

iso_status_t iso__plan_bind(const iso_plan_t *plan, const iso_graph_t *graph,
                            int64_t samples, iso_graph_t **bound_out)
{
    iso_binding_t batch = {plan->batch, samples};

    return iso_graph_bind(graph, &batch, plan->batch == NULL ? 0 : 1,
                          bound_out);
}

/* Bytes of the whole model's activations for one sample: about what the
 * stages have, or more. */
static iso_status_t bytes_of_a_sample(const iso_plan_t *plan,
                                      const iso_graph_t *graph,
                                      size_t *bytes_out)
{
    iso_graph_t *bound = NULL;
    iso_status_t status = iso__plan_bind(plan, graph, 1, &bound);

    if (status == ISO_OK) {
        status = iso_memory_plan_bytes(bound, bytes_out);
    }
    iso_graph_destroy(&bound);
    return status;
}

int64_t iso__plan_count_batches(int64_t samples, int64_t micro_batch)
{
    return samples / micro_batch + (samples % micro_batch != 0 ? 1 : 0);
}

/*
 * The largest power of two, at most 64, whose activations take at most
 * 64 MiB, and that gives a job whose samples are known at least four
 * micro-batches for each stage.
 */
static iso_status_t choose(iso_plan_t *plan, const iso_graph_t *graph)
{
    int64_t batch = LARGEST_CHOSEN;
    int64_t wanted = BATCHES_PER_STAGE * (int64_t)plan->n_stages;
    size_t bytes = 0;

    ISO_TRY(bytes_of_a_sample(plan, graph, &bytes));
    while (batch > 1 &&
           (bytes > modest_bytes / (size_t)batch ||
            (plan->samples > 0 && plan->n_stages > 1 &&
             iso__plan_count_batches(plan->samples, batch) < wanted))) {
        batch /= 2;
    }
    plan->micro_batch = batch;
    return ISO_OK;
}

iso_status_t iso__plan_choose_batch(iso_plan_t *plan, const iso_graph_t *graph,
                                    const iso_plan_options_t *options)
{
    int64_t asked = options->micro_batch;

    if (asked < 0 || asked > ISO__MOST_MICRO_BATCH) {
        return iso_fail(ISO_INVAL, "micro-batch of %lld, expected 1 to %d",
                        (long long)asked, (int)ISO__MOST_MICRO_BATCH);
    }
    if (plan->batch == NULL && asked > 1) {
        return iso_fail(ISO_INVAL,
                        "micro-batch of %lld, but the model's batch is fixed; "
                        "import it with --free-batch to make it free",
                        (long long)asked);
    }
    plan->micro_batch = plan->batch == NULL ? 1 : asked;
    return plan->micro_batch > 0 ? ISO_OK : choose(plan, graph);
}
