/*
 * A weight as the programs of a device want it: plain, packed into panels
 * (kernel/panels.h), or both. It is made for the programs that read it, filled
 * in parts as they come from a file, and bound to each.
 *
 *     iso_weight_uses_t uses = {0};
 *     ISO_TRY(iso_program_uses(program, node, &uses)); // of each program
 *     ISO_TRY(iso_weight_create(device, &view, &uses, &weight));
 *     for each part: iso_weight_fill(weight, first, count, data);
 *     iso_program_bind_weight(program, node, weight);
 */
#ifndef ISO_WEIGHT_H
#define ISO_WEIGHT_H

#include "device/device.h"
#include "kernel/panels.h"

enum { ISO_WEIGHT_USES = 4, ISO_WEIGHT_PIECES = ISO_WEIGHT_USES + 1 };

typedef struct iso_weight_uses {
    bool plain;
    int n_specs;
    iso_panels_spec_t specs[ISO_WEIGHT_USES]; /* (n_specs), all different */
} iso_weight_uses_t;

/* Add how a program reads a param. Errors: ISO_UNSUPPORTED when it is packed
 * in more than ISO_WEIGHT_USES ways. */
iso_status_t iso_program_uses(const iso_program_t *program, iso_node_id_t param,
                              iso_weight_uses_t *uses);

/* Memory that a weight is kept in: plain elements, or panels. */
typedef struct iso_weight_piece {
    void *data; /* aligned to 64 */
    size_t bytes;
    bool is_finite; /* of panels; true for plain elements */
} iso_weight_piece_t;

typedef struct iso_weight iso_weight_t;

/*
 * What a weight of these uses is kept in: the plain elements, then the panels
 * in their order; data is NULL. Returns how many there are.
 *
 * tensor  [in]  dtype and dims; data is not looked at
 */
int iso_weight_layout(const iso_tensor_t *tensor, const iso_weight_uses_t *uses,
                      iso_weight_piece_t pieces[ISO_WEIGHT_PIECES]);

/*
 * tensor  [in]  dtype and dims; data is not looked at
 * Errors: ISO_NOMEM.
 */
iso_status_t iso_weight_create(const iso_device_t *device,
                               const iso_tensor_t *tensor,
                               const iso_weight_uses_t *uses,
                               iso_weight_t **weight_out);

/*
 * A weight that lies in memory filled before, which is borrowed and only read:
 * pieces (iso_weight_layout), with data. It is not to be filled.
 * Errors: ISO_NOMEM.
 */
iso_status_t iso_weight_create_from(const iso_device_t *device,
                                    const iso_tensor_t *tensor,
                                    const iso_weight_uses_t *uses,
                                    const iso_weight_piece_t *pieces,
                                    iso_weight_t **weight_out);
void iso_weight_destroy(iso_weight_t **weight);

/* Where the plain elements are kept, to be read into directly; NULL when they
 * are not kept. */
void *iso_weight_plain(const iso_weight_t *weight);

/* Parts begin at a multiple of this many rows of the first dim. */
int64_t iso_weight_part(const iso_weight_t *weight);

/*
 * Rows [first, first + count) of the first dim (a scalar is one row); each row
 * once. data may be their place in iso_weight_plain.
 */
void iso_weight_fill(iso_weight_t *weight, int64_t first, int64_t count,
                     const void *data);

/* What it is kept in, borrowed; as iso_weight_layout. */
int iso_weight_pieces(const iso_weight_t *weight,
                      iso_weight_piece_t pieces[ISO_WEIGHT_PIECES]);

/* Bytes that it keeps. */
size_t iso_weight_bytes(const iso_weight_t *weight);

/* For a program of the same device; borrowed until bound again. */
void iso_program_bind_weight(iso_program_t *program, iso_node_id_t param,
                             const iso_weight_t *weight);

#endif
