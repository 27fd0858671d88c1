"""segmax.gpu: segment maximum and elementwise maximum on CuPy arrays (not built yet: CUDA kernels come from the same table)."""
