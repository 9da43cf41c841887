/*
 * Computing an op in pieces: one graph has a node for each piece, with inputs
 * that are copies of what the piece needs and no more, as a worker would have
 * them.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "lab/equiv_impl.h"
#include "tensor/copy.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 32 };

typedef struct input {
    iso_node_id_t node;
    const float *elements;
    float *own; /* to be freed; NULL: all of an operand, which is the op's */
    bool is_param;
} input_t;

typedef struct assembly {
    const iso__equiv_op_t *op; /* as it is cut */
    const iso_shard_option_t *option;
    int axis; /* of the op's value, or ISO_SHARD_PARTIAL_SUMS */
    iso__equiv_sum_t sum;
    iso_graph_t *graph;
    iso_node_id_t whole[ISO__EQUIV_OPERANDS]; /* inputs, ISO_NO_NODE */
    int64_t n_inputs;
    int64_t most_inputs;
    input_t *inputs;
} assembly_t;

static const iso_node_t *node_of(const iso__equiv_op_t *op)
{
    return iso_graph_node(op->graph, op->node);
}

static const iso_shape_t *operand_shape(const iso__equiv_op_t *op, int operand)
{
    return &iso_graph_node(op->graph, node_of(op)->inputs[operand])->shape;
}

static bool is_param(const iso__equiv_op_t *op, int operand)
{
    return iso_graph_node(op->graph, node_of(op)->inputs[operand])->op ==
           ISO_OP_PARAM;
}

/* -- what a piece needs -- */

/* input [in] node is set; own is taken over, also on failure */
static iso_status_t add_input(assembly_t *assembly, const iso_shape_t *shape,
                              input_t input, iso_node_id_t *node_out)
{
    input_t *grown = iso_array_grow(assembly->inputs, assembly->n_inputs,
                                    &assembly->most_inputs, sizeof *grown);
    char name[NAME_BYTES];

    if (grown == NULL) {
        iso_free(input.own);
        return ISO_NOMEM;
    }
    assembly->inputs = grown;
    grown[assembly->n_inputs++] = input;
    (void)snprintf(name, sizeof name, "part %lld",
                   (long long)assembly->n_inputs);
    ISO_TRY(input.is_param
                ? iso_graph_add_param(assembly->graph, name, ISO_DTYPE_F32,
                                      shape, node_out)
                : iso_graph_add_input(assembly->graph, name, ISO_DTYPE_F32,
                                      shape, node_out));
    grown[assembly->n_inputs - 1].node = *node_out;
    return ISO_OK;
}

/* All of an operand: one input for all pieces. */
static iso_status_t add_whole(assembly_t *assembly, int operand,
                              iso_node_id_t *node_out)
{
    const input_t input = {.elements = assembly->op->operands[operand],
                           .is_param = is_param(assembly->op, operand)};

    if (assembly->whole[operand] == ISO_NO_NODE) {
        ISO_TRY(add_input(assembly, operand_shape(assembly->op, operand), input,
                          &assembly->whole[operand]));
    }
    *node_out = assembly->whole[operand];
    return ISO_OK;
}

/* Copy a box of a tensor from or to a tensor of its own. */
typedef struct box {
    int64_t whole[ISO_MAX_RANK];
    int64_t part[ISO_MAX_RANK];
    int64_t begin[ISO_MAX_RANK]; /* of the part in the whole */
} box_t;

static box_t box_of(const iso_shape_t *shape, int axis, iso_range_t range)
{
    box_t box = {.begin = {0}};

    for (int i = 0; i < shape->rank; i++) {
        box.whole[i] = shape->dim[i].size;
        box.part[i] = i == axis ? iso_range_length(range) : box.whole[i];
        box.begin[i] = i == axis ? range.begin : 0;
    }
    return box;
}

static iso_status_t add_slab(assembly_t *assembly, int operand,
                             const iso_slab_t *slab, iso_node_id_t *node_out)
{
    static const int64_t zeros[ISO_MAX_RANK] = {0};

    if (slab->axis == ISO_AXIS_WHOLE) {
        return add_whole(assembly, operand, node_out);
    }

    const iso_shape_t *shape = operand_shape(assembly->op, operand);
    const box_t box = box_of(shape, slab->axis, slab->range);
    const iso_shape_t part = iso_shape_of(shape->rank, box.part);
    iso_copy_t copy;

    iso_copy_of(sizeof(float), shape->rank, box.part,
                (iso_copy_end_t){box.whole, box.begin},
                (iso_copy_end_t){box.part, zeros}, &copy);

    float *own = iso_alloc(iso_copy_bytes(&copy));

    if (own == NULL) {
        return ISO_NOMEM;
    }
    iso_copy_run(&copy, assembly->op->operands[operand], own);
    return add_input(assembly, &part,
                     (input_t){.elements = own,
                               .own = own,
                               .is_param = is_param(assembly->op, operand)},
                     node_out);
}

static iso_status_t add_output(assembly_t *assembly, int number,
                               iso_node_id_t node)
{
    char name[NAME_BYTES];

    (void)snprintf(name, sizeof name, "piece %d", number);
    return iso_graph_add_output(assembly->graph, name, node);
}

