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

/* The extreme of n elements that are no NaN and stand one or two apart, one instruction each; false if only the exact
 * loop can tell: there is a NaN that counts, or the result is a zero or where it started. One comparison tells whether
 * either of two elements is NaN. */
#define SEGMAX_EXTREME(T, I, TAG, NAME, CMP, START, COUNTS_NAN, STEP)                  \
    static inline int NAME##_extreme##STEP##_##TAG(const T* x, int64_t n, T* result) { \
        enum { HALF = 128 / sizeof(T), LANES = 2 * HALF };                             \
        T a[HALF], b[HALF];                                                            \
        I bad[HALF] = {0};                                                             \
        int any = 0;                                                                   \
        int64_t i = 0;                                                                 \
        for (int j = 0; j < HALF; j++) a[j] = b[j] = START;                            \
        for (; i + LANES <= n; i += LANES)                                             \
            for (int j = 0; j < HALF; j++) {                                           \
                T p = x[STEP * (i + j)], q = x[STEP * (i + HALF + j)];                 \
                a[j] = p CMP a[j] ? p : a[j];                                          \
                b[j] = q CMP b[j] ? q : b[j];                                          \
                if (COUNTS_NAN) bad[j] |= __builtin_isunordered(p, q);                 \
            }                                                                          \
        for (; i < n; i++) {                                                           \
            a[0] = x[STEP * i] CMP a[0] ? x[STEP * i] : a[0];                          \
            if (COUNTS_NAN) any |= x[STEP * i] != x[STEP * i];                         \
        }                                                                              \
        for (int j = 0; j < HALF; j++) {                                               \
            a[0] = a[j] CMP a[0] ? a[j] : a[0];                                        \
            a[0] = b[j] CMP a[0] ? b[j] : a[0];                                        \
            any |= bad[j] != 0;                                                        \
        }                                                                              \
        *result = a[0];                                                                \
        return !any && a[0] != 0 && a[0] != START;                                     \
    }
#define SEGMAX_EXTREMES_OF(T, I, TAG, NAME, CMP, START, COUNTS_NAN)                                   \
    SEGMAX_EXTREME(T, I, TAG, NAME, CMP, START, COUNTS_NAN, 1)                                        \
    SEGMAX_EXTREME(T, I, TAG, NAME, CMP, START, COUNTS_NAN, 2)                                        \
    static inline int NAME##_extreme_##TAG(const T* x, int64_t n, int64_t step, T* result) {          \
        return step == 1 ? NAME##_extreme1_##TAG(x, n, result) : NAME##_extreme2_##TAG(x, n, result); \
    }
#define SEGMAX_EXTREMES(T, I, TAG)                                    \
    SEGMAX_EXTREMES_OF(T, I, TAG, maximum, >, -(T)__builtin_inf(), 1) \
    SEGMAX_EXTREMES_OF(T, I, TAG, minimum, <, (T)__builtin_inf(), 1)  \
    SEGMAX_EXTREMES_OF(T, I, TAG, fmax, >, -(T)__builtin_inf(), 0)    \
    SEGMAX_EXTREMES_OF(T, I, TAG, fmin, <, (T)__builtin_inf(), 0)
SEGMAX_EXTREMES(float, int32_t, float32)
SEGMAX_EXTREMES(double, int64_t, float64)

SEGMAX_FLOAT(float, uint32_t, float32)
SEGMAX_FLOAT(double, uint64_t, float64)

/* The same of complex numbers, compared by the real and then by the imaginary part; whole and with a NaN in either is
 * NaN. Of equal ones, which zeros may be, the first stays. A vector holds one number or several: real and imaginary
 * parts take the same comparisons, of which a real part's lane then takes what it needs from its neighbour. */
