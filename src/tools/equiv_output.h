/*
 * What isotome equiv says of a measured table: as text, JSON and columns of
 * an HDF5 file.
 */
#ifndef ISO_EQUIV_OUTPUT_H
#define ISO_EQUIV_OUTPUT_H

#include "isotome/equiv.h"

/*
 * Exit code of the command: 1 when pieces or ranks differ, which the control
 * may. speaks [in] say so on stderr.
 */
int iso_equiv_exit_code(const iso_equiv_table_t *table, bool speaks);

/* Print on stdout: a row for each line, unless quiet, and one for each axis. */
iso_status_t iso_equiv_print(const iso_equiv_table_t *table, bool quiet);
iso_status_t iso_equiv_print_json(const iso_equiv_table_t *table);

/*
 * Columns in a file that does not show under its name before they are
 * written.
 *
 *     ISO_TRY(iso_equiv_columns_begin("e.h5:/blis", force, table, &columns));
 *     ISO_TRY(iso_equiv_columns_end(table, &columns)); // after measuring
 */
typedef struct iso_equiv_columns iso_equiv_columns_t;

/*
 * place  [in]  FILE.h5, or FILE.h5:/GROUP
 * Errors: ISO_INVAL for another place; ISO_IO: the file exists (says
 * --force), cannot be created.
 */
iso_status_t iso_equiv_columns_begin(const char *place, bool force,
                                     const iso_equiv_table_t *table,
                                     iso_equiv_columns_t **columns_out);

/* Write and show; columns are freed in any case. */
iso_status_t iso_equiv_columns_end(const iso_equiv_table_t *table,
                                   iso_equiv_columns_t **columns);

/* Leave no file. */
void iso_equiv_columns_abandon(iso_equiv_columns_t **columns);

#endif
