#include "isotome/error.h"

#include "base/mem.h"
#include "graph/infer.h"
#include "graph/pass.h"
#include "graph_text.h"
#include "iso_test.h"

#include <stdio.h>
#include <string.h>

/* A graph and the value of its last node, or a part of the error text. */
typedef struct infer_case {
    const char *text;
    const char *expected;
} infer_case_t;

/* Leaves that cases build on. */
#define X   "x = input f32[N,4,8,8]\n"
#define A   "a = input f32[N,7,5]\n"
#define V   "v = param f32[4]\n"
#define I64 "i = input i64[N,3]\n"
#define B   "p = input bool[N,1]\n"

#define UNARY(op)                       \
    {                                   \
        A "y = " op "(a)", "f32[N,7,5]" \
    }
#define BINARY(op)                                           \
    {                                                        \
        A "b = param f32[5]\ny = " op "(a, b)", "f32[N,7,5]" \
    }
#define COMPARE(op)                                           \
    {                                                         \
        I64 "j = param i64[3]\ny = " op "(i, j)", "bool[N,3]" \
    }
#define LOGIC(op)                                            \
    {                                                        \
        B "q = input bool[5]\ny = " op "(p, q)", "bool[N,5]" \
    }
#define REDUCE(op)                                              \
    {                                                           \
        X "y = " op "(x) axes=i:-1,1 keep_dims=i:0", "f32[N,8]" \
    }

