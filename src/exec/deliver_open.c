/* Outputs of a job, new or as an earlier job left them. */
#include "isotome/error.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/deliver_impl.h"
#include "io/draft.h"
#include "io/place.h"

#include <string.h>
#include <sys/stat.h>

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
    iso__sink_t *sink = &deliver->sinks[output];
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

static iso_status_t reserve(const iso_deliver_spec_t *spec,
                            iso_deliver_t *deliver)
{
    const int count = iso_graph_output_count(spec->graph);

    deliver->n_sinks = count;
    deliver->sync_period_s = spec->sync_s;
    deliver->leaves_ledger = spec->resume;
    deliver->fleeting = spec->fleeting;
    deliver->sinks = iso_alloc_zeroed((size_t)count, sizeof *deliver->sinks);
    deliver->digests =
        iso_alloc_zeroed((size_t)count, sizeof *deliver->digests);
    deliver->paths =
        iso_alloc_zeroed((size_t)spec->n_places, sizeof *deliver->paths);
    if (deliver->sinks == NULL || deliver->digests == NULL ||
        deliver->paths == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(list_sinks(deliver, spec));
    iso__deliver_begin_digests(deliver);
    if (spec->n_places == 0) {
        return iso_fail(ISO_INVAL, "no output is named; add -o FILE");
    }
    return ISO_OK;
}

/* Beside one of the files, the same one in whatever order they are given. */
static const char *least_path(const iso_deliver_t *deliver)
{
    const char *least = deliver->paths[0];

    for (int i = 1; i < deliver->n_paths; i++) {
        if (strcmp(deliver->paths[i], least) < 0) {
            least = deliver->paths[i];
        }
    }
    return least;
}

/* No output has its name. */
static bool are_gone(const iso_deliver_t *deliver)
{
    bool gone = true;
    struct stat info;

    for (int i = 0; gone && i < deliver->n_paths; i++) {
        gone = lstat(deliver->paths[i], &info) != 0;
    }
    return gone;
}

static iso_status_t open_ledger(const iso_deliver_spec_t *spec,
                                iso_deliver_t *deliver)
{
    const int count = spec->n_traits + 1;
    iso_text_t name = {0};
    iso_status_t status = ISO_NOMEM;
    iso_ledger_trait_t *traits =
        iso_alloc_zeroed((size_t)count, sizeof *traits);

    iso_text_add(&name, "%s.ledger", least_path(deliver));
    if (traits != NULL && name.status == ISO_OK) {
        memcpy(traits, spec->traits, (size_t)spec->n_traits * sizeof *traits);
        traits[count - 1] =
            (iso_ledger_trait_t){"the outputs", deliver->places};
        const iso_ledger_spec_t of = {
            .path = name.data,
            .traits = traits,
            .n_traits = count,
            .n_outputs = spec->n_places,
            .samples = spec->samples,
            .resume = spec->resume,
            .force = spec->force,
            .gone = are_gone(deliver),
        };
        status = iso_ledger_open(&of, &deliver->ledger);
    }
    iso_text_free(&name);
    iso_free(traits);
    return status;
}

/* What one output is called, wherever its folder is. Outputs may be given in
 * any order: their digests are added up. */
static uint64_t digest_place(const iso_deliver_spec_t *spec,
                             const iso_place_t *place)
{
    const char *only = iso_graph_output(spec->graph, 0)->name;
    const char *slash = strrchr(place->path, '/');
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_text(&digest, place->name != NULL ? place->name : only);
    iso_digest_add_text(&digest, slash != NULL ? slash + 1 : place->path);
    iso_digest_add_text(&digest, place->dataset != NULL ? place->dataset : "");
    return iso_digest_end(&digest);
}

static iso_status_t list_places(const iso_deliver_spec_t *spec,
                                iso_deliver_t *deliver)
{
    for (int i = 0; i < spec->n_places; i++) {
        iso_place_t place;

        ISO_TRY(iso_place_parse(spec->places[i], &place));
        deliver->places += digest_place(spec, &place);
        deliver->paths[i] = iso_text_copy(place.path);
        iso_place_free(&place);
        if (deliver->paths[i] == NULL) {
            return ISO_NOMEM;
        }
        deliver->n_paths++;
    }
    return ISO_OK;
}

static iso_status_t open_sinks(const iso_deliver_spec_t *spec,
                               iso_deliver_t *deliver)
{
    iso_status_t status = ISO_OK;

    for (int i = 0; status == ISO_OK && i < spec->n_places; i++) {
        iso_place_t place;

        status = iso_place_parse(spec->places[i], &place);
        if (status == ISO_OK) {
            status = open_sink(deliver, spec, spec->places[i], &place);
            iso_place_free(&place);
        }
    }
    return status;
}

/* Whether the rows of an output in a range have this digest. */
static iso_status_t compare_rows(const iso_deliver_t *deliver,
                                 const iso__sink_t *sink,
                                 const iso_ledger_range_t *range,
                                 uint64_t expected, bool *same_out)
{
    const iso__rows_range_t rows =
        iso__deliver_rows(sink, range->first, range->end);
    uint64_t digest = 0;

    ISO_TRY(iso_array_out_digest(deliver->files, sink->index, rows.first,
                                 rows.count, &digest));
    *same_out = digest == expected;
    return ISO_OK;
}

/* Whether the rows of a range are what the ledger says. */
static iso_status_t compare_range(const iso_deliver_t *deliver, int number,
                                  bool *same_out)
{
    const iso_ledger_range_t range = iso_ledger_range(deliver->ledger, number);
    iso_status_t status = ISO_OK;
    int count = 0;

    *same_out = true;
    for (int i = 0; i < deliver->n_sinks && status == ISO_OK && *same_out;
         i++) {
        const iso__sink_t *sink = &deliver->sinks[i];

        if (sink->index >= 0) {
            status = compare_rows(deliver, sink, &range, range.digests[count++],
                                  same_out);
        }
    }
    return status;
}

/* What is not on the disk as it was written (after a power failure, say) is
 * made again, with all behind it. */
static iso_status_t check_ranges(const iso_deliver_t *deliver)
{
    const int count = iso_ledger_range_count(deliver->ledger);

    for (int range = 0; range < count; range++) {
        bool same = false;

        ISO_TRY(compare_range(deliver, range, &same));
        if (!same) {
            return iso_ledger_cut(deliver->ledger, range);
        }
    }
    return ISO_OK;
}

/* A job that was killed among its renames: those that are left. */
static iso_status_t publish_rest(const iso_deliver_spec_t *spec,
                                 const iso_deliver_t *deliver)
{
    for (int i = 0; i < deliver->n_paths; i++) {
        ISO_TRY(iso_draft_publish_part(deliver->paths[i], spec->force));
    }
    return ISO_OK;
}

static iso_status_t open_files(const iso_deliver_spec_t *spec,
                               iso_deliver_t *deliver)
{
    const bool resumed = iso_ledger_done(deliver->ledger) > 0;

    ISO_TRY(iso_array_out_begin(spec->force, resumed, &deliver->files));
    ISO_TRY(open_sinks(spec, deliver));
    ISO_TRY(iso_array_out_start(deliver->files));
    if (resumed) {
        ISO_TRY(check_ranges(deliver));
    }
    return ISO_OK;
}

static iso_status_t open_all(const iso_deliver_spec_t *spec,
                             iso_deliver_t *deliver)
{
    ISO_TRY(reserve(spec, deliver));
    ISO_TRY(list_places(spec, deliver));
    ISO_TRY(open_ledger(spec, deliver));
    if (iso_ledger_is_finished(deliver->ledger)) {
        return publish_rest(spec, deliver);
    }
    iso_status_t status = open_files(spec, deliver);

    if (status != ISO_OK && iso_ledger_done(deliver->ledger) > 0) {
        return iso_fail_context(status, "resuming");
    }
    deliver->done = iso_ledger_done(deliver->ledger);
    deliver->recorded_s = iso_clock_s();
    deliver->synced_s = deliver->recorded_s;
    return status;
}

iso_status_t iso_deliver_open(const iso_deliver_spec_t *spec,
                              iso_deliver_t **deliver_out)
{
    iso_deliver_t *deliver = iso_alloc_zeroed(1, sizeof *deliver);

    *deliver_out = NULL;
    if (deliver == NULL) {
        return ISO_NOMEM;
    }
    iso_status_t status = open_all(spec, deliver);

    if (status != ISO_OK) {
        iso__deliver_forget(&deliver, iso__deliver_is_empty(deliver));
        return status;
    }
    *deliver_out = deliver;
    return ISO_OK;
}
