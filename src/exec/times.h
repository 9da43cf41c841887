/*
 * Where one rank's time went, in seconds.
 */
#ifndef ISO_TIMES_H
#define ISO_TIMES_H

typedef struct iso_times {
    double load_s;    /* weights: reading and checking */
    double read_s;    /* input rows */
    double receive_s; /* waiting for messages */
    double compute_s;
    double exchange_s; /* with the other workers of the stage */
    double send_s;     /* waiting for a free slot, copying into it */
    double write_s;    /* output rows */
    double total_s;    /* from the first micro-batch to the last */
} iso_times_t;

#endif
