/* The machine file: isotome-machine(5). */
#include "isotome/error.h"
#include "isotome/layer_split.h"

#include "base/json.h"
#include "plan/machine_impl.h"

#include <math.h>
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

static iso_status_t read_rank(const iso_json_t *in, iso_machine_t *machine,
                              iso_machine_rank_t *rank)
{
    static const char *const keys[] = {"host",        "memory_bytes",
                                       "flops_per_s", "memory_bytes_per_s",
                                       "cost",        NULL};
    int64_t memory_bytes = 0;

    ISO_TRY(iso_json_only(in, keys));
    ISO_TRY(iso_json_text(in, "host", &rank->host));
    if (rank->host[0] == '\0') {
        return iso_json_fail(in, "'host' is empty");
    }
    rank->host = iso_arena_text(machine->arena, rank->host);
    if (rank->host == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(iso_json_int(in, "memory_bytes", 1, INT64_MAX, &memory_bytes));
    rank->memory_bytes = (size_t)memory_bytes;
    ISO_TRY(read_rate(in, "flops_per_s", &rank->flops_per_s));
    ISO_TRY(read_rate(in, "memory_bytes_per_s", &rank->memory_bytes_per_s));
    return read_class(in, &rank->cost_class);
}

static iso_status_t read_link(const iso_json_t *in, const char *key,
                              iso_link_t *link)
{
    static const char *const keys[] = {"latency_s", "bytes_per_s", NULL};
    iso_json_t member;

    ISO_TRY(iso_json_object(in, key, &member));
    ISO_TRY(iso_json_only(&member, keys));
    ISO_TRY(iso_json_double(&member, "latency_s", &link->latency_s));
    if (!(link->latency_s >= 0.0 && link->latency_s < INFINITY)) {
        return iso_json_fail(&member,
                             "'latency_s' is %g, expected a finite number, at "
                             "least 0",
                             link->latency_s);
    }
    return read_rate(&member, "bytes_per_s", &link->bytes_per_s);
}

static iso_status_t read_links(const iso_json_t *in, iso_machine_t *machine)
{
    static const char *const keys[] = {"same_host", "other_host", NULL};
    iso_json_t links;

    ISO_TRY(iso_json_object(in, "links", &links));
    ISO_TRY(iso_json_only(&links, keys));
    ISO_TRY(read_link(&links, "same_host", &machine->same_host));
    return read_link(&links, "other_host", &machine->other_host);
}

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
    static const char *const keys[] = {"format", "format_version", "links",
                                       "ranks", NULL};
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

static json_t *link_to_json(iso_link_t link)
{
    return json_pack("{s:f, s:f}", "latency_s", link.latency_s, "bytes_per_s",
                     link.bytes_per_s);
}

static json_t *rank_to_json(const iso_machine_rank_t *rank)
{
    return json_pack("{s:s, s:I, s:f, s:f, s:s}", "host", rank->host,
                     "memory_bytes", (json_int_t)rank->memory_bytes,
                     "flops_per_s", rank->flops_per_s, "memory_bytes_per_s",
                     rank->memory_bytes_per_s, "cost",
                     iso__cost_class_names[rank->cost_class]);
}

static json_t *machine_to_json(const iso_machine_t *machine)
{
    json_t *ranks = json_array();

    for (int i = 0; i < machine->world; i++) {
        /* A NULL element makes the append fail, and with it the packing. */
        if (json_array_append_new(ranks, rank_to_json(&machine->ranks[i])) !=
            0) {
            json_decref(ranks);
            return NULL;
        }
    }
    return json_pack("{s:s, s:i, s:{s:o, s:o}, s:o}", "format",
                     "isotome-machine", "format_version", FORMAT_VERSION,
                     "links", "same_host", link_to_json(machine->same_host),
                     "other_host", link_to_json(machine->other_host), "ranks",
                     ranks);
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
