#include "kernel/cuda.h"
#include "kernel/cuda/plan.h"

/* Operands of the ops with most of them, but for concat, whose first ones
 * say all. */
enum { OPERANDS = 8 };

/* A node's operands and value as tensors without data. */
typedef struct forms {
    iso_node_t node; /* with at most OPERANDS inputs */
    iso_tensor_t operand[OPERANDS];
    const iso_tensor_t *inputs[OPERANDS];
    iso_tensor_t output;
} forms_t;

/* A dim that has a name counts as 1. */
static iso_tensor_t form_of(const iso_node_t *node)
{
    iso_tensor_t form = {.dtype = node->dtype, .rank = node->shape.rank};

    for (int axis = 0; axis < form.rank; axis++) {
        const iso_dim_t dim = node->shape.dim[axis];

        form.dims[axis] = iso_dim_is_static(dim) ? dim.size : 1;
    }
    return form;
}

static void forms_of(const iso_graph_t *graph, const iso_node_t *node,
                     forms_t *forms)
{
    forms->node = *node;
    if (node->n_inputs > OPERANDS) {
        forms->node.n_inputs = OPERANDS;
    }
    for (int i = 0; i < forms->node.n_inputs; i++) {
        const iso_node_id_t id = node->inputs[i];

        forms->inputs[i] = NULL;
        if (id != ISO_NO_NODE) {
            forms->operand[i] = form_of(iso_graph_node(graph, id));
            forms->inputs[i] = &forms->operand[i];
        }
    }
    forms->output = form_of(node);
}

bool iso_cuda_supports(const iso_graph_t *graph, iso_node_id_t node)
{
    forms_t forms;

    forms_of(graph, iso_graph_node(graph, node), &forms);
    return iso__cuda_does(&forms.node, forms.inputs, &forms.output);
}

size_t iso_cuda_scratch_bytes(const iso_graph_t *graph, iso_node_id_t node)
{
    iso__cuda_contract_t contract;
    forms_t forms;

    forms_of(graph, iso_graph_node(graph, node), &forms);
    if (iso_op_info(forms.node.op)->op_class != ISO_OP_CLASS_CONTRACT ||
        !iso__cuda_does(&forms.node, forms.inputs, &forms.output) ||
        iso_tensor_count(&forms.output) == 0 ||
        iso__cuda_is_direct(&forms.node, forms.inputs, &forms.output) ||
        iso__cuda_contract_of(&forms.node, forms.inputs, &forms.output,
                              &contract) != ISO_OK) {
        return 0;
    }
    return iso__cuda_contract_bytes(&contract);
}
