"""What generated code for a GPU is compiled and run with: a backend, arrays on the device, launches, functions.

In: generated text, and arrays on a device. Out: a function of the host that launches kernels. `check` looks at kernels
while they run in the simulator.

    load(text, names, "misfit_grad", ...)      a function that takes and returns arrays on the device
"""
