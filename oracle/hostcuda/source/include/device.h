// Included before the source that CuPy hands to the compiler: CUDA's built-in names, for g++. Only what
// ElementwiseKernel and ReductionKernel bodies use; what is missing here does not compile.
#pragma once
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include <crt/host_defines.h>
#include <vector_types.h>
#include "interface.h"

#ifndef __CUDACC_VER_MAJOR__
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#endif
#define __CUDA_ARCH__ 900
#define __restrict __restrict__
#define threadIdx hc_threadIdx
#define blockIdx hc_blockIdx
#define blockDim hc_blockDim
#define gridDim hc_gridDim
static const int warpSize = 32;

// ---------------------------------------------------------------------------------------------------- barriers
HC_CALLED inline void __syncthreads() { hc_block_barrier(HC_PLACE); }
HC_CALLED inline void __syncwarp(unsigned mask = 0xffffffffu) { hc_warp_barrier(HC_SYNC, mask, HC_PLACE); }
HC_CALLED inline void __trap() { hc_trap("calls __trap()", HC_PLACE); }
inline void __threadfence() {}
inline void __threadfence_block() {}

// ---------------------------------------------------------------------------------------------------- warp-wide
inline int hc_lane() { return hc_threadIdx.x & 31; }

template <class T>
__attribute__((no_sanitize("thread"))) inline T hc_from_slot(int lane) {
    T value;
    memcpy(&value, &hc_warp_slots()[lane & 31], sizeof value);
    return value;
}
template <class T>
__attribute__((no_sanitize("thread"))) inline void hc_to_slot(T value) {
    static_assert(sizeof value <= 8, "a lane exchanges at most 8 bytes");
    memcpy(&hc_warp_slots()[hc_lane()], &value, sizeof value);
}

template <class T>
HC_CALLED T hc_exchange(unsigned mask, T value, int source) {
    hc_to_slot(value);
    hc_warp_barrier(HC_SHUFFLE, mask, HC_PLACE);
    T received = hc_from_slot<T>(source);
    hc_warp_barrier(HC_SHUFFLED, mask, HC_PLACE);
    return received;
}
template <class T>
__forceinline__ T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    return hc_exchange(mask, value, (hc_lane() & ~(width - 1)) | (source & (width - 1)));
}
template <class T>
__forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32) {
    int lane = hc_lane();
    return hc_exchange(mask, value, (lane & (width - 1)) < (int)distance ? lane : lane - (int)distance);
}
template <class T>
__forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) {
    int lane = hc_lane();
    return hc_exchange(mask, value, (lane & (width - 1)) + (int)distance >= width ? lane : lane + (int)distance);
}
template <class T>
__forceinline__ T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
    int lane = hc_lane(), source = lane ^ bits;
    return hc_exchange(mask, value, (source & ~(width - 1)) > (lane & ~(width - 1)) ? lane : source);
}
HC_CALLED inline unsigned __ballot_sync(unsigned mask, int predicate) {
    hc_to_slot(predicate != 0);
    hc_warp_barrier(HC_VOTE, mask, HC_PLACE);
    unsigned votes = 0;
    for (int i = 0; i < 32; i++)
        if ((mask >> i & 1) && hc_from_slot<bool>(i)) votes |= 1u << i;
    hc_warp_barrier(HC_VOTED, mask, HC_PLACE);
    return votes;
}
__forceinline__ int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }
__forceinline__ int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }

template <class T, class Choose>
__attribute__((no_sanitize("thread"))) inline T hc_reduce(unsigned mask, T value, Choose choose, const void* place) {
    hc_to_slot(value);
    hc_warp_barrier(HC_REDUCE, mask, place);
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1) value = choose(value, hc_from_slot<T>(i));
    hc_warp_barrier(HC_REDUCED, mask, place);
    return value;
}
#define HC_REDUCTIONS(T)                                                                 \
    HC_CALLED inline T __reduce_max_sync(unsigned mask, T value) {                       \
        return hc_reduce(mask, value, [](T a, T b) { return a > b ? a : b; }, HC_PLACE); \
    }                                                                                    \
    HC_CALLED inline T __reduce_min_sync(unsigned mask, T value) {                       \
        return hc_reduce(mask, value, [](T a, T b) { return a < b ? a : b; }, HC_PLACE); \
    }
HC_REDUCTIONS(int)
HC_REDUCTIONS(unsigned)

