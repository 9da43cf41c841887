#include "plan/seating.h"

#include "isotome/error.h"

#include "base/arena.h"
#include "base/names.h"
#include "plan/machine_impl.h"

#include <string.h>

typedef struct host {
    int first; /* its places: by_host[first] and on */
    int count;
    int taken;
} host_t;

typedef struct seating {
    const iso_grid_t *grid;
    int world;
    int *host_of; /* (world) */
    int *by_host; /* (world) places, which are the machine's ranks, by host */
    int n_hosts;
    host_t *hosts; /* (n_hosts) */
    int *seats;    /* (world) the place of each rank */
} seating_t;

/* Number the hosts in the order of their first ranks. */
static iso_status_t find_hosts(seating_t *seating, const iso_machine_t *machine)
{
    iso_names_t *names = NULL;
    iso_status_t status = iso_names_create(&names);

    for (int place = 0; status == ISO_OK && place < seating->world; place++) {
        const char *name = iso_machine_rank(machine, place)->host;
        int64_t host = seating->n_hosts;

        if (!iso_names_get(names, name, &host)) {
            status = iso_names_set(names, name, host);
            seating->n_hosts++;
        }
        seating->host_of[place] = (int)host;
        seating->hosts[host].count++;
    }
    iso_names_destroy(&names);
    return status;
}

static void sort_places(seating_t *seating)
{
    int first = 0;

    for (int i = 0; i < seating->n_hosts; i++) {
        seating->hosts[i].first = first;
        first += seating->hosts[i].count;
    }
    for (int place = 0; place < seating->world; place++) {
        host_t *host = &seating->hosts[seating->host_of[place]];

        seating->by_host[host->first + host->taken++] = place;
    }
}

static int free_places(const host_t *host)
{
    return host->count - host->taken;
}

static void sit(seating_t *seating, int rank, host_t *host)
{
    seating->seats[rank] = seating->by_host[host->first + host->taken++];
}

static void sit_in_order(seating_t *seating)
{
    memcpy(seating->seats, seating->by_host,
           (size_t)seating->world * sizeof *seating->seats);
}

/* Stages whose workers are not all on one host. */
static int count_parted(const seating_t *seating)
{
    int parted = 0;
    int rank = 0;

    for (int i = 0; i < seating->grid->n_stages; i++) {
        int host = seating->host_of[seating->seats[rank]];
        bool together = true;

        for (int worker = 0; worker < seating->grid->widths[i]; worker++) {
            together =
                together && seating->host_of[seating->seats[rank]] == host;
            rank++;
        }
        parted += together ? 0 : 1;
    }
    return parted;
}

/* With the fewest free places of those that have enough; where none has, with
 * the most. */
static host_t *best_host(const seating_t *seating, int width)
{
    host_t *best = NULL;

    for (int i = 0; i < seating->n_hosts; i++) {
        host_t *host = &seating->hosts[i];
        int places = free_places(host);

        if (best == NULL ||
            (free_places(best) < width
                 ? places > free_places(best)
                 : places >= width && places < free_places(best))) {
            best = host;
        }
    }
    return best;
}

static void sit_stage(seating_t *seating, int first, int width)
{
    int seated = 0;

    while (seated < width) {
        host_t *host = best_host(seating, width - seated);

        while (seated < width && free_places(host) > 0) {
            sit(seating, first + seated++, host);
        }
    }
}

static void sit_by_width(seating_t *seating)
{
    const iso_grid_t *grid = seating->grid;
    int widest = 0;
    int used = 0;

    for (int i = 0; i < seating->n_hosts; i++) {
        seating->hosts[i].taken = 0;
    }
    for (int i = 0; i < grid->n_stages; i++) {
        widest = grid->widths[i] > widest ? grid->widths[i] : widest;
    }
    for (int width = widest; width > 0; width--) {
        used = 0;
        for (int i = 0; i < grid->n_stages; i++) {
            if (grid->widths[i] == width) {
                sit_stage(seating, used, width);
            }
            used += grid->widths[i];
        }
    }
    for (int i = 0; i < seating->n_hosts; i++) { /* idle ranks */
        while (free_places(&seating->hosts[i]) > 0) {
            sit(seating, used++, &seating->hosts[i]);
        }
    }
}

static iso_status_t copy_machine(const iso_machine_t *machine, const int *seats,
                                 iso_machine_t **copy_out)
{
    ISO_TRY(iso__machine_create(machine->world, copy_out));
    memcpy((*copy_out)->links, machine->links, sizeof machine->links);
    memcpy((*copy_out)->collectives, machine->collectives,
           sizeof machine->collectives);
    for (int rank = 0; rank < machine->world; rank++) {
        iso_status_t status = iso_machine_set_rank(
            *copy_out, rank, iso_machine_rank(machine, seats[rank]));

        if (status != ISO_OK) {
            iso_machine_destroy(copy_out);
            return status;
        }
    }
    return ISO_OK;
}

static iso_status_t seat(seating_t *seating, const iso_machine_t *machine,
                         iso_machine_t **seated_out)
{
    ISO_TRY(find_hosts(seating, machine));
    sort_places(seating);
    sit_in_order(seating);
    int parted = count_parted(seating);
    if (parted > 0) {
        sit_by_width(seating);
        if (count_parted(seating) >= parted) {
            sit_in_order(seating);
        }
    }
    return copy_machine(machine, seating->seats, seated_out);
}

iso_status_t iso_seating_create(const iso_machine_t *machine,
                                const iso_grid_t *grid,
                                iso_machine_t **seated_out)
{
    const size_t world = (size_t)iso_machine_world(machine);
    iso_arena_t *arena = NULL;
    iso_status_t status = ISO_NOMEM;
    seating_t seating = {.grid = grid, .world = (int)world};

    *seated_out = NULL;
    ISO_TRY(iso_arena_create(&arena));
    seating.host_of = iso_arena_array(arena, world, sizeof *seating.host_of);
    seating.by_host = iso_arena_array(arena, world, sizeof *seating.by_host);
    seating.hosts = iso_arena_array(arena, world, sizeof *seating.hosts);
    seating.seats = iso_arena_array(arena, world, sizeof *seating.seats);
    if (seating.host_of != NULL && seating.by_host != NULL &&
        seating.hosts != NULL && seating.seats != NULL) {
        status = seat(&seating, machine, seated_out);
    }
    iso_arena_destroy(&arena);
    return status;
}
