/* The machine file: isotome-machine(5). */
#include "plan/machine_json.h"

#include "isotome/error.h"
#include "isotome/layer_split.h"

#include "base/json.h"
#include "plan/machine_impl.h"
#include "plan/place/device_spec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT_VERSION = 1 };

/* -- read -- */

static iso_status_t read_rate(const iso_json_t *in, const char *key,
                              double *out)
{
    ISO_TRY(iso_json_double(in, key, out));
    if (!(*out > 0.0 && *out < INFINITY)) {
        return iso_json_fail(in, "'%s' is %g, expected a finite number over 0",
                             key, *out);
    }
    return ISO_OK;
}

static iso_status_t read_least_0(const iso_json_t *in, const char *key,
                                 double *out)
{
    ISO_TRY(iso_json_double(in, key, out));
    if (!(*out >= 0.0 && *out < INFINITY)) {
        return iso_json_fail(
            in, "'%s' is %g, expected a finite number, at least 0", key, *out);
    }
    return ISO_OK;
}

/* Left out: 0. */
static iso_status_t read_spread(const iso_json_t *in, double *out)
{
    *out = 0.0;
    return iso_json_has(in, "spread") ? read_least_0(in, "spread", out)
                                      : ISO_OK;
}

static iso_status_t read_class(const iso_json_t *in, iso_cost_class_t *out)
{
    const char *text = NULL;

    ISO_TRY(iso_json_text(in, "cost", &text));
    for (int i = 0; iso__cost_class_names[i] != NULL; i++) {
        if (strcmp(text, iso__cost_class_names[i]) == 0) {
            *out = (iso_cost_class_t)i;
            return ISO_OK;
        }
    }
    return iso_json_fail(in,
                         "'cost' is '%s', expected measured, default or "
                         "uncalibrated",
                         text);
}

/* -- ranks -- */

static iso_status_t read_class_rate(const iso_json_t *rates,
                                    iso_rate_class_t rate_class,
                                    iso_rate_t *rate)
{
    const char *figure = iso_rate_class_unit(rate_class) == ISO_RATE_BYTES
                             ? "bytes_per_s"
                             : "flops_per_s";
    const char *const keys[] = {figure, "spread", "cost", NULL};
    iso_json_t in;

    if (!iso_json_has(rates, iso_rate_class_string(rate_class))) {
        return ISO_OK;
    }
    ISO_TRY(iso_json_object(rates, iso_rate_class_string(rate_class), &in));
    ISO_TRY(iso_json_only(&in, keys));
    ISO_TRY(read_class(&in, &rate->cost_class));
    ISO_TRY(read_spread(&in, &rate->spread));
    if (rate->cost_class == ISO_COST_UNCALIBRATED &&
        !iso_json_has(&in, figure)) {
        return ISO_OK;
    }
    return read_rate(&in, figure, &rate->per_s);
}

static iso_status_t read_class_rates(const iso_json_t *rank,
                                     iso_rate_t *rates_out)
{
    const char *names[ISO_RATE_CLASS_COUNT + 1] = {NULL};
    iso_json_t rates;

    if (!iso_json_has(rank, "rates")) {
        return ISO_OK;
    }
    for (int i = 0; i < ISO_RATE_CLASS_COUNT; i++) {
        names[i] = iso_rate_class_string((iso_rate_class_t)i);
    }
    ISO_TRY(iso_json_object(rank, "rates", &rates));
    ISO_TRY(iso_json_only(&rates, names));
    for (int i = 0; i < ISO_RATE_CLASS_COUNT; i++) {
        ISO_TRY(read_class_rate(&rates, (iso_rate_class_t)i, &rates_out[i]));
    }
    return ISO_OK;
}

/* Left out: 0, for the default. */
static iso_status_t read_copy_rate(const iso_json_t *in, double *out)
{
    *out = 0.0;
    return iso_json_has(in, "copy_bytes_per_s")
               ? read_rate(in, "copy_bytes_per_s", out)
               : ISO_OK;
}

