// Device memory: one large reserved range in which no address is ever given out twice, so that a stale pointer stays
// recognisable. Arrays have exactly the size asked for and lie far apart. Pages that nobody touches cost nothing:
// arrays beyond 2**31 elements fit into any machine.
#include "runtime.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace hostcuda {

static const size_t PAGE = 4096;
static const size_t ARENA_BYTES = (size_t)4 << 40;
static const size_t MARGIN = (size_t)64 << 30;          // so that a negative 32-bit index still lands inside
static const size_t GAP = 64 << 10;                     // on both sides of an array, and at least its size
static const size_t ALIGNMENT = 512;                    // what CUDA promises, and not more
static const size_t LARGEST_SHADOW = (size_t)64 << 20;  // a shadow takes 25 times its array
static const size_t LARGEST_FILL = (size_t)256 << 20;

static char* arena = nullptr;
static size_t used = MARGIN;
static std::vector<Allocation> allocations;  // by address, which only grows
static size_t last_found = 0;

Shadow::Shadow(size_t bytes)
    : writer(bytes),
      reader(bytes),
      updater(bytes),
      initialised(bytes),
      sectors_read(bytes / 32 + 1),
      sectors_written(bytes / 32 + 1) {}

void Shadow::forget_launch() {
    for (auto* accessors : {&writer, &reader, &updater}) std::fill(accessors->begin(), accessors->end(), 0);
    for (auto* sectors : {&sectors_read, &sectors_written}) std::fill(sectors->begin(), sectors->end(), 0);
    touched = false;
}

bool in_arena(const void* address) {
    const char* p = static_cast<const char*>(address);
    return arena && p >= arena && p < arena + ARENA_BYTES;
}

Allocation* preceding_allocation(const void* address) {
    auto after = std::upper_bound(allocations.begin(), allocations.end(), static_cast<const char*>(address),
                                  [](const char* p, const Allocation& a) { return p < a.start; });
    return after == allocations.begin() ? nullptr : &*--after;
}

Allocation* find_allocation(const void* address) {
    if (last_found < allocations.size() && allocations[last_found].holds(address)) return &allocations[last_found];
    Allocation* found = preceding_allocation(address);
    if (!found || !found->holds(address)) return nullptr;
    last_found = found - allocations.data();
    return found;
}

static size_t round_up(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

}  // namespace hostcuda

using namespace hostcuda;

extern "C" void* hc_malloc(size_t bytes) {
    if (!arena) {
        void* range =
            mmap(nullptr, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED) return nullptr;
        arena = static_cast<char*>(range);
    }
    bytes = std::max(bytes, (size_t)1);
    if (bytes > ARENA_BYTES / 4) return nullptr;
    size_t gap = std::max(GAP, round_up(bytes)), taken = gap + round_up(ALIGNMENT + bytes) + gap;
    if (taken > ARENA_BYTES - MARGIN - used) return nullptr;
    Allocation a{arena + used + gap + ALIGNMENT, bytes, true, nullptr};
    used += taken;
    if (bytes <= LARGEST_SHADOW) a.shadow = std::make_unique<Shadow>(bytes);
    if (bytes <= LARGEST_FILL) memset(a.start, 0xA5, bytes);  // what is not initialised should look like it
    allocations.push_back(std::move(a));
    return allocations.back().start;
}

extern "C" void hc_free(void* start) {
    Allocation* a = find_allocation(start);
    if (!a || a->start != start || !a->live) return;
    a->live = false;
    a->shadow.reset();
    madvise(a->start - ALIGNMENT, round_up(ALIGNMENT + a->bytes), MADV_DONTNEED);
}

extern "C" int hc_is_device(const void* address) { return in_arena(address); }

// The host wrote these bytes.
extern "C" void hc_mark_initialised(void* start, size_t bytes) {
    Allocation* a = in_arena(start) ? find_allocation(start) : nullptr;
    if (!a || !a->shadow) return;
    size_t offset = static_cast<char*>(start) - a->start;
    memset(&a->shadow->initialised[offset], 1, std::min(bytes, a->bytes - offset));
}

// A copy carries along what is initialised and what is not.
extern "C" void hc_copy_initialised(void* to, const void* from, size_t bytes) {
    Allocation* source = in_arena(from) ? find_allocation(from) : nullptr;
    Allocation* target = in_arena(to) ? find_allocation(to) : nullptr;
    if (!target || !target->shadow) return;
    if (!source || !source->shadow) return hc_mark_initialised(to, bytes);
    size_t at = static_cast<char*>(to) - target->start, of = static_cast<const char*>(from) - source->start;
    bytes = std::min({bytes, target->bytes - at, source->bytes - of});
    memmove(&target->shadow->initialised[at], &source->shadow->initialised[of], bytes);
}
