# The only place that knows whether OpenMP is there. Without it prange is a plain loop, and these answers fit that.
cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    enum { segmax_has_openmp = 1 };
    #else
    enum { segmax_has_openmp = 0 };
    #endif
    """
    int segmax_has_openmp
