/* A filter of HDF5 that HDF5 finds by HDF5_PLUGIN_PATH. It changes nothing. */
#include "h5_plugin.h"

#include <hdf5.h>

#include <H5PLextern.h>
#include <stdlib.h>

/* As HDF5 wants it: NOLINTBEGIN(readability-non-const-parameter) */
static size_t same_bytes(unsigned flags, size_t n_values,
                         const unsigned *values, size_t bytes, size_t *room,
                         void **buffer)
{
    (void)flags;
    (void)n_values;
    (void)values;
    (void)room;
    (void)buffer;
    return bytes;
}
/* NOLINTEND(readability-non-const-parameter) */

static const H5Z_class2_t filter = {.version = H5Z_CLASS_T_VERS,
                                    .id = H5_PLUGIN_FILTER,
                                    .encoder_present = 1,
                                    .decoder_present = 1,
                                    .name = "plugin",
                                    .filter = same_bytes};

__attribute__((constructor)) static void leave_mark(void)
{
    (void)setenv(H5_PLUGIN_MARK, "loaded", 1);
}

H5PL_type_t H5PLget_plugin_type(void)
{
    return H5PL_TYPE_FILTER;
}

const void *H5PLget_plugin_info(void)
{
    return &filter;
}
