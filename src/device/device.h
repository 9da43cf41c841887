/*
 * Devices: a device is a table of functions that compiles a graph into a
 * program and runs it. "ref" defines the bits, "cpu" is fast.
 *
 *     ISO_TRY(iso_device_open("cpu", threads, &device));
 *     iso_program_options_t options = {.buffer = NULL};
 *     ISO_TRY(iso_program_create(device, stage_graph, &options, &program));
 *     ISO_TRY(iso_program_bind(program, "conv1.weight", weights));
 *     ISO_TRY(iso_program_bind(program, "x", micro_batch));
 *     ISO_TRY(iso_program_run(program));
 *     const void *y = iso_program_output(program, 0);
 *
 * Everything is reserved when a program is made; running on "cpu" allocates
 * nothing. "ref" borrows room for one node at a time, and for no other than a
 * contraction.
 */
#ifndef ISO_DEVICE_H
#define ISO_DEVICE_H

#include "isotome/graph.h"

typedef struct iso_device iso_device_t;
typedef struct iso_program iso_program_t;

/*
 * threads >= 1. Errors: ISO_INVAL for an unknown name, with the list of those
 * there are; ISO_UNSUPPORTED on a CPU without FMA; what the device needs and
 * does not find.
 */
iso_status_t iso_device_open(const char *name, int threads,
                             iso_device_t **device_out);
void iso_device_close(iso_device_t **device);

/* "cpu skx, 2 threads": for reports; borrowed. */
const char *iso_device_text(const iso_device_t *device);

typedef struct iso_program_options {
    void *buffer;        /* for activations, borrowed; NULL: own */
    size_t buffer_bytes; /* of buffer */
} iso_program_options_t;

/* Bytes of activations that a program for this static graph needs. */
iso_status_t iso_program_buffer_bytes(const iso_graph_t *graph,
                                      size_t *bytes_out);

/*
 * The graph is borrowed and must outlive the program. Errors: ISO_INVAL when
 * the buffer is too small; ISO_SHAPE for an unbound dim; ISO_UNSUPPORTED for
 * an op that the device cannot do exactly, naming node and device.
 */
iso_status_t iso_program_create(iso_device_t *device, const iso_graph_t *graph,
                                const iso_program_options_t *options,
                                iso_program_t **program_out);
void iso_program_destroy(iso_program_t **program);

/*
 * Say where an input's or a param's elements are; kept until bound again.
 * data must be aligned to 4 bytes and stay valid while the program runs.
 * Errors: ISO_INVAL when the graph has no such leaf.
 */
iso_status_t iso_program_bind(iso_program_t *program, const char *name,
                              const void *data);

/* As above by node id; not checked but by ISO_ASSERT; for the data path. */
void iso_program_bind_node(iso_program_t *program, iso_node_id_t node,
                           const void *data);

/* Errors: ISO_INVAL naming a leaf that was not bound; those of the kernels. */
iso_status_t iso_program_run(iso_program_t *program);

/* Elements of graph output number index after a run; borrowed, valid until
 * the next run. */
const void *iso_program_output(const iso_program_t *program, int index);

#endif
