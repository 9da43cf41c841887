#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "exec/load_impl.h"

#include <pthread.h>

/* Of a weight that are read, then packed, if its rows are not longer. */
enum { PART_BYTES = 8 * 1024 * 1024 };

_Static_assert((int)ISO_AXIS_WHOLE == (int)ISO_READ_WHOLE,
               "a slab is read as it is planned");

/* A failure with the names of file and weight. */
static iso_status_t named(const iso_load_t *load, const iso__load_part_t *part,
                          iso_status_t status)
{
    if (status == ISO_OK) {
        return ISO_OK;
    }
    return iso_fail_context(status, "model '%s': weight '%s'",
                            iso_model_path(load->model),
                            iso__load_info(load, part)->name);
}

/* -- what is wanted -- */

/* What a part is, without its sum. An empty slab begins at 0. */
static iso_status_t slab_of(const iso_load_t *load,
                            const iso_weight_part_t *wanted,
                            iso_slab_sum_t *slab_out)
{
    const iso_weight_info_t *info = iso_model_find(load->model, wanted->weight);
    const iso_slab_t *slab = &wanted->slab;

    if (info == NULL) {
        return iso_fail(ISO_INPUT, "model '%s': weight '%s' is missing",
                        iso_model_path(load->model), wanted->weight);
    }
    *slab_out = (iso_slab_sum_t){
        .weight = info - iso_model_weight(load->model, 0), .axis = slab->axis};
    if (slab->axis != ISO_AXIS_WHOLE && iso_range_length(slab->range) > 0) {
        slab_out->begin = slab->range.begin;
        slab_out->end = slab->range.end;
    }
    return ISO_OK;
}

/* The part with this slab; a new one when there is none. */
static iso__load_part_t *part_of(iso_load_t *load, const iso_slab_sum_t *slab)
{
    for (int i = 0; i < load->n_parts; i++) {
        const iso_slab_sum_t *known = &load->parts[i].slab;

        if (known->weight == slab->weight && known->axis == slab->axis &&
            known->begin == slab->begin && known->end == slab->end) {
            return &load->parts[i];
        }
    }
    iso__load_part_t *part = &load->parts[load->n_parts++];

    part->slab = *slab;
    return part;
}

static iso_node_id_t node_of(const iso_local_t *local,
                             const iso_weight_part_t *wanted)
{
    const iso_node_id_t node = iso_graph_find(local->graph, wanted->node);

    ISO_ASSERT(node != ISO_NO_NODE);
    return node;
}

static iso_status_t list_local(iso_load_t *load, const iso_local_t *local,
                               const iso_program_t *program)
{
    for (int i = 0; i < local->n_weights; i++) {
        const iso_weight_part_t *wanted = &local->weights[i];
        iso_slab_sum_t slab;

        ISO_TRY(slab_of(load, wanted, &slab));
        iso__load_part_t *part = part_of(load, &slab);
        if (program != NULL) {
            iso_status_t status =
                iso_program_uses(program, node_of(local, wanted), &part->uses);
            if (status != ISO_OK) {
                return named(load, part, status);
            }
        }
    }
    return ISO_OK;
}

/* Room for all parts that the forms can have. */
static iso_status_t reserve_list(iso_load_t *load, const iso_load_spec_t *spec)
{
    size_t most = 0;

    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        most += spec->locals[form] == NULL
                    ? 0
                    : (size_t)spec->locals[form]->n_weights;
    }
    load->parts = iso_alloc_zeroed(most, sizeof *load->parts);
    load->sums = iso_alloc_zeroed(most, sizeof *load->sums);
    return load->parts == NULL || load->sums == NULL ? ISO_NOMEM : ISO_OK;
}

static iso_status_t list_parts(iso_load_t *load, const iso_load_spec_t *spec)
{
    iso_status_t status = reserve_list(load, spec);

    for (int form = 0; status == ISO_OK && form < ISO_FORM_COUNT; form++) {
        if (spec->locals[form] != NULL) {
            status = list_local(load, spec->locals[form], spec->programs[form]);
        }
    }
    return status;
}

/* -- memory -- */

