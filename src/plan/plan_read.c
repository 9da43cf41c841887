/*
 * JSON to plan. Only the decisions are taken from the file; everything that
 * follows from them is computed again and compared, so that a plan that was
 * edited, or made by a build that counts differently, is refused.
 */
#include "isotome/error.h"

#include "base/json.h"
#include "plan/layer_split_impl.h"
#include "plan/machine_impl.h"
#include "plan/plan_impl.h"
#include "plan/plan_json_impl.h"

#include <math.h>
#include <string.h>

/* -- decisions -- */

static iso_status_t read_name(const iso_json_t *in, const char *key,
                              const char *const *names, int *index_out)
{
    const char *text = NULL;

    ISO_TRY(iso_json_text(in, key, &text));
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(text, names[i]) == 0) {
            *index_out = i;
            return ISO_OK;
        }
    }
    return iso_json_fail(in, "'%s' is '%s', which is not known", key, text);
}

static iso_status_t read_split(const iso_json_t *file, iso_plan_t *plan)
{
    iso_json_t array;

    ISO_TRY(iso_json_array(file, "split", &array));
    if (iso_json_size(&array) != (size_t)plan->n_stages) {
        return iso_json_fail(&array, "%zu counts, expected %d, as in 'grid'",
                             iso_json_size(&array), plan->n_stages);
    }
    ISO_TRY(iso__layer_split_alloc(plan->n_stages, &plan->split));
    for (int group = 0; group < plan->n_stages; group++) {
        iso_json_t count = iso_json_at(&array, (size_t)group);
        ISO_TRY(iso_json_as_int(&count, 1, plan->layer_count,
                                &plan->split.counts[group]));
    }
    if (iso_layer_split_total(&plan->split) != plan->layer_count) {
        return iso_json_fail(&array, "%lld layers, but the model has %d",
                             (long long)iso_layer_split_total(&plan->split),
                             plan->layer_count);
    }
    return ISO_OK;
}

static iso_status_t read_widths(const iso_json_t *array, iso_plan_t *plan)
{
    int n_stages = (int)iso_json_size(array);
    int *widths =
        iso_arena_array(plan->arena, (size_t)n_stages, sizeof *widths);
    int64_t ranks = 0;

    if (widths == NULL) {
        return ISO_NOMEM;
    }
    for (int group = 0; group < n_stages; group++) {
        iso_json_t element = iso_json_at(array, (size_t)group);
        int64_t width = 0;

        ISO_TRY(iso_json_as_int(&element, 1, plan->world - ranks, &width));
        widths[group] = (int)width;
        ranks += width;
    }
    return iso__plan_set_grid(plan, widths, n_stages);
}

static iso_status_t read_grid(const iso_json_t *file, iso_plan_t *plan)
{
    iso_json_t array;

    ISO_TRY(iso_json_array(file, "grid", &array));
    size_t n_stages = iso_json_size(&array);

    if (n_stages < 1 || n_stages > (size_t)plan->layer_count) {
        return iso_json_fail(&array,
                             "%zu stages, expected 1 to %d, the model's layers",
                             n_stages, plan->layer_count);
    }
    return read_widths(&array, plan);
}

static iso_status_t read_ranks(const iso_json_t *file, iso_plan_t *plan)
{
    int64_t value = 0;

    ISO_TRY(iso_json_int(file, "layer_count", plan->layer_count,
                         plan->layer_count, &value));
    ISO_TRY(iso_json_int(file, "world", 1, ISO_MAX_WORLD, &value));
    plan->world = (int)value;
    ISO_TRY(read_grid(file, plan));
    ISO_TRY(iso_json_int(file, "used", plan->used, plan->used, &value));
    return read_split(file, plan);
}

static iso_status_t read_batch(const iso_json_t *file, iso_plan_t *plan)
{
    json_t *batch = json_object_get(file->value, "batch");
    const char *name = json_string_value(batch);
    int64_t most = plan->batch == NULL ? 1 : ISO__MOST_MICRO_BATCH;
    bool same = plan->batch == NULL
                    ? json_is_null(batch)
                    : name != NULL && strcmp(name, plan->batch) == 0;

    if (!same) {
        return iso_json_fail(file, "'batch' must be %s for this model",
                             plan->batch == NULL ? "null" : plan->batch);
    }
    ISO_TRY(iso_json_int(file, "micro_batch", 1, most, &plan->micro_batch));
    return iso_json_int(file, "samples", 0, INT64_MAX, &plan->samples);
}

static iso_status_t read_head(const iso_json_t *file, const iso_plan_t *plan)
{
    char digest[ISO__DIGEST_TEXT_BYTES];
    const char *text = NULL;
    int64_t version = 0;

    ISO_TRY(iso_json_text(file, "format", &text));
    if (strcmp(text, "isotome-plan") != 0) {
        return iso_json_fail(file, "'format' is '%s', expected 'isotome-plan'",
                             text);
    }
    ISO_TRY(iso_json_int(file, "format_version", ISO__PLAN_FORMAT_VERSION,
                         ISO__PLAN_FORMAT_VERSION, &version));
    ISO_TRY(iso_json_text(file, "graph_digest", &text));
    if (strcmp(text, iso__digest_text(plan->graph_digest, digest)) != 0) {
        return iso_fail(ISO_DISAGREE,
                        "plan '%s' was made for a graph with digest %s, but "
                        "the model's is %s",
                        file->key, text, digest);
    }
    return ISO_OK;
}

