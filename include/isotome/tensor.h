/*
 * Tensor view: type, static shape and where the elements are. Elements are
 * contiguous, last dimension fastest. A view owns nothing.
 */
#ifndef ISO_TENSOR_H
#define ISO_TENSOR_H

#include "isotome/dtype.h"
#include "isotome/shape.h"

typedef struct iso_tensor {
    iso_dtype_t dtype;
    int rank;
    int64_t dims[ISO_MAX_RANK];
    void *data; /* (dims[0], ..., dims[rank-1]); NULL in a shape-only view */
} iso_tensor_t;

/* View of data with a static shape. Errors: ISO_SHAPE for a symbolic one. */
iso_status_t iso_tensor_view(iso_dtype_t dtype, const iso_shape_t *shape,
                             void *data, iso_tensor_t *tensor_out);

/* Number of elements (1 for a scalar) and of bytes. */
int64_t iso_tensor_count(const iso_tensor_t *tensor);
size_t iso_tensor_bytes(const iso_tensor_t *tensor);

/*
 * Bytes of a shape with this dtype. Errors: ISO_SHAPE when symbolic or when
 * the product does not fit in 2^62.
 */
iso_status_t iso_tensor_bytes_of(iso_dtype_t dtype, const iso_shape_t *shape,
                                 size_t *bytes_out);

iso_shape_t iso_tensor_shape(const iso_tensor_t *tensor);

#endif
