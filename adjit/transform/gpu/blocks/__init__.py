"""What blocks of threads do, as operations of the block's and loops over its threads, and where the threads wait.

In: a function with loops over blocks. Out: the same, in which threads store what a block stores, tiles are filled
again where that saves an axis, additions that threads share are atomic, and barriers stand where threads meet.

    for block: for t: part[t] = x[t];  for t: y[t] = part[15 - t]      ->      ... barrier() between the two
"""
