/*
 * What signals do to the program: one that ends it leaves no temporary file.
 */
#ifndef ISO_SIGNALS_H
#define ISO_SIGNALS_H

/* Once, before anything is written. */
void iso_signals_set(void);

#endif
