/*
 * Interrupt: whether this process was told to end (iso_run_interrupt() in
 * isotome/run.h, from a signal handler), and what that means just now.
 */
#ifndef ISO_INTERRUPT_H
#define ISO_INTERRUPT_H

#include <stdbool.h>

typedef enum iso_interrupt_phase {
    ISO_INTERRUPT_NONE,  /* no run: the program's own affair */
    ISO_INTERRUPT_EXITS, /* nothing is under way: the process ends at once */
    ISO_INTERRUPT_NOTED, /* micro-batches are: the loop looks for it */
} iso_interrupt_phase_t;

void iso_interrupt_enter(iso_interrupt_phase_t phase);

/* Since the phase before ISO_INTERRUPT_NOTED. */
bool iso_interrupt_came(void);

#endif
