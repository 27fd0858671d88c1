// The CUDA runtime and driver as CuPy sees them. CuPy's Cython modules call each other through function pointers in
// capsules (__pyx_capi__); hc_replace puts the functions below there, before `import cupy`. A capsule's name is the C
// signature of its function: each entry of the table states the one it was written for.
#include <Python.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>

extern "C" {
void* hc_malloc(size_t);
void hc_free(void*);
void hc_copy_initialised(void*, const void*, size_t);
void hc_mark_initialised(void*, size_t);
int hc_is_device(const void*);
int hc_launch(const char*, void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void**);
}

static PyObject* events = nullptr;              // a list; launches.py reads it
static PyObject* pointer_attributes = nullptr;  // makes what pointerGetAttributes returns
static PyObject* find_kernel = nullptr;         // kernels.find_kernel

#define RECORD(...)                                                    \
    do {                                                               \
        PyObject* event = Py_BuildValue(__VA_ARGS__);                  \
        if (!event || PyList_Append(events, event) < 0) PyErr_Clear(); \
        Py_XDECREF(event);                                             \
    } while (0)

static PyObject* none() { Py_RETURN_NONE; }
static const int VERSION = 12090, MULTIPROCESSORS = 4;

// ---------------------------------------------------------------------------------------------------- device
static PyObject* do_nothing() { return none(); }
static PyObject* say_true() { Py_RETURN_TRUE; }
static int say_zero() { return 0; }
static int get_one_device(int) { return 1; }
static int get_version(int) { return VERSION; }
static int get_major_version(int) { return VERSION / 1000; }
static PyObject* get_memory(int) { return Py_BuildValue("(nn)", (Py_ssize_t)1 << 37, (Py_ssize_t)1 << 37); }

static PyObject* get_properties(int, int) {
    return Py_BuildValue("{s:y,s:i,s:i,s:i,s:i,s:i,s:n,s:i,s:(iii),s:(iii)}", "name", "hostcuda (CPU)", "warpSize", 32,
                         "multiProcessorCount", MULTIPROCESSORS, "major", 9, "minor", 0, "maxThreadsPerBlock", 1024,
                         "sharedMemPerBlock", (Py_ssize_t)49152, "l2CacheSize", 1 << 20, "maxGridSize", 0x7fffffff,
                         65535, 65535, "maxThreadsDim", 1024, 1024, 64);
}

static int get_attribute(int attribute, int, int) {  // numbered as in cudaDeviceAttr
    switch (attribute) {
        case 1:
            return 1024;  // threads per block
        case 5:
            return 0x7fffffff;  // blocks
        case 8:
            return 49152;  // bytes of shared memory per block
        case 10:
            return 32;  // threads per warp
        case 16:
            return MULTIPROCESSORS;
        case 39:
            return 2048;  // threads per multiprocessor
        case 75:
            return 9;  // compute capability
        default:
            return 0;
    }
}

// ---------------------------------------------------------------------------------------------------- memory
static intptr_t allocate(size_t bytes) {
    RECORD("(sn)", "allocation", (Py_ssize_t)bytes);
    void* start = hc_malloc(bytes);
    if (!start) PyErr_Format(PyExc_MemoryError, "hostcuda cannot reserve %zu more bytes of device memory", bytes);
    return (intptr_t)start;
}
static intptr_t device_malloc(size_t bytes, int) { return allocate(bytes); }
static intptr_t device_malloc_async(size_t bytes, intptr_t, int) { return allocate(bytes); }
static PyObject* device_free(intptr_t start, int) { return hc_free((void*)start), none(); }
static PyObject* device_free_async(intptr_t start, intptr_t, int) { return hc_free((void*)start), none(); }
static intptr_t host_malloc(size_t bytes, unsigned, int) { return (intptr_t)malloc(bytes ? bytes : 1); }
static PyObject* host_free(intptr_t start, int) { return free((void*)start), none(); }

