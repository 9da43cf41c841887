#include "par/wait.h"

#include <stdatomic.h>

/* Written by the thread that calls MPI, read by the watchdog's. The number is
 * odd while this rank waits; the rest holds when it is the same before and
 * after it was read. */
static struct {
    atomic_uint_least64_t number;
    atomic_int kind;
    atomic_int peer;
    atomic_int n_peers;
    atomic_int least_s;
    atomic_int_least64_t micro_batch;
    _Atomic(const char *) op;
    _Atomic(const char *) value;
    _Atomic(const char *) phase;
} now;

static int depth; /* of waits, of which the outermost counts */

#define STORE(field, value) \
    atomic_store_explicit(&now.field, (value), memory_order_relaxed)
#define LOAD(field) atomic_load_explicit(&now.field, memory_order_relaxed)

static void turn_number(void)
{
    STORE(number, LOAD(number) + 1);
}

void iso_wait_begin(const iso_wait_t *wait)
{
    if (depth++ > 0) {
        return;
    }
    STORE(kind, (int)wait->kind);
    STORE(peer, wait->peer);
    STORE(n_peers, wait->n_peers);
    STORE(micro_batch, wait->micro_batch);
    STORE(op, wait->op);
    STORE(value, wait->value);
    atomic_thread_fence(memory_order_release);
    turn_number();
}

void iso_wait_begin_call(const char *call)
{
    if (depth++ > 0) {
        return;
    }
    STORE(kind, (int)ISO_WAIT_ALL);
    STORE(op, call);
    STORE(value, NULL);
    atomic_thread_fence(memory_order_release);
    turn_number();
}

void iso_wait_end(void)
{
    if (--depth == 0) {
        turn_number();
        atomic_thread_fence(memory_order_release);
    }
}

void iso_wait_phase(const char *phase, int least_s)
{
    STORE(phase, phase);
    STORE(least_s, least_s);
}

bool iso_wait_look(iso_wait_seen_t *seen_out)
{
    const uint64_t before =
        atomic_load_explicit(&now.number, memory_order_acquire);

    seen_out->number = before;
    seen_out->wait = (iso_wait_t){
        .kind = (iso_wait_kind_t)LOAD(kind),
        .op = LOAD(op),
        .value = LOAD(value),
        .micro_batch = LOAD(micro_batch),
        .peer = LOAD(peer),
        .n_peers = LOAD(n_peers),
    };
    seen_out->phase = LOAD(phase);
    seen_out->least_s = LOAD(least_s);
    atomic_thread_fence(memory_order_acquire);
    return before % 2 == 1 && LOAD(number) == before;
}
