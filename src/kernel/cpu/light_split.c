#include "kernel/cpu/light_impl.h"

#include <omp.h>

enum {
    LEAST_BYTES = 1 << 18, /* below this a second thread costs more */
    PIECE = 1 << 14,       /* elements */
};

void iso__light_split(const iso__light_t *light, int64_t count, size_t bytes,
                      iso__light_part_fn *part, const void *arg)
{
    const int64_t threads = light->threads < count ? light->threads : count;

    if (threads <= 1 || bytes < LEAST_BYTES) {
        part(arg, 0, count);
        return;
    }
#pragma omp parallel num_threads((int)threads)
    {
        const int64_t team = omp_get_num_threads();
        const int64_t me = omp_get_thread_num();
        const int64_t share = count / team;
        const int64_t extra = count % team;
        const int64_t begin = me * share + (me < extra ? me : extra);

        part(arg, begin, begin + share + (me < extra ? 1 : 0));
    }
}

void iso__rows_of(const iso__walk_t *walk, iso__rows_t *rows_out)
{
    iso__rows_t *rows = rows_out;

    *rows = (iso__rows_t){.walk = *walk, .length = 1};
    iso__walk_merge(&rows->walk);
    if (rows->walk.rank > 0) {
        const int axis = --rows->walk.rank;

        rows->length = rows->walk.dims[axis];
        for (int array = 0; array < walk->n_arrays; array++) {
            rows->step[array] = rows->walk.step[array][axis];
        }
    }
    rows->piece = PIECE;
    rows->pieces = (rows->length + PIECE - 1) / PIECE;
    rows->count = rows->pieces * iso__walk_count(&rows->walk);
}

iso__piece_t iso__rows_piece(iso__rows_t *rows, int64_t index)
{
    const int64_t row = index / rows->pieces;
    const int64_t at = index % rows->pieces * rows->piece;
    const int64_t left = rows->length - at;

    iso__walk_seek(&rows->walk, row);
    return (iso__piece_t){
        .first = row * rows->length + at,
        .at = at,
        .n = left < rows->piece ? left : rows->piece,
    };
}
