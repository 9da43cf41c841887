/* Plan to JSON. */
#include "isotome/error.h"

#include "plan/machine_impl.h"
#include "plan/plan_impl.h"
#include "plan/plan_json.h"
#include "plan/plan_json_impl.h"

#include <inttypes.h>
#include <stdio.h>

const iso__plan_member_t iso__plan_members[] = {
    {"weight_bytes", offsetof(iso_plan_part_t, weight_bytes)},
    {"held_bytes", offsetof(iso_plan_part_t, held_bytes)},
    {"activation_bytes", offsetof(iso_plan_part_t, activation_bytes)},
    {"scratch_bytes", offsetof(iso_plan_part_t, scratch_bytes)},
    {"buffer_bytes", offsetof(iso_plan_part_t, buffer_bytes)},
    {"peak_bytes", offsetof(iso_plan_part_t, peak_bytes)},
    {"receive_bytes", offsetof(iso_plan_part_t, receive_bytes)},
    {"send_bytes", offsetof(iso_plan_part_t, send_bytes)},
    {"exchange_bytes", offsetof(iso_plan_part_t, exchange_bytes)},
    {NULL, 0},
};

size_t iso__plan_member_of(const iso_plan_part_t *part,
                           const iso__plan_member_t *member)
{
    return *(const size_t *)((const char *)part + member->offset);
}

const char *iso__digest_text(uint64_t digest, char *buffer)
{
    (void)snprintf(buffer, ISO__DIGEST_TEXT_BYTES, "%016" PRIx64, digest);
    return buffer;
}

/* Takes both over; false when value is NULL or memory ran out. */
static bool append(json_t *array, json_t *value)
{
    return json_array_append_new(array, value) == 0;
}

static json_t *split_to_json(const iso_layer_split_t *split)
{
    json_t *array = json_array();

    for (int rank = 0; rank < split->world; rank++) {
        if (!append(array, json_integer(split->counts[rank]))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *part_to_json(const iso_plan_part_t *part)
{
    json_t *json = json_pack(
        "{s:i, s:i, s:i, s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f}", "rank",
        part->rank, "stage", part->stage, "worker", part->worker, "host",
        part->host, "figures", iso__cost_class_names[part->figures],
        "first_layer", (json_int_t)part->layers.start, "layers",
        (json_int_t)part->layers.count, "flops", part->flops, "compute_s",
        part->compute_s, "exchange_s", part->exchange_s, "send_s",
        part->send_s);

    for (const iso__plan_member_t *member = iso__plan_members;
         json != NULL && member->key != NULL; member++) {
        size_t bytes = iso__plan_member_of(part, member);
        if (json_object_set_new(json, member->key,
                                json_integer((json_int_t)bytes)) != 0) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

static json_t *parts_to_json(const iso_plan_t *plan)
{
    json_t *array = json_array();

    for (int rank = 0; rank < plan->used; rank++) {
        if (!append(array, part_to_json(&plan->parts[rank]))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *grid_to_json(const iso_plan_t *plan)
{
    json_t *array = json_array();

    for (int group = 0; group < plan->n_stages; group++) {
        if (!append(array, json_integer(plan->widths[group]))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *boundary_to_json(const iso_boundary_t *boundary)
{
    char shape[ISO_SHAPE_TEXT_BYTES];

    return json_pack("{s:s, s:s, s:s, s:i, s:i}", "name", boundary->name,
                     "dtype", iso_dtype_string(boundary->dtype), "shape",
                     iso_shape_text(&boundary->shape, shape), "from_stage",
                     boundary->from_stage, "to_stage", boundary->to_stage);
}

static json_t *boundaries_to_json(const iso_plan_t *plan)
{
    json_t *array = json_array();

    for (int i = 0; i < plan->n_boundaries; i++) {
        if (!append(array, boundary_to_json(&plan->boundaries[i]))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *tied_to_json(const iso_plan_t *plan)
{
    json_t *array = json_array();

    for (int i = 0; i < plan->n_tied; i++) {
        if (!append(array, json_string(plan->tied[i]))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* "s?" writes null for a batch that there is none of. */
static json_t *plan_to_json(const iso_plan_t *plan)
{
    char graph_digest[ISO__DIGEST_TEXT_BYTES];
    char digest[ISO__DIGEST_TEXT_BYTES];

    return json_pack(
        "{s:s, s:i, s:s, s:s, s:i, s:i, s:o, s:i, s:s?, s:I, s:I, s:s, s:o, "
        "s:o, s:s, s:f, s:f, s:o, s:o, s:o, s:o}",
        "format", "isotome-plan", "format_version", ISO__PLAN_FORMAT_VERSION,
        "digest", iso__digest_text(iso_plan_digest(plan), digest),
        "graph_digest", iso__digest_text(plan->graph_digest, graph_digest),
        "world", plan->world, "used", plan->used, "grid", grid_to_json(plan),
        "layer_count", plan->layer_count, "batch", plan->batch, "micro_batch",
        (json_int_t)plan->micro_batch, "samples", (json_int_t)plan->samples,
        "split_kind", iso__split_kind_names[plan->split_kind], "split",
        split_to_json(&plan->split), "cuts", iso__plan_cuts_to_json(plan),
        "figures", iso__cost_class_names[plan->figures], "seconds",
        iso_plan_seconds(plan, 0), "bubble", iso_plan_bubble(plan, 0), "parts",
        parts_to_json(plan), "exchanges", iso__plan_exchanges_to_json(plan),
        "boundaries", boundaries_to_json(plan), "tied", tied_to_json(plan));
}

iso_status_t iso_plan_to_json(const iso_plan_t *plan, json_t **json_out)
{
    *json_out = plan_to_json(plan);
    if (*json_out == NULL) {
        return iso_fail(ISO_NOMEM, "out of memory: cannot print the plan");
    }
    return ISO_OK;
}

iso_status_t iso_plan_write(const iso_plan_t *plan, const char *path)
{
    json_t *json = NULL;

    ISO_TRY(iso_plan_to_json(plan, &json));
    iso_status_t status = iso_json_write(json, path);
    json_decref(json);
    return status;
}
