/*
 * Values that messages take out of a device's memory and bring into it: which
 * device has them, and the same bytes as through the host. A throttled device
 * is the one that is direct here.
 */
#include "base/mem.h"
#include "device/direct.h"
#include "iso_test.h"
#include "iso_test_memory.h"
#include "programs.h"

#include <string.h>

/* a is read by two segments, c by both devices; d crosses and leaves. */
static const char net_text[] = "a = input f32[4,32]\n"
                               "b = input f32[4,32]\n"
                               "c = input f32[4,32]\n"
                               "d = add(a, b)\n"
                               "e = relu(d)\n"
                               "f = sub(e, c)\n"
                               "g = add(f, a)\n"
                               "h = add(g, c)\n"
                               "k = add(h, a)\n"
                               "flat = reshape(h) shape=d:128\n"
                               "return d\n"
                               "return f\n"
                               "return h\n"
                               "return k\n"
                               "return flat\n"
                               "return b\n";
enum { D, F, H, K, FLAT, B, N_OUTPUTS, N_INPUTS = 3, N_ELEMENTS = 4 * 32 };

static const char mixed_rule[] = "@add=throttled:1e6,*=cpu";
static const char *const input_names[N_INPUTS] = {"a", "b", "c"};

static float inputs[N_INPUTS][N_ELEMENTS];
static float expected[N_OUTPUTS][N_ELEMENTS];

static void bind_inputs(iso_program_t *program)
{
    for (int i = 0; i < N_INPUTS; i++) {
        CU_ASSERT_EQUAL(iso_program_bind(program, input_names[i], inputs[i]),
                        ISO_OK);
    }
}

static void fill_expected(void)
{
    iso_graph_t *graph = graph_of(net_text);
    iso_device_t *ref = open_device("ref");
    iso_program_t *program = program_of(ref, graph);

    bind_inputs(program);
    run(program);
    for (int i = 0; i < N_OUTPUTS; i++) {
        memcpy(expected[i], iso_program_output(program, i), sizeof expected[i]);
    }
    iso_program_destroy(&program);
    iso_device_close(&ref);
    iso_graph_destroy(&graph);
}

/* Room for a message, with other bytes in it. */
static void *message_of(iso_device_t *device)
{
    void *message = NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(device);
    CU_ASSERT_EQUAL_FATAL(
        iso_device_alloc(device, sizeof expected[0], &message), ISO_OK);
    memset(message, 0x5a, sizeof expected[0]);
    return message;
}

static bool same_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof expected[0]) == 0;
}

/* What has a maker is kept and put, the rest is read as ever. */
static void check_outputs(iso_program_t *program)
{
    for (int i = 0; i < N_OUTPUTS; i++) {
        iso_device_t *maker = iso_program_maker(program, i);

        if (maker == NULL) {
            CU_ASSERT(same_bytes(iso_program_output(program, i), expected[i]));
            continue;
        }
        void *message = message_of(maker);

        CU_ASSERT_EQUAL(iso_program_put(program, i, message), ISO_OK);
        CU_ASSERT(same_bytes(message, expected[i]));
        iso_device_free(maker, message);
    }
}

/* Bind inputs, by message where they have a reader. */
static void bind_direct(const iso_graph_t *graph, iso_program_t *program,
                        void **messages)
{
    bind_inputs(program);
    for (int i = 0; i < N_INPUTS; i++) {
        const iso_node_id_t input = iso_graph_find(graph, input_names[i]);
        iso_device_t *reader = iso_program_reader(program, input);

        if (reader != NULL) {
            messages[i] = message_of(reader);
            memcpy(messages[i], inputs[i], sizeof inputs[i]);
            iso_program_bind_direct(program, input, messages[i]);
        }
    }
}

