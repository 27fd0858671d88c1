"""The CPU's level, asked of the CPU. Compiled for the baseline only: this module runs before a level is chosen."""

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__)
    static int segmax_cpu_level(void) {
        __builtin_cpu_init();
        if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
              __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt"))) return 1;
        if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl"))) return 3;
        return 4;
    }
    #else
    static int segmax_cpu_level(void) { return 1; }
    #endif
    """
    int segmax_cpu_level() nogil


def detect_level():
    """Return the highest level whose instructions this CPU and its operating system support: 1, 3 or 4."""
    return segmax_cpu_level()
