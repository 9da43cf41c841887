#include "plan/shard/option.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "plan/shard/option_impl.h"

#include <math.h>

const char *iso_shard_axis_string(iso_shard_axis_t axis)
{
    static const char *const names[] = {
#define X(name, text) [ISO_SHARD_##name] = (text),
        ISO_SHARD_AXIS_MAP(X)
#undef X
    };

    return axis < ISO_SHARD_AXIS_COUNT ? names[axis] : "unknown";
}

/* ---- Ranges ---- */

int iso_shard_ranges(int64_t length, int count, iso_range_t *ranges_out)
{
    if (length <= 0 || count <= 0) {
        return 0;
    }

    const int pieces = length < count ? (int)length : count;
    const int64_t base = length / pieces;
    const int64_t longer = length % pieces; /* pieces with one more */
    int64_t done = 0;

    for (int i = 0; i < pieces; i++) {
        const int64_t end = done + base + (i < longer ? 1 : 0);

        ranges_out[i] = (iso_range_t){done, end};
        done = end;
    }
    return pieces;
}

static int64_t units_of(const iso__shard_rule_t *rule)
{
    return rule->length / rule->unit + (rule->length % rule->unit != 0);
}

/* count is at most the units; the last unit may be a short one. */
static void cut_evenly(const iso__shard_rule_t *rule, int count,
                       iso_range_t *ranges)
{
    (void)iso_shard_ranges(units_of(rule), count, ranges);
    for (int i = 0; i < count; i++) {
        ranges[i].begin *= rule->unit;
        ranges[i].end =
            i + 1 < count ? ranges[i].end * rule->unit : rule->length;
    }
}

/* ---- What a shard needs ---- */

static bool is_partial(const iso_shard_option_t *option)
{
    return option->output_axis == ISO_SHARD_PARTIAL_SUMS;
}

/* A range of blocks is subtrees one after the other; so are their slabs. */
static iso_status_t blocks_slab(const iso_shard_op_t *op, int64_t n_blocks,
                                iso_range_t blocks, int operand,
                                iso_slab_t *slab_out)
{
    iso_range_t subtrees[ISO_MOST_SUBTREES];
    const int count = iso_cut_subtrees(n_blocks, blocks, subtrees);

    *slab_out = (iso_slab_t){0};
    for (int i = 0; i < count; i++) {
        iso_slab_t slab;

        ISO_TRY(iso_cut_partial_operand(op->graph, op->node, subtrees[i],
                                        operand, &slab));
        if (i > 0) {
            slab.range.begin = slab_out->range.begin;
        }
        *slab_out = slab;
    }
    return ISO_OK;
}

iso_status_t iso_shard_slab(const iso_shard_op_t *op,
                            const iso_shard_option_t *option, int shard,
                            int operand, iso_slab_t *slab_out)
{
    const iso_range_t range = option->ranges[shard];
    const iso_node_t *given = iso__shard_operand(op, operand);

    *slab_out = (iso_slab_t){0};
    if (given == NULL) {
        return ISO_OK;
    }
    if (is_partial(option)) {
        return blocks_slab(op, option->length, range, operand, slab_out);
    }
    if (option->flat_axes > 1) {
        if (operand == 0) {
            *slab_out = (iso_slab_t){given->shape.rank - 2, range};
        } else {
            slab_out->axis = ISO_AXIS_WHOLE;
        }
        return ISO_OK;
    }
    return iso_cut_operand(op->graph, op->node, option->output_axis, range,
                           operand, slab_out);
}

/* ---- What it moves ---- */

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t slab_elements(const iso_shard_option_t *option,
                             const iso_shape_t *shape, const iso_slab_t *slab)
{
    const int64_t extent =
        option->flat_axes > 1 ? option->length : shape->dim[slab->axis].size;

    return extent == 0 ? 0
                       : iso_shape_count(shape) / extent *
                             iso_range_length(slab->range);
}

