/*
 * Polynomials in named sizes, the arithmetic behind a symbolic dim. A value
 * on the stack: at most ISO_POLY_TERMS terms of at most ISO_POLY_NAMES names.
 *
 * Terms are in graded order: more names first, then by the names, the
 * constant last; inside a term the names are sorted. So equal polynomials
 * are equal structs and print as the same text.
 *
 * Names are slices of the text that was parsed, which must outlive the value.
 * Functions that can fail return false: overflow past 2^62, too many terms
 * or names.
 */
#ifndef ISO_POLY_IMPL_H
#define ISO_POLY_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ISO_POLY_TERMS = 8, ISO_POLY_NAMES = 4 };

typedef struct iso_poly_name {
    const char *text; /* not ended by a zero */
    size_t length;
} iso_poly_name_t;

typedef struct iso_poly_term {
    int64_t factor; /* never 0 */
    int degree;     /* number of names */
    iso_poly_name_t names[ISO_POLY_NAMES];
} iso_poly_term_t;

typedef struct iso_poly {
    int count;
    iso_poly_term_t terms[ISO_POLY_TERMS];
} iso_poly_t;

/* Is number within 2^62 of zero? */
bool iso__poly_fits(int64_t number);

/* Same characters? */
bool iso__poly_name_equal(iso_poly_name_t a, iso_poly_name_t b);

/* Put a name among those of a term. */
bool iso__poly_term_add_name(iso_poly_term_t *term, iso_poly_name_t name);

/* Multiply a term by a number. */
bool iso__poly_term_scale(iso_poly_term_t *term, int64_t number);

bool iso__poly_add_term(iso_poly_t *poly, const iso_poly_term_t *term);

/* *sum = a + sign * b; sum may be a but not b. */
bool iso__poly_add(const iso_poly_t *a, const iso_poly_t *b, int sign,
                   iso_poly_t *sum);

bool iso__poly_mul(const iso_poly_t *a, const iso_poly_t *b,
                   iso_poly_t *product);

/*
 * *quotient = a / b when a is a multiple of b with whole coefficients, else
 * *exact_out is false. b must not be zero.
 */
bool iso__poly_div(const iso_poly_t *a, const iso_poly_t *b,
                   iso_poly_t *quotient, bool *exact_out);

/*
 * Read an expression; false with *error_out, a constant text that says what
 * was expected.
 */
bool iso__poly_parse(const char *text, iso_poly_t *poly,
                     const char **error_out);

/* Write the canonical text; false when it does not fit in size bytes. */
bool iso__poly_print(const iso_poly_t *poly, char *buffer, size_t size);

#endif
