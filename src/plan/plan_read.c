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
    if (iso_json_size(&array) != (size_t)plan->used) {
        return iso_json_fail(&array, "%zu counts, expected %d ('used')",
                             iso_json_size(&array), plan->used);
    }
    ISO_TRY(iso__layer_split_alloc(plan->used, &plan->split));
    for (int rank = 0; rank < plan->used; rank++) {
        iso_json_t count = iso_json_at(&array, (size_t)rank);
        ISO_TRY(iso_json_as_int(&count, 1, plan->layer_count,
                                &plan->split.counts[rank]));
    }
    if (iso_layer_split_total(&plan->split) != plan->layer_count) {
        return iso_json_fail(&array, "%lld layers, but the model has %d",
                             (long long)iso_layer_split_total(&plan->split),
                             plan->layer_count);
    }
    return ISO_OK;
}

static iso_status_t read_ranks(const iso_json_t *file, iso_plan_t *plan)
{
    int64_t value = 0;

    ISO_TRY(iso_json_int(file, "layer_count", plan->layer_count,
                         plan->layer_count, &value));
    ISO_TRY(iso_json_int(file, "world", 1, ISO_MAX_WORLD, &value));
    plan->world = (int)value;
    plan->used =
        plan->world < plan->layer_count ? plan->world : plan->layer_count;
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
    static const char *const keys[] = {
        "format",      "format_version", "digest",      "graph_digest",
        "world",       "used",           "layer_count", "batch",
        "micro_batch", "samples",        "split",       "split_kind",
        "figures",     "seconds",        "bubble",      "stages",
        "boundaries",  "tied",           NULL};
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

static iso_status_t check_int(const iso_json_t *in, const char *key,
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

static iso_status_t check_text(const iso_json_t *in, const char *key,
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
                                const iso_plan_stage_t *stage)
{
    ISO_TRY(check_int(in, "rank", stage->rank));
    ISO_TRY(check_int(in, "stage", stage->stage));
    ISO_TRY(check_int(in, "first_layer", stage->layers.start));
    return check_int(in, "layers", stage->layers.count);
}

static iso_status_t check_stage(const iso_json_t *in, iso_plan_t *plan,
                                iso_plan_stage_t *stage)
{
    static const char *const keys[] = {"rank",          "stage",
                                       "host",          "first_layer",
                                       "layers",        "flops",
                                       "compute_s",     "send_s",
                                       "weight_bytes",  "activation_bytes",
                                       "scratch_bytes", "buffer_bytes",
                                       "peak_bytes",    "receive_bytes",
                                       "send_bytes",    NULL};

    ISO_TRY(iso_json_only(in, keys));
    ISO_TRY(check_range(in, stage));
    ISO_TRY(check_double(in, "flops", stage->flops));
    for (const iso__plan_member_t *member = iso__plan_members;
         member->key != NULL; member++) {
        ISO_TRY(check_int(in, member->key,
                          (int64_t)iso__plan_member_of(stage, member)));
    }
    ISO_TRY(read_seconds(in, "compute_s", &stage->compute_s));
    ISO_TRY(read_seconds(in, "send_s", &stage->send_s));
    ISO_TRY(iso_json_text(in, "host", &stage->host));
    stage->host = iso_arena_text(plan->arena, stage->host);
    return stage->host == NULL ? ISO_NOMEM : ISO_OK;
}

static iso_status_t check_size(const iso_json_t *file, const char *key,
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

static iso_status_t check_stages(const iso_json_t *file, iso_plan_t *plan)
{
    iso_json_t array;

    ISO_TRY(check_size(file, "stages", plan->used, &array));
    for (int rank = 0; rank < plan->used; rank++) {
        iso_json_t stage = iso_json_at(&array, (size_t)rank);
        ISO_TRY(check_stage(&stage, plan, &plan->stages[rank]));
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
    ISO_TRY(check_text(in, "name", boundary->name));
    ISO_TRY(check_text(in, "dtype", iso_dtype_string(boundary->dtype)));
    ISO_TRY(check_text(in, "shape", iso_shape_text(&boundary->shape, shape)));
    ISO_TRY(check_int(in, "from_stage", boundary->from_stage));
    return check_int(in, "to_stage", boundary->to_stage);
}

static iso_status_t check_boundaries(const iso_json_t *file,
                                     const iso_plan_t *plan)
{
    iso_json_t array;

    ISO_TRY(check_size(file, "boundaries", plan->n_boundaries, &array));
    for (int i = 0; i < plan->n_boundaries; i++) {
        iso_json_t in = iso_json_at(&array, (size_t)i);
        ISO_TRY(check_boundary(&in, &plan->boundaries[i]));
    }
    return ISO_OK;
}

static iso_status_t check_tied(const iso_json_t *file, const iso_plan_t *plan)
{
    iso_json_t array;

    ISO_TRY(check_size(file, "tied", plan->n_tied, &array));
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

    ISO_TRY(check_stages(file, plan));
    ISO_TRY(check_boundaries(file, plan));
    ISO_TRY(check_tied(file, plan));
    ISO_TRY(check_double(file, "seconds", iso_plan_seconds(plan, 0)));
    ISO_TRY(check_double(file, "bubble", iso_plan_bubble(plan, 0)));
    return check_text(file, "digest",
                      iso__digest_text(iso_plan_digest(plan), digest));
}

static iso_status_t read_plan(const iso_json_t *file, const iso_graph_t *graph,
                              iso_plan_t *plan)
{
    ISO_TRY(read_decisions(file, plan));
    iso_status_t status = iso__plan_describe(plan, graph, NULL);

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
