#include "poly_impl.h"

#include <stdio.h>
#include <string.h>

static const int64_t limit = INT64_C(1) << 62;

_Static_assert(ISO_POLY_TERMS == 8 && ISO_POLY_NAMES == 4,
               "the texts of errors name these numbers");

bool iso__poly_fits(int64_t number)
{
    return number >= -limit && number <= limit;
}

static int compare_names(iso_poly_name_t a, iso_poly_name_t b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = memcmp(a.text, b.text, shorter);

    if (order == 0) {
        order = (a.length > b.length) - (a.length < b.length);
    }
    return order;
}

bool iso__poly_name_equal(iso_poly_name_t a, iso_poly_name_t b)
{
    return compare_names(a, b) == 0;
}

/*
 * Graded order, which products keep: a < b gives a * c < b * c. Division
 * depends on that.
 */
static int compare_terms(const iso_poly_term_t *a, const iso_poly_term_t *b)
{
    int order = b->degree - a->degree;

    for (int i = 0; order == 0 && i < a->degree; i++) {
        order = compare_names(a->names[i], b->names[i]);
    }
    return order;
}

bool iso__poly_term_add_name(iso_poly_term_t *term, iso_poly_name_t name)
{
    int at = term->degree;

    if (term->degree == ISO_POLY_NAMES) {
        return false;
    }
    while (at > 0 && compare_names(name, term->names[at - 1]) < 0) {
        term->names[at] = term->names[at - 1];
        at--;
    }
    term->names[at] = name;
    term->degree++;
    return true;
}

bool iso__poly_term_scale(iso_poly_term_t *term, int64_t number)
{
    return !__builtin_mul_overflow(term->factor, number, &term->factor) &&
           iso__poly_fits(term->factor);
}

/* *product = a * b. */
static bool multiply_terms(const iso_poly_term_t *a, const iso_poly_term_t *b,
                           iso_poly_term_t *product)
{
    bool fits = true;

    *product = *a;
    for (int i = 0; fits && i < b->degree; i++) {
        fits = iso__poly_term_add_name(product, b->names[i]);
    }
    return fits && iso__poly_term_scale(product, b->factor);
}

bool iso__poly_add_term(iso_poly_t *poly, const iso_poly_term_t *term)
{
    int at = 0;

    if (term->factor == 0) {
        return true;
    }
    while (at < poly->count && compare_terms(&poly->terms[at], term) < 0) {
        at++;
    }
    iso_poly_term_t *place = &poly->terms[at];
    size_t after = (size_t)(poly->count - at) * sizeof *place;
    if (at == poly->count || compare_terms(place, term) != 0) {
        if (poly->count == ISO_POLY_TERMS) {
            return false;
        }
        memmove(place + 1, place, after);
        *place = *term;
        poly->count++;
        return iso__poly_fits(term->factor);
    }
    if (__builtin_add_overflow(place->factor, term->factor, &place->factor)) {
        return false;
    }
    if (place->factor == 0) {
        memmove(place, place + 1, after - sizeof *place);
        poly->count--;
        return true;
    }
    return iso__poly_fits(place->factor);
}

bool iso__poly_add(const iso_poly_t *a, const iso_poly_t *b, int sign,
                   iso_poly_t *sum)
{
    bool fits = true;

    *sum = *a;
    for (int i = 0; fits && i < b->count; i++) {
        iso_poly_term_t term = b->terms[i];
        term.factor *= sign;
        fits = iso__poly_add_term(sum, &term);
    }
    return fits;
}

bool iso__poly_mul(const iso_poly_t *a, const iso_poly_t *b,
                   iso_poly_t *product)
{
    bool fits = true;

    product->count = 0;
    for (int i = 0; fits && i < a->count; i++) {
        for (int j = 0; fits && j < b->count; j++) {
            iso_poly_term_t term;
            fits = multiply_terms(&a->terms[i], &b->terms[j], &term) &&
                   iso__poly_add_term(product, &term);
        }
    }
    return fits;
}

/* *quotient = a / b; false when b does not divide a. */
static bool divide_terms(const iso_poly_term_t *a, const iso_poly_term_t *b,
                         iso_poly_term_t *quotient)
{
    int used = 0;

    *quotient = (iso_poly_term_t){.factor = a->factor / b->factor};
    for (int i = 0; i < a->degree; i++) {
        if (used < b->degree &&
            iso__poly_name_equal(a->names[i], b->names[used])) {
            used++;
        } else {
            quotient->names[quotient->degree++] = a->names[i];
        }
    }
    return used == b->degree && a->factor % b->factor == 0;
}