static void free_messages(const iso_graph_t *graph,
                          const iso_program_t *program, void **messages)
{
    for (int i = 0; i < N_INPUTS; i++) {
        const iso_node_id_t input = iso_graph_find(graph, input_names[i]);

        if (messages[i] != NULL) {
            iso_device_free(iso_program_reader(program, input), messages[i]);
        }
    }
}

/* Of each output and input: is there a direct device? "1" or "0". */
static void check(const char *rule, const char *makers, const char *readers)
{
    iso_graph_t *graph = graph_of(net_text);
    iso_device_t *device = open_device(rule);
    iso_program_t *program = program_of(device, graph);
    void *messages[N_INPUTS] = {NULL};

    for (int i = 0; i < N_OUTPUTS; i++) {
        const bool has_maker = iso_program_maker(program, i) != NULL;

        CU_ASSERT_EQUAL(has_maker, makers[i] == '1');
        if (has_maker) {
            iso_program_keep(program, i);
        }
    }
    for (int i = 0; i < N_INPUTS; i++) {
        const iso_node_id_t input = iso_graph_find(graph, input_names[i]);

        CU_ASSERT_EQUAL(iso_program_reader(program, input) != NULL,
                        readers[i] == '1');
    }
    bind_direct(graph, program, messages);
    for (int i = 0; i < 2; i++) {
        run(program);
        check_outputs(program);
    }
    free_messages(graph, program, messages);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* c is read by both devices; b, which is an output, by the caller as well. */
static void test_mixed(void)
{
    check(mixed_rule, "101110", "100");
}

static void test_none(void)
{
    check("cpu", "000000", "000");
    check("ref", "000000", "000");
    check("@add=ref,*=cpu", "000000", "000");
}

/* All on a throttled device. */
static void test_single(void)
{
    iso_graph_t *graph = graph_of("x = input f32[4]\n"
                                  "y = add(x, x)\n"
                                  "return y\n");
    iso_device_t *device = open_device("throttled:1e6");
    iso_program_t *program = program_of(device, graph);
    iso_device_t *maker = iso_program_maker(program, 0);
    static const float x[] = {1, 2, 3, 4};
    float y[4] = {0};

    CU_ASSERT_PTR_NOT_NULL(maker);
    CU_ASSERT_PTR_EQUAL(iso_program_reader(program, iso_graph_find(graph, "x")),
                        maker);
    iso_program_keep(program, 0);
    iso_program_bind_direct(program, iso_graph_find(graph, "x"), x);
    run(program);

    const int64_t before = iso_mem_count().allocations;

    iso_program_bind_direct(program, iso_graph_find(graph, "x"), x);
    run(program);
    CU_ASSERT_EQUAL(iso_program_put(program, 0, y), ISO_OK);
    CU_ASSERT_EQUAL(iso_mem_count().allocations, before);
    CU_ASSERT_EQUAL(y[3], 8);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* Only a GPU is let, and there is none here. */
static void test_let(void)
{
    static const struct {
        const char *rule;
        bool is_direct;
    } devices[] = {{"cpu", false},
                   {"cpu|ref", false},
                   {"@add=ref,*=cpu", false},
                   {"@add=throttled,*=cpu", true}};

    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        iso_device_t *device = open_device(devices[i].rule);

        CU_ASSERT_EQUAL(iso_device_is_direct(device), devices[i].is_direct);
        iso_device_let_direct(device);
        CU_ASSERT_EQUAL(iso_device_is_direct(device), devices[i].is_direct);
        iso_device_close(&device);
    }
}

static void begin_test(void)
{
    test_remember_blocks();
    for (int i = 0; i < N_INPUTS; i++) {
        for (int k = 0; k < N_ELEMENTS; k++) {
            inputs[i][k] = 0.3F * (float)((k * 7 + i) % 11) - 1.0F;
        }
    }
    fill_expected();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"two devices", test_mixed}, {"no direct device", test_none},
        {"all on one", test_single}, {"who is let", test_let},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"direct", NULL, NULL, begin_test, test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
