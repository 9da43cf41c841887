#include "bench_ort.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "bench.h"
#include "tensor/npy.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct bench_ort {
    pid_t process;
    FILE *to;
    FILE *from;
};

static void give_up(const char *what)
{
    (void)fprintf(stderr, "ONNX Runtime: %s\n", what);
    exit(EXIT_FAILURE);
}

/* The rest of an answer that begins with verb. */
static const char *answer(bench_ort_t *ort, const char *verb)
{
    static char line[128];
    const size_t length = strlen(verb);

    if (fgets(line, sizeof line, ort->from) == NULL ||
        strncmp(line, verb, length) != 0) {
        give_up("it did not answer");
    }
    return line + length;
}

static void become(const char *model, int batch, int threads)
{
    char batch_text[16];
    char threads_text[16];

    (void)snprintf(batch_text, sizeof batch_text, "%d", batch);
    (void)snprintf(threads_text, sizeof threads_text, "%d", threads);
    (void)execlp("node", "node", BENCH_SOURCE_DIR "/ort_bench.js", model,
                 "--serve", "--batch", batch_text, "--threads", threads_text,
                 (char *)NULL);
    (void)fputs("ONNX Runtime: no node\n", stderr);
    _exit(EXIT_FAILURE);
}

bench_ort_t *bench_ort_start(const char *model, int batch, int threads)
{
    int to[2];
    int from[2];
    bench_ort_t *ort = NULL;

    if (getenv("ISOTOME_ORT") == NULL) {
        return NULL;
    }
    ort = bench_zeroed(1, sizeof *ort);
    (void)signal(SIGPIPE, SIG_IGN);
    if (pipe(to) != 0 || pipe(from) != 0) {
        give_up("no pipe");
    }
    ort->process = fork();
    if (ort->process < 0) {
        give_up("no process");
    }
    if (ort->process == 0) {
        (void)dup2(to[0], STDIN_FILENO);
        (void)dup2(from[1], STDOUT_FILENO);
        (void)close(to[1]);
        (void)close(from[0]);
        become(model, batch, threads);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    ort->to = fdopen(to[1], "w");
    ort->from = fdopen(from[0], "r");
    if (ort->to == NULL || ort->from == NULL) {
        give_up("no pipe");
    }
    (void)answer(ort, "ready");
    return ort;
}

void bench_ort_stop(bench_ort_t **ort)
{
    bench_ort_t *dead = *ort;

    if (dead == NULL) {
        return;
    }
    (void)fclose(dead->to);
    (void)fclose(dead->from);
    (void)waitpid(dead->process, NULL, 0);
    iso_free(dead);
    *ort = NULL;
}

double bench_ort_run(bench_ort_t *ort, int times)
{
    double seconds = 0;

    (void)fprintf(ort->to, "run %d\n", times);
    (void)fflush(ort->to);
    seconds = strtod(answer(ort, "seconds "), NULL);
    if (!(seconds > 0)) {
        give_up("a run took no time");
    }
    return seconds;
}

float *bench_ort_output(bench_ort_t *ort, int64_t count)
{
    char path[] = "/tmp/bench_ort-XXXXXX";
    const int file = mkstemp(path);
    iso_tensor_t tensor;

    if (file < 0) {
        give_up("no temporary file");
    }
    (void)close(file);
    (void)fprintf(ort->to, "save %s\n", path);
    (void)fflush(ort->to);
    (void)answer(ort, "saved");
    bench_need(iso_npy_load(path, &tensor));
    (void)remove(path);
    if (tensor.dtype != ISO_DTYPE_F32 || iso_tensor_count(&tensor) != count) {
        (void)fprintf(stderr,
                      "ONNX Runtime: its output has %" PRId64
                      " elements, expected %" PRId64 " floats\n",
                      iso_tensor_count(&tensor), count);
        exit(EXIT_FAILURE);
    }
    return tensor.data;
}
