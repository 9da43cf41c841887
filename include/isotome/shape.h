/*
 * Shapes: up to ISO_MAX_RANK dimensions, each a number or an expression of
 * named sizes ("N", "P+T", "50*N").
 *
 * An expression is kept as its canonical text (a sum of products with whole
 * coefficients, terms and factors sorted), so that two equal dims have equal
 * texts and a dim is printed and stored as it is. Texts are interned for the
 * life of the process: dims are values and own nothing.
 */
#ifndef ISO_SHAPE_H
#define ISO_SHAPE_H

#include "isotome/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ISO_MAX_RANK = 8 };

/* One dimension: size when sym is NULL, else the expression sym. */
typedef struct iso_dim {
    int64_t size;    /* >= 0 in a shape; attributes may hold negatives */
    const char *sym; /* interned canonical expression, or NULL */
} iso_dim_t;

typedef struct iso_shape {
    int rank;
    iso_dim_t dim[ISO_MAX_RANK];
} iso_shape_t;

/* A named size and the number it is bound to. */
typedef struct iso_binding {
    const char *name;
    int64_t size;
} iso_binding_t;

iso_dim_t iso_dim_of(int64_t size);

/* Parse "N", "2*N+1", "7". Errors: ISO_INVAL, ISO_NOMEM. */
iso_status_t iso_dim_parse(const char *text, iso_dim_t *dim_out);

static inline bool iso_dim_is_static(iso_dim_t dim)
{
    return dim.sym == NULL;
}

bool iso_dim_equal(iso_dim_t a, iso_dim_t b);

/*
 * Exact arithmetic; the result is static when it is a number.
 * div: *exact_out says whether a is a whole multiple of b for every value of
 * the names (then *dim_out = a / b), else *dim_out is left alone.
 * Errors: ISO_INVAL on overflow past 2^62, more than 8 terms, b = 0.
 */
iso_status_t iso_dim_add(iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out);
iso_status_t iso_dim_sub(iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out);
iso_status_t iso_dim_mul(iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out);
iso_status_t iso_dim_div(iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out,
                         bool *exact_out);

/* Put numbers in place of the bound names; other names stay. */
iso_status_t iso_dim_bind(iso_dim_t dim, const iso_binding_t *bindings,
                          int count, iso_dim_t *dim_out);

/*
 * Least value of a dim when every name is 1 or more. False, and *least_out is
 * left alone, when a product of names is subtracted: then it is not known.
 */
bool iso_dim_least(iso_dim_t dim, int64_t *least_out);

/*
 * Decimal or expression text of a dim; buffer has ISO_DIM_TEXT_BYTES bytes
 * (used for numbers only). Never NULL.
 */
enum { ISO_DIM_TEXT_BYTES = 24 };
const char *iso_dim_text(iso_dim_t dim, char *buffer);

/*
 * Call visit once for each name in the expression, for example to list what
 * a graph leaves free. The names last as long as the process.
 */
void iso_dim_names(iso_dim_t dim, void (*visit)(const char *name, void *arg),
                   void *arg);

/* Shape from numbers: iso_shape_of(2, (const int64_t[]){4, 8}). */
iso_shape_t iso_shape_of(int rank, const int64_t *sizes);
bool iso_shape_equal(const iso_shape_t *a, const iso_shape_t *b);
bool iso_shape_is_static(const iso_shape_t *shape);

/* Product of the dims as a dim. */
iso_status_t iso_shape_elements(const iso_shape_t *shape, iso_dim_t *dim_out);

/* Product of a static shape; -1 when it is symbolic or over 2^62. */
int64_t iso_shape_count(const iso_shape_t *shape);

/* Bind each dim. Errors: ISO_SHAPE when one becomes negative. */
iso_status_t iso_shape_bind(const iso_shape_t *shape,
                            const iso_binding_t *bindings, int count,
                            iso_shape_t *shape_out);

/* "[N,3,32,32]"; "[]" for a scalar. buffer has ISO_SHAPE_TEXT_BYTES bytes;
 * longer texts are cut with "...". Returns buffer. */
enum { ISO_SHAPE_TEXT_BYTES = 256 };
const char *iso_shape_text(const iso_shape_t *shape, char *buffer);

/*
 * NumPy broadcasting of two shapes. Errors: ISO_SHAPE with both shapes.
 * Two symbolic dims must be equal; a symbolic dim against a number other
 * than 1 is an error.
 */
iso_status_t iso_shape_broadcast(const iso_shape_t *a, const iso_shape_t *b,
                                 iso_shape_t *shape_out);

#endif
