/*
 * vswitch: an Ethernet switch between network namespaces, in user space, whose
 * cables have a latency and a bandwidth and can be cut.
 *
 *     vswitch DELAY_US RATE_MBIT NAMESPACE... <COMMANDS
 *
 * makes a TAP device e0 in each namespace (/proc/PID/ns/net) and says "ready".
 * Each frame leaves DELAY_US after it came, and after the frames before it
 * have passed the receiver's cable at RATE_MBIT (0: without limit). Lines on
 * stdin "cut N" and "heal N", namespaces counted from 1, pull a cable, so that
 * frames vanish both ways without a word, and plug it in again. Ends with
 * stdin.
 *
 * Linux has netem for this, but not every kernel does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_PORTS = 64,
    MOST_FRAME_BYTES = 9100,
    ADDRESS_BYTES = 6,
    HEADER_BYTES = 14,
    BURST = 32, /* frames read from one port before the others have a turn */
    COMMAND_BYTES = 256,
};

/* What waits longer than this for a cable is dropped, as by a switch whose
 * buffer is full. */
static const double most_backlog_s = 0.2;

/* A frame on its way. Latency is the same for all, so that the frames to a
 * port leave in the order in which they came. */
typedef struct frame {
    struct frame *next;
    double due_s;
    size_t length;
    unsigned char bytes[];
} frame_t;

typedef struct port {
    int device;
    unsigned char address[ADDRESS_BYTES];
    bool cut;
    double free_s; /* when the cable has taken all that was sent so far */
    frame_t *first;
    frame_t *last;
} port_t;

typedef struct network {
    int n_ports;
    port_t ports[MOST_PORTS];
    double delay_s;
    double bytes_per_s; /* 0: no limit */
} network_t;

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool failed(const char *what)
{
    (void)fprintf(stderr, "vswitch: %s: %s\n", what, strerror(errno));
    return false;
}

/* In the namespace that the process is in. */
static bool port_open(port_t *port)
{
    struct ifreq request = {.ifr_name = "e0"};

    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    port->device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (port->device < 0 || ioctl(port->device, TUNSETIFF, &request) != 0 ||
        ioctl(port->device, SIOCGIFHWADDR, &request) != 0) {
        return failed("/dev/net/tun");
    }
    memcpy(port->address, request.ifr_hwaddr.sa_data, ADDRESS_BYTES);
    return true;
}

static bool enter(const char *path)
{
    int name_space = open(path, O_RDONLY | O_CLOEXEC);

    if (name_space < 0 || setns(name_space, CLONE_NEWNET) != 0) {
        return failed(path);
    }
    (void)close(name_space);
    return true;
}

static bool network_open(network_t *network, int n_ports, char **paths)
{
    for (int i = 0; i < n_ports; i++) {
        if (!enter(paths[i]) || !port_open(&network->ports[i])) {
            return false;
        }
    }
    network->n_ports = n_ports;
    return true;
}

static void send_later(network_t *network, port_t *to,
                       const unsigned char *bytes, size_t length)
{
    double sent_s = now_s();

    if (network->bytes_per_s > 0) {
        double begin_s = to->free_s > sent_s ? to->free_s : sent_s;

        if (begin_s - sent_s > most_backlog_s) {
            return;
        }
        to->free_s = begin_s + (double)length / network->bytes_per_s;
        sent_s = to->free_s;
    }
    frame_t *frame = malloc(sizeof *frame + length);
    if (frame == NULL) {
        return; /* a lost frame */
    }
    frame->next = NULL;
    frame->due_s = sent_s + network->delay_s;
    frame->length = length;
    memcpy(frame->bytes, bytes, length);
    if (to->first == NULL) {
        to->first = frame;
    } else {
        to->last->next = frame;
    }
    to->last = frame;
}

/* To the port of its address, or to all others. */
static void forward(network_t *network, const port_t *from,
                    const unsigned char *bytes, size_t length)
{
    port_t *ports = network->ports;

    for (int i = 0; i < network->n_ports; i++) {
        if (memcmp(ports[i].address, bytes, ADDRESS_BYTES) == 0) {
            send_later(network, &ports[i], bytes, length);
            return;
        }
    }
    for (int i = 0; i < network->n_ports; i++) {
        if (&ports[i] != from) {
            send_later(network, &ports[i], bytes, length);
        }
    }
}

