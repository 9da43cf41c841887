/*
 * Rules of cuts, one file for each group of ops; private to src/plan/shard.
 *
 * A rule says how the pieces of a value along one of its axes are linked to
 * one operand. It begins with "one element is the least piece, every piece
 * reads the whole operand" and changes what is otherwise. Nothing here
 * allocates.
 */
#ifndef ISO_CUT_IMPL_H
#define ISO_CUT_IMPL_H

#include "graph/param.h"
#include "plan/shard/cut.h"

/* Which axis of which node's value, and which operand. */
typedef struct iso__cut_in {
    const iso_graph_t *graph;
    const iso_node_t *node;
    int axis;
    int operand;
} iso__cut_in_t;

/*
 * Piece [b, e) of the value reads [b / unit * size, e / unit * size) of the
 * operand's axis; a window reads what iso__cut_window_part says. The unit is
 * the same for all operands of a node and divides the axis.
 */
typedef struct iso__cut_link {
    int64_t unit; /* 0: no cut */
    int axis;     /* of the operand, or ISO_AXIS_WHOLE */
    int64_t size;
    bool window;
} iso__cut_link_t;

typedef iso_status_t iso__cut_rule_t(const iso__cut_in_t *in,
                                     iso__cut_link_t *link);

iso__cut_rule_t iso__cut_broadcast; /* operands are broadcast to the value */
iso__cut_rule_t iso__cut_conv;
iso__cut_rule_t iso__cut_matmul;
iso__cut_rule_t iso__cut_gemm;
iso__cut_rule_t iso__cut_reduce;
iso__cut_rule_t iso__cut_norm;
iso__cut_rule_t iso__cut_pool;
iso__cut_rule_t iso__cut_reshape;
iso__cut_rule_t iso__cut_transpose;
iso__cut_rule_t iso__cut_concat;
iso__cut_rule_t iso__cut_slice;
iso__cut_rule_t iso__cut_pad;
iso__cut_rule_t iso__cut_gather;
iso__cut_rule_t iso__cut_gather_elements;
iso__cut_rule_t iso__cut_tile;
iso__cut_rule_t iso__cut_depth_to_space;
iso__cut_rule_t iso__cut_space_to_depth;
iso__cut_rule_t iso__cut_resize;

/* Shape of an operand that is given. */
const iso_shape_t *iso__cut_shape(const iso__cut_in_t *in, int operand);

/* The axis is the same in the operand. */
void iso__cut_same_axis(const iso__cut_in_t *in, iso__cut_link_t *link);

/* For conv and conv_transpose. */
iso_status_t iso__cut_conv_param(const iso__cut_in_t *in,
                                 iso_conv_param_t *param_out);

/* What a piece of a windowed axis reads of x, and how far it reaches out. */
typedef struct iso__window_part {
    iso_range_t range; /* empty: every window lies in the padding */
    int64_t pad_begin;
    int64_t pad_end;
} iso__window_part_t;

/* For conv and pools, in->axis >= 2. */
iso_status_t iso__cut_window_part(const iso__cut_in_t *in, iso_range_t range,
                                  iso__window_part_t *part_out);

/* The pads of the piece, (2 n_spatial) as in the attribute. */
iso_status_t iso__cut_window_pads(const iso__cut_in_t *in, iso_range_t range,
                                  int64_t *pads_out, int *count_out);

/* ---- Adding pieces ---- */

enum { ISO__CUT_ATTRS = 16 }; /* more than any node has */

/* A local node is what the slab of the operand would be.
 * Errors: ISO_SHAPE naming node, operand, shape found and expected. */
iso_status_t iso__cut_check_input(const iso__cut_in_t *in,
                                  const iso_slab_t *slab,
                                  const iso_graph_t *local,
                                  iso_node_id_t input);

#endif
