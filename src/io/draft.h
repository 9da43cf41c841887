/*
 * Draft: a file that is written under a temporary name in the folder of its
 * final one, so that the final name never shows half a file.
 *
 *     iso_draft_t *draft;
 *     ISO_TRY(iso_draft_create("out/y.h5", force, &draft));
 *     ... write to iso_draft_temp_path(draft), or with iso_draft_write ...
 *     status = iso_draft_sync(draft);
 *     if (status == ISO_OK) {
 *         status = iso_draft_publish(draft);
 *     }
 *     iso_draft_close(&draft);    removes what was not published
 *
 * A write that fails is remembered, not returned: whoever writes in many
 * small steps asks once, by iso_draft_status.
 */
#ifndef ISO_DRAFT_H
#define ISO_DRAFT_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct iso_draft iso_draft_t;

/*
 * Create the empty temporary file (never one that exists).
 *
 * force  [in]  the final name may exist and is replaced when published
 * Errors: ISO_IO: the file exists (says --force) or is not a regular file,
 * folder missing, no permission.
 */
iso_status_t iso_draft_create(const char *path, bool force,
                              iso_draft_t **draft_out);

/*
 * As above, but the temporary name is path with ".part" behind it, which
 * another process can go on with. A part that is there is replaced: whoever
 * calls this knows that nobody writes to it.
 */
iso_status_t iso_draft_create_part(const char *path, bool force,
                                   iso_draft_t **draft_out);

/* Go on with the part that is there; it is kept (below). Errors: ISO_INPUT
 * when it is missing or not a regular file; ISO_IO as above. */
iso_status_t iso_draft_open_part(const char *path, bool force,
                                 iso_draft_t **draft_out);

/* From here on closing, or a signal, leaves the temporary file. */
void iso_draft_keep(iso_draft_t *draft);

/* Close; the temporary file is removed unless it is kept, a published one
 * stays. */
void iso_draft_close(iso_draft_t **draft);

/*
 * Remove the temporary files of all drafts, and what was adopted. Safe in a
 * signal handler; the process must end then, as no draft can be published any
 * more. Files beyond the first 256 at one time are left.
 */
void iso_draft_remove_all(void);

/* The temporary files of all drafts, as absolute paths, each with a zero at its
 * end; status of text: ISO_NOMEM. */
void iso_draft_add_names(iso_text_t *text);

/* Have iso_draft_remove_all() remove a file of another process, too.
 * name  [in]  an absolute path; borrowed until it is disowned */
void iso_draft_adopt(const char *name);
void iso_draft_disown(const char *name);

/* Borrowed. */
const char *iso_draft_path(const iso_draft_t *draft);
const char *iso_draft_temp_path(const iso_draft_t *draft);

/* Whether two paths are one name in one folder, however they are spelled;
 * nothing needs to be there under that name. */
bool iso_draft_same_name(const char *path_a, const char *path_b);

/* Whether path is the final name of this draft. */
bool iso_draft_is_for(const iso_draft_t *draft, const char *path);

/* Let nobody but its owner read and write it (mode 0600). A failure is
 * remembered as one to write. */
void iso_draft_make_private(iso_draft_t *draft);

/* Take disk space for the first bytes of the file. Errors: ISO_IO, disk
 * full. */
iso_status_t iso_draft_reserve(iso_draft_t *draft, size_t bytes);

/* Nothing is written any more after a first failure. */
void iso_draft_write(iso_draft_t *draft, size_t offset, const void *bytes,
                     size_t size);
void iso_draft_set_length(iso_draft_t *draft, size_t bytes);

/* Past the end of the file there are zeros. False when the read fails. */
bool iso_draft_read(const iso_draft_t *draft, size_t offset, void *bytes,
                    size_t size);

/* ISO_OK, or ISO_IO for the first write that failed. */
iso_status_t iso_draft_status(const iso_draft_t *draft);

/* Flush the file to disk. Errors: those of iso_draft_status, ISO_IO. */
iso_status_t iso_draft_sync(iso_draft_t *draft);

/*
 * Rename to the final name, and flush the folder. Errors: ISO_IO, also when
 * the final name has come to exist in the meantime: without force no file is
 * replaced, even if several are published under one name at once.
 */
iso_status_t iso_draft_publish(iso_draft_t *draft);

/* Give the part of a path its name, if there is one; else the name must be
 * there. Errors: ISO_IO; ISO_INPUT when neither is. */
iso_status_t iso_draft_publish_part(const char *path, bool force);

/*
 * Rename to the final name, whatever is there, and flush nothing: for a file
 * that can be made again, whose readers see whether it is whole. Errors:
 * ISO_IO; those of iso_draft_status.
 */
iso_status_t iso_draft_replace(iso_draft_t *draft);

/* Give a published file its temporary name back, as if it had not been
 * published: another one of the same job failed. */
void iso_draft_withdraw(iso_draft_t *draft);

#endif
