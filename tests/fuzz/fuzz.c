#include "fuzz.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "graph/pass.h"
#include "graph_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

static char path[PATH_BYTES];

void fuzz_die(const char *reason)
{
    (void)fprintf(stderr, "fuzz: %s: %s\n", reason, iso_error_text());
    abort();
}

static void remove_file(void)
{
    (void)unlink(path);
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
    static int file = -1;

    if (file < 0) {
        const char *folder = getenv("TMPDIR");

        (void)snprintf(path, sizeof path, "%s/fuzz-XXXXXX",
                       folder == NULL ? "/tmp" : folder);
        file = mkstemp(path);
        (void)atexit(remove_file);
    }
    if (file < 0 || ftruncate(file, 0) != 0 ||
        pwrite(file, data, size, 0) != (ssize_t)size) {
        fuzz_die("cannot write a file in $TMPDIR");
    }
    return path;
}

const char *fuzz_text(const uint8_t *data, size_t size)
{
    static char *text;

    free(text);
    text = malloc(size + 1);
    if (text == NULL) {
        fuzz_die("out of memory");
    }
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    return text;
}

iso_graph_t *fuzz_graph(void)
{
    static const char text[] =
        "x = input f32[N,8,16,16]\n"
        "w0 = param f32[8,4,3,3]\n"
        "w1 = param f32[8,8,3,3]\n"
        "w2 = param f32[16,4]\n"
        "b = constant f32[4] 1,2,3,4\n"
        "r = conv(x, w0) groups=i:2 pads=i:1,1,1,1\n"
        "c = conv(r, w1) pads=i:1,1,1,1 activation=t:relu\n"
        "s = add(c, r)\n"
        "m = matmul(s, w2)\n"
        "y = add(m, b)\n"
        "return y\n";
    iso_graph_t *graph = NULL;

    if (iso_graph_create(&graph) != ISO_OK ||
        graph_text_add(graph, text, NULL) != ISO_OK ||
        iso_graph_mark_layers(graph) != ISO_OK) {
        fuzz_die("the model cannot be made");
    }
    return graph;
}

int64_t fuzz_begin(void)
{
    iso_error_clear();
    return iso_mem_count().blocks;
}

static void check_text(const char *text)
{
    if (*text == '\0') {
        fuzz_die("refused without a text");
    }
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 127) {
            fuzz_die("the text has a control character");
        }
    }
}

void fuzz_end(iso_status_t status, int64_t held)
{
    if (iso_mem_count().blocks != held) {
        fuzz_die("memory is not given back");
    }
    switch (status) {
    case ISO_OK:
        return;
    case ISO_INVAL:
    case ISO_SHAPE:
    case ISO_INPUT:
    case ISO_UNSUPPORTED:
    case ISO_DISAGREE:
        check_text(iso_error_text());
        return;
    case ISO_NOMEM:
    case ISO_IO:
    case ISO_DEADLINE:
    case ISO_INTERRUPTED:
    case ISO_INTERNAL:
        break;
    }
    fuzz_die("a status that no file may give");
}
