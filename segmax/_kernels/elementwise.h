/* maximum, minimum, fmax and fmin of two float32 or float64, by the processor's own comparison.
 *
 * `a > b ? a : b` is one instruction, and wrong in two places only: a NaN (it gives b) and +0 against -0 (it gives b).
 * Taken both ways and joined bit by bit, the zeros come out right; NaNs are put in at the end. Integers do the same for
 * every other type, but for these two this is the faster form.
 */
#ifndef SEGMAX_ELEMENTWISE_H
#define SEGMAX_ELEMENTWISE_H
#include <stdint.h>
#include <string.h>

/* Of two NaNs the first stays; fmax and fmin give the other operand for one NaN. */
#define SEGMAX_FLOAT(T, I, TAG)                            \
    static inline T join_##TAG(T p, T q, int minimum) {    \
        I x, y;                                            \
        memcpy(&x, &p, sizeof x);                          \
        memcpy(&y, &q, sizeof y);                          \
        x = minimum ? x | y : x & y;                       \
        memcpy(&p, &x, sizeof x);                          \
        return p;                                          \
    }                                                      \
    static inline T maximum_##TAG(T a, T b) {              \
        T r = join_##TAG(a > b ? a : b, b > a ? b : a, 0); \
        r = b != b ? b : r;                                \
        return a != a ? a : r;                             \
    }                                                      \
    static inline T minimum_##TAG(T a, T b) {              \
        T r = join_##TAG(a < b ? a : b, b < a ? b : a, 1); \
        r = b != b ? b : r;                                \
        return a != a ? a : r;                             \
    }                                                      \
    static inline T fmax_##TAG(T a, T b) {                 \
        T r = join_##TAG(a > b ? a : b, b > a ? b : a, 0); \
        r = a != a ? b : r;                                \
        return b != b ? a : r;                             \
    }                                                      \
    static inline T fmin_##TAG(T a, T b) {                 \
        T r = join_##TAG(a < b ? a : b, b < a ? b : a, 1); \
        r = a != a ? b : r;                                \
        return b != b ? a : r;                             \
    }

SEGMAX_FLOAT(float, uint32_t, float32)
SEGMAX_FLOAT(double, uint64_t, float64)

#endif
