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
static const iso_link_figures_t default_links[] = {
    {{2e-6, 4e9, 0.0, 0}, 0.0, ISO_COST_DEFAULT},
    {{30e-6, 1.1e9, 0.0, 0}, 0.0, ISO_COST_DEFAULT},
};
static const iso_collective_figures_t default_collective = {1.0, 1.0, 0.0,
                                                            ISO_COST_DEFAULT};

/* A copy reads and writes. */
static const double default_copy_share = 0.5;

/*
 * Share of flops_per_s (of memory_bytes_per_s: move) that the work of a class
 * reaches. Contractions lose some to shapes that do not fill the kernels;
 * elementwise functions and reductions take several instructions for what is
 * counted as one operation.
 */
static const double default_shares[] = {
    [ISO_RATE_CONV_1X1] = 0.6,
    [ISO_RATE_CONV_1X1_SHORT] = 0.6,
    [ISO_RATE_CONV_3X3] = 0.6,
    [ISO_RATE_CONV_LARGE_KERNEL] = 0.6,
    [ISO_RATE_CONV_FEW_CHANNELS] = 0.6,
    [ISO_RATE_CONV_GROUPED] = 0.6,
    [ISO_RATE_CONV_DEPTHWISE] = 0.06,
    [ISO_RATE_MATMUL_LARGE] = 0.6,
    [ISO_RATE_MATMUL_SMALL] = 0.6,
    [ISO_RATE_MATMUL_VALUES] = 0.6,
    [ISO_RATE_MATMUL_SKINNY] = 0.6,
    [ISO_RATE_ELEMENTWISE] = 0.1,
    [ISO_RATE_TRANSCENDENTAL] = 0.1,
    [ISO_RATE_REDUCE] = 0.05,
    [ISO_RATE_NORM] = 0.05,
    [ISO_RATE_POOL] = 0.05,
    [ISO_RATE_MOVE] = 1.0,
};
_Static_assert(sizeof default_shares / sizeof *default_shares ==
                   ISO_RATE_CLASS_COUNT,
               "a share for each class");

const char *const iso__cost_class_names[] = {"measured", "default",
                                             "uncalibrated", NULL};
const char *const iso__link_kind_names[] = {"same_host", "other_host", NULL};
const char *const iso__collective_names[] = {
#define X(name, text) text,
    ISO_COLLECTIVE_MAP(X)
#undef X
        NULL};

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
    memcpy(machine->links, default_links, sizeof machine->links);
    for (int i = 0; i < ISO_COLLECTIVE_COUNT; i++) {
        machine->collectives[i] = default_collective;
    }
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