static iso_status_t view_part(const iso_load_t *load,
                              const iso__load_part_t *part,
                              iso_tensor_t *view_out)
{
    const iso_weight_info_t *info = iso__load_info(load, part);
    const iso_slab_sum_t *slab = &part->slab;
    iso_shape_t shape = info->shape;
    size_t bytes = 0;

    if (slab->axis != ISO_AXIS_WHOLE) {
        ISO_TRY(iso_weight_part_bytes(info, (int)slab->axis, slab->begin,
                                      slab->end, &bytes));
        shape.dim[slab->axis] = iso_dim_of(slab->end - slab->begin);
    }
    return iso_tensor_view(info->dtype, &shape, NULL, view_out);
}

static iso_status_t reserve_part(iso_load_t *load, iso__load_part_t *part)
{
    iso_tensor_t view = {0};

    ISO_TRY(view_part(load, part, &view));
    part->rows = view.rank == 0 ? 1 : view.dims[0];
    part->row_bytes =
        part->rows == 0 ? 0 : iso_tensor_bytes(&view) / (size_t)part->rows;
    ISO_TRY(iso__load_find(load, &view, part));
    return part->weight != NULL ? ISO_OK
                                : iso_weight_create(load->device, &view,
                                                    &part->uses, &part->weight);
}

static iso_status_t reserve_parts(iso_load_t *load)
{
    for (int i = 0; i < load->n_parts; i++) {
        iso__load_part_t *part = &load->parts[i];
        iso_status_t status = named(load, part, reserve_part(load, part));

        if (status != ISO_OK) {
            return status;
        }
    }
    return ISO_OK;
}

/* -- reading -- */

/* Rows of a part that are in memory, plain. */
typedef struct rows {
    iso__load_part_t *part; /* NULL: none */
    int64_t first;
    int64_t count;
    void *data;
} rows_t;

/* Rows after rows, of all parts. */
typedef struct stream {
    iso_load_t *load;
    int part;                    /* the one that is read */
    iso_weight_reader_t *reader; /* NULL: not begun */
    int64_t next;                /* row */
    int n_stagings;              /* 2: while one is packed */
    int staging;                 /* the one to read into */
    char *stagings[2];
} stream_t;

static int64_t rows_at_once(const iso__load_part_t *part)
{
    const int64_t unit = iso_weight_part(part->weight);
    const int64_t room = part->row_bytes == 0
                             ? part->rows
                             : (int64_t)(PART_BYTES / part->row_bytes);
    const int64_t most = room < unit ? unit : room / unit * unit;

    return most < part->rows ? most : part->rows;
}

static iso_status_t reserve_stagings(stream_t *stream)
{
    size_t most = 0;

    for (int i = 0; i < stream->load->n_parts; i++) {
        const iso__load_part_t *part = &stream->load->parts[i];
        const size_t bytes = (size_t)rows_at_once(part) * part->row_bytes;

        if (part->entry.map == NULL && iso_weight_plain(part->weight) == NULL &&
            bytes > most) {
            most = bytes;
        }
    }
    for (int i = 0; i < stream->n_stagings; i++) {
        stream->stagings[i] = iso_alloc(most);
        if (stream->stagings[i] == NULL) {
            return ISO_NOMEM;
        }
    }
    return ISO_OK;
}

static void free_stream(stream_t *stream)
{
    iso_weight_reader_close(&stream->reader);
    for (int i = 0; i < stream->n_stagings; i++) {
        iso_free(stream->stagings[i]);
    }
}

/* Where the next rows of a part are read to. */
static void *place_of(stream_t *stream, const iso__load_part_t *part)
{
    char *plain = iso_weight_plain(part->weight);

    if (plain != NULL) {
        return plain + (size_t)stream->next * part->row_bytes;
    }
    stream->staging = (stream->staging + 1) % stream->n_stagings;
    return stream->stagings[stream->staging];
}

/* For the check of what no rank has whole. */
static void add_sum(iso_load_t *load, const iso__load_part_t *part)
{
    if (part->slab.end > part->slab.begin) {
        load->sums[load->n_sums] = part->slab;
        load->n_sums++;
    }
}

