/* What options do to a model: image inputs and seeded weights. */
#include "isotome/error.h"

#include "base/digest.h"
#include "graph/print.h"
#include "iso_eval.h"
#include "iso_test_folder.h"
#include "iso_test_memory.h"
#include "onnx_text.h"

#include <math.h>
#include <string.h>

/* -- image inputs -- */

static const char image_model[] = "in x f32 N,3,2,2\ny = Relu(x)\nout y";

static bool prints(const char *model, const iso_onnx_options_t *options,
                   const char *part)
{
    iso_text_t text = {0};
    iso_onnx_t *onnx = NULL;
    bool found;

    if (onnx_text_import(13, model, options, &onnx) == ISO_OK) {
        iso_graph_print_text(iso_onnx_graph(onnx), &text);
    } else {
        iso_text_add(&text, "%s", iso_error_text());
    }
    found = strstr(text.data, part) != NULL;
    if (!found) {
        (void)printf("\n%s\nexpected\n%s\n", text.data, part);
    }
    iso_text_free(&text);
    iso_onnx_destroy(&onnx);
    return found;
}

static void test_image_nodes(void)
{
    const double mean[] = {.485, .456, .406};
    const double none[] = {0.0};
    iso_onnx_options_t options = {
        .scale = 255, .n_mean = 3, .mean = mean, .n_std = 1, .std = mean};

    CU_ASSERT(prints(image_model, &options, "x = input u8 [N,3,2,2]"));
    CU_ASSERT(prints(image_model, &options, "x.float = cast(x) to=f32"));
    CU_ASSERT(prints(image_model, &options, "x.scale = div(x.float, "));
    CU_ASSERT(prints(image_model, &options, "x.mean = sub(x.scale, "));
    CU_ASSERT(prints(image_model, &options, "constant f32 [1,3,1,1]"));
    CU_ASSERT(prints(image_model, &options, "x.std = div(x.mean, "));
    options = (iso_onnx_options_t){.scale = 1};
    CU_ASSERT(prints(image_model, &options, "y = relu(x.float)"));
    options = (iso_onnx_options_t){.scale = 2, .n_mean = 1, .mean = none};
    CU_ASSERT(prints(image_model, &options, "y = relu(x.scale)"));
}

static void test_image_refused(void)
{
    const double mean[] = {1, 2, 0};
    iso_onnx_options_t options = {.n_mean = 2, .mean = mean};

    CU_ASSERT(
        prints(image_model, &options, "mean has 2 values, expected 1 or 3"));
    options = (iso_onnx_options_t){.n_std = 3, .std = mean};
    CU_ASSERT(prints(image_model, &options, "std 2 is 0"));
    options = (iso_onnx_options_t){.scale = (double)NAN};
    CU_ASSERT(prints(image_model, &options, "scale is nan"));
    options = (iso_onnx_options_t){.scale = 255};
    CU_ASSERT(prints("in x i64 1,3,2\ny = Cast(x) to=1\nout y", &options,
                     "need an input of floats, 'x' is i64"));
    CU_ASSERT(prints("in a f32 1,3,2\nin b f32 1,3,2\ny = Add(a, b)\nout y",
                     &options,
                     "the model has 2 inputs, 2 of them with 3 dims"));
    CU_ASSERT(prints("in a f32 1,3,2\nin b f32 2\ny = Add(a, b)\nout y",
                     &options, "y = add(a.scale, b)"));
}

static iso_status_t no_weight(void *arg, const char *name, iso_tensor_t *out)
{
    (void)arg;
    (void)out;
    return iso_fail(ISO_INVAL, "no weight '%s'", name);
}

static iso_status_t give_bytes(void *arg, const char *name, iso_tensor_t *out)
{
    (void)name;
    *out = (iso_tensor_t){
        .dtype = ISO_DTYPE_U8, .rank = 4, .dims = {1, 3, 2, 2}, .data = arg};
    return ISO_OK;
}

static void test_image_values(void)
{
    const double mean[] = {.5, .25, .125};
    const double std[] = {.5, .25, 2};
    uint8_t bytes[] = {0, 255, 51, 102, 0, 255, 51, 102, 0, 255, 51, 102};
    const iso_onnx_options_t options = {
        .scale = 255, .n_mean = 3, .mean = mean, .n_std = 3, .std = std};
    const iso_weight_source_t weights = {no_weight, NULL};
    const iso_weight_source_t inputs = {give_bytes, bytes};
    iso_onnx_t *onnx = NULL;
    iso_eval_t eval = {0};

    CU_ASSERT_EQUAL_FATAL(
        onnx_text_import(13, "in x f32 1,3,2,2\ny = Identity(x)\nout y",
                         &options, &onnx),
        ISO_OK);
    CU_ASSERT_EQUAL_FATAL(
        iso_eval_run(iso_onnx_graph(onnx), &weights, &inputs, &eval), ISO_OK);
    for (int i = 0; i < 12; i++) {
        float expected = (float)bytes[i] / 255.0F;
        const float *found = iso_eval_output(&eval, 0)->data;

        expected = (expected - (float)mean[i / 4]) / (float)std[i / 4];
        CU_ASSERT_EQUAL(found[i], expected);
    }
    iso_eval_free(&eval);
    iso_onnx_destroy(&onnx);
}

