/* The AVX-512 instructions that segmax/_kernels/scan.h uses, in plain C after Intel's description of each, so that the
 * level v4 is tested on machines that cannot run it. */
#ifndef EMULATED_IMMINTRIN_H
#define EMULATED_IMMINTRIN_H
#include <stdint.h>
#include <string.h>

typedef union { uint8_t b[16]; } __m128i;
typedef union { uint32_t d[8]; uint16_t w[16]; } __m256i;
typedef union { uint32_t d[16]; uint64_t q[8]; } __m512i;
typedef uint16_t __mmask16;
typedef uint8_t __mmask8;

#define EACH(n) for (int i = 0; i < n; i++)
#define MAKE(expression, n, lane) __m512i r; EACH(n) r.lane[i] = (expression); return r;
#define OP static inline

OP __m128i _mm_loadu_si128(const void *p) { __m128i r; memcpy(&r, p, sizeof r); return r; }
OP __m256i _mm256_loadu_si256(const void *p) { __m256i r; memcpy(&r, p, sizeof r); return r; }
OP __m512i _mm512_loadu_si512(const void *p) { __m512i r; memcpy(&r, p, sizeof r); return r; }
OP __m512i _mm512_setzero_si512(void) { MAKE(0, 8, q) }
OP __m512i _mm512_set1_epi32(int a) { MAKE((uint32_t)a, 16, d) }
OP __m512i _mm512_set1_epi64(int64_t a) { MAKE((uint64_t)a, 8, q) }
OP __m512i _mm512_cvtepu8_epi32(__m128i a) { MAKE(a.b[i], 16, d) }
OP __m512i _mm512_cvtepu16_epi32(__m256i a) { MAKE(a.w[i], 16, d) }
OP __m512i _mm512_slli_epi32(__m512i a, int s) { MAKE(a.d[i] << s, 16, d) }
OP __m512i _mm512_srai_epi32(__m512i a, int s) { MAKE((uint32_t)((int32_t)a.d[i] >> s), 16, d) }
OP __m512i _mm512_srai_epi64(__m512i a, int s) { MAKE((uint64_t)((int64_t)a.q[i] >> s), 8, q) }
OP __m512i _mm512_and_si512(__m512i a, __m512i b) { MAKE(a.q[i] & b.q[i], 8, q) }
OP __m512i _mm512_xor_si512(__m512i a, __m512i b) { MAKE(a.q[i] ^ b.q[i], 8, q) }
OP __m512i _mm512_sub_epi32(__m512i a, __m512i b) { MAKE(a.d[i] - b.d[i], 16, d) }
OP __m512i _mm512_sub_epi64(__m512i a, __m512i b) { MAKE(a.q[i] - b.q[i], 8, q) }
OP __m512i _mm512_max_epu64(__m512i a, __m512i b) { MAKE(a.q[i] > b.q[i] ? a.q[i] : b.q[i], 8, q) }
OP __m512i _mm512_mask_max_epu32(__m512i s, __mmask16 k, __m512i a, __m512i b) {
    MAKE(k >> i & 1 ? (a.d[i] > b.d[i] ? a.d[i] : b.d[i]) : s.d[i], 16, d)
}
OP __m512i _mm512_mask_max_epu64(__m512i s, __mmask8 k, __m512i a, __m512i b) {
    MAKE(k >> i & 1 ? (a.q[i] > b.q[i] ? a.q[i] : b.q[i]) : s.q[i], 8, q)
}
OP __m512i _mm512_alignr_epi32(__m512i a, __m512i b, int n) { MAKE(i + n < 16 ? b.d[i + n] : a.d[i + n - 16], 16, d) }
OP __m512i _mm512_maskz_alignr_epi64(__mmask8 k, __m512i a, __m512i b, int n) {
    MAKE(k >> i & 1 ? (i + n < 8 ? b.q[i + n] : a.q[i + n - 8]) : 0, 8, q)
}
OP __m512i _mm512_permutexvar_epi32(__m512i by, __m512i a) { MAKE(a.d[by.d[i] & 15], 16, d) }
OP __m512i _mm512_permutexvar_epi64(__m512i by, __m512i a) { MAKE(a.q[by.q[i] & 7], 8, q) }
OP __mmask16 _mm512_cmpeq_epi32_mask(__m512i a, __m512i b) {
    unsigned r = 0;
    EACH(16) r |= (unsigned)(a.d[i] == b.d[i]) << i;
    return (__mmask16)r;
}
OP __mmask16 _mm512_cmpneq_epi32_mask(__m512i a, __m512i b) { return (__mmask16)~_mm512_cmpeq_epi32_mask(a, b); }
OP __mmask8 _mm256_cmpeq_epi32_mask(__m256i a, __m256i b) {
    unsigned r = 0;
    EACH(8) r |= (unsigned)(a.d[i] == b.d[i]) << i;
    return (__mmask8)r;
}
OP __mmask8 _mm256_cmpneq_epi32_mask(__m256i a, __m256i b) { return (__mmask8)~_mm256_cmpeq_epi32_mask(a, b); }
OP __m512i _mm512_maskz_compress_epi32(__mmask16 k, __m512i a) {
    __m512i r = _mm512_setzero_si512();
    int n = 0;
    EACH(16) if (k >> i & 1) r.d[n++] = a.d[i];
    return r;
}
OP __m512i _mm512_maskz_compress_epi64(__mmask8 k, __m512i a) {
    __m512i r = _mm512_setzero_si512();
    int n = 0;
    EACH(8) if (k >> i & 1) r.q[n++] = a.q[i];
    return r;
}
OP void _mm512_mask_storeu_epi32(void *p, __mmask16 k, __m512i a) { EACH(16) if (k >> i & 1) ((uint32_t *)p)[i] = a.d[i]; }
OP void _mm512_mask_storeu_epi64(void *p, __mmask8 k, __m512i a) { EACH(8) if (k >> i & 1) ((uint64_t *)p)[i] = a.q[i]; }
OP void _mm512_mask_i32scatter_epi32(void *p, __mmask16 k, __m512i at, __m512i a, int scale) {
    EACH(16) if (k >> i & 1) memcpy((char *)p + (int64_t)(int32_t)at.d[i] * scale, &a.d[i], 4);
}
OP void _mm512_mask_i32scatter_epi64(void *p, __mmask8 k, __m256i at, __m512i a, int scale) {
    EACH(8) if (k >> i & 1) memcpy((char *)p + (int64_t)(int32_t)at.d[i] * scale, &a.q[i], 8);
}
#endif
