/*
 * The clock of measurements.
 */
#ifndef ISO_CLOCK_H
#define ISO_CLOCK_H

/* Seconds of a clock that only goes forward. */
double iso_clock_s(void);

/* Come back when the clock has reached this, or has already. The processor is
 * free meanwhile. */
void iso_clock_wait(double until_s);

#endif
