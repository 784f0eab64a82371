"""Derivatives on a GPU: of functions that run there, of kernels, inside of kernels, and as one graph.

In: functions or kernels, and arrays on the device. Out: derivatives that launch kernels.

    adjit.vjp(kernel[blocks, threads])      ->      the adjoint kernel, launched as kernels are
"""
