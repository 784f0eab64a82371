"""Functions of numbers and arrays, differentiated by adjit, as operations of other libraries.

In: a function, as adjit takes it. Out: an operation of torch, JAX or PyTensor that their own differentiation goes
through, value and gradient of a sum over the blocks of a Dask collection, or derivatives of a program with messages of
MPI, in which those go back. Each library has its module, the only one (for MPI with `messages.py`) that imports it:

    from adjit.bridges.torch import function        loss = function(simulate)(parameters, 50); loss.backward()
"""