static PyObject* copy(intptr_t to, intptr_t from, size_t bytes, intptr_t stream) {
    RECORD("(snOOn)", "copy", (Py_ssize_t)bytes, hc_is_device((void*)from) ? Py_True : Py_False,
           hc_is_device((void*)to) ? Py_True : Py_False, (Py_ssize_t)stream);
    memmove((void*)to, (void*)from, bytes);
    hc_copy_initialised((void*)to, (void*)from, bytes);
    return none();
}
static PyObject* copy_now(intptr_t to, intptr_t from, size_t bytes, int, int) { return copy(to, from, bytes, 0); }
static PyObject* copy_async(intptr_t to, intptr_t from, size_t bytes, int, intptr_t stream, int) {
    return copy(to, from, bytes, stream);
}
static PyObject* copy_peer(intptr_t to, int, intptr_t from, int, size_t bytes, int) { return copy(to, from, bytes, 0); }
static PyObject* copy_peer_async(intptr_t to, int, intptr_t from, int, size_t bytes, intptr_t stream, int) {
    return copy(to, from, bytes, stream);
}
static PyObject* fill(intptr_t start, int value, size_t bytes, intptr_t stream) {
    RECORD("(snn)", "fill", (Py_ssize_t)bytes, (Py_ssize_t)stream);
    memset((void*)start, value, bytes);
    hc_mark_initialised((void*)start, bytes);
    return none();
}
static PyObject* fill_now(intptr_t start, int value, size_t bytes, int) { return fill(start, value, bytes, 0); }
static PyObject* fill_async(intptr_t start, int value, size_t bytes, intptr_t stream, int) {
    return fill(start, value, bytes, stream);
}

static int get_memory_type(intptr_t address, int) { return hc_is_device((void*)address) ? 2 : 0; }
static PyObject* get_pointer_attributes(intptr_t address, int) {
    return PyObject_CallFunction(pointer_attributes, "n", (Py_ssize_t)address);
}

// ---------------------------------------------------------------------------------------------------- streams, events
static PyObject* synchronize(const char* what, intptr_t handle) {
    RECORD("(ssn)", "synchronization", what, (Py_ssize_t)handle);
    return none();
}
static PyObject* synchronize_device(int) { return synchronize("device", 0); }
static PyObject* synchronize_stream(intptr_t stream, int) { return synchronize("stream", stream); }
static PyObject* synchronize_event(intptr_t event, int) { return synchronize("event", event); }

static intptr_t new_handle() {
    static intptr_t last = 0x1000;
    return last += 16;
}
static std::map<intptr_t, double> recorded;  // event: milliseconds
static PyObject* record_event(intptr_t event, intptr_t, int) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    recorded[event] = now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
    return none();
}
static float get_elapsed(intptr_t from, intptr_t to, int) { return (float)(recorded[to] - recorded[from]); }
static unsigned get_stream_flags(intptr_t, int) { return 1; }

// ---------------------------------------------------------------------------------------------------- modules, kernels
// Which compiled form of a kernel runs is decided at the launch: it depends on the settings then.
struct Function {
    std::string module, name;
};

static intptr_t load_module(PyObject* image, int) {
    char* text;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(image, &text, &length) < 0) return 0;
    const std::string prefix = "HOSTCUDA:", content(text, length);  // kernels.py hands a name over as if it were code
    if (content.compare(0, prefix.size(), prefix)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "hostcuda cannot load code compiled for a GPU: it runs kernels that CuPy compiles from source");
        return 0;
    }
    return (intptr_t)new std::string(content.substr(prefix.size()));
}

static intptr_t get_function(intptr_t module, PyObject* name, int) {
    const char* text = PyUnicode_AsUTF8(name);
    return text ? (intptr_t)new Function{*(const std::string*)module, text} : 0;
}

