// The faults found so far: one record per kind, kernel and place in the code, with the first thread that ran into it
// and how often it happened.
#include "runtime.h"
#include <algorithm>
#include <dlfcn.h>
#include <map>
#include <tuple>

namespace hostcuda {

struct Fault {
    std::string kind, kernel, detail, array, module;
    uint64_t block, thread, address;
    int64_t element;
    uint64_t bytes, offset, count;
};
struct Argument {
    std::string name;
    const char* data;
};

static std::vector<Fault> faults;
static std::map<std::tuple<std::string, std::string, const void*>, size_t> sites;
static std::vector<Argument> arguments;

void begin_arguments() { arguments.clear(); }
void add_argument(const std::string& name, const char* data) { arguments.push_back({name, data}); }

std::string name_thread(uint64_t thread) {
    return "block " + std::to_string(thread / hc_blockDim.x) + " thread " + std::to_string(thread % hc_blockDim.x);
}

bool new_fault(const char* kind, const void* place) {
    auto found = sites.emplace(std::make_tuple(kind, kernel_name, place), faults.size());
    if (!found.second) {
        faults[found.first->second].count++;
        return false;
    }
    Fault fault{kind, kernel_name, "", "", "", 0, 0, 0, 0, 0, 0, 1};
    Dl_info info;
    if (place && dladdr(place, &info)) {
        fault.module = info.dli_fname;
        // A return address points behind the call that is meant.
        fault.offset = static_cast<const char*>(place) - static_cast<const char*>(info.dli_fbase) - 1;
    }
    faults.push_back(fault);
    return true;
}

// The argument that most likely was meant: the one in the nearest allocation; of several views into that one the last
// that starts before the address.
static const Argument* meant(const char* address) {
    const Argument* best = nullptr;
    size_t least = SIZE_MAX;
    for (const Argument& a : arguments) {
        const Allocation* around = find_allocation(a.data);
        if (!around) continue;
        const char* end = around->start + around->bytes;
        size_t distance = address < around->start ? around->start - address : address < end ? 0 : address - end + 1;
        bool closer_view = distance == least && a.data <= address && a.data > best->data;
        if (distance < least || closer_view) {
            least = distance;
            best = &a;
        }
    }
    return best;
}

void describe_fault(const std::string& detail, const void* address, size_t bytes) {
    Fault& fault = faults.back();
    fault.detail = detail;
    fault.block = thread_number / std::max(hc_blockDim.x, 1u);
    fault.thread = thread_number % std::max(hc_blockDim.x, 1u);
    fault.address = reinterpret_cast<uint64_t>(address);
    fault.bytes = bytes;
    const char* p = static_cast<const char*>(address);
    const Argument* array = in_arena(address) ? meant(p) : nullptr;
    if (array && bytes) {
        fault.array = array->name;
        int64_t distance = p - array->data, unit = bytes;
        fault.element = distance >= 0 ? distance / unit : -((-distance + unit - 1) / unit);
    }
}

}  // namespace hostcuda

using namespace hostcuda;

extern "C" {

struct hc_fault {  // read by faults.py
    const char *kind, *kernel, *detail, *array, *module;
    uint64_t block, thread, address;
    int64_t element;
    uint64_t bytes, offset, count;
};

size_t hc_fault_count() { return faults.size(); }

void hc_get_fault(size_t index, hc_fault* out) {
    const Fault& f = faults[index];
    *out = {f.kind.c_str(), f.kernel.c_str(), f.detail.c_str(), f.array.c_str(), f.module.c_str(), f.block,
            f.thread,       f.address,        f.element,        f.bytes,         f.offset,         f.count};
}

void hc_clear_faults() {
    faults.clear();
    sites.clear();
}
}
