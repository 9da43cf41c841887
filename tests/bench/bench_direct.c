#include "bench_direct.h"

#include "isotome/graph.h"

#include "base/mem.h"
#include "bench.h"
#include "kernel/cpu/direct/pack.h"
#include "kernel/format.h"
#include "kernel/panels.h"

#include <string.h>

/* One copy of the weights: packed, or plain where the node is not direct. */
typedef struct weight {
    iso_panels_t *panels;
    iso_tensor_t plain;
} weight_t;

struct bench_direct {
    iso_cpu_t *cpu; /* borrowed */
    iso_graph_t *graph;
    iso_node_id_t id;
    iso_tensor_t x;
    iso_tensor_t y;
    iso_format_t x_format;
    iso_format_t y_format;
    weight_t *weights; /* (copies) */
    int copies;
    int next;
};

/* ---- The graph ---- */

static iso_node_id_t add(iso_graph_t *graph, iso_op_t op, int n_inputs,
                         const iso_node_id_t *inputs, int n_attrs,
                         const iso_attr_t *attrs)
{
    const iso_node_spec_t spec = {.op = op,
                                  .n_inputs = n_inputs,
                                  .inputs = inputs,
                                  .n_attrs = n_attrs,
                                  .attrs = attrs};
    iso_node_id_t id;

    bench_need(iso_graph_add(graph, &spec, &id));
    return id;
}

/* A 1x1 convolution by weights of its own. */
static iso_node_id_t add_neighbour(iso_graph_t *graph, const char *name,
                                   iso_node_id_t x, int64_t in, int64_t out)
{
    const iso_shape_t w = iso_shape_of(4, (const int64_t[]){out, in, 1, 1});
    iso_node_id_t inputs[2] = {x, ISO_NO_NODE};

    bench_need(iso_graph_add_param(graph, name, ISO_DTYPE_F32, &w, &inputs[1]));
    return add(graph, ISO_OP_CONV, 2, inputs, 0, NULL);
}

/* Between two convolutions, as inside a network, which leave it the choice of
 * formats; an image (few channels) comes from outside. */
static void conv_graph(bench_direct_t *job, const bench_conv_t *conv)
{
    const iso_shape_t x = iso_shape_of(
        4, (const int64_t[]){conv->images, conv->in, conv->size, conv->size});
    const int64_t first = conv->is_transposed ? conv->in : conv->out;
    const int64_t second = conv->is_transposed ? conv->out : conv->in;
    const iso_shape_t w =
        iso_shape_of(4, (const int64_t[]){first, second / conv->groups,
                                          conv->kernel[0], conv->kernel[1]});
    const int64_t pads[] = {bench_conv_pad(conv, 0), bench_conv_pad(conv, 1),
                            bench_conv_pad(conv, 0), bench_conv_pad(conv, 1)};
    const int64_t strides[] = {conv->stride, conv->stride};
    const int64_t dilations[] = {conv->dilation, conv->dilation};
    const iso_attr_t attrs[] = {
        {"pads", ISO_ATTR_INTS, 4, {.ints = pads}},
        {"strides", ISO_ATTR_INTS, 2, {.ints = strides}},
        {"dilations", ISO_ATTR_INTS, 2, {.ints = dilations}},
        {"groups", ISO_ATTR_INTS, 1, {.ints = &conv->groups}}};
    iso_node_id_t inputs[2];
    iso_node_id_t after;

    bench_need(
        iso_graph_add_input(job->graph, "x", ISO_DTYPE_F32, &x, &inputs[0]));
    bench_need(
        iso_graph_add_param(job->graph, "w", ISO_DTYPE_F32, &w, &inputs[1]));
    if (conv->in >= ISO_BLOCK_CHANNELS) {
        inputs[0] =
            add_neighbour(job->graph, "before", inputs[0], conv->in, conv->in);
    }
    job->id = add(job->graph,
                  conv->is_transposed ? ISO_OP_CONV_TRANSPOSE : ISO_OP_CONV, 2,
                  inputs, 4, attrs);
    after = add_neighbour(job->graph, "after", job->id, conv->out,
                          ISO_BLOCK_CHANNELS);
    bench_need(iso_graph_add_output(job->graph, "y", after));
}

static void product_graph(bench_direct_t *job, const bench_product_t *product)
{
    const iso_shape_t a =
        iso_shape_of(2, (const int64_t[]){product->m, product->k});
    const iso_shape_t b =
        iso_shape_of(2, (const int64_t[]){product->k, product->n});
    iso_node_id_t inputs[2];

    bench_need(
        iso_graph_add_input(job->graph, "a", ISO_DTYPE_F32, &a, &inputs[0]));
    bench_need(
        iso_graph_add_param(job->graph, "b", ISO_DTYPE_F32, &b, &inputs[1]));
    job->id = add(job->graph, ISO_OP_MATMUL, 2, inputs, 0, NULL);
    bench_need(iso_graph_add_output(job->graph, "y", job->id));
}

/* ---- Values ---- */

static iso_tensor_t tensor_of(const iso_node_t *node, iso_format_t format)
{
    iso_tensor_t tensor;
    size_t bytes = 0;

    bench_need(iso_tensor_view(ISO_DTYPE_F32, &node->shape, NULL, &tensor));
    bench_need(iso_format_bytes(node, format, &bytes));
    tensor.data = bench_zeroed(bytes, 1);
    return tensor;
}

