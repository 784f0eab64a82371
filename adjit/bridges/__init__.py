"""Functions of numbers and arrays, differentiated by adjit, as operations of other libraries.

In: a function, as adjit takes it. Out: an operation of torch, JAX or PyTensor that their own differentiation goes
through, or value and gradient of a sum over the blocks of a Dask collection. Each library has its module, which is the
only one that imports it:

    from adjit.bridges.torch import function        loss = function(simulate)(parameters, 50); loss.backward()
"""
