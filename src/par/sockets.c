#include "par/sockets.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* MPI itself must not take the connection for broken before its rank says
 * what is wrong, nor when the cable is back in time: as many probes as can
 * be. Seconds. */
enum { IDLE_S = 1, INTERVAL_S = 1, PROBES = 127 };

/* The kernel's number of the state. */
enum { ESTABLISHED = 1 };

/* Windows that a peer keeps closed are asked for at growing intervals; so many
 * times without an answer is silence. */
enum { CLOSED_PROBES = 3 };

static bool get_option(int file, int level, int name, int *value_out)
{
    socklen_t bytes = sizeof *value_out;

    return getsockopt(file, level, name, value_out, &bytes) == 0;
}

static void set_option(int file, int level, int name, int value)
{
    (void)setsockopt(file, level, name, &value, sizeof value);
}

/* The rank at the other end; -1: this is no such connection. */
static int peer_of(const iso_hosts_t *hosts, int file)
{
    struct sockaddr_storage address;
    struct in6_addr plain;
    socklen_t bytes = sizeof address;
    int type = 0;

    if (!get_option(file, SOL_SOCKET, SO_TYPE, &type) || type != SOCK_STREAM ||
        getpeername(file, (struct sockaddr *)&address, &bytes) != 0 ||
        !iso_hosts_address((const struct sockaddr *)&address, &plain)) {
        return -1;
    }
    return iso_hosts_find(hosts, &plain);
}

/* Was it on? */
static bool keep_alive(int file)
{
    int idle_s = 0;
    int is_on = 0;

    if (get_option(file, SOL_SOCKET, SO_KEEPALIVE, &is_on) && is_on != 0 &&
        get_option(file, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s) &&
        idle_s == IDLE_S) {
        return true;
    }
    set_option(file, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
    set_option(file, IPPROTO_TCP, TCP_KEEPINTVL, INTERVAL_S);
    set_option(file, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
    set_option(file, SOL_SOCKET, SO_KEEPALIVE, 1);
    return false;
}

/* What was sent and lost is repeated at intervals that double: it takes
 * longer to be answered than a probe of keepalive. */
static const double repeat_s = 2.5;

/* Seconds since the other end's kernel should have been heard. */
static double silence_s(int file)
{
    struct tcp_info info;
    socklen_t bytes = sizeof info;

    memset(&info, 0, sizeof info);
    if (getsockopt(file, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 ||
        info.tcpi_state != ESTABLISHED) {
        return 0;
    }
    const bool is_closed =
        info.tcpi_unacked == 0 && info.tcpi_notsent_bytes > 0;
    const uint32_t silence_ms =
        info.tcpi_last_ack_recv < info.tcpi_last_data_recv
            ? info.tcpi_last_ack_recv
            : info.tcpi_last_data_recv;

    if (is_closed && info.tcpi_probes < CLOSED_PROBES) {
        return 0;
    }
    return silence_ms / 1e3 - (info.tcpi_unacked > 0 ? repeat_s : 0);
}

int iso_sockets_find_silent(const iso_hosts_t *hosts, double limit_s)
{
    DIR *folder = opendir("/proc/self/fd");
    int silent = -1;

    if (folder == NULL) {
        return -1;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        const int file = (int)strtol(entry->d_name, NULL, 10);
        const int peer = entry->d_name[0] == '.' ? -1 : peer_of(hosts, file);

        if (peer >= 0 && keep_alive(file) && silence_s(file) >= limit_s) {
            silent = peer;
        }
    }
    (void)closedir(folder);
    return silent;
}