#define SEGMAX_PAIRS(T, I, TAG, BYTES, SWAP, REAL)                                                           \
    typedef T segmax_##TAG##_##BYTES __attribute__((vector_size(BYTES)));                                    \
    typedef I segmax_##TAG##_bits_##BYTES __attribute__((vector_size(BYTES)));                               \
    static inline void pick_##TAG##_##BYTES(const void* p, const void* q, void* o, int minimum, int skips) { \
        const segmax_##TAG##_bits_##BYTES swap = SWAP, real = REAL;                                          \
        segmax_##TAG##_##BYTES a, b;                                                                         \
        segmax_##TAG##_bits_##BYTES stays, x, y, r;                                                          \
        memcpy(&a, p, BYTES);                                                                                \
        memcpy(&b, q, BYTES);                                                                                \
        stays = minimum ? a <= b : a >= b;                                                                   \
        stays = (minimum ? a < b : a > b) | ((a == b) & __builtin_shuffle(stays, swap));                     \
        x = a != a, y = b != b;                                                                              \
        x |= __builtin_shuffle(x, swap), y |= __builtin_shuffle(y, swap);                                    \
        stays = skips ? y | (~x & stays) : x | (~y & stays);                                                 \
        stays = __builtin_shuffle(stays, real);                                                              \
        memcpy(&x, p, BYTES);                                                                                \
        memcpy(&y, q, BYTES);                                                                                \
        r = (x & stays) | (y & ~stays);                                                                      \
        memcpy(o, &r, BYTES);                                                                                \
    }
#define SEGMAX_PAIR_OPERATION(TAG, ONE, MANY, NAME, MINIMUM, SKIPS)                                    \
    static inline void NAME##_##TAG(const void* a, const void* b, void* o) {                           \
        pick_##TAG##_##ONE(a, b, o, MINIMUM, SKIPS);                                                   \
    }                                                                                                  \
    /* n numbers, unless the output lies a little behind an operand. */                                \
    static inline int NAME##_all_##TAG(const void* p, const void* q, void* r, int64_t n) {             \
        const char *a = p, *b = q;                                                                     \
        char* o = r;                                                                                   \
        if ((uintptr_t)(o - a) - 1 < MANY - 1 || (uintptr_t)(o - b) - 1 < MANY - 1) return 0;          \
        for (n *= ONE; n >= MANY; n -= MANY, a += MANY, b += MANY, o += MANY)                          \
            pick_##TAG##_##MANY(a, b, o, MINIMUM, SKIPS);                                              \
        for (; n; n -= ONE, a += ONE, b += ONE, o += ONE) pick_##TAG##_##ONE(a, b, o, MINIMUM, SKIPS); \
        return 1;                                                                                      \
    }
/* Whether a number precedes another by its real part already, and nothing is NaN. */
#define SEGMAX_PRECEDES(T, TAG)                                      \
    static inline int precedes_##TAG(const void* p, const void* q) { \
        T a[2], b[2];                                                \
        memcpy(a, p, sizeof a);                                      \
        memcpy(b, q, sizeof b);                                      \
        return (a[0] < b[0]) & !__builtin_isunordered(a[1], b[1]);   \
    }
SEGMAX_PRECEDES(float, complex64)
SEGMAX_PRECEDES(double, complex128)
#define SEGMAX_PAIR_OPERATIONS(TAG, ONE, MANY)           \
    SEGMAX_PAIR_OPERATION(TAG, ONE, MANY, maximum, 0, 0) \
    SEGMAX_PAIR_OPERATION(TAG, ONE, MANY, minimum, 1, 0) \
    SEGMAX_PAIR_OPERATION(TAG, ONE, MANY, fmax, 0, 1)    \
    SEGMAX_PAIR_OPERATION(TAG, ONE, MANY, fmin, 1, 1)
#define SEGMAX_LIST(...) {__VA_ARGS__}
SEGMAX_PAIRS(float, int32_t, complex64, 8, SEGMAX_LIST(1, 0), SEGMAX_LIST(0, 0))
SEGMAX_PAIRS(float, int32_t, complex64, 32, SEGMAX_LIST(1, 0, 3, 2, 5, 4, 7, 6), SEGMAX_LIST(0, 0, 2, 2, 4, 4, 6, 6))
SEGMAX_PAIRS(double, int64_t, complex128, 16, SEGMAX_LIST(1, 0), SEGMAX_LIST(0, 0))
SEGMAX_PAIRS(double, int64_t, complex128, 32, SEGMAX_LIST(1, 0, 3, 2), SEGMAX_LIST(0, 0, 2, 2))
SEGMAX_PAIR_OPERATIONS(complex64, 8, 32)
SEGMAX_PAIR_OPERATIONS(complex128, 16, 32)

#endif
