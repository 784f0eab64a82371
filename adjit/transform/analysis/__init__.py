"""What is true of a program: each module asks one question, and changes nothing.

In: a function of the IR. Out: an answer that passes ask for, exact (isl) where it can be, safe elsewhere.

    IndexModel(function).may_meet(store, load)       which arrays share memory, which elements meet, what trips share
"""
