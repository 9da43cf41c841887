#include "plan/memory_lives.h"

#include "base/mem.h"

/* -- making -- */

typedef struct builder {
    const iso_graph_t *graph;
    const iso_formats_t *formats; /* or NULL */
    iso__lives_t *lives;
    int32_t *step; /* (n_nodes) time at which a node is computed: that of the
                    * last one it is joined with */
    int32_t *due;  /* (n_nodes) first step that reads its copy: at the latest
                    * then it is made */
} builder_t;

static bool is_leaf_or_joined(const builder_t *builder, iso_node_id_t id)
{
    return iso_node_is_leaf(iso_graph_node(builder->graph, id)) ||
           (builder->formats != NULL &&
            builder->formats->joined[id] != ISO_NO_NODE);
}

static bool is_alias(const builder_t *builder, iso_node_id_t id)
{
    return iso_graph_node(builder->graph, id)->op == ISO_OP_RESHAPE ||
           (builder->formats != NULL && builder->formats->is_view[id]);
}

static bool has_copy(const builder_t *builder, iso_node_id_t id)
{
    return builder->formats != NULL && builder->formats->has_copy[id];
}

static iso_format_t made(const builder_t *builder, iso_node_id_t id)
{
    return builder->formats == NULL ? ISO_FORMAT_PLAIN
                                    : builder->formats->made[id];
}

/* Where a value's elements lie in a format. */
static int32_t place_of(const builder_t *builder, iso_node_id_t id,
                        iso_format_t format)
{
    return format == ISO_FORMAT_PLAIN ? builder->lives->home[id]
           : made(builder, id) == ISO_FORMAT_BLOCKED
               ? id
               : builder->lives->n_nodes + id;
}

/* Whole cache lines, one at least, so that every value has a place of its
 * own. */
static iso_status_t room_of(const iso_node_t *node, iso_format_t format,
                            size_t *room_out)
{
    size_t bytes = 0;

    ISO_TRY(iso_format_bytes(node, format, &bytes));
    bytes = bytes == 0 ? 1 : bytes;
    *room_out = (bytes + ISO__PLACE_ALIGNMENT - 1) / ISO__PLACE_ALIGNMENT *
                ISO__PLACE_ALIGNMENT;
    return ISO_OK;
}

static iso_status_t begin_life(const builder_t *builder, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(builder->graph, id);
    iso__lives_t *lives = builder->lives;
    const int32_t copy = lives->n_nodes + id;
    const iso_format_t format = made(builder, id);

    lives->home[id] = is_alias(builder, id) ? lives->home[node->inputs[0]]
                      : format == ISO_FORMAT_PLAIN ? id
                                                   : copy;
    lives->born[id] = id;
    lives->last_use[id] = id;
    if (has_copy(builder, id)) {
        lives->born[copy] = INT32_MAX;
        ISO_TRY(room_of(node,
                        format == ISO_FORMAT_PLAIN ? ISO_FORMAT_BLOCKED
                                                   : ISO_FORMAT_PLAIN,
                        &lives->bytes[copy]));
    }
    return is_alias(builder, id) || is_leaf_or_joined(builder, id)
               ? ISO_OK
               : room_of(node, format, &lives->bytes[id]);
}

/* -- uses -- */