static PyObject* launch(intptr_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, intptr_t stream, intptr_t arguments,
                        intptr_t, int) {
    const Function& called = *(const Function*)function;
    const char* name = called.name.c_str();
    RECORD("(ss(III)(III)nI)", "launch", name, grid_x, grid_y, grid_z, block_x, block_y, block_z, (Py_ssize_t)stream,
           shared);
    PyObject* found = PyObject_CallFunction(find_kernel, "ss", called.module.c_str(), name);
    if (!found) return nullptr;
    void* kernel = PyLong_AsVoidPtr(found);
    Py_DECREF(found);
    if (!kernel) return nullptr;
    if (hc_launch(name, kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, (void**)arguments)) {
        PyErr_Format(PyExc_RuntimeError, "hostcuda refuses the launch of %s; report() says why", name);
        return nullptr;
    }
    return none();
}
static intptr_t get_context(int) { return 1; }
static int get_occupancy(intptr_t, int, size_t, int) { return 16; }

// ---------------------------------------------------------------------------------------------------- the table
struct Entry {
    const char* name;
    const void* function;
    const char* signature;
};
#define LAST ", int __pyx_skip_dispatch)"
static const Entry RUNTIME[] = {
    {"_ensure_context", (void*)do_nothing, "PyObject *(void)"},
    {"check_status", (void*)do_nothing, "PyObject *(int" LAST},
    {"profilerStart", (void*)do_nothing, "PyObject *(int __pyx_skip_dispatch)"},
    {"profilerStop", (void*)do_nothing, "PyObject *(int __pyx_skip_dispatch)"},
    {"getDevice", (void*)say_zero, "int (int __pyx_skip_dispatch)"},
    {"getDeviceCount", (void*)get_one_device, "int (int __pyx_skip_dispatch)"},
    {"setDevice", (void*)do_nothing, "PyObject *(int" LAST},
    {"getDeviceProperties", (void*)get_properties, "PyObject *(int" LAST},
    {"deviceGetAttribute", (void*)get_attribute, "int (int, int" LAST},
    {"deviceCanAccessPeer", (void*)say_zero, "int (int, int" LAST},
    {"deviceSynchronize", (void*)synchronize_device, "PyObject *(int __pyx_skip_dispatch)"},
    {"driverGetVersion", (void*)get_version, "int (int __pyx_skip_dispatch)"},
    {"runtimeGetVersion", (void*)get_version, "int (int __pyx_skip_dispatch)"},
    {"_getCUDAMajorVersion", (void*)get_major_version, "int (int __pyx_skip_dispatch)"},
    {"memGetInfo", (void*)get_memory, "PyObject *(int __pyx_skip_dispatch)"},
    {"malloc", (void*)device_malloc, "intptr_t (size_t" LAST},
    {"mallocAsync", (void*)device_malloc_async, "intptr_t (size_t, intptr_t" LAST},
    {"free", (void*)device_free, "PyObject *(intptr_t" LAST},
    {"freeAsync", (void*)device_free_async, "PyObject *(intptr_t, intptr_t" LAST},
    {"hostAlloc", (void*)host_malloc, "intptr_t (size_t, unsigned int" LAST},
    {"freeHost", (void*)host_free, "PyObject *(intptr_t" LAST},
    {"memcpy", (void*)copy_now, "PyObject *(intptr_t, intptr_t, size_t, int" LAST},
    {"memcpyAsync", (void*)copy_async, "PyObject *(intptr_t, intptr_t, size_t, int, intptr_t" LAST},
    {"memcpyPeer", (void*)copy_peer, "PyObject *(intptr_t, int, intptr_t, int, size_t" LAST},
    {"memcpyPeerAsync", (void*)copy_peer_async, "PyObject *(intptr_t, int, intptr_t, int, size_t, intptr_t" LAST},
    {"memset", (void*)fill_now, "PyObject *(intptr_t, int, size_t" LAST},
    {"memsetAsync", (void*)fill_async, "PyObject *(intptr_t, int, size_t, intptr_t" LAST},
    {"pointerGetMemoryType", (void*)get_memory_type, "int (intptr_t" LAST},
    {"pointerGetAttributes", (void*)get_pointer_attributes, "struct *(intptr_t" LAST},
    {"streamCreate", (void*)new_handle, "intptr_t (int __pyx_skip_dispatch)"},
    {"streamCreateWithFlags", (void*)new_handle, "intptr_t (unsigned int" LAST},
    {"streamCreateWithPriority", (void*)new_handle, "intptr_t (unsigned int, int" LAST},
    {"streamDestroy", (void*)do_nothing, "PyObject *(intptr_t" LAST},
    {"streamGetFlags", (void*)get_stream_flags, "unsigned int (intptr_t" LAST},
    {"streamGetPriority", (void*)say_zero, "int (intptr_t" LAST},
    {"streamIsCapturing", (void*)say_zero, "int (intptr_t" LAST},
    {"streamQuery", (void*)say_true, "PyObject *(intptr_t" LAST},
    {"streamSynchronize", (void*)synchronize_stream, "PyObject *(intptr_t" LAST},
    {"streamWaitEvent", (void*)do_nothing,
     "PyObject *(intptr_t, intptr_t, int __pyx_skip_dispatch, struct *__pyx_optional_args)"},
    {"eventCreate", (void*)new_handle, "intptr_t (int __pyx_skip_dispatch)"},
    {"eventCreateWithFlags", (void*)new_handle, "intptr_t (unsigned int" LAST},
    {"eventDestroy", (void*)do_nothing, "PyObject *(intptr_t" LAST},
    {"eventElapsedTime", (void*)get_elapsed, "float (intptr_t, intptr_t" LAST},
    {"eventQuery", (void*)say_true, "PyObject *(intptr_t" LAST},
    {"eventRecord", (void*)record_event, "PyObject *(intptr_t, intptr_t" LAST},
    {"eventSynchronize", (void*)synchronize_event, "PyObject *(intptr_t" LAST},
    {nullptr, nullptr, nullptr},
};
static const Entry DRIVER[] = {
    {"ctxGetCurrent", (void*)get_context, "intptr_t (int __pyx_skip_dispatch)"},
    {"moduleLoadData", (void*)load_module, "intptr_t (PyObject *" LAST},
    {"moduleUnload", (void*)do_nothing, "PyObject *(intptr_t" LAST},
    {"moduleGetFunction", (void*)get_function, "intptr_t (intptr_t, PyObject *" LAST},
    {"funcGetAttribute", (void*)say_zero, "int (int, intptr_t" LAST},
    {"occupancyMaxActiveBlocksPerMultiprocessor", (void*)get_occupancy, "int (intptr_t, int, size_t" LAST},
    {"launchKernel", (void*)launch,
     "PyObject *(intptr_t, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, "
     "unsigned int, intptr_t, intptr_t, intptr_t" LAST},
    {nullptr, nullptr, nullptr},
};

