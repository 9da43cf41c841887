#include "exec/interrupt.h"

#include "isotome/run.h"

#include "io/draft.h"

#include <stdatomic.h>
#include <unistd.h>

static atomic_int current = ISO_INTERRUPT_NONE;
static atomic_bool came;

void iso_interrupt_enter(iso_interrupt_phase_t phase)
{
    if (phase != ISO_INTERRUPT_NOTED) {
        atomic_store(&came, false);
    }
    atomic_store(&current, (int)phase);
}

bool iso_interrupt_came(void)
{
    return atomic_load(&came);
}

bool iso_run_interrupt(void)
{
    switch ((iso_interrupt_phase_t)atomic_load(&current)) {
    case ISO_INTERRUPT_NONE:
        return false;
    case ISO_INTERRUPT_EXITS:
        iso_draft_remove_all();
        _exit(iso_status_exit_code(ISO_INTERRUPTED));
    case ISO_INTERRUPT_NOTED:
        break;
    }
    atomic_store(&came, true);
    return true;
}