static iso_status_t read_host(const iso_json_t *in, iso_machine_t *machine,
                              const char **host_out)
{
    const char *host = NULL;

    ISO_TRY(iso_json_text(in, "host", &host));
    if (host[0] == '\0') {
        return iso_json_fail(in, "'host' is empty");
    }
    *host_out = iso_arena_text(machine->arena, host);
    return *host_out == NULL ? ISO_NOMEM : ISO_OK;
}

static iso_status_t read_speed(const iso_json_t *in, iso_machine_rank_t *rank)
{
    ISO_TRY(read_rate(in, "flops_per_s", &rank->flops_per_s));
    ISO_TRY(read_rate(in, "memory_bytes_per_s", &rank->memory_bytes_per_s));
    ISO_TRY(read_class(in, &rank->cost_class));
    ISO_TRY(read_copy_rate(in, &rank->copy_bytes_per_s));
    ISO_TRY(read_class_rates(in, rank->rates));
    iso__machine_rank_settle(rank);
    return ISO_OK;
}

/* -- devices of a rank -- */

/* One that there is, and none of those before. */
static iso_status_t read_device_name(const iso_json_t *in,
                                     iso_machine_t *machine,
                                     const iso_machine_rank_t *rank,
                                     const char **name_out)
{
    iso_device_spec_t spec;
    const char *name = NULL;

    ISO_TRY(iso_json_text(in, "name", &name));
    if (iso__device_spec_parse(name, &spec) != ISO_OK) {
        char reason[ISO_ERROR_TEXT_BYTES];

        (void)snprintf(reason, sizeof reason, "%s", iso_error_text());
        return iso_json_fail(in, "'name': %s", reason);
    }
    for (int i = 0; i < rank->n_devices; i++) {
        if (strcmp(rank->devices[i].name, name) == 0) {
            return iso_json_fail(in, "'name': there is a device '%s' already",
                                 name);
        }
    }
    *name_out = iso_arena_text(machine->arena, name);
    return *name_out == NULL ? ISO_NOMEM : ISO_OK;
}

static iso_status_t read_device(const iso_json_t *in, iso_machine_t *machine,
                                const iso_machine_rank_t *rank,
                                iso_machine_device_t *device)
{
    static const char *const keys[] = {"name",
                                       "flops_per_s",
                                       "memory_bytes_per_s",
                                       "cost",
                                       "copy_bytes_per_s",
                                       "rates",
                                       "crossing_latency_s",
                                       "crossing_bytes_per_s",
                                       NULL};

    ISO_TRY(iso_json_only(in, keys));
    ISO_TRY(read_device_name(in, machine, rank, &device->name));
    ISO_TRY(
        read_least_0(in, "crossing_latency_s", &device->crossing_latency_s));
    ISO_TRY(
        read_rate(in, "crossing_bytes_per_s", &device->crossing_bytes_per_s));
    device->figures.host = rank->host;
    device->figures.memory_bytes = rank->memory_bytes;
    return read_speed(in, &device->figures);
}

/* Left out: none. */
static iso_status_t read_devices(const iso_json_t *in, iso_machine_t *machine,
                                 iso_machine_rank_t *rank)
{
    iso_machine_device_t *devices;
    iso_json_t list;

    if (!iso_json_has(in, "devices")) {
        return ISO_OK;
    }
    ISO_TRY(iso_json_array(in, "devices", &list));
    if (iso_json_size(&list) > ISO_DEVICES_MOST) {
        return iso_json_fail(&list, "%zu devices, expected at most %d",
                             iso_json_size(&list), (int)ISO_DEVICES_MOST);
    }
    devices =
        iso_arena_array(machine->arena, ISO_DEVICES_MOST, sizeof *devices);
    if (devices == NULL) {
        return ISO_NOMEM;
    }
    rank->devices = devices;
    for (size_t i = 0; i < iso_json_size(&list); i++) {
        const iso_json_t one = iso_json_at(&list, i);

        ISO_TRY(read_device(&one, machine, rank, &devices[i]));
        rank->n_devices++;
    }
    return ISO_OK;
}

