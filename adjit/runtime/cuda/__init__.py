"""What kernels are run with, and looked at while they run.

In: launches. Out: what is wrong with them.

    with check.watched() as found: kernel[grid, block](x, y)        in the simulator
"""
