#include "isotome/device_map.h"

#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "plan/place/device_prices.h"
#include "plan/place/device_spec.h"

#include <string.h>

/* One PATTERN=DEVICE|DEVICE of a rule; or, of one by cost, all of it. */
typedef struct clause {
    const char *pattern;
    int n_devices;
    int devices[ISO_DEVICES_MOST]; /* (n_devices) numbers, the first choice
                                    * first */
} clause_t;

struct iso_device_map {
    int seat;
    char *text; /* of the patterns */
    int n_devices;
    iso_device_spec_t devices[ISO_DEVICES_MOST]; /* (n_devices) */
    int n_clauses;
    clause_t *clauses;                   /* (n_clauses) */
    iso_device_map_function_t *function; /* NULL: by the clauses */
    void *arg;
    bool by_cost; /* one clause; the devices' figures say which does what */
    iso_device_figures_t figures[ISO_DEVICES_MOST]; /* (n_devices) */
};

/* ---- Reading a rule ---- */

static int find_device(const iso_device_map_t *map, const char *name)
{
    for (int i = 0; i < map->n_devices; i++) {
        if (strcmp(map->devices[i].name, name) == 0) {
            return i;
        }
    }
    return ISO_NO_DEVICE;
}

static iso_status_t add_device(iso_device_map_t *map, const char *name,
                               int *number_out)
{
    *number_out = find_device(map, name);
    if (*number_out != ISO_NO_DEVICE) {
        return ISO_OK;
    }
    if (map->n_devices == ISO_DEVICES_MOST) {
        return iso_fail(ISO_INVAL,
                        "device '%s' is one more than the %d that there can be",
                        name, (int)ISO_DEVICES_MOST);
    }
    *number_out = map->n_devices;
    ISO_TRY(iso__device_spec_parse(name, &map->devices[*number_out]));
    map->n_devices++;
    return ISO_OK;
}

/* Cut a text at the first of a character: what is behind it, or NULL. */
static char *cut_at(char *text, char border)
{
    char *found = strchr(text, border);

    if (found != NULL) {
        *found = '\0';
        found++;
    }
    return found;
}

/* "cuda|cpu" */
static iso_status_t read_devices(iso_device_map_t *map, clause_t *clause,
                                 char *names)
{
    for (char *name = names; name != NULL;) {
        char *next = cut_at(name, '|');

        if (clause->n_devices == ISO_DEVICES_MOST) {
            return iso_fail(ISO_INVAL, "pattern '%s' has more than %d devices",
                            clause->pattern, (int)ISO_DEVICES_MOST);
        }
        ISO_TRY(add_device(map, name, &clause->devices[clause->n_devices]));
        clause->n_devices++;
        name = next;
    }
    return ISO_OK;
}

static iso_status_t read_clause(iso_device_map_t *map, char *text)
{
    clause_t *clause = &map->clauses[map->n_clauses++];
    char *devices = cut_at(text, '=');

    *clause = (clause_t){.pattern = devices != NULL ? text : "*"};
    if (clause->pattern[0] == '\0') {
        return iso_fail(ISO_INVAL,
                        "place '=%s' has no pattern; '*' is for all nodes",
                        devices);
    }
    return read_devices(map, clause, devices != NULL ? devices : text);
}

static iso_status_t read_clauses(iso_device_map_t *map)
{
    for (char *clause = map->text; clause != NULL;) {
        char *next = cut_at(clause, ',');

        ISO_TRY(read_clause(map, clause));
        clause = next;
    }
    return ISO_OK;
}

/* One clause of all devices there are. */
static void finish_cost(iso_device_map_t *map)
{
    clause_t *clause = map->clauses;

    map->by_cost = true;
    map->n_clauses = 1;
    clause->pattern = "cost";
    clause->n_devices = map->n_devices;
    for (int i = 0; i < map->n_devices; i++) {
        clause->devices[i] = i;
    }
}

static iso_status_t read_rule(iso_device_map_t *map, const char *rule)
{
    static const char cost[] = "cost:";
    const size_t length = sizeof cost - 1;
    size_t most = 1;

    for (const char *at = rule; *at != '\0'; at++) {
        most += *at == ',' ? 1 : 0;
    }
    map->text = iso_text_copy(rule);
    map->clauses = iso_alloc_zeroed(most, sizeof *map->clauses);
    if (map->text == NULL || map->clauses == NULL) {
        return ISO_NOMEM;
    }
    if (strncmp(map->text, cost, length) != 0) {
        return read_clauses(map);
    }
    map->clauses->pattern = "cost";
    ISO_TRY(read_devices(map, map->clauses, map->text + length));
    finish_cost(map);
    return ISO_OK;
}

/* ---- Life ---- */

static iso_status_t start(iso_device_map_t **map_out)
{
    *map_out = iso_alloc_zeroed(1, sizeof **map_out);
    return *map_out == NULL ? ISO_NOMEM : ISO_OK;
}

iso_status_t iso_device_map_create(const char *rule, iso_device_map_t **map_out)
{
    ISO_TRY(start(map_out));

    const iso_status_t status = read_rule(*map_out, rule);

    if (status != ISO_OK) {
        iso_device_map_destroy(map_out);
    }
    return status;
}

