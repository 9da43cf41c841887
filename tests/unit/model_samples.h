/*
 * A model file with every dtype and with names that HDF5 or a shell would
 * mind, for the tests of reading and writing.
 */
#ifndef ISO_MODEL_SAMPLES_H
#define ISO_MODEL_SAMPLES_H

#include "isotome/model_file.h"

enum { WEIGHTS = 14, MOST_BYTES = 4096 };

typedef struct model_sample {
    const char *name;
    iso_dtype_t dtype;
    int rank;
    int64_t dims[4];
} model_sample_t;

/* Not in name order. */
extern const model_sample_t model_samples[WEIGHTS];

/* Hands out the elements of the samples. */
extern const iso_weight_source_t model_source;

/* Counted memory when the suite began. */
extern int64_t model_blocks;

/* For CU_SuiteInfo: silences HDF5 and takes the count. */
int model_suite_begin(void);

/* The last test of such a suite: no memory and no HDF5 object is left. */
void model_test_nothing_is_left(void);

/* Does the latest failure's text contain part? */
int model_text_has(const char *part);

iso_shape_t model_shape_of(const model_sample_t *sample);

/* Elements of a sample: all bit patterns, NaN too; 0 and 1 in bools. Valid
 * until the next call. */
void *model_elements_of(const model_sample_t *sample);

/* A graph with the first n_weights samples as params; and a file of it. */
iso_graph_t *model_make_graph(int n_weights);
void model_write_sample(const char *path, int n_weights);
iso_model_t *model_open_sample(const char *path);

/* Opening must fail with a text that has path and why, and leave nothing. */
void model_expect_refused(const char *path, const char *why);

#endif
