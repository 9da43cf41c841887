/*
 * Element types.
 *
 * Computation is in f32 (f64 where a model says so); f16 and bf16 are stored
 * and converted, the integers carry indices, shapes and pixels.
 */
#ifndef ISO_DTYPE_H
#define ISO_DTYPE_H

#include <stddef.h>

/* X(name, text, bytes, npy descr, ONNX code); bf16 has no npy name. */
#define ISO_DTYPE_MAP(X)         \
    X(F32, "f32", 4, "<f4", 1)   \
    X(F16, "f16", 2, "<f2", 10)  \
    X(BF16, "bf16", 2, NULL, 16) \
    X(F64, "f64", 8, "<f8", 11)  \
    X(I8, "i8", 1, "|i1", 3)     \
    X(U8, "u8", 1, "|u1", 2)     \
    X(I32, "i32", 4, "<i4", 6)   \
    X(I64, "i64", 8, "<i8", 7)   \
    X(BOOL, "bool", 1, "|b1", 9)

typedef enum iso_dtype {
#define X(name, text, bytes, npy, onnx) ISO_DTYPE_##name,
    ISO_DTYPE_MAP(X)
#undef X
        ISO_DTYPE_COUNT /* also "unknown" */
} iso_dtype_t;

/* "f32"; "unknown" for ISO_DTYPE_COUNT. */
const char *iso_dtype_string(iso_dtype_t dtype);

/* Bytes of one element. */
size_t iso_dtype_bytes(iso_dtype_t dtype);

/* NumPy's name, for example "<f4"; NULL when it has none. */
const char *iso_dtype_npy(iso_dtype_t dtype);

/* Inverse look-ups; ISO_DTYPE_COUNT when there is no such type. The NumPy
 * name may have '=' or '|' for the byte order of this machine. */
iso_dtype_t iso_dtype_from_string(const char *text);
iso_dtype_t iso_dtype_from_npy(const char *descr);
iso_dtype_t iso_dtype_from_onnx(int code);

#endif
