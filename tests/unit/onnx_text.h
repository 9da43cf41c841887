/*
 * ONNX files from short texts, one item a line:
 *
 *     in x f32 N,3,8,8           an input; "?" is a dim without a name
 *     init s i64 2 : 1 -1        an initializer, its elements in text
 *     init w f32 4,3,3,3 : *.5   all elements equal
 *     y = Conv(x, w) strides=2,2 auto_pad='SAME_UPPER' alpha=0.5
 *     a, b = Split(x) axis=1     "_" is an output or input without a name
 *     c = Constant() value=:i64 2 : 1 -1
 *     out y
 *
 * An attribute with a point in it is a float, one with a comma a list.
 */
#ifndef ONNX_TEXT_H
#define ONNX_TEXT_H

#include "isotome/onnx.h"

#include "base/arena.h"

#include <onnx/onnx.pb-c.h>

/* The message for a text; it lives in the arena. Aborts on a bad text. */
Onnx__ModelProto *onnx_text_model(iso_arena_t *arena, int opset,
                                  const char *source);

/* Write a message to path. */
void onnx_text_write(const Onnx__ModelProto *model, const char *path);

/* Write a text to text.onnx in this folder, import it, remove it. */
iso_status_t onnx_text_import(int opset, const char *text,
                              const iso_onnx_options_t *options,
                              iso_onnx_t **onnx_out);

#endif