static iso_status_t add_devices(iso_device_map_t *map,
                                const char *const *devices, int n_devices)
{
    if (n_devices < 1) {
        return iso_fail(ISO_INVAL,
                        "%d devices to place nodes on, expected 1 to %d",
                        n_devices, (int)ISO_DEVICES_MOST);
    }
    for (int i = 0; i < n_devices; i++) {
        int number = 0;

        ISO_TRY(add_device(map, devices[i], &number));
        if (number != i) {
            return iso_fail(ISO_INVAL, "device '%s' is named twice",
                            devices[i]);
        }
    }
    return ISO_OK;
}

iso_status_t iso_device_map_create_from(const char *const *devices,
                                        int n_devices,
                                        iso_device_map_function_t *function,
                                        void *arg, iso_device_map_t **map_out)
{
    ISO_TRY(start(map_out));
    (*map_out)->function = function;
    (*map_out)->arg = arg;

    const iso_status_t status = add_devices(*map_out, devices, n_devices);

    if (status != ISO_OK) {
        iso_device_map_destroy(map_out);
    }
    return status;
}

iso_status_t iso_device_map_create_cost(const char *const *devices,
                                        int n_devices,
                                        const iso_machine_rank_t *rank,
                                        iso_device_map_t **map_out)
{
    iso_status_t status;

    ISO_TRY(start(map_out));
    (*map_out)->clauses = iso_alloc_zeroed(1, sizeof *(*map_out)->clauses);
    status = (*map_out)->clauses == NULL
                 ? ISO_NOMEM
                 : add_devices(*map_out, devices, n_devices);
    if (status != ISO_OK) {
        iso_device_map_destroy(map_out);
        return status;
    }
    finish_cost(*map_out);
    iso_device_map_set_rank(*map_out, rank);
    return ISO_OK;
}

void iso_device_map_set_rank(iso_device_map_t *map,
                             const iso_machine_rank_t *rank)
{
    for (int i = 0; i < map->n_devices; i++) {
        map->figures[i] = iso__device_figures_of(rank, &map->devices[i]);
    }
}

void iso_device_map_destroy(iso_device_map_t **map)
{
    if (*map != NULL) {
        iso_free((*map)->text);
        iso_free((*map)->clauses);
        iso_free(*map);
        *map = NULL;
    }
}

int iso_device_map_device_count(const iso_device_map_t *map)
{
    return map->n_devices;
}

const iso_device_spec_t *iso_device_map_device(const iso_device_map_t *map,
                                               int number)
{
    const size_t index = (size_t)number;

    ISO_ASSERT(index < (size_t)map->n_devices);
    return &map->devices[index];
}

void iso_device_map_set_seat(iso_device_map_t *map, int seat)
{
    map->seat = seat;
}

int iso_device_map_seat(const iso_device_map_t *map)
{
    return map->seat;
}

/* ---- A device that is not there ---- */

static void drop(clause_t *clause, int number)
{
    int kept = 0;

    for (int i = 0; i < clause->n_devices; i++) {
        if (clause->devices[i] != number) {
            clause->devices[kept++] = clause->devices[i];
        }
    }
    clause->n_devices = kept;
}

iso_status_t iso_device_map_leave_out(iso_device_map_t *map, int number)
{
    const char *name = map->devices[number].name;

    if (map->function != NULL) {
        return iso_fail(ISO_UNSUPPORTED,
                        "the function that places nodes may name '%s'", name);
    }
    for (int i = 0; i < map->n_clauses; i++) {
        clause_t *clause = &map->clauses[i];

        drop(clause, number);
        if (clause->n_devices == 0) {
            return iso_fail(ISO_UNSUPPORTED,
                            "'%s' has no other device; give one to fall back "
                            "on: '%s%c%s|cpu'",
                            clause->pattern, clause->pattern,
                            map->by_cost ? ':' : '=', name);
        }
    }
    return ISO_OK;
}

/* ---- Placing ---- */

