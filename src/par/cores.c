/* Sets of cores, and whether a host's ranks have enough of them. */
#include "par/affinity.h"

enum { WORD_BITS = 64 };

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

static void end_list(iso_text_t *list, iso_text_t *text)
{
    if (list->length > 0) {
        iso_text_add(text, "%s", list->data);
    }
    if (list->status != ISO_OK) {
        text->status = list->status;
    }
    iso_text_free(list);
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
    end_list(&list, text);
}

/* ---- A core for each thread ---- */

/* A rank's threads, as far as it has cores at all. */
static int wanted(const iso_affinity_t *rank)
{
    const int cores = iso_cores_count(&rank->cores);

    return rank->threads < cores ? rank->threads : cores;
}

bool iso_affinity_is_within(const iso_affinity_t *rank,
                            const iso_cores_t *cores)
{
    return rank->is_bound && wanted(rank) > 0 && is_within(&rank->cores, cores);
}

static int threads_within(const iso_affinity_t *ranks, int n,
                          const iso_cores_t *cores)
{
    int threads = 0;

    for (int i = 0; i < n; i++) {
        threads +=
            iso_affinity_is_within(&ranks[i], cores) ? wanted(&ranks[i]) : 0;
    }
    return threads;
}

int iso_affinity_sharing(const iso_affinity_t *ranks, int n)
{
    int fewest = ISO_CORES_MOST + 1;
    int found = n;

    for (int i = 0; i < n; i++) {
        const int cores = iso_cores_count(&ranks[i].cores);

        if (ranks[i].is_bound && cores < fewest &&
            threads_within(ranks, n, &ranks[i].cores) > cores) {
            fewest = cores;
            found = i;
        }
    }
    return found;
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

/* "0-2,5": of the ranks that share cores. */
static void add_ranks(const iso_affinity_t *ranks, const int *numbers, int n,
                      const iso_cores_t *cores, iso_text_t *text)
{
    iso_text_t list = {0};
    int before = -2; /* numbers of sharers before and after this one */

    for (int i = 0; i < n; i++) {
        if (iso_affinity_is_within(&ranks[i], cores)) {
            const bool is_followed =
                i + 1 < n && numbers[i + 1] == numbers[i] + 1 &&
                iso_affinity_is_within(&ranks[i + 1], cores);

            add_number(&list, numbers[i], before + 1 != numbers[i],
                       !is_followed);
            before = numbers[i];
        }
    }
    end_list(&list, text);
}

/* The most threads that one of those that share has. */
static void add_remedy(const iso_affinity_t *ranks, int n,
                       const iso_cores_t *cores, iso_text_t *text)
{
    int most = 0;

    for (int i = 0; i < n; i++) {
        if (iso_affinity_is_within(&ranks[i], cores) &&
            ranks[i].threads > most) {
            most = ranks[i].threads;
        }
    }
    iso_text_add(text, ": start the ranks with mpirun ");
    if (most > 1) {
        iso_text_add(text, "--map-by slot:PE=%d ", most);
    }
    iso_text_add(text, "--bind-to core, or fewer of them");
}

static void add_sharing(const char *host, const iso_affinity_t *ranks,
                        const int *numbers, int n, const iso_cores_t *cores,
                        iso_text_t *text)
{
    iso_text_add(text, "host %s: ranks ", host);
    add_ranks(ranks, numbers, n, cores, text);
    iso_text_add(text, ", of %d threads together, share ",
                 threads_within(ranks, n, cores));
    add_cores(cores, text);
    add_remedy(ranks, n, cores, text);
}

iso_status_t iso_affinity_add_warning(const char *host,
                                      const iso_affinity_t *ranks,
                                      const int *numbers, int n,
                                      iso_text_t *text)
{
    const int alone = crowded(ranks, n);
    const int shared = iso_affinity_sharing(ranks, n);

    if (alone < n) {
        add_crowded(host, &ranks[alone], numbers[alone], text);
    } else if (shared < n) {
        add_sharing(host, ranks, numbers, n, &ranks[shared].cores, text);
    }
    return text->status;
}
