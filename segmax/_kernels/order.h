/* The maximum as C expressions, one set of functions for each kind of element, all with the same names:
 *
 *     begin_K   row := combine(initial, data)       the first row of a segment, left open
 *     more_K    row := combine(row, data)           a further row
 *     only_K    row := close(combine(initial, data))  a segment of one row, in one pass
 *     close_K   open row -> result
 *     open_K    result -> open row, so that a reduction can go on where it stopped
 *     finish_K  open row that did not begin with `initial` -> result (keys only: the column kernel)
 *     join_K    open row := combine(open row, open row)
 *     merge_K   result := combine(result, result)
 *
 * K is u8, u16, u32, u64 (elements with an order-preserving key: an open row holds keys), z16, z32, z64 (two parts of
 * that many bits, compared lexicographically: an open row holds elements) and ld (long double).
 *
 * A key is an unsigned integer, greater for a greater element; the five constants that make one are explained in
 * segmax/_dtypes.py. With integers there is neither a NaN comparison nor a signed zero to think of, no floating-point
 * flag is raised, subnormals survive, and gcc vectorises every loop here without -ffast-math.
 */
#ifndef SEGMAX_ORDER_H
#define SEGMAX_ORDER_H
#include <stdint.h>
#include <string.h>

#define SEGMAX_KEYS(BITS)                                                                                             \
    typedef struct {                                                                                                  \
        uint##BITS##_t fold, flip, turn, first, span, nan; /* see _dtypes.Key */                                      \
        uint##BITS##_t low;                                /* key of `initial` */                                     \
        uint##BITS##_t initial, fill;   /* elements: where a segment starts, what an empty one holds */               \
        uint##BITS##_t less_zero, zero; /* keys of -0 and +0 where they differ, else equal */                         \
        int omit;                                                                                                     \
    } order_u##BITS;                                                                                                  \
    static inline uint##BITS##_t sign_u##BITS(uint##BITS##_t b) {                                                     \
        return (uint##BITS##_t)((int##BITS##_t)b >> (BITS - 1));                                                      \
    }                                                                                                                 \
    static inline uint##BITS##_t encode_u##BITS(uint##BITS##_t b, const order_u##BITS o) {                            \
        return (uint##BITS##_t)((b ^ (sign_u##BITS(b) & o.fold) ^ o.flip) - o.turn);                                  \
    }                                                                                                                 \
    static inline uint##BITS##_t decode_u##BITS(uint##BITS##_t key, const order_u##BITS o) {                          \
        uint##BITS##_t t = (uint##BITS##_t)((key + o.turn) ^ o.flip);                                                 \
        t = t ^ (sign_u##BITS(t) & o.fold);                                                                           \
        return (uint##BITS##_t)(key - o.first) > o.span ? o.nan : t;                                                  \
    }                                                                                                                 \
    static inline uint##BITS##_t max_u##BITS(uint##BITS##_t a, uint##BITS##_t b) { return a > b ? a : b; }            \
    static inline void begin_u##BITS(uint##BITS##_t* restrict row, const uint##BITS##_t* restrict x, int64_t n,       \
                                     const order_u##BITS o) {                                                         \
        for (int64_t j = 0; j < n; j++) row[j] = max_u##BITS(encode_u##BITS(x[j], o), o.low);                         \
    }                                                                                                                 \
    static inline void more_u##BITS(uint##BITS##_t* restrict row, const uint##BITS##_t* restrict x, int64_t n,        \
                                    const order_u##BITS o) {                                                          \
        for (int64_t j = 0; j < n; j++) row[j] = max_u##BITS(row[j], encode_u##BITS(x[j], o));                        \
    }                                                                                                                 \
    static inline void only_u##BITS(uint##BITS##_t* restrict row, const uint##BITS##_t* restrict x, int64_t n,        \
                                    const order_u##BITS o) {                                                          \
        for (int64_t j = 0; j < n; j++) row[j] = decode_u##BITS(max_u##BITS(encode_u##BITS(x[j], o), o.low), o);      \
    }                                                                                                                 \
    static inline void close_u##BITS(uint##BITS##_t* row, int64_t n, const order_u##BITS o) {                         \
        for (int64_t j = 0; j < n; j++) row[j] = decode_u##BITS(row[j], o);                                           \
    }                                                                                                                 \
    static inline void open_u##BITS(uint##BITS##_t* row, int64_t n, const order_u##BITS o) {                          \
        for (int64_t j = 0; j < n; j++) row[j] = encode_u##BITS(row[j], o);                                           \
    }                                                                                                                 \
    static inline void finish_u##BITS(uint##BITS##_t* row, int64_t n, const order_u##BITS o) {                        \
        for (int64_t j = 0; j < n; j++) row[j] = decode_u##BITS(max_u##BITS(row[j], o.low), o);                       \
    }                                                                                                                 \
    static inline void join_u##BITS(uint##BITS##_t* restrict row, const uint##BITS##_t* restrict x, int64_t n,        \
                                    const order_u##BITS o) {                                                          \
        (void)o;                                                                                                      \
        for (int64_t j = 0; j < n; j++) row[j] = max_u##BITS(row[j], x[j]);                                           \
    }                                                                                                                 \
    static inline void merge_u##BITS(uint##BITS##_t* restrict row, const uint##BITS##_t* restrict x, int64_t n,       \
                                     const order_u##BITS o) {                                                         \
        for (int64_t j = 0; j < n; j++)                                                                               \
            row[j] = decode_u##BITS(max_u##BITS(encode_u##BITS(row[j], o), encode_u##BITS(x[j], o)), o);              \
    }                                                                                                                 \
    /* Maximum of n consecutive elements as a key, 0 for none: the inside of a long segment of one column. */         \
    static inline uint##BITS##_t run_u##BITS(const uint##BITS##_t* x, int64_t n, const order_u##BITS o) {             \
        uint##BITS##_t key = 0;                                                                                       \
        for (int64_t j = 0; j < n; j++) key = max_u##BITS(key, encode_u##BITS(x[j], o));                              \
        return key;                                                                                                   \
    }                                                                                                                 \
    /* The key for a position: all NaNs share the greatest (propagate) or the least (omit: below every number's), and \
     * the two zeros are equal, as for numpy.argmax. */                                                               \
    static inline uint##BITS##_t place_u##BITS(uint##BITS##_t b, const order_u##BITS o) {                             \
        uint##BITS##_t key = encode_u##BITS(b, o), nan = o.omit ? 0 : (uint##BITS##_t) - 1;                           \
        return (uint##BITS##_t)(key - o.first) > o.span ? nan : key == o.less_zero ? o.zero : key;                    \
    }                                                                                                                 \
    /* Whether a key is a NaN that does not count. */                                                                 \
    static inline int skipped_u##BITS(uint##BITS##_t key, const order_u##BITS o) { return o.omit & (key < o.first); } \
    /* One row of an arg-reduction. `arg` is -1 until a row counts; the first of equals stays. */                     \
    static inline void arg_u##BITS(uint##BITS##_t* restrict best, int64_t* restrict arg,                              \
                                   const uint##BITS##_t* restrict x, const uint8_t* restrict where, int64_t n,        \
                                   int64_t at, const order_u##BITS o) {                                               \
        for (int64_t j = 0; j < n; j++) {                                                                             \
            uint##BITS##_t key = place_u##BITS(x[j], o);                                                              \
            int take = ((arg[j] < 0) | (key > best[j])) & (!skipped_u##BITS(key, o)) & (!where || where[j]);          \
            best[j] = take ? key : best[j];                                                                           \
            arg[j] = take ? at : arg[j];                                                                              \
        }                                                                                                             \
    }                                                                                                                 \
    /* The same for n consecutive rows of one column: their maximum first, which is a vector loop, then its place. */ \
    static inline void arg_run_u##BITS(uint##BITS##_t* best, int64_t* arg, const uint##BITS##_t* x, int64_t n,        \
                                       int64_t at, const order_u##BITS o) {                                           \
        uint##BITS##_t top = 0;                                                                                       \
        int64_t k = 0;                                                                                                \
        for (int64_t j = 0; j < n; j++) top = max_u##BITS(top, place_u##BITS(x[j], o));                               \
        if (skipped_u##BITS(top, o) || (*arg >= 0 && top <= *best)) return;                                           \
        while (place_u##BITS(x[k], o) != top) k++;                                                                    \
        *best = top;                                                                                                  \
        *arg = at + k;                                                                                                \
    }                                                                                                                 \
    typedef uint##BITS##_t cols_u##BITS __attribute__((vector_size(32)));                                             \
    typedef int##BITS##_t cols_i##BITS __attribute__((vector_size(32)));                                              \
    /* The same for n consecutive rows of one segment: a register of columns at a time, with positions as wide as the \
     * keys. */                                                                                                       \
    static inline void arg_rows_u##BITS(uint##BITS##_t* best, int64_t* arg, const uint##BITS##_t* x, int64_t stride,  \
                                        int64_t n, int64_t width, int64_t at, const order_u##BITS o) {                \
        const uint##BITS##_t missing = o.omit ? 0 : (uint##BITS##_t) - 1;                                             \
        enum { COLS = 256 / BITS };                                                                                   \
        int64_t done = 0;                                                                                             \
        for (; n - done > 1 && width >= COLS;) {                                                                      \
            int m = (int)(n - done < 128 ? n - done : 128);                                                           \
            const uint##BITS##_t* y = x + done * stride;                                                              \
            int64_t c = 0;                                                                                            \
            for (; c + COLS <= width; c += COLS) {                                                                    \
                cols_u##BITS b, key, nan, take, top = {0}, row = {0}; /* row: one more than it, 0 for none */         \
                for (int k = 0; k < m; k++) {                                                                         \
                    memcpy(&b, y + k * stride + c, sizeof b);                                                         \
                    key = ((b ^ ((cols_u##BITS)((cols_i##BITS)b >> (BITS - 1)) & o.fold)) ^ o.flip) - o.turn;         \
                    nan = (cols_u##BITS)(key - o.first > o.span);                                                     \
                    take = (cols_u##BITS)(key == o.less_zero);                                                        \
                    key = (key & ~take) | (take & o.zero);                                                            \
                    key = (key & ~nan) | (nan & missing);                                                             \
                    take = (cols_u##BITS)(row == 0) | (cols_u##BITS)(key > top);                                      \
                    if (o.omit) take &= (cols_u##BITS)(key >= o.first);                                               \
                    top = (key & take) | (top & ~take);                                                               \
                    row = (take & (uint##BITS##_t)(k + 1)) | (row & ~take);                                           \
                }                                                                                                     \
                for (int j = 0; j < COLS; j++)                                                                        \
                    if (row[j] && (arg[c + j] < 0 || top[j] > best[c + j]))                                           \
                        best[c + j] = top[j], arg[c + j] = at + done + row[j] - 1;                                    \
            }                                                                                                         \
            for (int k = 0; k < m; k++)                                                                               \
                arg_u##BITS(best + c, arg + c, y + k * stride + c, 0, width - c, at + done + k, o);                   \
            done += m;                                                                                                \
        }                                                                                                             \
        for (; done < n; done++) arg_u##BITS(best, arg, x + done * stride, 0, width, at + done, o);                   \
    }

SEGMAX_KEYS(8)
SEGMAX_KEYS(16)
SEGMAX_KEYS(32)
SEGMAX_KEYS(64)

/* Kinds whose open row holds elements: a function `before` (a < b in the wanted order, neither a NaN) and `nan` make
 * the rest. Of equals the first stays, of NaNs the first met, as in NumPy. */
#define SEGMAX_ELEMENTS(K, T)                                                                                    \
    static inline T combine_##K(T a, T b, const order_##K o) {                                                   \
        int skip = o.omit ? nan_##K(b, o) : nan_##K(a, o);                                                       \
        int take = o.omit ? nan_##K(a, o) : nan_##K(b, o);                                                       \
        return (!skip) & (take | before_##K(a, b, o)) ? b : a;                                                   \
    }                                                                                                            \
    static inline void begin_##K(T* restrict row, const T* restrict x, int64_t n, const order_##K o) {           \
        for (int64_t j = 0; j < n; j++) row[j] = combine_##K(o.initial, x[j], o);                                \
    }                                                                                                            \
    static inline void more_##K(T* restrict row, const T* restrict x, int64_t n, const order_##K o) {            \
        for (int64_t j = 0; j < n; j++) row[j] = combine_##K(row[j], x[j], o);                                   \
    }                                                                                                            \
    static inline void close_##K(T* row, int64_t n, const order_##K o) {                                         \
        for (int64_t j = 0; j < n; j++) row[j] = result_##K(row[j], o);                                          \
    }                                                                                                            \
    static inline void only_##K(T* restrict row, const T* restrict x, int64_t n, const order_##K o) {            \
        begin_##K(row, x, n, o);                                                                                 \
        close_##K(row, n, o);                                                                                    \
    }                                                                                                            \
    static inline void open_##K(T* row, int64_t n, const order_##K o) { (void)row, (void)n, (void)o; }           \
    static inline void join_##K(T* restrict row, const T* restrict x, int64_t n, const order_##K o) {            \
        more_##K(row, x, n, o);                                                                                  \
    }                                                                                                            \
    static inline void merge_##K(T* restrict row, const T* restrict x, int64_t n, const order_##K o) {           \
        more_##K(row, x, n, o);                                                                                  \
        close_##K(row, n, o);                                                                                    \
    }                                                                                                            \
    static inline void arg_##K(T* restrict best, int64_t* restrict arg, const T* restrict x,                     \
                               const uint8_t* restrict where, int64_t n, int64_t at, const order_##K o) {        \
        for (int64_t j = 0; j < n; j++) {                                                                        \
            int nan = nan_##K(x[j], o), better = (!nan_##K(best[j], o)) & (nan | before_##K(best[j], x[j], o));  \
            if (((arg[j] < 0) | better) & (!(nan & o.omit)) & (!where || where[j])) best[j] = x[j], arg[j] = at; \
        }                                                                                                        \
    }

/* Complex: parts as integers; the two zeros are equal here (NumPy compares them as numbers). */
#define SEGMAX_COMPLEX(BITS)                                                                                \
    typedef struct {                                                                                        \
        uint##BITS##_t re, im;                                                                              \
    } pair_z##BITS;                                                                                         \
    typedef struct {                                                                                        \
        pair_z##BITS initial, fill;                                                                         \
        int##BITS##_t largest;                                                                              \
        int minimum, omit;                                                                                  \
    } order_z##BITS;                                                                                        \
    static inline int##BITS##_t number_z##BITS(uint##BITS##_t b) {                                          \
        int##BITS##_t size = (int##BITS##_t)(b & ((uint##BITS##_t) - 1 >> 1));                              \
        return (int##BITS##_t)b < 0 ? (int##BITS##_t) - size : size;                                        \
    }                                                                                                       \
    static inline int nan_z##BITS(pair_z##BITS a, const order_z##BITS o) {                                  \
        const uint##BITS##_t size = (uint##BITS##_t) - 1 >> 1;                                              \
        return ((int##BITS##_t)(a.re & size) > o.largest) | ((int##BITS##_t)(a.im & size) > o.largest);     \
    }                                                                                                       \
    static inline int before_z##BITS(pair_z##BITS a, pair_z##BITS b, const order_z##BITS o) {               \
        int##BITS##_t p = number_z##BITS(a.re), q = number_z##BITS(b.re);                                   \
        int##BITS##_t r = number_z##BITS(a.im), s = number_z##BITS(b.im);                                   \
        return o.minimum ? (p > q) | ((p == q) & (r > s)) : (p < q) | ((p == q) & (r < s));                 \
    }                                                                                                       \
    static inline pair_z##BITS result_z##BITS(pair_z##BITS a, const order_z##BITS o) { return (void)o, a; } \
    SEGMAX_ELEMENTS(z##BITS, pair_z##BITS)

SEGMAX_COMPLEX(16)
SEGMAX_COMPLEX(32)
SEGMAX_COMPLEX(64)

/* long double: quiet comparisons only, -0 before +0, a NaN result is the canonical one. */
typedef struct {
    long double initial, fill, nan;
    int minimum, omit, arg;
} order_ld;
static inline int nan_ld(long double a, const order_ld o) { return (void)o, __builtin_isunordered(a, a); }
static inline int before_ld(long double a, long double b, const order_ld o) {
    int less = __builtin_isless(a, b), greater = __builtin_isgreater(a, b);
    int tie = !o.arg & !less & !greater, down = __builtin_signbit(a) != 0, up = __builtin_signbit(b) != 0;
    return o.minimum ? greater | (tie & !down & up) : less | (tie & down & !up);
}
static inline long double result_ld(long double a, const order_ld o) { return nan_ld(a, o) ? o.nan : a; }
SEGMAX_ELEMENTS(ld, long double)

#endif
