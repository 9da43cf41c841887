#include "random_net.h"

#include "iso_test.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"

/* A network under way: compute nodes read values from list. */
typedef struct net {
    iso_graph_t *graph;
    uint64_t *state;
    int n_values;
    iso_node_id_t values[256];
} net_t;

static int pick(net_t *net, int below)
{
    return (int)test_random_int(net->state, 0, below - 1);
}

static const iso_shape_t *shape_of(const net_t *net, iso_node_id_t id)
{
    return &iso_graph_node(net->graph, id)->shape;
}

/* Most often a late one, so that the network is deep. */
static iso_node_id_t pick_value(net_t *net)
{
    const int back = pick(net, 3) == 0 ? pick(net, net->n_values)
                                       : pick(net, net->n_values) % 4;

    return net->values[net->n_values - 1 - back];
}

/* Another value like x in all dims, or all but the channels; else x. */
static iso_node_id_t pick_like(net_t *net, iso_node_id_t x, bool same_channels)
{
    for (int tries = 0; tries < 20; tries++) {
        const iso_node_id_t other = pick_value(net);
        iso_shape_t shape = *shape_of(net, other);

        if (!same_channels && shape.rank > 1) {
            shape.dim[1] = shape_of(net, x)->dim[1];
        }
        if (other != x && iso_shape_equal(&shape, shape_of(net, x))) {
            return other;
        }
    }
    return x;
}

/* -- ops on (N, C, H, W) -- */

static iso_node_id_t add_conv(net_t *net, iso_node_id_t x)
{
    static const int64_t lanes[] = {1, 7, 8, 15, 16, 17, 32, 33};
    static const int64_t three_pads[] = {1, 1, 1, 1};
    const int64_t in = shape_of(net, x)->dim[1].size;
    const int64_t kernel = pick(net, 2) == 0 ? 1 : 3;
    const int kind = pick(net, 4);
    const int64_t groups = kind == 0 ? in : kind == 1 && in % 32 == 0 ? 2 : 1;
    const int64_t out = kind == 0 ? in : groups == 2 ? 32 : lanes[pick(net, 8)];
    const int64_t dims[] = {kind == 2 ? in : out, in / groups, kernel, kernel};
    const iso_attr_t attrs[] = {test_ints("groups", 1, &groups),
                                test_ints("pads", 4, three_pads)};
    const iso_node_id_t inputs[] = {
        x, test_leaf(net->graph, pick(net, 8) > 0, 4, dims)};

    return test_add(net->graph, ISO_OP_CONV, 2, inputs, kernel == 3 ? 2 : 1,
                    attrs);
}

static iso_node_id_t add_pool(net_t *net, iso_node_id_t x)
{
    const int64_t kernel[] = {1 + pick(net, 2), 1};
    const iso_attr_t attr = test_ints("kernel", 2, kernel);

    if (shape_of(net, x)->dim[2].size < kernel[0]) {
        return x;
    }
    return test_add(net->graph,
                    pick(net, 2) == 0 ? ISO_OP_MAX_POOL : ISO_OP_AVG_POOL, 1,
                    &x, 1, &attr);
}

static iso_node_id_t add_mean(net_t *net, iso_node_id_t x)
{
    const int64_t axes[] = {2, 3};
    const int64_t keep = pick(net, 2);
    const iso_attr_t attrs[] = {test_ints("axes", 2 - pick(net, 4) / 3, axes),
                                test_ints("keep_dims", 1, &keep)};

    return test_add(net->graph, ISO_OP_REDUCE_MEAN, 1, &x, 2, attrs);
}

static iso_node_id_t add_gate(net_t *net, iso_node_id_t x)
{
    const iso_shape_t *shape = shape_of(net, x);
    const int64_t dims[] = {pick(net, 2) == 0 ? 1 : shape->dim[0].size,
                            shape->dim[1].size, 1,
                            pick(net, 4) == 0 ? shape->dim[3].size : 1};
    const iso_node_id_t inputs[] = {
        x, test_leaf(net->graph, pick(net, 2) == 0, 4, dims)};

    return test_add(net->graph, ISO_OP_MUL, 2, inputs, 0, NULL);
}

static iso_node_id_t add_norm(net_t *net, iso_node_id_t x)
{
    const iso_node_id_t s =
        test_leaf(net->graph, true, 1, &shape_of(net, x)->dim[1].size);

    return test_add(net->graph, ISO_OP_BATCH_NORM, 5,
                    (const iso_node_id_t[]){x, s, s, s, s}, 0, NULL);
}

static iso_node_id_t add_image_op(net_t *net, iso_node_id_t x)
{
    static const int64_t swap[] = {0, 1, 3, 2};
    const iso_attr_t perm = test_ints("perm", 4, swap);

    switch (pick(net, 12)) {
    case 0:
        return add_pool(net, x);
    case 1:
        return add_mean(net, x);
    case 2:
        return add_gate(net, x);
    case 3:
        return add_norm(net, x);
    case 4:
        return test_add(net->graph, ISO_OP_TRANSPOSE, 1, &x, 1, &perm);
    default:
        return add_conv(net, x);
    }
}

