/* Sets of cores, and whether a host's ranks have enough of them. */
#include "base/mem.h"
#include "par/affinity.h"

#include <string.h>

enum { WORD_BITS = 64, NOBODY = -1 };

void iso_cores_add(iso_cores_t *cores, int core)
{
    cores->words[core / WORD_BITS] |= UINT64_C(1) << (core % WORD_BITS);
}

bool iso_cores_has(const iso_cores_t *cores, int core)
{
    return (cores->words[core / WORD_BITS] >> (core % WORD_BITS) & 1U) != 0;
}

int iso_cores_count(const iso_cores_t *cores)
{
    int count = 0;

    for (int core = 0; core < ISO_CORES_MOST; core++) {
        count += iso_cores_has(cores, core) ? 1 : 0;
    }
    return count;
}

static bool is_within(const iso_cores_t *cores, const iso_cores_t *others)
{
    for (int i = 0; i < ISO_CORES_MOST / WORD_BITS; i++) {
        if ((cores->words[i] & ~others->words[i]) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- Text ---- */

/* Numbers that follow one another are a range. */
static void add_number(iso_text_t *text, int number, bool begins, bool ends)
{
    if (begins) {
        iso_text_add(text, "%s%d", text->length > 0 ? "," : "", number);
    } else if (ends) {
        iso_text_add(text, "-%d", number);
    }
}

void iso_cores_add_text(const iso_cores_t *cores, iso_text_t *text)
{
    iso_text_t list = {0};

    for (int core = 0; core < ISO_CORES_MOST; core++) {
        if (iso_cores_has(cores, core)) {
            add_number(
                &list, core, core == 0 || !iso_cores_has(cores, core - 1),
                core + 1 == ISO_CORES_MOST || !iso_cores_has(cores, core + 1));
        }
    }
    if (list.length > 0) {
        iso_text_add(text, "%s", list.data);
    }
    if (list.status != ISO_OK) {
        text->status = list.status;
    }
    iso_text_free(&list);
}

/* "0-2,5": of the ranks that are chosen. */
static void add_ranks(const int *numbers, const bool *chosen, int n,
                      iso_text_t *text)
{
    iso_text_t list = {0};

    for (int i = 0; i < n; i++) {
        if (chosen[i]) {
            add_number(&list, numbers[i],
                       i == 0 || !chosen[i - 1] ||
                           numbers[i - 1] + 1 != numbers[i],
                       i + 1 == n || !chosen[i + 1] ||
                           numbers[i + 1] != numbers[i] + 1);
        }
    }
    iso_text_add(text, "%s", list.length > 0 ? list.data : "");
    iso_text_free(&list);
}

/* ---- A core for each thread ---- */

/*
 * Threads are given cores one after the other; when none of a rank's is free,
 * the ranks that hold them may have another one to move to, and so on: a search
 * in breadth. When it ends without a free core, the ranks that it came by have
 * more threads than all their cores together.
 */
typedef struct giving {
    const iso_affinity_t *ranks;
    int n;
    int owner[ISO_CORES_MOST]; /* rank that has the core, or NOBODY */
    int asker[ISO_CORES_MOST]; /* rank by which the search came to the core */
    bool seen[ISO_CORES_MOST];
    int *waiting; /* (n) ranks in the order in which they were found */
    int *moves;   /* (n) core that a found rank gives up; NOBODY: the first */
    bool *found;  /* (n) */
} giving_t;

/* Each rank on the way moves on to the core that it asked for. */
static void move_on(giving_t *giving, int core)
{
    while (core != NOBODY) {
        const int rank = giving->asker[core];

        giving->owner[core] = rank;
        core = giving->moves[rank];
    }
}

/* A core to a rank's next thread. Returns false when there is none. */
static bool give(giving_t *giving, int rank)
{
    int n_waiting = 0;

    memset(giving->seen, 0, sizeof giving->seen);
    memset(giving->found, 0, (size_t)giving->n * sizeof *giving->found);
    giving->waiting[n_waiting++] = rank;
    giving->found[rank] = true;
    giving->moves[rank] = NOBODY;
    for (int next = 0; next < n_waiting; next++) {
        const int asker = giving->waiting[next];

        for (int core = 0; core < ISO_CORES_MOST; core++) {
            const int owner = giving->owner[core];

            if (giving->seen[core] ||
                !iso_cores_has(&giving->ranks[asker].cores, core)) {
                continue;
            }
            giving->seen[core] = true;
            giving->asker[core] = asker;
            if (owner == NOBODY) {
                move_on(giving, core);
                return true;
            }
            if (!giving->found[owner]) {
                giving->found[owner] = true;
                giving->moves[owner] = core;
                giving->waiting[n_waiting++] = owner;
            }
        }
    }
    return false;
}

/* A rank's threads, as far as it has cores at all. */
static int wanted(const iso_affinity_t *rank)
{
    const int cores = iso_cores_count(&rank->cores);

    return rank->threads < cores ? rank->threads : cores;
}

/* Returns false with found and seen as the search left them. */
static bool give_all(giving_t *giving)
{
    for (int core = 0; core < ISO_CORES_MOST; core++) {
        giving->owner[core] = NOBODY;
    }
    for (int rank = 0; rank < giving->n; rank++) {
        const int threads =
            giving->ranks[rank].is_bound ? wanted(&giving->ranks[rank]) : 0;

        for (int thread = 0; thread < threads; thread++) {
            if (!give(giving, rank)) {
                return false;
            }
        }
    }
    return true;
}

static void free_giving(giving_t *giving)
{
    if (giving != NULL) {
        iso_free(giving->waiting);
        iso_free(giving->moves);
        iso_free(giving->found);
        iso_free(giving);
    }
}

static giving_t *make_giving(const iso_affinity_t *ranks, int n)
{
    giving_t *giving = iso_alloc_zeroed(1, sizeof *giving);

    if (giving == NULL) {
        return NULL;
    }
    giving->ranks = ranks;
    giving->n = n;
    giving->waiting = iso_alloc_zeroed((size_t)n, sizeof *giving->waiting);
    giving->moves = iso_alloc_zeroed((size_t)n, sizeof *giving->moves);
    giving->found = iso_alloc_zeroed((size_t)n, sizeof *giving->found);
    if (giving->waiting == NULL || giving->moves == NULL ||
        giving->found == NULL) {
        free_giving(giving);
        return NULL;
    }
    return giving;
}

iso_status_t iso_affinity_sharing(const iso_affinity_t *ranks, int n,
                                  bool *shares_out, iso_cores_t *cores_out)
{
    giving_t *giving = make_giving(ranks, n);

    memset(cores_out, 0, sizeof *cores_out);
    memset(shares_out, 0, (size_t)n * sizeof *shares_out);
    if (giving == NULL) {
        return ISO_NOMEM;
    }
    if (!give_all(giving)) {
        for (int core = 0; core < ISO_CORES_MOST; core++) {
            if (giving->seen[core]) {
                iso_cores_add(cores_out, core);
            }
        }
        for (int i = 0; i < n; i++) {
            shares_out[i] = ranks[i].is_bound && wanted(&ranks[i]) > 0 &&
                            is_within(&ranks[i].cores, cores_out);
        }
    }
    free_giving(giving);
    return ISO_OK;
}

/* ---- What there is to say ---- */

/* The first rank with more threads than cores, or n. */
static int crowded(const iso_affinity_t *ranks, int n)
{
    int i = 0;

    while (i < n && (iso_cores_count(&ranks[i].cores) == 0 ||
                     ranks[i].threads <= iso_cores_count(&ranks[i].cores))) {
        i++;
    }
    return i;
}

static void add_cores(const iso_cores_t *cores, iso_text_t *text)
{
    iso_text_add(text, iso_cores_count(cores) == 1 ? "core " : "cores ");
    iso_cores_add_text(cores, text);
}

static void add_crowded(const char *host, const iso_affinity_t *rank,
                        int number, iso_text_t *text)
{
    const int threads = rank->threads;

    iso_text_add(text, "host %s: rank %d has %d threads and may use ", host,
                 number, threads);
    add_cores(&rank->cores, text);
    iso_text_add(text,
                 " alone: start the ranks with mpirun --map-by slot:PE=%d "
                 "--bind-to core, or give fewer --threads",
                 threads);
}

static void add_sharing(const char *host, const iso_affinity_t *ranks,
                        const int *numbers, int n, const bool *shares,
                        iso_text_t *text)
{
    int threads = 0;

    for (int i = 0; i < n; i++) {
        threads += shares[i] ? wanted(&ranks[i]) : 0;
    }
    iso_text_add(text, "host %s: ranks ", host);
    add_ranks(numbers, shares, n, text);
    iso_text_add(text, ", of %d threads together, share ", threads);
}

/* The most threads that one of those that share has. */
static void add_remedy(const iso_affinity_t *ranks, int n, const bool *shares,
                       iso_text_t *text)
{
    int most = 0;

    for (int i = 0; i < n; i++) {
        most = shares[i] && ranks[i].threads > most ? ranks[i].threads : most;
    }
    iso_text_add(text, ": start the ranks with mpirun ");
    if (most > 1) {
        iso_text_add(text, "--map-by slot:PE=%d ", most);
    }
    iso_text_add(text, "--bind-to core, or fewer of them");
}

iso_status_t iso_affinity_add_warning(const char *host,
                                      const iso_affinity_t *ranks,
                                      const int *numbers, int n,
                                      iso_text_t *text)
{
    const int first = crowded(ranks, n);
    bool *shares = iso_alloc_zeroed((size_t)n, sizeof *shares);
    iso_cores_t cores;

    if (shares == NULL) {
        return ISO_NOMEM;
    }
    iso_status_t status = iso_affinity_sharing(ranks, n, shares, &cores);

    if (status == ISO_OK && first < n) {
        add_crowded(host, &ranks[first], numbers[first], text);
    } else if (status == ISO_OK && iso_cores_count(&cores) > 0) {
        add_sharing(host, ranks, numbers, n, shares, text);
        add_cores(&cores, text);
        add_remedy(ranks, n, shares, text);
    }
    iso_free(shares);
    return status == ISO_OK ? text->status : status;
}
