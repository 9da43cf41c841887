/* The lines of the experiment: every cut of every op. */
#include "isotome/error.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "lab/equiv_impl.h"

#include <string.h>

struct iso__equiv_parts {
    iso_arena_t *arena; /* of texts */
    int64_t most_lines;
    int64_t most_parts;
    iso__equiv_part_t *parts; /* (n_lines) */
};

const iso__equiv_part_t *iso__equiv_part(const iso_equiv_table_t *table,
                                         int line)
{
    return &table->parts->parts[line];
}

char *iso__equiv_text(iso_equiv_table_t *table, const char *text)
{
    return iso_arena_text(table->parts->arena, text);
}

/* -- listing -- */

/* Of one op. */
typedef struct listing {
    iso_equiv_table_t *table;
    int case_index;
    const char *shape;
    const iso_shard_list_t *list;
} listing_t;

static iso_status_t grow(iso_equiv_table_t *table)
{
    struct iso__equiv_parts *all = table->parts;
    iso_equiv_line_t *lines = iso_array_grow(table->lines, table->n_lines,
                                             &all->most_lines, sizeof *lines);

    if (lines == NULL) {
        return ISO_NOMEM;
    }
    table->lines = lines;

    iso__equiv_part_t *parts = iso_array_grow(all->parts, table->n_lines,
                                              &all->most_parts, sizeof *parts);

    if (parts == NULL) {
        return ISO_NOMEM;
    }
    all->parts = parts;
    return ISO_OK;
}

static iso_status_t add_line(const listing_t *listing, int option, int device)
{
    iso_equiv_table_t *table = listing->table;
    const iso__equiv_case_t *from = iso__equiv_case(listing->case_index);
    const bool is_cut = option != ISO__EQUIV_NOT_CUT;

    ISO_TRY(grow(table));
    table->parts->parts[table->n_lines] =
        (iso__equiv_part_t){listing->case_index, option, device};
    table->lines[table->n_lines++] = (iso_equiv_line_t){
        .net = from->net,
        .op = iso_op_string(from->op),
        .shape = listing->shape,
        .axis = is_cut
                    ? iso_shard_axis_string(listing->list->options[option].axis)
                    : "threads",
        .pieces = is_cut ? listing->list->options[option].count : 1,
        .threads = table->options.threads[device],
    };
    return ISO_OK;
}

static bool is_asked(int pieces)
{
    return pieces <= 4 || pieces == ISO__EQUIV_MOST_PIECES;
}

/* With one number of threads. */
static iso_status_t add_cuts(const listing_t *listing, int device)
{
    iso_status_t status = ISO_OK;

    for (int i = 0; i < listing->list->count && status == ISO_OK; i++) {
        if (is_asked(listing->list->options[i].count)) {
            status = add_line(listing, i, device);
        }
    }
    if (device > 0 && status == ISO_OK) {
        status = add_line(listing, ISO__EQUIV_NOT_CUT, device);
    }
    return status;
}

static iso_status_t add_lines(const listing_t *listing)
{
    for (int i = 0; i < listing->table->options.n_threads; i++) {
        ISO_TRY(add_cuts(listing, i));
    }
    return ISO_OK;
}

static iso_status_t set_shape(listing_t *listing)
{
    iso_text_t text = {0};

    iso__equiv_case_shape(iso__equiv_case(listing->case_index), &text);
    iso_status_t status = text.status;

    if (status == ISO_OK) {
        listing->shape = iso__equiv_text(listing->table, text.data);
        status = listing->shape != NULL ? ISO_OK : ISO_NOMEM;
    }
    iso_text_free(&text);
    return status;
}

static iso_status_t add_op(iso_equiv_table_t *table, int case_index)
{
    listing_t listing = {.table = table, .case_index = case_index};
    iso__equiv_op_t op;
    iso_shard_list_t *list = NULL;
    iso_status_t status =
        iso__equiv_op_create(iso__equiv_case(case_index), &op);

    if (status == ISO_OK) {
        const iso_shard_op_t asked = {.graph = op.graph, .node = op.node};

        status = iso_shard_list_create(&asked, ISO__EQUIV_MOST_PIECES, &list);
    }
    if (status == ISO_OK) {
        status = set_shape(&listing);
    }
    if (status == ISO_OK) {
        listing.list = list;
        status = add_lines(&listing);
    }
    iso_shard_list_destroy(&list);
    iso__equiv_op_free(&op);
    return status;
}

