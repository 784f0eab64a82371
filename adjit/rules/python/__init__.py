"""What functions of Python's library do, as ordinary Python, which the front end reads like a user's function.

In: a function of Python's. Out: one that does the same, in the module of the same name.

    heapq.heappush(heap, item)      ->      python.heapq.heappush(heap, item)

Which is read for which, rows of `written` say in the tables of `transform/frontend/library`.
"""

from adjit.rules.python import bisect as bisect
from adjit.rules.python import builtins as builtins
from adjit.rules.python import collections as collections
from adjit.rules.python import heapq as heapq
from adjit.rules.python import itertools as itertools
from adjit.rules.python import lists as lists
from adjit.rules.python import math as math
from adjit.rules.python import operator as operator