/* All rows of the part have been read. */
static iso_status_t end_part(stream_t *stream, iso__load_part_t *part)
{
    ISO_TRY(iso_weight_reader_end(stream->reader, &part->slab.sum));
    iso_weight_reader_close(&stream->reader);
    add_sum(stream->load, part);
    stream->part++;
    return ISO_OK;
}

static iso_status_t begin_part(stream_t *stream, const iso__load_part_t *part)
{
    const iso_slab_sum_t *slab = &part->slab;

    stream->next = 0;
    return iso_weight_reader_open(
        stream->load->model, iso__load_info(stream->load, part),
        (int)slab->axis, slab->begin, slab->end, &stream->reader);
}

/* The next rows of a part; rows_out->part is NULL when it has none. */
static iso_status_t read_some(stream_t *stream, iso__load_part_t *part,
                              rows_t *rows_out)
{
    const int64_t left = part->rows - stream->next;
    const int64_t most = rows_at_once(part);
    const int64_t count = left < most ? left : most;

    *rows_out = (rows_t){.part = NULL};
    if (count == 0) {
        return ISO_OK;
    }
    *rows_out = (rows_t){part, stream->next, count, place_of(stream, part)};
    stream->next += count;
    return iso_weight_reader_next(stream->reader, count, rows_out->data);
}

/* The next rows of all parts; rows_out->part is NULL when all has been read. */
static iso_status_t read_rows(stream_t *stream, rows_t *rows_out)
{
    *rows_out = (rows_t){.part = NULL};
    while (rows_out->part == NULL && stream->part < stream->load->n_parts) {
        iso__load_part_t *part = &stream->load->parts[stream->part];

        if (part->entry.map != NULL) {
            add_sum(stream->load, part);
            stream->part++;
            continue;
        }
        iso_status_t status =
            stream->reader == NULL ? begin_part(stream, part) : ISO_OK;
        if (status == ISO_OK) {
            status = read_some(stream, part, rows_out);
        }
        if (status == ISO_OK && stream->next == part->rows) {
            status = end_part(stream, part);
        }
        if (status != ISO_OK) {
            return status;
        }
    }
    return ISO_OK;
}

static void pack_rows(const rows_t *rows)
{
    iso_weight_fill(rows->part->weight, rows->first, rows->count, rows->data);
}

static iso_status_t read_then_pack(stream_t *stream)
{
    rows_t rows = {.part = NULL};

    do {
        ISO_TRY(read_rows(stream, &rows));
        if (rows.part != NULL) {
            pack_rows(&rows);
        }
    } while (rows.part != NULL);
    return ISO_OK;
}

/* -- reading while packing -- */

/*
 * A thread that packs. HDF5 and the text of an error belong to the thread that
 * reads. They wait for each other without spinning: a rank may have to share
 * its cores.
 */
typedef struct packer {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    rows_t rows; /* to be packed; part is NULL when they are */
    bool ends;
} packer_t;

static void *pack_given(void *arg)
{
    packer_t *packer = arg;

    (void)pthread_mutex_lock(&packer->mutex);
    while (packer->rows.part != NULL || !packer->ends) {
        if (packer->rows.part == NULL) {
            (void)pthread_cond_wait(&packer->changed, &packer->mutex);
            continue;
        }
        const rows_t rows = packer->rows;

        (void)pthread_mutex_unlock(&packer->mutex);
        pack_rows(&rows);
        (void)pthread_mutex_lock(&packer->mutex);
        packer->rows.part = NULL;
        (void)pthread_cond_signal(&packer->changed);
    }
    (void)pthread_mutex_unlock(&packer->mutex);
    return NULL;
}

/* When it returns, the rows given before are packed. */
static void give_rows(packer_t *packer, const rows_t *rows)
{
    (void)pthread_mutex_lock(&packer->mutex);
    while (packer->rows.part != NULL) {
        (void)pthread_cond_wait(&packer->changed, &packer->mutex);
    }
    packer->rows = *rows;
    packer->ends = rows->part == NULL;
    (void)pthread_cond_signal(&packer->changed);
    (void)pthread_mutex_unlock(&packer->mutex);
}

