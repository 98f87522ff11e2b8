"""How kernels are compiled, how what was compiled is kept fresh, and how a first run waits less."""
