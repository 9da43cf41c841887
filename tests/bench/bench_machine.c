/*
 * One line about this machine and this build: see bench_print_machine.
 *
 *     bench_machine [--json F.json]   the same as an object, too
 */
#include "bench.h"

#include <stddef.h>

int main(int argc, char **argv)
{
    const char *path = NULL;
    const bench_option_t options[] = {{"--json", &path, NULL, NULL}};

    bench_parse(argc, argv, 1, options);

    const bench_machine_t machine = bench_machine();

    bench_machine_print(&machine);
    if (path != NULL) {
        bench_machine_write(&machine, path);
    }
    return 0;
}
