#include "bench_graphs.h"

#include "bench.h"

#include <stdio.h>

enum { NAME_BYTES = 32 };

/* dims [in] (rank), the first of which is the batch's place. */
static iso_node_id_t add_input(iso_graph_t *graph, iso_dim_t batch, int rank,
                               const int64_t *dims)
{
    iso_shape_t shape = iso_shape_of(rank, dims);
    iso_node_id_t id;

    shape.dim[0] = batch;
    bench_need(iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &id));
    return id;
}

static iso_node_id_t add_weight(iso_graph_t *graph, int rank,
                                const int64_t *dims)
{
    const iso_shape_t shape = iso_shape_of(rank, dims);
    char name[NAME_BYTES];
    iso_node_id_t id;

    (void)snprintf(name, sizeof name, "w%d", iso_graph_node_count(graph));
    bench_need(iso_graph_add_param(graph, name, ISO_DTYPE_F32, &shape, &id));
    return id;
}

static iso_node_id_t add(iso_graph_t *graph, iso_op_t op, iso_node_id_t a,
                         iso_node_id_t b, const iso_attr_t *attr)
{
    const iso_node_id_t inputs[] = {a, b};
    const iso_node_spec_t spec = {.op = op,
                                  .n_inputs = b == ISO_NO_NODE ? 1 : 2,
                                  .inputs = inputs,
                                  .n_attrs = attr == NULL ? 0 : 1,
                                  .attrs = attr};
    iso_node_id_t id;

    bench_need(iso_graph_add(graph, &spec, &id));
    return id;
}

static iso_attr_t ints(const char *name, int count, const int64_t *values)
{
    return (iso_attr_t){.name = name,
                        .kind = ISO_ATTR_INTS,
                        .count = count,
                        .value.ints = values};
}

static iso_attr_t dims(const char *name, int count, const iso_dim_t *values)
{
    return (iso_attr_t){.name = name,
                        .kind = ISO_ATTR_DIMS,
                        .count = count,
                        .value.dims = values};
}

static iso_node_id_t add_conv(iso_graph_t *graph, iso_node_id_t x, int64_t in,
                              int64_t out, int64_t kernel)
{
    const int64_t pads[] = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
    const iso_attr_t attr = ints("pads", 4, pads);
    const iso_node_id_t w =
        add_weight(graph, 4, (const int64_t[]){out, in, kernel, kernel});

    return add(graph, ISO_OP_CONV, x, w, &attr);
}

iso_node_id_t bench_make_residual(iso_graph_t *graph, iso_dim_t batch,
                                  int n_nodes)
{
    const int64_t channels = 64;
    const iso_node_id_t x =
        add_input(graph, batch, 4, (const int64_t[]){1, channels, 56, 56});
    iso_node_id_t sum = x;

    while (iso_graph_node_count(graph) < n_nodes) {
        iso_node_id_t y = add_conv(graph, sum, channels, channels, 3);

        y = add(graph, ISO_OP_RELU, y, ISO_NO_NODE, NULL);
        y = add_conv(graph, y, channels, channels, 3);
        y = add(graph, ISO_OP_ADD, y, sum, NULL);
        sum = add(graph, ISO_OP_RELU, y, ISO_NO_NODE, NULL);
    }
    return sum;
}

enum { TOKENS = 256, HEADS = 12, HEAD = 64, WIDTH = 768, WIDE = 4 * WIDTH };

static iso_node_id_t add_dense(iso_graph_t *graph, iso_node_id_t x, int64_t in,
                               int64_t out)
{
    return add(graph, ISO_OP_MATMUL, x,
               add_weight(graph, 2, (const int64_t[]){in, out}), NULL);
}

/* [batch, tokens, width] to [batch, heads, ...] in the order perm. */
static iso_node_id_t add_heads(iso_graph_t *graph, iso_dim_t batch,
                               iso_node_id_t x, const int64_t *perm)
{
    const iso_dim_t split[] = {batch, iso_dim_of(TOKENS), iso_dim_of(HEADS),
                               iso_dim_of(HEAD)};
    const iso_attr_t shape = dims("shape", 4, split);
    const iso_attr_t order = ints("perm", 4, perm);
    const iso_node_id_t heads =
        add(graph, ISO_OP_RESHAPE, add_dense(graph, x, WIDTH, WIDTH),
            ISO_NO_NODE, &shape);

    return add(graph, ISO_OP_TRANSPOSE, heads, ISO_NO_NODE, &order);
}

static iso_node_id_t add_attention(iso_graph_t *graph, iso_dim_t batch,
                                   iso_node_id_t x)
{
    const int64_t in_order[] = {0, 2, 1, 3};
    const int64_t turned[] = {0, 2, 3, 1};
    const iso_dim_t joined[] = {batch, iso_dim_of(TOKENS), iso_dim_of(WIDTH)};
    const iso_attr_t shape = dims("shape", 3, joined);
    const iso_attr_t order = ints("perm", 4, in_order);
    const iso_node_id_t q = add_heads(graph, batch, x, in_order);
    const iso_node_id_t k = add_heads(graph, batch, x, turned);
    const iso_node_id_t v = add_heads(graph, batch, x, in_order);
    iso_node_id_t y = add(graph, ISO_OP_MATMUL, q, k, NULL);

    y = add(graph, ISO_OP_SOFTMAX, y, ISO_NO_NODE, NULL);
    y = add(graph, ISO_OP_MATMUL, y, v, NULL);
    y = add(graph, ISO_OP_TRANSPOSE, y, ISO_NO_NODE, &order);
    y = add(graph, ISO_OP_RESHAPE, y, ISO_NO_NODE, &shape);
    return add(graph, ISO_OP_ADD, add_dense(graph, y, WIDTH, WIDTH), x, NULL);
}

iso_node_id_t bench_make_attention(iso_graph_t *graph, iso_dim_t batch,
                                   int n_nodes)
{
    iso_node_id_t x =
        add_input(graph, batch, 3, (const int64_t[]){1, TOKENS, WIDTH});

    while (iso_graph_node_count(graph) < n_nodes) {
        iso_node_id_t y;

        x = add_attention(graph, batch, x);
        y = add_dense(graph, x, WIDTH, WIDE);
        y = add(graph, ISO_OP_TANH, y, ISO_NO_NODE, NULL);
        x = add(graph, ISO_OP_ADD, add_dense(graph, y, WIDE, WIDTH), x, NULL);
    }
    return x;
}

iso_node_id_t bench_make_different(iso_graph_t *graph, iso_dim_t batch,
                                   int n_nodes)
{
    int64_t channels = 64;
    iso_node_id_t x =
        add_input(graph, batch, 4, (const int64_t[]){1, channels, 14, 14});

    for (; iso_graph_node_count(graph) < n_nodes; channels++) {
        x = add_conv(graph, x, channels, channels + 1, 3);
        x = add(graph, ISO_OP_RELU, x, ISO_NO_NODE, NULL);
    }
    return x;
}

iso_graph_t *bench_graph(bench_make_t *make, const char *batch, int n_nodes)
{
    iso_graph_t *graph = NULL;
    iso_dim_t dim;

    bench_need(iso_dim_parse(batch, &dim));
    bench_need(iso_graph_create(&graph));
    bench_need(iso_graph_add_output(graph, "y", make(graph, dim, n_nodes)));
    return graph;
}
