#include "tools/equiv_output.h"
#include "tools/print_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* NULL on failure, as all of these. JSON has no infinity. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *ulps(int64_t ulp)
{
    return ulp != INT64_MAX ? json_integer(ulp) : json_null();
}

static json_t *line_json(const iso_equiv_line_t *line)
{
    char digest[17];

    (void)snprintf(digest, sizeof digest, "%016" PRIx64, line->digest);
    return json_pack("{ss ss ss ss si si sI sI so so ss sb}", "net", line->net,
                     "op", line->op, "shapes", line->shape, "axis", line->axis,
                     "pieces", line->pieces, "threads", line->threads,
                     "elements", (json_int_t)line->difference.elements, "equal",
                     (json_int_t)line->difference.equal, "max_abs",
                     number(line->difference.max_abs), "max_ulp",
                     ulps(line->difference.max_ulp), "digest", digest,
                     "ranks_agree", (int)line->agreed);
}

static json_t *axis_json(const iso_equiv_axis_t *axis)
{
    return json_pack("{ss si si sf so so}", "axis", axis->axis, "lines",
                     axis->lines, "exact", axis->exact, "least_share",
                     axis->least_share, "max_abs", number(axis->max_abs),
                     "max_ulp", ulps(axis->max_ulp));
}

/* A missing element fails the array: it is taken by json_pack as NULL. */
static json_t *lines_json(const iso_equiv_table_t *table)
{
    json_t *array = json_array();

    for (int i = 0; i < table->n_lines && array != NULL; i++) {
        if (json_array_append_new(array, line_json(&table->lines[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static json_t *axes_json(const iso_equiv_table_t *table)
{
    json_t *array = json_array();

    for (int i = 0; i < table->n_axes && array != NULL; i++) {
        if (json_array_append_new(array, axis_json(&table->axes[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

iso_status_t iso_equiv_print_json(const iso_equiv_table_t *table)
{
    const iso_equiv_options_t *options = &table->options;

    return iso_print_json(
        json_pack("{ss ss si sb sI sb sb so so}", "arithmetic",
                  options->blis ? "blis" : "isotome", "kernels",
                  table->families, "ranks", table->ranks, "all_ranks",
                  (int)options->all_ranks, "seed", (json_int_t)options->seed,
                  "equal", (int)(table->exact == table->n_lines), "ranks_agree",
                  (int)(table->agreed == table->n_lines), "lines",
                  lines_json(table), "axes", axes_json(table)));
}