// The names that Cython makes up for structs contain version-dependent prefixes: leave them out.
static std::string without_struct_names(std::string signature) {
    const std::string word = "struct ";
    for (size_t at = 0; (at = signature.find(word, at)) != std::string::npos;) {
        at += word.size();
        size_t star = signature.find('*', at);
        if (star != std::string::npos) signature.erase(at, star - at);
    }
    return signature;
}

// Replace the functions of one module; the first signature that is not as expected is a RuntimeError.
static bool replace(PyObject* capsules, const Entry* entries) {
    for (const Entry* e = entries; e->name; e++) {
        PyObject* capsule = PyDict_GetItemString(capsules, e->name);
        const char* signature = capsule ? PyCapsule_GetName(capsule) : "";
        if (!capsule || without_struct_names(signature) != e->signature) {
            PyErr_Format(PyExc_RuntimeError, "CuPy's %s has the C signature '%s', not '%s'", e->name, signature,
                         e->signature);
            return false;
        }
        if (PyCapsule_SetPointer(capsule, const_cast<void*>(e->function))) return false;
    }
    return true;
}

extern "C" PyObject* hc_replace(PyObject* runtime, PyObject* driver, PyObject* event_list, PyObject* attributes,
                                PyObject* finder) {
    Py_INCREF(events = event_list);
    Py_INCREF(pointer_attributes = attributes);
    Py_INCREF(find_kernel = finder);
    return replace(runtime, RUNTIME) && replace(driver, DRIVER) ? none() : nullptr;
}
