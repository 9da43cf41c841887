#include "exec/feed.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "exec/rows.h"
#include "io/array_in.h"
#include "io/place.h"
#include "tensor/fill.h"

#include <inttypes.h>
#include <string.h>

/* One model input and its file. */
typedef struct source {
    const char *name;  /* borrowed from the graph */
    iso_shape_t shape; /* as declared */
    iso_rows_t rows;
    iso_array_in_t *array; /* NULL: the values are made up */
    int64_t samples; /* 0 when the file does not say: the input is whole */
    bool repeated;   /* the same rows for every micro-batch */
    bool filled;     /* repeated rows are in the buffer */
    void *buffer;    /* rows of one micro-batch; NULL: not used here */
} source_t;

struct iso_feed {
    uint64_t seed; /* of values that are made up */
    int n_sources;
    source_t *sources; /* (n_sources) in node order */
};

static int count_inputs(const iso_graph_t *graph)
{
    int count = 0;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        count += iso_graph_node(graph, id)->op == ISO_OP_INPUT ? 1 : 0;
    }
    return count;
}

static iso_status_t list_inputs(iso_feed_t *feed, const iso_graph_t *graph,
                                const char *batch)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);

        if (node->op != ISO_OP_INPUT) {
            continue;
        }
        source_t *source = &feed->sources[feed->n_sources++];

        source->name = node->name;
        source->shape = node->shape;
        ISO_TRY(iso_rows_of(node->name, node->dtype, &node->shape, batch,
                            &source->rows));
    }
    return ISO_OK;
}

static iso_status_t find_source(iso_feed_t *feed, const char *name,
                                source_t **source_out)
{
    if (name == NULL && feed->n_sources == 1) {
        *source_out = &feed->sources[0];
        return ISO_OK;
    }
    if (name == NULL) {
        return iso_fail(ISO_INVAL,
                        "the model has %d inputs: give each as -i NAME=FILE",
                        feed->n_sources);
    }
    for (int i = 0; i < feed->n_sources; i++) {
        if (strcmp(feed->sources[i].name, name) == 0) {
            *source_out = &feed->sources[i];
            return ISO_OK;
        }
    }
    return iso_fail(ISO_INVAL,
                    "the model has no input '%s'; isotome inspect lists them",
                    name);
}

/* Does the file's shape fit, and how many samples does it hold? */
static iso_status_t fit(source_t *source, const iso_tensor_t *found)
{
    const iso_tensor_t *one = &source->rows.one;
    int64_t per_sample = source->rows.per_sample;
    char declared[ISO_SHAPE_TEXT_BYTES];
    char given[ISO_SHAPE_TEXT_BYTES];
    iso_shape_t found_shape = iso_tensor_shape(found);
    bool fits = found->rank == one->rank && found->dtype == one->dtype;

    for (int axis = per_sample > 0 ? 1 : 0; fits && axis < one->rank; axis++) {
        fits = found->dims[axis] == one->dims[axis];
    }
    if (fits && per_sample > 0) {
        fits = found->dims[0] % per_sample == 0;
    }
    if (!fits) {
        return iso_fail(ISO_SHAPE,
                        "input '%s' must be %s %s; the file has %s %s",
                        source->name, iso_dtype_string(one->dtype),
                        iso_shape_text(&source->shape, declared),
                        iso_dtype_string(found->dtype),
                        iso_shape_text(&found_shape, given));
    }
    source->samples = per_sample > 0 ? found->dims[0] / per_sample : 0;
    return ISO_OK;
}

static iso_status_t open_source(iso_feed_t *feed, const char *text)
{
    source_t *source = NULL;
    iso_place_t place;
    iso_status_t status = iso_place_parse(text, &place);

    if (status != ISO_OK) {
        return status;
    }
    status = find_source(feed, place.name, &source);
    if (status == ISO_OK && source->array != NULL) {
        status = iso_fail(ISO_INVAL, "input '%s' is given twice", source->name);
    }
    if (status == ISO_OK) {
        const char *file =
            place.name != NULL ? text + strlen(place.name) + 1 : text;

        status = iso_array_in_open(file, &source->array);
        if (status == ISO_OK) {
            status = fit(source, iso_array_in_header(source->array));
        }
        if (status == ISO_SHAPE) {
            status = iso_fail_context(status, "%s", file);
        }
    }
    iso_place_free(&place);
    return status;
}

