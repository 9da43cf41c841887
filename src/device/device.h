/*
 * Devices: a device compiles a graph into a program and runs it. "ref" defines
 * the bits, "cpu" is fast; a rule places each node on one of several, and
 * values cross between them.
 *
 *     ISO_TRY(iso_device_open("cpu", threads, &device));
 *     iso_program_options_t options = {.buffer = NULL};
 *     ISO_TRY(iso_program_create(device, stage_graph, &options, &program));
 *     ISO_TRY(iso_program_bind(program, "conv1.weight", weights));
 *     ISO_TRY(iso_program_bind(program, "x", micro_batch));
 *     ISO_TRY(iso_program_run(program));
 *     const void *y = iso_program_output(program, 0);
 *
 * A stage with several workers has exchange nodes in its graph: its program
 * goes from one to the next (iso_program_advance).
 *
 * Everything is reserved when a program is made; running on "cpu" allocates
 * nothing. "ref" borrows room for one node at a time, and for no other than a
 * contraction.
 */
#ifndef ISO_DEVICE_H
#define ISO_DEVICE_H

#include "isotome/device_map.h"
#include "isotome/graph.h"

typedef struct iso_device iso_device_t;
typedef struct iso_program iso_program_t;

/*
 * rule     [in]  "cpu", or which device computes what (isotome/device_map.h). A
 *                device that is not there is left out, with a warning, where
 *                the rule names others behind it.
 * threads  [in]  >= 1, of each device that has any
 * Errors: ISO_INVAL for a rule that cannot be read; ISO_UNSUPPORTED for a
 * device that is not there, and on a CPU without FMA; ISO_NOMEM.
 */
iso_status_t iso_device_open(const char *rule, int threads,
                             iso_device_t **device_out);

/* As above; map is borrowed while the device is open, and devices that are not
 * there are left out of it. */
iso_status_t iso_device_open_map(iso_device_map_t *map, int threads,
                                 iso_device_t **device_out);
void iso_device_close(iso_device_t **device);

/*
 * The control of experiments: contractions by plain BLIS (plain_blis.h) with
 * the kernel family of "cpu". It is no device for results: its bits depend on
 * the cut, so it has no name to be opened by.
 * Errors: as above; ISO_INVAL for the family "scalar", which is no BLIS.
 */
iso_status_t iso_device_open_control(int threads, iso_device_t **device_out);

/* "cpu skx, 2 threads", with " + " between several: for reports; borrowed. */
const char *iso_device_text(const iso_device_t *device);

/* Bytes that are free of the memory that its first device has for itself; 0:
 * it works in the host's. */
size_t iso_device_memory(const iso_device_t *device);

typedef struct iso_program_options {
    void *buffer;        /* for activations, borrowed; NULL: own */
    size_t buffer_bytes; /* of buffer */
    bool keeps_values;   /* each node makes its value, for an observer; else
                          * several may be one step */
} iso_program_options_t;

/* Bytes of activations that a program for this static graph needs. */
iso_status_t iso_program_buffer_bytes(const iso_device_t *device,
                                      const iso_graph_t *graph,
                                      bool keeps_values, size_t *bytes_out);

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
 * Say where an input's or a param's elements are; kept until bound again. A
 * param's are read when the program next begins, and may be packed then: bind
 * it again when they change. (weight.h binds what was packed before.)
 * data must be aligned to 4 bytes, to 8 where an element has 8, and stay
 * valid while the program runs.
 * Errors: ISO_INVAL when the graph has no such leaf, or data is not aligned.
 */
iso_status_t iso_program_bind(iso_program_t *program, const char *name,
                              const void *data);

/* As above by node id; not checked but by ISO_ASSERT; for the data path. */
void iso_program_bind_node(iso_program_t *program, iso_node_id_t node,
                           const void *data);

/* What an input or a param is bound to; borrowed. Its data is NULL when it is
 * not bound. */
const iso_tensor_t *iso_program_leaf(const iso_program_t *program,
                                     iso_node_id_t node);

/*
 * Run a graph without exchange nodes from its first step to its last.
 * Errors: ISO_INVAL naming a leaf that was not bound, or an exchange node;
 * those of the kernels and of the observer.
 */
iso_status_t iso_program_run(iso_program_t *program);

/* ---- From exchange to exchange ---- */

/*
 * Where a program pauses: at an exchange node (op.h), which the caller
 * carries out.
 *
 *     iso_pause_t pause;
 *     ISO_TRY(iso_program_begin(program));
 *     do {
 *         status = iso_program_advance(program, &pause);
 *         if (status != ISO_OK) {
 *             iso_program_skip(program); // the others wait at exchanges
 *         } else if (pause.node != ISO_NO_NODE) {
 *             move elements from pause.input to pause.output
 *         }
 *     } while (status != ISO_OK || pause.node != ISO_NO_NODE);
 */
typedef struct iso_pause {
    iso_node_id_t node;         /* ISO_NO_NODE: the program is done */
    int number;                 /* the node's attribute */
    const iso_tensor_t *input;  /* NULL when the node has no operand */
    const iso_tensor_t *output; /* to be filled; may have no elements */
} iso_pause_t;

/*
 * Go to the first step, wherever the program was. Errors: ISO_INVAL naming a
 * leaf that was not bound.
 */
iso_status_t iso_program_begin(iso_program_t *program);

/*
 * Run to the next exchange node, or to the end. After the exchange the next
 * call goes on behind it. Not bound in between.
 *
 * pause_out  [out]  borrowed tensors, valid until the next call
 * Errors: those of the kernels and of the observer; then begin or skip.
 */
iso_status_t iso_program_advance(iso_program_t *program,
                                 iso_pause_t *pause_out);

/*
 * Until the next begin, advance goes from exchange to exchange and computes
 * nothing: a worker that failed still takes part in what the others wait for.
 * What it sends then has no meaning.
 */
void iso_program_skip(iso_program_t *program);

/*
 * Called with every value that was made: after a node is computed, and when
 * the program goes on behind an exchange. Leaves and reshapes, which nobody
 * makes, are not seen. value is borrowed for the call.
 */
typedef iso_status_t iso_program_observer_t(void *arg, iso_node_id_t node,
                                            const iso_tensor_t *value);

/* observer may be NULL: nobody observes. For programs that keep values. */
void iso_program_observe(iso_program_t *program,
                         iso_program_observer_t *observer, void *arg);

/* Elements of graph output number index after a run; borrowed, valid until
 * the next run. */
const void *iso_program_output(const iso_program_t *program, int index);

#endif
