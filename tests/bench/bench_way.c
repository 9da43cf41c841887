#include "bench_way.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "bench.h"
#include "exec/team.h"
#include "par/par.h"

struct bench_way {
    const iso_graph_t *stage;
    MPI_Comm comm;
    iso_local_t *local;
    iso_program_t *program;
    iso_team_t *team;
    void **leaves; /* (nodes of the local graph) */
};

/* Elements of a part, from those of the whole. */
static void copy_part(const float *whole, const iso_shape_t *shape,
                      const iso_box_t *box, float *part)
{
    const int64_t count = iso_box_count(box);
    int64_t at[ISO_MAX_RANK] = {0};

    for (int64_t i = 0; i < count; i++) {
        int64_t index = 0;

        for (int axis = 0; axis < shape->rank; axis++) {
            index = index * shape->dim[axis].size + box->range[axis].begin +
                    at[axis];
        }
        part[i] = whole[index];
        for (int axis = shape->rank - 1; axis >= 0; axis--) {
            at[axis]++;
            if (at[axis] < iso_range_length(box->range[axis])) {
                break;
            }
            at[axis] = 0;
        }
    }
}

static iso_status_t bind_leaf(bench_way_t *way, iso_node_id_t id)
{
    const iso_origin_t *origin = &way->local->origins[id];
    const iso_shape_t *shape = &iso_graph_node(way->stage, origin->node)->shape;
    float *part =
        iso_alloc((size_t)iso_box_count(&origin->box) * sizeof(float));
    float *whole = NULL;

    if (part == NULL) {
        return ISO_NOMEM;
    }
    whole = bench_values(iso_shape_count(shape));
    copy_part(whole, shape, &origin->box, part);
    iso_free(whole);
    way->leaves[id] = part;
    iso_program_bind_node(way->program, id, part);
    return ISO_OK;
}

static iso_status_t bind_leaves(bench_way_t *way)
{
    const iso_graph_t *graph = way->local->graph;
    const iso_node_id_t n_nodes = iso_graph_node_count(graph);

    way->leaves = iso_alloc_zeroed((size_t)n_nodes, sizeof(void *));
    if (way->leaves == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n_nodes; id++) {
        const iso_op_t op = iso_graph_node(graph, id)->op;

        if (op != ISO_OP_INPUT && op != ISO_OP_PARAM) {
            continue;
        }
        ISO_TRY(bind_leaf(way, id));
    }
    return ISO_OK;
}

static iso_status_t make(iso_device_t *device, const iso_stage_cut_t *cut,
                         bench_way_t *way)
{
    const iso_program_options_t options = {.buffer = NULL};
    const iso_local_t *forms[ISO_FORM_COUNT] = {NULL};

    ISO_TRY(iso_stage_cut_check(cut, way->stage));
    ISO_TRY(iso_local_create(way->stage, cut, iso_par_rank(way->comm),
                             &way->local));
    ISO_TRY(
        iso_program_create(device, way->local->graph, &options, &way->program));
    ISO_TRY(bind_leaves(way));
    forms[ISO_FORM_FULL] = way->local;
    const iso_team_spec_t spec = {.comm = way->comm, .local = forms};

    return iso_team_create(&spec, &way->team);
}

iso_status_t bench_way_create(iso_device_t *device, const iso_graph_t *stage,
                              const iso_stage_cut_t *cut, MPI_Comm comm,
                              bench_way_t **way_out)
{
    bench_way_t *way = iso_alloc_zeroed(1, sizeof *way);

    *way_out = NULL;
    if (way == NULL) {
        return ISO_NOMEM;
    }
    way->stage = stage;
    way->comm = comm;
    const iso_status_t status = make(device, cut, way);

    if (status != ISO_OK) {
        bench_way_destroy(&way);
    }
    *way_out = way;
    return status;
}

void bench_way_destroy(bench_way_t **way)
{
    bench_way_t *dead = *way;

    if (dead == NULL) {
        return;
    }
    iso_team_destroy(&dead->team);
    iso_program_destroy(&dead->program);
    for (iso_node_id_t id = 0;
         dead->leaves != NULL && id < iso_graph_node_count(dead->local->graph);
         id++) {
        iso_free(dead->leaves[id]);
    }
    iso_free(dead->leaves);
    iso_local_destroy(&dead->local);
    iso_free(dead);
    *way = NULL;
}

double bench_way_run(bench_way_t *way)
{
    iso_times_t times = {0};
    double seconds = 0.0;

    ISO_CHECK_MPI(MPI_Barrier(way->comm));
    seconds = bench_wall_s();
    const iso_status_t status =
        iso_team_run(way->team, ISO_FORM_FULL, way->program, &times);

    seconds = bench_wall_s() - seconds;
    if (status != ISO_OK) {
        iso_par_abort(__FILE__, __LINE__, iso_error_text());
    }
    ISO_CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX,
                                way->comm));
    return seconds;
}

uint64_t bench_way_digest(const bench_way_t *way)
{
    const iso_graph_t *graph = way->local->graph;

    if (way->local->worker != 0) {
        return 0;
    }
    const iso_node_t *node =
        iso_graph_node(graph, iso_graph_output(graph, 0)->node);

    return iso_digest_of(iso_program_output(way->program, 0),
                         (size_t)iso_shape_count(&node->shape) * sizeof(float));
}