// ---------------------------------------------------------------------------------------------------- atomics
#define HC_UPDATE(NAME, T, RESULT)                \
    HC_CALLED inline T NAME(T* p, T value) {      \
        hc_atomic((void*)p, sizeof(T), HC_PLACE); \
        T old = *(volatile T*)p;                  \
        *(volatile T*)p = (RESULT);               \
        return old;                               \
    }
#define HC_UPDATE_INTEGERS(NAME, RESULT) \
    HC_UPDATE(NAME, int, RESULT)         \
    HC_UPDATE(NAME, unsigned, RESULT)    \
    HC_UPDATE(NAME, unsigned long long, RESULT)
#define HC_UPDATE_SIGNED_TOO(NAME, RESULT) HC_UPDATE_INTEGERS(NAME, RESULT) HC_UPDATE(NAME, long long, RESULT)
HC_UPDATE_SIGNED_TOO(atomicMax, value > old ? value : old)
HC_UPDATE_SIGNED_TOO(atomicMin, value < old ? value : old)
HC_UPDATE_SIGNED_TOO(atomicAnd, old& value)
HC_UPDATE_SIGNED_TOO(atomicOr, old | value)
HC_UPDATE_SIGNED_TOO(atomicXor, old ^ value)
HC_UPDATE_INTEGERS(atomicAdd, old + value)
HC_UPDATE(atomicAdd, float, old + value)
HC_UPDATE(atomicAdd, double, old + value)

#define HC_EXCHANGE(T)                                          \
    HC_CALLED inline T atomicExch(T* p, T value) {              \
        hc_mark_initialised((void*)p, sizeof(T)); /* ignores */ \
        hc_atomic((void*)p, sizeof(T), HC_PLACE);               \
        T old = *(volatile T*)p;                                \
        *(volatile T*)p = value;                                \
        return old;                                             \
    }
HC_EXCHANGE(int)
HC_EXCHANGE(unsigned)
HC_EXCHANGE(unsigned long long)
HC_EXCHANGE(float)

#define HC_COMPARE_AND_SWAP(T)                                \
    HC_CALLED inline T atomicCAS(T* p, T expected, T value) { \
        hc_atomic((void*)p, sizeof(T), HC_PLACE);             \
        T old = *(volatile T*)p;                              \
        if (old == expected) *(volatile T*)p = value;         \
        return old;                                           \
    }
HC_COMPARE_AND_SWAP(int)
HC_COMPARE_AND_SWAP(unsigned)
HC_COMPARE_AND_SWAP(unsigned long long)
HC_COMPARE_AND_SWAP(unsigned short)

// ---------------------------------------------------------------------------------------------------- bits and numbers
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; i++) reversed |= (x >> i & 1u) << (31 - i);
    return reversed;
}
template <class To, class From>
inline To hc_bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline int __float_as_int(float x) { return hc_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return hc_bits<unsigned>(x); }
inline float __int_as_float(int x) { return hc_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return hc_bits<float>(x); }
inline long long __double_as_longlong(double x) { return hc_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return hc_bits<double>(x); }
template <class T>
__forceinline__ T __ldg(const T* p) {
    return *p;
}

using std::fmax;
using std::fmin;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
#define HC_EXTREMA(T)                                \
    inline T max(T a, T b) { return a > b ? a : b; } \
    inline T min(T a, T b) { return a < b ? a : b; }
HC_EXTREMA(int)
HC_EXTREMA(unsigned)
HC_EXTREMA(long long)
HC_EXTREMA(unsigned long long)
inline float max(float a, float b) { return ::fmaxf(a, b); }  // as in CUDA
inline double max(double a, double b) { return ::fmax(a, b); }
inline float min(float a, float b) { return ::fminf(a, b); }
inline double min(double a, double b) { return ::fmin(a, b); }

// ---------------------------------------------------------------------------------------------------- export
template <class... Parameters, size_t... I>
inline void hc_call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<I...>) {
    kernel(*reinterpret_cast<std::remove_cv_t<std::remove_reference_t<Parameters>>*>(arguments[I])...);
}
template <class... Parameters>
inline void hc_call(void (*kernel)(Parameters...), void** arguments) {
    hc_call(kernel, arguments, std::index_sequence_for<Parameters...>());
}
// kernels.py appends one of these per kernel
#define HC_EXPORT(NAME, HAS_BARRIERS, FLUSHES, ARRAYS)                                                \
    static void hc_enter_##NAME(void** arguments) { hc_call(&NAME, arguments); }                      \
    static struct hc_registers_##NAME {                                                               \
        hc_registers_##NAME() { hc_register(#NAME, hc_enter_##NAME, HAS_BARRIERS, FLUSHES, ARRAYS); } \
    } hc_registered_##NAME;
