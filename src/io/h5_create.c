/* HDF5 files in drafts: a file driver that never fails, see h5.h. */
#include "isotome/error.h"

#include "base/mem.h"
#include "io/h5.h"

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

/* What the access list carries to open_file. */
typedef struct driver_info {
    iso_draft_t *draft;
    bool *no_memory; /* set when there is none for the file */
} driver_info_t;

typedef struct draft_file {
    H5FD_t head; /* HDF5's part, first */
    iso_draft_t *draft;
    haddr_t allocated; /* end of what HDF5 has given out */
    haddr_t written;   /* end of what was written */
} draft_file_t;

static H5FD_t *open_file(const char *name, unsigned flags, hid_t access,
                         haddr_t most)
{
    const driver_info_t *info = H5Pget_driver_info(access);

    (void)name;
    (void)flags;
    (void)most;
    if (info == NULL) {
        return NULL;
    }
    draft_file_t *file = iso_alloc_zeroed(1, sizeof *file);
    if (file == NULL) {
        *info->no_memory = true;
        return NULL;
    }
    file->draft = info->draft;
    return &file->head;
}

static herr_t close_file(H5FD_t *head)
{
    iso_free(head);
    return 0;
}

static int compare_files(const H5FD_t *a, const H5FD_t *b)
{
    const iso_draft_t *draft_a = ((const draft_file_t *)a)->draft;
    const iso_draft_t *draft_b = ((const draft_file_t *)b)->draft;

    return ((uintptr_t)draft_a > (uintptr_t)draft_b) -
           ((uintptr_t)draft_a < (uintptr_t)draft_b);
}

static herr_t query_file(const H5FD_t *head, unsigned long *flags_out)
{
    (void)head;
    *flags_out = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
                 H5FD_FEAT_AGGREGATE_SMALLDATA |
                 H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t get_allocated(const H5FD_t *head, H5FD_mem_t type)
{
    (void)type;
    return ((const draft_file_t *)head)->allocated;
}

static herr_t set_allocated(H5FD_t *head, H5FD_mem_t type, haddr_t end)
{
    (void)type;
    ((draft_file_t *)head)->allocated = end;
    return 0;
}

static haddr_t get_written(const H5FD_t *head, H5FD_mem_t type)
{
    (void)type;
    return ((const draft_file_t *)head)->written;
}

static herr_t read_file(H5FD_t *head, H5FD_mem_t type, hid_t transfer,
                        haddr_t offset, size_t size, void *bytes)
{
    (void)type;
    (void)transfer;
    const draft_file_t *file = (const draft_file_t *)head;
    return iso_draft_read(file->draft, offset, bytes, size) ? 0 : -1;
}

static herr_t write_file(H5FD_t *head, H5FD_mem_t type, hid_t transfer,
                         haddr_t offset, size_t size, const void *bytes)
{
    draft_file_t *file = (draft_file_t *)head;

    (void)type;
    (void)transfer;
    iso_draft_write(file->draft, offset, bytes, size);
    if (offset + size > file->written) {
        file->written = offset + size;
    }
    return 0;
}

static herr_t truncate_file(H5FD_t *head, hid_t transfer, hbool_t closing)
{
    draft_file_t *file = (draft_file_t *)head;

    (void)transfer;
    (void)closing;
    iso_draft_set_length(file->draft, file->allocated);
    file->written = file->allocated;
    return 0;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)511, /* free for own drivers: 256 to 511 */
#endif
    .name = "isotome draft",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(driver_info_t),
    .open = open_file,
    .close = close_file,
    .cmp = compare_files,
    .query = query_file,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_written,
    .read = read_file,
    .write = write_file,
    .truncate = truncate_file,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

iso_status_t iso_h5_create(iso_draft_t *draft, hid_t *file_out)
{
    bool no_memory = false;
    const driver_info_t info = {.draft = draft, .no_memory = &no_memory};
    hid_t file = H5I_INVALID_HID;
    iso_status_t status = ISO_OK;
    hid_t driver_id = H5FDregister(&driver);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);

    /* From 1.8 on HDF5 can guard its own structures with checksums. */
    if (driver_id >= 0 && access >= 0 && creation >= 0 &&
        H5Pset_obj_track_times(creation, false) >= 0 &&
        H5Pset_driver(access, driver_id, &info) >= 0 &&
        H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST) >= 0) {
        file = H5Fcreate(iso_draft_temp_path(draft), H5F_ACC_TRUNC, creation,
                         access);
    }
    if (file < 0) {
        status = no_memory ? iso_fail_context(ISO_NOMEM, "'%s'",
                                              iso_draft_path(draft))
                           : iso_h5_fail(ISO_IO, "cannot create '%s'",
                                         iso_draft_path(draft));
    }
    iso_h5_close(&creation);
    iso_h5_close(&access);
    if (driver_id >= 0) {
        (void)H5FDunregister(driver_id); /* the file keeps it */
    }
    *file_out = file;
    return status;
}
