/*
 * ONNX import, private to src/model/onnx.
 *
 * A model is a list of operators over named values. A value is known in one
 * of three ways: as an initializer not yet looked at, as integers that may
 * be expressions of free dims (graph/symbolic.h), or as a node of the graph.
 * Each operator has one converter, found by name in a table; it asks for its
 * inputs in the form it needs (iso__onnx_data makes a node where there is
 * none, iso__onnx_ints looks for integers) and binds its outputs.
 *
 * What depends on small constants alone is computed as it is added, so that
 * shape arithmetic in any type ends as constants. Converters record failures
 * without naming the operator: the caller puts it in front.
 */
#ifndef ISO_ONNX_IMPL_H
#define ISO_ONNX_IMPL_H

#include "isotome/onnx.h"

#include "base/arena.h"
#include "base/names.h"
#include "graph/pass.h"
#include "graph/symbolic.h"

#include <onnx/onnx.pb-c.h>

/* -- values -- */

/* What a weight is for, which gives the scale of its random values. */
typedef enum iso__role {
    ISO__ROLE_OTHER,
    ISO__ROLE_FIXED,  /* an operand with a meaning: never replaced */
    ISO__ROLE_CONV,   /* scale from the fan-in */
    ISO__ROLE_GEMM,   /* the same, small */
    ISO__ROLE_SCALE,  /* near one */
    ISO__ROLE_OFFSET, /* near zero */
} iso__role_t;

typedef struct iso__value {
    const char *name;               /* borrowed from the protobuf */
    Onnx__TensorProto *initializer; /* not yet loaded, else NULL */
    const iso_ints_t *ints;         /* known integers, else NULL */
    iso_node_id_t node;             /* ISO_NO_NODE until one is made */
    int64_t n_uses;                 /* by operators and as model outputs */
    iso__role_t role;               /* from its first use */
    bool is_made;
} iso__value_t;

typedef struct iso__import {
    const char *path;
    const iso_onnx_options_t *options;
    const Onnx__ModelProto *model;
    int64_t opset;
    iso_dim_t batch;    /* "N", used with free_batch */
    iso_arena_t *arena; /* texts and integers */
    iso_graph_t *graph;
    iso_weights_t *weights;
    iso_names_t *names;   /* name of a value to its index in values */
    iso__value_t *values; /* (n_values) */
    int64_t n_values;
    const iso__value_t *image; /* input to be normalised, or NULL */
} iso__import_t;

/* List the names of all values and who uses them. */
iso_status_t iso__onnx_values_create(iso__import_t *import);
void iso__onnx_values_destroy(iso__import_t *import);

/* NULL when the model has no such name. */
iso__value_t *iso__onnx_value(const iso__import_t *import, const char *name);

/* Say that a value is made. Errors: ISO_INPUT when it was already; the first
 * only looks. */
iso_status_t iso__onnx_value_need_new(const iso__value_t *value);
iso_status_t iso__onnx_value_make(iso__value_t *value);

/* The node of a value that is made; adds one where there is none. */
iso_status_t iso__onnx_value_node(iso__import_t *import, iso__value_t *value,
                                  iso_node_id_t *node_out);

/*
 * Add elements under a value's name: a param when they are a weight (several
 * floats, or many bytes), else a constant; weights get random values when
 * that is asked for.
 *
 * tensor  [in]  its data is taken over, also on failure
 */
iso_status_t iso__onnx_add_tensor(iso__import_t *import, iso__value_t *value,
                                  iso_tensor_t *tensor,
                                  iso_node_id_t *node_out);

/* A name that neither the graph nor the model has: "base.part" and, if that
 * is taken, a number. NULL on failure. */
const char *iso__onnx_name(iso__import_t *import, const char *base,
                           const char *part);

/* Elements of a constant or a param, *known_out false when it is neither. */
iso_status_t iso__onnx_node_elements(const iso__import_t *import,
                                     iso_node_id_t node_id,
                                     iso_tensor_t *tensor_out, bool *known_out);

/* -- operators -- */

typedef struct iso__onnx_entry iso__onnx_entry_t;

/* An operator while it is converted. */
typedef struct iso__onnx_op {
    iso__import_t *import;
    const Onnx__NodeProto *proto;
    const iso__onnx_entry_t *entry;
    const char *name;    /* its own or that of its first output */
    uint64_t seen_attrs; /* bit i: attribute i was asked for */
} iso__onnx_op_t;

typedef iso_status_t (*iso__onnx_convert_fn)(iso__onnx_op_t *op);

