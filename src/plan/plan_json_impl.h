/* Shared by plan_write.c and plan_read.c. */
#ifndef ISO_PLAN_JSON_IMPL_H
#define ISO_PLAN_JSON_IMPL_H

#include "isotome/plan.h"

#include "base/json.h"

enum { ISO__PLAN_FORMAT_VERSION = 2, ISO__DIGEST_TEXT_BYTES = 17 };

/* A part's figures in bytes, by their names; ends with a NULL key. */
typedef struct iso__plan_member {
    const char *key;
    size_t offset; /* in iso_plan_part_t, of a size_t */
} iso__plan_member_t;

extern const iso__plan_member_t iso__plan_members[];

size_t iso__plan_member_of(const iso_plan_part_t *part,
                           const iso__plan_member_t *member);

/*
 * The cuts of all stages: an array with an entry for each node that not
 * worker 0 alone computes. NULL when out of memory.
 */
json_t *iso__plan_cuts_to_json(const iso_plan_t *plan);

/* Set plan->cuts from the file; the stages are cut. Errors: ISO_INPUT naming
 * the place. */
iso_status_t iso__plan_read_cuts(const iso_json_t *file, iso_plan_t *plan);

/* What the workers of stages exchange, and the same list compared with what
 * the plan's decisions give. */
json_t *iso__plan_exchanges_to_json(const iso_plan_t *plan);
iso_status_t iso__plan_check_exchanges(const iso_json_t *file,
                                       const iso_plan_t *plan);

/* Fail when a member is not the expected one. */
iso_status_t iso__plan_check_int(const iso_json_t *in, const char *key,
                                 int64_t expected);
iso_status_t iso__plan_check_text(const iso_json_t *in, const char *key,
                                  const char *expected);
/* An array of this many elements. */
iso_status_t iso__plan_check_size(const iso_json_t *file, const char *key,
                                  int expected, iso_json_t *array_out);

/* 16 hexadecimal digits; buffer has ISO__DIGEST_TEXT_BYTES bytes. */
const char *iso__digest_text(uint64_t digest, char *buffer);

#endif
