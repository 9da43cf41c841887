/* Operators in their forms: attributes and inputs, axes, pads, shapes. */
#include "isotome/error.h"

#include "base/mem.h"
#include "graph/print.h"
#include "iso_test.h"
#include "iso_test_folder.h"
#include "onnx_text.h"

#include <stdio.h>
#include <string.h>

/* A model, and what a line of its graph (or the error) must contain. */
typedef struct form {
    int opset;
    const char *model;
    const char *expected;
} form_t;

static bool contains(const char *text, const char *part, const char *model)
{
    if (text != NULL && strstr(text, part) != NULL) {
        return true;
    }
    (void)printf("\n%s\ngives\n%s\nexpected\n%s\n", model,
                 text == NULL ? "" : text, part);
    return false;
}

/* Import each and look for what is expected in the printed graph. */
static void check_forms(const form_t *forms, size_t count,
                        const iso_onnx_options_t *options)
{
    for (size_t i = 0; i < count; i++) {
        int64_t blocks = iso_mem_count().blocks;
        iso_text_t text = {0};
        iso_onnx_t *onnx = NULL;
        iso_status_t status =
            onnx_text_import(forms[i].opset, forms[i].model, options, &onnx);

        if (status == ISO_OK) {
            iso_graph_print_text(iso_onnx_graph(onnx), &text);
        }
        CU_ASSERT(contains(status == ISO_OK ? text.data : iso_error_text(),
                           forms[i].expected, forms[i].model));
        iso_text_free(&text);
        iso_onnx_destroy(&onnx);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
}

#define CHECK_FORMS(forms, options) \
    check_forms(forms, sizeof(forms) / sizeof(forms)[0], options)

/* -- elementwise -- */

static const form_t elementwise_forms[] = {
    {13, "in x f32 N,4\ny = Relu(x)\nout y", "y = relu(x) f32 [N,4]"},
    {13, "in x f32 4\ny = LeakyRelu(x)\nout y", "leaky_relu(x) alpha=0.01"},
    {13, "in x f32 4\ny = Elu(x) alpha=2.0\nout y", "elu(x) alpha=2"},
    {13, "in x f32 4\ny = Celu(x) alpha=2.0\nout y", "y.elu = elu(y.scaled)"},
    {13, "in x f32 4\ny = ThresholdedRelu(x) alpha=2.0\nout y",
     "y = where(y.above, x, y.zero)"},
    {6, "in x f32 4\ny = Clip(x) min=0.0 max=6.0\nout y",
     "clip(x) max=6 min=0"},
    {6, "in x f32 4\ny = Clip(x) max=6.0\nout y", "clip(x) max=6 min=-inf"},
    {6, "in x f16 4\ny = Clip(x) max=6.0\nout y",
     "'x' is f16, expected one of: f32, f64"},
    {11, "in x f32 4\ninit m f32 : 6\ny = Clip(x, _, m)\nout y",
     "clip(x) max=6 min=-inf"},
    {13, "in x f32 4\nin m f32 \ny = Clip(x, m)\nout y",
     "y.least = max(x, m) f32 [4]"},
    {13, "in x i64 4\ninit m i64 : 6\ny = Clip(x, _, m)\nout y",
     "y.most = min(x, m) i64 [4]"},
    {9, "in x f32 4\ny = Cast(x) to=7\nout y", "cast(x) to=i64 i64 [4]"},
    {9, "in x f32 4\ny = Cast(x) to=1\nz = Relu(y)\nout z", "z = relu(x)"},
    {9, "in x f32 4\ny = Cast(x) to=8\nout y",
     "a cast to element type 8 is not supported"},
    {8, "in a f32 4\nin b f32 4\nin c f32 4\ny = Sum(a, b, c)\nout y",
     "y = add(y.part, c)"},
    {8, "in a f32 4\nin b f32 4\ny = Mean(a, b)\nout y",
     "y = div(y.part, y.count)"},
    {8, "in a f32 4\ny = Max(a)\nz = Relu(y)\nout z", "z = relu(a)"},
    {13, "in a f32 4\nin b i64 4\ny = Pow(a, b)\nout y",
     "y = pow(a, y.exponent) f32 [4]"},
    {13, "in a i32 4\nin b i32 4\ny = Pow(a, b)\nout y",
     "y.typed = cast(y.power) to=i32"},
    {13, "in a i64 4\nin b i64 4\ny = Mod(a, b)\nout y", "mod(a, b) fmod=0"},
    {6, "in x f32 2,3,4\nin s f32 3\ny = PRelu(x, s)\nout y",
     "y.aligned = reshape(s) shape=[3,1]"},
    {6,
     "in x f32 2,3,4\nin b f32 3\ny = Add(x, b) broadcast=1 axis=1\n"
     "out y",
     "y = add(x, y.aligned) f32 [2,3,4]"},
    {6, "in x f32 2,3,4\nin b f32 3,4\ny = Add(x, b) broadcast=1\nout y",
     "y = add(x, b) f32 [2,3,4]"},
    {6,
     "in x f32 2,3,4\nin b f32 3\ny = Add(x, b) broadcast=1 axis=3\n"
     "out y",
     "axis 3, expected 0 to 2"},
    {13, "in x f32 2,3\ny = Dropout(x)\nz = Relu(y)\nout z", "z = relu(x)"},
    {13, "in x f32 2,3\ny, m = Dropout(x)\nout y\nout m",
     "its output 1 'm' is used, and is not supported"},
    {13,
     "in x f32 2\ninit r f32 : .5\ninit t bool : 1\n"
     "y = Dropout(x, r, t)\nout y",
     "training mode is not supported"},
};

static void test_elementwise(void)
{
    CHECK_FORMS(elementwise_forms, NULL);
}

/* -- products and windows -- */

static const form_t contract_forms[] = {
    {13, "in x f32 N,4\ninit w f32 4,5 : *.1\ny = MatMul(x, w)\nout y",
     "y = matmul(x, w) f32 [N,5]"},
    {13,
     "in x f32 4,N\ninit w f32 5,4 : *.1\ninit c f32 5 : *1\n"
     "y = Gemm(x, w, c) transA=1 transB=1 alpha=0.5 beta=2.0\nout y",
     "gemm(x, w, c) alpha=0.5 beta=2 trans_a=1 trans_b=1 f32 [N,5]"},
    {13, "in x f32 2,4\ninit w f32 4,5 : *.1\ny = Gemm(x, w, _)\nout y",
     "y = gemm(x, w) "},
    {11, "in x f32 N,2,8\ninit w f32 4,2,3 : *.1\ny = Conv(x, w)\nout y",
     "conv(x, w) dilations=1 groups=1 pads=[0,0] strides=1 f32 [N,4,6]"},
    {11,
     "in x f32 1,2,7,8\ninit w f32 4,1,3,3 : *.1\n"
     "y = Conv(x, w) group=2 strides=2,2 auto_pad='SAME_UPPER'\nout y",
     "groups=2 pads=[1,0,1,1] strides=[2,2] f32 [1,4,4,4]"},
    {11,
     "in x f32 1,2,7,8\ninit w f32 4,1,3,3 : *.1\n"
     "y = Conv(x, w) group=2 strides=2,2 auto_pad='SAME_LOWER'\nout y",
     "pads=[1,1,1,0] strides=[2,2] f32 [1,4,4,4]"},
    {11,
     "in x f32 1,1,8\ninit w f32 1,1,3 : *.1\n"
     "y = Conv(x, w) auto_pad='VALID'\nout y",
     "f32 [1,1,6]"},
    {11,
     "in x f32 1,1,L\ninit w f32 1,1,3 : *.1\n"
     "y = Conv(x, w) auto_pad='SAME_UPPER'\nout y",
     "auto_pad needs spatial dims that are numbers, dim 2 of its input is "
     "L"},
    {11,
     "in x f32 1,1,8\ninit w f32 1,1,3 : *.1\n"
     "y = Conv(x, w) auto_pad='SAME'\nout y",
     "auto_pad is 'SAME', expected NOTSET"},
    {11,
     "in x f32 1,1,8\ninit w f32 1,1,3 : *.1\n"
     "y = Conv(x, w) kernel_shape=3,3\nout y",
     "kernel_shape has 2 values, expected 1"},
    {11,
     "in x f32 1,1,8\ninit w f32 1,1,3 : *.1\n"
     "y = Conv(x, w) strides=0,\nout y",
     "stride 0"},
    {11,
     "in x f32 1,1,8,8,8\ninit w f32 2,1,3,3,3 : *.1\n"
     "y = Conv(x, w)\nout y",
     "f32 [1,2,6,6,6]"},
    {11,
     "in x f32 1,1,3,3\ninit w f32 1,2,3,3 : *.1\n"
     "y = ConvTranspose(x, w) strides=3,2 output_shape=10,8\nout y",
     "output_pads=[1,1] pads=[0,0,0,0] strides=[3,2] f32 [1,2,10,8]"},
    {11,
     "in x f32 1,1,3,3\ninit w f32 1,2,3,3 : *.1\n"
     "y = ConvTranspose(x, w) strides=2,2 auto_pad='SAME_UPPER'\n"
     "out y",
     "pads=[0,0,1,1] strides=[2,2] f32 [1,2,6,6]"},
    {11,
     "in x f32 N,3,9\ny = MaxPool(x) kernel_shape=2, strides=2,"
     " ceil_mode=1\nout y",
     "max_pool(x) ceil_mode=1 dilations=1 kernel=2 pads=[0,0] strides=2 "
     "f32 [N,3,5]"},
    {11, "in x f32 N,3,8\ny, i = MaxPool(x) kernel_shape=2,\nout y\nout i",
     "its output 1 'i' is used"},
    {11,
     "in x f32 N,3,8,8\ny = AveragePool(x) kernel_shape=3,3 "
     "pads=1,1,1,1 count_include_pad=1\nout y",
     "avg_pool(x) ceil_mode=0 count_pad=1"},
    {11, "in x f32 N,3,8,8\ny = AveragePool(x)\nout y",
     "kernel_shape has 0 values, expected 2"},
    {11, "in x f32 N,3,8,8\ny = GlobalAveragePool(x)\nout y",
     "reduce_mean(x) axes=[2,3] keep_dims=1 f32 [N,3,1,1]"},
    {11, "in x f32 N,3,8\ny = GlobalMaxPool(x)\nout y",
     "reduce_max(x) axes=2 keep_dims=1 f32 [N,3,1]"},
};

static void test_contract(void)
{
    CHECK_FORMS(contract_forms, NULL);
}

/* -- shapes -- */

static const form_t shapes_forms[] = {
    {13, "in x f32 N,4,8\ninit s i64 2 : 0 -1\ny = Reshape(x, s)\nout y",
     "reshape(x) shape=[N,32] f32 [N,32]"},
    {13, "in x f32 N,4,8\ninit s i64 2 : -1 8\ny = Reshape(x, s)\nout y",
     "f32 [4*N,8]"},
    {13, "in x f32 4,8\ninit s i64 2 : -1 -1\ny = Reshape(x, s)\nout y",
     "dim 1 of its shape is -1"},
    {13, "in x f32 4,8\ninit s i64 2 : -1 5\ny = Reshape(x, s)\nout y",
     "[4,8] does not fit [1,5] with a whole dim 0"},
    {13, "in x f32 4,8\ninit s i64 2 : 3 5\ny = Reshape(x, s)\nout y",
     "has 32 elements [4,8]"},
    {14,
     "in x f32 0,4\ninit s i64 2 : 0 7\ny = Reshape(x, s) allowzero=1\n"
     "out y",
     "f32 [0,7]"},
    {13, "in x f32 4\nin s i64 1\ny = Reshape(x, s)\nout y",
     "its shape 's' depends on the model's inputs"},
    {13,
     "in x f32 N,4,8\na = Shape(x)\ninit i i64 : 0\n"
     "b = Gather(a, i)\ninit z i64 1 : 0\nc = Unsqueeze(b, z)\n"
     "init m i64 1 : -1\nd = Concat(c, m) axis=0\n"
     "y = Reshape(x, d)\nout y",
     "reshape(x) shape=[N,32] f32 [N,32]"},
    {15,
     "in x f32 N,4,8\na = Shape(x) start=-2\ny = ConstantOfShape(a)\n"
     "z = Add(x, y)\nout z",
     "z = add(x, y) f32 [N,4,8]"},
    {13,
     "in x f32 N,4\na = Shape(x)\ny = ConstantOfShape(a) "
     "value=:f32 1 : 7\nout y",
     "y = expand(y.element) shape=[N,4] f32 [N,4]"},
    {13, "in x f32 N,4\na = Size(x)\ny = Add(a, a)\nout y",
     "dims() values=8*N"},
    {13, "in x f32 N,4\ny = Shape(x)\nout y", "dims() values=[N,4] i64 [2]"},
    {13, "in x f32 2,4\ny = Shape(x)\nout y", "constant i64 [2]"},
    {13,
     "in x f32 N,4\na = Shape(x)\ninit z i64 : 0\nb = Gather(a, z)\n"
     "init o i64 : 1\ny = Range(z, b, o)\nout y",
     "iota() n=N start=0 step=1 i64 [N]"},
    {13,
     "init a f32 : 1\ninit b f32 : 2\ninit c f32 : .25\nin x f32 4\n"
     "r = Range(a, b, c)\ny = Add(x, r)\nout y",
     "r = param f32 [4]"},
    {13, "in x f32 2,3,4,5\ny = Flatten(x) axis=-2\nout y", "f32 [6,20]"},
    {13, "in x f32 2,3\ny = Flatten(x) axis=0\nout y", "f32 [1,6]"},
    {11, "in x f32 1,3,1\ny = Squeeze(x)\nout y", "f32 [3]"},
    {11, "in x f32 1,3,1\ny = Squeeze(x) axes=-1,\nout y", "f32 [1,3]"},
    {13, "in x f32 1,3,1\ninit a i64 1 : 0\ny = Squeeze(x, a)\nout y",
     "f32 [3,1]"},
    {11, "in x f32 2,3\ny = Squeeze(x) axes=0,\nout y",
     "dim 0 is 2, expected 1"},
    {11, "in x f32 3\ny = Unsqueeze(x) axes=0,-1\nout y", "f32 [1,3,1]"},
    {13, "in x f32 3\ninit a i64 2 : 0 0\ny = Unsqueeze(x, a)\nout y",
     "axis 0 is given twice"},
    {13, "in x f32 1,3\ninit s i64 3 : 2 4 1\ny = Expand(x, s)\nout y",
     "f32 [2,4,3]"},
    {13,
     "in x f32 1,3\ninit s i64 2 : 1 1\ny = Expand(x, s)\n"
     "z = Relu(y)\nout z",
     "z = relu(x)"},
    {13,
     "in x f32 2,3\ny = Constant() value_ints=1,2\nz = Reshape(x, y)\n"
     "out z",
     "has 6 elements"},
    {13,
     "in x f32 2,3\nc = Constant() value_float=2.5\ny = Add(x, c)\n"
     "out y",
     "c = constant f32 []"},
    {13,
     "in x f32 2,2\nc = Constant() value=:f32 2 : 1 2\n"
     "y = Add(x, c)\nout y",
     "c = param f32 [2]"},
};

static void test_shapes(void)
{
    CHECK_FORMS(shapes_forms, NULL);
}

/* -- moves -- */

static const form_t moves_forms[] = {
    {13, "in x f32 N,4\na, b = Split(x) axis=-1\ny = Add(a, b)\nout y",
     "b = slice(x) axes=1 ends=4 starts=2 f32 [N,2]"},
    {11, "in x f32 5,4\na, b = Split(x) split=2,3\nout a\nout b",
     "b = slice(x) axes=0 ends=5 starts=2 f32 [3,4]"},
    {13, "in x f32 5,4\ninit s i64 2 : 2 2\na, b = Split(x, s)\nout a",
     "split adds up to 4, expected 5"},
    {13, "in x f32 5,4\na, b = Split(x)\nout a", "5 elements in 2 equal"},
    {9, "in x f32 5,4\ny = Slice(x) starts=1, ends=3,\nout y",
     "slice(x) ends=3 starts=1 f32 [2,4]"},
    {10,
     "in x f32 5,4\ninit s i64 1 : 3\ninit e i64 1 : -9\n"
     "init a i64 1 : -1\ninit t i64 1 : -1\n"
     "y = Slice(x, s, e, a, t)\nout y",
     "slice(x) axes=-1 ends=-9 starts=3 steps=-1 f32 [5,4]"},
    {13,
     "in x f32 N,4\nin p f32 9,4\nh = Shape(x)\ninit i i64 1 : 0\n"
     "n = Gather(h, i)\ny = Slice(p, i, n)\nout y",
     "N"},
    {13, "in x f32 5,4\ninit i i64 : -1\ny = Gather(x, i) axis=1\nout y",
     "gather(x, i) axis=1 f32 [5]"},
    {13, "in x f32 2,3\ny = Transpose(x)\nout y", "f32 [3,2]"},
    {9, "in x f32 2,3\ny = Pad(x) pads=0,1,0,1 value=2.0\nout y",
     "pad(x) mode=constant pads=[0,1,0,1] value=2 f32 [2,5]"},
    {13,
     "in x f32 2,3\ninit p i64 4 : 0 1 0 1\ny = Pad(x, p) "
     "mode='reflect'\nout y",
     "mode=reflect"},
    {13,
     "in x f32 2,3\ninit p i64 4 : *0\ny = Pad(x, p)\nz = Relu(y)\n"
     "out z",
     "z = relu(x)"},
    {13,
     "in x f32 2,3\ninit p i64 2 : *0\ny = Pad(x, p)\nz = Relu(y)\n"
     "out z",
     "'pads' has 2 values, expected 4"},
    {13,
     "in x f32 2,3\ninit p i64 6 : *0\ny = Pad(x, p)\nz = Relu(y)\n"
     "out z",
     "'pads' has 6 values, expected 4"},
    {13,
     "in x f32 2,3\nin v f32 \ninit p i64 4 : 0 1 0 1\n"
     "y = Pad(x, p, v)\nout y",
     "its value 'v' depends on the model's inputs"},
    {13, "in x f32 2,3\ninit r i64 2 : 2 1\ny = Tile(x, r)\nout y",
     "f32 [4,3]"},
    {13,
     "in x f32 1,8,2,2\ny = DepthToSpace(x) blocksize=2 mode='CRD'\n"
     "out y",
     "block=2 mode=crd f32 [1,2,4,4]"},
    {13, "in x f32 1,2,4,4\ny = SpaceToDepth(x) blocksize=2\nout y",
     "f32 [1,8,2,2]"},
    {13,
     "in x f32 N,1,4,4\ninit s f32 4 : 1 1 2 2\n"
     "y = Resize(x, _, s)\nout y",
     "mode=nearest nearest=round_prefer_floor scales=[1,1,2,2] "
     "shape=[N,1,8,8] f32 [N,1,8,8]"},
    {13,
     "in x f32 N,1,4,4\ninit s i64 4 : 1 1 2 3\n"
     "y = Resize(x, _, _, s) mode='linear'\nout y",
     "shape=[1,1,2,3]"},
    {9,
     "in x f32 N,1,4,4\ninit s f32 4 : 1 1 2 2\n"
     "y = Upsample(x, s) mode='linear'\nout y",
     "coordinates=asymmetric mode=linear"},
    {7, "in x f32 1,4\ny = Upsample(x) scales=1.0,2.0\nout y", "f32 [1,8]"},
    {13,
     "in x f32 1,4\ninit s f32 2 : 1 2\ny = Resize(x, _, s) "
     "mode='cubic'\nout y",
     "mode 'cubic', expected nearest or linear"},
};

static void test_moves(void)
{
    CHECK_FORMS(moves_forms, NULL);
}

/* 2^32 is no axis, wherever it stands: of data, of dims that are numbers, of
 * dims that are not. */
static const form_t wide_axis_forms[] = {
    {13, "in x f32 2,3\ny = Concat(x, x) axis=4294967296\nout y",
     "axis is 4294967296, expected an axis of an operand of rank 2"},
    {13,
     "in x f32 N,3\nh = Shape(x)\nc = Concat(h, h) axis=4294967296\n"
     "y = Add(c, c)\nout y",
     "axis 4294967296 of 1 dims"},
    {13,
     "in x f32 N,3\nh = Shape(x)\ninit i i64 1 : 0\n"
     "c = Gather(h, i) axis=4294967296\ny = Add(c, c)\nout y",
     "axis 4294967296 of 1 dims"},
    {13,
     "in x f32 N,3\nh = Shape(x)\ninit i i64 1 : 0\n"
     "c = Gather(h, i) axis=-4294967296\ny = Add(c, c)\nout y",
     "axis -4294967296 of 1 dims"},
    {13,
     "in x f32 N,3\nh = Shape(x)\ninit i i64 1 : 0\ninit e i64 1 : 1\n"
     "init a i64 1 : 4294967296\nc = Slice(h, i, e, a)\ny = Add(c, c)\n"
     "out y",
     "axis 4294967296 of 1 dims"},
    {9,
     "in x f32 N,3\nh = Shape(x)\nc = Slice(h) starts=0, ends=1, "
     "axes=-4294967297,\ny = Add(c, c)\nout y",
     "axis -4294967297 of 1 dims"},
    {13,
     "in x f32 2,3\ninit i i64 1 : 0\ny = Gather(x, i) axis=4294967296\n"
     "out y",
     "4294967296"},
    {13, "in x f32 4,3\na, b = Split(x) axis=4294967296\nout a",
     "axis 4294967296 of 2 dims"},
    {13, "in x f32 4,3\ny = Flatten(x) axis=4294967296\nout y",
     "axis 4294967296 of 2 dims"},
    {13, "in x f32 4,3\ny = ArgMax(x) axis=4294967296\nout y", "4294967296"},
    {13, "in x f32 4,3\ny = Softmax(x) axis=4294967296\nout y", "4294967296"},
};

static void test_wide_axes(void)
{
    CHECK_FORMS(wide_axis_forms, NULL);
}

/* What cannot be a range. */
static const form_t range_forms[] = {
    {13,
     "init a i64 : 0\ninit b i64 : 3\ninit c i64 : 0\n"
     "y = Range(a, b, c)\nout y",
     "a range of i64 from 0 to 3 in steps of 0"},
    {13,
     "init a i64 : -9223372036854775808\ninit b i64 : 9223372036854775807\n"
     "init c i64 : 1\ny = Range(a, b, c)\nout y",
     "a range of i64 from -9223372036854775808 to 9223372036854775807"},
    {13,
     "init a f32 : 0\ninit b f32 : 3\ninit c f32 : 0\n"
     "y = Range(a, b, c)\nout y",
     "a range from 0 to 3 in steps of 0"},
    {13,
     "init a bool : 0\ninit b bool : 1\ninit c bool : 1\n"
     "y = Range(a, b, c)\nout y",
     "a range of bool"},
};

static void test_ranges(void)
{
    CHECK_FORMS(range_forms, NULL);
}

/* -- reductions and norms -- */

static const form_t reductions_forms[] = {
    {11, "in x f32 2,3,4\ny = ReduceSum(x) axes=-1,0 keepdims=0\nout y",
     "reduce_sum(x) axes=[2,0] keep_dims=0 f32 [3]"},
    {13, "in x f32 2,3,4\ninit a i64 1 : 1\ny = ReduceSum(x, a)\nout y",
     "reduce_sum(x) axes=1 keep_dims=1 f32 [2,1,4]"},
    {13, "in x f32 2,3\ny = ReduceSum(x)\nout y", "f32 [1,1]"},
    {13,
     "in x f32 2,3\ny = ReduceSum(x) noop_with_empty_axes=1\n"
     "z = Relu(y)\nout z",
     "z = relu(x)"},
    {13, "in x f32 2,3\ny = ReduceMean(x) axes=5,\nout y", "axis 5 of 2 dims"},
    {13, "in x i64 N,3\ny = ReduceProd(x) axes=1,\nout y", "i64 [N,1]"},
    {13, "in x i32 N,3\ny = ReduceMax(x) axes=1,\nout y", "i32 [N,1]"},
    {13, "in x i32 N,3\ny = ArgMin(x) axis=1 keepdims=0\nout y", "i64 [N]"},
    {13, "in x i64 N,3\ny = ReduceMean(x) axes=1,\nout y",
     "operand 0 'x' is i64, expected one of: f32, f64"},
    {13, "in x u8 N,1,4\ny = MaxPool(x) kernel_shape=2,\nout y", "u8 [N,1,3]"},
    {13, "in x bool N,3\nin z bool 3\ny = Equal(x, z)\nout y", "bool [N,3]"},
    {13, "in x f32 2,3\ny = ReduceL2(x) axes=1,\nout y", "y = sqrt(y.sum)"},
    {13, "in x f32 2,3\ny = ReduceLogSumExp(x) axes=1,\nout y",
     "y = add(y.log, y.most)"},
    {13, "in x f32 2,3\ny = ArgMax(x) axis=-1 keepdims=0\nout y", "i64 [2]"},
    {13,
     "in x f32 N,3,4\nh = Shape(x)\np = ReduceProd(h) keepdims=0\n"
     "y = Add(p, p)\nout y",
     "values=24*N"},
    {13, "in x f32 2,3,4\ny = Softmax(x)\nout y", "softmax(x) axis=2"},
    {9, "in x f32 2,3,4\ny = Softmax(x)\nout y",
     "y.rows = softmax(y.flat) axis=1 f32 [2,12]"},
    {9, "in x f32 2,3,4\ny = LogSoftmax(x) axis=-1\nout y",
     "y = log_softmax(x) axis=2"},
    {13,
     "in x f32 N,2,4\ninit a f32 2 : *1\n"
     "y = BatchNormalization(x, a, a, a, a) momentum=0.9\nout y",
     "y = batch_norm(x, a, a, a, a) epsilon="},
    {14,
     "in x f32 N,2,4\ninit a f32 2 : *1\ny = BatchNormalization"
     "(x, a, a, a, a) training_mode=1\nout y",
     "training_mode 1"},
    {13,
     "in x f32 N,2,4\ninit a f32 2 : *1\ny, m = BatchNormalization"
     "(x, a, a, a, a)\nout y\nout m",
     "its output 1 'm' is used"},
    {17,
     "in x f32 N,2,4\ninit a f32 4 : *1\n"
     "y = LayerNormalization(x, a)\nout y",
     "y = layer_norm(x, a) axis=-1 epsilon="},
    {13, "in x f32 N,2,4,4\ny = LRN(x) size=3\nout y", "lrn(x) alpha="},
};

static void test_reductions(void)
{
    CHECK_FORMS(reductions_forms, NULL);
}

/* -- whole models -- */

static const form_t refused_forms[] = {
    {5, "in x f32 4\ny = Relu(x)\nout y", "opset 5, expected 6 to 17"},
    {18, "in x f32 4\ny = Relu(x)\nout y", "opset 18, expected 6 to 17"},
    {13, "in x f32 4\na = Loop(x)\nb = Relu(a)\ny = If(b)\nout y",
     "2 operators are not supported in opset 13: Loop 'a', If 'y'"},
    {8, "in x f32 4\ny = Erf(x)\nout y",
     "1 operator is not supported in opset 8: Erf 'y'"},
    {13, "in x f32 4\ny = Relu(z)\nout y",
     "operator 'y' (Relu): input 'z' is made by nothing"},
    {13, "in x f32 4\ny = Relu(y)\nout y", "input 'y' is made by nothing"},
    {13, "in x f32 4\ny = Relu()\nout y", "input 0 is missing"},
    {13, "in x f32 4\ny = Relu(x)\ny = Relu(x)\nout y",
     "value 'y' is made twice"},
    {13, "in x f32 4\nx = Relu(x)\nout x", "value 'x' is made twice"},
    {13, "in x f32 4\ny = Relu(x) alpha=1.0\nout y",
     "attribute 'alpha' is not supported in opset 13"},
    {13, "in x f32 4\ny = Elu(x) alpha=1\nout y",
     "attribute 'alpha' has type 2, expected type 1"},
    {13, "in x f32 4\ny = Relu(x)", "the model has no outputs"},
    {13, "in x f32 4\ny = Relu(x)\nout z",
     "output 'z' of the model is made by nothing"},
    {13, "in x f32 -1,4\ny = Relu(x)\nout y",
     "input 'x': dim 0 is -1, expected at least 0"},
    {13, "in x u16 4\ny = Relu(x)\nout y",
     "input 'x': element type 4 is not supported"},
    {13, "in x f32 1,1,1,1,1,1,1,1,1\ny = Relu(x)\nout y",
     "expected at most 8 dims"},
    {13, "in x f32 4\ninit w f32 3 : 1 2\ny = Add(x, w)\nout y",
     "tensor 'w': 2 elements of data, expected 3 by its dims"},
    {13, "in x f32 4\ninit w f32 -3 : 1 2\ny = Add(x, w)\nout y",
     "tensor 'w': dim 0 is -3, expected at least 0"},
    {13,
     "in x f32 4\ninit w f32 4294967297,4294967297 :\ny = Add(x, w)\n"
     "out y",
     "are too large"},
    {13, "in x f32 4\ninit w u8 2 : 1 256\ny = Cast(w) to=1\nout y",
     "tensor 'w': element 1 is 256, which does not fit in u8"},
    {13, "in x f32 4\ninit w str 1 : 1\ny = Cast(w) to=1\nout y",
     "tensor 'w': element type 8 is not supported"},
    {13,
     "in x f32 4\ninit s i64 2 : 131072 131072\n"
     "y = ConstantOfShape(s)\nout y",
     "a fill of"},
};

static void test_refused(void)
{
    CHECK_FORMS(refused_forms, NULL);
}

static const form_t interface_forms[] = {
    {13, "in x f32 ?,3,batch size\ny = Relu(x)\nout y",
     "y = relu(x) f32 [x_0,3,_batch_size]"},
    {13, "in x f32 P+T,T\ny = Relu(x)\nout y", "f32 [P+T,T]"},
    {13, "in x f32 4\nin w f32 4\ninit w f32 4 : *1\ny = Add(x, w)\nout y",
     "w = param f32 [4]"},
    {13, "in x f32 4\nout x", "output x = %0"},
    {13, "in x f32 4\ninit w f32 4 : *1\ny = Relu(x)\nout y\nout w",
     "output w = %"},
    {13, "in x f32 4\ny = Identity(x)\nout y", "output y = %0"},
    {13, "in x f32 4\nin y.part f32 4\ny = Sum(x, y.part, x)\nout y",
     "y.part_2 = add(x, y.part)"},
};

static void test_interface(void)
{
    CHECK_FORMS(interface_forms, NULL);
}

static const form_t free_batch_forms[] = {
    {13, "in x f32 1,4,8\ninit s i64 2 : 1 32\ny = Reshape(x, s)\nout y",
     "f32 [N,32]"},
    {13, "in x f32 1,4,8\ninit s i64 2 : 1 -1\ny = Reshape(x, s)\nout y",
     "f32 [N,32]"},
    {13,
     "in x f32 1,4,8\ninit s i64 4 : 1 2 2 8\ny = Reshape(x, s)\n"
     "out y",
     "f32 [N,2,2,8]"},
    {13, "in x f32 1,4,8\ninit s i64 2 : -1 8\ny = Reshape(x, s)\nout y",
     "f32 [4*N,8]"},
    {13, "in x f32 1,4,8\ninit s i64 2 : 4 8\ny = Reshape(x, s)\nout y",
     "has 32*N elements [N,4,8]"},
    {13, "in x f32 1,4\nin s f32 1\ny = Add(x, s)\nout y", "s = input f32 [1]"},
    {13, "in x f32 2,4\ny = Relu(x)\nout y", "f32 [2,4]"},
};

static void test_free_batch(void)
{
    static const iso_onnx_options_t options = {.free_batch = true};

    CHECK_FORMS(free_batch_forms, &options);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"elementwise", test_elementwise},
        {"products and windows", test_contract},
        {"shapes", test_shapes},
        {"moves", test_moves},
        {"axes over 2^31", test_wide_axes},
        {"ranges", test_ranges},
        {"reductions and norms", test_reductions},
        {"refused models", test_refused},
        {"inputs and outputs", test_interface},
        {"a free batch", test_free_batch},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"onnx import", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
