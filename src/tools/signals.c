#include "tools/signals.h"

#include "isotome/run.h"

#include "io/draft.h"

#include <signal.h>
#include <stddef.h>

/* The signal's own action comes back only now: launchers send a signal twice,
 * and the second must not end the process while files are left. */
static void end_program(int number)
{
    if (iso_run_interrupt()) {
        return;
    }
    iso_draft_remove_all();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void iso_signals_set(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before;
        struct sigaction action = {.sa_handler = end_program};

        /* What is ignored stays so: nohup, or a shell's background. */
        if (sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
    /* A file over the size limit is a failed write with a message. */
    (void)signal(SIGXFSZ, SIG_IGN);
}
