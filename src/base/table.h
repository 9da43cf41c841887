/*
 * Table: columns for people, each as wide as its widest cell.
 *
 * Cells are collected in a text, with a tab after each but the last of a row
 * and a newline after the row, and then laid out:
 *
 *     iso_text_t cells = {0};
 *     iso_text_add(&cells, "rank\thost\tpeak\n");
 *     iso_text_add(&cells, "%d\t%s\t%s\n", rank, host, peak);
 *     iso_table_add(&text, "rlr", &cells);
 *     iso_text_free(&cells);
 */
#ifndef ISO_TABLE_H
#define ISO_TABLE_H

#include "base/text.h"

enum { ISO_TABLE_MOST_COLUMNS = 32 };

/* Of a host's name as much is shown as keeps a table in 130 columns. */
enum { ISO_TABLE_HOST_LENGTH = 16 };

/*
 * Add the table to text, two blanks between columns.
 *
 * columns  [in]  one letter for each column, at most ISO_TABLE_MOST_COLUMNS:
 *                'l' for texts, 'r' for numbers; cells beyond them are left
 *                out
 * cells    [in]  rows may have fewer cells; a failed one fails text
 */
void iso_table_add(iso_text_t *text, const char *columns,
                   const iso_text_t *cells);

#endif
