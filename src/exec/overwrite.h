/*
 * Overwrite: a job must not put what it writes in the place of what it
 * reads. --force allows an output to replace a file, but never the model or
 * an input of the same job: an HDF5 output replaces its whole file, with all
 * datasets in it.
 */
#ifndef ISO_OVERWRITE_H
#define ISO_OVERWRITE_H

#include "isotome/run.h"

/*
 * Not collective; for the rank that writes.
 * Errors: ISO_INVAL naming the file: an output or the report is the model,
 * an input, the plan or the machine file, or the report is an output;
 * ISO_NOMEM.
 */
iso_status_t iso_overwrite_check(const iso_run_options_t *options);

#endif
