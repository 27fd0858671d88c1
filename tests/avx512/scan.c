/* One exported function per width around the scans of scan.h, with the constants of an unsigned order. */
#include "scan.h"

#define EXPORT(K, T, KEY)                                                                              \
    void export_##K(const T *x, const int32_t *ids, int m, const T *key, KEY carry, KEY *to, int dense) { \
        order_##K o = {key[0], key[1], key[2], 0, 0, 0, 0, 0, 0, 0, 0, 0};                             \
        scan_##K(x, ids, m, o, carry, to, dense);                                                      \
    }
EXPORT(u8, uint8_t, uint32_t)
EXPORT(u16, uint16_t, uint32_t)
EXPORT(u32, uint32_t, uint32_t)
EXPORT(u64, uint64_t, uint64_t)
int export_level(void) {
#if defined(SCAN_AVX512)
    return 4;
#elif defined(SCAN_AVX2)
    return 3;
#else
    return 1;
#endif
}
