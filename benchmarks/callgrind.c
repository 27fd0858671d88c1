/* What Python cannot say to valgrind: when to begin to count, and when to write down what was counted. */
#include <valgrind/callgrind.h>

void begin(void) {
    CALLGRIND_START_INSTRUMENTATION;
}

void reset(void) {
    CALLGRIND_ZERO_STATS;
}

void write_down(const char *name) {
    CALLGRIND_DUMP_STATS_AT(name);
}
