/*
 * Programs of graphs that are given as text, with buffers of their own.
 */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "device/device.h"
#include "graph_text.h"
#include "iso_test_graph.h"

static const iso_program_options_t own = {.buffer = NULL};

static inline iso_graph_t *graph_of(const char *text)
{
    iso_graph_t *graph = test_graph();

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph, text, NULL), ISO_OK);
    return graph;
}

static inline iso_device_t *open_device(const char *rule)
{
    iso_device_t *device = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_device_open(rule, 1, &device), ISO_OK);
    return device;
}

static inline iso_program_t *program_of(iso_device_t *device,
                                        const iso_graph_t *graph)
{
    iso_program_t *program = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, &own, &program),
                          ISO_OK);
    return program;
}

static inline void run(iso_program_t *program)
{
    CU_ASSERT_EQUAL_FATAL(iso_program_run(program), ISO_OK);
}

#endif
