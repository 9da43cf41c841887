/* Operators that move elements. */
#include "isotome/error.h"

#include "model/onnx/onnx_impl.h"

#include <string.h>

/* -- concat, split -- */

/* Are there integers to keep as such: one operand symbolic, all known?
 * parts: (n_inputs). */
static iso_status_t symbolic_parts(iso__onnx_op_t *op, iso_ints_t *parts,
                                   bool *are_out)
{
    int n_inputs = iso__onnx_n_inputs(op);
    const iso_ints_t *ints = NULL;

    *are_out = false;
    for (int i = 0; i < n_inputs; i++) {
        ISO_TRY(iso__onnx_symbolic(op, i, &ints));
        *are_out = *are_out || ints != NULL;
    }
    for (int i = 0; *are_out && i < n_inputs; i++) {
        ISO_TRY(iso__onnx_ints(op, i, &ints));
        *are_out = ints != NULL;
        if (ints != NULL) {
            parts[i] = *ints;
        }
    }
    return ISO_OK;
}

static iso_status_t concat_ints(iso__onnx_op_t *op, const iso_ints_t *parts,
                                int64_t axis)
{
    iso_ints_t joined;
    int resolved;

    ISO_TRY(iso__onnx_axis_resolve(axis, parts[0].rank, &resolved));
    ISO_TRY(iso_ints_concat(op->import->arena, parts, iso__onnx_n_inputs(op),
                            resolved, &joined));
    return iso__onnx_bind_ints(op, 0, &joined);
}