static iso_status_t read_decisions(const iso_json_t *file, iso_plan_t *plan)
{
    static const char *const keys[] = {"format",     "format_version",
                                       "digest",     "graph_digest",
                                       "world",      "used",
                                       "grid",       "layer_count",
                                       "batch",      "micro_batch",
                                       "samples",    "split",
                                       "split_kind", "cuts",
                                       "figures",    "seconds",
                                       "bubble",     "parts",
                                       "exchanges",  "boundaries",
                                       "tied",       NULL};
    int index = 0;

    ISO_TRY(read_head(file, plan));
    ISO_TRY(iso_json_only(file, keys));
    ISO_TRY(read_ranks(file, plan));
    ISO_TRY(read_batch(file, plan));
    ISO_TRY(read_name(file, "split_kind", iso__split_kind_names, &index));
    plan->split_kind = (iso_split_kind_t)index;
    ISO_TRY(read_name(file, "figures", iso__cost_class_names, &index));
    plan->figures = (iso_cost_class_t)index;
    return ISO_OK;
}

/* -- facts -- */

static iso_status_t differs(const iso_json_t *in, const char *key)
{
    return iso_json_fail(in,
                         "'%s' is not what this program computes from the "
                         "plan's decisions; make the plan again",
                         key);
}

iso_status_t iso__plan_check_int(const iso_json_t *in, const char *key,
                                 int64_t expected)
{
    int64_t found = 0;

    ISO_TRY(iso_json_int(in, key, INT64_MIN, INT64_MAX, &found));
    if (found != expected) {
        return iso_json_fail(in,
                             "'%s' is %lld, but this program computes %lld "
                             "from the plan's decisions; make the plan again",
                             key, (long long)found, (long long)expected);
    }
    return ISO_OK;
}

iso_status_t iso__plan_check_text(const iso_json_t *in, const char *key,
                                  const char *expected)
{
    const char *found = NULL;

    ISO_TRY(iso_json_text(in, key, &found));
    return strcmp(found, expected) == 0 ? ISO_OK : differs(in, key);
}

static iso_status_t check_double(const iso_json_t *in, const char *key,
                                 double expected)
{
    double found = 0.0;

    ISO_TRY(iso_json_double(in, key, &found));
    return found == expected ? ISO_OK : differs(in, key);
}

static iso_status_t read_seconds(const iso_json_t *in, const char *key,
                                 double *out)
{
    ISO_TRY(iso_json_double(in, key, out));
    if (!(*out >= 0.0 && *out < INFINITY)) {
        return iso_json_fail(
            in, "'%s' is %g, expected a finite number, at least 0", key, *out);
    }
    return ISO_OK;
}

static iso_status_t check_range(const iso_json_t *in,
                                const iso_plan_part_t *part)
{
    ISO_TRY(iso__plan_check_int(in, "rank", part->rank));
    ISO_TRY(iso__plan_check_int(in, "stage", part->stage));
    ISO_TRY(iso__plan_check_int(in, "worker", part->worker));
    ISO_TRY(iso__plan_check_int(in, "first_layer", part->layers.start));
    return iso__plan_check_int(in, "layers", part->layers.count);
}

static iso_status_t check_members(const iso_json_t *in,
                                  const iso_plan_part_t *part)
{
    for (const iso__plan_member_t *member = iso__plan_members;
         member->key != NULL; member++) {
        ISO_TRY(iso__plan_check_int(
            in, member->key, (int64_t)iso__plan_member_of(part, member)));
    }
    return ISO_OK;
}

/* What is said of a rank and its times is not compared. */
static iso_status_t read_said(const iso_json_t *in, iso_plan_part_t *part)
{
    int index = 0;

    ISO_TRY(read_name(in, "figures", iso__cost_class_names, &index));
    part->figures = (iso_cost_class_t)index;
    ISO_TRY(read_seconds(in, "compute_s", &part->compute_s));
    ISO_TRY(read_seconds(in, "exchange_s", &part->exchange_s));
    return read_seconds(in, "send_s", &part->send_s);
}

static iso_status_t check_part(const iso_json_t *in, iso_plan_t *plan,
                               iso_plan_part_t *part)
{
    static const char *const keys[] = {"rank",
                                       "stage",
                                       "worker",
                                       "host",
                                       "figures",
                                       "first_layer",
                                       "layers",
                                       "flops",
                                       "compute_s",
                                       "exchange_s",
                                       "send_s",
                                       "weight_bytes",
                                       "held_bytes",
                                       "activation_bytes",
                                       "scratch_bytes",
                                       "buffer_bytes",
                                       "peak_bytes",
                                       "receive_bytes",
                                       "send_bytes",
                                       "exchange_bytes",
                                       NULL};

    ISO_TRY(iso_json_only(in, keys));
    ISO_TRY(check_range(in, part));
    ISO_TRY(check_double(in, "flops", part->flops));
    ISO_TRY(check_members(in, part));
    ISO_TRY(read_said(in, part));
    ISO_TRY(iso_json_text(in, "host", &part->host));
    part->host = iso_arena_text(plan->arena, part->host);
    return part->host == NULL ? ISO_NOMEM : ISO_OK;
}

