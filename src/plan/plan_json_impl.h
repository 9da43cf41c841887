/* Shared by plan_write.c and plan_read.c. */
#ifndef ISO_PLAN_JSON_IMPL_H
#define ISO_PLAN_JSON_IMPL_H

#include "isotome/plan.h"

enum { ISO__PLAN_FORMAT_VERSION = 1, ISO__DIGEST_TEXT_BYTES = 17 };

/* A stage's figures in bytes, by their names; ends with a NULL key. */
typedef struct iso__plan_member {
    const char *key;
    size_t offset; /* in iso_plan_stage_t, of a size_t */
} iso__plan_member_t;

extern const iso__plan_member_t iso__plan_members[];

size_t iso__plan_member_of(const iso_plan_stage_t *stage,
                           const iso__plan_member_t *member);

/* 16 hexadecimal digits; buffer has ISO__DIGEST_TEXT_BYTES bytes. */
const char *iso__digest_text(uint64_t digest, char *buffer);

#endif
