/* Weights that an earlier job has packed, and those that this one keeps. */
#include "isotome/error.h"

#include "base/log.h"
#include "base/text.h"
#include "exec/load_impl.h"

#include <inttypes.h>
#include <string.h>

/* A smaller weight is as fast read from the model as from a file of its own. */
enum { LEAST_BYTES = 64 * 1024 };

_Static_assert((int)ISO_WEIGHT_PIECES <= (int)ISO_PACKED_PIECES,
               "an entry has room for a weight");

/* -- entries -- */

static void add_shape(const iso_shape_t *shape, iso_text_t *key)
{
    for (int i = 0; i < shape->rank; i++) {
        iso_text_add(key, " %" PRId64, shape->dim[i].size);
    }
}

/* All that the bytes of a packed weight depend on, and nothing else: a weight
 * of another model with the same elements is the same. */
static void add_key(const iso_load_t *load, const iso__load_part_t *part,
                    iso_text_t *key)
{
    const iso_weight_info_t *info = iso__load_info(load, part);
    const iso_slab_sum_t *slab = &part->slab;

    iso_text_add(key, "panels %d; digest %016" PRIx64 " %016" PRIx64 "; %s",
                 (int)ISO_PANELS_VERSION, info->digest, info->part_digest,
                 iso_dtype_string(info->dtype));
    add_shape(&info->shape, key);
    iso_text_add(key, "; slab %" PRId64 " %" PRId64 " %" PRId64, slab->axis,
                 slab->begin, slab->end);
    if (part->uses.plain) {
        iso_text_add(key, "; plain");
    }
    for (int i = 0; i < part->uses.n_specs; i++) {
        const iso_panels_spec_t *spec = &part->uses.specs[i];

        iso_text_add(key,
                     "; kind %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                     (int)spec->kind, spec->groups, spec->lanes, spec->length,
                     spec->taps);
    }
}

static void take_pieces(const iso_weight_piece_t *pieces, int n,
                        iso_packed_entry_t *entry)
{
    entry->n_pieces = n;
    for (int i = 0; i < n; i++) {
        entry->pieces[i] = (iso_packed_piece_t){.data = pieces[i].data,
                                                .bytes = pieces[i].bytes,
                                                .note = pieces[i].is_finite};
    }
}

static void give_pieces(const iso_packed_entry_t *entry,
                        iso_weight_piece_t *pieces)
{
    for (int i = 0; i < entry->n_pieces; i++) {
        pieces[i] =
            (iso_weight_piece_t){.data = entry->pieces[i].data,
                                 .bytes = entry->pieces[i].bytes,
                                 .is_finite = entry->pieces[i].note != 0};
    }
}

/* Is this part worth a file? */
static bool is_kept(const iso_load_t *load, const iso__load_part_t *part)
{
    return load->packed != NULL &&
           (part->uses.plain || part->uses.n_specs > 0) &&
           (size_t)part->rows * part->row_bytes >= LEAST_BYTES;
}

/* -- find -- */

static iso_status_t find(iso_load_t *load, iso_packed_entry_t *entry)
{
    const iso_status_t status = iso_packed_find(load->packed, entry);

    if (status == ISO_INPUT) {
        iso_log(ISO_LOG_WARNING,
                "%s; the weight is packed again and the file replaced",
                iso_error_text());
        return ISO_OK;
    }
    return status;
}

static iso_status_t make_weight(iso_load_t *load, const iso_tensor_t *view,
                                iso__load_part_t *part)
{
    iso_weight_piece_t pieces[ISO_WEIGHT_PIECES];

    give_pieces(&part->entry, pieces);
    part->slab.sum = part->entry.note;
    load->packed_bytes += (size_t)part->rows * part->row_bytes;
    return iso_weight_create_from(load->device, view, &part->uses, pieces,
                                  &part->weight);
}

iso_status_t iso__load_find(iso_load_t *load, const iso_tensor_t *view,
                            iso__load_part_t *part)
{
    iso_weight_piece_t pieces[ISO_WEIGHT_PIECES];
    iso_text_t key = {0};

    if (!is_kept(load, part)) {
        return ISO_OK;
    }
    const int n = iso_weight_layout(view, &part->uses, pieces);

    take_pieces(pieces, n, &part->entry);
    add_key(load, part, &key);
    part->entry.key = key.data;
    iso_status_t status =
        key.status == ISO_OK ? find(load, &part->entry) : key.status;
    if (status == ISO_OK && part->entry.map != NULL) {
        status = make_weight(load, view, part);
    }
    part->entry.key = NULL;
    iso_text_free(&key);
    return status;
}

size_t iso_load_packed_bytes(const iso_load_t *load)
{
    return load->packed_bytes;
}

/* -- keep -- */

static iso_status_t keep(const iso_load_t *load, const iso__load_part_t *part)
{
    iso_weight_piece_t pieces[ISO_WEIGHT_PIECES];
    iso_packed_entry_t entry = {.note = part->slab.sum};
    iso_text_t key = {0};

    const int n = iso_weight_pieces(part->weight, pieces);

    take_pieces(pieces, n, &entry);
    add_key(load, part, &key);
    entry.key = key.data;
    iso_status_t status = key.status == ISO_OK
                              ? iso_packed_put(load->packed, &entry)
                              : key.status;
    iso_text_free(&key);
    return status;
}

void iso_load_keep(const iso_load_t *load)
{
    iso_status_t status = ISO_OK;

    for (int i = 0; status == ISO_OK && i < load->n_parts; i++) {
        const iso__load_part_t *part = &load->parts[i];

        if (is_kept(load, part) && part->entry.map == NULL) {
            status = keep(load, part);
        }
    }
    if (status != ISO_OK) {
        iso_log(ISO_LOG_WARNING,
                "packed weights are not kept for the next job: %s",
                iso_error_text());
    }
}