static void receive(network_t *network, const port_t *from)
{
    unsigned char bytes[MOST_FRAME_BYTES];

    for (int i = 0; i < BURST; i++) {
        ssize_t length = read(from->device, bytes, sizeof bytes);

        if (length < HEADER_BYTES) {
            return;
        }
        if (!from->cut) {
            forward(network, from, bytes, (size_t)length);
        }
    }
}

/* A frame that the device does not take is lost. */
static void deliver_due(network_t *network)
{
    double time_s = now_s();

    for (int i = 0; i < network->n_ports; i++) {
        port_t *port = &network->ports[i];

        while (port->first != NULL && port->first->due_s <= time_s) {
            frame_t *frame = port->first;

            port->first = frame->next;
            if (!port->cut &&
                write(port->device, frame->bytes, frame->length) < 0 &&
                errno != EAGAIN && errno != EIO) {
                (void)failed("e0"); /* EIO: the device is down */
            }
            free(frame);
        }
    }
}

static struct timespec until_next(const network_t *network)
{
    double wait_s = 1.0;
    double time_s = now_s();

    for (int i = 0; i < network->n_ports; i++) {
        const frame_t *first = network->ports[i].first;

        if (first != NULL && first->due_s - time_s < wait_s) {
            wait_s = first->due_s > time_s ? first->due_s - time_s : 0.0;
        }
    }
    return (struct timespec){.tv_sec = wait_s < 1.0 ? 0 : 1,
                             .tv_nsec =
                                 wait_s < 1.0 ? (long)(wait_s * 1e9) : 0};
}

/* False at the end of the commands. A line comes whole: it is short, and
 * stdin a pipe. */
static bool obey(network_t *network)
{
    char text[COMMAND_BYTES + 1];
    ssize_t length = read(STDIN_FILENO, text, COMMAND_BYTES);
    char *rest = text;
    char *line = NULL;

    if (length <= 0) {
        return false;
    }
    text[length] = '\0';
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        bool cut = strncmp(line, "cut ", 4) == 0;
        long number = strtol(strchr(line, ' ') != NULL ? strchr(line, ' ') : "",
                             NULL, 10);

        if ((!cut && strncmp(line, "heal ", 5) != 0) || number < 1 ||
            number > network->n_ports) {
            (void)fprintf(stderr, "vswitch: '%s' is no command\n", line);
            return false;
        }
        network->ports[number - 1].cut = cut;
    }
    return true;
}

static bool carry(network_t *network)
{
    struct pollfd watched[MOST_PORTS + 1];
    const int n_ports = network->n_ports;

    for (int i = 0; i < n_ports; i++) {
        watched[i] =
            (struct pollfd){.fd = network->ports[i].device, .events = POLLIN};
    }
    watched[n_ports] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (;;) {
        struct timespec wait = until_next(network);

        if (ppoll(watched, (nfds_t)n_ports + 1, &wait, NULL) < 0) {
            return failed("ppoll");
        }
        for (int i = 0; i < n_ports; i++) {
            if ((watched[i].revents & POLLIN) != 0) {
                receive(network, &network->ports[i]);
            }
        }
        if (watched[n_ports].revents != 0 && !obey(network)) {
            return true;
        }
        deliver_due(network);
    }
}

int main(int argc, char **argv)
{
    static network_t network;

    if (argc < 4 || argc - 3 > MOST_PORTS) {
        (void)fprintf(stderr,
                      "usage: vswitch DELAY_US RATE_MBIT NAMESPACE...\n");
        return 2;
    }
    network.delay_s = strtod(argv[1], NULL) * 1e-6;
    network.bytes_per_s = strtod(argv[2], NULL) * 1e6 / 8;
    if (!network_open(&network, argc - 3, argv + 3)) {
        return 1;
    }
    (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL); /* nanoseconds */
    (void)puts("ready");
    (void)fflush(stdout);
    return carry(&network) ? 0 : 1;
}
