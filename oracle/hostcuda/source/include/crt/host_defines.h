// Stands in for CUDA's crt/host_defines.h, which the wheel of the CUDA 12 runtime lacks.
#ifndef HOSTCUDA_HOST_DEFINES_H
#define HOSTCUDA_HOST_DEFINES_H
#define __HOST_DEFINES_H__  // keeps NVIDIA's own out, where there is one
#define __device__
#define __host__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#ifndef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#endif
#define __noinline__ __attribute__((noinline))
#define __shared__ static  // one block runs at a time
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __cluster_dims__(...)
#define __launch_bounds__(...)
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#endif
