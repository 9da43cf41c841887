/*
 * What starts the ranks of a plan: the lines that ask Slurm for what it needs,
 * and the host of each rank.
 */
#ifndef ISO_PLAN_START_H
#define ISO_PLAN_START_H

#include "isotome/plan.h"

/*
 * Print "#SBATCH --nodes=2" and so on, sbatch(1).
 *
 * machine  [in]  what the plan was made for
 * named    [in]  its hosts are real ones, to be asked for by name
 * threads  [in]  of each rank
 * Errors: ISO_NOMEM.
 */
iso_status_t iso_plan_start_print_slurm(const iso_plan_t *plan,
                                        const iso_machine_t *machine,
                                        bool named, int threads);

/* Print the host of each rank, one to a line: a file for mpirun --map-by seq
 * and for SLURM_HOSTFILE. */
void iso_plan_start_print_hosts(const iso_plan_t *plan,
                                const iso_machine_t *machine);

#endif