/* -- pieces of an axis of the value -- */

static iso_status_t add_piece(assembly_t *assembly, int shard)
{
    const iso__equiv_op_t *op = assembly->op;
    const iso_range_t range = assembly->option->ranges[shard];
    iso_node_id_t inputs[ISO__EQUIV_OPERANDS];
    iso_node_id_t node;

    for (int i = 0; i < ISO__EQUIV_OPERANDS; i++) {
        iso_slab_t slab;

        ISO_TRY(iso_cut_operand(op->graph, op->node, assembly->axis, range, i,
                                &slab));
        ISO_TRY(add_slab(assembly, i, &slab, &inputs[i]));
    }
    ISO_TRY(iso_cut_add(op->graph, op->node, assembly->axis, range,
                        assembly->graph, NULL, inputs, &node));
    return add_output(assembly, shard, node);
}

/* -- pieces of the reduction, as isotome cuts and adds them -- */

typedef struct partials {
    int count;
    iso_range_t subtrees[ISO__EQUIV_MOST_PIECES * ISO_MOST_SUBTREES];
    iso_node_id_t nodes[ISO__EQUIV_MOST_PIECES * ISO_MOST_SUBTREES];
} partials_t;

static iso_status_t add_partial(assembly_t *assembly, iso_range_t subtree,
                                partials_t *partials)
{
    const iso__equiv_op_t *op = assembly->op;
    iso_node_id_t inputs[ISO__EQUIV_OPERANDS];

    for (int i = 0; i < ISO__EQUIV_OPERANDS; i++) {
        iso_slab_t slab;

        ISO_TRY(
            iso_cut_partial_operand(op->graph, op->node, subtree, i, &slab));
        ISO_TRY(add_slab(assembly, i, &slab, &inputs[i]));
    }
    ISO_TRY(iso_cut_add_partial(op->graph, op->node, subtree, assembly->graph,
                                NULL, inputs,
                                &partials->nodes[partials->count]));
    partials->subtrees[partials->count++] = subtree;
    return ISO_OK;
}

/* Of one piece. */
static iso_status_t add_partials(assembly_t *assembly, int shard,
                                 partials_t *partials)
{
    const iso_shard_option_t *option = assembly->option;
    iso_range_t subtrees[ISO_MOST_SUBTREES];
    const int count =
        iso_cut_subtrees(option->length, option->ranges[shard], subtrees);

    for (int i = 0; i < count; i++) {
        ISO_TRY(add_partial(assembly, subtrees[i], partials));
    }
    return ISO_OK;
}

static iso_status_t add_tree(assembly_t *assembly, partials_t *partials)
{
    for (int shard = 0; shard < assembly->option->count; shard++) {
        ISO_TRY(add_partials(assembly, shard, partials));
    }

    const iso_cut_sum_t sum = {.n_partials = partials->count,
                               .subtrees = partials->subtrees,
                               .partials = partials->nodes,
                               .bias = ISO_NO_NODE};
    iso_node_id_t node;

    ISO_TRY(iso_cut_add_sum(assembly->op->graph, assembly->op->node, &sum,
                            assembly->graph, "sum", &node));
    return add_output(assembly, 0, node);
}

static iso_status_t add_partial_sums(assembly_t *assembly)
{
    partials_t *partials = iso_alloc_zeroed(1, sizeof *partials);

    if (partials == NULL) {
        return ISO_NOMEM;
    }
    iso_status_t status = add_tree(assembly, partials);

    iso_free(partials);
    return status;
}

/* -- pieces of the reduction, one sum for each, added in order -- */

static iso_status_t add_share(assembly_t *assembly, int shard,
                              iso_node_id_t *node_out)
{
    const iso_shard_op_t op = {.graph = assembly->op->graph,
                               .node = assembly->op->node};
    iso_node_id_t inputs[ISO__EQUIV_OPERANDS];

    for (int i = 0; i < ISO__EQUIV_OPERANDS; i++) {
        iso_slab_t slab;

        ISO_TRY(iso_shard_slab(&op, assembly->option, shard, i, &slab));
        ISO_TRY(add_slab(assembly, i, &slab, &inputs[i]));
    }
    return iso_cut_add_whole(op.graph, op.node, assembly->graph, NULL, inputs,
                             node_out);
}

static iso_status_t add_chain(assembly_t *assembly)
{
    iso_node_id_t sum = ISO_NO_NODE;

    for (int shard = 0; shard < assembly->option->count; shard++) {
        iso_node_id_t share;

        ISO_TRY(add_share(assembly, shard, &share));
        if (sum == ISO_NO_NODE) {
            sum = share;
            continue;
        }
        const iso_node_id_t terms[] = {sum, share};
        const iso_node_spec_t spec = {
            .op = ISO_OP_ADD, .n_inputs = 2, .inputs = terms};

        ISO_TRY(iso_graph_add(assembly->graph, &spec, &sum));
    }
    return add_output(assembly, 0, sum);
}

