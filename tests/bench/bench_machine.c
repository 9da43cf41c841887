/* One line about this machine and this build: see bench_print_machine. */
#include "bench.h"

int main(void)
{
    bench_print_machine();
    return 0;
}