static iso_status_t measure_operand(const iso_shard_op_t *op, int operand,
                                    iso_shard_option_t *option)
{
    iso_shard_operand_t *measured = &option->operands[operand];
    const iso_node_t *given = iso__shard_operand(op, operand);

    *measured = (iso_shard_operand_t){.use = ISO_SHARD_KEPT};
    if (given == NULL || (is_partial(option) && operand == 2)) {
        return ISO_OK;
    }
    measured->dtype =
        op->moved_as != NULL ? op->moved_as[operand] : given->dtype;
    measured->use = ISO_SHARD_SLICED;
    for (int shard = 0; shard < option->count; shard++) {
        iso_slab_t slab;

        ISO_TRY(iso_shard_slab(op, option, shard, operand, &slab));
        if (slab.axis == ISO_AXIS_WHOLE) {
            measured->use = ISO_SHARD_SHARED;
            measured->elements = iso_shape_count(&given->shape);
            return ISO_OK;
        }
        measured->axis = slab.axis;
        measured->elements = plus(measured->elements,
                                  slab_elements(option, &given->shape, &slab));
    }
    return ISO_OK;
}

static iso_status_t measure(const iso_shard_op_t *op,
                            iso_shard_option_t *option)
{
    const iso_node_t *node = iso_graph_node(op->graph, op->node);

    for (int operand = 0; operand < ISO_SHARD_OPERANDS; operand++) {
        ISO_TRY(measure_operand(op, operand, option));
    }
    option->output_dtype = node->dtype;
    option->output_elements = iso_shape_count(&node->shape);
    option->returned_elements = option->output_elements;
    if (is_partial(option)) {
        iso_range_t subtrees[ISO_MOST_SUBTREES];
        int64_t partials = 0;

        for (int shard = 0; shard < option->count; shard++) {
            partials += iso_cut_subtrees(option->length, option->ranges[shard],
                                         subtrees);
        }
        if (__builtin_mul_overflow(partials, option->output_elements,
                                   &option->returned_elements)) {
            option->returned_elements = INT64_MAX;
        }
    }
    return ISO_OK;
}

iso_status_t iso_shard_recut(const iso_shard_op_t *op,
                             const iso_shard_option_t *option,
                             const iso_range_t *ranges,
                             iso_shard_option_t *option_out)
{
    *option_out = *option;
    option_out->ranges = ranges;
    return measure(op, option_out);
}

int64_t iso_shard_elements(const iso_shard_option_t *option, int shard)
{
    const int64_t range = iso_range_length(option->ranges[shard]);
    const int64_t whole = option->output_elements / option->length;
    const int64_t rest = option->output_elements % option->length;

    /* There is a rest only when the length is one of blocks: those are few
     * enough to be exact in a double. */
    return whole * range +
           (int64_t)ceil((double)rest * (double)range / (double)option->length);
}

int64_t iso_shard_widest(const iso_shard_option_t *option)
{
    int64_t most = 0;

    for (int shard = 0; shard < option->count; shard++) {
        const int64_t elements = iso_shard_elements(option, shard);

        most = elements > most ? elements : most;
    }
    return most;
}

static size_t bytes_of(int64_t elements, int copies, iso_dtype_t dtype)
{
    size_t bytes = (size_t)elements;

    return elements == INT64_MAX ||
                   __builtin_mul_overflow(bytes, (size_t)copies, &bytes) ||
                   __builtin_mul_overflow(bytes, iso_dtype_bytes(dtype), &bytes)
               ? SIZE_MAX
               : bytes;
}

