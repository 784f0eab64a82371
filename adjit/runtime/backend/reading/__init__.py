"""numba's typed form of a function, from its text: without bytecode, and without inference by rounds.

In: a function whose source is at hand, and the types of its arguments. Out: numba's statements, in single-assignment
form, with the type of each variable and the signature of each call.

    s += x[i] * k      $4 = getitem(x, i)  float64      $5 = $4 * k  float64      $6 = s.1 + $5  float64

numba compiles a function to bytecode, finds out what the bytecode was made of, renames variables, and passes types
round until none changes. Generated code is structured and has one type a variable, so one walk over its syntax finds
the same: names are looked up, not inferred. What the walk does not know, a `with`, say, or a call that numba puts the
body of in its place, it leaves to numba, and with it the whole function. ADJIT_READING=0 leaves all to numba.

    texts.py            the syntax of a function
    names.py            which names are needed after a statement
    type_queries.py     what numba says of the types of an operation
    expressions.py      the statements that compute an expression
    statements.py       blocks, and what a variable is where ways meet
    verifier.py         whether a name is read by a variable that holds it; asked with ADJIT_VERIFY=1, as in the tests
"""