iso_status_t iso__plan_check_size(const iso_json_t *file, const char *key,
                                  int expected, iso_json_t *array_out)
{
    ISO_TRY(iso_json_array(file, key, array_out));
    if (iso_json_size(array_out) != (size_t)expected) {
        return iso_json_fail(array_out,
                             "%zu elements, but this program computes %d from "
                             "the plan's decisions; make the plan again",
                             iso_json_size(array_out), expected);
    }
    return ISO_OK;
}

static iso_status_t check_parts(const iso_json_t *file, iso_plan_t *plan)
{
    iso_json_t array;

    ISO_TRY(iso__plan_check_size(file, "parts", plan->used, &array));
    for (int rank = 0; rank < plan->used; rank++) {
        iso_json_t part = iso_json_at(&array, (size_t)rank);
        ISO_TRY(check_part(&part, plan, &plan->parts[rank]));
    }
    return ISO_OK;
}

static iso_status_t check_boundary(const iso_json_t *in,
                                   const iso_boundary_t *boundary)
{
    static const char *const keys[] = {"name",       "dtype",    "shape",
                                       "from_stage", "to_stage", NULL};
    char shape[ISO_SHAPE_TEXT_BYTES];

    ISO_TRY(iso_json_only(in, keys));
    ISO_TRY(iso__plan_check_text(in, "name", boundary->name));
    ISO_TRY(
        iso__plan_check_text(in, "dtype", iso_dtype_string(boundary->dtype)));
    ISO_TRY(iso__plan_check_text(in, "shape",
                                 iso_shape_text(&boundary->shape, shape)));
    ISO_TRY(iso__plan_check_int(in, "from_stage", boundary->from_stage));
    return iso__plan_check_int(in, "to_stage", boundary->to_stage);
}

static iso_status_t check_boundaries(const iso_json_t *file,
                                     const iso_plan_t *plan)
{
    iso_json_t array;

    ISO_TRY(
        iso__plan_check_size(file, "boundaries", plan->n_boundaries, &array));
    for (int i = 0; i < plan->n_boundaries; i++) {
        iso_json_t in = iso_json_at(&array, (size_t)i);
        ISO_TRY(check_boundary(&in, &plan->boundaries[i]));
    }
    return ISO_OK;
}

static iso_status_t check_tied(const iso_json_t *file, const iso_plan_t *plan)
{
    iso_json_t array;

    ISO_TRY(iso__plan_check_size(file, "tied", plan->n_tied, &array));
    for (int i = 0; i < plan->n_tied; i++) {
        iso_json_t element = iso_json_at(&array, (size_t)i);
        const char *name = NULL;

        ISO_TRY(iso_json_as_text(&element, &name));
        if (strcmp(name, plan->tied[i]) != 0) {
            return differs(&array, name);
        }
    }
    return ISO_OK;
}

static iso_status_t check_facts(const iso_json_t *file, iso_plan_t *plan)
{
    char digest[ISO__DIGEST_TEXT_BYTES];

    ISO_TRY(check_parts(file, plan));
    ISO_TRY(iso__plan_check_exchanges(file, plan));
    ISO_TRY(check_boundaries(file, plan));
    ISO_TRY(check_tied(file, plan));
    ISO_TRY(check_double(file, "seconds", iso_plan_seconds(plan, 0)));
    ISO_TRY(check_double(file, "bubble", iso_plan_bubble(plan, 0)));
    return iso__plan_check_text(
        file, "digest", iso__digest_text(iso_plan_digest(plan), digest));
}

static iso_status_t read_plan(const iso_json_t *file, const iso_graph_t *graph,
                              iso_plan_t *plan)
{
    ISO_TRY(read_decisions(file, plan));
    iso_status_t status = iso__plan_cut_stages(plan, graph);

    if (status == ISO_OK) {
        /* Says by itself where in the file. */
        ISO_TRY(iso__plan_read_cuts(file, plan));
        status = iso__plan_describe(plan, graph, NULL);
    }
    if (status != ISO_OK) {
        return iso_fail_context(status, "%s", file->key);
    }
    return check_facts(file, plan);
}

iso_status_t iso_plan_read(const char *path, const iso_graph_t *graph,
                           iso_plan_t **plan_out)
{
    iso_json_t file;
    iso_status_t status;

    ISO_TRY(iso__plan_start(graph, plan_out));
    status = iso_json_read(path, &file);
    if (status == ISO_OK) {
        status = read_plan(&file, graph, *plan_out);
        json_decref(file.value);
    }
    if (status != ISO_OK) {
        iso_plan_destroy(plan_out);
    }
    return status;
}