static iso_status_t check_all_given(const iso_feed_t *feed)
{
    for (int i = 0; i < feed->n_sources; i++) {
        if (feed->sources[i].array == NULL) {
            return iso_fail(ISO_INVAL,
                            "input '%s' is not given; add -i %s=FILE",
                            feed->sources[i].name, feed->sources[i].name);
        }
    }
    return ISO_OK;
}

/* A feed that knows the model's inputs. */
static iso_status_t make_feed(const iso_graph_t *graph, const char *batch,
                              iso_feed_t **feed_out)
{
    iso_feed_t *feed = iso_alloc_zeroed(1, sizeof *feed);
    iso_status_t status = ISO_NOMEM;

    *feed_out = NULL;
    if (feed == NULL) {
        return ISO_NOMEM;
    }
    feed->sources =
        iso_alloc_zeroed((size_t)count_inputs(graph), sizeof *feed->sources);
    if (feed->sources != NULL) {
        status = list_inputs(feed, graph, batch);
    }
    if (status != ISO_OK) {
        iso_feed_close(&feed);
        return status;
    }
    *feed_out = feed;
    return ISO_OK;
}

iso_status_t iso_feed_open(const iso_graph_t *graph, const char *batch,
                           const char *const *places, int n_places,
                           iso_feed_t **feed_out)
{
    iso_status_t status = make_feed(graph, batch, feed_out);

    for (int i = 0; status == ISO_OK && i < n_places; i++) {
        status = open_source(*feed_out, places[i]);
    }
    if (status == ISO_OK) {
        status = check_all_given(*feed_out);
    }
    if (status != ISO_OK) {
        iso_feed_close(feed_out);
    }
    return status;
}

iso_status_t iso_feed_make(const iso_graph_t *graph, const char *batch,
                           uint64_t seed, iso_feed_t **feed_out)
{
    ISO_TRY(make_feed(graph, batch, feed_out));
    (*feed_out)->seed = seed;
    return ISO_OK;
}

void iso_feed_close(iso_feed_t **feed)
{
    if (*feed == NULL) {
        return;
    }
    for (int i = 0; (*feed)->sources != NULL && i < (*feed)->n_sources; i++) {
        iso_array_in_close(&(*feed)->sources[i].array);
        iso_free((*feed)->sources[i].buffer);
    }
    iso_free((*feed)->sources);
    iso_free(*feed);
    *feed = NULL;
}

/*
 * The input that says how many samples there are. A whole input says
 * nothing; of a model without free dims one pass's worth may be repeated.
 */
iso_status_t iso_feed_samples(iso_feed_t *feed, int64_t *samples_out)
{
    const char *teller = ""; /* the input with the most samples */

    *samples_out = -1;
    for (int i = 0; i < feed->n_sources; i++) {
        const source_t *source = &feed->sources[i];

        if (source->rows.per_sample > 0 && source->samples > *samples_out) {
            *samples_out = source->samples;
            teller = source->name;
        }
    }
    if (*samples_out < 0) {
        *samples_out = 1;
    }
    for (int i = 0; i < feed->n_sources; i++) {
        source_t *source = &feed->sources[i];
        bool is_fixed = iso_shape_is_static(&source->shape);

        source->repeated =
            source->rows.per_sample == 0 || (is_fixed && source->samples == 1);
        if (!source->repeated && source->samples != *samples_out) {
            return iso_fail(ISO_SHAPE,
                            "input '%s' has %" PRId64 " samples, input '%s' "
                            "has %" PRId64,
                            source->name, source->samples, teller,
                            *samples_out);
        }
    }
    return ISO_OK;
}

