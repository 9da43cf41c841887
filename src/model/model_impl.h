/* What writing and reading a model file share. */
#ifndef ISO_MODEL_IMPL_H
#define ISO_MODEL_IMPL_H

#include "isotome/model_file.h"

#include "base/arena.h"
#include "base/text.h"
#include "io/h5.h"

#define ISO__MODEL_FORMAT "isotome-model"

enum {
    ISO__MODEL_FORMAT_VERSION = 2,
    ISO__MODEL_OLDEST_VERSION = 1, /* is read: it has no part_digest */
    ISO__MODEL_TEXT_BYTES = 256,   /* of an attribute, with an ending zero */
};

struct iso_model {
    iso_arena_t *arena; /* of everything below that is a pointer */
    const char *path;
    const char *producer;
    hid_t file;
    size_t file_bytes;
    uint64_t format_version;
    iso_graph_t *graph; /* owned */
    uint64_t root_digest;
    int n_weights;
    iso_weight_info_t *weights; /* (n_weights), in name order */
    size_t bytes_read;
};

/*
 * Name of a weight as an HDF5 link: "/" and "%" as %2F and %25, and the dots
 * of a lone "." or ".." as %2E. Failure shows in link->status.
 */
void iso__model_link_of(const char *name, iso_text_t *link);

/* Inverse, into the arena. Errors: ISO_INPUT for a link that this is not the
 * one spelling of; ISO_NOMEM. */
iso_status_t iso__model_name_of(const char *link, iso_arena_t *arena,
                                const char **name_out);

void iso__model_sort(iso_weight_info_t *weights, int count);

/* Digest over (name, dtype, shape, digests) of weights in name order, as
 * files of this format version have it. */
uint64_t iso__model_digest(const iso_weight_info_t *weights, int count,
                           uint64_t format_version);

/*
 * List the datasets below /weights as weights in name order, from metadata
 * alone. Sets weights and n_weights.
 */
iso_status_t iso__model_list_weights(iso_model_t *model);

/* Refuse a dataset that is not plainly in this file: contiguous, whole,
 * without filters. bytes: of its elements. */
iso_status_t iso__model_check_storage(const iso_model_t *model, hid_t dataset,
                                      size_t bytes);

#endif
