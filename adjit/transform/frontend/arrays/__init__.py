"""What is done to whole arrays: their shapes, subscripts and parts, how they are made, ufuncs and their methods.

In: arrays and expressions of them (`values`), as the front end has them. Out: the same kinds of values, with the loops
that make them emitted.
The faces: `indexing.resolve`, `.read` and `.write` of subscripts, the handlers of `shaping` and `creation`.
"""
