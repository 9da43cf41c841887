#include "tools/plan_start.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "base/names.h"

#include <stdio.h>

/* Beside the ranks of a node: the batch script's shell, srun or mpirun and its
 * daemon, and the buffers of MPI, which grow with the number of ranks. */
static const size_t launcher_bytes = (size_t)64 << 20;
static const size_t rank_bytes_part = 10; /* a tenth of the ranks' */

typedef struct node {
    const char *host;
    int ranks;
    size_t bytes;
} node_t;

static size_t peak_bytes(const iso_plan_t *plan, int rank)
{
    return rank < iso_plan_used(plan) ? iso_plan_part(plan, rank)->peak_bytes
                                      : ISO_PLAN_PROCESS_BYTES;
}

/* nodes [out] (world), in the order of their first ranks */
static iso_status_t fill_nodes(const iso_plan_t *plan,
                               const iso_machine_t *machine, node_t *nodes,
                               int *count_out)
{
    iso_names_t *names = NULL;
    iso_status_t status = iso_names_create(&names);

    *count_out = 0;
    for (int rank = 0; status == ISO_OK && rank < iso_plan_world(plan);
         rank++) {
        const char *host = iso_machine_rank(machine, rank)->host;
        int64_t number = *count_out;

        if (!iso_names_get(names, host, &number)) {
            status = iso_names_set(names, host, number);
            nodes[number].host = host;
            (*count_out)++;
        }
        nodes[number].ranks++;
        nodes[number].bytes += peak_bytes(plan, rank);
    }
    iso_names_destroy(&names);
    return status;
}

static size_t mebibytes(size_t rank_bytes)
{
    const size_t mebibyte = (size_t)1 << 20;
    size_t bytes = rank_bytes + rank_bytes / rank_bytes_part + launcher_bytes;

    return (bytes + mebibyte - 1) / mebibyte;
}

static void print_nodes(const node_t *nodes, int count, bool named)
{
    (void)printf("#SBATCH --nodes=%d\n", count);
    if (!named) {
        return;
    }
    for (int i = 0; i < count; i++) {
        (void)printf("%s%s", i == 0 ? "#SBATCH --nodelist=" : ",",
                     nodes[i].host);
    }
    (void)printf("\n");
}

static void print_slurm(const node_t *nodes, int count, bool named, int world,
                        int threads)
{
    size_t most_bytes = 0;
    bool alike = true;

    for (int i = 0; i < count; i++) {
        most_bytes = nodes[i].bytes > most_bytes ? nodes[i].bytes : most_bytes;
        alike = alike && nodes[i].ranks == nodes[0].ranks;
    }
    print_nodes(nodes, count, named);
    (void)printf("#SBATCH --ntasks=%d\n", world);
    if (alike) {
        (void)printf("#SBATCH --ntasks-per-node=%d\n", nodes[0].ranks);
    }
    (void)printf("#SBATCH --cpus-per-task=%d\n", threads);
    (void)printf("#SBATCH --mem=%zuM\n", mebibytes(most_bytes));
}

iso_status_t iso_plan_start_print_slurm(const iso_plan_t *plan,
                                        const iso_machine_t *machine,
                                        bool named, int threads)
{
    const int world = iso_plan_world(plan);
    int count = 0;
    node_t *nodes = iso_alloc_zeroed((size_t)world, sizeof *nodes);

    if (nodes == NULL) {
        return ISO_NOMEM;
    }
    iso_status_t status = fill_nodes(plan, machine, nodes, &count);
    if (status == ISO_OK) {
        print_slurm(nodes, count, named, world, threads);
    }
    iso_free(nodes);
    return status;
}

void iso_plan_start_print_hosts(const iso_plan_t *plan,
                                const iso_machine_t *machine)
{
    for (int rank = 0; rank < iso_plan_world(plan); rank++) {
        (void)printf("%s\n", iso_machine_rank(machine, rank)->host);
    }
}
