#include "exec/exchanger.h"

#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "exec/exchanger_impl.h"
#include "par/par.h"

#include <limits.h>

/* ---- Making ---- */

static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Give the step's sides their places in the arrays of all. */
static void lend_arrays(const iso_exchanger_t *exchanger, int number)
{
    const size_t n = (size_t)exchanger->n_workers;
    iso__step_t *step = &exchanger->steps[number];
    iso__side_t *sides[] = {&step->out, &step->in};

    for (size_t i = 0; i < 2; i++) {
        const size_t side = 2 * (size_t)number + i;

        sides[i]->parts = exchanger->parts + side * n;
        sides[i]->counts = exchanger->counts + 2 * side * n;
        sides[i]->displs = sides[i]->counts + n;
    }
}

static iso_status_t make_steps(const iso_exchanger_spec_t *spec,
                               iso_exchanger_t *exchanger)
{
    const size_t n = (size_t)spec->n_exchanges;
    const size_t per_side = 2 * n * (size_t)exchanger->n_workers;

    exchanger->steps = iso_alloc_zeroed(n, sizeof *exchanger->steps);
    exchanger->parts = iso_alloc_zeroed(per_side, sizeof *exchanger->parts);
    exchanger->counts =
        iso_alloc_zeroed(2 * per_side, sizeof *exchanger->counts);
    if (exchanger->steps == NULL || exchanger->parts == NULL ||
        exchanger->counts == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < spec->n_exchanges; i++) {
        ISO_ASSERT(spec->exchanges[i].n_workers == exchanger->n_workers);
        lend_arrays(exchanger, i);
        ISO_TRY(iso__step_fill(&spec->exchanges[i], spec->worker,
                               exchanger->most_count, &exchanger->steps[i]));
    }
    return ISO_OK;
}

/* One buffer for each side of all steps: they run one after the other. */
static iso_status_t make_buffers(iso_exchanger_t *exchanger)
{
    size_t messages = 0;

    for (int i = 0; i < exchanger->n_steps; i++) {
        const iso__step_t *step = &exchanger->steps[i];

        exchanger->out_bytes =
            greater(exchanger->out_bytes, step->out.packed_bytes);
        exchanger->in_bytes =
            greater(exchanger->in_bytes, step->in.packed_bytes);
        messages =
            greater(messages, iso__step_messages(step, exchanger->n_workers,
                                                 exchanger->most_count));
    }
    if (messages > INT_MAX) {
        return iso_fail(ISO_SHAPE,
                        "an exchange takes %zu messages, more than %d",
                        messages, INT_MAX);
    }
    exchanger->out_buffer = iso_alloc(exchanger->out_bytes);
    exchanger->in_buffer = iso_alloc(exchanger->in_bytes);
    exchanger->requests = iso_alloc_zeroed(messages, sizeof(MPI_Request));
    exchanger->sums = iso_alloc_zeroed(2 * (size_t)exchanger->n_workers,
                                       sizeof *exchanger->sums);
    return exchanger->out_buffer != NULL && exchanger->in_buffer != NULL &&
                   exchanger->requests != NULL && exchanger->sums != NULL
               ? ISO_OK
               : ISO_NOMEM;
}

iso_status_t iso_exchanger_create(const iso_exchanger_spec_t *spec,
                                  MPI_Comm comm,
                                  iso_exchanger_t **exchanger_out)
{
    iso_exchanger_t *exchanger = iso_alloc_zeroed(1, sizeof *exchanger);
    iso_status_t status;

    *exchanger_out = NULL;
    if (exchanger == NULL) {
        return ISO_NOMEM;
    }
    ISO_ASSERT(spec->worker == iso_par_rank(comm));
    exchanger->n_workers = iso_par_size(comm);
    exchanger->worker = spec->worker;
    exchanger->n_steps = spec->n_exchanges;
    exchanger->most_count = spec->most_count > 0 ? spec->most_count : INT_MAX;
    exchanger->first_rank = spec->first_rank;
    exchanger->verifies = spec->verifies;
    exchanger->comm = comm;
    status = make_steps(spec, exchanger);
    if (status == ISO_OK) {
        status = make_buffers(exchanger);
    }
    if (status != ISO_OK) {
        iso_exchanger_destroy(&exchanger);
        return status;
    }
    *exchanger_out = exchanger;
    return ISO_OK;
}

void iso_exchanger_destroy(iso_exchanger_t **exchanger)
{
    iso_exchanger_t *gone = *exchanger;

    if (gone == NULL) {
        return;
    }
    iso_free(gone->sums);
    iso_free(gone->requests);
    iso_free(gone->in_buffer);
    iso_free(gone->out_buffer);
    iso_free(gone->counts);
    iso_free(gone->parts);
    iso_free(gone->steps);
    iso_free(gone);
    *exchanger = NULL;
}

/* ---- Running ---- */

/* First byte of what must be a tensor of so many bytes. */
static unsigned char *data_of(const iso_tensor_t *tensor, iso_dtype_t dtype,
                              size_t bytes)
{
    if (tensor == NULL) {
        ISO_ASSERT(bytes == 0);
        return NULL;
    }
    ISO_ASSERT(tensor->dtype == dtype);
    ISO_ASSERT(iso_tensor_bytes(tensor) == bytes);
    return tensor->data;
}

/* For whom this worker waits: the only other one, or any. */
static void begin_wait(const iso_exchanger_t *exchanger,
                       const iso__step_t *step)
{
    const bool is_pair = exchanger->n_workers == 2;
    const int other = is_pair ? 1 - exchanger->worker : 0;
    const iso_wait_t wait = {
        .kind = ISO_WAIT_EXCHANGE,
        .op = iso_exchange_kind_string(step->kind),
        .value = step->value,
        .peer = exchanger->first_rank + other,
        .n_peers = is_pair ? 1 : exchanger->n_workers,
    };

    iso_wait_begin(&wait);
}

iso_status_t iso_exchanger_run(iso_exchanger_t *exchanger, int number,
                               const iso_tensor_t *input,
                               const iso_tensor_t *output)
{
    iso_status_t status = ISO_OK;
    iso__step_t *step;

    ISO_ASSERT(number >= 0 && number < exchanger->n_steps);
    step = &exchanger->steps[number];

    const unsigned char *from =
        data_of(input, step->dtype, step->out.tensor_bytes);
    unsigned char *to = data_of(output, step->dtype, step->in.tensor_bytes);

    if (step->value_bytes > 0) {
        begin_wait(exchanger, step);
        status = iso__step_run(exchanger, step, from, to);
        iso_wait_end();
    }
    step->n_runs++;
    return status;
}

double iso_exchanger_sent_bytes(const iso_exchanger_t *exchanger, int number)
{
    const iso__step_t *step;

    ISO_ASSERT(number >= 0 && number < exchanger->n_steps);
    step = &exchanger->steps[number];
    return (double)step->sent_bytes * (double)step->n_runs;
}

size_t iso_exchanger_buffer_bytes(const iso_exchanger_t *exchanger)
{
    return exchanger->out_bytes + exchanger->in_bytes;
}
