/*
 * Fill: values for inputs that nobody gave, the same for the same seed.
 */
#ifndef ISO_FILL_H
#define ISO_FILL_H

#include "isotome/tensor.h"

#include "base/random.h"

/*
 * Floats in [-1, 1). Integers are small, since most are indices: 0 or 1, bytes
 * are any. Halves are +0 and the least subnormal: any bits of theirs may be a
 * NaN.
 *
 * tensor  [in]  data, not owned, is written
 */
void iso_tensor_fill_random(iso_random_t *random, const iso_tensor_t *tensor);

#endif
