"""What is true of a program: each module asks one question, and changes nothing.

In: a function of the IR. Out: an answer that passes ask for, exact (isl) where it can be, safe elsewhere.

    function.analysis(IndexModel).may_meet(store, load)       whether both may touch one element
"""
