/*
 * Formats: how each value of a graph lies in memory while a program of the
 * fast kernels runs, and which nodes are computed in one step. Decided by a
 * pure function of the graph, because the planner counts the bytes.
 *
 * plain    row-major: what every value is outside of a program.
 * blocked  for f32 values (N, C, spatial...) of rank 3 to 5: channels in
 *          blocks of 16, (N, ceil(C / 16), spatial..., 16). Lanes behind the
 *          last channel hold numbers without meaning.
 *
 * A node makes its value in one format; where a reader wants the other one,
 * the program makes a copy before the first such reader. Graph outputs,
 * operands of exchanges and of reshapes are plain.
 *
 * A contraction of constant weights ("direct") is joined with the addition
 * that alone reads it, and that with the activation that alone reads it:
 * conv -> add -> relu is one step, run where the last of them stands; the
 * others make no value. Not across an exchange, for which others wait. So are
 * the nodes of a chain (chain.h). The bits are those of the single nodes.
 * What a product of two values reads may be a view (view.h).
 */
#ifndef ISO_FORMAT_H
#define ISO_FORMAT_H

#include "isotome/graph.h"

#include "kernel/view.h"

enum { ISO_BLOCK_CHANNELS = 16 };

typedef enum iso_format {
    ISO_FORMAT_PLAIN,
    ISO_FORMAT_BLOCKED,
} iso_format_t;

struct iso_formats {
    int32_t n_nodes;
    iso_format_t *made;    /* (n_nodes); PLAIN for leaves, which nobody makes,
                            * and for reshapes */
    bool *has_copy;        /* (n_nodes) in the other format, too */
    iso_node_id_t *joined; /* (n_nodes) its last reader, with which, as with
                            * all others, it is computed; ISO_NO_NODE: it
                            * makes a value */
    bool *is_chain;        /* (n_nodes) the last node of a chain */
    bool *is_view;         /* (n_nodes) its elements are another value's,
                            * which views tells; nobody makes it */
    iso_view_t *views;     /* (n_nodes) */
};

/*
 * graph  [in]  static
 * joins  [in]  false: every node makes its value, for those who look at all
 * Errors: ISO_SHAPE for an unbound dim; ISO_NOMEM.
 */
iso_status_t iso_formats_create(const iso_graph_t *graph, bool joins,
                                iso_formats_t *formats_out);
void iso_formats_free(iso_formats_t *formats);

/*
 * In which format node reads operand number i, as made[] says of node (and
 * of that operand, where the node reads either).
 */
iso_format_t iso_formats_read(const iso_graph_t *graph,
                              const iso_formats_t *formats, iso_node_id_t node,
                              int input);

/* Bytes of a value in a format. Errors: ISO_SHAPE. */
iso_status_t iso_format_bytes(const iso_node_t *node, iso_format_t format,
                              size_t *bytes_out);

/* Channels rounded up to whole blocks. */
int64_t iso_blocked_channels(int64_t channels);

#endif
