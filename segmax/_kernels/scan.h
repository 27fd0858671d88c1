/* Segmented running maximum of one column, inside vector registers: the one piece where intrinsics pay (1.3 to 2 times
 * the best plain C for up to 128 rows a segment). One form per CPU level, and a portable twin.
 *
 *     scan_uN(x, ids, m, o, carry, to, dense)
 *
 * x        m elements, m a multiple of 16, at most SCAN_MOST
 * ids      m non-decreasing ids; ids[-1] is the id that `carry` belongs to, or any other number; readable from ids[-8]
 * carry    key of the open segment so far
 * to       keys: afterwards to[ids[k]] is the key of the maximum of that id's rows, for every id that occurs
 * dense    ids grow by at most 1 from row to row; then nothing but to[ids[0]] .. to[ids[m-1]] is written
 *
 * Elements of 8 and 16 bits become keys of 32 bits with zeros at the low end, so that `turn` wraps as it does at their
 * own width. For 64 bits without AVX-512 a plain chain is as fast as a scan.
 */
#ifndef SEGMAX_SCAN_H
#define SEGMAX_SCAN_H
#include <string.h>
#include "order.h"

/* Rows of look-ahead. The largest single gain of all (0.565 -> 0.348 ns a row at 4 rows a segment). */
enum { SCAN_AHEAD = 2048 };
enum { SCAN_MOST = 256 };

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define SCAN_AVX512
#elif defined(__AVX2__) && defined(__BMI2__)
#define SCAN_AVX2
#endif

