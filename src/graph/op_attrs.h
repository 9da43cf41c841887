/*
 * The attributes that each op takes, by name. A graph refuses any other, so
 * that a misspelt or forgotten attribute is never silently a default.
 *
 *   op               attribute          kind    value, "=default"
 *   ---------------  -----------------  ------  ----------------------------
 *   leaky_relu       alpha              floats  =0.01
 *   elu              alpha              floats  =1
 *   selu             alpha, gamma       floats  =1.67326..., =1.05070...
 *   hard_sigmoid     alpha, beta        floats  =0.2, =0.5
 *   clip             min, max           floats  =-inf, =inf
 *   cast             to                 text    a dtype, "f32"
 *   mod              fmod               ints    =0 (sign of divisor) or 1
 *   conv             strides, dilations ints    (n_spatial) =1
 *                    pads               ints    (2 n_spatial) begins, ends =0
 *                    groups             ints    =1
 *                    activation...      below
 *   conv_transpose   as conv, and
 *                    output_pads        ints    (n_spatial) =0
 *   matmul           activation...      below
 *   gemm             trans_a, trans_b   ints    =0 or 1
 *                    alpha, beta        floats  =1
 *                    activation...      below
 *   contractions     activation         text    =none: relu, clip, sigmoid,
 *                                               tanh, leaky_relu, hard_swish
 *                    activation_alpha   floats  leaky_relu =0.01
 *                    activation_min,
 *                    activation_max     floats  clip =-inf, =inf
 *   reduce_*         axes               ints    =all
 *                    keep_dims          ints    =1
 *   arg_*            axis               ints    =0
 *                    keep_dims          ints    =1
 *   softmax,
 *   log_softmax      axis               ints    =-1
 *   batch_norm,
 *   instance_norm    epsilon            floats  =1e-5
 *   layer_norm       axis               ints    =-1
 *                    epsilon            floats  =1e-5
 *   lrn              size               ints    required
 *                    alpha, beta, bias  floats  =1e-4, =0.75, =1
 *   *_pool           kernel             ints    (n_spatial) required
 *                    strides, dilations ints    (n_spatial) =1
 *                    pads               ints    (2 n_spatial) =0
 *                    ceil_mode,
 *                    count_pad          ints    =0 or 1
 *   reshape, expand  shape              dims    required
 *   transpose        perm               ints    =reversed
 *   concat           axis               ints    required
 *   slice            starts, ends       dims    required
 *                    axes               ints    =0, 1, ...
 *                    steps              ints    =1
 *   pad              pads               ints    (2 rank) begins, ends
 *                    mode               text    =constant, reflect, edge
 *                    value              floats  =0
 *   gather,
 *   gather_elements  axis               ints    =0
 *   tile             repeats            ints    (rank) required
 *   depth_to_space   block              ints    required
 *                    mode               text    =dcr, crd
 *   space_to_depth   block              ints    required
 *   resize           shape              dims    required
 *                    scales             floats  (rank) =output / input
 *                    mode               text    =nearest, linear
 *                    coordinates        text    =half_pixel,
 *                                               pytorch_half_pixel,
 *                                               align_corners, asymmetric
 *                    nearest            text    =round_prefer_floor,
 *                                               round_prefer_ceil, floor,
 *                                               ceil
 *   dims             values             dims    required
 *   iota             start              dims    =0
 *                    step               ints    =1
 *                    n                  dims    required
 *   exchange         number             ints    required, of the exchange
 *                    dtype              text    required
 *                    shape              dims    required
 */
#ifndef ISO_OP_ATTRS_H
#define ISO_OP_ATTRS_H

#include "isotome/op.h"

/* Names that op takes; the list ends with NULL. */
const char *const *iso_op_attr_names(iso_op_t op);

#endif
