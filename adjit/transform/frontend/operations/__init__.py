"""What Python's operations do to values: operators, branches and loops, attributes, items and methods.

In: values of the front end. Out: values, and IR in a builder.

    binary(frame, operator.add, a, b)      ->      numbers are added, lists are joined, an object's __add__ is called
"""
