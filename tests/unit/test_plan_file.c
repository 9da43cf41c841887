#include "base/json.h"
#include "graph/pass.h"
#include "graph_text.h"
#include "iso_test_folder.h"
#include "iso_test_memory.h"
#include "plan_model.h"

#include <stdbool.h>
#include <stdlib.h>

enum { PLACE_BYTES = 128 };

static void test_write_and_read(void)
{
    static const char *const shapes[] = {"N,64", "8,64"};

    for (int i = 0; i < 2; i++) {
        iso_graph_t *graph = make_model(shapes[i]);
        iso_plan_options_t options = {.world = 4, .samples = 1000};
        iso_plan_t *plan = make_plan(graph, &options);
        iso_plan_t *again = NULL;
        CU_ASSERT_EQUAL_FATAL(iso_plan_write(plan, "plan.json"), ISO_OK);
        CU_ASSERT_EQUAL_FATAL(iso_plan_read("plan.json", graph, &again),
                              ISO_OK);
        CU_ASSERT_EQUAL(iso_plan_digest(plan), iso_plan_digest(again));
        CU_ASSERT_EQUAL(iso_plan_seconds(plan, 99),
                        iso_plan_seconds(again, 99));
        char *text = iso_plan_text(plan);
        char *text_again = iso_plan_text(again);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text_again);
        CU_ASSERT_STRING_EQUAL(text, text_again);
        iso_free(text);
        iso_free(text_again);
        iso_plan_destroy(&again);
        iso_plan_destroy(&plan);
        iso_graph_destroy(&graph);
    }
}

static void test_other_graph(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_graph_t *other = make_model("M,64");
    iso_plan_options_t options = {.world = 2};
    iso_plan_t *plan = make_plan(graph, &options);
    iso_plan_t *again = NULL;
    char digest[32];

    CU_ASSERT_EQUAL_FATAL(iso_plan_write(plan, "plan.json"), ISO_OK);
    CU_ASSERT_EQUAL(iso_plan_read("plan.json", other, &again), ISO_DISAGREE);
    (void)snprintf(digest, sizeof digest, "%016llx",
                   (unsigned long long)iso_graph_digest(graph));
    CU_ASSERT(test_failed_with(digest));
    (void)snprintf(digest, sizeof digest, "%016llx",
                   (unsigned long long)iso_graph_digest(other));
    CU_ASSERT(test_failed_with(digest));
    CU_ASSERT_PTR_NULL(again);
    iso_plan_destroy(&plan);
    iso_graph_destroy(&other);
    iso_graph_destroy(&graph);
}

