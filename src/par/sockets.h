/*
 * Sockets: does the other end of this process's TCP connections still answer?
 *
 * A host that loses power or its cable says nothing, and MPI waits for it as
 * for a slow one. But the kernel of a host that is there answers keepalive
 * probes and acknowledges data, also when its processes compute or are
 * stopped. So silence is that of the host.
 */
#ifndef ISO_SOCKETS_H
#define ISO_SOCKETS_H

#include "par/hosts.h"

/*
 * Look at all TCP connections of this process to other hosts with ranks:
 * switch keepalive on where it is not, and find one that is silent.
 *
 * For any thread. hosts [in] of the job
 * limit_s  [in]  silence that counts
 * Returns a rank on a host that has been silent for that long; -1: none. Where
 * keepalive was off, what was silent before is heard again within two seconds;
 * ask again before you believe it.
 */
int iso_sockets_find_silent(const iso_hosts_t *hosts, double limit_s);

#endif