static iso_status_t read_rank(const iso_json_t *in, iso_machine_t *machine,
                              iso_machine_rank_t *rank)
{
    static const char *const keys[] = {
        "host", "memory_bytes",     "flops_per_s", "memory_bytes_per_s",
        "cost", "copy_bytes_per_s", "rates",       "devices",
        NULL};
    int64_t memory_bytes = 0;

    ISO_TRY(iso_json_only(in, keys));
    ISO_TRY(read_host(in, machine, &rank->host));
    ISO_TRY(iso_json_int(in, "memory_bytes", 1, INT64_MAX, &memory_bytes));
    rank->memory_bytes = (size_t)memory_bytes;
    ISO_TRY(read_speed(in, rank));
    return read_devices(in, machine, rank);
}

/* -- links and collectives -- */

/* Left out: default. A pair of ranks is measured or not; there is none that
 * must not be used. */
static iso_status_t read_link_class(const iso_json_t *in, iso_cost_class_t *out)
{
    *out = ISO_COST_DEFAULT;
    if (!iso_json_has(in, "cost")) {
        return ISO_OK;
    }
    ISO_TRY(read_class(in, out));
    if (*out == ISO_COST_UNCALIBRATED) {
        return iso_json_fail(
            in, "'cost' is 'uncalibrated', expected measured or default");
    }
    return ISO_OK;
}

/* Both or neither; left out, nothing waits. */
static iso_status_t read_handshake(const iso_json_t *in, iso_link_t *link)
{
    int64_t eager_bytes = 0;

    link->handshake_s = 0.0;
    link->eager_bytes = 0;
    if (!iso_json_has(in, "handshake_s") && !iso_json_has(in, "eager_bytes")) {
        return ISO_OK;
    }
    ISO_TRY(read_least_0(in, "handshake_s", &link->handshake_s));
    ISO_TRY(iso_json_int(in, "eager_bytes", 0, INT64_MAX, &eager_bytes));
    link->eager_bytes = (size_t)eager_bytes;
    return ISO_OK;
}

static iso_status_t read_link(const iso_json_t *in, const char *key,
                              iso_link_figures_t *figures)
{
    static const char *const keys[] = {
        "latency_s", "bytes_per_s", "handshake_s", "eager_bytes",
        "spread",    "cost",        NULL};
    iso_json_t member;

    ISO_TRY(iso_json_object(in, key, &member));
    ISO_TRY(iso_json_only(&member, keys));
    ISO_TRY(read_least_0(&member, "latency_s", &figures->link.latency_s));
    ISO_TRY(read_rate(&member, "bytes_per_s", &figures->link.bytes_per_s));
    ISO_TRY(read_handshake(&member, &figures->link));
    ISO_TRY(read_spread(&member, &figures->spread));
    return read_link_class(&member, &figures->cost_class);
}

static iso_status_t read_links(const iso_json_t *in, iso_machine_t *machine)
{
    iso_json_t links;

    ISO_TRY(iso_json_object(in, "links", &links));
    ISO_TRY(iso_json_only(&links, iso__link_kind_names));
    for (int i = 0; i < ISO_LINK_KIND_COUNT; i++) {
        ISO_TRY(read_link(&links, iso__link_kind_names[i], &machine->links[i]));
    }
    return ISO_OK;
}

static iso_status_t read_collective(const iso_json_t *in, const char *key,
                                    iso_collective_figures_t *figures)
{
    static const char *const keys[] = {"latency_factor", "bytes_factor",
                                       "spread", "cost", NULL};
    iso_json_t member;

    if (!iso_json_has(in, key)) {
        return ISO_OK;
    }
    ISO_TRY(iso_json_object(in, key, &member));
    ISO_TRY(iso_json_only(&member, keys));
    ISO_TRY(read_rate(&member, "latency_factor", &figures->latency_factor));
    ISO_TRY(read_rate(&member, "bytes_factor", &figures->bytes_factor));
    ISO_TRY(read_spread(&member, &figures->spread));
    return read_link_class(&member, &figures->cost_class);
}

static iso_status_t read_collectives(const iso_json_t *in,
                                     iso_machine_t *machine)
{
    iso_json_t collectives;

    if (!iso_json_has(in, "collectives")) {
        return ISO_OK;
    }
    ISO_TRY(iso_json_object(in, "collectives", &collectives));
    ISO_TRY(iso_json_only(&collectives, iso__collective_names));
    for (int i = 0; i < ISO_COLLECTIVE_COUNT; i++) {
        ISO_TRY(read_collective(&collectives, iso__collective_names[i],
                                &machine->collectives[i]));
    }
    return ISO_OK;
}

