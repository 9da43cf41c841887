/* Questions for choose.h about an op that is given as a text. */
#ifndef SHARD_POSED_H
#define SHARD_POSED_H

#include "isotome/machine.h"

#include "plan/shard/choose.h"
#include "shard_asked.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_WORKERS = 8 };

#define SPEC_CONV CONV("8,4,8,8", "16,4,3,3", "")

/* A question about an op: workers w0, w1, ... with these rates, flat link. */
typedef struct posed {
    asked_t asked;
    iso_shard_worker_t workers[MOST_WORKERS];
    iso_shard_question_t question;
    iso_shard_choice_t *choice;
} posed_t;

static inline void pose(posed_t *posed, const char *text, int n_workers,
                        const double *rates)
{
    static const char *const names[MOST_WORKERS] = {"w0", "w1", "w2", "w3",
                                                    "w4", "w5", "w6", "w7"};

    memset(posed, 0, sizeof *posed);
    posed->asked = ask(text, 0, 0);
    for (int i = 0; i < n_workers; i++) {
        posed->workers[i] =
            (iso_shard_worker_t){names[i], rates[i], i, ISO_COST_MEASURED};
    }
    posed->question.op = posed->asked.op;
    posed->question.workers = posed->workers;
    posed->question.n_workers = n_workers;
    posed->question.flat_link = (iso_link_t){1e-6, 1e10, 0.0, 0};
    posed->question.most_shards = 4;
}

#define RATES(...)                                                 \
    (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)), \
        (const double[])                                           \
    {                                                              \
        __VA_ARGS__                                                \
    }

static inline void choose(posed_t *posed)
{
    iso_shard_choice_destroy(&posed->choice);
    CU_ASSERT_EQUAL_FATAL(iso_shard_choose(&posed->question, &posed->choice),
                          ISO_OK);
}

static inline void end_posed(posed_t *posed)
{
    iso_shard_choice_destroy(&posed->choice);
    end(&posed->asked);
}

static inline void check_near(double found, double expected)
{
    const bool near = fabs(found - expected) <= 1e-12 * fabs(expected);

    CU_ASSERT(near);
    if (!near) {
        (void)fprintf(stderr, "%.17g, expected %.17g\n", found, expected);
    }
}

static inline void check_text(const char *found, const char *part)
{
    const bool has = found != NULL && strstr(found, part) != NULL;

    CU_ASSERT(has);
    if (!has) {
        (void)fprintf(stderr, "expected '%s' in: %s\n", part,
                      found == NULL ? "(null)" : found);
    }
}

static inline const iso_shard_candidate_t *chosen_of(const posed_t *posed)
{
    CU_ASSERT_FATAL(posed->choice->chosen >= 0);
    return &posed->choice->candidates[posed->choice->chosen];
}

static inline void check_chosen(const posed_t *posed, iso_shard_axis_t axis,
                                int count)
{
    const iso_shard_candidate_t *chosen = chosen_of(posed);

    CU_ASSERT_EQUAL(chosen->option.axis, axis);
    CU_ASSERT_EQUAL(chosen->option.count, count);
    CU_ASSERT_EQUAL(chosen->seconds, posed->choice->seconds);
    CU_ASSERT_PTR_NULL(chosen->reason);
    CU_ASSERT_PTR_NOT_NULL(posed->choice->reason);
}

static inline void check_whole(const posed_t *posed, double seconds,
                               const char *reason)
{
    CU_ASSERT_EQUAL(posed->choice->chosen, ISO_SHARD_WHOLE);
    check_near(posed->choice->seconds, seconds);
    check_near(posed->choice->whole_seconds, seconds);
    check_text(posed->choice->reason, reason);
}

/* With default figures. */
static inline iso_machine_t *machine_of(int world, int ranks_per_host)
{
    iso_machine_t *machine = NULL;

    CU_ASSERT_EQUAL_FATAL(
        iso_machine_default(world, ranks_per_host, 0, &machine), ISO_OK);
    return machine;
}

#endif
