#include "isotome/machine.h"

#include "isotome/error.h"
#include "isotome/layer_split.h"

#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "plan/machine_impl.h"

#include <string.h>

/*
 * Default figures: on the careful side for any x86-64 server of the last ten
 * years, one core for each rank. 60 GF/s is what one AVX2 core sustains in
 * single precision; AVX-512 cores do about twice that. 8 GB/s is a core's
 * share of the memory of a full socket. Inside a host messages are copies;
 * between hosts a 10 Gbit/s Ethernet is assumed.
 */
static const double default_flops_per_s = 60e9;
static const double default_memory_bytes_per_s = 8e9;
static const size_t default_memory_bytes = (size_t)4 << 30;
static const iso_link_t default_same_host = {2e-6, 4e9};
static const iso_link_t default_other_host = {30e-6, 1.1e9};

const char *const iso__cost_class_names[] = {"measured", "default",
                                             "uncalibrated", NULL};

iso_status_t iso__machine_create(int world, iso_machine_t **machine_out)
{
    iso_machine_t *machine;
    iso_status_t status;

    *machine_out = NULL;
    if (world < 1 || world > ISO_MAX_WORLD) {
        return iso_fail(ISO_INVAL, "a machine of %d ranks, expected 1 to %d",
                        world, (int)ISO_MAX_WORLD);
    }
    machine = iso_alloc_zeroed(1, sizeof *machine);
    if (machine == NULL) {
        return ISO_NOMEM;
    }
    machine->world = world;
    status = iso_arena_create(&machine->arena);
    if (status == ISO_OK) {
        machine->ranks = iso_arena_array(machine->arena, (size_t)world,
                                         sizeof *machine->ranks);
        status = machine->ranks == NULL ? ISO_NOMEM : ISO_OK;
    }
    if (status != ISO_OK) {
        iso_machine_destroy(&machine);
    }
    *machine_out = machine;
    return status;
}

void iso_machine_destroy(iso_machine_t **machine)
{
    iso_machine_t *dead = *machine;

    if (dead == NULL) {
        return;
    }
    iso_arena_destroy(&dead->arena);
    iso_free(dead);
    *machine = NULL;
}

/* Ranks lie on hosts one host after the other; the last may hold fewer. */
static iso_status_t fill_hosts(iso_machine_t *machine, int ranks_per_host,
                               size_t host_memory_bytes)
{
    const char *host = NULL;
    size_t share = default_memory_bytes;

    for (int rank = 0; rank < machine->world; rank++) {
        if (rank % ranks_per_host == 0) {
            int left = machine->world - rank;
            int here = left < ranks_per_host ? left : ranks_per_host;
            host = iso_arena_format(machine->arena, "host%d",
                                    rank / ranks_per_host);
            if (host == NULL) {
                return ISO_NOMEM;
            }
            share = host_memory_bytes == 0 ? default_memory_bytes
                                           : host_memory_bytes / (size_t)here;
        }
        machine->ranks[rank] = (iso_machine_rank_t){
            .host = host,
            .memory_bytes = share,
            .flops_per_s = default_flops_per_s,
            .memory_bytes_per_s = default_memory_bytes_per_s,
            .cost_class = ISO_COST_DEFAULT,
        };
    }
    return ISO_OK;
}

iso_status_t iso_machine_default(int world, int ranks_per_host,
                                 size_t host_memory_bytes,
                                 iso_machine_t **machine_out)
{
    *machine_out = NULL;
    if (ranks_per_host < 0) {
        return iso_fail(ISO_INVAL,
                        "%d ranks for each host, expected at least "
                        "0 (0: all on one host)",
                        ranks_per_host);
    }
    ISO_TRY(iso__machine_create(world, machine_out));
    (*machine_out)->same_host = default_same_host;
    (*machine_out)->other_host = default_other_host;
    iso_status_t status =
        fill_hosts(*machine_out, ranks_per_host == 0 ? world : ranks_per_host,
                   host_memory_bytes);
    if (status != ISO_OK) {
        iso_machine_destroy(machine_out);
    }
    return status;
}

int iso_machine_world(const iso_machine_t *machine)
{
    return machine->world;
}

const iso_machine_rank_t *iso_machine_rank(const iso_machine_t *machine,
                                           int rank)
{
    ISO_ASSERT(rank >= 0 && rank < machine->world);
    return &machine->ranks[rank];
}

iso_status_t iso_machine_set_rank(iso_machine_t *machine, int rank,
                                  const iso_machine_rank_t *facts)
{
    char *host = iso_arena_text(machine->arena, facts->host);

    ISO_ASSERT(rank >= 0 && rank < machine->world);
    if (host == NULL) {
        return ISO_NOMEM;
    }
    machine->ranks[rank] = *facts;
    machine->ranks[rank].host = host;
    return ISO_OK;
}

iso_link_t iso_machine_link(const iso_machine_t *machine, int from, int to)
{
    const char *from_host = iso_machine_rank(machine, from)->host;
    const char *to_host = iso_machine_rank(machine, to)->host;

    return strcmp(from_host, to_host) == 0 ? machine->same_host
                                           : machine->other_host;
}

double iso_link_seconds(iso_link_t link, size_t bytes)
{
    return link.latency_s + (double)bytes / link.bytes_per_s;
}

static void add_link(iso_digest_t *digest, iso_link_t link)
{
    iso_digest_add_double(digest, link.latency_s);
    iso_digest_add_double(digest, link.bytes_per_s);
}

uint64_t iso_machine_digest(const iso_machine_t *machine)
{
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_text(&digest, "machine");
    iso_digest_add_int(&digest, machine->world);
    add_link(&digest, machine->same_host);
    add_link(&digest, machine->other_host);
    for (int i = 0; i < machine->world; i++) {
        const iso_machine_rank_t *rank = &machine->ranks[i];
        iso_digest_add_text(&digest, rank->host);
        iso_digest_add_int(&digest, (int64_t)rank->memory_bytes);
        iso_digest_add_double(&digest, rank->flops_per_s);
        iso_digest_add_double(&digest, rank->memory_bytes_per_s);
        iso_digest_add_int(&digest, (int64_t)rank->cost_class);
    }
    return iso_digest_end(&digest);
}
