/*
 * What the tests and the demonstration need to know of .npy files:
 *
 *     npy_tool accuracy LOGITS LABELS   "8979 of 10000"
 *     npy_tool compare A B LIMIT        largest |a - b| / largest |b|; exit 1
 *                                       when it is over LIMIT
 *     npy_tool head IN COUNT OUT        the first COUNT rows
 *     npy_tool random OUT SEED DIM...   f32 in [-1, 1)
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "tensor/npy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static iso_status_t load(const char *path, iso_dtype_t dtype,
                         iso_tensor_t *tensor)
{
    ISO_TRY(iso_npy_load(path, tensor));
    if (tensor->dtype != dtype) {
        iso_free(tensor->data);
        return iso_fail(ISO_INPUT, "%s: expected %s, found %s", path,
                        iso_dtype_string(dtype),
                        iso_dtype_string(tensor->dtype));
    }
    return ISO_OK;
}

static iso_status_t accuracy(char **argv)
{
    iso_tensor_t logits;
    iso_tensor_t labels;
    int64_t right = 0;

    ISO_TRY(load(argv[0], ISO_DTYPE_F32, &logits));
    ISO_TRY(load(argv[1], ISO_DTYPE_U8, &labels));
    int64_t classes = logits.dims[1];

    for (int64_t row = 0; row < logits.dims[0]; row++) {
        const float *scores = (const float *)logits.data + row * classes;
        int64_t best = 0;

        for (int64_t c = 1; c < classes; c++) {
            best = scores[c] > scores[best] ? c : best;
        }
        right += best == ((const uint8_t *)labels.data)[row] ? 1 : 0;
    }
    (void)printf("%" PRId64 " of %" PRId64 "\n", right, logits.dims[0]);
    iso_free(logits.data);
    iso_free(labels.data);
    return ISO_OK;
}

static iso_status_t compare(char **argv)
{
    iso_tensor_t a;
    iso_tensor_t b;
    double limit = 0;
    double largest = 0;
    double difference = 0;

    ISO_TRY(iso_text_parse_double(argv[2], "LIMIT", &limit));
    ISO_TRY(load(argv[0], ISO_DTYPE_F32, &a));
    ISO_TRY(load(argv[1], ISO_DTYPE_F32, &b));
    if (iso_tensor_count(&a) != iso_tensor_count(&b)) {
        return iso_fail(ISO_SHAPE, "%s and %s have different sizes", argv[0],
                        argv[1]);
    }
    for (int64_t i = 0; i < iso_tensor_count(&a); i++) {
        double x = ((const float *)a.data)[i];
        double y = ((const float *)b.data)[i];
        double apart = fabs(x - y);

        largest = fabs(y) > largest ? fabs(y) : largest;
        difference = !(apart <= difference) ? apart : difference;
    }
    (void)printf("largest difference %.3g of %.3g: %.3g\n", difference, largest,
                 difference / largest);
    iso_free(a.data);
    iso_free(b.data);
    if (!(difference <= limit * largest)) {
        return iso_fail(ISO_INTERNAL, "over the limit of %g", limit);
    }
    return ISO_OK;
}

static iso_status_t head(char **argv)
{
    iso_tensor_t tensor;
    int64_t count = 0;

    ISO_TRY(iso_npy_load(argv[0], &tensor));
    ISO_TRY(iso_text_parse_int(argv[1], "COUNT", 0, tensor.dims[0], &count));
    tensor.dims[0] = count;
    iso_status_t status = iso_npy_save(argv[2], &tensor);

    iso_free(tensor.data);
    return status;
}

/* splitmix64: the same values everywhere. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static iso_status_t random_array(int argc, char **argv)
{
    iso_tensor_t tensor = {.dtype = ISO_DTYPE_F32, .rank = argc - 2};
    int64_t seed = 0;

    ISO_TRY(iso_text_parse_int(argv[1], "SEED", 0, INT64_MAX, &seed));
    for (int i = 0; i < tensor.rank; i++) {
        ISO_TRY(iso_text_parse_int(argv[i + 2], "DIM", 0, INT32_MAX,
                                   &tensor.dims[i]));
    }
    float *values = iso_alloc(iso_tensor_bytes(&tensor));
    uint64_t state = (uint64_t)seed;

    if (values == NULL) {
        return ISO_NOMEM;
    }
    for (int64_t i = 0; i < iso_tensor_count(&tensor); i++) {
        values[i] = (float)(next(&state) >> 40) * 0x1p-23F - 1.0F;
    }
    tensor.data = values;
    iso_status_t status = iso_npy_save(argv[0], &tensor);

    iso_free(values);
    return status;
}

static iso_status_t run(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "accuracy") == 0) {
        return accuracy(argv + 2);
    }
    if (argc == 5 && strcmp(argv[1], "compare") == 0) {
        return compare(argv + 2);
    }
    if (argc == 5 && strcmp(argv[1], "head") == 0) {
        return head(argv + 2);
    }
    if (argc >= 5 && argc <= 4 + ISO_MAX_RANK &&
        strcmp(argv[1], "random") == 0) {
        return random_array(argc - 2, argv + 2);
    }
    return iso_fail(ISO_INVAL, "usage: npy_tool accuracy|compare|head|random "
                               "ARGUMENTS; see the source");
}

int main(int argc, char **argv)
{
    iso_status_t status = run(argc, argv);

    if (status != ISO_OK) {
        (void)fprintf(stderr, "npy_tool: %s\n", iso_error_text());
    }
    return iso_status_exit_code(status);
}
