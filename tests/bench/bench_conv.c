/*
 * Convolutions by the direct kernels beside oneDNN in its best layout, one
 * thread each, in turns, and compared in value. Not a test.
 *
 *     bench_conv [--list resnet50|mobile|grouped|transposed|tiny]
 *                 [--repeats N] [--rows F.tsv]
 */
#include "base/mem.h"
#include "base/text.h"
#include "bench.h"
#include "bench_direct.h"
#include "bench_dnnl.h"
#include "bench_race.h"
#include "bench_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double run_own(void *arg, int times)
{
    const double begin_s = bench_cpu_s();

    for (int i = 0; i < times; i++) {
        bench_direct_run(arg);
    }
    return bench_cpu_s() - begin_s;
}

static double run_peer(void *arg, int times)
{
    const double begin_s = bench_cpu_s();

    for (int i = 0; i < times; i++) {
        bench_dnnl_run(arg);
    }
    return bench_cpu_s() - begin_s;
}

static const char *name_of(const char *list, const bench_conv_t *conv,
                           char name[64])
{
    char dilation[8] = "";
    char groups[16] = "";

    if (conv->dilation > 1) {
        (void)snprintf(dilation, sizeof dilation, " d%d", (int)conv->dilation);
    }
    if (conv->groups > 1 && conv->groups == conv->in &&
        conv->groups == conv->out) {
        (void)snprintf(groups, sizeof groups, "depthwise ");
    } else if (conv->groups > 1) {
        (void)snprintf(groups, sizeof groups, "g%d ", (int)conv->groups);
    }
    (void)snprintf(name, 64, "%s %s%dx%d s%d%s %d>%d @%d",
                   strcmp(list, "resnet50") == 0 ? "conv" : list, groups,
                   (int)conv->kernel[0], (int)conv->kernel[1],
                   (int)conv->stride, dilation, (int)conv->in, (int)conv->out,
                   (int)conv->size);
    return name;
}

static void compare(const char *name, const bench_direct_t *own,
                    const bench_dnnl_t *peer, int64_t count)
{
    float *ours = bench_values(count);
    float *theirs = bench_values(count);

    bench_direct_output(own, ours);
    bench_dnnl_output(peer, theirs);
    bench_compare(name, ours, theirs, count);
    iso_free(ours);
    iso_free(theirs);
}

static void measure(iso_cpu_t *cpu, const char *list, const bench_conv_t *conv,
                    int repeats, bench_rows_t *rows)
{
    const int64_t x_count = conv->images * conv->in * conv->size * conv->size;
    const int64_t w_count = conv->out * (conv->in / conv->groups) *
                            conv->kernel[0] * conv->kernel[1];
    const int64_t y_count = conv->images * conv->out *
                            bench_conv_out_size(conv, 0) *
                            bench_conv_out_size(conv, 1);
    const double gflop = bench_conv_flops(conv) * 1e-9;
    float *x = bench_values(x_count);
    float *w = bench_values(w_count);
    bench_direct_t *own = bench_direct_conv(cpu, conv, x, w);
    bench_dnnl_t *peer = bench_dnnl_conv(conv, x, w);
    bench_runner_t runners[] = {
        {.name = "isotome", .run = run_own, .arg = own},
        {.name = bench_dnnl_version(), .run = run_peer, .arg = peer}};
    char name[64];

    bench_race(runners, peer != NULL ? 2 : 1, repeats);
    if (peer != NULL) {
        compare(name_of(list, conv, name), own, peer, y_count);
    }
    bench_rows_add(rows,
                   &(bench_row_t){
                       .name = name_of(list, conv, name),
                       .unit = "GF/s",
                       .peer_name = runners[1].name,
                       .isotome = gflop / runners[0].median_s,
                       .peer = peer != NULL ? gflop / runners[1].median_s : 0,
                       .bar = strcmp(list, "resnet50") == 0 ? 0.85 : 0,
                   });
    bench_dnnl_destroy(&peer);
    bench_direct_destroy(&own);
    iso_free(x);
    iso_free(w);
}

int main(int argc, char **argv)
{
    const char *list = "resnet50";
    const char *path = NULL;
    int repeats = 9;
    int count = 0;
    iso_cpu_t *cpu = NULL;
    char mean[32];
    const bench_option_t options[] = {{"--list", &list, NULL, NULL},
                                      {"--rows", &path, NULL, NULL},
                                      {"--repeats", NULL, &repeats, NULL}};

    bench_parse(argc, argv, 3, options);

    const bench_conv_t *convs = bench_conv_list(list, &count);

    if (convs == NULL || repeats > BENCH_REPEATS_MOST) {
        (void)fprintf(stderr, "bench_conv: no list '%s', or over %d repeats\n",
                      list, BENCH_REPEATS_MOST);
        return 2;
    }
    bench_print_machine();
    if (bench_dnnl_version() == NULL) {
        (void)printf("built without oneDNN (libdnnl-dev)\n");
    }
    bench_need(iso_cpu_create(1, &cpu));
    bench_rows_t rows = bench_rows_open(path);

    for (int i = 0; i < count; i++) {
        measure(cpu, list, &convs[i], repeats, &rows);
    }
    (void)snprintf(mean, sizeof mean, "%s geomean",
                   strcmp(list, "resnet50") == 0 ? "conv" : list);
    bench_rows_add_mean(&rows, mean, strcmp(list, "tiny") == 0 ? 0 : 1.0);
    bench_rows_close(&rows);
    iso_cpu_destroy(&cpu);
    return 0;
}
