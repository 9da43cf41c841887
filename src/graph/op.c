#include "isotome/op.h"

#include "base/log.h"

#include <string.h>

static const iso_op_info_t ops[] = {
#define X(name, text, least, most, op_class) \
    [ISO_OP_##name] = {text, least, most, ISO_OP_CLASS_##op_class},
    ISO_OP_MAP(X)
#undef X
};

_Static_assert(sizeof ops / sizeof ops[0] == ISO_OP_COUNT,
               "one row for each op");

const iso_op_info_t *iso_op_info(iso_op_t op)
{
    ISO_ASSERT((unsigned)op < ISO_OP_COUNT);
    return &ops[op];
}

const char *iso_op_string(iso_op_t op)
{
    return (unsigned)op < ISO_OP_COUNT ? ops[op].text : "unknown";
}

iso_op_t iso_op_from_string(const char *text)
{
    int op = 0;

    while (op < ISO_OP_COUNT && strcmp(ops[op].text, text) != 0) {
        op++;
    }
    return (iso_op_t)op;
}