static iso_status_t assemble(assembly_t *assembly)
{
    ISO_TRY(iso_graph_create(&assembly->graph));
    for (int i = 0; i < ISO__EQUIV_OPERANDS; i++) {
        assembly->whole[i] = ISO_NO_NODE;
    }
    if (assembly->axis == ISO_SHARD_PARTIAL_SUMS) {
        return assembly->sum == ISO__EQUIV_SUM_TREE ? add_partial_sums(assembly)
                                                    : add_chain(assembly);
    }
    for (int shard = 0; shard < assembly->option->count; shard++) {
        ISO_TRY(add_piece(assembly, shard));
    }
    return ISO_OK;
}

/* -- running -- */

/* Put the pieces together. */
static void collect(const assembly_t *assembly, const iso_program_t *program,
                    float *result)
{
    static const int64_t zeros[ISO_MAX_RANK] = {0};
    const iso_shape_t *shape = &node_of(assembly->op)->shape;

    if (assembly->axis == ISO_SHARD_PARTIAL_SUMS) {
        memcpy(result, iso_program_output(program, 0),
               (size_t)iso_shape_count(shape) * sizeof *result);
        return;
    }
    for (int shard = 0; shard < assembly->option->count; shard++) {
        const box_t box =
            box_of(shape, assembly->axis, assembly->option->ranges[shard]);
        iso_copy_t copy;

        iso_copy_of(sizeof *result, shape->rank, box.part,
                    (iso_copy_end_t){box.part, zeros},
                    (iso_copy_end_t){box.whole, box.begin}, &copy);
        iso_copy_run(&copy, iso_program_output(program, shard), result);
    }
}

static iso_status_t run(const assembly_t *assembly, iso_device_t *device,
                        float *result)
{
    const iso_program_options_t options = {.buffer = NULL};
    iso_program_t *program = NULL;

    ISO_TRY(iso_program_create(device, assembly->graph, &options, &program));
    for (int64_t i = 0; i < assembly->n_inputs; i++) {
        iso_program_bind_node(program, assembly->inputs[i].node,
                              assembly->inputs[i].elements);
    }
    iso_status_t status = iso_program_run(program);

    if (status == ISO_OK) {
        collect(assembly, program, result);
    }
    iso_program_destroy(&program);
    return status;
}

static void end(assembly_t *assembly)
{
    for (int64_t i = 0; i < assembly->n_inputs; i++) {
        iso_free(assembly->inputs[i].own);
    }
    iso_free(assembly->inputs);
    iso_graph_destroy(&assembly->graph);
}

static iso_status_t run_cut(const iso__equiv_op_t *op,
                            const iso_shard_option_t *option, int axis,
                            iso__equiv_sum_t sum, iso_device_t *device,
                            float *result)
{
    assembly_t assembly = {
        .op = op, .option = option, .axis = axis, .sum = sum};
    iso_status_t status = assemble(&assembly);

    if (status == ISO_OK) {
        status = run(&assembly, device, result);
    }
    end(&assembly);
    return status;
}

/* -- rows of a batched A, which are one axis -- */

/* The same product with A, and the value, as one matrix; elements are op's. */
static iso_status_t flatten(const iso__equiv_op_t *op, iso__equiv_op_t *flat)
{
    const iso_shape_t *a = operand_shape(op, 0);
    const iso_shape_t *b = operand_shape(op, 1);
    const int64_t inner = a->dim[a->rank - 1].size;
    const iso__equiv_case_t product = {
        .op = node_of(op)->op,
        .rank = {2, 2},
        .dims = {{iso_shape_count(a) / inner, inner},
                 {inner, b->dim[b->rank - 1].size}}};

    ISO_TRY(iso__equiv_op_create(&product, flat));
    for (int i = 0; i < ISO__EQUIV_OPERANDS; i++) {
        flat->operands[i] = op->operands[i];
    }
    return ISO_OK;
}

iso_status_t iso__equiv_pieces(const iso__equiv_op_t *op,
                               const iso_shard_option_t *option,
                               iso__equiv_sum_t sum, iso_device_t *device,
                               float *result)
{
    if (option->flat_axes <= 1) {
        return run_cut(op, option, option->output_axis, sum, device, result);
    }

    iso__equiv_op_t flat;
    iso_status_t status = flatten(op, &flat);

    if (status == ISO_OK) {
        status = run_cut(&flat, option, 0, sum, device, result);
    }
    iso_graph_destroy(&flat.graph);
    return status;
}

iso_status_t iso__equiv_whole(const iso__equiv_op_t *op, iso_device_t *device,
                              float *result)
{
    const iso_program_options_t options = {.buffer = NULL};
    const iso_node_t *node = node_of(op);
    iso_program_t *program = NULL;

    ISO_TRY(iso_program_create(device, op->graph, &options, &program));
    for (int i = 0; i < ISO__EQUIV_OPERANDS; i++) {
        iso_program_bind_node(program, node->inputs[i], op->operands[i]);
    }
    iso_status_t status = iso_program_run(program);

    if (status == ISO_OK) {
        memcpy(result, iso_program_output(program, 0),
               (size_t)iso__equiv_op_elements(op) * sizeof *result);
    }
    iso_program_destroy(&program);
    return status;
}
