"""The arguments of a call: taken apart into numbers and arrays, and results put together like them.

In: arguments as users give them. Out: their leaves with their types, and how they were put together.

    f({"w": w, "b": 0.5})      ->      leaves w, 0.5; and a gradient that is a dictionary as well
"""
