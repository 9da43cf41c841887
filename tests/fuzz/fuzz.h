/*
 * What the fuzz targets share. A target hands the bytes that libFuzzer makes to
 * one reader, as a file, and ends the process when the reader breaks
 * a promise: any bytes are read or refused, with one line of text, with the
 * memory given back.
 *
 *     const int64_t held = fuzz_begin();
 *     iso_status_t status = iso_machine_read(fuzz_file(data, size), &machine);
 *     iso_machine_destroy(&machine);
 *     fuzz_end(status, held);
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "isotome/graph.h"

#include <stddef.h>
#include <stdint.h>

/* Of libFuzzer. NOLINTBEGIN(readability-identifier-naming) */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
/* NOLINTEND(readability-identifier-naming) */

/* Path of a file in TMPDIR that holds these bytes, until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* The bytes as a text, until the next call. */
const char *fuzz_text(const uint8_t *data, size_t size);

/* The model that plans and device rules are read for; to be destroyed. */
iso_graph_t *fuzz_graph(void);

/* Counted blocks that are held now. */
int64_t fuzz_begin(void);

/* Die unless the status is one that a bad file may give, with a text of one
 * line, and as many blocks are held as before. */
void fuzz_end(iso_status_t status, int64_t held);

/* Die with a reason. */
_Noreturn void fuzz_die(const char *reason);

#endif