/* A line of the table; the last line of each list has no type. */
struct iso__onnx_entry {
    const char *type;
    int least_opset;
    int most_opset;
    iso__onnx_convert_fn convert;
    iso_op_t op; /* for converters that serve several */
};

enum { ISO__LEAST_OPSET = 6, ISO__MOST_OPSET = 17 };

extern const iso__onnx_entry_t iso__onnx_elementwise[];
extern const iso__onnx_entry_t iso__onnx_contract[];
extern const iso__onnx_entry_t iso__onnx_shape[];
extern const iso__onnx_entry_t iso__onnx_range[];
extern const iso__onnx_entry_t iso__onnx_reduce[];
extern const iso__onnx_entry_t iso__onnx_norm[];
extern const iso__onnx_entry_t iso__onnx_pool[];
extern const iso__onnx_entry_t iso__onnx_move[];
extern const iso__onnx_entry_t iso__onnx_resize[];

/* NULL when the operator is not supported in this opset. */
const iso__onnx_entry_t *iso__onnx_find(const Onnx__NodeProto *proto,
                                        int64_t opset);

/* The operator's own name or that of its first output. */
const char *iso__onnx_node_name(const Onnx__NodeProto *proto);

/* Errors: ISO_UNSUPPORTED with one line that names all operators that are
 * not in the table. */
iso_status_t iso__onnx_check_operators(const iso__import_t *import);

/* -- inputs of an operator -- */

int iso__onnx_n_inputs(const iso__onnx_op_t *op);

/* Is input index given (present and not the empty name)? */
bool iso__onnx_has(const iso__onnx_op_t *op, int index);

/* The node of an input; the second gives ISO_NO_NODE when it is not given. */
iso_status_t iso__onnx_data(iso__onnx_op_t *op, int index,
                            iso_node_id_t *node_out);
iso_status_t iso__onnx_data_or_none(iso__onnx_op_t *op, int index,
                                    iso_node_id_t *node_out);

/* Shape and dtype of an input, without making a node of integers. */
iso_status_t iso__onnx_shape_of(iso__onnx_op_t *op, int index,
                                iso_shape_t *shape_out);

/* Integers of an input, NULL when they are not known or it is not given. */
iso_status_t iso__onnx_ints(iso__onnx_op_t *op, int index,
                            const iso_ints_t **ints_out);

/* As above, only when an element is symbolic: what must not become a node. */
iso_status_t iso__onnx_symbolic(iso__onnx_op_t *op, int index,
                                const iso_ints_t **ints_out);

/* As above; not known is ISO_UNSUPPORTED. what: "shape", "axes", ... */
iso_status_t iso__onnx_need_ints(iso__onnx_op_t *op, int index,
                                 const char *what, const iso_ints_t **ints_out);

/* A list of numbers, at most ISO__MOST_NUMBERS. */
enum { ISO__MOST_NUMBERS = 2 * ISO_MAX_RANK };
typedef struct iso__numbers {
    int count;
    bool is_given;
    int64_t value[ISO__MOST_NUMBERS];
} iso__numbers_t;

/* Known numbers of an input; is_given false when it is not given. */
iso_status_t iso__onnx_numbers(iso__onnx_op_t *op, int index, const char *what,
                               iso__numbers_t *numbers_out);

/* Elements of an input that is constant. */
iso_status_t iso__onnx_elements(iso__onnx_op_t *op, int index,
                                iso_tensor_t *tensor_out, bool *known_out);

/* One number from an input that is a constant of one element. */
iso_status_t iso__onnx_scalar(iso__onnx_op_t *op, int index, double *value_out,
                              bool *known_out);

/* Element index of a tensor as a double. */
double iso__onnx_element(const iso_tensor_t *tensor, int64_t index);

/* -- attributes of an operator -- */

/* Errors of all: ISO_INPUT for an attribute of another type. */
iso_status_t iso__onnx_attr(iso__onnx_op_t *op, const char *name, int type,
                            const Onnx__AttributeProto **attr_out);
iso_status_t iso__onnx_attr_int(iso__onnx_op_t *op, const char *name,
                                int64_t fallback, int64_t *value_out);
iso_status_t iso__onnx_attr_float(iso__onnx_op_t *op, const char *name,
                                  double fallback, double *value_out);
iso_status_t iso__onnx_attr_ints(iso__onnx_op_t *op, const char *name,
                                 iso__numbers_t *numbers_out);
iso_status_t iso__onnx_attr_text(iso__onnx_op_t *op, const char *name,
                                 const char *fallback, const char **text_out);

/* Accept attributes that change nothing here; the list ends with NULL. */
void iso__onnx_attr_ignore(iso__onnx_op_t *op, const char *const *names);

