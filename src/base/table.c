#include "base/table.h"

#include "base/log.h"

#include <string.h>

static size_t length_of(const char *cell)
{
    return strcspn(cell, "\t\n");
}

/* What follows a cell: the next cell of its row, or the end of the row. */
static const char *after(const char *cell)
{
    cell += length_of(cell);
    return *cell == '\t' ? cell + 1 : cell;
}

static void measure(const char *row, size_t n_columns, size_t *width)
{
    while (*row != '\0') {
        const char *cell = row;
        for (size_t i = 0; i < n_columns && *cell != '\n'; i++) {
            size_t length = length_of(cell);
            width[i] = length > width[i] ? length : width[i];
            cell = after(cell);
        }
        row += strcspn(row, "\n");
        row += *row == '\n' ? 1 : 0;
    }
}

static void add_blanks(iso_text_t *text, size_t count)
{
    iso_text_add(text, "%*s", (int)count, "");
}

/* Blanks that would end the line are kept back. */
static void add_row(iso_text_t *text, const char *columns, const char *cell,
                    const size_t *width)
{
    size_t blanks = 0;

    for (size_t i = 0; columns[i] != '\0' && *cell != '\n' && *cell != '\0';
         i++) {
        size_t length = length_of(cell);
        size_t room = width[i] - length;

        blanks += columns[i] == 'r' ? room : 0;
        if (length > 0) {
            add_blanks(text, blanks);
            iso_text_add(text, "%.*s", (int)length, cell);
            blanks = 0;
        }
        blanks += (columns[i] == 'r' ? 0 : room) + 2;
        cell = after(cell);
    }
    iso_text_add(text, "\n");
}

void iso_table_add(iso_text_t *text, const char *columns,
                   const iso_text_t *cells)
{
    size_t width[ISO_TABLE_MOST_COLUMNS] = {0};

    ISO_ASSERT(strlen(columns) <= ISO_TABLE_MOST_COLUMNS);
    if (cells->status != ISO_OK) {
        text->status = cells->status;
        return;
    }
    if (cells->data == NULL) {
        return;
    }
    measure(cells->data, strlen(columns), width);
    for (const char *row = cells->data; *row != '\0';) {
        add_row(text, columns, row, width);
        row += strcspn(row, "\n");
        row += *row == '\n' ? 1 : 0;
    }
}