static iso_status_t add_source(const source_t *source, iso_digest_t *digest)
{
    const iso_tensor_t *found = iso_array_in_header(source->array);
    const iso_tensor_t *one = &source->rows.one;
    int64_t rows = one->rank > 0 ? one->dims[0] : 1;
    int64_t all = found->rank > 0 ? found->dims[0] : 1;
    size_t bytes = iso_tensor_bytes(one);

    iso_digest_add_text(digest, source->name);
    iso_digest_add_int(digest, found->dtype);
    for (int i = 0; i < found->rank; i++) {
        iso_digest_add_int(digest, found->dims[i]);
    }
    if (all < rows) {
        return ISO_OK;
    }
    void *sample = iso_alloc(bytes);
    iso_status_t status = sample != NULL ? ISO_OK : ISO_NOMEM;
    const int64_t firsts[2] = {0, all - rows};

    for (int i = 0; i < 2 && status == ISO_OK; i++) {
        status = iso_array_in_read(source->array, firsts[i], rows, sample);
        if (status == ISO_OK) {
            iso_digest_add_bytes(digest, sample, bytes);
        }
    }
    iso_free(sample);
    return status;
}

iso_status_t iso_feed_digest(const iso_feed_t *feed, uint64_t *digest_out)
{
    iso_digest_t digest;

    iso_digest_begin(&digest);
    for (int i = 0; i < feed->n_sources; i++) {
        ISO_TRY(add_source(&feed->sources[i], &digest));
    }
    *digest_out = iso_digest_end(&digest);
    return ISO_OK;
}

iso_status_t iso_feed_reserve(iso_feed_t *feed, const iso_graph_t *stage_graph,
                              const iso_batches_t *batches)
{
    for (int i = 0; i < feed->n_sources; i++) {
        source_t *source = &feed->sources[i];

        if (iso_graph_find(stage_graph, source->name) == ISO_NO_NODE) {
            continue;
        }
        iso_tensor_t most =
            iso_rows_tensor(&source->rows, batches->size[ISO_FORM_FULL]);

        source->buffer = iso_alloc(iso_tensor_bytes(&most));
        if (source->buffer == NULL) {
            return ISO_NOMEM;
        }
        if (source->array == NULL) {
            iso_random_t random = {.state =
                                       iso_random_at(feed->seed, (uint64_t)i)};

            most.data = source->buffer;
            iso_tensor_fill_random(&random, &most);
        }
    }
    return ISO_OK;
}

static iso_status_t read_source(source_t *source, const iso_batches_t *batches,
                                int64_t index)
{
    int64_t first = 0;
    int64_t samples = batches->size[iso_batches_form(batches, index)];

    if (source->repeated) {
        if (source->filled) {
            return ISO_OK;
        }
        source->filled = true;
        return iso_array_in_read(
            source->array, 0,
            source->rows.one.rank > 0 ? source->rows.one.dims[0] : 1,
            source->buffer);
    }
    first = iso_batches_first(batches, index) * source->rows.per_sample;
    return iso_array_in_read(source->array, first,
                             samples * source->rows.per_sample, source->buffer);
}

iso_status_t iso_feed_read(iso_feed_t *feed, const iso_batches_t *batches,
                           int64_t index)
{
    for (int i = 0; i < feed->n_sources; i++) {
        if (feed->sources[i].buffer == NULL || feed->sources[i].array == NULL) {
            continue;
        }
        ISO_TRY(read_source(&feed->sources[i], batches, index));
    }
    return ISO_OK;
}

iso_status_t iso_feed_bind(const iso_feed_t *feed, iso_program_t *program)
{
    for (int i = 0; i < feed->n_sources; i++) {
        if (feed->sources[i].buffer == NULL) {
            continue;
        }
        ISO_TRY(iso_program_bind(program, feed->sources[i].name,
                                 feed->sources[i].buffer));
    }
    return ISO_OK;
}
