#include "bench_dnnl.h"

#include "base/mem.h"
#include "bench.h"

#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_dnnl {
    dnnl_primitive_t primitive; /* NULL: sgemm */
    dnnl_memory_t x;
    dnnl_memory_t y;
    dnnl_memory_t *weights;     /* (copies) */
    dnnl_memory_desc_t plain_y; /* row-major */
    const float *a;             /* of sgemm, borrowed */
    float **b;                  /* of sgemm (copies), owned */
    float *c;                   /* of sgemm, owned */
    bench_product_t product;
    int copies;
    int next;
};

/* ---- The library ---- */

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void need(dnnl_status_t status, const char *what)
{
    if (status != dnnl_success) {
        (void)fprintf(stderr, "oneDNN: %s fails with status %d\n", what,
                      (int)status);
        exit(EXIT_FAILURE);
    }
}

static void start(void)
{
    omp_set_num_threads(1);
    if (engine == NULL) {
        need(dnnl_engine_create(&engine, dnnl_cpu, 0), "the engine");
        need(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags),
             "the stream");
    }
}

const char *bench_dnnl_version(void)
{
    static char text[48];
    const dnnl_version_t *version = dnnl_version();

    (void)snprintf(text, sizeof text, "oneDNN %d.%d.%d", version->major,
                   version->minor, version->patch);
    return text;
}

static bench_dnnl_t *new_job(int copies)
{
    bench_dnnl_t *job = bench_zeroed(1, sizeof *job);

    job->copies = copies;
    job->weights = bench_zeroed((size_t)copies, sizeof(dnnl_memory_t));
    job->b = bench_zeroed((size_t)copies, sizeof *job->b);
    start();
    return job;
}

/* ---- Memory ---- */

static dnnl_memory_desc_t desc_of(int rank, const dnnl_dims_t dims,
                                  dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t desc;

    need(dnnl_memory_desc_init_by_tag(&desc, rank, dims, dnnl_f32, tag),
         "a memory descriptor");
    return desc;
}

static dnnl_memory_t memory_of(const dnnl_memory_desc_t *desc, void *data)
{
    dnnl_memory_t memory;

    need(dnnl_memory_create(&memory, desc, engine, data), "memory");
    return memory;
}

static void reorder(dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_desc_t *from_desc;
    const dnnl_memory_desc_t *to_desc;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};

    need(dnnl_memory_get_memory_desc(from, &from_desc), "memory");
    need(dnnl_memory_get_memory_desc(to, &to_desc), "memory");
    need(dnnl_reorder_primitive_desc_create(&desc, from_desc, engine, to_desc,
                                            engine, NULL),
         "a reorder");
    need(dnnl_primitive_create(&primitive, desc), "a reorder");
    need(dnnl_primitive_execute(primitive, stream, 2, args), "a reorder");
    need(dnnl_stream_wait(stream), "a reorder");
    need(dnnl_primitive_destroy(primitive), "a reorder");
    need(dnnl_primitive_desc_destroy(desc), "a reorder");
}

/* Row-major data brought into the layout that a primitive has chosen. */
static dnnl_memory_t bring(const dnnl_memory_desc_t *plain, const float *data,
                           const dnnl_memory_desc_t *chosen)
{
    dnnl_memory_t memory = memory_of(chosen, DNNL_MEMORY_ALLOCATE);
    dnnl_memory_t source;
    void *from;

    memcpy(&from, &data, sizeof from); /* but for its const: it is only read */
    source = memory_of(plain, from);
    reorder(source, memory);
    need(dnnl_memory_destroy(source), "memory");
    return memory;
}

/* ---- Jobs ---- */

typedef struct plain_descs {
    dnnl_memory_desc_t x;
    dnnl_memory_desc_t w;
    dnnl_memory_desc_t y;
} plain_descs_t;

static void make_job(bench_dnnl_t *job, const_dnnl_op_desc_t op,
                     const plain_descs_t *plain, const float *x, const float *w)
{
    dnnl_primitive_desc_t desc;

    need(dnnl_primitive_desc_create(&desc, op, NULL, engine, NULL),
         "a primitive");
    need(dnnl_primitive_create(&job->primitive, desc), "a primitive");
    job->x = bring(&plain->x, x,
                   dnnl_primitive_desc_query_md(desc, dnnl_query_src_md, 0));
    for (int i = 0; i < job->copies; i++) {
        job->weights[i] =
            bring(&plain->w, w,
                  dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0));
    }
    job->y = memory_of(dnnl_primitive_desc_query_md(desc, dnnl_query_dst_md, 0),
                       DNNL_MEMORY_ALLOCATE);
    job->plain_y = plain->y;
    need(dnnl_primitive_desc_destroy(desc), "a primitive");
}

/* What the two kinds of convolution have in common. */
typedef struct window {
    dnnl_dims_t strides;
    dnnl_dims_t dilates;
    dnnl_dims_t pads;
} window_t;

static dnnl_format_tag_t weights_tag(const bench_conv_t *conv)
{
    if (conv->is_transposed) {
        return conv->groups > 1 ? dnnl_giohw : dnnl_iohw;
    }
    return conv->groups > 1 ? dnnl_goihw : dnnl_oihw;
}

