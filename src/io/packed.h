/*
 * Packed: a folder of one node in which a job keeps what it made of its
 * weights, for a later job to use in place. An entry is a few pieces of memory
 * under a key, a text that says all that their bytes depend on; it is one file,
 * named by the digest of the key.
 *
 *     iso_packed_entry_t entry = {.key = key, .n_pieces = 1,
 *                                 .pieces = {{.bytes = bytes}}};
 *     ISO_TRY(iso_packed_open("/tmp/packed-me", &packed));
 *     status = iso_packed_find(packed, &entry);
 *     if (entry.map != NULL) {
 *         use entry.pieces[0].data, then iso_packed_release(&entry);
 *     } else {
 *         entry.pieces[0].data = made; // in whatever way
 *         status = iso_packed_put(packed, &entry);
 *     }
 *
 * A file is a header of 4096 bytes (struct header in packed.c), which has the
 * key in full, and the pieces. Pieces of 2 MiB or more begin at a multiple of
 * that, so that file systems with large pages give them such.
 *
 * Every file is verified when it is found: header, key, sizes and the digest
 * of each piece. It is then mapped and shared by all processes of the node. A
 * file is written under a temporary name and renamed, never changed: whoever
 * has mapped the former one keeps it. Nobody but its owner may write in the
 * folder, since a mapped file that is truncated ends its readers by SIGBUS;
 * removing files, or the folder, harms nobody.
 *
 * Not collective.
 */
#ifndef ISO_PACKED_H
#define ISO_PACKED_H

#include "isotome/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    ISO_PACKED_PIECES = 5,
    ISO_PACKED_KEY_BYTES = 2048, /* of a key, with its ending zero */
};

typedef struct iso_packed_piece {
    void *data; /* not to be written to when it was found; aligned to 64 */
    size_t bytes;
    uint64_t note; /* the caller's own */
} iso_packed_piece_t;

typedef struct iso_packed_entry {
    const char *key; /* borrowed */
    uint64_t note;   /* the caller's own */
    int n_pieces;
    iso_packed_piece_t pieces[ISO_PACKED_PIECES]; /* (n_pieces) */
    void *map;                                    /* NULL: was not found */
    size_t map_bytes;
} iso_packed_entry_t;

typedef struct iso_packed iso_packed_t;

/*
 * Open the folder; make it when it is missing, for its owner alone.
 *
 * Errors: ISO_IO when it cannot be opened or made, is another user's, or
 * others may write in it, with what to do; ISO_NOMEM.
 */
iso_status_t iso_packed_open(const char *folder, iso_packed_t **packed_out);
void iso_packed_close(iso_packed_t **packed);

/*
 * Map the file of an entry.
 *
 * entry  [in,out]  key, n_pieces and bytes of pieces are given; notes, data
 *                  and map are filled in; map is NULL when there is no file
 * Errors: ISO_INPUT, with map NULL, naming a file that is there and cannot be
 * used: damaged, truncated, of another key or user.
 */
iso_status_t iso_packed_find(const iso_packed_t *packed,
                             iso_packed_entry_t *entry);

/* Unmap what was found; it can be called in any case. */
void iso_packed_release(iso_packed_entry_t *entry);

/*
 * Write the file of an entry, in place of one that is there. Several processes
 * may do this at once.
 *
 * Errors: ISO_IO naming the file (disk full, ...); then there is no new file.
 */
iso_status_t iso_packed_put(const iso_packed_t *packed,
                            const iso_packed_entry_t *entry);

#endif