static const infer_case_t values[] = {
    UNARY("abs"),
    UNARY("neg"),
    UNARY("ceil"),
    UNARY("floor"),
    UNARY("round"),
    UNARY("sign"),
    UNARY("sqrt"),
    UNARY("reciprocal"),
    UNARY("exp"),
    UNARY("log"),
    UNARY("sin"),
    UNARY("cos"),
    UNARY("tanh"),
    UNARY("erf"),
    UNARY("sigmoid"),
    UNARY("relu"),
    UNARY("leaky_relu"),
    UNARY("elu"),
    UNARY("selu"),
    UNARY("hard_sigmoid"),
    UNARY("hard_swish"),
    UNARY("softplus"),
    UNARY("softsign"),
    {A "y = clip(a) min=f:0 max=f:6", "f32[N,7,5]"},
    {A "y = cast(a) to=t:bf16", "bf16[N,7,5]"},
    {"h = param f16[2]\ny = cast(h) to=t:f32", "f32[2]"},
    BINARY("add"),
    BINARY("sub"),
    BINARY("mul"),
    BINARY("div"),
    BINARY("pow"),
    BINARY("min"),
    BINARY("max"),
    {I64 "j = param i64[]\ny = mod(i, j)", "i64[N,3]"},
    {A "b = param f32[]\ny = mod(a, b) fmod=i:1", "f32[N,7,5]"},
    {X "s = param f32[4,1,1]\ny = prelu(x, s)", "f32[N,4,8,8]"},
    {"a = input f32[2,1]\nb = input f32[3]\ny = add(a, b)", "f32[2,3]"},
    COMPARE("equal"),
    COMPARE("less"),
    COMPARE("less_equal"),
    COMPARE("greater"),
    COMPARE("greater_equal"),
    LOGIC("and"),
    LOGIC("or"),
    LOGIC("xor"),
    LOGIC("equal"),
    {"h = param bf16[2]\ny = less(h, h)", "bool[2]"},
    {B "y = not(p)", "bool[N,1]"},
    {B I64 "j = param i64[]\ny = where(p, i, j)", "i64[N,3]"},
    /* convolutions */
    {X "w = param f32[6,4,3,3]\ny = conv(x, w) pads=i:1,1,1,1", "f32[N,6,8,8]"},
    {X "w = param f32[6,2,3,3]\nb = param f32[6]\n"
       "y = conv(x, w, b) groups=i:2 strides=i:2,1 dilations=i:1,2",
     "f32[N,6,3,4]"},
    {"x = input f32[1,2,9]\nw = param f32[3,2,9]\ny = conv(x, w)",
     "f32[1,3,1]"},
    {"x = input f64[1,2,3,4,5]\nw = param f64[3,2,1,2,3]\ny = conv(x, w)",
     "f64[1,3,3,3,3]"},
    {"x = input f32[N,4,H,W]\nw = param f32[6,4,3,3]\n"
     "y = conv(x, w) pads=i:1,1,1,1",
     "f32[N,6,H,W]"},
    {"x = input f32[N,4,2*H,9]\nw = param f32[6,4,3,3]\n"
     "y = conv(x, w) pads=i:1,1,1,1 strides=i:2,2",
     "f32[N,6,H,5]"},
    {X "w = param f32[4,3,3,3]\n"
       "y = conv_transpose(x, w) strides=i:2,2 pads=i:1,1,1,1 "
       "output_pads=i:1,0 groups=i:2",
     "f32[N,6,16,15]"},
    {"x = input f32[1,4,H]\nw = param f32[4,3,2]\n"
     "y = conv_transpose(x, w) strides=i:2",
     "f32[1,3,2*H]"},
    /* matrices */
    {A "w = param f32[5,6]\nb = param f32[6]\ny = matmul(a, w, b)",
     "f32[N,7,6]"},
    {"a = input f32[5]\nb = input f32[5]\ny = matmul(a, b)", "f32[]"},
    {A "b = input f32[5]\ny = matmul(a, b)", "f32[N,7]"},
    {"a = input f32[5]\nb = input f32[N,2,5,3]\ny = matmul(a, b)",
     "f32[N,2,3]"},
    {"a = input f32[N,12,T,64]\nb = input f32[N,12,64,P+T]\n"
     "y = matmul(a, b)",
     "f32[N,12,T,P+T]"},
    {"a = input f32[2,1,3,4]\nb = input f32[5,4,6]\ny = matmul(a, b)",
     "f32[2,5,3,6]"},
    {"a = input f32[5,N]\nb = param f32[6,5]\nc = param f32[1,6]\n"
     "y = gemm(a, b, c) trans_a=i:1 trans_b=i:1 alpha=f:0.5 beta=f:2",
     "f32[N,6]"},
    {"a = input f32[N,5]\nb = param f32[5,6]\ny = gemm(a, b) "
     "activation=t:clip activation_min=f:0",
     "f32[N,6]"},
    /* reductions and norms */
    REDUCE("reduce_sum"),
    REDUCE("reduce_mean"),
    REDUCE("reduce_max"),
    REDUCE("reduce_min"),
    REDUCE("reduce_prod"),
    {X "y = reduce_mean(x)", "f32[1,1,1,1]"},
    {X "y = reduce_mean(x) keep_dims=i:0", "f32[]"},
    {X "y = arg_max(x) axis=i:1 keep_dims=i:0", "i64[N,8,8]"},
    {X "y = arg_min(x)", "i64[1,4,8,8]"},
    {I64 "y = reduce_sum(i) axes=i:1", "i64[N,1]"},
    {I64 "y = reduce_prod(i) keep_dims=i:0", "i64[]"},
    {"k = input i32[N,3]\ny = reduce_max(k) axes=i:1", "i32[N,1]"},
    {"k = input u8[N,3]\ny = reduce_min(k) axes=i:1", "u8[N,1]"},
    {"k = input i8[N,3]\ny = arg_max(k) axis=i:1", "i64[N,1]"},
    {A "y = softmax(a)", "f32[N,7,5]"},
    {A "y = log_softmax(a) axis=i:1", "f32[N,7,5]"},
    {X V "y = batch_norm(x, v, v, v, v) epsilon=f:1e-3", "f32[N,4,8,8]"},
    {X V "y = instance_norm(x, v, v)", "f32[N,4,8,8]"},
    {A "s = param f32[7,5]\ny = layer_norm(a, s) axis=i:1", "f32[N,7,5]"},
    {X "y = lrn(x) size=i:5", "f32[N,4,8,8]"},
    /* pools */
    {X "y = max_pool(x) kernel=i:3,3 strides=i:2,2 pads=i:1,1,1,1",
     "f32[N,4,4,4]"},
    {"x = input u8[N,1,4]\ny = max_pool(x) kernel=i:2", "u8[N,1,3]"},
    {X "y = avg_pool(x) kernel=i:3,3 strides=i:2,2 ceil_mode=i:1",
     "f32[N,4,4,4]"},
    {"x = input f32[1,1,H]\ny = max_pool(x) kernel=i:3 ceil_mode=i:1",
     "f32[1,1,H-2]"},
    /* moves */
    {X "y = reshape(x) shape=d:N,-1", "f32[N,256]"},
    {X "y = reshape(x) shape=d:-1,64", "f32[4*N,64]"},
    {"x = input f32[N,T,768]\ny = reshape(x) shape=d:N,T,12,64",
     "f32[N,T,12,64]"},
    {"x = input u8[1]\ny = reshape(x) shape=d:", "u8[]"},
    {"x = input f32[0,3]\ny = reshape(x) shape=d:3,-1", "f32[3,0]"},
    {A "y = transpose(a)", "f32[5,7,N]"},
    {A "y = transpose(a) perm=i:0,2,1", "f32[N,5,7]"},
    {"x = param bool[]\ny = transpose(x)", "bool[]"},
    {"a = input f32[N,P,4]\nb = input f32[N,T,4]\n"
     "y = concat(a, b) axis=i:1",
     "f32[N,P+T,4]"},
    {A "y = concat(a) axis=i:-1", "f32[N,7,5]"},
    {X "y = slice(x) starts=d:-3,7 ends=d:100,0 axes=i:2,-1 steps=i:2,-3",
     "f32[N,4,2,3]"},
    {X "y = slice(x) starts=d:0 ends=d:1", "f32[1,4,8,8]"},
    {X "y = slice(x) starts=d:-1 ends=d:9223372036854775807", "f32[1,4,8,8]"},
    {"p = input f32[P]\nt = input f32[T]\nx = param f32[1024,64]\n"
     "y = slice(x) starts=d:P ends=d:P+T axes=i:0",
     "f32[T,64]"},
    {"x = input f32[P+T,4]\ny = slice(x) starts=d:P ends=d:2147483647",
     "f32[T,4]"},
    {"x = input f32[2*N,4]\ny = slice(x) starts=d:0 ends=d:N", "f32[N,4]"},
    {"x = input f32[N,4]\ny = slice(x) starts=d:1 ends=d:-1", "f32[N-2,4]"},
    {X "y = pad(x) pads=i:0,0,1,-2,0,0,3,0 value=f:1", "f32[N,4,12,6]"},
    {X "y = pad(x) pads=i:0,0,7,0,0,0,0,0 mode=t:reflect", "f32[N,4,15,8]"},
    {"x = param f32[100,8]\n" I64 "y = gather(x, i)", "f32[N,3,8]"},
    {A "i = constant i64[] 2\ny = gather(a, i) axis=i:-2", "f32[N,5]"},
    {A "i = input i32[N,2,5]\ny = gather_elements(a, i) axis=i:1",
     "f32[N,2,5]"},
    {"x = param f32[3,1]\n" A "y = expand(x) shape=d:N,1,4", "f32[N,3,4]"},
    {A "y = tile(a) repeats=i:2,1,0", "f32[2*N,7,0]"},
    {X "y = depth_to_space(x) block=i:2 mode=t:crd", "f32[N,1,16,16]"},
    {"x = input f32[1,3,2*H,4]\ny = space_to_depth(x) block=i:2",
     "f32[1,12,H,2]"},
    {X "y = resize(x) shape=d:N,4,16,20 mode=t:linear scales=f:1,1,2,2.5 "
       "coordinates=t:align_corners",
     "f32[N,4,16,20]"},
    {"x = input u8[N,3,H,W]\ny = resize(x) shape=d:N,3,2*H,2*W "
     "nearest=t:floor",
     "u8[N,3,2*H,2*W]"},
    {A "y = dims() values=d:N,7,3*N", "i64[3]"},
    {A "y = iota() start=d:2 step=i:-1 n=d:N", "i64[N]"},
    {"y = exchange() number=i:3 dtype=t:f16 shape=d:7,0", "f16[7,0]"},
    {A "y = exchange(a) number=i:0 dtype=t:f32 shape=d:2,5", "f32[2,5]"},
};

