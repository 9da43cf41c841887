#include "arrange_sample.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "iso_test.h"
#include "plan/node_seconds.h"
#include "plan/shard/local.h"

#include <stdio.h>
#include <string.h>

static const int first_ranks[ARRANGE_MOST_WORKERS] = {0, 1, 2, 3, 4, 5, 6, 7};

static void begin(arrange_sample_t *sample, int n_workers)
{
    *sample = (arrange_sample_t){.blocks = iso_mem_count().blocks};
    CU_ASSERT_EQUAL_FATAL(
        iso_machine_default(n_workers, 0, 0, &sample->machine), ISO_OK);
    sample->options = (iso_arrange_options_t){.machine = sample->machine,
                                              .ranks = first_ranks,
                                              .n_workers = n_workers};
}

void arrange_begin(arrange_sample_t *sample, int n_workers, const char *text)
{
    begin(sample, n_workers);
    sample->stage = stage_of_text(text);
}

void arrange_begin_random(arrange_sample_t *sample, int n_workers,
                          uint64_t *state, int64_t batch)
{
    begin(sample, n_workers);
    sample->stage = stage_random(state, batch);
}

void arrange_end(arrange_sample_t *sample)
{
    iso_stage_cut_destroy(&sample->cut);
    iso_machine_destroy(&sample->machine);
    iso_graph_destroy(&sample->stage);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, sample->blocks);
}

iso_status_t arrange_try(arrange_sample_t *sample)
{
    iso_stage_cut_destroy(&sample->cut);
    return iso_arrange(sample->stage, &sample->options, &sample->cut,
                       &sample->seconds);
}

void arrange_again(arrange_sample_t *sample)
{
    iso_status_t status = arrange_try(sample);

    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    CU_ASSERT_EQUAL(iso_stage_cut_check(sample->cut, sample->stage), ISO_OK);
    CU_ASSERT_DOUBLE_EQUAL(
        sample->seconds,
        arrange_price(sample->stage, &sample->options, sample->cut),
        1e-9 * sample->seconds);
}

void arrange_set_rank(arrange_sample_t *sample, int rank, double speed,
                      iso_cost_class_t cost_class)
{
    iso_machine_rank_t facts = *iso_machine_rank(sample->machine, rank);

    facts.flops_per_s *= speed;
    facts.memory_bytes_per_s *= speed;
    facts.cost_class = cost_class;
    CU_ASSERT_EQUAL(iso_machine_set_rank(sample->machine, rank, &facts),
                    ISO_OK);
}

void arrange_set_links(arrange_sample_t *sample, double latency_s,
                       double bytes_per_s)
{
    for (int kind = 0; kind < ISO_LINK_KIND_COUNT; kind++) {
        iso_link_figures_t figures =
            *iso_machine_link_figures(sample->machine, (iso_link_kind_t)kind);
        figures.link = (iso_link_t){latency_s, bytes_per_s, 0.0, 0};
        iso_machine_set_link(sample->machine, (iso_link_kind_t)kind, &figures);
    }
}

double arrange_seconds_of_one(const arrange_sample_t *sample)
{
    double seconds = 0.0;

    CU_ASSERT_EQUAL(iso_graph_seconds(sample->stage,
                                      iso_machine_rank(sample->machine, 0),
                                      &seconds),
                    ISO_OK);
    return seconds;
}

const iso_node_cut_t *arrange_cut_of(const arrange_sample_t *sample,
                                     const char *name)
{
    const iso_node_id_t id = iso_graph_find(sample->stage, name);

    CU_ASSERT_NOT_EQUAL_FATAL(id, ISO_NO_NODE);
    return &sample->cut->nodes[id];
}

int64_t arrange_piece_of(const arrange_sample_t *sample, const char *name,
                         int worker)
{
    const iso_node_cut_t *cut = arrange_cut_of(sample, name);

    return cut->ranges == NULL ? 0 : iso_range_length(cut->ranges[worker]);
}

void arrange_expect_exchanges(const arrange_sample_t *sample,
                              const char *expected)
{
    iso_text_t text = {0};
    iso_local_t *local = NULL;

    CU_ASSERT_EQUAL_FATAL(
        iso_local_create(sample->stage, sample->cut, 0, &local), ISO_OK);
    iso_text_add(&text, "%s", "");
    for (int i = 0; i < local->n_exchanges; i++) {
        iso_text_add(&text, "%s%s %s", i > 0 ? ", " : "",
                     iso_exchange_kind_string(local->exchanges[i].kind),
                     local->exchanges[i].value);
    }
    CU_ASSERT_STRING_EQUAL(text.data, expected);
    if (strcmp(text.data, expected) != 0) {
        (void)fprintf(stderr, "'%s', expected '%s'\n", text.data, expected);
    }
    iso_text_free(&text);
    iso_local_destroy(&local);
}

void arrange_expect_all_one(const arrange_sample_t *sample)
{
    for (iso_node_id_t id = 0; id < sample->cut->n_nodes; id++) {
        CU_ASSERT_EQUAL(sample->cut->nodes[id].kind, ISO_CUT_ONE);
    }
    CU_ASSERT_DOUBLE_EQUAL(sample->seconds, arrange_seconds_of_one(sample),
                           1e-9 * sample->seconds);
}

static const char *const convolutions =
    "x = input f32[%d,64,56,56]\n"
    "w1 = param f32[64,64,3,3]\n"
    "w2 = param f32[64,64,3,3]\n"
    "w3 = param f32[128,64,3,3]\n"
    "c1 = conv(x, w1) pads=i:1,1,1,1\n"
    "r1 = relu(c1)\n"
    "c2 = conv(r1, w2) pads=i:1,1,1,1\n"
    "r2 = relu(c2)\n"
    "c3 = conv(r2, w3) pads=i:1,1,1,1 strides=i:2,2\n"
    "return c3\n";

void arrange_begin_convolutions(arrange_sample_t *sample, int n_workers,
                                int batch)
{
    char text[1024];

    (void)snprintf(text, sizeof text, convolutions, batch);
    arrange_begin(sample, n_workers, text);
}
