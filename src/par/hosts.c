#include "par/hosts.h"

#include "base/mem.h"
#include "par/par.h"

#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { NAME_BYTES = 64, MOST_ADDRESSES = 12, MOST_RUNS = 4 };

/* Plain bytes, gathered. */
typedef struct host {
    char name[NAME_BYTES];
    int32_t n_addresses;
    struct in6_addr addresses[MOST_ADDRESSES];
} host_t;

struct iso_hosts {
    int size;
    int rank;
    host_t *of; /* (size) */
};

bool iso_hosts_address(const struct sockaddr *from, struct in6_addr *to_out)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    if (from->sa_family == AF_INET) {
        struct sockaddr_in four;

        memcpy(&four, from, sizeof four);
        memcpy(to_out->s6_addr, mapped, sizeof mapped);
        memcpy(to_out->s6_addr + sizeof mapped, &four.sin_addr,
               sizeof four.sin_addr);
        return true;
    }
    if (from->sa_family == AF_INET6) {
        struct sockaddr_in6 six;

        memcpy(&six, from, sizeof six);
        *to_out = six.sin6_addr;
        return true;
    }
    return false;
}

/* Loopback, and what is told from others only by the interface. */
static bool is_local(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_LINKLOCAL(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

/* A host whose addresses cannot be listed is found by none. */
static void fill_here(host_t *host)
{
    struct ifaddrs *list = NULL;

    memset(host, 0, sizeof *host);
    (void)snprintf(host->name, sizeof host->name, "%s", iso_par_host());
    if (getifaddrs(&list) != 0) {
        return;
    }
    for (const struct ifaddrs *at = list;
         at != NULL && host->n_addresses < MOST_ADDRESSES; at = at->ifa_next) {
        struct in6_addr *address = &host->addresses[host->n_addresses];

        if (at->ifa_addr != NULL && iso_hosts_address(at->ifa_addr, address) &&
            !is_local(address)) {
            host->n_addresses++;
        }
    }
    freeifaddrs(list);
}

iso_status_t iso_hosts_gather(MPI_Comm comm, iso_hosts_t **hosts_out)
{
    iso_hosts_t *hosts = iso_alloc_zeroed(1, sizeof *hosts);
    host_t mine;

    *hosts_out = NULL;
    if (hosts != NULL) {
        hosts->size = iso_par_size(comm);
        hosts->rank = iso_par_rank(comm);
        hosts->of = iso_alloc_zeroed((size_t)hosts->size, sizeof *hosts->of);
    }
    iso_status_t status = iso_par_agree(
        hosts != NULL && hosts->of != NULL ? ISO_OK : ISO_NOMEM, comm);

    if (status != ISO_OK || hosts == NULL) {
        iso_hosts_free(&hosts);
        return status;
    }
    fill_here(&mine);
    ISO_CHECK_MPI(MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, hosts->of,
                                (int)sizeof mine, MPI_BYTE, comm));
    *hosts_out = hosts;
    return ISO_OK;
}

void iso_hosts_free(iso_hosts_t **hosts)
{
    if (*hosts != NULL) {
        iso_free((*hosts)->of);
        iso_free(*hosts);
        *hosts = NULL;
    }
}

const char *iso_hosts_name(const iso_hosts_t *hosts, int rank)
{
    return hosts == NULL ? "?" : hosts->of[rank].name;
}

bool iso_hosts_share(const iso_hosts_t *hosts, int a, int b)
{
    return strcmp(hosts->of[a].name, hosts->of[b].name) == 0;
}

bool iso_hosts_are_several(const iso_hosts_t *hosts)
{
    for (int rank = 1; rank < hosts->size; rank++) {
        if (!iso_hosts_share(hosts, 0, rank)) {
            return true;
        }
    }
    return false;
}

static bool has_address(const host_t *host, const struct in6_addr *address)
{
    for (int i = 0; i < host->n_addresses; i++) {
        if (IN6_ARE_ADDR_EQUAL(&host->addresses[i], address)) {
            return true;
        }
    }
    return false;
}

int iso_hosts_find(const iso_hosts_t *hosts, const struct in6_addr *address)
{
    if (has_address(&hosts->of[hosts->rank], address)) {
        return -1;
    }
    for (int rank = 0; rank < hosts->size; rank++) {
        if (has_address(&hosts->of[rank], address)) {
            return rank;
        }
    }
    return -1;
}

void iso_hosts_add_ranks(const iso_hosts_t *hosts, int rank, iso_text_t *text)
{
    int runs = 0;

    for (int first = 0; first < hosts->size && runs < MOST_RUNS; first++) {
        int last = first;

        if (!iso_hosts_share(hosts, first, rank)) {
            continue;
        }
        while (last + 1 < hosts->size &&
               iso_hosts_share(hosts, last + 1, rank)) {
            last++;
        }
        iso_text_add(text, "%s%d", runs == 0 ? "rank " : ", ", first);
        if (last > first) {
            iso_text_add(text, " to %d", last);
        }
        first = last;
        runs++;
    }
}