static const infer_case_t errors[] = {
    /* dtypes */
    {I64 "y = exp(i)", "node 'y' (exp): operand 0 'i' is i64, expected one "
                       "of: f32, f64"},
    {"h = param f16[2]\ny = abs(h)", "is f16, expected one of: f32, f64, i8, "
                                     "u8, i32, i64"},
    {A "y = cast(a) to=t:float", "to is 'float', expected a dtype"},
    {A "y = cast(a)", "attribute 'to' is missing"},
    {A "y = cast(a) to=i:1", "'to' holds integers, expected a text"},
    {A "b = param f64[5]\ny = add(a, b)",
     "node 'y' (add): operand 1 'b' is f64, expected f32 as operand 0 'a'"},
    {I64 "y = pow(i, i)", "operand 0 'i' is i64"},
    {A "y = mod(a, a)", "fmod is 0 with operands of f32, expected 1"},
    {A "y = mod(a, a) fmod=i:2", "fmod[0] is 2, expected 0 to 1"},
    {A "y = and(a, a)", "operand 0 'a' is f32, expected one of: bool"},
    {A "y = less(a, a)\nz = less(y, y)", "operand 0 'y' is bool"},
    {A "y = where(a, a, a)", "operand 0 'a' is f32, expected one of: bool"},
    {B A I64 "y = where(p, a, i)", "operand 2 'i' is i64, expected f32"},
    {A "y = leaky_relu(a) alpha=i:1", "'alpha' holds integers, expected "
                                      "floats"},
    {A "y = clip(a) max=f:1,2", "'max' has 2 values, expected 1"},
    /* broadcasting */
    {A "b = param f32[4]\ny = add(a, b)", "node 'y' (add): "},
    {A "b = param f32[2,1,1]\ny = add(a, b)", "[2,1,1]"},
    {A "b = param f32[3,7,5]\ny = less(a, b)", "node 'y' (less): "},
    {A "s = param f32[2,7,5]\ny = prelu(a, s)",
     "operand 1 's' is [2,7,5], expected what broadcasts to [N,7,5]"},
    {"a = input f32[5]\ns = param f32[1,5]\ny = prelu(a, s)",
     "operand 1 's' is [1,5]"},
    /* convolutions */
    {A "w = param f32[6,7,3,3]\ny = conv(a, w)",
     "operand 1 'w' has rank 4 [6,7,3,3], expected rank 3 to 3"},
    {"x = input f32[2,3]\nw = param f32[2,3]\ny = conv(x, w)",
     "operand 0 'x' has rank 2 [2,3], expected rank 3 to 5"},
    {X "w = param f32[6,3,3,3]\ny = conv(x, w)",
     "node 'y' (conv): weights 'w' have 3 input channels, expected 4"},
    {X "w = param f32[6,4,3,3]\ny = conv(x, w) groups=i:3",
     "4 input channels in 3 groups, expected a multiple"},
    {X "w = param f32[5,2,3,3]\ny = conv(x, w) groups=i:2",
     "5 output channels in 2 groups, expected a multiple"},
    {X "w = param f32[6,4,3,3]\ny = conv(x, w) groups=i:0",
     "groups[0] is 0, expected 1 to"},
    {X "w = param f32[6,4,3,3]\ny = conv(x, w) strides=i:1,0",
     "strides[1] is 0, expected 1 to"},
    {X "w = param f32[6,4,3,3]\ny = conv(x, w) dilations=i:-1,1",
     "dilations[0] is -1, expected 1 to"},
    {X "w = param f32[6,4,3,3]\ny = conv(x, w) pads=i:0,0,0,-1",
     "pads[3] is -1, expected 0 to"},
    {X "w = param f32[6,4,3,3]\ny = conv(x, w) pads=i:1,1",
     "attribute 'pads' has 2 values, expected 4"},
    {X "w = param f32[6,4,3,3]\ny = conv(x, w) strides=i:4294967296,1",
     "strides[0] is 4294967296, expected 1 to 2147483647"},
    {X "w = param f32[6,4,3,3]\ny = conv(x, w) dilations=i:1,4",
     "kernel spans 9 in spatial dim 1, expected at most the padded input's 8"},
    {X "w = param f32[6,4,9,3]\ny = conv(x, w)",
     "kernel spans 9 in spatial dim 0"},
    {X "w = param f32[6,4,0,3]\ny = conv(x, w)",
     "dim 2 of operand 1 'w' is 0, expected a number of at least 1"},
    {"x = input f32[N,C,8,8]\nw = param f32[6,4,3,3]\ny = conv(x, w)",
     "dim 1 of operand 0 'x' is C, expected a number of at least 1; bind"},
    {X "w = param f32[6,4,3,3]\nb = param f32[5]\ny = conv(x, w, b)",
     "operand 2 'b' is [5], expected [6] (output channels)"},
    {X "w = param f32[6,4,3,3]\nb = param f32[6,1,1]\ny = conv(x, w, b)",
     "operand 2 'b' is [6,1,1], expected [6]"},
    {X "w = param f64[6,4,3,3]\ny = conv(x, w)", "operand 1 'w' is f64"},
    {X "w = param f32[6,4,3,3]\ny = conv(x, w) activation=t:gelu",
     "activation is 'gelu', expected one of: none, relu, clip, sigmoid"},
    {"x = input f32[N,4,H,8]\nw = param f32[6,4,3,3]\n"
     "y = conv(x, w) strides=i:2,2",
     "spatial dim 0, 'H', with stride 2 are no expression of it"},
    {X "w = param f32[3,3,3,3]\ny = conv_transpose(x, w)",
     "weights 'w' have 3 input channels, expected 4"},
    {X "w = param f32[4,3,3,3]\ny = conv_transpose(x, w) output_pads=i:1,0",
     "output_pads[0] is 1, expected less than the stride 1"},
    {"x = input f32[1,4,1,1]\nw = param f32[4,3,1,1]\n"
     "y = conv_transpose(x, w) pads=i:1,1,1,1",
     "spatial dim 0 of the output is -1, expected at least 1"},
    {"x = input f32[1,1,4611686018427387000]\nw = param f32[1,1,1]\n"
     "y = conv_transpose(x, w) strides=i:2147483647",
     "node 'y' (conv_transpose): "},
    /* matrices */
    {A "w = param f32[7,6]\ny = matmul(a, w)",
     "node 'y' (matmul): 'a' has 5 columns and 'w' has 7 rows"},
    {A "w = param f32[]\ny = matmul(a, w)", "operand 1 'w' has rank 0 []"},
    {A "w = input f32[3,5,6]\ny = matmul(a, w)", "node 'y' (matmul): "},
    {A "w = input f32[N,P,6]\ny = matmul(a, w)",
     "'a' has 5 columns and 'w' has P rows"},
    {A "w = param f32[5,6]\nb = param f32[5]\ny = matmul(a, w, b)",
     "operand 2 'b' is [5], expected [6] (columns)"},
    {A "w = param f32[5]\nb = param f32[7]\ny = matmul(a, w, b)",
     "operand 1 'w' has rank 1 [5], expected rank 2 to 8"},
    {I64 "y = matmul(i, i)", "operand 0 'i' is i64"},
    {A "w = param f32[5,6]\ny = gemm(a, w)", "operand 0 'a' has rank 3"},
    {"a = input f32[N,5]\nb = param f32[5,6]\nc = input f32[N,5]\n"
     "y = gemm(a, b, c)",
     "operand 2 'c' is [N,5], expected what broadcasts to [N,6]"},
    {"a = input f32[2,5]\nb = param f32[5,6]\nc = param f32[1,2,6]\n"
     "y = gemm(a, b, c)",
     "operand 2 'c' is [1,2,6]"},
    {"a = input f32[N,5]\nb = param f32[6,5]\ny = gemm(a, b)",
     "'a' has 5 columns and 'b' has 6 rows"},
    /* reductions and norms */
    {A "y = reduce_sum(a) axes=i:3", "axes is 3, expected an axis of an "
                                     "operand of rank 3"},
    {A "y = reduce_sum(a) axes=i:1,-2", "axes names axis 1 twice"},
    {"a = input f32[2,0]\ny = reduce_max(a)", "axis 1 of 'a' is 0"},
    {I64 "y = reduce_mean(i)",
     "node 'y' (reduce_mean): operand 0 'i' is i64, expected one of: f32, f64"},
    {B "y = reduce_max(p)", "operand 0 'p' is bool"},
    {"h = param f16[2]\ny = arg_max(h)", "operand 0 'h' is f16"},
    {"x = input u8[1,1,4]\ny = avg_pool(x) kernel=i:2",
     "operand 0 'x' is u8, expected one of: f32, f64"},
    {A "y = arg_max(a) axis=i:-4", "axis is -4"},
    {"a = input f32[]\ny = softmax(a)", "axis is -1, expected an axis of an "
                                        "operand of rank 0"},
    {X "v = param f32[3]\ny = batch_norm(x, v, v, v, v)",
     "operand 1 'v' is [3], expected [4] (channels)"},
    {X V "y = batch_norm(x, v, v, v, v) epsilon=f:-1",
     "epsilon is -1, expected a number not below 0"},
    {A "v = param f32[7]\ny = instance_norm(a, v, v)\nz = input f32[2,7]\n"
       "y2 = instance_norm(z, v, v)",
     "operand 0 'z' has rank 2"},
    {A "s = param f32[5]\ny = layer_norm(a, s) axis=i:1",
     "operand 1 's' is [5], expected [7,5] (the normalised dims)"},
    {X "y = lrn(x)", "attribute 'size' is missing"},
    {X "y = lrn(x) size=i:0", "size[0] is 0, expected 1 to"},
    /* pools */
    {X "y = max_pool(x)", "attribute 'kernel' is missing"},
    {X "y = max_pool(x) kernel=i:3", "operand 0 'x' has rank 4"},
    {X "y = max_pool(x) kernel=i:1,1,1,1", "kernel has 4 values, expected 1 "
                                           "to 3"},
    {X "y = max_pool(x) kernel=i:2,0", "kernel[1] is 0"},
    {X "y = avg_pool(x) kernel=i:9,3", "kernel spans 9 in spatial dim 0"},
    {X "y = avg_pool(x) kernel=i:2,2 pads=i:2,0,0,0",
     "pads of spatial dim 0 are 2 and 0, expected less than the window's "
     "span 2"},
    {X "y = max_pool(x) kernel=i:2,2 ceil_mode=i:3", "ceil_mode[0] is 3"},
    /* moves */
    {X "y = reshape(x) shape=d:N,255",
     "node 'y' (reshape): 'x' has 256*N elements [N,4,8,8], expected as many "
     "as [N,255] has"},
    {X "y = reshape(x) shape=d:-1,N,3", "expected as many as [-1,N,3] has"},
    {X "y = reshape(x) shape=d:-1,-1", "shape[1] is -1, expected at most one"},
    {X "y = reshape(x) shape=d:-2", "shape[0] is -2"},
    {X "y = reshape(x) shape=d:0,-1", "expected as many as [0,-1] has"},
    {X "y = reshape(x) shape=i:1,1,1,1,1,1,1,1,1",
     "'shape' has 9 dims, expected at most 8"},
    {X "y = reshape(x) shape=f:1", "'shape' holds floats"},
    {A "y = transpose(a) perm=i:0,1,1", "perm names axis 1 twice"},
    {A "y = transpose(a) perm=i:0,1,3", "perm[2] is 3, expected 0 to 2"},
    {A "y = concat(a)", "attribute 'axis' is missing"},
    {A "b = input f32[N,6,4]\ny = concat(a, b) axis=i:1",
     "operand 1 'b' is [N,6,4], expected [N,7,5] (as 'a') but for axis 1"},
    {A I64 "y = concat(a, i) axis=i:0", "operand 1 'i' is i64"},
    {A "y = slice(a) starts=d:0 ends=d:1,2", "1 starts and 2 ends"},
    {A "y = slice(a) starts=d:0,0 ends=d:1,1 axes=i:1,-2",
     "step 1 on axis 1, expected one step other than 0"},
    {A "y = slice(a) starts=d:0 ends=d:1 steps=i:0",
     "step 0 on axis 0, expected one step other than 0"},
    {A "y = slice(a) starts=d:0 ends=d:1 axes=i:3", "axes[0] is 3"},
    {A "y = slice(a) starts=d:0 ends=d:5",
     "the elements 0 to 5 by 1 of axis 0, N, are no expression of it"},
    {A "y = slice(a) starts=d:0 ends=d:2147483647 steps=i:2", "bind the names"},
    {A "y = pad(a)", "attribute 'pads' is missing"},
    {A "y = pad(a) pads=i:1,1", "'pads' has 2 values, expected 6"},
    {A "y = pad(a) pads=i:0,0,5,0,0,0 mode=t:reflect",
     "pads of axis 2 are 5 and 0 on 5 elements, expected at least 6"},
    {A "y = pad(a) pads=i:0,0,-6,0,0,3", "expected at least 6 elements"},
    {A "y = pad(a) pads=i:0,-4,0,0,-4,0", "expected no dim below 0"},
    {A "y = pad(a) pads=i:0,0,0,0,0,0 mode=t:wrap", "mode is 'wrap'"},
    {A "y = gather(a, a)", "operand 1 'a' is f32, expected one of: i32, i64"},
    {"a = input f32[1,1,1,1,1]\ni = input i64[1,1,1,1,1]\ny = gather(a, i)",
     "the value would have rank 9, expected at most 8"},
    {A "i = input i64[N,2,6]\ny = gather_elements(a, i) axis=i:1",
     "indices 'i' are [N,2,6], expected at most [N,7,5] ('a') but for axis 1"},
    {A "y = expand(a) shape=d:7,4", "node 'y' (expand): "},
    {A "y = expand(a) shape=d:-1", "shape[0] is -1, expected at least 0"},
    {A "y = tile(a) repeats=i:1,1,-1", "repeats[2] is -1"},
    {A "y = tile(a) repeats=i:1,4611686018427387904,1", "node 'y' (tile): "},
    {"x = input f32[1,3,4,4]\ny = depth_to_space(x) block=i:2",
     "dim 1 of 'x' is 3, expected a multiple of 4"},
    {"x = input f32[1,3,4,5]\ny = space_to_depth(x) block=i:2",
     "dim 3 of 'x' is 5, expected a multiple of 2"},
    {X "y = space_to_depth(x) block=i:0", "block[0] is 0"},
    {X "y = depth_to_space(x) block=i:2 mode=t:DCR",
     "mode is 'DCR', expected one of: dcr, crd"},
    {X "y = resize(x)", "attribute 'shape' is missing"},
    {X "y = resize(x) shape=d:N,4,16", "shape is [N,4,16], expected 4 dims"},
    {X "y = resize(x) shape=d:N,4,-2,8", "shape[2] is -2"},
    {X "y = resize(x) shape=d:N,4,8,8 scales=f:1,1,1",
     "scales has 3 values, expected 4 floats"},
    {X "y = resize(x) shape=d:N,4,8,8 scales=f:1,1,0,1",
     "scales[2] is 0, expected a number above 0"},
    {X "y = resize(x) shape=d:N,4,8,8 mode=t:cubic", "mode is 'cubic'"},
    {"x = input u8[1,1,2,2]\ny = resize(x) shape=d:1,1,4,4 mode=t:linear",
     "operand 0 'x' is u8"},
    {A "y = dims()", "attribute 'values' is missing"},
    {A "y = iota() n=d:-1", "expected no dim below 0"},
    {A "y = iota() n=d:1,2", "'n' has 2 values, expected 1"},
    {A "y = iota() n=d:4611686018427387904 step=i:4", "node 'y' (iota): "},
    {A "y = exchange(a) dtype=t:f32 shape=d:7,0", "'number' is missing"},
    {A "y = exchange(a) number=i:-1 dtype=t:f32 shape=d:7", "number[0] is -1"},
    {A "y = exchange(a) number=i:0 dtype=t:f99 shape=d:7", "dtype is 'f99'"},
    {A "y = exchange(a) number=i:0 dtype=t:f16 shape=d:7", "is f32, expected"},
    /* a value that nobody can count */
    {"x = input f32[1]\n"
     "y = expand(x) shape=d:2147483648,2147483648,2147483648",
     "expected at most 2^62 bytes"},
};

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

