/* Narrow rows: up to 32 bytes of a fixed number D of columns, held in one vector register across a segment. A loop over
 * D columns costs 4 to 5 ns a row whatever D is; a register costs 1.
 *
 *     one_uN_D    all rows of the block are one segment's
 *     few_uN_D    few segment ends: a branch for each
 *     many_uN_D   many: no branch at all, every row is stored and the last of a segment wins
 *
 * x is the block's first row, `stride` elements from row to row; `ids` its m ids; `to` the output row of id 0; `acc`
 * the keys of the open segment so far, 0 if none is. All leave results, not keys, in the output.
 */
#ifndef SEGMAX_ROWS_H
#define SEGMAX_ROWS_H
#include <string.h>

#include "order.h"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* Bytes of look-ahead in the data. */
enum { ROWS_AHEAD = 8192 };

#define ROWS_VECTOR(BITS, BYTES)                                                      \
    typedef uint##BITS##_t row_u##BITS##_##BYTES __attribute__((vector_size(BYTES))); \
    typedef int##BITS##_t row_i##BITS##_##BYTES __attribute__((vector_size(BYTES)));
#define ROWS_VECTORS(BITS) ROWS_VECTOR(BITS, 16) ROWS_VECTOR(BITS, 32)
ROWS_VECTORS(8)
ROWS_VECTORS(16)
ROWS_VECTORS(32)
ROWS_VECTORS(64)
/* The greater of each pair of lanes: one instruction where the level has it, else a comparison and a choice. */
#define ROWS_MAX(BITS, BYTES)                                                                                         \
    static inline row_u##BITS##_##BYTES row_max_u##BITS##_##BYTES(row_u##BITS##_##BYTES a, row_u##BITS##_##BYTES b) { \
        row_u##BITS##_##BYTES m = (row_u##BITS##_##BYTES)(a > b);                                                     \
        return (a & m) | (b & ~m);                                                                                    \
    }
#define ROWS_MAX_BY(BITS, BYTES, V, F)                                                                                \
    static inline row_u##BITS##_##BYTES row_max_u##BITS##_##BYTES(row_u##BITS##_##BYTES a, row_u##BITS##_##BYTES b) { \
        return (row_u##BITS##_##BYTES)F((V)a, (V)b);                                                                  \
    }
// clang-format off
#if defined(__AVX2__)
ROWS_MAX_BY(8, 16, __m128i, _mm_max_epu8)
ROWS_MAX_BY(16, 16, __m128i, _mm_max_epu16)
ROWS_MAX_BY(32, 16, __m128i, _mm_max_epu32)
ROWS_MAX_BY(8, 32, __m256i, _mm256_max_epu8)
ROWS_MAX_BY(16, 32, __m256i, _mm256_max_epu16)
ROWS_MAX_BY(32, 32, __m256i, _mm256_max_epu32)
#else
ROWS_MAX(8, 16)
ROWS_MAX(16, 16)
ROWS_MAX(32, 16)
ROWS_MAX(8, 32)
ROWS_MAX(16, 32)
ROWS_MAX(32, 32)
#endif
#if defined(__AVX512VL__)
ROWS_MAX_BY(64, 16, __m128i, _mm_max_epu64)
ROWS_MAX_BY(64, 32, __m256i, _mm256_max_epu64)
#else
ROWS_MAX(64, 16)
ROWS_MAX(64, 32)
#endif
// clang-format on

/* Up to 8 bytes at p, and the way back, `n` a constant. (A memcpy into part of a vector goes through memory and
 * costs a store-forwarding stall, 7 ns a row.) */
static inline uint64_t row_read(const unsigned char* p, int n) {
    uint64_t eight = 0;
    uint32_t four = 0;
    uint16_t two = 0;
    if (n >= 8) return memcpy(&eight, p, 8), eight;
    if (n >= 4) return memcpy(&four, p, 4), four | (n > 4 ? row_read(p + 4, n - 4) << 32 : 0);
    if (n >= 2) return memcpy(&two, p, 2), two | (n > 2 ? (uint64_t)p[2] << 16 : 0);
    return n == 1 ? *p : 0;
}
static inline void row_write(unsigned char* p, uint64_t v, int n) {
    uint32_t four = (uint32_t)v;
    uint16_t two = (uint16_t)v;
    if (n >= 8)
        memcpy(p, &v, 8);
    else if (n >= 4) {
        memcpy(p, &four, 4);
        if (n > 4) row_write(p + 4, v >> 32, n - 4);
    } else if (n >= 2) {
        memcpy(p, &two, 2);
        if (n > 2) p[2] = (unsigned char)(v >> 16);
    } else if (n == 1)
        *p = (unsigned char)v;
}