/*
 * Long division by the first terms. Each step removes the first term of the
 * rest and leaves smaller ones, so that it ends.
 */
bool iso__poly_div(const iso_poly_t *a, const iso_poly_t *b,
                   iso_poly_t *quotient, bool *exact_out)
{
    iso_poly_t rest = *a;

    quotient->count = 0;
    *exact_out = false;
    while (rest.count > 0) {
        iso_poly_t step = {.count = 1};
        iso_poly_t product;
        if (!divide_terms(&rest.terms[0], &b->terms[0], &step.terms[0])) {
            return true;
        }
        if (!iso__poly_add_term(quotient, &step.terms[0]) ||
            !iso__poly_mul(&step, b, &product) ||
            !iso__poly_add(&rest, &product, -1, &rest)) {
            return false;
        }
    }
    *exact_out = true;
    return true;
}

static bool starts_name(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool continues_name(char c)
{
    return starts_name(c) || is_digit(c) || c == '.' || c == ':';
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " ");
}

/* Read digits and multiply the term by their number. */
static const char *parse_number(const char *text, iso_poly_term_t *term,
                                const char **error_out)
{
    int64_t number = 0;

    for (; is_digit(*text); text++) {
        if (number > (limit - (*text - '0')) / 10) {
            *error_out = "a number is over 2^62";
            return NULL;
        }
        number = number * 10 + (*text - '0');
    }
    if (!iso__poly_term_scale(term, number)) {
        *error_out = "a product is over 2^62";
        return NULL;
    }
    if (continues_name(*text)) {
        *error_out = "a number runs into a name; write '*' between them";
        return NULL;
    }
    return text;
}

/* Read one name or number into the term. */
static const char *parse_factor(const char *text, iso_poly_term_t *term,
                                const char **error_out)
{
    iso_poly_name_t name = {.text = text};

    if (is_digit(*text)) {
        return parse_number(text, term, error_out);
    }
    if (!starts_name(*text)) {
        *error_out = "a name or a number is expected";
        return NULL;
    }
    while (continues_name(text[name.length])) {
        name.length++;
    }
    if (!iso__poly_term_add_name(term, name)) {
        *error_out = "a product has more than 4 names";
        return NULL;
    }
    return text + name.length;
}

/* Read factors joined by '*'. */
static const char *parse_term(const char *text, iso_poly_term_t *term,
                              const char **error_out)
{
    for (;;) {
        text = parse_factor(skip_blanks(text), term, error_out);
        if (text == NULL) {
            return NULL;
        }
        text = skip_blanks(text);
        if (*text != '*') {
            return text;
        }
        text++;
    }
}

bool iso__poly_parse(const char *text, iso_poly_t *poly, const char **error_out)
{
    int64_t sign = 1;

    poly->count = 0;
    text = skip_blanks(text);
    if (*text == '-') {
        sign = -1;
        text++;
    }
    for (;;) {
        iso_poly_term_t term = {.factor = sign};
        text = parse_term(text, &term, error_out);
        if (text == NULL) {
            return false;
        }
        if (!iso__poly_add_term(poly, &term)) {
            *error_out = "more than 8 terms or a number over 2^62";
            return false;
        }
        if (*text == '\0') {
            return true;
        }
        if (*text != '+' && *text != '-') {
            *error_out = "'+', '-', '*' or the end is expected";
            return false;
        }
        sign = *text == '-' ? -1 : 1;
        text++;
    }
}

/* Append one term; returns the number of characters, also of those cut. */
static size_t print_term(const iso_poly_term_t *term, bool first, char *buffer,
                         size_t size)
{
    const char *plus = first || term->factor < 0 ? "" : "+";
    const char *star = "";
    int added = 0;

    if (term->degree > 0 && (term->factor == 1 || term->factor == -1)) {
        added =
            snprintf(buffer, size, "%s%s", plus, term->factor < 0 ? "-" : "");
    } else {
        added = snprintf(buffer, size, "%s%lld", plus, (long long)term->factor);
        star = "*";
    }
    size_t length = (size_t)added;
    for (int i = 0; length < size && i < term->degree; i++) {
        added = snprintf(buffer + length, size - length, "%s%.*s", star,
                         (int)term->names[i].length, term->names[i].text);
        length += (size_t)added;
        star = "*";
    }
    return length;
}

bool iso__poly_print(const iso_poly_t *poly, char *buffer, size_t size)
{
    size_t length = 0;

    if (poly->count == 0) {
        return (size_t)snprintf(buffer, size, "0") < size;
    }
    for (int i = 0; length < size && i < poly->count; i++) {
        length +=
            print_term(&poly->terms[i], i == 0, buffer + length, size - length);
    }
    return length < size;
}
