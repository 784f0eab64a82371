"""What a user who writes prange says of a store: that no other trip touches the element.

In: the body of a loop over prange. Out: the same, without that of arrays that a trip makes for itself: they may become
one array of all trips, and nobody said anything about that one.

    for i in prange(n):
        y[order[i]] = x[i]          promised
        s = np.empty(2)
        s[k[i]] = x[i]              nothing said
        h[k[i]] += x[i]             nothing said: many who write this mean the sum
"""

from __future__ import annotations

import dataclasses

from adjit.transform import ir


def without_own_promises(body: ir.Region) -> ir.Region:
    def made(op: ir.Op) -> ir.Op:
        if isinstance(op, ir.Store) and op.promised and ir.base_of(op.array, body.made) in body.defines:
            return dataclasses.replace(op, promised=False)
        return op

    return ir.rewritten(body, made)
