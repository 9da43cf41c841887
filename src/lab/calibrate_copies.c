/*
 * Copies within a host's memory: of slabs, as messages are packed, and of whole
 * values, as they cross from one device of the host to another.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "lab/calibrate_impl.h"
#include "par/par.h"
#include "plan/machine_fit.h"
#include "tensor/copy.h"

#include <math.h>
#include <string.h>

/* What is left of a time when another is taken from it. */
static const double least_share = 0.25;

/* Every other row of a value, as a cut along an inner axis gives it; between
 * two of them more than the caches of one core hold. */
enum {
    COPY_ROWS = 512,
    COPY_ROW_BYTES = 4096,
    COPY_BYTES = COPY_ROWS * COPY_ROW_BYTES,
    BETWEEN_BYTES = 4 * COPY_BYTES
};

static double time_copies(const iso_copy_t *copy, char *to, const char *from,
                          char *between)
{
    double seconds[ISO__CALIBRATE_REPEATS];

    for (int i = 0; i < ISO__CALIBRATE_REPEATS; i++) {
        iso__calibrate_compute_between(between, BETWEEN_BYTES);

        const double begin_s = iso_clock_s();

        iso_copy_run(copy, from, to);
        seconds[i] = iso_clock_s() - begin_s;
    }
    return iso_timing_of(seconds, ISO__CALIBRATE_REPEATS).median_s;
}

/* Rows of a value in which they are so many bytes apart. */
typedef struct slab {
    int64_t rows;
    int64_t row_bytes;
    int64_t apart_bytes;
} slab_t;

/* Collective. */
static iso_status_t measure_copy(slab_t slab, MPI_Comm comm,
                                 double *seconds_out)
{
    const int64_t box[] = {slab.rows, slab.row_bytes};
    const int64_t whole[] = {slab.rows, slab.apart_bytes};
    const int64_t corner[] = {0, 0};
    iso_copy_t copy;
    char *from = iso_alloc_zeroed(2, COPY_BYTES);
    char *to = iso_alloc_zeroed(1, COPY_BYTES);
    char *between = iso_alloc_zeroed(1, BETWEEN_BYTES);
    iso_status_t status = iso_par_agree(
        from != NULL && to != NULL && between != NULL ? ISO_OK : ISO_NOMEM,
        comm);

    if (status == ISO_OK && from != NULL && to != NULL && between != NULL) {
        memset(from, 1, 2 * (size_t)COPY_BYTES);
        iso_copy_of(1, 2, box, (iso_copy_end_t){whole, corner},
                    (iso_copy_end_t){box, corner}, &copy);
        *seconds_out = time_copies(&copy, to, from, between);
    }
    iso_free(between);
    iso_free(to);
    iso_free(from);
    return status;
}

iso_status_t iso__calibrate_copies(MPI_Comm comm, iso_machine_device_t *figures)
{
    static const slab_t rows = {COPY_ROWS, COPY_ROW_BYTES,
                                (int64_t)2 * COPY_ROW_BYTES};
    static const slab_t whole = {COPY_ROWS, COPY_ROW_BYTES, COPY_ROW_BYTES};
    enum { LINE_BYTES = 64 };
    static const slab_t line = {1, LINE_BYTES, LINE_BYTES};
    double rows_s = 0.0;
    double whole_s = 0.0;
    double line_s = 0.0;

    ISO_TRY(measure_copy(rows, comm, &rows_s));
    ISO_TRY(measure_copy(whole, comm, &whole_s));
    ISO_TRY(measure_copy(line, comm, &line_s));
    figures->figures.copy_bytes_per_s = COPY_BYTES / rows_s;
    figures->crossing_latency_s = line_s;
    figures->crossing_bytes_per_s =
        COPY_BYTES / fmax(whole_s - line_s, least_share * whole_s);
    return ISO_OK;
}