/* The value in a JSON text ("/parts/1/rank"), not owned. */
static json_t *find_value(json_t *root, const char *place, char *key_out,
                          json_t **parent_out)
{
    char copy[PLACE_BYTES];
    json_t *value = root;

    (void)snprintf(copy, sizeof copy, "%s", place + 1);
    for (char *key = copy; key != NULL;) {
        char *slash = strchr(key, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        *parent_out = value;
        (void)snprintf(key_out, PLACE_BYTES, "%s", key);
        value = json_is_array(value)
                    ? json_array_get(value, strtoul(key, NULL, 10))
                    : json_object_get(value, key);
        key = slash == NULL ? NULL : slash + 1;
    }
    return value;
}

/* A place in a plan, what stands there now, and what it is refused with. */
typedef struct edit {
    const char *place;
    const char *value;
    const char *message;
} edit_t;

/* Read plan.json with one value replaced. */
static void expect_edit_refused(const iso_graph_t *graph, const edit_t *edit)
{
    iso_json_t file;
    char key[PLACE_BYTES];
    json_t *parent = NULL;
    iso_plan_t *plan = NULL;
    json_t *value = json_loads(edit->value, JSON_DECODE_ANY, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    CU_ASSERT_EQUAL_FATAL(iso_json_read("plan.json", &file), ISO_OK);
    CU_ASSERT_PTR_NOT_NULL(find_value(file.value, edit->place, key, &parent));
    if (json_is_array(parent)) {
        CU_ASSERT_EQUAL(
            json_array_set_new(parent, strtoul(key, NULL, 10), value), 0);
    } else {
        CU_ASSERT_EQUAL(json_object_set_new(parent, key, value), 0);
    }
    CU_ASSERT_EQUAL_FATAL(iso_json_write(file.value, "edited.json"), ISO_OK);
    json_decref(file.value);
    CU_ASSERT_EQUAL(iso_plan_read("edited.json", graph, &plan), ISO_INPUT);
    CU_ASSERT(test_failed_with(edit->message));
    CU_ASSERT_PTR_NULL(plan);
    iso_plan_destroy(&plan);
}

static const edit_t edits[] = {
    {"/format", "\"isotome-machine\"", "expected 'isotome-plan'"},
    {"/format_version", "3", "format_version"},
    {"/digest", "\"0000000000000000\"", "'digest'"},
    {"/world", "3", "'digest'"},
    {"/world", "0", "world"},
    {"/used", "1", "used"},
    {"/layer_count", "7", "layer_count"},
    {"/batch", "null", "'batch' must be N"},
    {"/batch", "\"M\"", "'batch' must be N"},
    {"/micro_batch", "0", "micro_batch"},
    {"/micro_batch", "4294967296", "micro_batch"},
    {"/micro_batch", "8", "this program computes"},
    {"/samples", "-1", "samples"},
    {"/samples", "5", "'seconds'"},
    {"/split", "[6]", "1 counts, expected 2"},
    {"/split", "[0,6]", "split[0]"},
    {"/split", "[1,6]", "7 layers, but the model has 6"},
    {"/split", "[1,7]", "split[1]"},
    {"/split", "[1,4]", "5 layers, but the model has 6"},
    {"/split", "[2,4]", "parts[0]"},
    {"/split_kind", "\"odd\"", "'split_kind' is 'odd'"},
    {"/figures", "\"odd\"", "'figures' is 'odd'"},
    {"/seconds", "1", "'seconds'"},
    {"/bubble", "0.5", "'bubble'"},
    {"/parts/0/rank", "1", "parts[0]: 'rank' is 1"},
    {"/parts/1/weight_bytes", "5", "parts[1]: 'weight_bytes' is 5"},
    {"/parts/1/held_bytes", "5", "held_bytes"},
    {"/parts/1/activation_bytes", "5", "activation_bytes"},
    {"/parts/1/scratch_bytes", "5", "scratch_bytes"},
    {"/parts/1/buffer_bytes", "5", "buffer_bytes"},
    {"/parts/1/peak_bytes", "5", "peak_bytes"},
    {"/parts/1/receive_bytes", "5", "receive_bytes"},
    {"/parts/1/send_bytes", "5", "send_bytes"},
    {"/parts/1/layers", "5", "layers"},
    {"/parts/1/first_layer", "5", "first_layer"},
    {"/parts/1/flops", "5", "flops"},
    {"/parts/1/compute_s", "-5", "compute_s"},
    {"/parts/1/host", "5", "host"},
    {"/parts", "[]", "parts: 0 elements"},
    {"/boundaries", "[]", "boundaries: 0 elements"},
    {"/boundaries/0/name", "\"m9\"", "'name'"},
    {"/boundaries/0/shape", "\"[1,64]\"", "'shape'"},
    {"/boundaries/0/dtype", "\"f16\"", "'dtype'"},
    {"/boundaries/0/to_stage", "0", "'to_stage'"},
    {"/tied", "[]", "tied: 0 elements"},
    {"/tied/0", "\"w0\"", "'w0'"},
    {"/parts/0", "{\"hots\": 1}", "unknown member 'hots'"},
};

static void test_edited_files(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_plan_options_t options = {.world = 2,
                                  .micro_batch = 16,
                                  .samples = 100,
                                  .split_kind = ISO_SPLIT_EVEN};
    iso_plan_t *plan = make_plan(graph, &options);

    CU_ASSERT_EQUAL_FATAL(iso_plan_write(plan, "plan.json"), ISO_OK);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        expect_edit_refused(graph, &edits[i]);
    }
    iso_plan_destroy(&plan);
    CU_ASSERT_EQUAL(iso_plan_read("missing.json", graph, &plan), ISO_INPUT);
    CU_ASSERT(test_failed_with("missing.json"));
    scratch_save("empty.json", "", 0);
    CU_ASSERT_EQUAL(iso_plan_read("empty.json", graph, &plan), ISO_INPUT);
    CU_ASSERT(test_failed_with("empty.json"));
    iso_graph_destroy(&graph);
}

/* Of a plan of one stage with two workers, all of whose nodes are cut along
 * their rows, in two halves. */
static const edit_t cut_edits[] = {
    {"/grid", "[]", "0 stages, expected 1 to 6"},
    {"/grid", "[2,1]", "grid[1]"},
    {"/grid", "[1]", "used: expected 1 to 1"},
    {"/grid/0", "0", "grid[0]"},
    {"/cuts", "[]", "is"},
    {"/cuts/0/stage", "1", "stage"},
    {"/cuts/0/node", "\"m9\"", "the stage has no node 'm9'"},
    {"/cuts/0/cut", "\"odd\"", "'cut' is 'odd'"},
    {"/cuts/0/axis", "2", "axis"},
    {"/cuts/0/along", "\"cols\"", "along"},
    {"/cuts/0/pieces", "[4096]", "1 elements, but this program computes 2"},
    {"/cuts/0/pieces", "[2048,2049]", "edited.json: "},
    {"/cuts/0/pieces", "[2048,2047]", "edited.json: "},
    {"/cuts/0/pieces/0", "-1", "pieces[0]"},
    {"/cuts/0", "{\"odd\": 1}", "unknown member 'odd'"},
    {"/exchanges/0/bytes", "1", "'bytes' is 1"},
    {"/exchanges/0/kind", "\"halo\"", "'kind'"},
    {"/exchanges/0/value", "\"odd\"", "'value'"},
    {"/exchanges", "[]", "0 elements"},
    {"/parts/1/worker", "0", "'worker'"},
    {"/parts/1/exchange_bytes", "5", "exchange_bytes"},
    {"/parts/1/exchange_s", "-1", "exchange_s"},
};

static void test_edited_cuts(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_plan_options_t options = {
        .world = 2, .micro_batch = 4096, .samples = 9999, .workers = 2};
    iso_plan_t *plan = make_plan(graph, &options);

    CU_ASSERT_EQUAL_FATAL(iso_plan_write(plan, "plan.json"), ISO_OK);
    for (size_t i = 0; i < sizeof cut_edits / sizeof *cut_edits; i++) {
        expect_edit_refused(graph, &cut_edits[i]);
    }
    iso_plan_destroy(&plan);
    iso_graph_destroy(&graph);
}

/* A grouped convolution and another one, as two layers of one stage. */
static const char conv_text[] = "x = input f32[N,8,16,16]\n"
                                "w0 = param f32[8,4,3,3]\n"
                                "w1 = param f32[8,8,3,3]\n"
                                "r = conv(x, w0) groups=i:2 pads=i:1,1,1,1\n"
                                "y = conv(r, w1) pads=i:1,1,1,1\n"
                                "return y\n";

#define CUT(text) "{\"stage\": 0, \"node\": \"r\", " text "}"
#define CUT_Y                                                           \
    "{\"stage\": 0, \"node\": \"y\", \"cut\": \"split\", \"axis\": 0, " \
    "\"along\": \"batch\", \"pieces\": [2,2,2]}"
#define CUTS(first)                                                    \
    "[" first                                                          \
    ", " CUT("\"cut\": \"split\", \"axis\": 0, \"along\": \"batch\", " \
             "\"pieces\": [2,2,2]") ", " CUT_Y "]"

/* Of a plan of three workers on one host, who have two of six samples each. */
static const edit_t conv_edits[] = {
    {"/cuts/0/pieces", "[2,2]", "cuts[0].pieces: 2 elements, "},
    {"/cuts/0/pieces", "[2,2,1,1]", "cuts[0].pieces: 4 elements, "},
    {"/cuts/0/pieces", "[2,1,2]", "the pieces end at 5, expected 6"},
    {"/cuts/0/pieces", "[2,2,3]",
     "piece 2 is [4, 7), expected a range within [0, 6)"},
    {"/cuts/0/pieces", "[-1,4,3]", "cuts[0].pieces[0]: expected 0 to "},
    {"/cuts/0/pieces", "[2,2,9223372036854775807]",
     "cuts[0].pieces[2]: expected 0 to "},
    {"/cuts/0/pieces", "[2.5,1.5,2]", "cuts[0].pieces[0]: expected integer"},
    {"/cuts/0/pieces", "{}", "cuts[0].pieces: expected array"},
    /* Legal pieces, but not those that the plan's figures are for. */
    {"/cuts/0/pieces", "[3,3,0]",
     "parts[0]: 'flops' is not what this program computes"},
    {"/cuts/0",
     CUT("\"cut\": \"split\", \"axis\": 1, \"along\": \"group\", "
         "\"pieces\": [3,3,2]"),
     "axis 1: piece 0 is [0, 3), expected multiples of 4"},
    {"/cuts/0",
     CUT("\"cut\": \"partial\", \"along\": \"in-channel\", "
         "\"pieces\": [1,1,0]"),
     "reduction: cannot be cut along it"},
    {"/cuts/0/axis", "2", "cuts[0]: 'along' is not"},
    {"/cuts/0/axis", "4", "cuts[0].axis: expected 0 to 3, found 4"},
    {"/cuts/0/cut", "\"halved\"", "cuts[0]: 'cut' is 'halved'"},
    {"/cuts/0", CUT("\"cut\": \"split\", \"axis\": 0, \"along\": \"batch\""),
     "cuts[0]: member 'pieces' is missing"},
    {"/cuts/0/node", "\"r9\"", "cuts[0]: the stage has no node 'r9'"},
    {"/cuts/0/stage", "1", "cuts[0].stage: expected 0 to 0, found 1"},
    {"/cuts",
     CUTS("{\"stage\": 0, \"node\": \"x\", \"cut\": \"split\", "
          "\"axis\": 0, \"along\": \"axis\", \"pieces\": [2,2,2]}"),
     "model input 'x' is cut"},
    {"/cuts", CUTS("{\"stage\": 0, \"node\": \"w0\", \"cut\": \"all\"}"),
     "'digest' is not what"},
    {"/cuts", CUTS("{}"), "cuts[0]: member 'stage' is missing"},
    {"/cuts/0", CUT("\"why\": 1, \"cut\": \"all\""), "'why'"},
    {"/exchanges", "[{}, {}, {}]", "exchanges: 3 elements"},
    {"/exchanges/0/kind", "\"gather\"", "exchanges[0]: 'kind'"},
    {"/exchanges/0/bytes", "132768", "exchanges[0]: 'bytes'"},
    {"/grid", "[]", "grid: 0 stages"},
    {"/grid", "[0,3]", "grid[0]: expected 1 to 3, found 0"},
    {"/grid", "[2]", "used: expected 2 to 2, found 3"},
    {"/grid", "[1,2]", "split: 1 counts, expected 2"},
    {"/micro_batch", "7", "the pieces end at 6, expected 7"},
    {"/format_version", "1", "format_version"},
};

static void test_edited_cuts_of_convs(void)
{
    iso_graph_t *graph = test_graph();
    const iso_plan_options_t options = {
        .world = 3, .micro_batch = 6, .workers = 3};
    iso_machine_t *machine = NULL;
    iso_plan_t *plan = NULL;

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph, conv_text, NULL), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_machine_default(3, 0, 0, &machine), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_plan_create(graph, machine, &options, &plan),
                          ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_plan_write(plan, "plan.json"), ISO_OK);
    for (size_t i = 0; i < sizeof conv_edits / sizeof *conv_edits; i++) {
        expect_edit_refused(graph, &conv_edits[i]);
    }
    iso_plan_destroy(&plan);
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"write and read", test_write_and_read},
        {"other graph", test_other_graph},
        {"edited files", test_edited_files},
        {"edited cuts", test_edited_cuts},
        {"edited cuts of convs", test_edited_cuts_of_convs},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"plan_file", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
