// How much memory traffic kernels cause, and a model of how it coalesces: the k-th execution of one instruction by the
// lanes of a warp is one request, which touches sectors of 32 and lines of 128 bytes.
#include "runtime.h"
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace hostcuda {

Counts counts;
bool profiling = false;

struct Profile {
    uint64_t requests, sectors, lines, read_bytes, written_bytes, atomic_bytes, unique_sector_bytes;
};
static Profile profile;

struct Record {
    uint64_t request, address;
    size_t bytes;
};
static std::vector<Record> records;
static std::unordered_map<uint64_t, uint64_t> executions;  // of an instruction by a thread
static std::unordered_set<uint64_t> sectors;

void note_access(const void* address, size_t bytes, Access kind, const void* place) {
    if (kind == READ) {
        counts.reads++;
        counts.read_bytes += bytes;
    } else if (kind == WRITE) {
        counts.writes++;
        counts.written_bytes += bytes;
    } else {
        counts.atomics++;
    }
    if (!profiling) return;
    uint64_t at = reinterpret_cast<uint64_t>(address), instruction = reinterpret_cast<uint64_t>(place) & 0xfffff;
    uint64_t execution = executions[thread_number << 20 ^ instruction]++ & 0xfffff;
    records.push_back({(thread_number / 32) << 40 ^ execution << 20 ^ instruction, at, bytes});
    (kind == READ ? profile.read_bytes : kind == WRITE ? profile.written_bytes : profile.atomic_bytes) += bytes;
    sectors.insert(at / 32 << 1 | (kind != READ));
}

// How many pieces of a size the records of one request touch; they are sorted by address.
static uint64_t count_pieces(size_t from, size_t to, unsigned size) {
    uint64_t pieces = 0, last = UINT64_MAX;
    for (size_t i = from; i < to; i++)
        for (uint64_t p = records[i].address / size; p <= (records[i].address + records[i].bytes - 1) / size; p++)
            if (last == UINT64_MAX || p > last) {
                last = p;
                pieces++;
            }
    return pieces;
}

void end_profile() {
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
        return a.request < b.request || (a.request == b.request && a.address < b.address);
    });
    for (size_t from = 0, to; from < records.size(); from = to) {
        for (to = from; to < records.size() && records[to].request == records[from].request; to++);
        profile.requests++;
        profile.sectors += count_pieces(from, to, 32);
        profile.lines += count_pieces(from, to, 128);
    }
    profile.unique_sector_bytes += sectors.size() * 32;
    records.clear();
    executions.clear();
    sectors.clear();
}

}  // namespace hostcuda

using namespace hostcuda;

extern "C" {
void hc_profile(int on) {
    profiling = on;
    profile = Profile();
}
void hc_get_profile(Profile* out) { *out = profile; }
void hc_get_counts(Counts* out) { *out = counts; }
void hc_clear_counts() { counts = Counts(); }
}