/* -- the file -- */

static iso_status_t read_ranks(const iso_json_t *ranks, iso_machine_t *machine)
{
    for (int i = 0; i < machine->world; i++) {
        iso_json_t rank = iso_json_at(ranks, (size_t)i);
        ISO_TRY(read_rank(&rank, machine, &machine->ranks[i]));
    }
    return ISO_OK;
}

static iso_status_t read_head(const iso_json_t *file)
{
    static const char *const keys[] = {"format",      "format_version", "links",
                                       "collectives", "ranks",          NULL};
    const char *format = NULL;
    int64_t version = 0;

    ISO_TRY(iso_json_text(file, "format", &format));
    if (strcmp(format, "isotome-machine") != 0) {
        return iso_json_fail(
            file, "'format' is '%s', expected 'isotome-machine'", format);
    }
    ISO_TRY(iso_json_int(file, "format_version", FORMAT_VERSION, FORMAT_VERSION,
                         &version));
    return iso_json_only(file, keys);
}

static iso_status_t read_machine(const iso_json_t *file,
                                 iso_machine_t **machine_out)
{
    iso_json_t ranks;
    iso_status_t status;

    ISO_TRY(read_head(file));
    ISO_TRY(iso_json_array(file, "ranks", &ranks));
    size_t world = iso_json_size(&ranks);
    if (world < 1 || world > ISO_MAX_WORLD) {
        return iso_json_fail(&ranks, "%zu ranks, expected 1 to %d", world,
                             (int)ISO_MAX_WORLD);
    }
    ISO_TRY(iso__machine_create((int)world, machine_out));
    status = read_links(file, *machine_out);
    if (status == ISO_OK) {
        status = read_collectives(file, *machine_out);
    }
    if (status == ISO_OK) {
        status = read_ranks(&ranks, *machine_out);
    }
    if (status != ISO_OK) {
        iso_machine_destroy(machine_out);
    }
    return status;
}

iso_status_t iso_machine_read(const char *path, iso_machine_t **machine_out)
{
    iso_json_t file;

    *machine_out = NULL;
    ISO_TRY(iso_json_read(path, &file));
    iso_status_t status = read_machine(&file, machine_out);
    json_decref(file.value);
    return status;
}

/* -- write -- */

/*
 * A json_t that is NULL, for want of memory, makes whatever it is packed into
 * NULL too; so the last one tells.
 */
static json_t *link_to_json(const iso_link_figures_t *figures)
{
    return json_pack(
        "{s:f, s:f, s:f, s:I, s:f, s:s}", "latency_s", figures->link.latency_s,
        "bytes_per_s", figures->link.bytes_per_s, "handshake_s",
        figures->link.handshake_s, "eager_bytes",
        (json_int_t)figures->link.eager_bytes, "spread", figures->spread,
        "cost", iso__cost_class_names[figures->cost_class]);
}

static json_t *collective_to_json(const iso_collective_figures_t *figures)
{
    return json_pack("{s:f, s:f, s:f, s:s}", "latency_factor",
                     figures->latency_factor, "bytes_factor",
                     figures->bytes_factor, "spread", figures->spread, "cost",
                     iso__cost_class_names[figures->cost_class]);
}

