#include "base/table.h"
#include "lab/calibrate_impl.h"

#include <math.h>

static const double giga = 1e-9;

static void add_ranks(const iso_machine_t *machine, iso_text_t *text)
{
    iso_text_t cells = {0};

    iso_text_add(&cells, "rank\thost\tsize\tconv\tmatmul\tmemory\tcopy\t"
                         "class\n");
    for (int i = 0; i < iso_machine_world(machine); i++) {
        const iso_machine_rank_t *rank = iso_machine_rank(machine, i);
        char memory[ISO_TEXT_NUMBER_BYTES];

        iso_text_add(
            &cells, "%d\t%.*s\t%s\t%.1f GF/s\t%.1f GF/s\t%.1f GB/s\t%.1f GB/s",
            i, ISO_TABLE_HOST_LENGTH, rank->host,
            iso_text_bytes(rank->memory_bytes, memory),
            giga * iso_machine_rank_rate(rank, ISO_RATE_CONV_3X3).per_s,
            giga * iso_machine_rank_rate(rank, ISO_RATE_MATMUL_LARGE).per_s,
            giga * rank->memory_bytes_per_s, giga * rank->copy_bytes_per_s);
        iso_text_add(&cells, "\t%s\n", iso_cost_class_string(rank->cost_class));
    }
    iso_table_add(text, "rlrrrrrl", &cells);
    iso_text_free(&cells);
}

static void add_device(int rank, const iso_machine_device_t *device,
                       iso_text_t *cells)
{
    const iso_machine_rank_t *figures = &device->figures;
    char latency[ISO_TEXT_NUMBER_BYTES];

    iso_text_add(
        cells, "%s\t%d\t%.2f GF/s\t%.2f GF/s\t%.1f GB/s", device->name, rank,
        giga * iso_machine_rank_rate(figures, ISO_RATE_CONV_3X3).per_s,
        giga * figures->flops_per_s, giga * figures->memory_bytes_per_s);
    iso_text_add(cells, "\t%s\t%.2f GB/s\t%s\n",
                 iso_text_seconds(device->crossing_latency_s, latency),
                 giga * device->crossing_bytes_per_s,
                 iso_cost_class_string(figures->cost_class));
}

/* Of ranks that have any. */
static void add_devices(const iso_machine_t *machine, iso_text_t *text)
{
    iso_text_t cells = {0};
    int count = 0;

    iso_text_add(&cells, "device\trank\tconv\tmatmul\tmemory\tlatency\t"
                         "crossing\tclass\n");
    for (int i = 0; i < iso_machine_world(machine); i++) {
        const iso_machine_rank_t *rank = iso_machine_rank(machine, i);

        for (int k = 0; k < rank->n_devices; k++) {
            add_device(i, &rank->devices[k], &cells);
            count++;
        }
    }
    if (count > 0) {
        iso_table_add(text, "lrrrrrrl", &cells);
        iso_text_add(text, "\n");
    }
    iso_text_free(&cells);
}

/* A rate class over all ranks. */
static void add_rate(const iso_machine_t *machine, iso_rate_class_t rate_class,
                     iso_text_t *cells)
{
    iso_rate_t slowest = {HUGE_VAL, 0.0, ISO_COST_MEASURED};
    double fastest = 0.0;

    for (int i = 0; i < iso_machine_world(machine); i++) {
        const iso_rate_t rate =
            iso_machine_rank_rate(iso_machine_rank(machine, i), rate_class);

        slowest.per_s = fmin(slowest.per_s, rate.per_s);
        fastest = fmax(fastest, rate.per_s);
        slowest.spread = fmax(slowest.spread, rate.spread);
        if (rate.cost_class > slowest.cost_class) {
            slowest.cost_class = rate.cost_class;
        }
    }
    const char *unit =
        iso_rate_class_unit(rate_class) == ISO_RATE_BYTES ? "GB/s" : "GF/s";

    iso_text_add(cells, "%s\t%.2f %s\t%.2f %s\t%.0f %%\t%s\n",
                 iso_rate_class_string(rate_class), giga * slowest.per_s, unit,
                 giga * fastest, unit, 100.0 * slowest.spread,
                 iso_cost_class_string(slowest.cost_class));
}

