#include "kernel/arith.h"
#include "kernel/cpu/light_impl.h"
#include "kernel/half.h"

/* Casts that models use; the others are the reference device's. */

#define CAST_MAP(X)                                     \
    X(U8, F32, uint8_t, float, (float)v)                \
    X(I8, F32, int8_t, float, (float)v)                 \
    X(BOOL, F32, uint8_t, float, (float)v)              \
    X(I32, F32, int32_t, float, (float)v)               \
    X(I64, F32, int64_t, float, (float)v)               \
    X(F16, F32, uint16_t, float, iso__f16_to_f32(v))    \
    X(BF16, F32, uint16_t, float, iso__bf16_to_f32(v))  \
    X(F64, F32, double, float, iso_canonical((float)v)) \
    X(I64, I32, int64_t, int32_t, (int32_t)v)           \
    X(I32, I64, int32_t, int64_t, (int64_t)v)           \
    X(F32, BOOL, float, uint8_t, v != 0.0F)

typedef struct task {
    iso_dtype_t from;
    iso_dtype_t to;
    const void *x;
    void *y;
} task_t;

#define X(from, to, from_type, to_type, expr)                         \
    static void cast_##from##_##to(const task_t *task, int64_t begin, \
                                   int64_t end)                       \
    {                                                                 \
        const from_type *x = task->x;                                 \
        to_type *y = task->y;                                         \
                                                                      \
        for (int64_t i = begin; i < end; i++) {                       \
            const from_type v = x[i];                                 \
                                                                      \
            y[i] = (expr);                                            \
        }                                                             \
    }
CAST_MAP(X)
#undef X

typedef void cast_fn(const task_t *task, int64_t begin, int64_t end);

static cast_fn *cast_function(iso_dtype_t from, iso_dtype_t to)
{
    static cast_fn *const functions[ISO_DTYPE_COUNT][ISO_DTYPE_COUNT] = {
#define X(from, to, from_type, to_type, expr) \
    [ISO_DTYPE_##from][ISO_DTYPE_##to] = cast_##from##_##to,
        CAST_MAP(X)
#undef X
    };

    return functions[from][to];
}

static void cast_part(const void *arg, int64_t begin, int64_t end)
{
    const task_t *task = arg;

    cast_function(task->from, task->to)(task, begin, end);
}

bool iso__light_cast(const iso__light_t *light, const iso_node_t *node,
                     const iso_tensor_t *const *inputs,
                     const iso_tensor_t *output)
{
    const task_t task = {.from = inputs[0]->dtype,
                         .to = output->dtype,
                         .x = inputs[0]->data,
                         .y = output->data};

    (void)node;
    if (cast_function(task.from, task.to) == NULL) {
        return false;
    }
    iso__light_split(light, iso_tensor_count(output), iso_tensor_bytes(output),
                     cast_part, &task);
    return true;
}