static bool start_packer(packer_t *packer)
{
    if (pthread_mutex_init(&packer->mutex, NULL) != 0) {
        return false;
    }
    if (pthread_cond_init(&packer->changed, NULL) == 0) {
        if (pthread_create(&packer->thread, NULL, pack_given, packer) == 0) {
            return true;
        }
        (void)pthread_cond_destroy(&packer->changed);
    }
    (void)pthread_mutex_destroy(&packer->mutex);
    return false;
}

static void stop_packer(packer_t *packer)
{
    const rows_t none = {.part = NULL};

    give_rows(packer, &none);
    (void)pthread_join(packer->thread, NULL);
    (void)pthread_cond_destroy(&packer->changed);
    (void)pthread_mutex_destroy(&packer->mutex);
}

static iso_status_t read_while_packing(stream_t *stream)
{
    packer_t packer = {.rows = {.part = NULL}};
    rows_t rows = {.part = NULL};
    iso_status_t status = ISO_OK;

    if (!start_packer(&packer)) {
        return read_then_pack(stream); /* it needs no other thread */
    }
    do {
        status = read_rows(stream, &rows);
        if (status == ISO_OK && rows.part != NULL) {
            give_rows(&packer, &rows);
        }
    } while (status == ISO_OK && rows.part != NULL);
    stop_packer(&packer);
    return status;
}

static iso_status_t read_parts(iso_load_t *load, int threads)
{
    stream_t stream = {.load = load, .n_stagings = threads > 1 ? 2 : 1};
    iso_status_t status = reserve_stagings(&stream);

    if (status == ISO_OK) {
        status =
            threads > 1 ? read_while_packing(&stream) : read_then_pack(&stream);
    }
    free_stream(&stream);
    return status;
}

/* -- all of it -- */

static iso_status_t bind_local(iso_load_t *load, const iso_local_t *local,
                               iso_program_t *program)
{
    for (int i = 0; i < local->n_weights; i++) {
        const iso_weight_part_t *wanted = &local->weights[i];
        iso_slab_sum_t slab;

        ISO_TRY(slab_of(load, wanted, &slab));
        iso_program_bind_weight(program, node_of(local, wanted),
                                part_of(load, &slab)->weight);
    }
    return ISO_OK;
}

static iso_status_t bind_parts(iso_load_t *load, const iso_load_spec_t *spec)
{
    iso_status_t status = ISO_OK;

    for (int form = 0; status == ISO_OK && form < ISO_FORM_COUNT; form++) {
        if (spec->programs[form] != NULL) {
            status = bind_local(load, spec->locals[form], spec->programs[form]);
        }
    }
    return status;
}

static iso_status_t load_parts(iso_load_t *load, const iso_load_spec_t *spec)
{
    ISO_TRY(list_parts(load, spec));
    ISO_TRY(reserve_parts(load));
    ISO_TRY(read_parts(load, spec->threads));
    return bind_parts(load, spec);
}

iso_status_t iso_load_parts(const iso_load_spec_t *spec, iso_load_t **load_out)
{
    iso_load_t *load = iso_alloc_zeroed(1, sizeof *load);

    *load_out = NULL;
    if (load == NULL) {
        return ISO_NOMEM;
    }
    load->model = spec->model;
    load->device = spec->device;
    load->packed = spec->packed;
    iso_status_t status = load_parts(load, spec);
    if (status != ISO_OK) {
        iso_load_free(&load);
        return status;
    }
    *load_out = load;
    return ISO_OK;
}

void iso_load_free(iso_load_t **load)
{
    if (*load == NULL) {
        return;
    }
    for (int i = 0; i < (*load)->n_parts; i++) {
        iso_weight_destroy(&(*load)->parts[i].weight);
        iso_packed_release(&(*load)->parts[i].entry);
    }
    iso_free((*load)->sums);
    iso_free((*load)->parts);
    iso_free(*load);
    *load = NULL;
}

iso_status_t iso_load_verify(iso_load_t *load, MPI_Comm comm)
{
    size_t before = iso_model_bytes_read(load->model);
    iso_status_t status =
        iso_slab_sums_verify(load->model, load->sums, load->n_sums, comm);

    load->check_bytes += iso_model_bytes_read(load->model) - before;
    return status;
}

size_t iso_load_check_bytes(const iso_load_t *load)
{
    return load->check_bytes;
}
