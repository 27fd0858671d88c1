// Precedes kernels translated from PTX: what their instructions are made of. The functions are always inlined, so that
// a fault is reported at the PTX line that called them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include "interface.h"

#define PTX_INLINE static inline __attribute__((always_inline))

extern "C" {
void __tsan_read1(void*), __tsan_read2(void*), __tsan_read4(void*), __tsan_read8(void*), __tsan_read16(void*);
void __tsan_write1(void*), __tsan_write2(void*), __tsan_write4(void*), __tsan_write8(void*), __tsan_write16(void*);
}

// ---------------------------------------------------------------------------------------------------- memory
template <int BYTES>
PTX_INLINE void check_read(uint64_t address) {
    void* p = (void*)address;
    BYTES == 1   ? __tsan_read1(p)
    : BYTES == 2 ? __tsan_read2(p)
    : BYTES == 4 ? __tsan_read4(p)
    : BYTES == 8 ? __tsan_read8(p)
                 : __tsan_read16(p);
}
template <int BYTES>
PTX_INLINE void check_write(uint64_t address) {
    void* p = (void*)address;
    BYTES == 1   ? __tsan_write1(p)
    : BYTES == 2 ? __tsan_write2(p)
    : BYTES == 4 ? __tsan_write4(p)
    : BYTES == 8 ? __tsan_write8(p)
                 : __tsan_write16(p);
}
template <class T>
PTX_INLINE T load(uint64_t address) {
    T value;
    memcpy(&value, (void*)address, sizeof value);
    return value;
}
template <class T>
PTX_INLINE void store(uint64_t address, T value) {
    memcpy((void*)address, &value, sizeof value);
}
enum AtomicOperation { ATOMIC_MAX, ATOMIC_MIN, ATOMIC_ADD, ATOMIC_AND, ATOMIC_OR, ATOMIC_XOR, ATOMIC_EXCH, ATOMIC_CAS };
template <class T>
PTX_INLINE T update_float_or_integer(AtomicOperation operation, T old, T value, T swap) {
    switch (operation) {
        case ATOMIC_MAX:
            return value > old ? value : old;
        case ATOMIC_MIN:
            return value < old ? value : old;
        case ATOMIC_ADD:
            return old + value;
        case ATOMIC_CAS:
            return old == value ? swap : old;
        default:
            return value;
    }
}
PTX_INLINE float updated(AtomicOperation operation, float old, float value, float swap) {
    return update_float_or_integer(operation, old, value, swap);
}
PTX_INLINE double updated(AtomicOperation operation, double old, double value, double swap) {
    return update_float_or_integer(operation, old, value, swap);
}
template <class T>
PTX_INLINE T updated(AtomicOperation operation, T old, T value, T swap) {
    switch (operation) {
        case ATOMIC_AND:
            return old & value;
        case ATOMIC_OR:
            return old | value;
        case ATOMIC_XOR:
            return old ^ value;
        default:
            return update_float_or_integer(operation, old, value, swap);
    }
}
template <class T>
PTX_INLINE T atomic(AtomicOperation operation, uint64_t address, T value, T swap = T()) {
    if (operation == ATOMIC_EXCH) hc_mark_initialised((void*)address, sizeof(T));
    hc_atomic((void*)address, sizeof(T), nullptr);
    T old = load<T>(address);
    store<T>(address, updated(operation, old, value, swap));
    return old;
}

// ---------------------------------------------------------------------------------------------------- arithmetic
template <class To, class From>
PTX_INLINE To bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To result;
    memcpy(&result, &value, sizeof result);
    return result;
}
template <class T>
PTX_INLINE T shift_left(T value, uint32_t by) {
    return by >= sizeof(T) * 8 ? T(0) : T(value << by);
}
template <class T>
PTX_INLINE T shift_right(T value, uint32_t by) {
    return by < sizeof(T) * 8 ? T(value >> by) : value < 0 ? T(-1) : T(0);
}
PTX_INLINE float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
PTX_INLINE double flush(double x) { return x; }
template <class T>
PTX_INLINE T float_max(T a, T b) {
    return std::isnan(a) ? b : std::isnan(b) ? a : a > b ? a : b > a ? b : std::signbit(a) ? b : a;
}
template <class T>
PTX_INLINE T float_min(T a, T b) {
    return std::isnan(a) ? b : std::isnan(b) ? a : a < b ? a : b < a ? b : std::signbit(a) ? a : b;
}

// ---------------------------------------------------------------------------------------------------- warp-wide
PTX_INLINE uint32_t exchange(uint32_t mask, uint32_t value, int source) {
    hc_warp_slots()[hc_threadIdx.x & 31] = value;
    hc_warp_barrier(HC_SHUFFLE, mask, nullptr);
    uint32_t received = (uint32_t)hc_warp_slots()[source & 31];
    hc_warp_barrier(HC_SHUFFLED, mask, nullptr);
    return received;
}
enum ShuffleMode { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BFLY, SHUFFLE_IDX };
// As the PTX manual defines shfl.sync.
PTX_INLINE uint32_t shuffle(ShuffleMode mode, uint32_t value, uint32_t b, uint32_t c, uint32_t mask, bool* in_range) {
    int lane = hc_threadIdx.x & 31, by = b & 31, clamp = c & 31, segment = c >> 8 & 31;
    int lowest = lane & segment, highest = lowest | (clamp & ~segment), source = 0;
    switch (mode) {
        case SHUFFLE_UP:
            source = lane - by;
            break;
        case SHUFFLE_DOWN:
            source = lane + by;
            break;
        case SHUFFLE_BFLY:
            source = lane ^ by;
            break;
        case SHUFFLE_IDX:
            source = lowest | (by & ~segment);
            break;
    }
    bool inside = mode == SHUFFLE_UP ? source >= highest : source <= highest;
    if (in_range) *in_range = inside;
    return exchange(mask, value, inside ? source : lane);
}
PTX_INLINE uint32_t ballot(uint32_t mask, bool predicate) {
    hc_warp_slots()[hc_threadIdx.x & 31] = predicate;
    hc_warp_barrier(HC_VOTE, mask, nullptr);
    uint32_t votes = 0;
    for (int i = 0; i < 32; i++)
        if ((mask >> i & 1) && hc_warp_slots()[i]) votes |= 1u << i;
    hc_warp_barrier(HC_VOTED, mask, nullptr);
    return votes;
}
enum Reduction { REDUCE_MAX, REDUCE_MIN };
template <class T>
PTX_INLINE T reduce(Reduction reduction, uint32_t mask, T value) {
    hc_warp_slots()[hc_threadIdx.x & 31] = bits<uint32_t>(value);
    hc_warp_barrier(HC_REDUCE, mask, nullptr);
    for (int i = 0; i < 32; i++) {
        if (!(mask >> i & 1)) continue;
        T other = bits<T>((uint32_t)hc_warp_slots()[i]);
        value = reduction == REDUCE_MAX ? std::max(value, other) : std::min(value, other);
    }
    hc_warp_barrier(HC_REDUCED, mask, nullptr);
    return value;
}
