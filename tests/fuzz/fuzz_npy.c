/* An .npy file: refused, or all of it can be read. */
#include "base/mem.h"
#include "fuzz.h"
#include "tensor/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    iso_tensor_t tensor = {0};
    const int64_t held = fuzz_begin();
    const iso_status_t status = iso_npy_load(fuzz_file(data, size), &tensor);

    if (status == ISO_OK) {
        if (iso_tensor_bytes(&tensor) > size) {
            fuzz_die("an array is larger than its file");
        }
        iso_free(tensor.data);
    }
    fuzz_end(status, held);
    return 0;
}
