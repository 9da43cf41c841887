/*
 * Attributes of a node as structs: parsed in one place, used by shape
 * inference, cost and kernels.
 *
 * iso_<op>_param_of() reads the attributes, fills defaults and checks ranges
 * that do not need the operands. Nodes of a graph have passed this once, so
 * later callers may take its success for granted (ISO_ASSERT).
 */
#ifndef ISO_PARAM_H
#define ISO_PARAM_H

#include "isotome/graph.h"

enum { ISO_MAX_SPATIAL = 3 };

/* Applied after a contraction and its bias. */
typedef enum iso_activation {
    ISO_ACTIVATION_NONE,
    ISO_ACTIVATION_RELU,
    ISO_ACTIVATION_CLIP, /* min, max: ReLU6 and friends */
    ISO_ACTIVATION_SIGMOID,
    ISO_ACTIVATION_TANH,
    ISO_ACTIVATION_LEAKY_RELU, /* alpha */
    ISO_ACTIVATION_HARD_SWISH,
} iso_activation_t;

typedef struct iso_activation_param {
    iso_activation_t kind;
    float alpha;
    float min;
    float max;
} iso_activation_param_t;

/* A sliding window over 1 to 3 spatial dims; pads are begin then end. */
typedef struct iso_window {
    int n_spatial;
    int64_t kernel[ISO_MAX_SPATIAL];
    int64_t strides[ISO_MAX_SPATIAL];
    int64_t dilations[ISO_MAX_SPATIAL];
    int64_t pads_begin[ISO_MAX_SPATIAL];
    int64_t pads_end[ISO_MAX_SPATIAL];
} iso_window_t;

typedef struct iso_conv_param {
    iso_window_t window; /* kernel from the weights' shape */
    int64_t groups;
    int64_t output_pads[ISO_MAX_SPATIAL]; /* conv_transpose only */
    iso_activation_param_t activation;
} iso_conv_param_t;

/* kernel_dims: the spatial dims of the weights, (n_spatial). */
iso_status_t iso_conv_param_of(const iso_node_t *node, int n_spatial,
                               const int64_t *kernel_dims,
                               iso_conv_param_t *param_out);

typedef struct iso_gemm_param {
    bool trans_a;
    bool trans_b;
    float alpha;
    float beta;
    iso_activation_param_t activation;
} iso_gemm_param_t;

/* For gemm and matmul (which has only the activation). */
iso_status_t iso_gemm_param_of(const iso_node_t *node,
                               iso_gemm_param_t *param_out);

typedef struct iso_pool_param {
    iso_window_t window;
    bool ceil_mode;
    bool count_pad; /* avg_pool: padding counts in the mean */
} iso_pool_param_t;

iso_status_t iso_pool_param_of(const iso_node_t *node,
                               iso_pool_param_t *param_out);

/* Output size of one windowed dim; shared by conv and pool. Errors:
 * ISO_SHAPE when the kernel is larger than the padded input. */
iso_status_t iso_window_output(const iso_node_t *node,
                               const iso_window_t *window, int spatial,
                               int64_t input, bool ceil_mode,
                               int64_t *output_out);

typedef struct iso_reduce_param {
    bool reduced[ISO_MAX_RANK]; /* by axis, negatives resolved */
    bool keep_dims;
} iso_reduce_param_t;

/* For reduce_*, arg_*; rank is the operand's. No axes: all. */
iso_status_t iso_reduce_param_of(const iso_node_t *node, int rank,
                                 iso_reduce_param_t *param_out);

/* Attribute "axis" resolved to [0, rank); fallback when it is not given. */
iso_status_t iso_axis_of(const iso_node_t *node, int rank, int64_t fallback,
                         int *axis_out);

typedef struct iso_norm_param {
    int axis; /* layer_norm: first normalised axis */
    float epsilon;
    int64_t lrn_size;
    float lrn_alpha;
    float lrn_beta;
    float lrn_bias;
} iso_norm_param_t;

iso_status_t iso_norm_param_of(const iso_node_t *node, int rank,
                               iso_norm_param_t *param_out);

/* Slice resolved against static operand dims: by axis, start, step and
 * number of elements (ONNX's clamping done). */
typedef struct iso_slice_param {
    int64_t start[ISO_MAX_RANK];
    int64_t step[ISO_MAX_RANK];
    int64_t count[ISO_MAX_RANK];
} iso_slice_param_t;

iso_status_t iso_slice_param_of(const iso_node_t *node,
                                const iso_tensor_t *operand,
                                iso_slice_param_t *param_out);

typedef enum iso_pad_mode {
    ISO_PAD_CONSTANT,
    ISO_PAD_REFLECT,
    ISO_PAD_EDGE,
} iso_pad_mode_t;

typedef struct iso_pad_param {
    int64_t begin[ISO_MAX_RANK]; /* negative crops */
    int64_t end[ISO_MAX_RANK];
    iso_pad_mode_t mode;
    double value;
} iso_pad_param_t;

iso_status_t iso_pad_param_of(const iso_node_t *node, int rank,
                              iso_pad_param_t *param_out);

typedef enum iso_resize_mode {
    ISO_RESIZE_NEAREST,
    ISO_RESIZE_LINEAR,
} iso_resize_mode_t;

typedef enum iso_resize_coordinates {
    ISO_RESIZE_HALF_PIXEL,
    ISO_RESIZE_PYTORCH_HALF_PIXEL,
    ISO_RESIZE_ALIGN_CORNERS,
    ISO_RESIZE_ASYMMETRIC,
} iso_resize_coordinates_t;

typedef enum iso_resize_nearest {
    ISO_RESIZE_ROUND_PREFER_FLOOR,
    ISO_RESIZE_ROUND_PREFER_CEIL,
    ISO_RESIZE_FLOOR,
    ISO_RESIZE_CEIL,
} iso_resize_nearest_t;

typedef struct iso_resize_param {
    iso_resize_mode_t mode;
    iso_resize_coordinates_t coordinates;
    iso_resize_nearest_t nearest;
    /* output / input as the model says it; 0: it gives sizes only, so that
     * the ratio of the dims is the scale */
    double scales[ISO_MAX_RANK];
} iso_resize_param_t;

iso_status_t iso_resize_param_of(const iso_node_t *node, int rank,
                                 iso_resize_param_t *param_out);

/* For depth_to_space and space_to_depth (which has no mode). */
typedef struct iso_block_param {
    int64_t block;
    bool crd; /* depth is column, row, depth; else depth, column, row */
} iso_block_param_t;

iso_status_t iso_block_param_of(const iso_node_t *node,
                                iso_block_param_t *param_out);

/* perm of a transpose, checked to be a permutation; default reversed. */
iso_status_t iso_perm_of(const iso_node_t *node, int rank,
                         int perm_out[ISO_MAX_RANK]);

/* Scalar attributes with a fallback; wrong kind or count is ISO_INVAL. */
iso_status_t iso_attr_int(const iso_node_t *node, const char *name,
                          int64_t fallback, int64_t *value_out);
iso_status_t iso_attr_float(const iso_node_t *node, const char *name,
                            double fallback, double *value_out);

/* Target of a cast. */
iso_status_t iso_cast_target(const iso_node_t *node, iso_dtype_t *dtype_out);

#endif
