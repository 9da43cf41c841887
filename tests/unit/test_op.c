#include "isotome/op.h"

#include "graph/op_attrs.h"
#include "iso_test.h"

#include <stdbool.h>
#include <string.h>

static void test_text_and_back(void)
{
    for (int op = 0; op < ISO_OP_COUNT; op++) {
        const iso_op_info_t *info = iso_op_info((iso_op_t)op);

        CU_ASSERT_PTR_NOT_NULL_FATAL(info->text);
        CU_ASSERT_STRING_EQUAL(iso_op_string((iso_op_t)op), info->text);
        CU_ASSERT_EQUAL(iso_op_from_string(info->text), op);
        CU_ASSERT(info->least_inputs >= 0);
        CU_ASSERT(info->most_inputs < 0 ||
                  info->most_inputs >= info->least_inputs);
    }
    CU_ASSERT_STRING_EQUAL(iso_op_string(ISO_OP_CONV), "conv");
    CU_ASSERT_STRING_EQUAL(iso_op_string(ISO_OP_COUNT), "unknown");
    CU_ASSERT_STRING_EQUAL(iso_op_string((iso_op_t)-1), "unknown");
    CU_ASSERT_EQUAL(iso_op_from_string("Conv"), ISO_OP_COUNT);
    CU_ASSERT_EQUAL(iso_op_from_string(""), ISO_OP_COUNT);
}

static void test_texts_differ(void)
{
    int same = 0;

    for (int a = 0; a < ISO_OP_COUNT; a++) {
        for (int b = 0; b < a; b++) {
            same += strcmp(iso_op_string((iso_op_t)a),
                           iso_op_string((iso_op_t)b)) == 0;
        }
    }
    CU_ASSERT_EQUAL(same, 0);
}

static bool takes(iso_op_t op, const char *name)
{
    const char *const *names = iso_op_attr_names(op);

    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* Names of an op that are listed twice. */
static int count_repeated(iso_op_t op)
{
    const char *const *names = iso_op_attr_names(op);
    int repeated = 0;

    for (int i = 0; names[i] != NULL; i++) {
        for (int j = 0; j < i; j++) {
            repeated += strcmp(names[i], names[j]) == 0;
        }
    }
    return repeated;
}

static void test_attribute_names(void)
{
    CU_ASSERT(takes(ISO_OP_CONV, "pads"));
    CU_ASSERT(takes(ISO_OP_CONV, "activation_max"));
    CU_ASSERT_FALSE(takes(ISO_OP_CONV, "output_pads"));
    CU_ASSERT(takes(ISO_OP_CONV_TRANSPOSE, "output_pads"));
    CU_ASSERT(takes(ISO_OP_IOTA, "n"));
    CU_ASSERT_FALSE(takes(ISO_OP_RELU, "alpha"));
    for (int op = ISO_OP_INPUT; op <= ISO_OP_CONSTANT; op++) {
        CU_ASSERT_PTR_NULL(iso_op_attr_names((iso_op_t)op)[0]);
    }
    for (int op = 0; op < ISO_OP_COUNT; op++) {
        CU_ASSERT_EQUAL(count_repeated((iso_op_t)op), 0);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"text and back", test_text_and_back},
        {"texts differ", test_texts_differ},
        {"attribute names", test_attribute_names},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"op", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
