/* A plan as JSON; isotome-plan(5). */
#ifndef ISO_PLAN_JSON_H
#define ISO_PLAN_JSON_H

#include "isotome/plan.h"

#include "base/json.h"

/* *json_out is owned: json_decref() it. Errors: ISO_NOMEM. */
iso_status_t iso_plan_to_json(const iso_plan_t *plan, json_t **json_out);

#endif
