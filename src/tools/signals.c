#include "tools/signals.h"

#include "isotome/run.h"

#include "io/draft.h"
#include "par/watchdog.h"

#include <signal.h>
#include <stddef.h>

/* The signal's own action comes back only now: launchers send a signal twice,
 * and the second must not end the process while files are left. */
static void end_program(int number)
{
    iso_watchdog_hush();
    if (iso_run_interrupt()) {
        return;
    }
    iso_draft_remove_all();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void hush(int number)
{
    (void)number;
    iso_watchdog_hush();
}

void iso_signals_set(void)
{
    const struct sigaction go_on = {.sa_handler = hush, .sa_flags = SA_RESTART};
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
    (void)sigaction(SIGCONT, &go_on, NULL);
    /* A file over the size limit is a failed write with a message. */
    (void)signal(SIGXFSZ, SIG_IGN);
}
