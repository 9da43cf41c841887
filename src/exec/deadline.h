/*
 * Deadline: how long a rank may wait for others in a job of a plan, when
 * nobody says it.
 */
#ifndef ISO_DEADLINE_H
#define ISO_DEADLINE_H

#include "isotome/plan.h"

/* The outputs are reserved on the disk at the beginning and flushed to it at
 * the end, while the other ranks wait: a disk may take that long. */
enum { ISO_DEADLINE_DISK_S = 3600 };

/* Before there is a plan, and at least. */
enum { ISO_DEADLINE_LEAST_S = 120 };

/*
 * Seconds, generous: what the slowest rank is predicted to take for a
 * micro-batch, a hundred times and twice more for each stage, or the largest
 * part of the weights at 10 MB/s, as from a busy network file system. A pure
 * function of the plan.
 */
double iso_deadline_of(const iso_plan_t *plan);

#endif
