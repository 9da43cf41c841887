#include "exec/deliver.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "exec/rows.h"
#include "io/array_out.h"
#include "io/place.h"

#include <string.h>

/* One model output. */
typedef struct sink {
    iso_rows_t rows;
    int index; /* in the array file set; -1: not wanted */
} sink_t;

struct iso_deliver {
    iso_array_out_t *files;
    int n_sinks;
    sink_t *sinks; /* (n_sinks) in the order of the model's outputs */
};

static iso_status_t find_sink(const iso_graph_t *graph, const char *name,
                              int *output_out)
{
    int count = iso_graph_output_count(graph);

    if (name == NULL && count == 1) {
        *output_out = 0;
        return ISO_OK;
    }
    if (name == NULL) {
        return iso_fail(ISO_INVAL,
                        "the model has %d outputs: give each as -o NAME=FILE",
                        count);
    }
    for (int i = 0; i < count; i++) {
        if (strcmp(iso_graph_output(graph, i)->name, name) == 0) {
            *output_out = i;
            return ISO_OK;
        }
    }
    return iso_fail(ISO_INVAL,
                    "the model has no output '%s'; isotome inspect lists them",
                    name);
}

/* The part of a place behind "NAME=". */
static const char *file_of(const char *text, const iso_place_t *place)
{
    return place->name != NULL ? text + strlen(place->name) + 1 : text;
}

static iso_status_t open_sink(iso_deliver_t *deliver,
                              const iso_deliver_spec_t *spec, const char *text,
                              const iso_place_t *place)
{
    int output = 0;

    ISO_TRY(find_sink(spec->graph, place->name, &output));
    sink_t *sink = &deliver->sinks[output];
    const char *name = iso_graph_output(spec->graph, output)->name;

    if (sink->index >= 0) {
        return iso_fail(ISO_INVAL, "output '%s' is given twice", name);
    }
    if (sink->rows.per_sample == 0 && spec->samples != 1) {
        return iso_fail(ISO_INVAL,
                        "output '%s' does not follow the samples, so it can "
                        "be written for a job of one sample only",
                        name);
    }
    iso_tensor_t whole = iso_rows_tensor(&sink->rows, spec->samples);

    return iso_array_out_add(deliver->files, file_of(text, place), &whole,
                             &sink->index);
}

static iso_status_t list_sinks(iso_deliver_t *deliver,
                               const iso_deliver_spec_t *spec)
{
    for (int i = 0; i < deliver->n_sinks; i++) {
        const iso_output_t *output = iso_graph_output(spec->graph, i);
        const iso_node_t *node = iso_graph_node(spec->graph, output->node);

        deliver->sinks[i].index = -1;
        ISO_TRY(iso_rows_of(output->name, node->dtype, &node->shape,
                            spec->batch, &deliver->sinks[i].rows));
    }
    return ISO_OK;
}

iso_status_t iso_deliver_open(const iso_deliver_spec_t *spec,
                              iso_deliver_t **deliver_out)
{
    iso_deliver_t *deliver = iso_alloc_zeroed(1, sizeof *deliver);
    iso_status_t status = ISO_NOMEM;

    *deliver_out = NULL;
    if (deliver == NULL) {
        return ISO_NOMEM;
    }
    deliver->n_sinks = iso_graph_output_count(spec->graph);
    deliver->sinks =
        iso_alloc_zeroed((size_t)deliver->n_sinks, sizeof *deliver->sinks);
    if (deliver->sinks != NULL) {
        status = list_sinks(deliver, spec);
    }
    if (status == ISO_OK) {
        status = iso_array_out_begin(spec->force, &deliver->files);
    }
    if (status == ISO_OK && spec->n_places == 0) {
        status = iso_fail(ISO_INVAL, "no output is named; add -o FILE");
    }
    for (int i = 0; status == ISO_OK && i < spec->n_places; i++) {
        iso_place_t place;

        status = iso_place_parse(spec->places[i], &place);
        if (status == ISO_OK) {
            status = open_sink(deliver, spec, spec->places[i], &place);
            iso_place_free(&place);
        }
    }
    if (status != ISO_OK) {
        iso_deliver_abandon(&deliver);
        return status;
    }
    *deliver_out = deliver;
    return ISO_OK;
}

bool iso_deliver_wants(const iso_deliver_t *deliver, int output)
{
    return deliver->sinks[output].index >= 0;
}

iso_status_t iso_deliver_write(iso_deliver_t *deliver, int output,
                               const iso_batches_t *batches, int64_t index,
                               const void *rows)
{
    const sink_t *sink = &deliver->sinks[output];
    int64_t samples = batches->size[iso_batches_form(batches, index)];
    int64_t first = iso_batches_first(batches, index) * sink->rows.per_sample;
    int64_t count = samples * sink->rows.per_sample;

    if (sink->rows.per_sample == 0) {
        first = 0;
        count = sink->rows.one.rank > 0 ? sink->rows.one.dims[0] : 1;
    }
    return iso_array_out_write(deliver->files, sink->index, first, count, rows);
}

static void forget(iso_deliver_t **deliver)
{
    iso_free((*deliver)->sinks);
    iso_free(*deliver);
    *deliver = NULL;
}

iso_status_t iso_deliver_commit(iso_deliver_t **deliver)
{
    iso_status_t status = iso_array_out_commit(&(*deliver)->files);

    forget(deliver);
    return status;
}

void iso_deliver_abandon(iso_deliver_t **deliver)
{
    if (*deliver == NULL) {
        return;
    }
    iso_array_out_abandon(&(*deliver)->files);
    forget(deliver);
}
