#include "plan/place/device_spec.h"

#include "isotome/error.h"

#include "base/text.h"
#include "kernel/cuda.h"
#include "kernel/ref.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ORDINAL = 1023 };
static const double giga = 1e9;

/* What follows a word at the beginning of a text; NULL: another word. */
static const char *behind(const char *text, const char *word)
{
    const size_t length = strlen(word);

    return strncmp(text, word, length) == 0 ? text + length : NULL;
}

static iso_status_t parse_cuda(const char *rest, iso_device_spec_t *spec)
{
    int64_t ordinal = -1;

    if (*rest != '\0') {
        ISO_TRY(iso_text_parse_int(rest, "the number of a device 'cudaN'", 0,
                                   MOST_ORDINAL, &ordinal));
    }
    spec->type = ISO_DEVICE_CUDA;
    spec->ordinal = (int)ordinal;
    return ISO_OK;
}

static iso_status_t parse_throttled(const char *rest, iso_device_spec_t *spec)
{
    double rate = 1.0;

    spec->type = ISO_DEVICE_THROTTLED;
    if (*rest != '\0') {
        ISO_TRY(iso_text_parse_double(
            rest + 1, "the rate of a device 'throttled:RATE'", &rate));
        if (!(rate > 0.0)) {
            return iso_fail(ISO_INVAL,
                            "device '%s': a rate of %g Gflop/s, expected more "
                            "than 0",
                            spec->name, rate);
        }
    }
    spec->flops_per_s = rate * giga;
    return ISO_OK;
}

iso_status_t iso__device_spec_parse(const char *name,
                                    iso_device_spec_t *spec_out)
{
    const char *cuda = behind(name, "cuda");
    const char *throttled = behind(name, "throttled");

    *spec_out = (iso_device_spec_t){.ordinal = -1};
    if (strlen(name) < sizeof spec_out->name) {
        (void)snprintf(spec_out->name, sizeof spec_out->name, "%s", name);
        if (strcmp(name, "ref") == 0) {
            spec_out->type = ISO_DEVICE_REF;
            return ISO_OK;
        }
        if (strcmp(name, "cpu") == 0) {
            spec_out->type = ISO_DEVICE_CPU;
            return ISO_OK;
        }
        if (cuda != NULL) {
            return parse_cuda(cuda, spec_out);
        }
        if (throttled != NULL && (*throttled == '\0' || *throttled == ':')) {
            return parse_throttled(throttled, spec_out);
        }
    }
    return iso_fail(ISO_INVAL,
                    "no device '%s'; there are: ref, cpu, cuda, cudaN, "
                    "throttled[:RATE]",
                    name);
}

/* ---- What it computes ---- */

bool iso__node_has_device(const iso_node_t *node)
{
    return !iso_node_is_leaf(node) && node->op != ISO_OP_RESHAPE &&
           iso_op_info(node->op)->op_class != ISO_OP_CLASS_EXCHANGE;
}

static bool is_supported(const iso_graph_t *graph, const iso_node_t *node)
{
    return iso_ref_supports(node->op,
                            node->n_inputs > 0
                                ? iso_graph_node(graph, node->inputs[0])->dtype
                                : node->dtype);
}

static bool does_throttled(const iso_node_t *node)
{
    return iso_op_info(node->op)->op_class == ISO_OP_CLASS_CONTRACT ||
           node->op == ISO_OP_ADD || node->op == ISO_OP_RELU;
}

bool iso_device_does(const iso_device_spec_t *device, const iso_graph_t *graph,
                     iso_node_id_t node)
{
    const iso_node_t *what = iso_graph_node(graph, node);

    switch (device->type) {
    case ISO_DEVICE_REF:
    case ISO_DEVICE_CPU:
        return is_supported(graph, what);
    case ISO_DEVICE_THROTTLED:
        return is_supported(graph, what) && does_throttled(what);
    case ISO_DEVICE_CUDA:
        return iso_cuda_supports(graph, node);
    }
    return false;
}
