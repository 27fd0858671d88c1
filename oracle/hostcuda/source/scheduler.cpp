// Kernels and how their threads take turns. One CUDA thread runs at a time, in an order drawn from the seed. At any
// access the running thread may be pre-empted, so that compare-and-swap loops and lost updates really happen.
//
// Serial kernels: a thread is a plain call; who pre-empts it runs to its end inside that access. Kernels with barriers
// or warp-wide operations: the threads of one block are fibers that wait for each other.
#include "runtime.h"
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <ucontext.h>
#include <xmmintrin.h>

extern "C" {
hc_dim hc_threadIdx, hc_blockIdx, hc_blockDim, hc_gridDim;
}

namespace hostcuda {

Settings settings;
std::string kernel_name;
uint64_t thread_number = 0;
bool running = false;
unsigned block_epoch = 0;

static uint64_t random_state;
static uint64_t draw() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}
static void seed_random() {
    random_state = settings.seed * 0x9E3779B97F4A7C15u + 88172645463325252u;
    random_state += !random_state;
    for (int i = 0; i < 8; i++) draw();
}
template <class T>
static void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); settings.shuffled && i > 1; i--) std::swap(items[i - 1], items[draw() % i]);
}

// ---------------------------------------------------------------------------------------------------- kernels
struct Kernel {
    hc_entry entry;
    bool has_barriers, flushes_subnormals;
    std::vector<std::string> arrays;  // per parameter its name, empty for one that is not an array
};
typedef std::map<std::string, Kernel> Module;
static Module registered;  // by the constructors of the module that is loaded now
static std::map<std::string, Module> modules;
static Kernel* kernel;
static void** arguments;

// ---------------------------------------------------------------------------------------------------- serial threads
static std::vector<uint64_t> waiting_threads;
static unsigned nesting = 0;
static sigjmp_buf* way_out = nullptr;  // of the thread that runs now

static void run_thread(uint64_t number) {
    hc_dim thread = hc_threadIdx, block = hc_blockIdx;
    uint64_t interrupted = thread_number;
    sigjmp_buf here, *outer = way_out;
    thread_number = number;
    hc_threadIdx = {(unsigned)(number % hc_blockDim.x), 0, 0};
    hc_blockIdx = {(unsigned)(number / hc_blockDim.x), 0, 0};
    counts.threads++;
    nesting++;
    way_out = &here;
    if (!sigsetjmp(here, 0)) kernel->entry(arguments);
    way_out = outer;
    nesting--;
    thread_number = interrupted;
    hc_threadIdx = thread;
    hc_blockIdx = block;
}

static void run_serially(const std::vector<unsigned>& blocks) {
    waiting_threads.clear();
    for (size_t b = blocks.size(); b--;)
        for (unsigned t = hc_blockDim.x; t--;) waiting_threads.push_back((uint64_t)blocks[b] * hc_blockDim.x + t);
    shuffle(waiting_threads);
    while (!waiting_threads.empty()) {
        uint64_t next = waiting_threads.back();
        waiting_threads.pop_back();
        run_thread(next);
    }
}

// ---------------------------------------------------------------------------------------------------- fibers
enum State { READY, AT_BLOCK_BARRIER, AT_WARP_BARRIER, EXITED, KILLED };
struct Fiber {
    ucontext_t context;
    char* stack;
    State state;
    int operation;  // at a warp barrier: which warp-wide operation, numbered by the shim
    unsigned mask;
    const void* place;
};
static const size_t STACK_BYTES = 256 << 10;
static std::vector<Fiber> fibers;
static ucontext_t dispatcher;
static int current = -1;
static std::vector<unsigned> warp_epochs;
static std::vector<std::vector<unsigned long long>> slots;  // per warp, where the lanes exchange values

unsigned warp_epoch() { return warp_epochs.empty() ? 0 : warp_epochs[hc_threadIdx.x / 32]; }

static void leave_fiber(State state) {
    Fiber& fiber = fibers[current];
    unsigned control = _mm_getcsr();
    fiber.state = state;
    current = -1;
    swapcontext(&fiber.context, &dispatcher);
    _mm_setcsr(control);
}

static void fiber_main() {
    kernel->entry(arguments);
    leave_fiber(EXITED);
}

void kill_thread() {
    if (current >= 0) leave_fiber(KILLED);
    siglongjmp(*way_out, 1);
}

void maybe_preempt() {
    if (settings.preemption <= 0 || (draw() >> 11) * 0x1p-53 >= settings.preemption) return;
    if (current >= 0) {
        counts.preemptions++;
        leave_fiber(READY);
    } else if (!waiting_threads.empty() && nesting <= 64) {
        std::swap(waiting_threads[draw() % waiting_threads.size()], waiting_threads.back());
        uint64_t next = waiting_threads.back();
        waiting_threads.pop_back();
        counts.preemptions++;
        run_thread(next);
    }
}

// ---------------------------------------------------------------------------------------------------- barriers
static void become(unsigned lane) {
    hc_threadIdx = {lane, 0, 0};
    thread_number = (uint64_t)hc_blockIdx.x * hc_blockDim.x + lane;
}