/* Whether a text matches a pattern of * and ?. */
static bool matches(const char *pattern, const char *text)
{
    const char *star = NULL; /* the last one met, and where it began */
    const char *from = NULL;

    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

static bool is_for(const char *pattern, const iso_node_t *node)
{
    return pattern[0] == '@' ? matches(pattern + 1, iso_op_string(node->op))
                             : matches(pattern, node->name);
}

static iso_status_t fail_exact(const iso_device_map_t *map,
                               const clause_t *clause, const iso_node_t *node)
{
    iso_text_t names = {0};

    for (int i = 0; i < clause->n_devices; i++) {
        iso_text_add(&names, "%s'%s'", i == 0 ? "" : ", ",
                     map->devices[clause->devices[i]].name);
    }

    const iso_status_t status =
        names.status != ISO_OK
            ? names.status
            : iso_fail(ISO_UNSUPPORTED,
                       "node '%s': device %s does not compute %s in %s "
                       "exactly; give one to fall back on: '%s%c%s|cpu'",
                       node->name, names.data, iso_op_string(node->op),
                       iso_dtype_string(node->dtype), clause->pattern,
                       map->by_cost ? ':' : '=',
                       map->devices[clause->devices[0]].name);

    iso_text_free(&names);
    return status;
}

static iso_status_t choose(const iso_device_map_t *map,
                           const iso_graph_t *graph, iso_node_id_t id,
                           const clause_t *clause, int *device_out)
{
    for (int i = 0; i < clause->n_devices; i++) {
        if (iso_device_does(&map->devices[clause->devices[i]], graph, id)) {
            *device_out = clause->devices[i];
            return ISO_OK;
        }
    }
    return fail_exact(map, clause, iso_graph_node(graph, id));
}

static iso_status_t by_function(const iso_device_map_t *map,
                                const iso_graph_t *graph, iso_node_id_t id,
                                int *device_out)
{
    const int number = map->function(map->arg, graph, id);
    const clause_t clause = {"*", 1, {number}};

    if (number < 0 || number >= map->n_devices) {
        return iso_fail(ISO_INVAL,
                        "node '%s' is placed on device number %d, expected "
                        "one of %d",
                        iso_graph_node(graph, id)->name, number,
                        map->n_devices);
    }
    return choose(map, graph, id, &clause, device_out);
}

static iso_status_t by_clauses(const iso_device_map_t *map,
                               const iso_graph_t *graph, iso_node_id_t id,
                               int *device_out)
{
    const iso_node_t *node = iso_graph_node(graph, id);

    for (int i = 0; i < map->n_clauses; i++) {
        if (map->by_cost || is_for(map->clauses[i].pattern, node)) {
            return choose(map, graph, id, &map->clauses[i], device_out);
        }
    }
    return iso_fail(ISO_INVAL,
                    "node '%s' is placed nowhere: no pattern matches it; end "
                    "the rule with '*=cpu'",
                    node->name);
}

/* ---- Placing by cost ---- */

/* Names of the devices as in a rule. */
static void add_names(const iso_device_map_t *map, const clause_t *clause,
                      iso_text_t *text)
{
    for (int i = 0; i < clause->n_devices; i++) {
        iso_text_add(text, "%s%s", i == 0 ? "" : "|",
                     map->devices[clause->devices[i]].name);
    }
}

static iso_status_t check_figures(const iso_device_map_t *map,
                                  const clause_t *clause)
{
    for (int i = 0; i < clause->n_devices; i++) {
        const int number = clause->devices[i];
        iso_text_t names = {0};

        if (map->figures[number].is_known) {
            continue;
        }
        add_names(map, clause, &names);
        const iso_status_t status =
            names.status != ISO_OK
                ? names.status
                : iso_fail(ISO_INVAL,
                           "to place by cost takes a machine file with "
                           "figures of device '%s' for this rank: write one "
                           "with isotome calibrate --device '%s' -o M.json "
                           "and give --machine M.json",
                           map->devices[number].name, names.data);

        iso_text_free(&names);
        return status;
    }
    return ISO_OK;
}

/* device_of [in,out] the first device that computes each node. */
static iso_status_t place_by_cost(const iso_device_map_t *map,
                                  const iso_graph_t *graph, int *device_of)
{
    const clause_t *clause = map->clauses;
    iso_priced_device_t devices[ISO_DEVICES_MOST];

    if (clause->n_devices == 1) {
        return ISO_OK;
    }
    ISO_TRY(check_figures(map, clause));
    for (int i = 0; i < clause->n_devices; i++) {
        devices[i] = (iso_priced_device_t){&map->devices[clause->devices[i]],
                                           &map->figures[clause->devices[i]]};
    }
    ISO_TRY(
        iso__device_prices_place(graph, devices, clause->n_devices, device_of));
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        if (device_of[id] != ISO_NO_DEVICE) {
            device_of[id] = clause->devices[device_of[id]];
        }
    }
    return ISO_OK;
}

iso_status_t iso_placement_create(const iso_graph_t *graph,
                                  const iso_device_map_t *map,
                                  iso_placement_t *placement_out)
{
    const int32_t n = iso_graph_node_count(graph);
    iso_status_t status = ISO_OK;

    *placement_out = (iso_placement_t){
        .n_nodes = n, .device_of = iso_alloc_zeroed((size_t)n, sizeof(int))};
    if (placement_out->device_of == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; status == ISO_OK && id < n; id++) {
        int *device = &placement_out->device_of[id];

        *device = ISO_NO_DEVICE;
        if (iso__node_has_device(iso_graph_node(graph, id))) {
            status = map->function != NULL ? by_function(map, graph, id, device)
                                           : by_clauses(map, graph, id, device);
        }
    }
    if (status == ISO_OK && map->by_cost) {
        status = place_by_cost(map, graph, placement_out->device_of);
    }
    if (status != ISO_OK) {
        iso_placement_free(placement_out);
    }
    return status;
}

void iso_placement_free(iso_placement_t *placement)
{
    iso_free(placement->device_of);
    *placement = (iso_placement_t){0};
}
