/*
 * Hosts: the names of the hosts that the ranks of a job are on, and the
 * addresses of these hosts.
 *
 *     ISO_TRY(iso_hosts_gather(comm, &hosts));
 *     iso_fail(..., "rank %d on %s", peer, iso_hosts_name(hosts, peer));
 *     iso_hosts_free(&hosts);
 */
#ifndef ISO_HOSTS_H
#define ISO_HOSTS_H

#include "isotome/status.h"

#include "base/text.h"

#include <mpi.h>

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

typedef struct iso_hosts iso_hosts_t;

/* Collective over comm. Errors: ISO_NOMEM. */
iso_status_t iso_hosts_gather(MPI_Comm comm, iso_hosts_t **hosts_out);
void iso_hosts_free(iso_hosts_t **hosts);

/* Of a rank; "?" when hosts is NULL. */
const char *iso_hosts_name(const iso_hosts_t *hosts, int rank);

/* Are two ranks on one host? */
bool iso_hosts_share(const iso_hosts_t *hosts, int a, int b);

/* Are there ranks on different hosts? */
bool iso_hosts_are_several(const iso_hosts_t *hosts);

/*
 * The lowest rank on the other host that has an address; -1 when it is this
 * host's, or of none that has ranks.
 *
 * address  [in]  IPv4 ones mapped: ::ffff:a.b.c.d
 */
int iso_hosts_find(const iso_hosts_t *hosts, const struct in6_addr *address);

/* Add "rank 3 to 5, 8", those on the host of this rank; at most four runs. */
void iso_hosts_add_ranks(const iso_hosts_t *hosts, int rank, iso_text_t *text);

/* An address as above; false when it is no IP address. */
bool iso_hosts_address(const struct sockaddr *from, struct in6_addr *to_out);

#endif