static iso_status_t fill(iso_equiv_table_t *table)
{
    iso_status_t status;

    table->parts = iso_alloc_zeroed(1, sizeof *table->parts);
    if (table->parts == NULL) {
        return ISO_NOMEM;
    }
    status = iso_arena_create(&table->parts->arena);
    for (int i = 0; i < iso__equiv_case_count() && status == ISO_OK; i++) {
        if (iso__equiv_case(i)->quick || !table->options.quick) {
            status = add_op(table, i);
        }
    }
    return status;
}

static iso_status_t check(const iso_equiv_options_t *options)
{
    if (options->n_threads < 1 || options->n_threads > ISO_EQUIV_MOST_THREADS) {
        return iso_fail(ISO_INVAL, "%d numbers of threads, expected 1 to %d",
                        options->n_threads, (int)ISO_EQUIV_MOST_THREADS);
    }
    for (int i = 0; i < options->n_threads; i++) {
        if (options->threads[i] < 1) {
            return iso_fail(ISO_INVAL, "%d threads, expected at least 1",
                            options->threads[i]);
        }
    }
    return ISO_OK;
}

iso_status_t iso_equiv_create(const iso_equiv_options_t *options,
                              iso_equiv_table_t **table_out)
{
    ISO_TRY(check(options));

    iso_equiv_table_t *table = iso_alloc_zeroed(1, sizeof *table);

    if (table == NULL) {
        return ISO_NOMEM;
    }
    table->options = *options;
    iso_status_t status = fill(table);

    if (status != ISO_OK) {
        iso_equiv_destroy(&table);
    }
    *table_out = table;
    return status;
}

void iso_equiv_destroy(iso_equiv_table_t **table)
{
    if (*table == NULL) {
        return;
    }
    if ((*table)->parts != NULL) {
        iso_arena_destroy(&(*table)->parts->arena);
        iso_free((*table)->parts->parts);
        iso_free((*table)->parts);
    }
    iso_free((*table)->lines);
    iso_free(*table);
    *table = NULL;
}

/* -- summing up -- */

static void add_to_axis(const iso_equiv_line_t *line, iso_equiv_axis_t *sum)
{
    const iso_equiv_difference_t *difference = &line->difference;
    const double share = iso_equiv_share(difference);

    sum->lines++;
    sum->exact += difference->equal == difference->elements;
    sum->least_share = share < sum->least_share ? share : sum->least_share;
    sum->max_abs =
        difference->max_abs > sum->max_abs ? difference->max_abs : sum->max_abs;
    sum->max_ulp =
        difference->max_ulp > sum->max_ulp ? difference->max_ulp : sum->max_ulp;
}

/* Adds the axis when it has lines and is not there (some share a text). */
static void add_axis(iso_equiv_table_t *table, const char *axis)
{
    iso_equiv_axis_t sum = {.axis = axis, .least_share = 1.0};

    for (int i = 0; i < table->n_axes; i++) {
        if (strcmp(table->axes[i].axis, axis) == 0) {
            return;
        }
    }
    for (int i = 0; i < table->n_lines; i++) {
        if (strcmp(table->lines[i].axis, axis) == 0) {
            add_to_axis(&table->lines[i], &sum);
        }
    }
    if (sum.lines > 0) {
        ISO_ASSERT(table->n_axes < ISO_EQUIV_MOST_AXES);
        table->axes[table->n_axes++] = sum;
    }
}

void iso__equiv_sum_up(iso_equiv_table_t *table)
{
    table->n_axes = 0;
    for (int i = 0; i < ISO_SHARD_AXIS_COUNT; i++) {
        add_axis(table, iso_shard_axis_string((iso_shard_axis_t)i));
    }
    add_axis(table, "threads");
    table->exact = 0;
    table->agreed = 0;
    for (int i = 0; i < table->n_axes; i++) {
        table->exact += table->axes[i].exact;
    }
    for (int i = 0; i < table->n_lines; i++) {
        table->agreed += table->lines[i].agreed;
    }
}
