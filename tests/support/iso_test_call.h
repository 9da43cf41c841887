/*
 * Run one node on its own: give operands and attributes, run it by the
 * reference device or any function of that form, look at the output.
 *
 *     test_call_t call;
 *     test_call_begin(&call, ISO_OP_ADD);
 *     test_call_input(&call, ISO_DTYPE_F32, 2, (const int64_t[]){2, 3}, x);
 *     test_call_input(&call, ISO_DTYPE_F32, 1, (const int64_t[]){3}, y);
 *     CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
 *     const float *z = call.output.data;
 *     test_call_end(&call);
 *
 * Operands are borrowed until test_call_end; attributes (at most 8 values
 * each) are copied.
 */
#ifndef ISO_TEST_CALL_H
#define ISO_TEST_CALL_H

#include "isotome/error.h"
#include "isotome/graph.h"

#include "base/mem.h"
#include "iso_test.h"

#include <stdio.h>
#include <string.h>

enum { TEST_CALL_INPUTS = 8, TEST_CALL_ATTRS = 12, TEST_CALL_VALUES = 8 };

typedef iso_status_t test_run_fn(const iso_node_t *node,
                                 const iso_tensor_t *const *inputs,
                                 const iso_tensor_t *output);

typedef struct test_call {
    iso_op_t op;
    int n_inputs;
    int n_attrs;
    iso_tensor_t inputs[TEST_CALL_INPUTS];
    bool given[TEST_CALL_INPUTS];
    iso_attr_t attrs[TEST_CALL_ATTRS];
    int64_t ints[TEST_CALL_ATTRS][TEST_CALL_VALUES];
    double floats[TEST_CALL_ATTRS][TEST_CALL_VALUES];
    iso_dim_t dims[TEST_CALL_ATTRS][TEST_CALL_VALUES];
    iso_graph_t *graph;
    const iso_node_t *node; /* after test_call_make */
    iso_tensor_t output;
} test_call_t;

static inline void test_call_begin(test_call_t *call, iso_op_t op)
{
    *call = (test_call_t){.op = op};
}

static inline void test_call_input(test_call_t *call, iso_dtype_t dtype,
                                   int rank, const int64_t *dims,
                                   const void *data)
{
    iso_tensor_t *input = &call->inputs[call->n_inputs];

    *input = (iso_tensor_t){.dtype = dtype, .rank = rank};
    for (int axis = 0; axis < rank; axis++) {
        input->dims[axis] = dims[axis];
    }
    /* Only outputs are written; a view has no const form. */
    memcpy(&input->data, &data, sizeof data);
    call->given[call->n_inputs++] = true;
}