/* Errors: ISO_UNSUPPORTED for an attribute that nobody asked for. */
iso_status_t iso__onnx_attr_check(const iso__onnx_op_t *op);

/* Numbers from attribute name before opset, from input index since. */
iso_status_t iso__onnx_attr_or_input(iso__onnx_op_t *op, const char *name,
                                     int opset, int index,
                                     iso__numbers_t *numbers_out);

/* Resolve axes or an axis against a rank. Errors: ISO_SHAPE out of range. */
iso_status_t iso__onnx_axes_resolve(iso__numbers_t *axes, int rank);
iso_status_t iso__onnx_axis_resolve(int64_t axis, int rank, int *axis_out);

/* -- nodes in the making -- */

/* A node and its attributes; scalars are kept inside, lists are borrowed. */
enum { ISO__MOST_ATTRS = 12 };
typedef struct iso__draft {
    iso_op_t op;
    int n_inputs;
    const iso_node_id_t *inputs;
    int n_attrs;
    iso_attr_t attrs[ISO__MOST_ATTRS];
    int64_t ints[ISO__MOST_ATTRS];
    double floats[ISO__MOST_ATTRS];
} iso__draft_t;

void iso__draft_begin(iso__draft_t *draft, iso_op_t op, int n_inputs,
                      const iso_node_id_t *inputs);
void iso__draft_int(iso__draft_t *draft, const char *name, int64_t value);
void iso__draft_ints(iso__draft_t *draft, const char *name,
                     const int64_t *values, int count);
void iso__draft_float(iso__draft_t *draft, const char *name, double value);
void iso__draft_floats(iso__draft_t *draft, const char *name,
                       const double *values, int count);
void iso__draft_text(iso__draft_t *draft, const char *name, const char *text);
void iso__draft_dims(iso__draft_t *draft, const char *name,
                     const iso_dim_t *dims, int count);

/* Add a draft to the graph under a name of its own; computed at once when it
 * is small and its operands are known. */
iso_status_t iso__onnx_add(iso__import_t *import, const char *name,
                           const iso__draft_t *draft, iso_node_id_t *node_out);

/* Add a step on the way to the operator's output, named after that and part.
 */
iso_status_t iso__onnx_step(iso__onnx_op_t *op, const char *part,
                            const iso__draft_t *draft, iso_node_id_t *node_out);
iso_status_t iso__onnx_step_unary(iso__onnx_op_t *op, const char *part,
                                  iso_op_t kind, iso_node_id_t a,
                                  iso_node_id_t *node_out);
iso_status_t iso__onnx_step_binary(iso__onnx_op_t *op, const char *part,
                                   iso_op_t kind, iso_node_id_t a,
                                   iso_node_id_t b, iso_node_id_t *node_out);

/* A reshape; the operand itself when it has this shape. */
iso_status_t iso__onnx_step_reshape(iso__onnx_op_t *op, const char *part,
                                    iso_node_id_t a, const iso_shape_t *shape,
                                    iso_node_id_t *node_out);

/* A cast; the operand itself when it has this type. */
iso_status_t iso__onnx_step_cast(iso__onnx_op_t *op, const char *part,
                                 iso_node_id_t a, iso_dtype_t dtype,
                                 iso_node_id_t *node_out);

/* A scalar constant. */
iso_status_t iso__onnx_step_number(iso__onnx_op_t *op, const char *part,
                                   iso_dtype_t dtype, double value,
                                   iso_node_id_t *node_out);

/* Store a number as an element, rounded once; integers cut its fraction. */
void iso__onnx_store(iso_dtype_t dtype, double value, void *element);

/* -- outputs of an operator -- */

/* Output index is this node, or these integers (copied). */
iso_status_t iso__onnx_bind(iso__onnx_op_t *op, int index, iso_node_id_t node);
iso_status_t iso__onnx_bind_ints(iso__onnx_op_t *op, int index,
                                 const iso_ints_t *ints);

/* Output 0 is these elements; their data is taken over, also on failure. */
iso_status_t iso__onnx_bind_tensor(iso__onnx_op_t *op, iso_tensor_t *tensor);

/* Add the draft as the node of output 0; one with unary operands, one of two.
 */
iso_status_t iso__onnx_finish(iso__onnx_op_t *op, const iso__draft_t *draft);
iso_status_t iso__onnx_finish_unary(iso__onnx_op_t *op, iso_op_t kind,
                                    iso_node_id_t a);
iso_status_t iso__onnx_finish_binary(iso__onnx_op_t *op, iso_op_t kind,
                                     iso_node_id_t a, iso_node_id_t b);