/* A view of someone's elements, which are only read. */
static iso_tensor_t view_of(const iso_node_t *node, const float *data)
{
    iso_tensor_t tensor;

    bench_need(iso_tensor_view(ISO_DTYPE_F32, &node->shape, NULL, &tensor));
    memcpy(&tensor.data, &data, sizeof tensor.data); /* but for its const */
    return tensor;
}

static void copy_to(const iso_cpu_t *cpu, const iso_tensor_t *plain,
                    iso_format_t format, const iso_tensor_t *to)
{
    if (format == ISO_FORMAT_PLAIN) {
        memcpy(to->data, plain->data, iso_tensor_bytes(plain));
    } else {
        iso_cpu_convert(cpu, plain, format, to);
    }
}

static void make_weight(const bench_direct_t *job, const float *data,
                        weight_t *weight)
{
    const iso_node_id_t param = iso_graph_node(job->graph, job->id)->inputs[1];
    const iso_node_t *node = iso_graph_node(job->graph, param);
    const iso_tensor_t given = view_of(node, data);
    iso_panels_spec_t spec;

    if (iso_panels_of(job->graph, job->id, &spec)) {
        bench_need(iso_panels_create(&spec, &weight->panels));
        iso_panels_fill(job->cpu, weight->panels, 0, given.dims[0], data);
        weight->plain = given;
        weight->plain.data = NULL;
        return;
    }
    weight->plain = tensor_of(node, ISO_FORMAT_PLAIN);
    memcpy(weight->plain.data, data, iso_tensor_bytes(&given));
}

static void choose_formats(bench_direct_t *job)
{
    iso_formats_t formats;

    bench_need(iso_formats_create(job->graph, false, &formats));
    job->x_format = iso_formats_read(job->graph, &formats, job->id, 0);
    job->y_format = formats.made[job->id];
    iso_formats_free(&formats);
}

static void fill_job(bench_direct_t *job, int copies, const float *x,
                     const float *w)
{
    const iso_node_t *node = iso_graph_node(job->graph, job->id);
    const iso_node_t *operand = iso_graph_node(job->graph, node->inputs[0]);
    const iso_tensor_t given = view_of(operand, x);

    choose_formats(job);
    job->x = tensor_of(operand, job->x_format);
    job->y = tensor_of(node, job->y_format);
    copy_to(job->cpu, &given, job->x_format, &job->x);
    job->copies = copies;
    job->weights = bench_zeroed((size_t)copies, sizeof *job->weights);
    for (int i = 0; i < copies; i++) {
        make_weight(job, w, &job->weights[i]);
    }
}

/* ---- Jobs ---- */

static bench_direct_t *new_job(iso_cpu_t *cpu)
{
    bench_direct_t *job = bench_zeroed(1, sizeof *job);

    job->cpu = cpu;
    bench_need(iso_graph_create(&job->graph));
    return job;
}

bench_direct_t *bench_direct_conv(iso_cpu_t *cpu, const bench_conv_t *conv,
                                  const float *x, const float *w)
{
    bench_direct_t *job = new_job(cpu);

    conv_graph(job, conv);
    fill_job(job, 1, x, w);
    return job;
}

bench_direct_t *bench_direct_matmul(iso_cpu_t *cpu,
                                    const bench_product_t *product, int copies,
                                    const float *a, const float *b)
{
    bench_direct_t *job = new_job(cpu);

    product_graph(job, product);
    fill_job(job, copies, a, b);
    return job;
}

const char *bench_direct_way(const bench_direct_t *job)
{
    if (job->weights[0].panels == NULL) {
        return "not packed";
    }
    return job->x_format == ISO_FORMAT_BLOCKED ? "blocked" : "packed";
}

void bench_direct_run(bench_direct_t *job)
{
    const weight_t *weight = &job->weights[job->next];
    const iso_tensor_t *inputs[] = {&job->x, &weight->plain};
    const iso_format_t formats[] = {job->x_format, ISO_FORMAT_PLAIN};
    const iso_cpu_step_t step = {
        .node = iso_graph_node(job->graph, job->id),
        .inputs = inputs,
        .formats = formats,
        .output = &job->y,
        .format = job->y_format,
        .panels = weight->panels,
    };

    job->next = (job->next + 1) % job->copies;
    bench_need(iso_cpu_run_step(job->cpu, &step));
}

void bench_direct_output(const bench_direct_t *job, float *y)
{
    iso_tensor_t plain = job->y;

    plain.data = y;
    if (job->y_format == ISO_FORMAT_PLAIN) {
        memcpy(y, job->y.data, iso_tensor_bytes(&plain));
    } else {
        iso_cpu_convert(job->cpu, &job->y, ISO_FORMAT_PLAIN, &plain);
    }
}

void bench_direct_destroy(bench_direct_t **job)
{
    bench_direct_t *dead = *job;

    if (dead == NULL) {
        return;
    }
    for (int i = 0; i < dead->copies; i++) {
        iso_panels_destroy(&dead->weights[i].panels);
        iso_free(dead->weights[i].plain.data);
    }
    iso_free(dead->weights);
    iso_free(dead->x.data);
    iso_free(dead->y.data);
    iso_graph_destroy(&dead->graph);
    iso_free(dead);
    *job = NULL;
}