/* -- ops on any value -- */

static iso_node_id_t add_product(net_t *net, iso_node_id_t x)
{
    const iso_shape_t *shape = shape_of(net, x);
    const int64_t k = shape->dim[shape->rank - 1].size;
    const int64_t n = pick(net, 2) == 0 ? k : 1 + pick(net, 40);
    const int64_t trans_b = shape->rank == 2 ? pick(net, 2) : 0;
    const int64_t dims[] = {trans_b == 1 ? n : k, trans_b == 1 ? k : n};
    const iso_attr_t attr = test_ints("trans_b", 1, &trans_b);
    const iso_node_id_t inputs[] = {x, test_leaf(net->graph, true, 2, dims)};

    return shape->rank == 2
               ? test_add(net->graph, ISO_OP_GEMM, 2, inputs, 1, &attr)
               : test_add(net->graph, ISO_OP_MATMUL, 2, inputs, 0, NULL);
}

/* Rows of what is left; or the last two dims, swapped. */
static iso_node_id_t add_reshape(net_t *net, iso_node_id_t x)
{
    const iso_shape_t *shape = shape_of(net, x);
    const int64_t count = iso_shape_count(shape);
    const int64_t rows = shape->dim[0].size;
    const int64_t flat[] = {rows, count / rows};
    const int64_t swapped[] = {rows, shape->dim[1].size, shape->dim[3].size,
                               shape->dim[2].size};
    const iso_attr_t attr = shape->rank == 4 && pick(net, 2) == 0
                                ? test_ints("shape", 4, swapped)
                                : test_ints("shape", 2, flat);

    return test_add(net->graph, ISO_OP_RESHAPE, 1, &x, 1, &attr);
}

static iso_node_id_t add_sum(net_t *net, iso_node_id_t x)
{
    const iso_node_id_t other = pick_like(net, x, true);
    const bool is_first = pick(net, 2) == 0;
    int64_t dims[ISO_MAX_RANK];
    iso_node_id_t inputs[] = {x, other};

    if (other == x && pick(net, 2) == 0) {
        for (int axis = 0; axis < shape_of(net, x)->rank; axis++) {
            dims[axis] = shape_of(net, x)->dim[axis].size;
        }
        inputs[1] = test_leaf(net->graph, pick(net, 2) == 0,
                              shape_of(net, x)->rank, dims);
    }
    if (is_first) {
        inputs[0] = inputs[1];
        inputs[1] = x;
    }
    return test_add(net->graph, pick(net, 5) == 0 ? ISO_OP_SUB : ISO_OP_ADD, 2,
                    inputs, 0, NULL);
}

static iso_node_id_t add_concat(net_t *net, iso_node_id_t x)
{
    const int64_t axis = 1;
    const iso_attr_t attr = test_ints("axis", 1, &axis);
    const iso_node_id_t inputs[] = {x, pick_like(net, x, false)};

    if (shape_of(net, x)->rank < 2 || shape_of(net, x)->dim[1].size > 100) {
        return x;
    }
    return test_add(net->graph, ISO_OP_CONCAT, 2, inputs, 1, &attr);
}

static iso_node_id_t add_any(net_t *net, iso_node_id_t x)
{
    static const iso_op_t unary[] = {ISO_OP_RELU,    ISO_OP_CLIP,
                                     ISO_OP_SIGMOID, ISO_OP_TANH,
                                     ISO_OP_ABS,     ISO_OP_HARD_SWISH};

    switch (pick(net, 12)) {
    case 0:
    case 1:
    case 2:
        return test_add(net->graph, unary[pick(net, 6)], 1, &x, 0, NULL);
    case 3:
    case 4:
        return add_sum(net, x);
    case 5:
        return add_concat(net, x);
    case 6:
        return add_reshape(net, x);
    default:
        return shape_of(net, x)->rank == 4 ? add_image_op(net, x)
                                           : add_product(net, x);
    }
}

iso_graph_t *random_net(uint64_t *state, int n_nodes)
{
    static const int64_t channels[] = {1, 3, 8, 15, 16, 17, 32, 33};
    net_t net = {.graph = test_graph()};

    net.state = state;
    for (int i = 0; i < 2; i++) {
        const int64_t dims[] = {1 + pick(&net, 2), channels[pick(&net, 8)],
                                1 + pick(&net, 4), 1 + pick(&net, 4)};

        net.values[net.n_values++] = test_leaf(net.graph, false, 4, dims);
    }
    for (int i = 0; i < n_nodes && net.n_values < 256; i++) {
        net.values[net.n_values++] = add_any(&net, pick_value(&net));
    }
    for (int i = 0; i < 1 + pick(&net, 4); i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "y%d", i);
        test_output(net.graph, name, pick_value(&net));
    }
    return net.graph;
}
