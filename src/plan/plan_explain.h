/*
 * Explain: why a plan computes each op as it does, as text for people.
 *
 * For each op: how it is cut and the predicted time of that; which exchanges
 * bring its value on; and what the chooser (shard/choose.h) thinks of the op
 * by itself, with every option that it rejected and the reason. The two can
 * differ: the plan looks at the whole stage, in which an op finds its operands
 * where the one before it left them.
 */
#ifndef ISO_PLAN_EXPLAIN_H
#define ISO_PLAN_EXPLAIN_H

#include "isotome/plan.h"

typedef struct iso_explain_options {
    const char *node; /* only the node of this name; NULL: all */
    bool all;         /* every number of pieces, not the best of each axis */
} iso_explain_options_t;

/*
 * machine  [in]   that the plan was made for
 * text_out [out]  owned by the caller, iso_free()
 * Errors: ISO_INVAL for a node that no stage has; ISO_NOMEM.
 */
iso_status_t iso_plan_explain(const iso_plan_t *plan,
                              const iso_machine_t *machine,
                              const iso_explain_options_t *options,
                              char **text_out);

#endif
