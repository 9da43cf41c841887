/*
 * What the unpacker takes for granted, checked on the packed bytes: it calls
 * itself for each nested message, so a file of nested graphs would exhaust
 * the stack; and it keeps texts as they are, while ours must be UTF-8.
 */
#include "isotome/error.h"

#include "model/onnx/onnx_impl.h"

#include <string.h>

enum {
    MOST_NESTING = 64,
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_LENGTH = 2,
    WIRE_32 = 5,
};

/* Where a message ends and what it is. */
typedef struct level {
    size_t end;
    const ProtobufCMessageDescriptor *type;
} level_t;

typedef struct walk {
    const uint8_t *bytes;
    size_t at;
    int depth;
    level_t levels[MOST_NESTING];
} walk_t;

static iso_status_t damaged(const walk_t *walk, const char *what)
{
    return iso_fail(ISO_INPUT, "not an ONNX model, or damaged: %s at byte %zu",
                    what, walk->at);
}

static iso_status_t read_varint(walk_t *walk, uint64_t *value_out)
{
    size_t end = walk->levels[walk->depth - 1].end;
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && walk->at < end; shift += 7) {
        uint8_t byte = walk->bytes[walk->at++];

        value |= (uint64_t)(byte & 0x7fU) << shift;
        if ((byte & 0x80U) == 0) {
            *value_out = value;
            return ISO_OK;
        }
    }
    return damaged(walk, "a number without an end");
}

static iso_status_t skip(walk_t *walk, uint64_t bytes)
{
    if (bytes > walk->levels[walk->depth - 1].end - walk->at) {
        return damaged(walk, "a field longer than its message");
    }
    walk->at += (size_t)bytes;
    return ISO_OK;
}

/* -- texts -- */

/* Bytes of the character that starts here, 0 when it is not one. */
static size_t utf8_length(const uint8_t *text, size_t size)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length;
    uint32_t code;

    if (text[0] < 0x80) {
        return 1;
    }
    if (text[0] < 0xc0 || text[0] >= 0xf8) {
        return 0;
    }
    length = text[0] < 0xe0 ? 2 : (text[0] < 0xf0 ? 3 : 4);
    if (length > size) {
        return 0;
    }
    code = text[0] & (0xffU >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0U) != 0x80) {
            return 0;
        }
        code = code << 6 | (text[i] & 0x3fU);
    }
    if (code < least[length] || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000)) {
        return 0;
    }
    return length;
}

static iso_status_t check_text(walk_t *walk, uint64_t size)
{
    const uint8_t *text = walk->bytes + walk->at;
    size_t at = 0;

    while (at < size) {
        size_t length = utf8_length(text + at, (size_t)size - at);

        if (length == 0 || text[at] < 0x20) {
            walk->at += at;
            return damaged(walk, "a name that is not UTF-8 text");
        }
        at += length;
    }
    return ISO_OK;
}

/* -- messages -- */

static iso_status_t enter(walk_t *walk, uint64_t size,
                          const ProtobufCMessageDescriptor *type)
{
    if (walk->depth == MOST_NESTING) {
        return damaged(walk, "more than 64 nested messages");
    }
    walk->levels[walk->depth] = (level_t){walk->at + (size_t)size, type};
    walk->depth++;
    return ISO_OK;
}

static iso_status_t check_bytes_field(walk_t *walk, unsigned number)
{
    const level_t *level = &walk->levels[walk->depth - 1];
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(level->type, number);
    uint64_t size;

    ISO_TRY(read_varint(walk, &size));
    if (size > level->end - walk->at) {
        return damaged(walk, "a field longer than its message");
    }
    if (field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE) {
        return enter(walk, size, field->descriptor);
    }
    if (field != NULL && field->type == PROTOBUF_C_TYPE_STRING &&
        strcmp(field->name, "doc_string") != 0) {
        ISO_TRY(check_text(walk, size));
    }
    return skip(walk, size);
}

static iso_status_t check_field(walk_t *walk)
{
    uint64_t tag;
    uint64_t value;

    ISO_TRY(read_varint(walk, &tag));
    if (tag >> 3 == 0 || tag >> 3 > INT32_MAX) {
        return damaged(walk, "a field without a number");
    }
    switch (tag & 7U) {
    case WIRE_VARINT:
        return read_varint(walk, &value);
    case WIRE_64:
        return skip(walk, 8);
    case WIRE_32:
        return skip(walk, 4);
    case WIRE_LENGTH:
        return check_bytes_field(walk, (unsigned)(tag >> 3));
    default:
        return damaged(walk, "a field of unknown kind");
    }
}

/* Out of a message at its end, else over one of its fields. */
static iso_status_t step(walk_t *walk)
{
    if (walk->at == walk->levels[walk->depth - 1].end) {
        walk->depth--;
        return ISO_OK;
    }
    return check_field(walk);
}

iso_status_t iso__onnx_check_bytes(const uint8_t *bytes, size_t size,
                                   const ProtobufCMessageDescriptor *type)
{
    walk_t walk = {.bytes = bytes, .depth = 1, .levels = {{size, type}}};

    while (walk.depth > 0) {
        ISO_TRY(step(&walk));
    }
    return ISO_OK;
}