#define SEGMAX_ROWS(BITS, D, BYTES)                                                                               \
    typedef row_u##BITS##_##BYTES narrow_u##BITS##_##D;                                                           \
    static inline narrow_u##BITS##_##D load_u##BITS##_##D(const uint##BITS##_t* p) {                              \
        narrow_u##BITS##_##D v;                                                                                   \
        enum { N = D * BITS / 8 };                                                                                \
        if (N == BYTES) return memcpy(&v, p, N), v;                                                               \
        const unsigned char* q = (const unsigned char*)p;                                                         \
        row_u64_##BYTES words = {row_read(q, N), row_read(q + 8, N - 8)};                                         \
        if (BYTES == 32) words[2 * (BYTES == 32)] = row_read(q + 16, N - 16);                                     \
        return (narrow_u##BITS##_##D)words;                                                                       \
    }                                                                                                             \
    static inline void put_u##BITS##_##D(uint##BITS##_t* p, narrow_u##BITS##_##D v) {                             \
        enum { N = D * BITS / 8 };                                                                                \
        if (N == BYTES) {                                                                                         \
            memcpy(p, &v, N);                                                                                     \
            return;                                                                                               \
        }                                                                                                         \
        unsigned char* q = (unsigned char*)p;                                                                     \
        row_u64_##BYTES words = (row_u64_##BYTES)v;                                                               \
        row_write(q, words[0], N);                                                                                \
        row_write(q + 8, words[1], N - 8);                                                                        \
        if (BYTES == 32) row_write(q + 16, words[2 * (BYTES == 32)], N - 16);                                     \
    }                                                                                                             \
    static inline narrow_u##BITS##_##D key_u##BITS##_##D(narrow_u##BITS##_##D b, const order_u##BITS o) {         \
        narrow_u##BITS##_##D s = (narrow_u##BITS##_##D)((row_i##BITS##_##BYTES)b < 0);                            \
        return (b ^ (s & o.fold) ^ o.flip) - o.turn;                                                              \
    }                                                                                                             \
    static inline void store_u##BITS##_##D(uint##BITS##_t* p, narrow_u##BITS##_##D acc, const order_u##BITS o) {  \
        narrow_u##BITS##_##D key = row_max_u##BITS##_##BYTES(acc, (narrow_u##BITS##_##D){0} + o.low);             \
        narrow_u##BITS##_##D t = (key + o.turn) ^ o.flip, bad = (narrow_u##BITS##_##D)((key - o.first) > o.span); \
        t ^= (narrow_u##BITS##_##D)((row_i##BITS##_##BYTES)t < 0) & o.fold;                                       \
        t = (bad & o.nan) | (~bad & t);                                                                           \
        put_u##BITS##_##D(p, t);                                                                                  \
    }                                                                                                             \
    static inline void one_u##BITS##_##D(const uint##BITS##_t* x, int64_t stride, const int32_t* ids, int m,      \
                                         narrow_u##BITS##_##D acc, uint##BITS##_t* to, const order_u##BITS o) {   \
        for (int k = 0; k < m; k++, x += stride) {                                                                \
            __builtin_prefetch((const char*)x + ROWS_AHEAD);                                                      \
            acc = row_max_u##BITS##_##BYTES(acc, key_u##BITS##_##D(load_u##BITS##_##D(x), o));                    \
        }                                                                                                         \
        store_u##BITS##_##D(to + (int64_t)ids[0] * D, acc, o);                                                    \
    }                                                                                                             \
    static inline void few_u##BITS##_##D(const uint##BITS##_t* x, int64_t stride, const int32_t* ids, int m,      \
                                         narrow_u##BITS##_##D acc, uint##BITS##_t* to, const order_u##BITS o) {   \
        for (int k = 0; k < m; k++, x += stride) {                                                                \
            __builtin_prefetch((const char*)x + ROWS_AHEAD);                                                      \
            acc = row_max_u##BITS##_##BYTES(acc, key_u##BITS##_##D(load_u##BITS##_##D(x), o));                    \
            if (k == m - 1 || ids[k + 1] != ids[k]) {                                                             \
                store_u##BITS##_##D(to + (int64_t)ids[k] * D, acc, o);                                            \
                acc = (narrow_u##BITS##_##D){0};                                                                  \
            }                                                                                                     \
        }                                                                                                         \
    }                                                                                                             \
    static inline void many_u##BITS##_##D(const uint##BITS##_t* x, int64_t stride, const int32_t* ids, int m,     \
                                          narrow_u##BITS##_##D acc, uint##BITS##_t* to, const order_u##BITS o) {  \
        int32_t before = ids[0];                                                                                  \
        for (int k = 0; k < m; k++, x += stride) {                                                                \
            __builtin_prefetch((const char*)x + ROWS_AHEAD);                                                      \
            uint##BITS##_t same = (uint##BITS##_t) - (ids[k] == before);                                          \
            before = ids[k];                                                                                      \
            acc = row_max_u##BITS##_##BYTES(acc & same, key_u##BITS##_##D(load_u##BITS##_##D(x), o));             \
            store_u##BITS##_##D(to + (int64_t)before * D, acc, o);                                                \
        }                                                                                                         \
    }                                                                                                             \
    /* One block of any kind; `open`: the output row of its first id holds a result to go on from. */             \
    static void block_u##BITS##_##D(const uint##BITS##_t* x, int64_t stride, const int32_t* ids, int m, int open, \
                                    uint##BITS##_t* to, const order_u##BITS o) {                                  \
        narrow_u##BITS##_##D acc = {0};                                                                           \
        if (open) acc = key_u##BITS##_##D(load_u##BITS##_##D(to + (int64_t)ids[0] * D), o);                       \
        if (ids[0] == ids[m - 1])                                                                                 \
            one_u##BITS##_##D(x, stride, ids, m, acc, to, o);                                                     \
        else if ((ids[m - 1] - ids[0]) * (int64_t)8 > m)                                                          \
            many_u##BITS##_##D(x, stride, ids, m, acc, to, o);                                                    \
        else                                                                                                      \
            few_u##BITS##_##D(x, stride, ids, m, acc, to, o);                                                     \
    }

#endif
