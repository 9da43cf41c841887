#include "exec/adopt.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "io/draft.h"
#include "par/par.h"

#include <string.h>

/* Rank 0 has them. Collective. bytes [in] the same on every rank. */
static iso_status_t receive(MPI_Comm comm, size_t bytes, iso_adopted_t *adopted)
{
    const bool is_root = iso_par_rank(comm) == 0;

    if (!is_root) {
        adopted->names = iso_alloc(bytes);
    }
    ISO_TRY(iso_par_agree(adopted->names != NULL ? ISO_OK : ISO_NOMEM, comm));
    ISO_CHECK_MPI(MPI_Bcast(adopted->names, (int)bytes, MPI_CHAR, 0, comm));
    adopted->bytes = bytes;
    for (size_t at = 0; !is_root && at < bytes;
         at += strlen(adopted->names + at) + 1) {
        iso_draft_adopt(adopted->names + at);
    }
    return ISO_OK;
}

iso_status_t iso_adopt(MPI_Comm comm, iso_adopted_t *adopted)
{
    iso_text_t names = {0};
    int64_t bytes = 0;

    if (iso_par_rank(comm) == 0) {
        iso_draft_add_names(&names);
        adopted->names = names.data;
        bytes = (int64_t)names.length;
    }
    ISO_TRY(iso_par_agree(names.status, comm));
    ISO_CHECK_MPI(MPI_Bcast(&bytes, 1, MPI_INT64_T, 0, comm));
    return bytes > 0 ? receive(comm, (size_t)bytes, adopted) : ISO_OK;
}

void iso_adopt_end(iso_adopted_t *adopted)
{
    for (size_t at = 0; at < adopted->bytes;
         at += strlen(adopted->names + at) + 1) {
        iso_draft_disown(adopted->names + at);
    }
    iso_free(adopted->names);
    *adopted = (iso_adopted_t){0};
}
