/*
 * Dinic's algorithm (Dinic 1970, "Algorithm for solution of a problem of
 * maximum flow in networks with power estimation"): the largest flow from
 * source to sink fills some edges, and those that lead from what the source
 * still reaches to what it does not are a least cut (Ford and Fulkerson 1956).
 *
 * In phases: a walk in breadth gives each vertex its distance from the source
 * over edges that are not full; then flow is sent along paths that go one
 * further with each edge, until there is none left. The next phase has longer
 * paths, so there are at most as many phases as vertices.
 *
 * Every edge has its opposite next to it, edge ^ 1, with what may flow back.
 */
#include "plan/place/min_cut.h"

#include "base/log.h"
#include "base/mem.h"

enum { NO_EDGE = -1, NOT_REACHED = -1 };

typedef struct edge {
    int64_t room; /* what may still flow */
    int32_t to;
    int32_t next; /* of the same vertex; NO_EDGE ends them */
} edge_t;

typedef struct vertex {
    int32_t first; /* edge */
    int32_t at;    /* edge that the search is at; those before lead nowhere */
    int32_t distance; /* from the source; NOT_REACHED */
} vertex_t;

struct iso_min_cut {
    int32_t most_vertices;
    int32_t most_edges;
    int32_t n_vertices;
    int32_t n_edges;    /* with their opposites */
    vertex_t *vertices; /* (most_vertices) */
    edge_t *edges;      /* (2 most_edges) */
    int32_t *queue;     /* (most_vertices) of the walk; then the path's edges */
    int64_t looked_at;
};

iso_status_t iso_min_cut_create(int32_t most_vertices, int32_t most_edges,
                                iso_min_cut_t **cut_out)
{
    iso_min_cut_t *cut = iso_alloc_zeroed(1, sizeof *cut);

    ISO_ASSERT(most_edges <= INT32_MAX / 2);
    *cut_out = cut;
    if (cut == NULL) {
        return ISO_NOMEM;
    }
    cut->most_vertices = most_vertices;
    cut->most_edges = most_edges;
    cut->vertices =
        iso_alloc_zeroed((size_t)most_vertices, sizeof *cut->vertices);
    cut->edges = iso_alloc_zeroed((size_t)most_edges, 2 * sizeof *cut->edges);
    cut->queue = iso_alloc_zeroed((size_t)most_vertices, sizeof *cut->queue);
    if (cut->vertices == NULL || cut->edges == NULL || cut->queue == NULL) {
        iso_min_cut_destroy(cut_out);
        return ISO_NOMEM;
    }
    return ISO_OK;
}

void iso_min_cut_destroy(iso_min_cut_t **cut)
{
    if (*cut != NULL) {
        iso_free((*cut)->vertices);
        iso_free((*cut)->edges);
        iso_free((*cut)->queue);
        iso_free(*cut);
        *cut = NULL;
    }
}

void iso_min_cut_begin(iso_min_cut_t *cut, int32_t n_vertices)
{
    ISO_ASSERT(n_vertices >= 2 && n_vertices <= cut->most_vertices);
    cut->n_vertices = n_vertices;
    cut->n_edges = 0;
    for (int32_t i = 0; i < n_vertices; i++) {
        cut->vertices[i] = (vertex_t){.first = NO_EDGE};
    }
}

static void add_edge(iso_min_cut_t *cut, int32_t from, int32_t to,
                     int64_t capacity)
{
    ISO_ASSERT(capacity >= 0 && from >= 0 && from < cut->n_vertices);
    cut->edges[cut->n_edges] =
        (edge_t){.room = capacity, .to = to, .next = cut->vertices[from].first};
    cut->vertices[from].first = cut->n_edges++;
}

void iso_min_cut_join(iso_min_cut_t *cut, int32_t from, int32_t to,
                      int64_t capacity, int64_t back)
{
    ISO_ASSERT(cut->n_edges / 2 < cut->most_edges && from != to);
    add_edge(cut, from, to, capacity);
    add_edge(cut, to, from, back);
}