static void make_conv(bench_dnnl_t *job, bool is_transposed,
                      const window_t *window, const plain_descs_t *plain,
                      const plain_descs_t *any, const float *x, const float *w)
{
    dnnl_convolution_desc_t conv;
    dnnl_deconvolution_desc_t transposed;

    if (is_transposed) {
        need(dnnl_dilated_deconvolution_forward_desc_init(
                 &transposed, dnnl_forward_inference, dnnl_deconvolution_direct,
                 &any->x, &any->w, NULL, &any->y, window->strides,
                 window->dilates, window->pads, window->pads),
             "a transposed convolution");
        make_job(job, &transposed, plain, x, w);
        return;
    }
    need(dnnl_dilated_convolution_forward_desc_init(
             &conv, dnnl_forward_inference, dnnl_convolution_auto, &any->x,
             &any->w, NULL, &any->y, window->strides, window->dilates,
             window->pads, window->pads),
         "a convolution");
    make_job(job, &conv, plain, x, w);
}

bench_dnnl_t *bench_dnnl_conv(const bench_conv_t *conv, const float *x,
                              const float *w)
{
    const int64_t in = conv->in / conv->groups;
    const int64_t out = conv->out / conv->groups;
    const bool grouped = conv->groups > 1;
    const dnnl_dims_t x_dims = {conv->images, conv->in, conv->size, conv->size};
    const dnnl_dims_t dense = {out, in, conv->kernel[0], conv->kernel[1]};
    const dnnl_dims_t by_group = {conv->groups, out, in, conv->kernel[0],
                                  conv->kernel[1]};
    const int64_t *w_dims = grouped ? by_group : dense;
    const dnnl_dims_t y_dims = {conv->images, conv->out,
                                bench_conv_out_size(conv, 0),
                                bench_conv_out_size(conv, 1)};
    const window_t window = {
        .strides = {conv->stride, conv->stride},
        .dilates = {conv->dilation - 1, conv->dilation - 1},
        .pads = {bench_conv_pad(conv, 0), bench_conv_pad(conv, 1)}};
    const int w_rank = grouped ? 5 : 4;
    bench_dnnl_t *job = new_job(1);
    const plain_descs_t plain = {desc_of(4, x_dims, dnnl_nchw),
                                 desc_of(w_rank, w_dims, weights_tag(conv)),
                                 desc_of(4, y_dims, dnnl_nchw)};
    const plain_descs_t any = {desc_of(4, x_dims, dnnl_format_tag_any),
                               desc_of(w_rank, w_dims, dnnl_format_tag_any),
                               desc_of(4, y_dims, dnnl_format_tag_any)};

    make_conv(job, conv->is_transposed, &window, &plain, &any, x, w);
    return job;
}

bench_dnnl_t *bench_dnnl_matmul(const bench_product_t *product, int copies,
                                const float *a, const float *b)
{
    const dnnl_dims_t x_dims = {product->m, product->k};
    const dnnl_dims_t w_dims = {product->k, product->n};
    const dnnl_dims_t y_dims = {product->m, product->n};
    bench_dnnl_t *job = new_job(copies);
    const plain_descs_t plain = {desc_of(2, x_dims, dnnl_ab),
                                 desc_of(2, w_dims, dnnl_ab),
                                 desc_of(2, y_dims, dnnl_ab)};
    const dnnl_memory_desc_t any = desc_of(2, w_dims, dnnl_format_tag_any);
    dnnl_matmul_desc_t op;

    need(dnnl_matmul_desc_init(&op, &plain.x, &any, NULL, &plain.y),
         "a product");
    make_job(job, &op, &plain, a, b);
    return job;
}

bench_dnnl_t *bench_dnnl_sgemm(const bench_product_t *product, int copies,
                               const float *a, const float *b)
{
    const size_t count = (size_t)(product->k * product->n);
    bench_dnnl_t *job = new_job(copies);

    job->product = *product;
    job->a = a;
    job->c = bench_values(product->m * product->n);
    for (int i = 0; i < copies; i++) {
        job->b[i] = bench_zeroed(count, sizeof(float));
        memcpy(job->b[i], b, count * sizeof(float));
    }
    return job;
}

void bench_dnnl_run(bench_dnnl_t *job)
{
    const bench_product_t *p = &job->product;
    const int turn = job->next;

    job->next = (turn + 1) % job->copies;
    if (job->primitive == NULL) {
        need(dnnl_sgemm('N', 'N', p->m, p->n, p->k, 1.0F, job->a, p->k,
                        job->b[turn], p->n, 0.0F, job->c, p->n),
             "sgemm");
        return;
    }
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, job->x},
                                    {DNNL_ARG_WEIGHTS, job->weights[turn]},
                                    {DNNL_ARG_DST, job->y}};

    need(dnnl_primitive_execute(job->primitive, stream, 3, args), "a run");
    need(dnnl_stream_wait(stream), "a run");
}

void bench_dnnl_output(const bench_dnnl_t *job, float *y)
{
    if (job->primitive == NULL) {
        memcpy(y, job->c,
               (size_t)(job->product.m * job->product.n) * sizeof *y);
        return;
    }
    dnnl_memory_t plain = memory_of(&job->plain_y, y);

    reorder(job->y, plain);
    need(dnnl_memory_destroy(plain), "memory");
}

void bench_dnnl_destroy(bench_dnnl_t **job)
{
    bench_dnnl_t *dead = *job;

    if (dead == NULL) {
        return;
    }
    for (int i = 0; i < dead->copies; i++) {
        (void)dnnl_memory_destroy(dead->weights[i]);
        iso_free(dead->b[i]);
    }
    (void)dnnl_memory_destroy(dead->x);
    (void)dnnl_memory_destroy(dead->y);
    (void)dnnl_primitive_destroy(dead->primitive);
    iso_free(dead->weights);
    iso_free(dead->b);
    iso_free(dead->c);
    iso_free(dead);
    *job = NULL;
}
