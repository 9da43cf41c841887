/*
 * SLEEF's deterministic functions. Its own header shows the scalar ones only
 * where the compiler may use FMA by itself, so elsewhere they are declared
 * here.
 *
 * Sleef_finz_NAMEf1_u10purecfma gives the bits of Sleef_finz_NAMEf8_u10avx2
 * and of Sleef_finz_NAMEf16_u10avx512f. The library holds FMA instructions
 * for it: a CPU without FMA cannot run it.
 */
#ifndef ISO_SLEEF_H
#define ISO_SLEEF_H

#ifdef __AVX2__
#include <sleef.h>
#else

#define ISO__ONE(type) (type x)
#define ISO__TWO(type) (type x, type y)

#define ISO__SLEEF_MAP(X) \
    X(exp, ISO__ONE)      \
    X(expm1, ISO__ONE)    \
    X(log, ISO__ONE)      \
    X(log1p, ISO__ONE)    \
    X(sin, ISO__ONE)      \
    X(cos, ISO__ONE)      \
    X(tanh, ISO__ONE)     \
    X(erf, ISO__ONE)      \
    X(pow, ISO__TWO)

#define X(name, operands)                                    \
    float Sleef_finz_##name##f1_u10purecfma operands(float); \
    double Sleef_finz_##name##d1_u10purecfma operands(double);
ISO__SLEEF_MAP(X)
#undef X

#endif

#endif