/* The constants of a narrow type, moved to the top of 32 bits. */
static inline order_u32 widen_u8(const order_u8 o) {
    order_u32 w = {(uint32_t)o.fold << 24, (uint32_t)o.flip << 24, (uint32_t)o.turn << 24, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    return w;
}
static inline order_u32 widen_u16(const order_u16 o) {
    order_u32 w = {(uint32_t)o.fold << 16, (uint32_t)o.flip << 16, (uint32_t)o.turn << 16, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    return w;
}
static inline order_u32 widen_u32(const order_u32 o) { return o; }

#if defined(SCAN_AVX512)
#include <immintrin.h>
#define SCAN_LOAD_u8(p) _mm512_slli_epi32(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void*)(p))), 24)
#define SCAN_LOAD_u16(p) _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void*)(p))), 16)
#define SCAN_LOAD_u32(p) _mm512_loadu_si512(p)
#define SCAN_STEP(q, s) v = _mm512_mask_max_epu32(v, (__mmask16)(q), v, _mm512_alignr_epi32(v, zero, 16 - s));
#define SEGMAX_SCAN(K, T)                                                                                           \
    static inline __attribute__((always_inline)) void scan_##K(                                                     \
        const T* x, const int32_t* ids, int m, const order_##K o, uint32_t carry0, uint32_t* to, const int dense) { \
        const order_u32 w = widen_##K(o);                                                                           \
        const __m512i last = _mm512_set1_epi32(15), zero = _mm512_setzero_si512();                                  \
        const __m512i fold = _mm512_set1_epi32((int)w.fold), flip = _mm512_set1_epi32((int)w.flip),                 \
                      turn = _mm512_set1_epi32((int)w.turn);                                                        \
        __m512i carry = _mm512_set1_epi32((int)carry0);                                                             \
        uint32_t* p = to + ids[0];                                                                                  \
        for (int k = 0; k < m; k += 16) {                                                                           \
            __builtin_prefetch(x + k + SCAN_AHEAD);                                                                 \
            __builtin_prefetch(ids + k + SCAN_AHEAD);                                                               \
            __m512i d = _mm512_loadu_si512(ids + k), b = SCAN_LOAD_##K(x + k);                                      \
            __m512i v = _mm512_and_si512(_mm512_srai_epi32(b, 31), fold);                                           \
            v = _mm512_sub_epi32(_mm512_xor_si512(_mm512_xor_si512(b, v), flip), turn);                             \
            /* One comparison: bit k of q1 says "same id as the row before"; runs reaching back 2, 4, 8 follow. */  \
            uint32_t q1 = _mm512_cmpeq_epi32_mask(d, _mm512_loadu_si512(ids + k - 1));                              \
            uint32_t q2 = q1 & (q1 << 1), q4 = q2 & (q2 << 2), q8 = q4 & (q4 << 4), carried = q1 & ~(q1 + 1);       \
            uint32_t ends = k + 16 < m ? (uint32_t)_mm512_cmpneq_epi32_mask(d, _mm512_loadu_si512(ids + k + 1))     \
                                       : ((~q1 >> 1) | 0x8000) & 0xffff;                                            \
            SCAN_STEP(q1, 1)                                                                                        \
            SCAN_STEP(q2, 2)                                                                                        \
            SCAN_STEP(q4, 4) SCAN_STEP(q8, 8) v = _mm512_mask_max_epu32(v, (__mmask16)carried, v, carry);           \
            carry = _mm512_permutexvar_epi32(last, v);                                                              \
            if (dense) {                                                                                            \
                int count = __builtin_popcount(ends);                                                               \
                _mm512_mask_storeu_epi32(p, (__mmask16)((1u << count) - 1),                                         \
                                         _mm512_maskz_compress_epi32((__mmask16)ends, v));                          \
                p += count;                                                                                         \
            } else                                                                                                  \
                _mm512_mask_i32scatter_epi32(to, (__mmask16)ends, d, v, 4);                                         \
        }                                                                                                           \
    }
#elif defined(SCAN_AVX2)
#include <immintrin.h>
#define SCAN_LOAD_u8(p) _mm256_slli_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void*)(p))), 24)
#define SCAN_LOAD_u16(p) _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void*)(p))), 16)
#define SCAN_LOAD_u32(p) _mm256_loadu_si256((const void*)(p))
/* Keys that end a segment are stored eight at a time, garbage included, into a buffer of their own: a masked store
 * takes longer than all the rest on some CPUs (on Zen 3 all of it took 1.5 times as long). */
#define SCAN_SAME(s) _mm256_cmpeq_epi32(d, _mm256_loadu_si256((const void*)(ids + k - s)))
/* For each mask of 8 segment ends, the lanes to keep, in order, one byte each: AVX2 has no compress, and pext takes
 * hundreds of cycles on some CPUs. */
static uint64_t scan_pick[256];
static __attribute__((constructor)) void scan_make_pick(void) {
    for (int mask = 0; mask < 256; mask++) {
        int count = 0;
        for (int lane = 0; lane < 8; lane++)
            if (mask >> lane & 1) scan_pick[mask] |= (uint64_t)lane << (8 * count++);
    }
}
#define SEGMAX_SCAN(K, T)                                                                                              \
    static inline __attribute__((always_inline)) void scan_##K(                                                        \
        const T* x, const int32_t* ids, int m, const order_##K o, uint32_t carry0, uint32_t* to, const int dense) {    \
        const order_u32 w = widen_##K(o);                                                                              \
        const __m256i by1 = _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6),                                                 \
                      by2 = _mm256_setr_epi32(0, 0, 0, 1, 2, 3, 4, 5);                                                 \
        const __m256i not1 = _mm256_setr_epi32(0, -1, -1, -1, -1, -1, -1, -1),                                         \
                      not2 = _mm256_setr_epi32(0, 0, -1, -1, -1, -1, -1, -1);                                          \
        const __m256i last = _mm256_set1_epi32(7);                                                                     \
        const __m256i fold = _mm256_set1_epi32((int)w.fold), flip = _mm256_set1_epi32((int)w.flip),                    \
                      turn = _mm256_set1_epi32((int)w.turn);                                                           \
        __m256i carry = _mm256_set1_epi32((int)carry0);                                                                \
        uint32_t ended[SCAN_MOST + 8], *p = ended;                                                                     \
        for (int k = 0; k < m; k += 8) {                                                                               \
            if (!(k & 8)) {                                                                                            \
                __builtin_prefetch(x + k + SCAN_AHEAD);                                                                \
                __builtin_prefetch(ids + k + SCAN_AHEAD);                                                              \
            }                                                                                                          \
            __m256i d = _mm256_loadu_si256((const void*)(ids + k)), b = SCAN_LOAD_##K(x + k);                          \
            __m256i v = _mm256_and_si256(_mm256_srai_epi32(b, 31), fold);                                              \
            v = _mm256_sub_epi32(_mm256_xor_si256(_mm256_xor_si256(b, v), flip), turn);                                \
            /* Key 0 is the least, so a comparison's mask can simply be and-ed onto the shifted keys. */               \
            __m256i same = SCAN_SAME(1);                                                                               \
            v = _mm256_max_epu32(v,                                                                                    \
                                 _mm256_and_si256(_mm256_permutevar8x32_epi32(v, by1), _mm256_and_si256(not1, same))); \
            v = _mm256_max_epu32(                                                                                      \
                v, _mm256_and_si256(_mm256_permutevar8x32_epi32(v, by2), _mm256_and_si256(not2, SCAN_SAME(2))));       \
            v = _mm256_max_epu32(v, _mm256_and_si256(_mm256_permute2x128_si256(v, v, 0x08), SCAN_SAME(4)));            \
            v = _mm256_max_epu32(v, _mm256_and_si256(carry, _mm256_cmpeq_epi32(d, _mm256_set1_epi32(ids[k - 1]))));    \
            carry = _mm256_permutevar8x32_epi32(v, last);                                                              \
            if (dense) {                                                                                               \
                uint32_t ends = k + 8 < m                                                                              \
                                    ? 255u & ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(SCAN_SAME(-1)))         \
                                    : ((~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(same)) >> 1) & 0x7f) | 0x80; \
                int count = __builtin_popcount(ends);                                                                  \
                __m256i pick = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)scan_pick[ends]));                    \
                _mm256_storeu_si256((void*)p, _mm256_permutevar8x32_epi32(v, pick));                                   \
                p += count;                                                                                            \
            } else {                                                                                                   \
                uint32_t keys[8] __attribute__((aligned(32)));                                                         \
                _mm256_store_si256((__m256i*)keys, v);                                                                 \
                for (int j = 0; j < 8; j++) to[ids[k + j]] = keys[j];                                                  \
            }                                                                                                          \
        }                                                                                                              \
        if (dense) memcpy(to + ids[0], ended, (size_t)(p - ended) * sizeof *to);                                       \
    }