iso_status_t iso__onnx_finish_reshape(iso__onnx_op_t *op, iso_node_id_t a,
                                      const iso_shape_t *shape);

/* Output 0 is input 0. */
iso_status_t iso__onnx_pass_on(iso__onnx_op_t *op);

static inline const iso_node_t *iso__onnx_node(const iso__onnx_op_t *op,
                                               iso_node_id_t node)
{
    return iso_graph_node(op->import->graph, node);
}

static inline int64_t iso__onnx_opset(const iso__onnx_op_t *op)
{
    return op->import->opset;
}

/* -- windows -- */

/* Strides, dilations and pads of a convolution or pool; pads are begins then
 * ends, resolved from auto_pad. */
typedef struct iso__onnx_window {
    int n_spatial;
    int64_t kernel[ISO_MAX_RANK];
    int64_t strides[ISO_MAX_RANK];
    int64_t dilations[ISO_MAX_RANK];
    int64_t pads[2 * ISO_MAX_RANK];
} iso__onnx_window_t;

/*
 * Read strides, dilations, pads and auto_pad.
 *
 * input   [in]      (batch, channels, spatial...)
 * window  [in,out]  n_spatial and kernel are set
 */
iso_status_t iso__onnx_window_of(iso__onnx_op_t *op, const iso_shape_t *input,
                                 iso__onnx_window_t *window);

/* The parts of it: strides and dilations, checked; pads, which are zero unless
 * they are given, and what auto_pad says of them. */
typedef enum iso__onnx_pads {
    ISO__PADS_GIVEN,
    ISO__PADS_NONE,
    ISO__PADS_SAME_UPPER,
    ISO__PADS_SAME_LOWER,
} iso__onnx_pads_t;

iso_status_t iso__onnx_steps_of(iso__onnx_op_t *op, iso__onnx_window_t *window);
iso_status_t iso__onnx_pads_of(iso__onnx_op_t *op, iso__onnx_window_t *window,
                               iso__onnx_pads_t *kind_out);

/* Attribute with n values, each fallback when it is not given. */
iso_status_t iso__onnx_spatial(iso__onnx_op_t *op, const char *name, int n,
                               int64_t fallback, int64_t *values);

/* -- files and tensors -- */

/* Map, check and unpack a model. *model_out: iso__onnx_file_free(). */
iso_status_t iso__onnx_file_read(const char *path,
                                 Onnx__ModelProto **model_out);
void iso__onnx_file_free(Onnx__ModelProto **model);

/*
 * Walk a packed message before it is unpacked: every length inside its
 * parent, texts that are UTF-8, and nesting that an unpacker which calls
 * itself can bear.
 */
iso_status_t iso__onnx_check_bytes(const uint8_t *bytes, size_t size,
                                   const ProtobufCMessageDescriptor *type);

/*
 * Elements of a tensor, checked against its dims.
 *
 * proto       [in,out]  raw data may be taken over
 * tensor_out  [out]     data is the caller's, iso_free()
 * Errors: ISO_INPUT, ISO_UNSUPPORTED, naming the tensor.
 */
iso_status_t iso__onnx_tensor_load(const char *model_path,
                                   Onnx__TensorProto *proto,
                                   iso_tensor_t *tensor_out);

/* Dtype and dims of a tensor; *bytes_out is the size of its elements. */
iso_status_t iso__onnx_tensor_head(const Onnx__TensorProto *proto,
                                   iso_tensor_t *tensor_out, size_t *bytes_out);

/* Elements that lie in another file beside the model; *data_out is the
 * caller's, iso_free(). */
iso_status_t iso__onnx_external_load(const char *model_path,
                                     const Onnx__TensorProto *proto,
                                     size_t bytes, void **data_out);

/* -- steps of an import -- */

/* Inputs, operators and outputs of the model to import->graph. */
iso_status_t iso__onnx_convert(iso__import_t *import);

/* Find the image input when the options ask for one. Errors: ISO_INVAL when
 * there is none or more than one. */
iso_status_t iso__onnx_choose_image(iso__import_t *import);

/* Add an input; the image one is bytes, and the value is what the options
 * make of it. Errors: ISO_INVAL for lists that do not fit the channels. */
iso_status_t iso__onnx_add_input(iso__import_t *import, iso__value_t *value,
                                 iso_dtype_t dtype, const iso_shape_t *shape);

/* What the operand in this slot of this operator is for. */
iso__role_t iso__onnx_role(const char *op_type, size_t slot);

/* Is this a weight that random values replace? Then do so. */
void iso__onnx_seed(const iso__import_t *import, const iso__value_t *value,
                    const iso_tensor_t *tensor);

#endif
