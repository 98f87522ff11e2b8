"""Small loops that many kernels use: sorting, a heap, sets that unite, random numbers."""