static json_t *collectives_to_json(const iso_machine_t *machine)
{
    json_t *object = json_object();

    for (int i = 0; i < ISO_COLLECTIVE_COUNT; i++) {
        if (json_object_set_new(object, iso__collective_names[i],
                                collective_to_json(&machine->collectives[i])) !=
            0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *rate_to_json(const iso_rate_t *rate, iso_rate_unit_t unit)
{
    const char *cost = iso__cost_class_names[rate->cost_class];

    if (rate->per_s <= 0.0) {
        return json_pack("{s:f, s:s}", "spread", rate->spread, "cost", cost);
    }
    return json_pack("{s:f, s:f, s:s}",
                     unit == ISO_RATE_BYTES ? "bytes_per_s" : "flops_per_s",
                     rate->per_s, "spread", rate->spread, "cost", cost);
}

/* Rates that say something; an empty object is left away. */
static json_t *rates_to_json(const iso_machine_rank_t *rank)
{
    json_t *object = json_object();

    for (int i = 0; i < ISO_RATE_CLASS_COUNT; i++) {
        const iso_rate_class_t rate_class = (iso_rate_class_t)i;
        const iso_rate_t *rate = &rank->rates[i];

        if (rate->per_s <= 0.0 && rate->cost_class != ISO_COST_UNCALIBRATED) {
            continue;
        }
        if (json_object_set_new(
                object, iso_rate_class_string(rate_class),
                rate_to_json(rate, iso_rate_class_unit(rate_class))) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* Into an object; rates that are all left away are left away too. */
static int add_speed(json_t *object, const iso_machine_rank_t *rank)
{
    json_t *speed = json_pack(
        "{s:f, s:f, s:f, s:s, s:o}", "flops_per_s", rank->flops_per_s,
        "memory_bytes_per_s", rank->memory_bytes_per_s, "copy_bytes_per_s",
        rank->copy_bytes_per_s, "cost", iso__cost_class_names[rank->cost_class],
        "rates", rates_to_json(rank));
    int failed;

    if (json_object_size(json_object_get(speed, "rates")) == 0) {
        (void)json_object_del(speed, "rates");
    }
    failed = json_object_update(object, speed);
    json_decref(speed);
    return failed;
}

static json_t *device_to_json(const iso_machine_device_t *device)
{
    json_t *object =
        json_pack("{s:s, s:f, s:f}", "name", device->name, "crossing_latency_s",
                  device->crossing_latency_s, "crossing_bytes_per_s",
                  device->crossing_bytes_per_s);

    if (object != NULL && add_speed(object, &device->figures) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static int add_devices(json_t *object, const iso_machine_rank_t *rank)
{
    json_t *devices = json_array();

    for (int i = 0; i < rank->n_devices; i++) {
        if (json_array_append_new(devices, device_to_json(&rank->devices[i])) !=
            0) {
            json_decref(devices);
            return -1;
        }
    }
    return json_object_set_new(object, "devices", devices);
}

static json_t *rank_to_json(const iso_machine_rank_t *rank)
{
    json_t *object = json_pack("{s:s, s:I}", "host", rank->host, "memory_bytes",
                               (json_int_t)rank->memory_bytes);

    if (object != NULL &&
        (add_speed(object, rank) != 0 ||
         (rank->n_devices > 0 && add_devices(object, rank) != 0))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *ranks_to_json(const iso_machine_t *machine)
{
    json_t *ranks = json_array();

    for (int i = 0; i < machine->world; i++) {
        if (json_array_append_new(ranks, rank_to_json(&machine->ranks[i])) !=
            0) {
            json_decref(ranks);
            return NULL;
        }
    }
    return ranks;
}

static json_t *machine_to_json(const iso_machine_t *machine)
{
    return json_pack("{s:s, s:i, s:{s:o, s:o}, s:o, s:o}", "format",
                     "isotome-machine", "format_version", FORMAT_VERSION,
                     "links", iso__link_kind_names[ISO_LINK_SAME_HOST],
                     link_to_json(&machine->links[ISO_LINK_SAME_HOST]),
                     iso__link_kind_names[ISO_LINK_OTHER_HOST],
                     link_to_json(&machine->links[ISO_LINK_OTHER_HOST]),
                     "collectives", collectives_to_json(machine), "ranks",
                     ranks_to_json(machine));
}

iso_status_t iso_machine_print(const iso_machine_t *machine, char **text_out)
{
    json_t *json = machine_to_json(machine);

    *text_out = NULL;
    if (json == NULL) {
        return iso_fail(ISO_NOMEM, "out of memory: cannot print a machine");
    }
    iso_status_t status = iso_json_print(json, 2, text_out);
    json_decref(json);
    return status;
}

iso_status_t iso_machine_write(const iso_machine_t *machine, const char *path)
{
    json_t *json = machine_to_json(machine);

    if (json == NULL) {
        return iso_fail(ISO_NOMEM, "out of memory: cannot print '%s'", path);
    }
    iso_status_t status = iso_json_write(json, path);
    json_decref(json);
    return status;
}
