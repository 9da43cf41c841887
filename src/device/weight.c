#include "device/weight.h"

#include "base/log.h"
#include "base/mem.h"
#include "device/host_impl.h"
#include "kernel/cpu/direct/pack.h"

#include <string.h>

struct iso_weight {
    const iso_device_t *device;
    iso_tensor_t tensor; /* data: plain elements, or NULL */
    bool is_borrowed;    /* it lies in memory of the caller */
    int n_panels;
    iso_panels_t *panels[ISO_WEIGHT_USES]; /* (n_panels) */
};

static size_t panels_bytes(const iso_panels_spec_t *spec)
{
    return (size_t)iso_panels_count(spec) * sizeof(float);
}

int iso_weight_layout(const iso_tensor_t *tensor, const iso_weight_uses_t *uses,
                      iso_weight_piece_t pieces[ISO_WEIGHT_PIECES])
{
    int n = 0;

    if (uses->plain) {
        pieces[n++] = (iso_weight_piece_t){.bytes = iso_tensor_bytes(tensor),
                                           .is_finite = true};
    }
    for (int i = 0; i < uses->n_specs; i++) {
        pieces[n++] = (iso_weight_piece_t){
            .bytes = panels_bytes(&uses->specs[i]), .is_finite = true};
    }
    return n;
}

int iso_weight_pieces(const iso_weight_t *weight,
                      iso_weight_piece_t pieces[ISO_WEIGHT_PIECES])
{
    int n = 0;

    if (weight->tensor.data != NULL) {
        pieces[n++] =
            (iso_weight_piece_t){.data = weight->tensor.data,
                                 .bytes = iso_tensor_bytes(&weight->tensor),
                                 .is_finite = true};
    }
    for (int i = 0; i < weight->n_panels; i++) {
        const iso_panels_t *panels = weight->panels[i];

        pieces[n++] = (iso_weight_piece_t){.data = panels->data,
                                           .bytes = panels_bytes(&panels->spec),
                                           .is_finite = panels->is_finite};
    }
    return n;
}

/* given: NULL, or where it lies. */
static iso_status_t make_pieces(iso_weight_t *weight,
                                const iso_weight_uses_t *uses,
                                const iso_weight_piece_t *given)
{
    iso_status_t status = ISO_OK;

    if (uses->plain) {
        weight->tensor.data =
            given != NULL ? given->data
                          : iso_alloc(iso_tensor_bytes(&weight->tensor));
        status = weight->tensor.data == NULL ? ISO_NOMEM : ISO_OK;
    }
    for (int i = 0; status == ISO_OK && i < uses->n_specs; i++) {
        const iso_panels_spec_t *spec = &uses->specs[i];
        iso_panels_t **panels = &weight->panels[i];

        if (given != NULL) {
            const iso_weight_piece_t *piece = &given[i + (uses->plain ? 1 : 0)];

            status = iso_panels_create_from(spec, piece->data, piece->is_finite,
                                            panels);
        } else {
            status = iso_panels_create(spec, panels);
        }
        weight->n_panels += status == ISO_OK ? 1 : 0;
    }
    return status;
}

static iso_status_t create(const iso_device_t *device,
                           const iso_tensor_t *tensor,
                           const iso_weight_uses_t *uses,
                           const iso_weight_piece_t *given,
                           iso_weight_t **weight_out)
{
    iso_weight_t *weight = iso_alloc_zeroed(1, sizeof *weight);

    *weight_out = NULL;
    if (weight == NULL) {
        return ISO_NOMEM;
    }
    weight->device = device;
    weight->tensor = *tensor;
    weight->tensor.data = NULL;
    weight->is_borrowed = given != NULL;
    iso_status_t status = make_pieces(weight, uses, given);
    if (status != ISO_OK) {
        iso_weight_destroy(&weight);
        return status;
    }
    *weight_out = weight;
    return ISO_OK;
}

iso_status_t iso_weight_create(const iso_device_t *device,
                               const iso_tensor_t *tensor,
                               const iso_weight_uses_t *uses,
                               iso_weight_t **weight_out)
{
    return create(device, tensor, uses, NULL, weight_out);
}

iso_status_t iso_weight_create_from(const iso_device_t *device,
                                    const iso_tensor_t *tensor,
                                    const iso_weight_uses_t *uses,
                                    const iso_weight_piece_t *pieces,
                                    iso_weight_t **weight_out)
{
    return create(device, tensor, uses, pieces, weight_out);
}

void iso_weight_destroy(iso_weight_t **weight)
{
    if (*weight == NULL) {
        return;
    }
    for (int i = 0; i < (*weight)->n_panels; i++) {
        iso_panels_destroy(&(*weight)->panels[i]);
    }
    if (!(*weight)->is_borrowed) {
        iso_free((*weight)->tensor.data);
    }
    iso_free(*weight);
    *weight = NULL;
}

void *iso_weight_plain(const iso_weight_t *weight)
{
    return weight->tensor.data;
}

/* The least common multiple of powers of two is the greatest. */
int64_t iso_weight_part(const iso_weight_t *weight)
{
    int64_t part = 1;

    for (int i = 0; i < weight->n_panels; i++) {
        const int64_t rows = iso_panels_part(&weight->panels[i]->spec);

        part = rows > part ? rows : part;
    }
    return part;
}

static size_t row_bytes(const iso_weight_t *weight)
{
    const iso_tensor_t *tensor = &weight->tensor;
    const int64_t rows = tensor->rank > 0 ? tensor->dims[0] : 1;

    return rows == 0 ? 0 : iso_tensor_bytes(tensor) / (size_t)rows;
}

void iso_weight_fill(iso_weight_t *weight, int64_t first, int64_t count,
                     const void *data)
{
    const size_t row = row_bytes(weight);

    ISO_ASSERT(!weight->is_borrowed);
    if (weight->tensor.data != NULL) {
        char *place = (char *)weight->tensor.data + (size_t)first * row;

        if (place != data) {
            memcpy(place, data, (size_t)count * row);
        }
    }
    for (int i = 0; i < weight->n_panels; i++) {
        iso_panels_fill(weight->device->cpu, weight->panels[i], first, count,
                        data);
    }
}

void iso__weight_refill(iso_weight_t *weight, const void *data)
{
    for (int i = 0; i < weight->n_panels; i++) {
        weight->panels[i]->is_finite = true;
    }
    iso_weight_fill(weight, 0,
                    weight->tensor.rank > 0 ? weight->tensor.dims[0] : 1, data);
}

size_t iso_weight_bytes(const iso_weight_t *weight)
{
    iso_weight_piece_t pieces[ISO_WEIGHT_PIECES];
    const int n = iso_weight_pieces(weight, pieces);
    size_t bytes = 0;

    for (int i = 0; i < n; i++) {
        bytes += pieces[i].bytes;
    }
    return bytes;
}

const iso_panels_t *iso__weight_panels(const iso_weight_t *weight,
                                       const iso_panels_spec_t *spec)
{
    for (int i = 0; i < weight->n_panels; i++) {
        if (iso_panels_equal(&weight->panels[i]->spec, spec)) {
            return weight->panels[i];
        }
    }
    return NULL;
}
