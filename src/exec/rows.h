/*
 * Rows: how the first dim of a model's input or output follows the number of
 * samples. "N" is one row for each sample, "50*N" is fifty; a model without
 * free dims takes its whole first dim for each pass ("sample").
 */
#ifndef ISO_ROWS_H
#define ISO_ROWS_H

#include "isotome/tensor.h"

typedef struct iso_rows {
    int64_t per_sample; /* 0: the tensor does not follow the samples */
    iso_tensor_t one;   /* dtype and shape for one sample; data NULL */
} iso_rows_t;

/*
 * batch  [in]  name of the free dim; NULL when the model has none
 * Errors: ISO_UNSUPPORTED when a dim behind the first depends on the batch,
 * or the first one is not a multiple of it; what names the tensor.
 */
iso_status_t iso_rows_of(const char *what, iso_dtype_t dtype,
                         const iso_shape_t *shape, const char *batch,
                         iso_rows_t *rows_out);

/* The tensor for a number of samples (a copy of one when it does not
 * follow them). */
iso_tensor_t iso_rows_tensor(const iso_rows_t *rows, int64_t samples);

#endif