static void add_rates(const iso_machine_t *machine, iso_text_t *text)
{
    iso_text_t cells = {0};

    iso_text_add(&cells, "work\tslowest\tfastest\tspread\tclass\n");
    for (int i = 0; i < ISO_RATE_CLASS_COUNT; i++) {
        add_rate(machine, (iso_rate_class_t)i, &cells);
    }
    iso_table_add(text, "lrrrl", &cells);
    iso_text_free(&cells);
}

static void add_handshake(const iso_link_t *link, iso_text_t *cells)
{
    char seconds[ISO_TEXT_NUMBER_BYTES];
    char bytes[ISO_TEXT_NUMBER_BYTES];

    if (link->handshake_s > 0.0) {
        iso_text_add(cells, "%s over %s",
                     iso_text_seconds(link->handshake_s, seconds),
                     iso_text_bytes(link->eager_bytes, bytes));
    } else {
        iso_text_add(cells, "none");
    }
}

static void add_links(const iso_machine_t *machine, iso_text_t *text)
{
    iso_text_t cells = {0};

    iso_text_add(&cells,
                 "link\tlatency\thandshake\tbandwidth\tspread\tclass\n");
    for (int i = 0; i < ISO_LINK_KIND_COUNT; i++) {
        const iso_link_kind_t kind = (iso_link_kind_t)i;
        const iso_link_figures_t *figures =
            iso_machine_link_figures(machine, kind);
        char latency[ISO_TEXT_NUMBER_BYTES];

        iso_text_add(&cells, "%s\t%s\t", iso_link_kind_string(kind),
                     iso_text_seconds(figures->link.latency_s, latency));
        add_handshake(&figures->link, &cells);
        iso_text_add(&cells, "\t%.2f GB/s\t%.0f %%\t%s\n",
                     giga * figures->link.bytes_per_s, 100.0 * figures->spread,
                     iso_cost_class_string(figures->cost_class));
    }
    iso_table_add(text, "lrrrrl", &cells);
    iso_text_free(&cells);
}

static void add_collectives(const iso_machine_t *machine, iso_text_t *text)
{
    iso_text_t cells = {0};

    iso_text_add(&cells, "collective\tlatency\tbytes\tspread\tclass\n");
    for (int i = 0; i < ISO_COLLECTIVE_COUNT; i++) {
        const iso_collective_t collective = (iso_collective_t)i;
        const iso_collective_figures_t *figures =
            iso_machine_collective_figures(machine, collective);

        iso_text_add(&cells, "%s\tx %.2f\tx %.2f\t%.0f %%\t%s\n",
                     iso_collective_string(collective), figures->latency_factor,
                     figures->bytes_factor, 100.0 * figures->spread,
                     iso_cost_class_string(figures->cost_class));
    }
    iso_table_add(text, "lrrrl", &cells);
    iso_text_free(&cells);
}

iso_status_t iso__calibrate_print(const iso_machine_t *machine,
                                  const char *device, FILE *file)
{
    iso_text_t text = {0};

    add_ranks(machine, &text);
    iso_text_add(&text, "\n");
    add_devices(machine, &text);
    add_rates(machine, &text);
    iso_text_add(&text, "\n");
    add_links(machine, &text);
    iso_text_add(&text, "\n");
    add_collectives(machine, &text);
    iso_text_add(&text,
                 "\nranks compute on %s; a collective is in times of its "
                 "messages sent one by one\n",
                 device);
    iso_status_t status = text.status;
    if (status == ISO_OK) {
        (void)fputs(text.data, file);
    }
    iso_text_free(&text);
    return status;
}