/* f32 operand; shape is a compound literal or an array. */
#define TEST_F32(call, data, ...)                                        \
    test_call_input(                                                     \
        (call), ISO_DTYPE_F32,                                           \
        (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
        (const int64_t[]){__VA_ARGS__}, (data))

static inline void test_call_ints(test_call_t *call, const char *name,
                                  int count, const int64_t *values)
{
    int64_t *copy = call->ints[call->n_attrs];

    memcpy(copy, values, (size_t)count * sizeof *copy);
    call->attrs[call->n_attrs++] = (iso_attr_t){.name = name,
                                                .kind = ISO_ATTR_INTS,
                                                .count = count,
                                                .value.ints = copy};
}

#define TEST_INTS(call, name, ...)                                       \
    test_call_ints(                                                      \
        (call), (name),                                                  \
        (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
        (const int64_t[]){__VA_ARGS__})

static inline void test_call_floats(test_call_t *call, const char *name,
                                    int count, const double *values)
{
    double *copy = call->floats[call->n_attrs];

    memcpy(copy, values, (size_t)count * sizeof *copy);
    call->attrs[call->n_attrs++] = (iso_attr_t){.name = name,
                                                .kind = ISO_ATTR_FLOATS,
                                                .count = count,
                                                .value.floats = copy};
}

#define TEST_FLOATS(call, name, ...)                                   \
    test_call_floats(                                                  \
        (call), (name),                                                \
        (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)), \
        (const double[]){__VA_ARGS__})

static inline void test_call_dims(test_call_t *call, const char *name,
                                  int count, const int64_t *values)
{
    iso_dim_t *dims = call->dims[call->n_attrs];

    for (int i = 0; i < count; i++) {
        dims[i] = (iso_dim_t){.size = values[i]};
    }
    call->attrs[call->n_attrs++] = (iso_attr_t){.name = name,
                                                .kind = ISO_ATTR_DIMS,
                                                .count = count,
                                                .value.dims = dims};
}

#define TEST_DIMS(call, name, ...)                                       \
    test_call_dims(                                                      \
        (call), (name),                                                  \
        (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
        (const int64_t[]){__VA_ARGS__})

static inline void test_call_text(test_call_t *call, const char *name,
                                  const char *text)
{
    call->attrs[call->n_attrs++] = (iso_attr_t){
        .name = name, .kind = ISO_ATTR_TEXT, .count = 1, .value.text = text};
}

/* Infer the node and allocate its output; false (with the reason printed)
 * when the graph refuses it. */
static inline bool test_call_make(test_call_t *call)
{
    iso_node_id_t ids[TEST_CALL_INPUTS];
    iso_node_id_t id = ISO_NO_NODE;
    iso_node_spec_t spec = {.name = "call",
                            .op = call->op,
                            .n_inputs = call->n_inputs,
                            .inputs = ids,
                            .n_attrs = call->n_attrs,
                            .attrs = call->attrs};

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&call->graph), ISO_OK);
    for (int i = 0; i < call->n_inputs; i++) {
        const iso_shape_t shape = iso_tensor_shape(&call->inputs[i]);
        char name[16];

        (void)snprintf(name, sizeof name, "x%d", i);
        CU_ASSERT_EQUAL_FATAL(iso_graph_add_input(call->graph, name,
                                                  call->inputs[i].dtype, &shape,
                                                  &ids[i]),
                              ISO_OK);
    }
    if (iso_graph_add(call->graph, &spec, &id) != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
        return false;
    }
    call->node = iso_graph_node(call->graph, id);
    CU_ASSERT_EQUAL_FATAL(iso_tensor_view(call->node->dtype, &call->node->shape,
                                          NULL, &call->output),
                          ISO_OK);
    call->output.data = iso_alloc(iso_tensor_bytes(&call->output));
    CU_ASSERT_PTR_NOT_NULL_FATAL(call->output.data);
    return true;
}

/* Run into the call's output; makes the node first when need be. */
static inline iso_status_t test_call_run(test_call_t *call, test_run_fn *run)
{
    const iso_tensor_t *inputs[TEST_CALL_INPUTS];

    if (call->node == NULL && !test_call_make(call)) {
        return ISO_INVAL;
    }
    for (int i = 0; i < call->n_inputs; i++) {
        inputs[i] = &call->inputs[i];
    }
    return run(call->node, inputs, &call->output);
}

static inline void test_call_end(test_call_t *call)
{
    iso_free(call->output.data);
    iso_graph_destroy(&call->graph);
}

/* Are the output's elements these to a tolerance? Prints the first that is
 * not. NaN equals NaN, infinity equals itself. */
static inline bool test_call_near(const test_call_t *call, double tolerance,
                                  int64_t count, const float *expected)
{
    const float *found = call->output.data;

    if (iso_tensor_count(&call->output) != count) {
        (void)fprintf(stderr, "%lld elements, expected %lld\n",
                      (long long)iso_tensor_count(&call->output),
                      (long long)count);
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        const double d = (double)found[i] - (double)expected[i];
        const bool same = found[i] == expected[i] ||
                          (found[i] != found[i] && expected[i] != expected[i]);

        if (!same && !(d <= tolerance && d >= -tolerance)) {
            (void)fprintf(stderr, "%s: element %lld is %.9g, expected %.9g\n",
                          iso_op_string(call->op), (long long)i,
                          (double)found[i], (double)expected[i]);
            return false;
        }
    }
    return true;
}

#define TEST_NEAR(call, tolerance, ...)                                  \
    CU_ASSERT(test_call_near(                                            \
        (call), (tolerance),                                             \
        (int64_t)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)), \
        (const float[]){__VA_ARGS__}))

/* A small generator for property tests: splitmix64. */
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* In [least, most]. */
static inline int64_t test_random_int(uint64_t *state, int64_t least,
                                      int64_t most)
{
    return least + (int64_t)(test_random(state) % (uint64_t)(most - least + 1));
}

/* In [-1, 1). */
static inline float test_random_float(uint64_t *state)
{
    return (float)(int64_t)(test_random(state) >> 40) * 0x1p-23F - 1.0F;
}

#endif
