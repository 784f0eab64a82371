"""Lists, dictionaries and objects by reference: a mutation through one name is visible through all.

In: values of the front end. Out: references to them, what they refer to now, and joins of two states.

    b = a;  b.append(x)      ->      a and b are one reference, and what it refers to has one item more
"""
