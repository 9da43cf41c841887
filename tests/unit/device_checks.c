#include "device_checks.h"

#include "base/mem.h"
#include "device/device.h"
#include "graph_text.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "plan/memory_plan.h"

#include <stddef.h>
#include <string.h>

enum { SEED = 662607, ELEMENTS = 1 << 21, LEAVES = 64 };

static float values[ELEMENTS];

void device_checks_fill(uint64_t *state, bool has_special)
{
    static const float special[] = {0.0F, -0.0F, 1.0F, 2.0F, 0.5F, 1e38F};
    static const uint32_t bits[] = {0x7f800000U, 0xff800000U, 0x7fc00000U,
                                    0xffc12345U, 0x00000001U, 0x80000001U};

    for (int i = 0; i < ELEMENTS; i++) {
        const uint64_t r = test_random(state);

        values[i] = 3 * test_random_float(state);
        if (has_special && r % 64 == 0) {
            memcpy(&values[i], &bits[(r >> 8) % 6], sizeof values[i]);
        } else if (has_special && r % 64 < 4) {
            values[i] = special[(r >> 8) % 6];
        }
    }
}

const float *device_checks_leaf(iso_node_id_t node)
{
    return values + (ptrdiff_t)61 * (node % LEAVES);
}

void device_checks_bind(iso_program_t *program, const iso_graph_t *graph)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_op_t op = iso_graph_node(graph, id)->op;

        if (op == ISO_OP_INPUT || op == ISO_OP_PARAM) {
            iso_program_bind_node(program, id, device_checks_leaf(id));
        }
    }
}

static iso_program_t *program_of(iso_device_t *device, const iso_graph_t *graph,
                                 bool keeps_values)
{
    const iso_program_options_t options = {.keeps_values = keeps_values};
    iso_program_t *program = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, &options, &program),
                          ISO_OK);
    device_checks_bind(program, graph);
    CU_ASSERT_EQUAL_FATAL(iso_program_run(program), ISO_OK);
    return program;
}

bool device_checks_equal(const iso_graph_t *graph,
                         const iso_program_t *expected,
                         const iso_program_t *found)
{
    bool equal = true;

    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_node_t *node =
            iso_graph_node(graph, iso_graph_output(graph, i)->node);
        size_t bytes = 0;

        CU_ASSERT_EQUAL(iso_tensor_bytes_of(node->dtype, &node->shape, &bytes),
                        ISO_OK);
        equal = equal && (bytes == 0 ||
                          memcmp(iso_program_output(expected, i),
                                 iso_program_output(found, i), bytes) == 0);
    }
    return equal;
}

bool device_checks_device(const iso_graph_t *graph, iso_device_t *device)
{
    iso_device_t *ref = NULL;
    iso_program_t *expected;
    bool equal = true;

    CU_ASSERT_EQUAL_FATAL(iso_device_open("ref", 1, &ref), ISO_OK);
    expected = program_of(ref, graph, false);
    for (int keeps = 0; keeps < 2; keeps++) {
        iso_program_t *found = program_of(device, graph, keeps == 1);

        equal = device_checks_equal(graph, expected, found) && equal;
        iso_program_destroy(&found);
    }
    iso_program_destroy(&expected);
    iso_device_close(&ref);
    CU_ASSERT(equal);
    return equal;
}

void device_checks_run(const iso_graph_t *graph, int threads)
{
    iso_device_t *cpu = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_device_open("cpu", threads, &cpu), ISO_OK);
    (void)device_checks_device(graph, cpu);
    iso_device_close(&cpu);
}

int device_checks_plan(const iso_graph_t *graph)
{
    iso_device_t *cpu = NULL;
    iso_formats_t formats;
    iso_memory_plan_t plan;
    size_t planned = 0;
    size_t made = 0;
    int n_without = 0;

    CU_ASSERT_EQUAL_FATAL(iso_device_open("cpu", 1, &cpu), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_formats_create(graph, true, &formats), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_memory_plan_create(graph, &formats, &plan),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_memory_plan_check(graph, &formats, &plan), ISO_OK);
    CU_ASSERT_EQUAL(iso_memory_plan_bytes(graph, &planned), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_buffer_bytes(cpu, graph, false, &made), ISO_OK);
    CU_ASSERT_EQUAL(planned, made);
    for (iso_node_id_t id = 0; id < formats.n_nodes; id++) {
        if (formats.joined[id] != ISO_NO_NODE) {
            CU_ASSERT_EQUAL(plan.offset_bytes[id], ISO_MEMORY_NONE);
            n_without++;
        } else if (formats.is_view[id]) {
            CU_ASSERT_NOT_EQUAL(plan.alias[id], ISO_NO_NODE);
            n_without++;
        }
    }
    iso_memory_plan_free(&plan);
    iso_formats_free(&formats);
    iso_device_close(&cpu);
    return n_without;
}

void device_checks_text(const char *text, int n_without_value)
{
    iso_graph_t *graph = test_graph();
    uint64_t state = SEED;

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph, text, NULL), ISO_OK);
    CU_ASSERT_EQUAL(device_checks_plan(graph), n_without_value);
    for (int special = 0; special < 2; special++) {
        device_checks_fill(&state, special == 1);
        device_checks_run(graph, 1 + special);
    }
    iso_graph_destroy(&graph);
}