static void report_lane(const char* kind, unsigned lane, const std::string& detail) {
    if (!new_fault(kind, fibers[lane].place)) return;
    become(lane);
    describe_fault(detail);
}

// Why the lanes that wait with `leader` cannot all go on, for one lane that its mask names; nullptr if they can.
static const char* obstacle(unsigned leader, unsigned first, unsigned last, unsigned lane) {
    const Fiber& lead = fibers[leader];
    unsigned i = first + lane;
    if (i >= last) return "which a partial warp does not have";
    switch (fibers[i].state) {
        case KILLED:
            return nullptr;
        case EXITED:
            return "which has exited";
        case READY:
            return "which still runs";
        case AT_BLOCK_BARRIER:
            return "which waits at __syncthreads";
        case AT_WARP_BARRIER:
            break;
    }
    if (fibers[i].mask != lead.mask) return "which waits with another mask";
    if (fibers[i].operation != lead.operation) return "which waits in another warp-wide operation";
    return nullptr;
}

// Let the lanes that wait with the same mask as `leader` go on, if all that it names have come; true if they go on.
// `stuck`: nobody else can move, so they go on in any case.
static bool release_lanes(unsigned leader, unsigned first, unsigned last, bool stuck) {
    const unsigned mask = fibers[leader].mask;
    for (int round = 0; round < 2; round++)  // first decide, then report
        for (unsigned lane = 0; lane < 32; lane++) {
            const char* why = mask >> lane & 1 ? obstacle(leader, first, last, lane) : nullptr;
            if (!why) continue;
            bool final = first + lane >= last || fibers[first + lane].state == EXITED;
            if (round == 0 && !final && !stuck) return false;
            if (round == 1)
                report_lane("warp divergence", leader, "waits for lane " + std::to_string(lane) + ", " + why);
        }
    for (unsigned i = first; i < last; i++)
        if (fibers[i].state == AT_WARP_BARRIER && fibers[i].mask == mask) fibers[i].state = READY;
    warp_epochs[first / 32]++;
    return true;
}

static bool release_warp(unsigned first, unsigned last, bool stuck) {
    for (unsigned i = first; i < last; i++)
        if (fibers[i].state == AT_WARP_BARRIER && release_lanes(i, first, last, stuck)) return true;
    return false;
}

static bool release_warps(bool stuck) {
    bool released = false;
    for (unsigned first = 0; first < hc_blockDim.x; first += 32)
        released |= release_warp(first, std::min(hc_blockDim.x, first + 32), stuck);
    return released;
}

static unsigned count_fibers(State state) {
    return std::count_if(fibers.begin(), fibers.begin() + hc_blockDim.x,
                         [=](const Fiber& f) { return f.state == state; });
}

// All threads that still run wait at __syncthreads: let them go on.
static void release_block() {
    unsigned exited = count_fibers(EXITED);
    for (unsigned i = 0; i < hc_blockDim.x; i++) {
        if (fibers[i].state != AT_BLOCK_BARRIER) continue;
        if (exited)
            report_lane("barrier divergence", i,
                        "waits at __syncthreads for " + std::to_string(exited) + " threads that have exited");
        fibers[i].state = READY;
    }
    block_epoch++;
}

static void run_block(unsigned block) {
    unsigned threads = hc_blockDim.x;
    while (fibers.size() < threads) {
        fibers.emplace_back();
        fibers.back().stack = static_cast<char*>(malloc(STACK_BYTES));
    }
    slots.assign((threads + 31) / 32, std::vector<unsigned long long>(32));
    warp_epochs.assign((threads + 31) / 32, 0);
    block_epoch = 0;
    hc_blockIdx = {block, 0, 0};
    std::vector<unsigned> order(threads);
    for (unsigned i = 0; i < threads; i++) {
        Fiber& fiber = fibers[i];
        fiber.state = READY;
        fiber.place = nullptr;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack;
        fiber.context.uc_stack.ss_size = STACK_BYTES;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, fiber_main, 0);
        order[i] = i;
    }
    counts.threads += threads;
    while (count_fibers(EXITED) + count_fibers(KILLED) < threads) {
        shuffle(order);
        for (unsigned i : order) {
            if (fibers[i].state != READY) continue;
            become(i);
            current = i;
            swapcontext(&dispatcher, &fibers[i].context);
        }
        if (!release_warps(false) && !count_fibers(READY) && !release_warps(true)) release_block();
    }
    warp_epochs.clear();
    block_epoch = 0;
}

// ---------------------------------------------------------------------------------------------------- launch
static std::vector<unsigned> choose_blocks(uint64_t grid) {
    std::vector<unsigned> blocks;
    uint64_t first = settings.first_blocks, last = settings.last_blocks, random = settings.random_blocks;
    if (first >= grid || first + last + random >= grid) {
        for (uint64_t i = 0; i < grid; i++) blocks.push_back(i);
        return blocks;
    }
    for (uint64_t i = 0; i < first; i++) blocks.push_back(i);
    for (uint64_t i = 0; i < last; i++) blocks.push_back(grid - 1 - i);
    for (uint64_t i = 0; i < random; i++) blocks.push_back(draw() % grid);
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    return blocks;
}

