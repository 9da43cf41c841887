#include "isotome/error.h"
#include "isotome/shape.h"

#include "base/digest.h"
#include "poly_impl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest expression with its ending zero, read or made. */
enum { EXPRESSION_BYTES = 4096 };

enum { INTERN_BUCKETS = 4096 };

typedef struct interned {
    struct interned *next;
    char text[];
} interned_t;

/*
 * Every expression and every name in one, for the life of the process, so
 * that dims are values. The blocks come from malloc and not from base/mem.h:
 * a test that asks for "nothing left" must not count what is kept by design.
 * They stay reachable from here, so that no leak checker reports them.
 */
static interned_t *intern_table[INTERN_BUCKETS];
static pthread_mutex_t intern_lock = PTHREAD_MUTEX_INITIALIZER;

/* The kept copy of text, or NULL when memory ran out. */
static const char *intern(const char *text, size_t length)
{
    uint64_t hash = iso_digest_of(text, length);
    interned_t **bucket = &intern_table[hash % INTERN_BUCKETS];

    (void)pthread_mutex_lock(&intern_lock);
    interned_t *entry = *bucket;
    while (entry != NULL && (strncmp(entry->text, text, length) != 0 ||
                             entry->text[length] != '\0')) {
        entry = entry->next;
    }
    if (entry == NULL) {
        entry = malloc(sizeof *entry + length + 1);
        if (entry != NULL) {
            memcpy(entry->text, text, length);
            entry->text[length] = '\0';
            entry->next = *bucket;
            *bucket = entry;
        }
    }
    (void)pthread_mutex_unlock(&intern_lock);
    return entry == NULL ? NULL : entry->text;
}

/* Polynomial of a dim; false for a number over 2^62. */
static bool poly_of_dim(iso_dim_t dim, iso_poly_t *poly)
{
    const char *error = NULL;
    iso_poly_term_t term = {.factor = dim.size};

    if (!iso_dim_is_static(dim)) {
        return iso__poly_parse(dim.sym, poly, &error);
    }
    poly->count = 0;
    return iso__poly_fits(dim.size) && iso__poly_add_term(poly, &term);
}

/* Dim of a polynomial, with its text and its names interned. */
static iso_status_t dim_of_poly(const iso_poly_t *poly, iso_dim_t *dim_out)
{
    char text[EXPRESSION_BYTES];
    bool kept = true;

    if (poly->count == 0) {
        *dim_out = iso_dim_of(0);
        return ISO_OK;
    }
    if (poly->terms[0].degree == 0) {
        *dim_out = iso_dim_of(poly->terms[0].factor);
        return ISO_OK;
    }
    if (!iso__poly_print(poly, text, sizeof text)) {
        return iso_fail(ISO_INVAL, "the expression '%.40s...' is too long",
                        text);
    }
    for (int i = 0; i < poly->count; i++) {
        const iso_poly_term_t *term = &poly->terms[i];
        for (int j = 0; kept && j < term->degree; j++) {
            kept = intern(term->names[j].text, term->names[j].length) != NULL;
        }
    }
    const char *sym = kept ? intern(text, strlen(text)) : NULL;
    if (sym == NULL) {
        return iso_fail(ISO_NOMEM,
                        "out of memory: cannot keep a dim of %zu "
                        "characters",
                        strlen(text));
    }
    *dim_out = (iso_dim_t){.sym = sym};
    return ISO_OK;
}

iso_dim_t iso_dim_of(int64_t size)
{
    return (iso_dim_t){.size = size};
}

iso_status_t iso_dim_parse(const char *text, iso_dim_t *dim_out)
{
    iso_poly_t poly;
    const char *error = NULL;

    if (strlen(text) >= EXPRESSION_BYTES) {
        return iso_fail(ISO_INVAL,
                        "dim '%.40s...': %zu characters, expected at most %d",
                        text, strlen(text), EXPRESSION_BYTES - 1);
    }
    if (!iso__poly_parse(text, &poly, &error)) {
        return iso_fail(ISO_INVAL,
                        "dim '%s': %s; a dim is a sum of products of names "
                        "and numbers, for example 2*N+1",
                        text, error);
    }
    return dim_of_poly(&poly, dim_out);
}

bool iso_dim_equal(iso_dim_t a, iso_dim_t b)
{
    if (a.sym == NULL || b.sym == NULL) {
        return a.sym == b.sym && a.size == b.size;
    }
    return strcmp(a.sym, b.sym) == 0;
}

typedef bool poly_op_t(const iso_poly_t *a, const iso_poly_t *b,
                       iso_poly_t *result);

static bool poly_sum(const iso_poly_t *a, const iso_poly_t *b,
                     iso_poly_t *result)
{
    return iso__poly_add(a, b, 1, result);
}

static bool poly_difference(const iso_poly_t *a, const iso_poly_t *b,
                            iso_poly_t *result)
{
    return iso__poly_add(a, b, -1, result);
}

static iso_status_t fail_op(iso_dim_t a, const char *op, iso_dim_t b)
{
    char text_a[ISO_DIM_TEXT_BYTES];
    char text_b[ISO_DIM_TEXT_BYTES];

    return iso_fail(ISO_INVAL,
                    "dim (%s) %s (%s) needs numbers over 2^62, more than %d "
                    "terms or more than %d names in a product",
                    iso_dim_text(a, text_a), op, iso_dim_text(b, text_b),
                    ISO_POLY_TERMS, ISO_POLY_NAMES);
}