static int32_t earlier(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t later(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* A place holds its elements from the first use of a copy to the last one. */
static void use(const builder_t *builder, int32_t place, int32_t time)
{
    iso__lives_t *lives = builder->lives;

    lives->born[place] = earlier(lives->born[place], time);
    lives->last_use[place] = later(lives->last_use[place], time);
}

/* A copy is made by the time of a step. */
static void need_by(const builder_t *builder, int32_t place, int32_t time)
{
    const int32_t id = place - builder->lives->n_nodes;

    if (id >= 0) {
        builder->due[id] = earlier(builder->due[id], time);
    }
}

static void use_operands(const builder_t *builder, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(builder->graph, id);
    const iso_formats_t *formats = builder->formats;

    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_id_t operand = node->inputs[i];

        if (operand == ISO_NO_NODE ||
            (formats != NULL && formats->joined[operand] != ISO_NO_NODE)) {
            continue;
        }

        const int32_t place = place_of(
            builder, operand,
            formats == NULL ? ISO_FORMAT_PLAIN
                            : iso_formats_read(builder->graph, formats, id, i));

        use(builder, place, builder->step[id]);
        if (!is_alias(builder, id)) {
            need_by(builder, place, builder->step[id]);
        }
    }
}

/* An output lasts to the end; a copy for it is made with the value. */
static void use_output(const builder_t *builder, iso_node_id_t id)
{
    const int32_t n_nodes = builder->lives->n_nodes;
    const int32_t place = place_of(builder, id, ISO_FORMAT_PLAIN);

    if (place >= n_nodes) {
        use(builder, place, place - n_nodes);
        need_by(builder, place, place - n_nodes);
    }
    builder->lives->last_use[place] = n_nodes;
}

/* What a copy is made of lives until then. Copies of reshapes come before
 * the copies that they are made of. */
static void use_source(const builder_t *builder, iso_node_id_t id)
{
    iso__lives_t *lives = builder->lives;
    const int32_t copy = lives->n_nodes + id;
    const int32_t source =
        is_alias(builder, id) ? place_of(builder, id, ISO_FORMAT_PLAIN) : id;
    int32_t time = builder->due[id];

    if (lives->born[copy] == INT32_MAX) {
        lives->born[copy] = id;
        lives->last_use[copy] = id;
    }
    time = time == INT32_MAX ? lives->born[copy] : time;
    use(builder, source, time);
    need_by(builder, source, time);
}

static iso_status_t fill(builder_t *builder)
{
    const iso_graph_t *graph = builder->graph;
    const iso_formats_t *formats = builder->formats;
    const int32_t n = builder->lives->n_nodes;

    for (iso_node_id_t id = n - 1; id >= 0; id--) {
        const iso_node_id_t next =
            formats == NULL ? ISO_NO_NODE : formats->joined[id];
        builder->step[id] = next == ISO_NO_NODE ? id : builder->step[next];
        builder->due[id] = INT32_MAX;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        ISO_TRY(begin_life(builder, id));
        use_operands(builder, id);
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        use_output(builder, iso_graph_output(graph, i)->node);
    }
    for (iso_node_id_t id = n - 1; id >= 0; id--) {
        if (has_copy(builder, id)) {
            use_source(builder, id);
        }
    }
    return ISO_OK;
}

/* -- by time -- */

static void list_births(iso__lives_t *lives)
{
    for (int32_t time = 0; time < lives->n_nodes; time++) {
        lives->first_born[time] = ISO__NO_PLACE;
    }
    for (int32_t place = lives->n_places - 1; place >= 0; place--) {
        if (lives->bytes[place] > 0) {
            int32_t *first = &lives->first_born[lives->born[place]];

            lives->next_born[place] = *first;
            *first = place;
        }
    }
}

/* -- all of it -- */

static iso_status_t allocate(builder_t *builder)
{
    iso__lives_t *lives = builder->lives;
    const size_t n_nodes = (size_t)lives->n_nodes;
    const size_t n_places = (size_t)lives->n_places;

    lives->bytes = iso_alloc_zeroed(n_places, sizeof *lives->bytes);
    lives->born = iso_alloc_zeroed(n_places, sizeof *lives->born);
    lives->last_use = iso_alloc_zeroed(n_places, sizeof *lives->last_use);
    lives->home = iso_alloc_zeroed(n_nodes, sizeof *lives->home);
    lives->first_born = iso_alloc_zeroed(n_nodes, sizeof *lives->first_born);
    lives->next_born = iso_alloc_zeroed(n_places, sizeof *lives->next_born);
    builder->step = iso_alloc_zeroed(n_nodes, sizeof *builder->step);
    builder->due = iso_alloc_zeroed(n_nodes, sizeof *builder->due);
    return lives->bytes == NULL || lives->born == NULL ||
                   lives->last_use == NULL || lives->home == NULL ||
                   lives->first_born == NULL || lives->next_born == NULL ||
                   builder->step == NULL || builder->due == NULL
               ? ISO_NOMEM
               : ISO_OK;
}

iso_status_t iso__lives_create(const iso_graph_t *graph,
                               const iso_formats_t *formats,
                               iso__lives_t *lives_out)
{
    builder_t builder = {
        .graph = graph, .formats = formats, .lives = lives_out};
    const int32_t n = iso_graph_node_count(graph);
    iso_status_t status;

    *lives_out =
        (iso__lives_t){.n_nodes = n, .n_places = formats == NULL ? n : 2 * n};
    status = allocate(&builder);
    if (status == ISO_OK) {
        status = fill(&builder);
    }
    if (status == ISO_OK) {
        list_births(lives_out);
    } else {
        iso__lives_free(lives_out);
    }
    iso_free(builder.step);
    iso_free(builder.due);
    return status;
}

void iso__lives_free(iso__lives_t *lives)
{
    iso_free(lives->bytes);
    iso_free(lives->born);
    iso_free(lives->last_use);
    iso_free(lives->home);
    iso_free(lives->first_born);
    iso_free(lives->next_born);
    *lives = (iso__lives_t){0};
}