#else
/* (id, key) in one 64-bit word: ids do not decrease, so a plain running maximum is segmented by itself. Every row is
 * stored, the last one of an id wins. */
#define SEGMAX_SCAN(K, T)                                                                                 \
    static inline void scan_##K(const T* x, const int32_t* ids, int m, const order_##K o, uint32_t carry, \
                                uint32_t* to, const int dense) {                                          \
        const int shift = 32 - 8 * (int)sizeof(T);                                                        \
        const order_u32 w = widen_##K(o);                                                                 \
        uint32_t keys[256];                                                                               \
        (void)dense;                                                                                      \
        for (int k = 0; k < m; k += 16)                                                                   \
            __builtin_prefetch(x + k + SCAN_AHEAD), __builtin_prefetch(ids + k + SCAN_AHEAD);             \
        for (int k = 0; k < m; k++) keys[k] = encode_u32((uint32_t)x[k] << shift, w);                     \
        uint64_t all = ids[-1] == ids[0] ? (uint64_t)(uint32_t)ids[0] << 32 | carry : 0;                  \
        for (int k = 0; k < m; k++) {                                                                     \
            uint64_t one = (uint64_t)(uint32_t)ids[k] << 32 | keys[k];                                    \
            all = one > all ? one : all;                                                                  \
            to[ids[k]] = (uint32_t)all;                                                                   \
        }                                                                                                 \
    }
#endif

SEGMAX_SCAN(u8, uint8_t)
SEGMAX_SCAN(u16, uint16_t)
SEGMAX_SCAN(u32, uint32_t)

#if defined(SCAN_AVX512)
#define SCAN_STEP64(q, s) v = _mm512_max_epu64(v, _mm512_maskz_alignr_epi64((__mmask8)(q), v, zero, 8 - s));
static inline
    __attribute__((always_inline)) void scan_u64(const uint64_t* x, const int32_t* ids, int m, const order_u64 o,
                                                 uint64_t carry0, uint64_t* to, const int dense) {
    const __m512i last = _mm512_set1_epi64(7), zero = _mm512_setzero_si512();
    const __m512i fold = _mm512_set1_epi64((int64_t)o.fold), flip = _mm512_set1_epi64((int64_t)o.flip),
                  turn = _mm512_set1_epi64((int64_t)o.turn);
    __m512i carry = _mm512_set1_epi64((int64_t)carry0);
    uint64_t* p = to + ids[0];
    for (int k = 0; k < m; k += 8) {
        __builtin_prefetch(x + k + SCAN_AHEAD / 2);
        __builtin_prefetch(ids + k + SCAN_AHEAD);
        __m256i d = _mm256_loadu_si256((const void*)(ids + k));
        __m512i b = _mm512_loadu_si512(x + k), v = _mm512_and_si512(_mm512_srai_epi64(b, 63), fold);
        v = _mm512_sub_epi64(_mm512_xor_si512(_mm512_xor_si512(b, v), flip), turn);
        uint32_t q1 = _mm256_cmpeq_epi32_mask(d, _mm256_loadu_si256((const void*)(ids + k - 1)));
        uint32_t q2 = q1 & (q1 << 1), q4 = q2 & (q2 << 2), carried = q1 & ~(q1 + 1);
        uint32_t ends = k + 8 < m
                            ? (uint32_t)_mm256_cmpneq_epi32_mask(d, _mm256_loadu_si256((const void*)(ids + k + 1)))
                            : ((~q1 >> 1) | 0x80) & 0xff;
        SCAN_STEP64(q1, 1)
        SCAN_STEP64(q2, 2) SCAN_STEP64(q4, 4) v = _mm512_mask_max_epu64(v, (__mmask8)carried, v, carry);
        carry = _mm512_permutexvar_epi64(last, v);
        if (dense) {
            int count = __builtin_popcount(ends);
            _mm512_mask_storeu_epi64(p, (__mmask8)((1u << count) - 1), _mm512_maskz_compress_epi64((__mmask8)ends, v));
            p += count;
        } else
            _mm512_mask_i32scatter_epi64(to, (__mmask8)ends, d, v, 8);
    }
}
#else
static inline void scan_u64(const uint64_t* x, const int32_t* ids, int m, const order_u64 o, uint64_t carry,
                            uint64_t* to, const int dense) {
    int32_t before = ids[-1];
    (void)dense;
    for (int k = 0; k < m; k++) {
        if (!(k & 7)) __builtin_prefetch(x + k + SCAN_AHEAD / 2), __builtin_prefetch(ids + k + SCAN_AHEAD);
        uint64_t key = encode_u64(x[k], o), keep = ids[k] == before ? carry : 0;
        carry = max_u64(key, keep);
        before = ids[k];
        to[before] = carry;
    }
}
#endif

#endif