// A signal from inside a kernel ends the thread, as a fault, instead of the process.
static void on_signal(int number, siginfo_t* info, void* context) {
    if (!running) {
        signal(number, SIG_DFL);
        return;  // the instruction is repeated, now without us
    }
    const void* place = reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] + 1);
    if (number == SIGFPE) {
        if (new_fault("division by zero", place))
            describe_fault("divides an integer by zero, which CUDA leaves undefined");
    } else if (new_fault("illegal address", place)) {
        describe_fault("accesses an address that is no device memory at all", info->si_addr);
    }
    kill_thread();
}

static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE};
struct SignalGuard {
    struct sigaction before[3];
    SignalGuard() {
        struct sigaction action = {};
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        for (int i = 0; i < 3; i++) sigaction(SIGNALS[i], &action, &before[i]);
    }
    ~SignalGuard() {
        for (int i = 0; i < 3; i++) sigaction(SIGNALS[i], &before[i], nullptr);
    }
};

static int refuse_launch(const std::string& why) {
    if (new_fault("invalid launch", nullptr)) describe_fault(why);
    return 1;
}

}  // namespace hostcuda

using namespace hostcuda;

extern "C" {

// Called by the constructors of a module; `arrays`: comma-separated names, one per parameter.
void hc_register(const char* name, hc_entry entry, int has_barriers, int flushes_subnormals, const char* arrays) {
    Kernel& added = registered[name] = Kernel{entry, has_barriers != 0, flushes_subnormals != 0, {""}};
    for (const char* c = arrays; *c; c++) {
        if (*c == ',')
            added.arrays.emplace_back();
        else
            added.arrays.back() += *c;
    }
}

// The kernels of a shared object, or nullptr and dlerror().
void* hc_load_module(const char* path) {
    if (modules.count(path)) return &modules[path];
    registered.clear();
    if (!dlopen(path, RTLD_NOW | RTLD_LOCAL)) return nullptr;
    modules[path] = std::move(registered);
    return &modules[path];
}

void* hc_find_kernel(void* module, const char* name) {
    Module& kernels = *static_cast<Module*>(module);
    auto found = kernels.find(name);
    return found == kernels.end() ? nullptr : &found->second;
}

int hc_launch(const char* name, void* which, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
              unsigned block_y, unsigned block_z, void** values) {
    kernel_name = name;
    thread_number = 0;
    hc_blockDim = {block_x, 1, 1};
    hc_gridDim = {grid_x, 1, 1};
    if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1)
        return refuse_launch("is launched in more than one dimension, which is not supported here");
    if (!grid_x || grid_x > 0x7fffffffu || !block_x || block_x > 1024)
        return refuse_launch("is launched with " + std::to_string(grid_x) + " blocks of " + std::to_string(block_x) +
                             " threads; CUDA takes 1 to 2**31-1 blocks of 1 to 1024");
    kernel = static_cast<Kernel*>(which);
    arguments = values;
    begin_arguments();
    for (size_t i = 0; i < kernel->arrays.size(); i++)
        if (!kernel->arrays[i].empty()) add_argument(kernel->arrays[i], *static_cast<const char**>(values[i]));
    seed_random();
    begin_checks();
    std::vector<unsigned> blocks = choose_blocks(grid_x);
    unsigned control = _mm_getcsr();
    if (settings.flush_subnormals && kernel->flushes_subnormals)
        _mm_setcsr(control | 0x8040);  // flush to zero, and read subnormals as zero
    {
        SignalGuard guard;
        running = true;
        if (kernel->has_barriers) {
            shuffle(blocks);
            for (unsigned block : blocks) run_block(block);
        } else {
            run_serially(blocks);
        }
        running = false;
    }
    _mm_setcsr(control);
    end_checks();
    end_profile();
    return 0;
}

// ---------------------------------------------------------------------------------------------------- for the shim
void hc_block_barrier(const void* place) {
    fibers[current].place = place ? place : __builtin_return_address(0);
    leave_fiber(AT_BLOCK_BARRIER);
}

void hc_warp_barrier(int operation, unsigned mask, const void* place) {
    Fiber& fiber = fibers[current];
    fiber.place = place ? place : __builtin_return_address(0);
    fiber.operation = operation;
    fiber.mask = mask;
    if (!(mask >> (hc_threadIdx.x & 31) & 1))
        report_lane("warp divergence", hc_threadIdx.x, "takes part in an operation whose mask does not name it");
    leave_fiber(AT_WARP_BARRIER);
}

unsigned long long* hc_warp_slots() { return slots[hc_threadIdx.x / 32].data(); }

void hc_trap(const char* what, const void* place) {
    if (new_fault("trap", place ? place : __builtin_return_address(0))) describe_fault(what);
    kill_thread();
}

// ---------------------------------------------------------------------------------------------------- for Python
void hc_configure(const Settings* wanted) { settings = *wanted; }
}
