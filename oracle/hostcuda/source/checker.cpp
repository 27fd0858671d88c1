// What -fsanitize=thread calls before each access of a kernel to memory (the names __tsan_... are the compiler's), and
// what is checked there; -fsanitize=alignment calls __ubsan_... for a pointer that is not aligned as its type, even if
// the optimiser then splits the access. An access to an address outside of the arena is to a local or __shared__
// variable.
//
// Races are found from what is ordered, not from what happened: two accesses to a byte, one of them a write, race
// unless one thread made both or a barrier stands between them. So the verdict does not depend on the schedule.
#include "runtime.h"
#include <algorithm>
#include <cstring>

namespace hostcuda {

// ---------------------------------------------------------------------------------------------------- accessors
// Who accessed a byte, in one word, 0 for nobody: the thread, when (barriers passed) and, if there were several
// concurrent accessors, how far apart they are; `thread` is then one of them.
enum Scope { ONE_THREAD, ONE_WARP, ONE_BLOCK, MANY_BLOCKS };
static const unsigned EPOCH_BITS = 13, EPOCH_MASK = (1 << EPOCH_BITS) - 1;

static uint64_t pack(uint64_t thread, unsigned block_epoch, unsigned warp_epoch, Scope scope) {
    return (thread + 1) << (2 * EPOCH_BITS + 2) | (uint64_t)(block_epoch & EPOCH_MASK) << (EPOCH_BITS + 2) |
           (uint64_t)(warp_epoch & EPOCH_MASK) << 2 | scope;
}
static uint64_t thread_of(uint64_t accessor) { return (accessor >> (2 * EPOCH_BITS + 2)) - 1; }
static unsigned block_epoch_of(uint64_t accessor) { return accessor >> (EPOCH_BITS + 2) & EPOCH_MASK; }
static unsigned warp_epoch_of(uint64_t accessor) { return accessor >> 2 & EPOCH_MASK; }
static Scope scope_of(uint64_t accessor) { return (Scope)(accessor & 3); }

static bool same_block(uint64_t a, uint64_t b) { return a / hc_blockDim.x == b / hc_blockDim.x; }
static bool same_warp(uint64_t a, uint64_t b) {
    return same_block(a, b) && a % hc_blockDim.x / 32 == b % hc_blockDim.x / 32;
}

// Whether the thread `now`, a single one, may run at the same time as what `before` stands for.
static bool concurrent(uint64_t before, uint64_t now) {
    if (!before) return false;
    uint64_t a = thread_of(before), b = thread_of(now);
    if (scope_of(before) == MANY_BLOCKS) return true;
    if (scope_of(before) == ONE_THREAD && a == b) return false;
    if (!same_block(a, b)) return true;
    if (block_epoch_of(before) != block_epoch_of(now)) return false;
    return scope_of(before) == ONE_BLOCK || !same_warp(a, b) || warp_epoch_of(before) == warp_epoch_of(now);
}

// The accessor that stands for both. What is ordered before `now` is covered by it.
static uint64_t join(uint64_t before, uint64_t now) {
    if (!concurrent(before, now)) return now;
    uint64_t a = thread_of(before), b = thread_of(now);
    if (scope_of(before) == MANY_BLOCKS || !same_block(a, b)) return now | MANY_BLOCKS;
    return now | (scope_of(before) == ONE_BLOCK || !same_warp(a, b) ? ONE_BLOCK : ONE_WARP);
}

static std::string name_accessor(uint64_t accessor) {
    return scope_of(accessor) == ONE_THREAD ? name_thread(thread_of(accessor)) : "several threads";
}

// ---------------------------------------------------------------------------------------------------- checks
static std::vector<Shadow*> touched;

void begin_checks() { touched.clear(); }

void end_checks() {
    for (Shadow* shadow : touched) {
        for (uint8_t seen : shadow->sectors_read) counts.read_sectors += seen;
        for (uint8_t seen : shadow->sectors_written) counts.written_sectors += seen;
        shadow->forget_launch();
    }
    touched.clear();
}

static const char* const OUT_OF_BOUNDS[] = {"out-of-bounds read", "out-of-bounds write", "out-of-bounds atomic"};
static const char* const VERB[] = {"reads", "writes", "updates atomically"};

static void report_bounds(const char* address, size_t bytes, Access kind, const void* place) {
    if (!new_fault(OUT_OF_BOUNDS[kind], place)) return;
    const Allocation* near = preceding_allocation(address);
    std::string where = "before the first allocation";
    if (near)
        where = "at byte " + std::to_string(address - near->start) + " of an allocation of " +
                std::to_string(near->bytes) + " bytes";
    describe_fault(std::string(VERB[kind]) + " " + std::to_string(bytes) + " bytes " + where, address, bytes);
}

static void check_initialised(const Shadow& shadow, size_t offset, const char* address, size_t bytes,
                              const void* place) {
    for (size_t i = 0; i < bytes; i++)
        if (!shadow.initialised[offset + i]) {
            if (new_fault("uninitialised read", place))
                describe_fault("reads memory that nothing has written", address, bytes);
            return;
        }
}

// Report a race with `other` and return true if there is one.
static bool check_race(const char* kind, uint64_t other, uint64_t me, const char* what, const char* address,
                       size_t bytes, const void* place) {
    if (!concurrent(other, me)) return false;
    if (new_fault(kind, place)) describe_fault(std::string(what) + " " + name_accessor(other), address, bytes);
    return true;
}

static void check_races(Shadow& shadow, size_t offset, const char* address, size_t bytes, Access kind,
                        const void* place) {
    uint64_t me = pack(thread_number, block_epoch, warp_epoch(), ONE_THREAD);
    bool raced = false;  // one report per access, not per byte
    auto races = [&](const char* name, uint64_t other, const char* what) {
        raced = raced || check_race(name, other, me, what, address, bytes, place);
    };
    for (size_t i = offset; i < offset + bytes; i++) {
        uint64_t &writer = shadow.writer[i], &reader = shadow.reader[i], &updater = shadow.updater[i];
        if (kind == WRITE) {
            races("write/write race", writer, "writes what is also written by");
            races("read/write race", reader, "writes what is read by");
            races("atomic/plain race", updater, "writes plainly what is updated atomically by");
            writer = join(writer, me);
        } else if (kind == READ) {
            // A plain read beside atomic updates sees an old or a new value, never a mixture: allowed.
            races("read/write race", writer, "reads what is written by");
            reader = join(reader, me);
        } else {
            races("atomic/plain race", writer, "updates atomically what is written plainly by");
            updater = join(updater, me);
        }
    }
}

static void access(const void* where, size_t bytes, Access kind, const void* place) {
    if (!running || !in_arena(where)) return;
    if (kind != UPDATE) maybe_preempt();
    const char* address = static_cast<const char*>(where);
    Allocation* a = find_allocation(address);
    if (!a || address + bytes > a->start + a->bytes) {
        if (settings.memory) report_bounds(address, bytes, kind, place);
        return;
    }
    if (!a->live) {
        if (settings.memory && new_fault("use after free", place))
            describe_fault(std::string(VERB[kind]) + " memory that was freed", address, bytes);
        return;
    }
    note_access(where, bytes, kind, place);
    if (!a->shadow) return;
    Shadow& shadow = *a->shadow;
    if (!shadow.touched) {
        shadow.touched = true;
        touched.push_back(&shadow);
    }
    size_t offset = address - a->start;
    if (kind != WRITE) shadow.sectors_read[offset / 32] = 1;
    if (kind != READ) shadow.sectors_written[offset / 32] = 1;
    if (kind != WRITE && settings.initialisation) check_initialised(shadow, offset, address, bytes, place);
    if (kind != READ) memset(&shadow.initialised[offset], 1, bytes);
    if (settings.races) check_races(shadow, offset, address, bytes, kind, place);
}

// A GPU ends the kernel at a misaligned access; here only the thread ends.
static void check_alignment(const void* where, size_t bytes, const void* place) {
    if (!running || !settings.memory || !in_arena(where)) return;
    size_t excess = reinterpret_cast<uintptr_t>(where) % bytes;
    if (!excess) return;
    if (new_fault("misaligned access", place))
        describe_fault("accesses " + std::to_string(bytes) + " bytes at once, " + std::to_string(excess) +
                           " bytes behind a multiple of " + std::to_string(bytes),
                       where, bytes);
    kill_thread();
}

}  // namespace hostcuda