void iso__machine_rank_settle(iso_machine_rank_t *rank)
{
    for (int i = 0; i < ISO_RATE_CLASS_COUNT; i++) {
        if (rank->rates[i].cost_class > rank->cost_class) {
            rank->cost_class = rank->rates[i].cost_class;
        }
    }
    if (rank->copy_bytes_per_s <= 0.0) {
        rank->copy_bytes_per_s = default_copy_share * rank->memory_bytes_per_s;
    }
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
        iso__machine_rank_settle(&machine->ranks[rank]);
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

/* Devices of a rank that has been set, as copies. */
static iso_status_t copy_devices(iso_machine_t *machine,
                                 iso_machine_rank_t *rank)
{
    const size_t n = (size_t)rank->n_devices;
    iso_machine_device_t *copies;

    if (n == 0) {
        return ISO_OK;
    }
    copies = iso_arena_array(machine->arena, n, sizeof *copies);
    if (copies == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        copies[i] = rank->devices[i];
        copies[i].name = iso_arena_text(machine->arena, copies[i].name);
        copies[i].figures.host = rank->host;
        if (copies[i].name == NULL) {
            return ISO_NOMEM;
        }
        iso__machine_rank_settle(&copies[i].figures);
    }
    rank->devices = copies;
    return ISO_OK;
}

iso_status_t iso_machine_set_rank(iso_machine_t *machine, int rank,
                                  const iso_machine_rank_t *facts)
{
    iso_machine_rank_t copy = *facts;

    ISO_ASSERT(rank >= 0 && rank < machine->world);
    copy.host = iso_arena_text(machine->arena, facts->host);
    if (copy.host == NULL) {
        return ISO_NOMEM;
    }
    iso__machine_rank_settle(&copy);
    ISO_TRY(copy_devices(machine, &copy));
    machine->ranks[rank] = copy;
    return ISO_OK;
}

iso_rate_t iso_machine_rank_rate(const iso_machine_rank_t *rank,
                                 iso_rate_class_t rate_class)
{
    iso_rate_t rate = rank->rates[rate_class];

    if (rate.per_s > 0.0) {
        return rate;
    }
    rate.per_s = default_shares[rate_class] *
                 (iso_rate_class_unit(rate_class) == ISO_RATE_BYTES
                      ? rank->memory_bytes_per_s
                      : rank->flops_per_s);
    if (rate.cost_class != ISO_COST_UNCALIBRATED) {
        rate.cost_class = rank->cost_class;
    }
    return rate;
}

/* -- links and collectives -- */

iso_link_kind_t iso_machine_link_kind(const iso_machine_t *machine, int from,
                                      int to)
{
    const char *from_host = iso_machine_rank(machine, from)->host;
    const char *to_host = iso_machine_rank(machine, to)->host;

    return strcmp(from_host, to_host) == 0 ? ISO_LINK_SAME_HOST
                                           : ISO_LINK_OTHER_HOST;
}

iso_link_t iso_machine_link(const iso_machine_t *machine, int from, int to)
{
    return machine->links[iso_machine_link_kind(machine, from, to)].link;
}

iso_link_t iso_machine_collective(const iso_machine_t *machine,
                                  iso_collective_t collective, int from, int to)
{
    const iso_collective_figures_t *figures =
        iso_machine_collective_figures(machine, collective);
    iso_link_t link = iso_machine_link(machine, from, to);

    link.latency_s *= figures->latency_factor;
    link.handshake_s *= figures->latency_factor;
    link.bytes_per_s /= figures->bytes_factor;
    return link;
}

const iso_link_figures_t *iso_machine_link_figures(const iso_machine_t *machine,
                                                   iso_link_kind_t kind)
{
    ISO_ASSERT((unsigned)kind < ISO_LINK_KIND_COUNT);
    return &machine->links[kind];
}

const iso_collective_figures_t *
iso_machine_collective_figures(const iso_machine_t *machine,
                               iso_collective_t collective)
{
    ISO_ASSERT((unsigned)collective < ISO_COLLECTIVE_COUNT);
    return &machine->collectives[collective];
}

void iso_machine_set_link(iso_machine_t *machine, iso_link_kind_t kind,
                          const iso_link_figures_t *figures)
{
    ISO_ASSERT((unsigned)kind < ISO_LINK_KIND_COUNT);
    machine->links[kind] = *figures;
}

void iso_machine_set_collective(iso_machine_t *machine,
                                iso_collective_t collective,
                                const iso_collective_figures_t *figures)
{
    ISO_ASSERT((unsigned)collective < ISO_COLLECTIVE_COUNT);
    machine->collectives[collective] = *figures;
}

const char *iso_link_kind_string(iso_link_kind_t kind)
{
    ISO_ASSERT((unsigned)kind < ISO_LINK_KIND_COUNT);
    return iso__link_kind_names[kind];
}

const char *iso_collective_string(iso_collective_t collective)
{
    ISO_ASSERT((unsigned)collective < ISO_COLLECTIVE_COUNT);
    return iso__collective_names[collective];
}

const char *iso_cost_class_string(iso_cost_class_t cost_class)
{
    ISO_ASSERT((unsigned)cost_class <= ISO_COST_UNCALIBRATED);
    return iso__cost_class_names[cost_class];
}

double iso_link_seconds(iso_link_t link, double bytes)
{
    const double handshake_s =
        bytes > (double)link.eager_bytes ? link.handshake_s : 0.0;

    return link.latency_s + handshake_s + bytes / link.bytes_per_s;
}

/* -- digest -- */

static void add_links(iso_digest_t *digest, const iso_machine_t *machine)
{
    for (int i = 0; i < ISO_LINK_KIND_COUNT; i++) {
        const iso_link_figures_t *figures = &machine->links[i];
        iso_digest_add_double(digest, figures->link.latency_s);
        iso_digest_add_double(digest, figures->link.bytes_per_s);
        iso_digest_add_double(digest, figures->link.handshake_s);
        iso_digest_add_int(digest, (int64_t)figures->link.eager_bytes);
        iso_digest_add_double(digest, figures->spread);
        iso_digest_add_int(digest, (int64_t)figures->cost_class);
    }
    for (int i = 0; i < ISO_COLLECTIVE_COUNT; i++) {
        const iso_collective_figures_t *figures = &machine->collectives[i];
        iso_digest_add_double(digest, figures->latency_factor);
        iso_digest_add_double(digest, figures->bytes_factor);
        iso_digest_add_double(digest, figures->spread);
        iso_digest_add_int(digest, (int64_t)figures->cost_class);
    }
}

static void add_rank(iso_digest_t *digest, const iso_machine_rank_t *rank)
{
    iso_digest_add_text(digest, rank->host);
    iso_digest_add_int(digest, (int64_t)rank->memory_bytes);
    iso_digest_add_double(digest, rank->flops_per_s);
    iso_digest_add_double(digest, rank->memory_bytes_per_s);
    iso_digest_add_int(digest, (int64_t)rank->cost_class);
    iso_digest_add_double(digest, rank->copy_bytes_per_s);
    for (int i = 0; i < ISO_RATE_CLASS_COUNT; i++) {
        iso_digest_add_double(digest, rank->rates[i].per_s);
        iso_digest_add_double(digest, rank->rates[i].spread);
        iso_digest_add_int(digest, (int64_t)rank->rates[i].cost_class);
    }
}

uint64_t iso_machine_digest(const iso_machine_t *machine)
{
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_text(&digest, "machine");
    iso_digest_add_int(&digest, machine->world);
    add_links(&digest, machine);
    for (int i = 0; i < machine->world; i++) {
        add_rank(&digest, &machine->ranks[i]);
    }
    return iso_digest_end(&digest);
}
