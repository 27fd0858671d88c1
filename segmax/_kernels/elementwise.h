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

/* The extreme of n elements that are no NaN, one instruction each; false if only the exact loop can tell: there is a
 * NaN that counts, or the result is a zero or where it started. */
#define SEGMAX_EXTREME(T, TAG, NAME, CMP, START, COUNTS_NAN)                   \
    static inline int NAME##_extreme_##TAG(const T* x, int64_t n, T* result) { \
        enum { LANES = 256 / sizeof(T) };                                      \
        T lanes[LANES];                                                        \
        int bad[LANES] = {0}, any = 0;                                         \
        int64_t i = 0;                                                         \
        for (int j = 0; j < LANES; j++) lanes[j] = START;                      \
        for (; i + LANES <= n; i += LANES)                                     \
            for (int j = 0; j < LANES; j++) {                                  \
                lanes[j] = x[i + j] CMP lanes[j] ? x[i + j] : lanes[j];        \
                if (COUNTS_NAN) bad[j] |= x[i + j] != x[i + j];                \
            }                                                                  \
        for (; i < n; i++) {                                                   \
            lanes[0] = x[i] CMP lanes[0] ? x[i] : lanes[0];                    \
            if (COUNTS_NAN) any |= x[i] != x[i];                               \
        }                                                                      \
        for (int j = 0; j < LANES; j++) {                                      \
            lanes[0] = lanes[j] CMP lanes[0] ? lanes[j] : lanes[0];            \
            any |= bad[j];                                                     \
        }                                                                      \
        *result = lanes[0];                                                    \
        return !any && lanes[0] != 0 && lanes[0] != START;                     \
    }
#define SEGMAX_EXTREMES(T, TAG)                                \
    SEGMAX_EXTREME(T, TAG, maximum, >, -(T)__builtin_inf(), 1) \
    SEGMAX_EXTREME(T, TAG, minimum, <, (T)__builtin_inf(), 1)  \
    SEGMAX_EXTREME(T, TAG, fmax, >, -(T)__builtin_inf(), 0)    \
    SEGMAX_EXTREME(T, TAG, fmin, <, (T)__builtin_inf(), 0)
SEGMAX_EXTREMES(float, float32)
SEGMAX_EXTREMES(double, float64)

SEGMAX_FLOAT(float, uint32_t, float32)
SEGMAX_FLOAT(double, uint64_t, float64)

#endif
