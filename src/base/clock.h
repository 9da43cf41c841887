/*
 * The clock of measurements.
 */
#ifndef ISO_CLOCK_H
#define ISO_CLOCK_H

/* Seconds of a clock that only goes forward. */
double iso_clock_s(void);

#endif
