// What the parts of the runtime share. The order of reading: memory.cpp, checker.cpp, faults.cpp, scheduler.cpp,
// traffic.cpp. Names with the prefix hc_ are called from outside: by kernels, by cupy_api.cpp or by Python.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct hc_dim {
    unsigned x, y, z;
};
typedef void (*hc_entry)(void** arguments);
extern "C" hc_dim hc_threadIdx, hc_blockIdx, hc_blockDim, hc_gridDim;  // of the CUDA thread that runs now

namespace hostcuda {

// ---------------------------------------------------------------------------------------------------- memory.cpp
// What is known about each byte of an array. The three accessors hold words of checker.cpp and are of one launch only.
struct Shadow {
    std::vector<uint64_t> writer, reader, updater;
    std::vector<uint8_t> initialised;
    std::vector<uint8_t> sectors_read, sectors_written;  // 32 bytes each
    bool touched = false;
    explicit Shadow(size_t bytes);
    void forget_launch();
};

struct Allocation {
    char* start;
    size_t bytes;
    bool live;
    std::unique_ptr<Shadow> shadow;  // none if the array is too large for one
    bool holds(const void* address) const {
        return static_cast<const char*>(address) >= start && static_cast<const char*>(address) < start + bytes;
    }
};

bool in_arena(const void* address);
Allocation* find_allocation(const void* address);       // the one that holds the address, freed or not, or nullptr
Allocation* preceding_allocation(const void* address);  // the one that starts last before it, or nullptr

// ---------------------------------------------------------------------------------------------------- faults.cpp
// Count a fault; true if it is the first of its kind at this place, which then wants a description.
bool new_fault(const char* kind, const void* place);
void describe_fault(const std::string& detail, const void* address = nullptr, size_t bytes = 0);
std::string name_thread(uint64_t thread);
// The arrays among a kernel's arguments, so that faults can name them.
void begin_arguments();
void add_argument(const std::string& name, const char* data);

// ---------------------------------------------------------------------------------------------------- checker.cpp
enum Access { READ, WRITE, UPDATE };
void begin_checks();
void end_checks();

// ---------------------------------------------------------------------------------------------------- scheduler.cpp
struct Settings {
    uint64_t seed = 1;
    double preemption = 0;  // probability that an access hands over to another thread
    int shuffled = 1, memory = 1, initialisation = 1, races = 1, flush_subnormals = 1;
    uint64_t first_blocks = UINT64_MAX, last_blocks = 0, random_blocks = 0;  // which blocks of a launch run
};
extern Settings settings;
extern std::string kernel_name;
extern uint64_t thread_number;  // block * blockDim.x + thread
extern bool running;            // inside a kernel
extern unsigned block_epoch;    // barriers passed by this block
unsigned warp_epoch();          // warp-wide operations passed by this thread's warp
void maybe_preempt();
void kill_thread();  // does not return

// ---------------------------------------------------------------------------------------------------- traffic.cpp
struct Counts {
    uint64_t read_bytes, written_bytes, atomics, reads, writes, preemptions, threads, read_sectors, written_sectors;
};
extern Counts counts;
extern bool profiling;
void note_access(const void* address, size_t bytes, Access kind, const void* place);
void end_profile();

}  // namespace hostcuda
