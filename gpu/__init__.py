"""segmax.gpu: the same functions on CuPy arrays. Nothing is built here yet."""