size_t iso_shard_moved_bytes(const iso_shard_option_t *option,
                             unsigned resident)
{
    size_t sum = bytes_of(option->returned_elements, 1, option->output_dtype);

    for (int i = 0; i < ISO_SHARD_OPERANDS; i++) {
        const iso_shard_operand_t *operand = &option->operands[i];
        const int copies = operand->use == ISO_SHARD_SHARED ? option->count : 1;

        if (operand->use == ISO_SHARD_KEPT || (resident >> i & 1U) != 0) {
            continue;
        }
        if (__builtin_add_overflow(
                sum, bytes_of(operand->elements, copies, operand->dtype),
                &sum)) {
            return SIZE_MAX;
        }
    }
    return sum;
}

unsigned iso_shard_shared(const iso_shard_option_t *option)
{
    unsigned shared = 0;

    for (unsigned i = 0; i < ISO_SHARD_OPERANDS; i++) {
        if (option->operands[i].use == ISO_SHARD_SHARED) {
            shared |= 1U << i;
        }
    }
    return shared;
}

/* ---- The list ---- */

/* Counts 2, 3, ... most. */
static int most_shards_of(const iso__shard_rule_t *rule, int most_shards)
{
    const int64_t units = units_of(rule);

    return units < most_shards ? (int)units : most_shards;
}

static iso_status_t add_option(const iso_shard_op_t *op,
                               const iso__shard_rule_t *rule, int count,
                               iso_shard_list_t *list)
{
    iso_shard_option_t *option = &list->options[list->count];
    iso_range_t *ranges =
        iso_arena_array(list->arena, (size_t)count, sizeof *ranges);

    if (ranges == NULL) {
        return ISO_NOMEM;
    }
    cut_evenly(rule, count, ranges);
    *option = (iso_shard_option_t){.axis = rule->axis,
                                   .output_axis = rule->output_axis,
                                   .flat_axes = rule->flat_axes,
                                   .length = rule->length,
                                   .unit = rule->unit,
                                   .count = count,
                                   .ranges = ranges};
    ISO_TRY(measure(op, option));
    list->count++;
    return ISO_OK;
}

static iso_status_t add_options(const iso_shard_op_t *op,
                                const iso__shard_rule_t *rule, int most_shards,
                                iso_shard_list_t *list)
{
    const int most = most_shards_of(rule, most_shards);

    for (int count = 2; count <= most; count++) {
        ISO_TRY(add_option(op, rule, count, list));
    }
    return ISO_OK;
}

static iso_status_t fill_list(const iso_shard_op_t *op, int most_shards,
                              iso_shard_list_t *list)
{
    iso__shard_rules_t rules;
    size_t total = 0;

    ISO_TRY(iso__shard_rules_of(op, &rules));
    for (int i = 0; i < rules.count; i++) {
        const int most = most_shards_of(&rules.rule[i], most_shards);

        total += most > 1 ? (size_t)most - 1 : 0;
    }
    list->options = iso_arena_array(list->arena, total, sizeof *list->options);
    if (list->options == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < rules.count; i++) {
        ISO_TRY(add_options(op, &rules.rule[i], most_shards, list));
    }
    return ISO_OK;
}

iso_status_t iso_shard_list_create(const iso_shard_op_t *op, int most_shards,
                                   iso_shard_list_t **list_out)
{
    *list_out = NULL;
    if (most_shards > ISO_SHARD_MOST) {
        return iso_fail(ISO_INVAL, "%d shards of an op, expected at most %d",
                        most_shards, (int)ISO_SHARD_MOST);
    }

    iso_shard_list_t *list = iso_alloc_zeroed(1, sizeof *list);

    if (list == NULL) {
        return ISO_NOMEM;
    }

    iso_status_t status = iso_arena_create(&list->arena);

    if (status == ISO_OK) {
        status = fill_list(op, most_shards, list);
    }
    if (status != ISO_OK) {
        iso_shard_list_destroy(&list);
    }
    *list_out = list;
    return status;
}

void iso_shard_list_destroy(iso_shard_list_t **list)
{
    if (*list != NULL) {
        iso_arena_destroy(&(*list)->arena);
        iso_free(*list);
        *list = NULL;
    }
}