/* Distances of what the source reaches; false when the sink is not in it. */
static bool walk(iso_min_cut_t *cut)
{
    int32_t begin = 0;
    int32_t end = 0;

    for (int32_t i = 0; i < cut->n_vertices; i++) {
        cut->vertices[i].distance = NOT_REACHED;
        cut->vertices[i].at = cut->vertices[i].first;
    }
    cut->vertices[ISO_MIN_CUT_SOURCE].distance = 0;
    cut->queue[end++] = ISO_MIN_CUT_SOURCE;
    while (begin < end) {
        const vertex_t *from = &cut->vertices[cut->queue[begin++]];

        for (int32_t e = from->first; e != NO_EDGE; e = cut->edges[e].next) {
            vertex_t *to = &cut->vertices[cut->edges[e].to];

            cut->looked_at++;
            if (cut->edges[e].room > 0 && to->distance == NOT_REACHED) {
                to->distance = from->distance + 1;
                cut->queue[end++] = cut->edges[e].to;
            }
        }
    }
    return cut->vertices[ISO_MIN_CUT_SINK].distance != NOT_REACHED;
}

/* The next edge of a vertex that leads one further, or NO_EDGE. */
static int32_t find_step(iso_min_cut_t *cut, vertex_t *from)
{
    for (; from->at != NO_EDGE; from->at = cut->edges[from->at].next) {
        const edge_t *edge = &cut->edges[from->at];

        cut->looked_at++;
        if (edge->room > 0 &&
            cut->vertices[edge->to].distance == from->distance + 1) {
            return from->at;
        }
    }
    return NO_EDGE;
}

/* As much flow as fits along a path of so many edges; returns how many of
 * them are before the first that is full now. */
static int32_t send(iso_min_cut_t *cut, int32_t length, int64_t *flow)
{
    int64_t most = INT64_MAX;
    int32_t first = 0;

    for (int32_t i = length - 1; i >= 0; i--) {
        const int64_t room = cut->edges[cut->queue[i]].room;

        if (room <= most) {
            most = room;
            first = i;
        }
    }
    for (int32_t i = 0; i < length; i++) {
        cut->edges[cut->queue[i]].room -= most;
        cut->edges[cut->queue[i] ^ 1].room += most;
    }
    cut->looked_at += length;
    *flow += most;
    return first;
}

/* All flow of a phase: the path grows by a step, or goes back by one from a
 * vertex that leads nowhere. */
static int64_t send_all(iso_min_cut_t *cut)
{
    int64_t flow = 0;
    int32_t length = 0;
    int32_t at = ISO_MIN_CUT_SOURCE;

    for (;;) {
        const int32_t step = find_step(cut, &cut->vertices[at]);

        if (step != NO_EDGE) {
            cut->queue[length++] = step;
            at = cut->edges[step].to;
            if (at == ISO_MIN_CUT_SINK) {
                length = send(cut, length, &flow);
                at = cut->edges[cut->queue[length] ^ 1].to;
            }
        } else if (length > 0) {
            length--;
            at = cut->edges[cut->queue[length] ^ 1].to;
            cut->vertices[at].at = cut->edges[cut->vertices[at].at].next;
        } else {
            return flow;
        }
    }
}

int64_t iso_min_cut_solve(iso_min_cut_t *cut)
{
    int64_t flow = 0;

    while (walk(cut)) {
        flow += send_all(cut);
    }
    return flow;
}

bool iso_min_cut_has(const iso_min_cut_t *cut, int32_t vertex)
{
    ISO_ASSERT(vertex >= 0 && vertex < cut->n_vertices);
    return cut->vertices[vertex].distance != NOT_REACHED;
}

int64_t iso_min_cut_looked_at(const iso_min_cut_t *cut)
{
    return cut->looked_at;
}
