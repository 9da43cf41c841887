#include "base/log.h"
#include "base/table.h"
#include "tools/equiv_output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

int iso_equiv_exit_code(const iso_equiv_table_t *table, bool speaks)
{
    const bool holds =
        table->exact == table->n_lines && table->agreed == table->n_lines;

    if (table->options.blis || holds) {
        return 0;
    }
    if (speaks) {
        iso_log(ISO_LOG_ERROR,
                "not equal: the pieces of %d lines differ from the whole, "
                "ranks differ in %d lines",
                table->n_lines - table->exact, table->n_lines - table->agreed);
    }
    return 1;
}

/* Rounded down, so that 100 means all. */
static void add_percent(iso_text_t *cells, double share)
{
    iso_text_add(cells, "\t%.3f", floor(share * 1e5) * 1e-3);
}

static void add_abs(iso_text_t *cells, double abs)
{
    iso_text_add(cells, abs == 0.0 ? "\t%.0f" : "\t%.2e", abs);
}

static void add_ulp(iso_text_t *cells, int64_t ulp)
{
    if (ulp == INT64_MAX) {
        iso_text_add(cells, "\tnan");
    } else {
        iso_text_add(cells, "\t%" PRId64, ulp);
    }
}

static bool has_ranks(const iso_equiv_table_t *table)
{
    return table->options.all_ranks && table->ranks > 1;
}

static void add_line(const iso_equiv_table_t *table,
                     const iso_equiv_line_t *line, iso_text_t *cells)
{
    iso_text_add(cells, "%s\t%s\t%s\t%s\t%d\t%d", line->net, line->op,
                 line->shape, line->axis, line->pieces, line->threads);
    add_percent(cells, iso_equiv_share(&line->difference));
    add_abs(cells, line->difference.max_abs);
    add_ulp(cells, line->difference.max_ulp);
    if (has_ranks(table)) {
        iso_text_add(cells, "\t%s", line->agreed ? "agree" : "differ");
    }
    iso_text_add(cells, "\n");
}

static void add_lines(const iso_equiv_table_t *table, iso_text_t *text)
{
    iso_text_t cells = {0};

    iso_text_add(&cells,
                 "net\top\tshapes\taxis\tpieces\tthreads\tequal_%%\t"
                 "max_abs\tmax_ulp%s\n",
                 has_ranks(table) ? "\tranks" : "");
    for (int i = 0; i < table->n_lines; i++) {
        add_line(table, &table->lines[i], &cells);
    }
    iso_table_add(text, "llllrrrrrl", &cells);
    iso_text_add(text, "\n");
    iso_text_free(&cells);
}

static void add_axes(const iso_equiv_table_t *table, iso_text_t *text)
{
    iso_text_t cells = {0};

    iso_text_add(&cells, "axis\tlines\texact\tequal_%%\tmax_abs\tmax_ulp\n");
    for (int i = 0; i < table->n_axes; i++) {
        const iso_equiv_axis_t *axis = &table->axes[i];

        iso_text_add(&cells, "%s\t%d\t%d", axis->axis, axis->lines,
                     axis->exact);
        add_percent(&cells, axis->least_share);
        add_abs(&cells, axis->max_abs);
        add_ulp(&cells, axis->max_ulp);
        iso_text_add(&cells, "\n");
    }
    iso_table_add(text, "lrrrrr", &cells);
    iso_text_free(&cells);
}

static void add_end(const iso_equiv_table_t *table, iso_text_t *text)
{
    const int differ = table->n_lines - table->exact;

    iso_text_add(text, "\n%d lines by %s (%s), seed %" PRIu64 ": ",
                 table->n_lines,
                 table->options.blis ? "plain BLIS" : "isotome's arithmetic",
                 table->families, table->options.seed);
    if (differ == 0) {
        iso_text_add(text, "the pieces of every line are equal to the whole\n");
    } else {
        iso_text_add(text, "the pieces of %d differ from the whole\n", differ);
    }
    if (has_ranks(table)) {
        iso_text_add(text,
                     "%d of %d lines have the same bits on all %d "
                     "ranks\n",
                     table->agreed, table->n_lines, table->ranks);
    }
}

iso_status_t iso_equiv_print(const iso_equiv_table_t *table, bool quiet)
{
    iso_text_t text = {0};

    if (!quiet) {
        add_lines(table, &text);
    }
    add_axes(table, &text);
    add_end(table, &text);
    iso_status_t status = text.status;

    if (status == ISO_OK) {
        (void)fputs(text.data, stdout);
    }
    iso_text_free(&text);
    return status;
}