static iso_status_t convert_concat(iso__onnx_op_t *op)
{
    int n_inputs = iso__onnx_n_inputs(op);
    iso_arena_t *arena = op->import->arena;
    iso_node_id_t *inputs =
        iso_arena_array(arena, (size_t)n_inputs + 1, sizeof *inputs);
    iso_ints_t *parts =
        iso_arena_array(arena, (size_t)n_inputs + 1, sizeof *parts);
    bool symbolic = false;
    iso__draft_t draft;
    int64_t axis;

    if (inputs == NULL || parts == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(iso__onnx_attr_int(op, "axis", 1, &axis));
    ISO_TRY(symbolic_parts(op, parts, &symbolic));
    if (symbolic) {
        return concat_ints(op, parts, axis);
    }
    for (int i = 0; i < n_inputs; i++) {
        ISO_TRY(iso__onnx_data(op, i, &inputs[i]));
    }
    iso__draft_begin(&draft, ISO_OP_CONCAT, n_inputs, inputs);
    iso__draft_int(&draft, "axis", axis);
    return iso__onnx_finish(op, &draft);
}

/* Output index of a split: [start, start + size) of the axis. */
static iso_status_t bind_part(iso__onnx_op_t *op, int index, iso_node_id_t x,
                              int axis, const iso_dim_t range[2])
{
    const char *name = op->proto->output[index];
    int64_t axes[] = {axis};
    iso__draft_t draft;
    iso_node_id_t node;

    if (name[0] == '\0') {
        return ISO_OK;
    }
    iso__draft_begin(&draft, ISO_OP_SLICE, 1, &x);
    iso__draft_dims(&draft, "starts", &range[0], 1);
    iso__draft_dims(&draft, "ends", &range[1], 1);
    iso__draft_ints(&draft, "axes", axes, 1);
    ISO_TRY(iso__onnx_add(op->import, name, &draft, &node));
    return iso__onnx_bind(op, index, node);
}

/* Sizes of the parts: given, or equal. */
static iso_status_t part_size(iso__onnx_op_t *op, const iso__numbers_t *split,
                              int index, iso_dim_t whole, iso_dim_t *size_out)
{
    int64_t n_outputs = (int64_t)op->proto->n_output;
    char text[ISO_DIM_TEXT_BYTES];
    bool exact = false;

    if (split->is_given) {
        *size_out = iso_dim_of(split->value[index]);
        return split->value[index] >= 0
                   ? ISO_OK
                   : iso_fail(ISO_SHAPE, "split[%d] is %lld", index,
                              (long long)split->value[index]);
    }
    ISO_TRY(iso_dim_div(whole, iso_dim_of(n_outputs), size_out, &exact));
    if (!exact) {
        return iso_fail(ISO_SHAPE, "%s elements in %lld equal parts",
                        iso_dim_text(whole, text), (long long)n_outputs);
    }
    return ISO_OK;
}

/* Bind all parts; *end_out is where the last one ends. */
static iso_status_t bind_parts(iso__onnx_op_t *op, const iso__numbers_t *split,
                               iso_node_id_t x, int axis, iso_dim_t *end_out)
{
    iso_dim_t whole = iso__onnx_node(op, x)->shape.dim[axis];
    iso_dim_t range[2] = {iso_dim_of(0), iso_dim_of(0)};

    for (int i = 0; i < (int)op->proto->n_output; i++) {
        iso_dim_t size;

        ISO_TRY(part_size(op, split, i, whole, &size));
        range[0] = range[1];
        ISO_TRY(iso_dim_add(range[0], size, &range[1]));
        ISO_TRY(bind_part(op, i, x, axis, range));
    }
    *end_out = range[1];
    return ISO_OK;
}

static iso_status_t split_axis(iso__onnx_op_t *op, iso_node_id_t x,
                               int *axis_out)
{
    int64_t axis;

    ISO_TRY(iso__onnx_attr_int(op, "axis", 0, &axis));
    return iso__onnx_axis_resolve(axis, iso__onnx_node(op, x)->shape.rank,
                                  axis_out);
}

static iso_status_t convert_split(iso__onnx_op_t *op)
{
    int n_outputs = (int)op->proto->n_output;
    iso__numbers_t split;
    iso_node_id_t x;
    iso_dim_t whole;
    iso_dim_t end;
    int axis;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(split_axis(op, x, &axis));
    ISO_TRY(iso__onnx_attr_or_input(op, "split", 13, 1, &split));
    if (split.is_given && split.count != n_outputs) {
        return iso_fail(ISO_INPUT, "split has %d values, expected %d",
                        split.count, n_outputs);
    }
    ISO_TRY(bind_parts(op, &split, x, axis, &end));
    whole = iso__onnx_node(op, x)->shape.dim[axis];
    if (!iso_dim_equal(end, whole)) {
        char sum[ISO_DIM_TEXT_BYTES];
        char text[ISO_DIM_TEXT_BYTES];

        return iso_fail(ISO_SHAPE, "split adds up to %s, expected %s",
                        iso_dim_text(end, sum), iso_dim_text(whole, text));
    }
    return ISO_OK;
}

/* -- slice, gather -- */

/* Which axes from where to where. */
typedef struct slices {
    int count;
    iso_dim_t starts[ISO_MAX_RANK];
    iso_dim_t ends[ISO_MAX_RANK];
    iso__numbers_t axes;
    iso__numbers_t steps;
} slices_t;

static iso_status_t copy_dims(const iso_ints_t *ints, const char *what,
                              iso_dim_t *dims, int *count_out)
{
    if (ints->count > ISO_MAX_RANK) {
        return iso_fail(ISO_INPUT, "%s has %lld values, expected at most %d",
                        what, (long long)ints->count, (int)ISO_MAX_RANK);
    }
    *count_out = (int)ints->count;
    for (int i = 0; i < *count_out; i++) {
        dims[i] = ints->values[i];
    }
    return ISO_OK;
}

static iso_status_t slices_of_attrs(iso__onnx_op_t *op, slices_t *out)
{
    iso__numbers_t starts;
    iso__numbers_t ends;

    ISO_TRY(iso__onnx_attr_ints(op, "starts", &starts));
    ISO_TRY(iso__onnx_attr_ints(op, "ends", &ends));
    ISO_TRY(iso__onnx_attr_ints(op, "axes", &out->axes));
    if (starts.count != ends.count || starts.count > ISO_MAX_RANK) {
        return iso_fail(ISO_INPUT, "%d starts and %d ends", starts.count,
                        ends.count);
    }
    out->count = starts.count;
    out->steps = (iso__numbers_t){0};
    for (int i = 0; i < out->count; i++) {
        out->starts[i] = iso_dim_of(starts.value[i]);
        out->ends[i] = iso_dim_of(ends.value[i]);
    }
    return ISO_OK;
}

static iso_status_t slices_of(iso__onnx_op_t *op, slices_t *out)
{
    const iso_ints_t *ints = NULL;
    int n_ends;

    if (iso__onnx_opset(op) < 10) {
        return slices_of_attrs(op, out);
    }
    ISO_TRY(iso__onnx_need_ints(op, 1, "starts", &ints));
    ISO_TRY(copy_dims(ints, "starts", out->starts, &out->count));
    ISO_TRY(iso__onnx_need_ints(op, 2, "ends", &ints));
    ISO_TRY(copy_dims(ints, "ends", out->ends, &n_ends));
    if (n_ends != out->count) {
        return iso_fail(ISO_INPUT, "%d starts and %d ends", out->count, n_ends);
    }
    ISO_TRY(iso__onnx_numbers(op, 3, "axes", &out->axes));
    return iso__onnx_numbers(op, 4, "steps", &out->steps);
}

static iso_status_t slice_ints(iso__onnx_op_t *op, const iso_ints_t *ints,
                               const slices_t *slices)
{
    iso_ints_t part = *ints;

    for (int i = 0; i < slices->count; i++) {
        int64_t axis = slices->axes.is_given ? slices->axes.value[i] : i;
        int64_t step = slices->steps.is_given ? slices->steps.value[i] : 1;
        int resolved;

        ISO_TRY(iso__onnx_axis_resolve(axis, part.rank, &resolved));
        if (!iso_dim_is_static(slices->starts[i]) ||
            !iso_dim_is_static(slices->ends[i])) {
            return iso_fail(ISO_UNSUPPORTED, "a slice of dims from or to a "
                                             "free size");
        }
        ISO_TRY(iso_ints_slice(op->import->arena, &part, slices->starts[i].size,
                               slices->ends[i].size, step, resolved, &part));
    }
    return iso__onnx_bind_ints(op, 0, &part);
}

static iso_status_t convert_slice(iso__onnx_op_t *op)
{
    const iso_ints_t *ints = NULL;
    iso__draft_t draft;
    slices_t slices;
    iso_node_id_t x;

    ISO_TRY(slices_of(op, &slices));
    if ((slices.axes.is_given && slices.axes.count != slices.count) ||
        (slices.steps.is_given && slices.steps.count != slices.count)) {
        return iso_fail(ISO_INPUT,
                        "%d axes and %d steps, expected %d as starts",
                        slices.axes.count, slices.steps.count, slices.count);
    }
    ISO_TRY(iso__onnx_symbolic(op, 0, &ints));
    if (ints != NULL) {
        return slice_ints(op, ints, &slices);
    }
    ISO_TRY(iso__onnx_data(op, 0, &x));
    iso__draft_begin(&draft, ISO_OP_SLICE, 1, &x);
    iso__draft_dims(&draft, "starts", slices.starts, slices.count);
    iso__draft_dims(&draft, "ends", slices.ends, slices.count);
    if (slices.axes.is_given) {
        iso__draft_ints(&draft, "axes", slices.axes.value, slices.count);
    }
    if (slices.steps.is_given) {
        iso__draft_ints(&draft, "steps", slices.steps.value, slices.count);
    }
    return iso__onnx_finish(op, &draft);
}

static iso_status_t gather_ints(iso__onnx_op_t *op, const iso_ints_t *data,
                                int64_t axis, bool *done_out)
{
    const iso_ints_t *indices = NULL;
    iso_ints_t result;
    int resolved;

    *done_out = false;
    ISO_TRY(iso__onnx_axis_resolve(axis, data->rank, &resolved));
    ISO_TRY(iso__onnx_ints(op, 1, &indices));
    if (indices != NULL) {
        ISO_TRY(iso_ints_gather(op->import->arena, data, indices, resolved,
                                &result, done_out));
    }
    return *done_out ? iso__onnx_bind_ints(op, 0, &result) : ISO_OK;
}

static iso_status_t convert_gather(iso__onnx_op_t *op)
{
    const iso_ints_t *ints = NULL;
    iso_node_id_t inputs[2];
    iso__draft_t draft;
    bool done = false;
    int64_t axis;

    ISO_TRY(iso__onnx_attr_int(op, "axis", 0, &axis));
    ISO_TRY(iso__onnx_symbolic(op, 0, &ints));
    if (ints != NULL) {
        ISO_TRY(gather_ints(op, ints, axis, &done));
    }
    if (done) {
        return ISO_OK;
    }
    ISO_TRY(iso__onnx_data(op, 0, &inputs[0]));
    ISO_TRY(iso__onnx_data(op, 1, &inputs[1]));
    iso__draft_begin(&draft, op->entry->op, 2, inputs);
    iso__draft_int(&draft, "axis", axis);
    return iso__onnx_finish(op, &draft);
}

/* -- where, transpose -- */

static iso_status_t where_ints(iso__onnx_op_t *op, bool *done_out)
{
    const iso_ints_t *operands[3] = {NULL, NULL, NULL};
    bool symbolic = false;
    iso_ints_t result;

    *done_out = false;
    for (int i = 0; i < 3; i++) {
        const iso_ints_t *ints = NULL;

        ISO_TRY(iso__onnx_symbolic(op, i, &ints));
        symbolic = symbolic || ints != NULL;
    }
    for (int i = 0; symbolic && i < 3; i++) {
        ISO_TRY(iso__onnx_ints(op, i, &operands[i]));
        symbolic = operands[i] != NULL;
    }
    if (symbolic) {
        ISO_TRY(iso_ints_where(op->import->arena, operands[0], operands[1],
                               operands[2], &result, done_out));
    }
    return *done_out ? iso__onnx_bind_ints(op, 0, &result) : ISO_OK;
}

static iso_status_t convert_where(iso__onnx_op_t *op)
{
    iso_node_id_t inputs[3];
    iso__draft_t draft;
    bool done = false;

    ISO_TRY(where_ints(op, &done));
    if (done) {
        return ISO_OK;
    }
    for (int i = 0; i < 3; i++) {
        ISO_TRY(iso__onnx_data(op, i, &inputs[i]));
    }
    iso__draft_begin(&draft, ISO_OP_WHERE, 3, inputs);
    return iso__onnx_finish(op, &draft);
}

static iso_status_t convert_transpose(iso__onnx_op_t *op)
{
    iso__numbers_t perm;
    iso__draft_t draft;
    iso_node_id_t x;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(iso__onnx_attr_ints(op, "perm", &perm));
    iso__draft_begin(&draft, ISO_OP_TRANSPOSE, 1, &x);
    if (perm.is_given) {
        iso__draft_ints(&draft, "perm", perm.value, perm.count);
    }
    return iso__onnx_finish(op, &draft);
}

/* -- pad, expand, tile -- */

/* Two for each dim, and all zero. */
static bool are_no_pads(const iso__numbers_t *pads, int rank)
{
    for (int i = 0; i < pads->count; i++) {
        if (pads->value[i] != 0) {
            return false;
        }
    }
    return pads->count == 2 * rank;
}

/* What constant padding is filled with. */
static iso_status_t pad_value(iso__onnx_op_t *op, double *value_out)
{
    bool known = true;

    *value_out = 0.0;
    if (iso__onnx_opset(op) < 11) {
        return iso__onnx_attr_float(op, "value", 0.0, value_out);
    }
    if (iso__onnx_has(op, 2)) {
        ISO_TRY(iso__onnx_scalar(op, 2, value_out, &known));
    }
    if (!known) {
        return iso_fail(ISO_UNSUPPORTED,
                        "its value '%s' depends on the model's inputs, "
                        "expected a constant",
                        op->proto->input[2]);
    }
    return ISO_OK;
}

static iso_status_t convert_pad(iso__onnx_op_t *op)
{
    iso__numbers_t pads;
    iso__draft_t draft;
    iso_node_id_t x;
    const char *mode;
    double value;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(iso__onnx_attr_or_input(op, "pads", 11, 1, &pads));
    ISO_TRY(iso__onnx_attr_text(op, "mode", "constant", &mode));
    ISO_TRY(pad_value(op, &value));
    if (are_no_pads(&pads, iso__onnx_node(op, x)->shape.rank)) {
        return iso__onnx_bind(op, 0, x);
    }
    iso__draft_begin(&draft, ISO_OP_PAD, 1, &x);
    iso__draft_ints(&draft, "pads", pads.value, pads.count);
    iso__draft_text(&draft, "mode", mode);
    iso__draft_float(&draft, "value", value);
    return iso__onnx_finish(op, &draft);
}

/* Is every dim asked for 1, or what it is already? */
static bool changes_nothing(const iso_shape_t *x, const iso_dim_t *dims,
                            int rank)
{
    bool same = rank <= x->rank;

    for (int i = 1; same && i <= rank; i++) {
        same = iso_dim_equal(dims[rank - i], iso_dim_of(1)) ||
               iso_dim_equal(dims[rank - i], x->dim[x->rank - i]);
    }
    return same;
}

static iso_status_t convert_expand(iso__onnx_op_t *op)
{
    const iso_ints_t *ints = NULL;
    iso_dim_t dims[ISO_MAX_RANK];
    iso__draft_t draft;
    iso_node_id_t x;
    int rank;

    ISO_TRY(iso__onnx_need_ints(op, 1, "shape", &ints));
    ISO_TRY(copy_dims(ints, "shape", dims, &rank));
    ISO_TRY(iso__onnx_data(op, 0, &x));
    if (changes_nothing(&iso__onnx_node(op, x)->shape, dims, rank)) {
        return iso__onnx_bind(op, 0, x);
    }
    iso__draft_begin(&draft, ISO_OP_EXPAND, 1, &x);
    iso__draft_dims(&draft, "shape", dims, rank);
    return iso__onnx_finish(op, &draft);
}

static iso_status_t convert_tile(iso__onnx_op_t *op)
{
    iso__numbers_t repeats;
    iso__draft_t draft;
    iso_node_id_t x;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(iso__onnx_numbers(op, 1, "repeats", &repeats));
    iso__draft_begin(&draft, ISO_OP_TILE, 1, &x);
    iso__draft_ints(&draft, "repeats", repeats.value, repeats.count);
    return iso__onnx_finish(op, &draft);
}

/* -- blocks -- */

static iso_status_t convert_blocks(iso__onnx_op_t *op)
{
    const char *mode;
    iso__draft_t draft;
    iso_node_id_t x;
    int64_t block;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(iso__onnx_attr_int(op, "blocksize", 0, &block));
    iso__draft_begin(&draft, op->entry->op, 1, &x);
    iso__draft_int(&draft, "block", block);
    if (op->entry->op == ISO_OP_DEPTH_TO_SPACE) {
        ISO_TRY(iso__onnx_attr_text(op, "mode", "DCR", &mode));
        if (strcmp(mode, "DCR") != 0 && strcmp(mode, "CRD") != 0) {
            return iso_fail(ISO_INPUT, "mode is '%s', expected DCR or CRD",
                            mode);
        }
        iso__draft_text(&draft, "mode", mode[0] == 'D' ? "dcr" : "crd");
    }
    return iso__onnx_finish(op, &draft);
}

#define ENTRY(type, least, convert, op)                    \
    {                                                      \
        type, least, ISO__MOST_OPSET, convert, ISO_OP_##op \
    }

const iso__onnx_entry_t iso__onnx_move[] = {
    ENTRY("Concat", 4, convert_concat, CONCAT),
    ENTRY("Split", 2, convert_split, SLICE),
    ENTRY("Slice", 1, convert_slice, SLICE),
    ENTRY("Gather", 1, convert_gather, GATHER),
    ENTRY("GatherElements", 11, convert_gather, GATHER_ELEMENTS),
    ENTRY("Where", 9, convert_where, WHERE),
    ENTRY("Transpose", 1, convert_transpose, TRANSPOSE),
    ENTRY("Pad", 2, convert_pad, PAD),
    ENTRY("Expand", 8, convert_expand, EXPAND),
    ENTRY("Tile", 6, convert_tile, TILE),
    ENTRY("DepthToSpace", 1, convert_blocks, DEPTH_TO_SPACE),
    ENTRY("SpaceToDepth", 1, convert_blocks, SPACE_TO_DEPTH),
    {NULL, 0, 0, NULL, ISO_OP_COUNT},
};
