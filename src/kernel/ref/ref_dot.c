#include "base/mem.h"
#include "kernel/ref/real_dot.h"

iso_status_t REAL(iso__ref_dot_begin)(iso_blocks_t blocks, real_dot_t *dot_out)
{
    real_dot_t dot = {.blocks = blocks, .most = REAL_DOT_COLUMNS};

    while (dot.most > 1 && dot.most * blocks.length > REAL_DOT_SPACE) {
        dot.most /= 2;
    }
    dot.row = iso_alloc_zeroed(
        (size_t)(blocks.length + (blocks.length + blocks.count) * dot.most),
        sizeof *dot.row);
    if (dot.row == NULL) {
        return ISO_NOMEM;
    }
    dot.columns = dot.row + blocks.length;
    dot.part = dot.columns + blocks.length * dot.most;
    *dot_out = dot;
    return ISO_OK;
}

void REAL(iso__ref_dot_end)(real_dot_t *dot)
{
    iso_free(dot->row);
}

/*
 * The chain of one block for each of n columns, (length, n). An FMA
 * instruction and the C library's fma give the same bits; the loader takes
 * the version that has the instruction where the CPU has it. (The name is the
 * type's own because clang shows its resolver to the linker.)
 */
__attribute__((target_clones("fma", "default"))) static void
REAL(run_chains)(int64_t length, const real_t *restrict row,
                 const real_t *restrict columns, int64_t n,
                 real_t *restrict chain)
{
    for (int64_t i = 0; i < n; i++) {
        chain[i] = 0;
    }
    for (int64_t k = 0; k < length; k++) {
        for (int64_t i = 0; i < n; i++) {
            chain[i] = fma(row[k], columns[k * n + i], chain[i]);
        }
    }
}

void REAL(iso__ref_dot)(const real_dot_t *dot, const real_t *row, int64_t n,
                        real_t *sum)
{
    const int64_t count = dot->blocks.count;
    real_t *part = dot->part;

    for (int64_t b = 0; b < count; b++) {
        const int64_t begin = iso_blocks_begin(&dot->blocks, b);

        REAL(run_chains)
        (iso_blocks_end(&dot->blocks, b) - begin, row + begin,
         dot->columns + begin * n, n, part + b * n);
    }
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t b = 0; b + width < count; b += 2 * width) {
            for (int64_t i = 0; i < n; i++) {
                part[b * n + i] += part[(b + width) * n + i];
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        sum[i] = (count > 0 ? part[i] : 0) + 0;
    }
}