static iso_status_t compute(iso_dim_t a, iso_dim_t b, poly_op_t *op,
                            const char *op_text, iso_dim_t *dim_out)
{
    iso_poly_t poly_a;
    iso_poly_t poly_b;
    iso_poly_t result;

    if (!poly_of_dim(a, &poly_a) || !poly_of_dim(b, &poly_b) ||
        !op(&poly_a, &poly_b, &result)) {
        return fail_op(a, op_text, b);
    }
    return dim_of_poly(&result, dim_out);
}

iso_status_t iso_dim_add(iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out)
{
    return compute(a, b, poly_sum, "+", dim_out);
}

iso_status_t iso_dim_sub(iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out)
{
    return compute(a, b, poly_difference, "-", dim_out);
}

iso_status_t iso_dim_mul(iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out)
{
    return compute(a, b, iso__poly_mul, "*", dim_out);
}

iso_status_t iso_dim_div(iso_dim_t a, iso_dim_t b, iso_dim_t *dim_out,
                         bool *exact_out)
{
    iso_poly_t poly_a;
    iso_poly_t poly_b;
    iso_poly_t quotient;
    bool exact = false;

    if (iso_dim_equal(b, iso_dim_of(0))) {
        char text[ISO_DIM_TEXT_BYTES];
        return iso_fail(ISO_INVAL, "dim (%s) is divided by 0",
                        iso_dim_text(a, text));
    }
    if (!poly_of_dim(a, &poly_a) || !poly_of_dim(b, &poly_b) ||
        !iso__poly_div(&poly_a, &poly_b, &quotient, &exact)) {
        return fail_op(a, "/", b);
    }
    if (exact) {
        ISO_TRY(dim_of_poly(&quotient, dim_out));
    }
    *exact_out = exact;
    return ISO_OK;
}

static const iso_binding_t *find_binding(const iso_binding_t *bindings,
                                         int count, iso_poly_name_t name)
{
    for (int i = 0; i < count; i++) {
        const iso_poly_name_t bound = {bindings[i].name,
                                       strlen(bindings[i].name)};
        if (iso__poly_name_equal(bound, name)) {
            return &bindings[i];
        }
    }
    return NULL;
}

/* *bound = the term with numbers in place of its bound names. */
static bool bind_term(const iso_poly_term_t *term,
                      const iso_binding_t *bindings, int count,
                      iso_poly_term_t *bound)
{
    bool fits = true;

    *bound = (iso_poly_term_t){.factor = term->factor};
    for (int i = 0; fits && i < term->degree; i++) {
        const iso_binding_t *binding =
            find_binding(bindings, count, term->names[i]);
        fits = binding == NULL ? iso__poly_term_add_name(bound, term->names[i])
                               : iso__poly_term_scale(bound, binding->size);
    }
    return fits;
}

iso_status_t iso_dim_bind(iso_dim_t dim, const iso_binding_t *bindings,
                          int count, iso_dim_t *dim_out)
{
    iso_poly_t poly;
    iso_poly_t result = {.count = 0};

    if (iso_dim_is_static(dim)) {
        *dim_out = dim;
        return ISO_OK;
    }
    bool fits = poly_of_dim(dim, &poly);
    for (int i = 0; fits && i < poly.count; i++) {
        iso_poly_term_t term;
        fits = bind_term(&poly.terms[i], bindings, count, &term) &&
               iso__poly_add_term(&result, &term);
    }
    if (!fits) {
        return iso_fail(ISO_INVAL, "dim (%s) is over 2^62 with the sizes given",
                        dim.sym);
    }
    return dim_of_poly(&result, dim_out);
}

/* With no minus before a name, a dim is least where all names are 1: there it
 * is the sum of its factors. */
bool iso_dim_least(iso_dim_t dim, int64_t *least_out)
{
    iso_poly_t poly;
    int64_t least = 0;

    if (iso_dim_is_static(dim)) {
        *least_out = dim.size;
        return true;
    }
    bool known = poly_of_dim(dim, &poly);
    for (int i = 0; known && i < poly.count; i++) {
        const iso_poly_term_t *term = &poly.terms[i];
        known = (term->degree == 0 || term->factor > 0) &&
                !__builtin_add_overflow(least, term->factor, &least);
    }
    if (known) {
        *least_out = least;
    }
    return known;
}

const char *iso_dim_text(iso_dim_t dim, char *buffer)
{
    if (dim.sym != NULL) {
        return dim.sym;
    }
    (void)snprintf(buffer, ISO_DIM_TEXT_BYTES, "%lld", (long long)dim.size);
    return buffer;
}

void iso_dim_names(iso_dim_t dim, void (*visit)(const char *name, void *arg),
                   void *arg)
{
    iso_poly_name_t seen[ISO_POLY_TERMS * ISO_POLY_NAMES];
    int seen_count = 0;
    iso_poly_t poly;

    if (iso_dim_is_static(dim) || !poly_of_dim(dim, &poly)) {
        return;
    }
    for (int i = 0; i < poly.count * ISO_POLY_NAMES; i++) {
        const iso_poly_term_t *term = &poly.terms[i / ISO_POLY_NAMES];
        int at = 0;
        if (i % ISO_POLY_NAMES >= term->degree) {
            continue;
        }
        iso_poly_name_t name = term->names[i % ISO_POLY_NAMES];
        while (at < seen_count && !iso__poly_name_equal(seen[at], name)) {
            at++;
        }
        if (at == seen_count) {
            seen[seen_count++] = name;
            /* Already kept when the dim was made: this cannot fail. */
            visit(intern(name.text, name.length), arg);
        }
    }
}