/* -- seeded weights -- */

static const char seed_model[] = "in x f32 N,64,8,8\n"
                                 "init w f32 64,64,3,3 : *0\n"
                                 "init s f32 64 : *0\n"
                                 "init f f32 64,1,1 : *0\n"
                                 "init e f32 1 : .5\n"
                                 "init r f32 4 : 1 1 2 2\n"
                                 "init i i64 4 : 0 0 0 0\n"
                                 "a = Conv(x, w)\n"
                                 "b = Mul(a, f)\n"
                                 "c = Add(b, e)\n"
                                 "d = BatchNormalization(c, s, s, s, s)\n"
                                 "g = Resize(d, _, r)\n"
                                 "y = Gather(g, i) axis=1\n"
                                 "out y";

static uint64_t digest_of(const iso_onnx_t *onnx, const char *name)
{
    iso_weight_source_t source = iso_onnx_weights(onnx);
    iso_tensor_t tensor;

    CU_ASSERT_EQUAL_FATAL(source.get(source.arg, name, &tensor), ISO_OK);
    return iso_digest_of(tensor.data, iso_tensor_bytes(&tensor));
}

/* Mean and deviation of a weight. */
static void moments_of(const iso_onnx_t *onnx, const char *name, double *mean,
                       double *deviation)
{
    iso_weight_source_t source = iso_onnx_weights(onnx);
    iso_tensor_t tensor = {0};
    double sum = 0.0;
    double squares = 0.0;

    CU_ASSERT_EQUAL_FATAL(source.get(source.arg, name, &tensor), ISO_OK);
    for (int64_t i = 0; i < iso_tensor_count(&tensor); i++) {
        double value = (double)((const float *)tensor.data)[i];

        sum += value;
        squares += value * value;
    }
    *mean = sum / (double)iso_tensor_count(&tensor);
    *deviation =
        sqrt(squares / (double)iso_tensor_count(&tensor) - *mean * *mean);
}

static void test_seed_scale(void)
{
    const iso_onnx_options_t options = {.seed_weights = true, .seed = 1};
    iso_onnx_t *onnx = NULL;
    double mean;
    double deviation;

    CU_ASSERT_EQUAL_FATAL(onnx_text_import(13, seed_model, &options, &onnx),
                          ISO_OK);
    moments_of(onnx, "w", &mean, &deviation);
    CU_ASSERT_DOUBLE_EQUAL(mean, 0.0, 2e-3);
    CU_ASSERT_DOUBLE_EQUAL(deviation, sqrt(2.0 / 576), 1e-3);
    moments_of(onnx, "f", &mean, &deviation);
    CU_ASSERT_DOUBLE_EQUAL(mean, 1.0, 0.2);
    CU_ASSERT_DOUBLE_EQUAL(deviation, 0.29, 0.1);
    CU_ASSERT(prints(seed_model, &options, "scales=[1,1,2,2]"));
    iso_onnx_destroy(&onnx);
}

/* The bits are part of what users compare between machines: they are kept. */
static void test_seed_bits(void)
{
    iso_onnx_options_t options = {.seed_weights = true, .seed = 1};
    iso_onnx_t *first = NULL;
    iso_onnx_t *second = NULL;

    CU_ASSERT_EQUAL_FATAL(onnx_text_import(13, seed_model, &options, &first),
                          ISO_OK);
    CU_ASSERT_EQUAL(digest_of(first, "w"), UINT64_C(0x604c73df2040a9ae));
    CU_ASSERT_EQUAL(digest_of(first, "f"), UINT64_C(0x706fafdd833db502));
    CU_ASSERT_EQUAL_FATAL(
        onnx_text_import(13,
                         "in x f32 N,64,8,8\ninit w f32 64,64,3,3 : *1\n"
                         "y = Conv(x, w)\nout y",
                         &options, &second),
        ISO_OK);
    CU_ASSERT_EQUAL(digest_of(first, "w"), digest_of(second, "w"));
    iso_onnx_destroy(&second);
    options.seed = 2;
    CU_ASSERT_EQUAL_FATAL(onnx_text_import(13, seed_model, &options, &second),
                          ISO_OK);
    CU_ASSERT_NOT_EQUAL(digest_of(first, "w"), digest_of(second, "w"));
    iso_onnx_destroy(&second);
    iso_onnx_destroy(&first);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"nodes of an image input", test_image_nodes},
        {"image options that do not fit", test_image_refused},
        {"values of an image input", test_image_values},
        {"scale of seeded weights", test_seed_scale},
        {"bits of seeded weights", test_seed_bits},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"onnx options", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
