"""What functions of Python's library do, as ordinary Python, which the front end reads like a user's function.

In: a function of Python's. Out: one that does the same.

    heapq.heappush(heap, item)      ->      algorithms.heappush(heap, item)
"""
