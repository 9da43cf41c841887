/* Ask for the options of an op that is given as a text (graph_text.h). */
#ifndef SHARD_ASKED_H
#define SHARD_ASKED_H

#include "isotome/error.h"

#include "base/mem.h"
#include "graph_text.h"
#include "iso_test.h"
#include "iso_test_graph.h"
#include "plan/shard/option.h"

#include <stdio.h>

#define CONV(x, w, more)                           \
    "x = input f32[" x "]\nw = param f32[" w "]\n" \
    "y = conv(x, w) " more "\n"
#define MATMUL(a, b) \
    "a = input f32[" a "]\nb = input f32[" b "]\ny = matmul(a, b)\n"

/* An op from a text (its last node), and its options. */
typedef struct asked {
    iso_graph_t *graph;
    iso_shard_op_t op;
    iso_shard_list_t *list;
} asked_t;

static inline asked_t ask(const char *text, int most_shards, unsigned axes)
{
    asked_t asked = {.graph = test_graph()};

    if (graph_text_add(asked.graph, text, &asked.op.node) != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
        CU_FAIL_FATAL("the op's text");
    }
    asked.op.graph = asked.graph;
    asked.op.axes = axes;
    CU_ASSERT_EQUAL_FATAL(
        iso_shard_list_create(&asked.op, most_shards, &asked.list), ISO_OK);
    return asked;
}

static inline void end(asked_t *asked)
{
    iso_shard_list_destroy(&asked->list);
    iso_graph_destroy(&asked->graph);
}

/* The option of this axis, output axis (-2: any) and count, or NULL. */
static inline const iso_shard_option_t *
find_at(const asked_t *asked, iso_shard_axis_t axis, int output_axis, int count)
{
    for (int i = 0; i < asked->list->count; i++) {
        const iso_shard_option_t *option = &asked->list->options[i];

        if (option->axis == axis && option->count == count &&
            (output_axis == -2 || option->output_axis == output_axis)) {
            return option;
        }
    }
    return NULL;
}

static inline const iso_shard_option_t *find(const asked_t *asked,
                                             iso_shard_axis_t axis, int count)
{
    const iso_shard_option_t *option = find_at(asked, axis, -2, count);

    CU_ASSERT_PTR_NOT_NULL_FATAL(option);
    return option;
}

static inline int count_of(const asked_t *asked, iso_shard_axis_t axis)
{
    int count = 0;

    for (int i = 0; i < asked->list->count; i++) {
        count += asked->list->options[i].axis == axis ? 1 : 0;
    }
    return count;
}

#endif
