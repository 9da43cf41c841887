/* Weights read in slabs by several ranks: damage is found, by all of them. */
#include "isotome/error.h"

#include "base/mem.h"
#include "exec/load.h"
#include "iso_test_call.h"
#include "iso_test_folder_mpi.h"
#include "model_samples.h"
#include "par/par.h"

enum { MOST_PARTS = 64 };

/* One rank's parts and what became of them. */
typedef struct job {
    int n_parts;
    iso_weight_part_t parts[MOST_PARTS];
    char nodes[MOST_PARTS][8];
    iso_model_t *model;
    iso_load_t *load;
    iso_status_t status;
    size_t read_bytes;
    size_t check_bytes;
} job_t;

static int rank_here(void)
{
    return iso_par_rank(MPI_COMM_WORLD);
}

static int ranks(void)
{
    return iso_par_size(MPI_COMM_WORLD);
}

static int begin(void)
{
    return scratch_begin_mpi() != 0 ? 1 : model_suite_begin();
}

/* The first test: what is asserted belongs to one. */
static void test_writing_the_model(void)
{
    if (rank_here() == 0) {
        model_write_sample("m.h5", WEIGHTS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void want(job_t *job, const char *weight, int axis, int64_t first,
                 int64_t end)
{
    int i = job->n_parts++;

    (void)snprintf(job->nodes[i], sizeof job->nodes[i], "n%d", i);
    job->parts[i] =
        (iso_weight_part_t){.node = job->nodes[i],
                            .weight = weight,
                            .slab = {.axis = axis, .range = {first, end}}};
}

/* This rank's share of an axis, in rank order; some may be empty. */
static void want_share(job_t *job, const char *weight, int axis, int64_t length)
{
    want(job, weight, axis, length * rank_here() / ranks(),
         length * (rank_here() + 1) / ranks());
}

static size_t part_bytes(const job_t *job, int i)
{
    const iso_slab_t *slab = &job->parts[i].slab;
    const iso_weight_info_t *info =
        iso_model_find(job->model, job->parts[i].weight);
    size_t bytes = info->bytes;

    if (iso_range_length(slab->range) == 0) {
        bytes = slab->axis == ISO_AXIS_WHOLE ? bytes : 0;
    } else {
        CU_ASSERT_EQUAL(iso_weight_part_bytes(info, slab->axis,
                                              slab->range.begin,
                                              slab->range.end, &bytes),
                        ISO_OK);
    }
    return bytes;
}

/* Is this part an earlier one again? It is read once. */
static bool is_again(const job_t *job, int i)
{
    const iso_weight_part_t *part = &job->parts[i];
    bool again = false;

    for (int j = 0; j < i; j++) {
        const iso_weight_part_t *other = &job->parts[j];
        again = again || (strcmp(part->weight, other->weight) == 0 &&
                          part->slab.axis == other->slab.axis &&
                          part->slab.range.begin == other->slab.range.begin &&
                          part->slab.range.end == other->slab.range.end);
    }
    return again;
}

/* Collective: load, verify, let go. */
static void run(job_t *job, const char *path)
{
    iso_local_t local = {.n_weights = job->n_parts, .weights = job->parts};
    size_t expected = 0;

    job->model = model_open_sample(path);
    const iso_load_spec_t spec = {.model = job->model, .locals = {&local}};
    iso_status_t status = iso_load_parts(&spec, &job->load);
    job->status = iso_par_agree(status, MPI_COMM_WORLD);
    job->read_bytes = iso_model_bytes_read(job->model);
    if (job->status == ISO_OK) {
        for (int i = 0; i < job->n_parts; i++) {
            expected += is_again(job, i) ? 0 : part_bytes(job, i);
        }
        CU_ASSERT_EQUAL(job->read_bytes, expected);
        job->status = iso_load_verify(job->load, MPI_COMM_WORLD);
        job->check_bytes = iso_load_check_bytes(job->load);
        CU_ASSERT_EQUAL(iso_model_bytes_read(job->model),
                        expected + job->check_bytes);
    }
    iso_load_free(&job->load);
    iso_model_close(&job->model);
}

static void expect_good(job_t *job)
{
    run(job, "m.h5");
    CU_ASSERT_EQUAL(job->status, ISO_OK);
    CU_ASSERT_EQUAL(job->check_bytes, 0);
    if (job->status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
}

static void expect_damaged(job_t *job, const char *path, const char *weight)
{
    char name[64] = "";

    run(job, path);
    CU_ASSERT_EQUAL(job->status, ISO_INPUT);
    (void)snprintf(name, sizeof name, "bad.h5': weight '%s': ", weight);
    if (!model_text_has(name) || !model_text_has("the file is damaged")) {
        (void)fprintf(stderr, "expected '%s': %s\n", name, iso_error_text());
        CU_FAIL("another text");
    }
}

/* -- damage -- */

/* Where the elements of a sample are in the file. */
static size_t place_of(const model_sample_t *sample, const char *file,
                       size_t size, size_t bytes)
{
    const void *wanted = model_elements_of(sample);
    size_t at = 0;

    while (at + bytes < size && memcmp(file + at, wanted, bytes) != 0) {
        at++;
    }
    CU_ASSERT(at + bytes < size);
    return at;
}

/* bad.h5: m.h5 with `length` bytes of a sample exchanged between two places,
 * or, where these are the same, one bit turned. Collective. */
static void damage(const model_sample_t *sample, size_t a, size_t b,
                   size_t length)
{
    iso_shape_t shape = model_shape_of(sample);
    size_t bytes = 0;
    size_t size = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_here() == 0) {
        char *file = scratch_load("m.h5", &size);
        (void)iso_tensor_bytes_of(sample->dtype, &shape, &bytes);
        char *elements = file + place_of(sample, file, size, bytes);
        if (a == b) {
            elements[a] = (char)(elements[a] ^ 0x20);
        }
        for (size_t i = 0; i < length && a != b; i++) {
            char kept = elements[a + i];
            elements[a + i] = elements[b + i];
            elements[b + i] = kept;
        }
        scratch_save("bad.h5", file, size);
        free(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static const model_sample_t *const w = &model_samples[0];    /* f32 [4,3,3,3] */
static const model_sample_t *const big = &model_samples[12]; /* W: f32 [1000] */

/* -- tests -- */

static void test_every_axis(void)
{
    for (int i = 0; i < WEIGHTS; i++) {
        const model_sample_t *sample = &model_samples[i];
        for (int axis = 0; axis < sample->rank; axis++) {
            job_t job = {0};
            want_share(&job, sample->name, axis, sample->dims[axis]);
            expect_good(&job);
        }
    }
}

/* All weights at once, those that have no axis whole. */
static void test_whole_models(void)
{
    job_t job = {0};

    for (int i = 0; i < WEIGHTS; i++) {
        const model_sample_t *sample = &model_samples[i];
        int axis = sample->rank - 1;
        if (axis < 0) {
            want(&job, sample->name, ISO_AXIS_WHOLE, 0, 0);
        } else {
            want_share(&job, sample->name, axis, sample->dims[axis]);
        }
    }
    expect_good(&job);
}

/* Nobody, or only some ranks, have anything to read. */
static void test_nothing_to_read(void)
{
    job_t none = {0};
    job_t last = {0};

    expect_good(&none);
    if (rank_here() == ranks() - 1) {
        want(&last, "w", 2, 0, 3);
        want(&last, "W", 0, 7, 7);
        want(&last, "W", 0, 9, 2);
    }
    expect_good(&last);
}

static void test_flipped_bits(void)
{
    for (int i = 0; i < WEIGHTS; i++) {
        const model_sample_t *sample = &model_samples[i];
        iso_shape_t shape = model_shape_of(sample);
        size_t bytes = 0;
        (void)iso_tensor_bytes_of(sample->dtype, &shape, &bytes);
        if (bytes < 8) {
            continue; /* such bytes are found elsewhere too */
        }
        for (int axis = 0; axis < sample->rank; axis++) {
            job_t job = {0};
            size_t at = bytes / 5 * (size_t)(axis + 1);
            want_share(&job, sample->name, axis, sample->dims[axis]);
            damage(sample, at, at, 1);
            expect_damaged(&job, "bad.h5", sample->name);
        }
    }
}

/* Elements that are in the file, but where others should be. */
static void test_exchanged_slabs(void)
{
    for (size_t length = 4; length <= 108; length *= 3) {
        for (int axis = 0; axis < 4; axis++) {
            job_t job = {0};
            want_share(&job, "w", axis, w->dims[axis]);
            damage(w, 0, 216, length);
            expect_damaged(&job, "bad.h5", "w");
        }
    }
}

/* Two nodes that cut a weight in different places and along other axes, and
 * a worker that has it whole. */
static void want_several(job_t *job)
{
    int last = ranks() - 1;

    want_share(job, "w", 0, 4);
    want_share(job, "w", 1, 3);
    want_share(job, "W", 0, 1000);
    want(job, "W", 0, rank_here() == 0 ? 0 : 7 * rank_here(),
         rank_here() == last ? 1000 : 7 * (rank_here() + 1));
    if (rank_here() == last) {
        want(job, "layer1.0.conv/weight", ISO_AXIS_WHOLE, 0, 0);
    }
    want_share(job, "layer1.0.conv/weight", 1, 5);
}

static void test_several_coverings(void)
{
    job_t job = {0};

    want_several(&job);
    expect_good(&job);
    damage(big, 2000, 2000, 1);
    expect_damaged(&job, "bad.h5", "W");
}

/* Slabs that several ranks read are counted once. */
static void test_equal_slabs(void)
{
    job_t job = {0};

    want(&job, "w", 0, 0, 3);
    if (rank_here() == ranks() - 1) {
        want(&job, "w", 0, 3, 4);
    }
    expect_good(&job);
    damage(w, 300, 300, 1);
    expect_damaged(&job, "bad.h5", "w");
    damage(w, 430, 430, 1);
    expect_damaged(&job, "bad.h5", "w");
}

/* What no worker reads is read for the check, by rank 0, and counted apart. */
static void test_what_nobody_reads(void)
{
    static const size_t row = 27 * sizeof(float);
    job_t job = {0};

    want(&job, "w", 0, 1, 2);
    want(&job, "w", 0, 3, 3);
    run(&job, "m.h5");
    CU_ASSERT_EQUAL(job.status, ISO_OK);
    CU_ASSERT_EQUAL(job.read_bytes, row);
    CU_ASSERT_EQUAL(job.check_bytes, rank_here() == 0 ? 3 * row : 0);
    for (size_t at = 0; at < 4 * row; at += 50) {
        damage(w, at, at, 1);
        expect_damaged(&job, "bad.h5", "w");
    }
}

/* Slabs that overlap, as those of a halo: each in a covering of its own. */
static void test_overlapping_slabs(void)
{
    job_t job = {0};

    want(&job, "W", 0, 0, 600);
    want(&job, "W", 0, 400, 1000);
    run(&job, "m.h5");
    CU_ASSERT_EQUAL(job.status, ISO_OK);
    CU_ASSERT_EQUAL(job.check_bytes, rank_here() == 0 ? 800 * 4 : 0);
    damage(big, 2000, 2000, 1);
    expect_damaged(&job, "bad.h5", "W");
}

/* One rank whose file system shows it another byte: of its share of w, or of
 * a slab that all have. */
static void check_odd_rank(int odd, bool equal)
{
    job_t job = {0};
    int64_t first = w->dims[1] * odd / ranks();
    int64_t end = w->dims[1] * (odd + 1) / ranks();
    size_t at = (size_t)first * 9 * sizeof(float);
    bool reads = equal || end > first;

    if (equal) {
        want(&job, "w", 1, 0, w->dims[1]);
    } else {
        want_share(&job, "w", 1, w->dims[1]);
    }
    damage(w, at, at, 1);
    run(&job, rank_here() == odd ? "bad.h5" : "m.h5");
    CU_ASSERT_EQUAL(job.status, reads ? ISO_INPUT : ISO_OK);
    CU_ASSERT(!reads || model_text_has("weight 'w': "));
    CU_ASSERT(!equal || ranks() == 1 ||
              model_text_has("workers read different bytes in its slab 0 to 3 "
                             "of axis 1"));
}

static void test_damage_of_one_rank(void)
{
    for (int odd = 0; odd < ranks(); odd++) {
        check_odd_rank(odd, false);
        check_odd_rank(odd, true);
    }
}

/* Random slabs of a sample, each read by one rank. */
static void want_random(job_t *job, const model_sample_t *sample,
                        uint64_t *state)
{
    int n = (int)test_random_int(state, 1, 6);

    for (int i = 0; i < n; i++) {
        int axis = (int)test_random_int(state, 0, sample->rank - 1);
        int64_t first = test_random_int(state, 0, sample->dims[axis] - 1);
        int64_t end = test_random_int(state, first + 1, sample->dims[axis]);
        if (test_random_int(state, 0, ranks() - 1) == rank_here()) {
            want(job, sample->name, axis, first, end);
        }
    }
}

/* Whatever ranks read: a good file is good, and any byte of a weight that is
 * not is found. */
static void test_random_slabs(void)
{
    const uint64_t seed = 20240607; /* the same on every rank */
    uint64_t state = seed;
    unsigned failures = CU_get_number_of_failures();

    for (int round = 0; round < 60; round++) {
        const model_sample_t *sample = round % 2 == 0 ? w : big;
        job_t job = {0};
        want_random(&job, sample, &state);
        size_t at = (size_t)test_random_int(&state, 0, 431);
        run(&job, "m.h5");
        CU_ASSERT_EQUAL(job.status, ISO_OK);
        damage(sample, at, at, 1);
        expect_damaged(&job, "bad.h5", sample->name);
    }
    if (CU_get_number_of_failures() > failures) {
        (void)fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    }
}

/* -- too little memory -- */

/* At rank 0, at any place: all ranks fail alike. */
static void test_no_memory(void)
{
    iso_weight_part_t part = {"n", "w", {1, {1, 2}}};
    iso_local_t local = {.n_weights = 1, .weights = &part};
    iso_load_t *load = NULL;
    iso_status_t status = ISO_NOMEM;
    int n = 0;

    iso_model_t *model = model_open_sample("m.h5");
    const iso_load_spec_t spec = {.model = model, .locals = {&local}};
    CU_ASSERT_EQUAL(iso_load_parts(&spec, &load), ISO_OK);
    while (status != ISO_OK && n < 100) {
        n++;
        iso_mem_fail_at(rank_here() == 0 ? n : 0);
        status = iso_load_verify(load, MPI_COMM_WORLD);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        CU_ASSERT_EQUAL(iso_par_agree(status, MPI_COMM_WORLD), status);
    }
    CU_ASSERT(n > 4 && status == ISO_OK);
    iso_load_free(&load);
    iso_model_close(&model);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"writing the model", test_writing_the_model},
        {"every axis", test_every_axis},
        {"whole models", test_whole_models},
        {"nothing to read", test_nothing_to_read},
        {"flipped bits", test_flipped_bits},
        {"exchanged slabs", test_exchanged_slabs},
        {"several coverings", test_several_coverings},
        {"equal slabs", test_equal_slabs},
        {"what nobody reads", test_what_nobody_reads},
        {"overlapping slabs", test_overlapping_slabs},
        {"damage of one rank", test_damage_of_one_rank},
        {"random slabs", test_random_slabs},
        {"no memory", test_no_memory},
        {"nothing is left", model_test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"slab sums", begin, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main_mpi(argc, argv, suites);
}