using namespace hostcuda;

#define PLACE __builtin_return_address(0)
#define CALLED_FOR(SIZE)                                                          \
    void __tsan_read##SIZE(void* p) {                                             \
        check_alignment(p, SIZE, PLACE);                                          \
        access(p, SIZE, READ, PLACE);                                             \
    }                                                                             \
    void __tsan_write##SIZE(void* p) {                                            \
        check_alignment(p, SIZE, PLACE);                                          \
        access(p, SIZE, WRITE, PLACE);                                            \
    }                                                                             \
    void __tsan_unaligned_read##SIZE(void* p) { access(p, SIZE, READ, PLACE); }   \
    void __tsan_unaligned_write##SIZE(void* p) { access(p, SIZE, WRITE, PLACE); } \
    void __tsan_volatile_read##SIZE(void* p) { access(p, SIZE, READ, PLACE); }    \
    void __tsan_volatile_write##SIZE(void* p) { access(p, SIZE, WRITE, PLACE); }

static void access_range(void* start, size_t bytes, Access kind, const void* place) {
    for (size_t i = 0; i < bytes; i += 8)
        access(static_cast<char*>(start) + i, std::min((size_t)8, bytes - i), kind, place);
}

extern "C" {
CALLED_FOR(1)
CALLED_FOR(2)
CALLED_FOR(4)
CALLED_FOR(8)
CALLED_FOR(16)
void __tsan_read_range(void* p, size_t bytes) { access_range(p, bytes, READ, PLACE); }
void __tsan_write_range(void* p, size_t bytes) { access_range(p, bytes, WRITE, PLACE); }

struct AlignmentCheck {  // as g++ lays it out
    const char* file;
    uint32_t line, column;
    const void* type;
    unsigned char log_alignment, access;
};
void __ubsan_handle_type_mismatch_v1(const AlignmentCheck* check, void* p) {
    check_alignment(p, (size_t)1 << check->log_alignment, PLACE);
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

// The shim calls this before an atomic read-modify-write, with the place of the atomic in the kernel.
void hc_atomic(void* p, int bytes, const void* place) {
    place = place ? place : PLACE;
    check_alignment(p, bytes, place);
    if (running) maybe_preempt();
    access(p, bytes, UPDATE, place);
}
}
