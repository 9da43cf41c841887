/*
 * Graphs on the device "cpu" against "ref", byte for byte, with steps of
 * several nodes and with each node by itself.
 */
#ifndef DEVICE_CHECKS_H
#define DEVICE_CHECKS_H

#include "isotome/graph.h"

#include "device/device.h"

#include <stdbool.h>
#include <stdint.h>

/* What leaves are bound to: numbers, and with has_special some that are none,
 * or meet badly. */
void device_checks_fill(uint64_t *state, bool has_special);

/* Where a leaf's elements are. */
const float *device_checks_leaf(iso_node_id_t node);
void device_checks_bind(iso_program_t *program, const iso_graph_t *graph);

/* Have two programs that have run the same outputs? */
bool device_checks_equal(const iso_graph_t *graph,
                         const iso_program_t *expected,
                         const iso_program_t *found);

/* Any device against "ref"; whether they are equal. */
bool device_checks_device(const iso_graph_t *graph, iso_device_t *device);
void device_checks_run(const iso_graph_t *graph, int threads);

/* Is the plan of the planner sound, and what the device makes? Gives the
 * nodes that make no value: joined ones and views. */
int device_checks_plan(const iso_graph_t *graph);

/* All that for a graph_text that has so many of those nodes. */
void device_checks_text(const char *text, int n_without_value);

#endif
