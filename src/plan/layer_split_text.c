/* The layer split as text, and as the numbers that stand for it. */
#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "base/text.h"
#include "plan/layer_split_impl.h"

#include <stdbool.h>
#include <string.h>

/* -- parse -- */

/* One piece between commas, without the blanks around it. */
typedef struct piece {
    const char *text;
    size_t length;
    int position; /* from 1 */
} piece_t;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The piece at text; returns where it ends: at a comma or the end. */
static const char *cut_piece(const char *text, int position, piece_t *piece_out)
{
    const char *end = text + strcspn(text, ",");
    const char *last = end;

    while (text < end && is_blank(*text)) {
        text++;
    }
    while (last > text && is_blank(last[-1])) {
        last--;
    }
    *piece_out = (piece_t){text, (size_t)(last - text), position};
    return end;
}

static iso_status_t bad_piece(const piece_t *piece, const char *whole,
                              const char *why)
{
    int shown = piece->length > 40 ? 40 : (int)piece->length;

    return iso_fail(ISO_INVAL, "layer split '%.200s': count %d ('%.*s') %s",
                    whole, piece->position, shown, piece->text, why);
}

static iso_status_t parse_piece(const piece_t *piece, const char *whole,
                                int64_t *count_out)
{
    int64_t count = 0;

    if (piece->length == 0) {
        return bad_piece(piece, whole, "is empty");
    }
    for (size_t i = 0; i < piece->length; i++) {
        char c = piece->text[i];
        if (c < '0' || c > '9') {
            return bad_piece(piece, whole,
                             "is not a whole number without a sign");
        }
        count = 10 * count + (c - '0');
        if (count > INT32_MAX) {
            return bad_piece(piece, whole, "is over 2147483647");
        }
    }
    if (count == 0) {
        return bad_piece(piece, whole, "is zero, but each stage needs a layer");
    }
    *count_out = count;
    return ISO_OK;
}

static iso_status_t parse_pieces(const char *text, iso_layer_split_t *split)
{
    const char *at = text;

    for (int i = 0; i < split->world; i++) {
        piece_t piece;
        /* Ranks are in the order of the text. */
        at = cut_piece(at, i + 1, &piece) + 1;
        ISO_TRY(parse_piece(&piece, text, &split->counts[i]));
    }
    return ISO_OK;
}

iso_status_t iso_layer_split_parse(const char *text,
                                   iso_layer_split_t *split_out)
{
    int64_t pieces = 1;

    *split_out = (iso_layer_split_t){0};
    for (const char *at = text; *at != '\0'; at++) {
        pieces += *at == ',' ? 1 : 0;
    }
    if (pieces > ISO_MAX_WORLD) {
        return iso_fail(ISO_INVAL, "layer split of %lld counts, at most %d",
                        (long long)pieces, (int)ISO_MAX_WORLD);
    }
    ISO_TRY(iso__layer_split_alloc((int)pieces, split_out));
    iso_status_t status = parse_pieces(text, split_out);
    if (status != ISO_OK) {
        iso_layer_split_free(split_out);
    }
    return status;
}

/* -- print -- */

char *iso_layer_split_text(const iso_layer_split_t *split)
{
    iso_text_t text = {0};

    iso_text_add(&text, "%s", "");
    for (int rank = 0; rank < split->world; rank++) {
        iso_text_add(&text, "%s%lld", rank == 0 ? "" : ",",
                     (long long)split->counts[rank]);
    }
    if (text.status != ISO_OK) {
        iso_text_free(&text);
    }
    return text.data;
}

uint32_t iso_layer_split_fingerprint24(const iso_layer_split_t *split)
{
    uint32_t hash = UINT32_C(0x811c9dc5);

    for (int rank = 0; rank < split->world; rank++) {
        uint32_t count = (uint32_t)split->counts[rank];
        for (int byte = 0; byte < 4; byte++) {
            hash ^= (count >> (8 * byte)) & 0xff;
            hash *= UINT32_C(0x01000193);
        }
    }
    return hash & UINT32_C(0xffffff);
}

uint64_t iso_layer_split_digest(const iso_layer_split_t *split)
{
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_text(&digest, "layer_split");
    iso_digest_add_int(&digest, split->world);
    for (int rank = 0; rank < split->world; rank++) {
        iso_digest_add_int(&digest, split->counts[rank]);
    }
    return iso_digest_end(&digest);
}