static void test_values(void)
{
    const int64_t before = iso_mem_count().blocks;

    for (int i = 0; i < COUNT(values); i++) {
        char found[ISO_SHAPE_TEXT_BYTES + 16] = "";
        iso_graph_t *graph = NULL;
        iso_node_id_t last;

        CU_ASSERT_FATAL(iso_graph_create(&graph) == ISO_OK);
        if (graph_text_add(graph, values[i].text, &last) == ISO_OK) {
            (void)graph_text_value(iso_graph_node(graph, last), found);
        }
        if (strcmp(found, values[i].expected) != 0) {
            (void)printf("\n%s\n  found '%s' (%s), expected '%s'\n",
                         values[i].text, found, iso_error_text(),
                         values[i].expected);
        }
        CU_ASSERT_STRING_EQUAL(found, values[i].expected);
        iso_graph_destroy(&graph);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_errors(void)
{
    const int64_t before = iso_mem_count().blocks;

    for (int i = 0; i < COUNT(errors); i++) {
        iso_graph_t *graph = NULL;
        iso_status_t status;
        bool right;

        CU_ASSERT_FATAL(iso_graph_create(&graph) == ISO_OK);
        iso_error_clear();
        status = graph_text_add(graph, errors[i].text, NULL);
        right = (status == ISO_SHAPE || status == ISO_INVAL) &&
                strstr(iso_error_text(), errors[i].expected) != NULL &&
                strstr(iso_error_text(), "node '") != NULL;
        if (!right) {
            (void)printf("\n%s\n  found '%s' (%d), expected '%s'\n",
                         errors[i].text, iso_error_text(), (int)status,
                         errors[i].expected);
        }
        CU_ASSERT(right);
        iso_graph_destroy(&graph);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* Both tables leave out no op that is computed. */
static void test_every_op_has_a_case(void)
{
    for (int op = 0; op < ISO_OP_COUNT; op++) {
        char call[64];
        bool seen = iso_op_info((iso_op_t)op)->op_class == ISO_OP_CLASS_LEAF;

        (void)snprintf(call, sizeof call, "= %s(", iso_op_string((iso_op_t)op));
        for (int i = 0; i < COUNT(values); i++) {
            seen = seen || strstr(values[i].text, call) != NULL;
        }
        if (!seen) {
            (void)printf("\nno case for '%s'\n", iso_op_string((iso_op_t)op));
        }
        CU_ASSERT(seen);
    }
}

/* Numbers for the free sizes of a graph; count_out of them. */
static void choose_sizes(const iso_graph_t *graph, iso_binding_t sizes_out[8],
                         int *count_out)
{
    static const iso_binding_t sizes[] = {
        {"N", 6}, {"T", 3}, {"P", 5}, {"H", 10}, {"W", 7}};
    const char **names = NULL;

    CU_ASSERT_FATAL(iso_graph_free_dims(graph, &names, count_out) == ISO_OK);
    for (int i = 0; i < *count_out * COUNT(sizes); i++) {
        if (strcmp(names[i / COUNT(sizes)], sizes[i % COUNT(sizes)].name) ==
            0) {
            sizes_out[i / COUNT(sizes)] = sizes[i % COUNT(sizes)];
        }
    }
    iso_free(names);
}

/* Cases with free sizes keep their meaning when numbers are put in. */
static void test_bound_values_agree(void)
{
    const int64_t before = iso_mem_count().blocks;

    for (int i = 0; i < COUNT(values); i++) {
        iso_graph_t *graph = NULL;
        iso_graph_t *bound = NULL;
        iso_binding_t sizes[8];
        iso_node_id_t last;
        iso_shape_t expected;
        int count = 0;

        CU_ASSERT_FATAL(iso_graph_create(&graph) == ISO_OK);
        CU_ASSERT_FATAL(graph_text_add(graph, values[i].text, &last) == ISO_OK);
        choose_sizes(graph, sizes, &count);
        CU_ASSERT_EQUAL(iso_shape_bind(&iso_graph_node(graph, last)->shape,
                                       sizes, count, &expected),
                        ISO_OK);
        CU_ASSERT_FATAL(iso_graph_bind(graph, sizes, count, &bound) == ISO_OK);
        CU_ASSERT(
            iso_shape_equal(&iso_graph_node(bound, last)->shape, &expected));
        iso_graph_destroy(&bound);
        iso_graph_destroy(&graph);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"every op has a case", test_every_op_has_a_case},
        {"values", test_values},
        {"errors", test_errors},
        {"bound values agree", test_bound_values_agree},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"infer", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
