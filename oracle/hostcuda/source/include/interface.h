// What compiled kernels call in the runtime.
#pragma once
extern "C" {
struct hc_dim {
    unsigned x, y, z;
};
extern hc_dim hc_threadIdx, hc_blockIdx, hc_blockDim, hc_gridDim;  // of the CUDA thread that runs now
typedef void (*hc_entry)(void** arguments);
void hc_register(const char* name, hc_entry entry, int has_barriers, int flushes_subnormals, const char* arrays);

// `place`: the return address that a fault is reported at; nullptr means the call's own.
void hc_block_barrier(const void* place);
void hc_warp_barrier(int operation, unsigned mask, const void* place);
unsigned long long* hc_warp_slots();  // 32 values that the lanes of the current warp exchange
void hc_atomic(void* address, int bytes, const void* place);
void hc_mark_initialised(void* start, unsigned long bytes);
void hc_trap(const char* what, const void* place);
}
enum { HC_SYNC, HC_SHUFFLE, HC_SHUFFLED, HC_VOTE, HC_VOTED, HC_REDUCE, HC_REDUCED };  // warp-wide operations

// Out of line and unchecked, so that its return address lies in the kernel.
#define HC_CALLED __attribute__((no_sanitize("thread"), noinline))
#define HC_PLACE __builtin_return_address(0)
