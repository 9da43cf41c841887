/* The temporary files of verify: inputs, and what the runs write. */
#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "exec/rows.h"
#include "lab/verify_impl.h"
#include "par/par.h"
#include "tensor/fill.h"
#include "tensor/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- names -- */

/* The free dim of the model, or NULL. */
static const char *batch_of(const iso__verify_t *verify)
{
    const char **names = NULL;
    int count = 0;

    if (iso_graph_free_dims(iso_model_graph(verify->model), &names, &count) !=
        ISO_OK) {
        return NULL;
    }
    const char *batch = count > 0 ? names[0] : NULL;

    iso_free(names);
    return batch;
}

/* "NAME=FOLDER/stem.I.npy"; NULL when memory runs out. */
static char *place_of(const iso__verify_t *verify, const char *name,
                      const char *stem, int number)
{
    iso_text_t text = {0};

    iso_text_add(&text, "%s=%s/%s.%d.npy", name, verify->folder.data, stem,
                 number);
    return text.status == ISO_OK ? text.data : NULL;
}

static iso_status_t name_outputs(const iso__verify_t *verify, const char *stem,
                                 char ***places_out)
{
    const iso_graph_t *graph = iso_model_graph(verify->model);
    char **places = iso_alloc_zeroed((size_t)verify->n_outputs, sizeof *places);

    *places_out = places;
    for (int i = 0; places != NULL && i < verify->n_outputs; i++) {
        places[i] = place_of(verify, iso_graph_output(graph, i)->name, stem, i);
        if (places[i] == NULL) {
            return ISO_NOMEM;
        }
    }
    return places == NULL ? ISO_NOMEM : ISO_OK;
}

static void free_places(char ***places, int count)
{
    for (int i = 0; *places != NULL && i < count; i++) {
        iso_free((*places)[i]);
    }
    iso_free(*places);
    *places = NULL;
}

/* -- folder -- */

static iso_status_t make_folder(iso__verify_t *verify, char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%s/isotome-verify-XXXXXX",
                   verify->options->folder);
    if (mkdtemp(path) == NULL) {
        return iso_fail(ISO_IO,
                        "cannot make a folder for temporary files in '%s': "
                        "%s; give another one with --folder",
                        verify->options->folder, strerror(errno));
    }
    return ISO_OK;
}

static iso_status_t share_folder(iso__verify_t *verify)
{
    char path[4096] = "";
    iso_status_t status = ISO_OK;

    if (iso_par_rank(verify->comm) == 0) {
        status = make_folder(verify, path, sizeof path);
    }
    ISO_TRY(iso_par_agree(status, verify->comm));
    ISO_CHECK_MPI(MPI_Bcast(path, (int)sizeof path, MPI_CHAR, 0, verify->comm));
    iso_text_add(&verify->folder, "%s", path);
    return verify->folder.status;
}

/* -- inputs -- */

static iso_status_t write_input(iso__verify_t *verify, const iso_node_t *node,
                                const char *place)
{
    const char *batch = batch_of(verify);
    iso_random_t random = {.state = verify->options->seed ^ 0x1d};
    iso_rows_t rows;

    ISO_TRY(iso_rows_of(node->name, node->dtype, &node->shape, batch, &rows));
    iso_tensor_t tensor = iso_rows_tensor(&rows, verify->samples);

    tensor.data = iso_alloc(iso_tensor_bytes(&tensor));
    if (tensor.data == NULL) {
        return ISO_NOMEM;
    }
    iso_tensor_fill_random(&random, &tensor);
    iso_status_t status = iso_npy_save(strchr(place, '=') + 1, &tensor);

    iso_free(tensor.data);
    return status;
}

/* Name the file of one input; rank 0 writes it. */
static iso_status_t make_input(iso__verify_t *verify, const iso_node_t *node)
{
    char *place = place_of(verify, node->name, "in", verify->n_inputs);

    verify->inputs[verify->n_inputs++] = place;
    if (place == NULL) {
        return ISO_NOMEM;
    }
    return iso_par_rank(verify->comm) == 0 ? write_input(verify, node, place)
                                           : ISO_OK;
}

static iso_status_t make_inputs(iso__verify_t *verify)
{
    const iso_graph_t *graph = iso_model_graph(verify->model);
    size_t nodes = (size_t)iso_graph_node_count(graph);

    verify->inputs = iso_alloc_zeroed(nodes, sizeof *verify->inputs);
    if (verify->inputs == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);

        if (node->op != ISO_OP_INPUT) {
            continue;
        }
        ISO_TRY(make_input(verify, node));
    }
    return ISO_OK;
}

static iso_status_t make_names(iso__verify_t *verify)
{
    char stem[32];

    (void)snprintf(stem, sizeof stem, "whole-%d", iso_par_rank(verify->comm));
    verify->n_outputs = iso_graph_output_count(iso_model_graph(verify->model));
    ISO_TRY(name_outputs(verify, "cut", &verify->outputs));
    ISO_TRY(name_outputs(verify, stem, &verify->wholes));
    (void)snprintf(stem, sizeof stem, "first-%d", iso_par_rank(verify->comm));
    return name_outputs(verify, stem, &verify->firsts);
}

/* Collective: inputs are there before anybody reads them. */
iso_status_t iso__verify_make_files(iso__verify_t *verify)
{
    ISO_TRY(iso_par_agree(share_folder(verify), verify->comm));
    iso_status_t status = make_names(verify);

    if (status == ISO_OK && verify->options->n_inputs == 0) {
        status = make_inputs(verify);
    }
    return iso_par_agree(status, verify->comm);
}

/* -- the end -- */

static void remove_places(char *const *places, int count)
{
    for (int i = 0; places != NULL && i < count; i++) {
        if (places[i] != NULL) {
            (void)remove(strchr(places[i], '=') + 1);
        }
    }
}

/* Files may not be there: a run may have failed before it wrote them. */
void iso__verify_remove_files(iso__verify_t *verify)
{
    bool first = iso_par_rank(verify->comm) == 0;

    remove_places(verify->wholes, verify->n_outputs);
    remove_places(verify->firsts, verify->n_outputs);
    ISO_CHECK_MPI(MPI_Barrier(verify->comm));
    if (first && verify->folder.data != NULL) {
        remove_places(verify->inputs, verify->n_inputs);
        remove_places(verify->outputs, verify->n_outputs);
        if (rmdir(verify->folder.data) != 0) {
            iso_log(ISO_LOG_WARNING, "cannot remove '%s': %s",
                    verify->folder.data, strerror(errno));
        }
    }
    free_places(&verify->inputs, verify->n_inputs);
    free_places(&verify->outputs, verify->n_outputs);
    free_places(&verify->wholes, verify->n_outputs);
    free_places(&verify->firsts, verify->n_outputs);
    iso_text_free(&verify->folder);
}

iso_status_t iso__verify_same_files(const char *a, const char *b,
                                    bool *same_out)
{
    iso_tensor_t one = {0};
    iso_tensor_t other = {0};
    iso_status_t status = iso_npy_load(strchr(a, '=') + 1, &one);

    if (status == ISO_OK) {
        status = iso_npy_load(strchr(b, '=') + 1, &other);
    }
    *same_out = status == ISO_OK &&
                iso_tensor_bytes(&one) == iso_tensor_bytes(&other) &&
                memcmp(one.data, other.data, iso_tensor_bytes(&one)) == 0;
    iso_free(one.data);
    iso_free(other.data);
    return status;
}
