/*
 * ONNX files for the system tests, from texts (unit/onnx_text.h):
 *
 *     make_model FILE.onnx <TEXT        opset 13
 */
#include "onnx_text.h"

#include <stdio.h>

enum { OPSET = 13, MOST_BYTES = 1 << 16 };

int main(int argc, char **argv)
{
    static char text[MOST_BYTES];
    iso_arena_t *arena = NULL;
    size_t size = fread(text, 1, sizeof text - 1, stdin);

    if (argc != 2 || size == 0 || iso_arena_create(&arena) != ISO_OK) {
        (void)fputs("usage: make_model FILE.onnx <TEXT\n", stderr);
        return 2;
    }
    onnx_text_write(onnx_text_model(arena, OPSET, text), argv[1]);
    iso_arena_destroy(&arena);
    return 0;
}
