"""Minimum cuts of flow networks, after Dinic: along shortest ways, as much as goes through, until there is none.

Large ones are SciPy's to cut, whose import takes longer than a small one; the cut is the same, there is but one such.

In: edges with capacities, a source and a sink. Out: the nodes on the source's side of a minimum cut.

    source_side({(0, 2): 3, (2, 1): 5}, 3, 0, 1) == {0}        the edge of 3 is cut
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

# Edges of networks that take longer to cut than SciPy's import does.
LARGE = 5000


def source_side(edges: Mapping[tuple[int, int], int], size: int, source: int, sink: int) -> set[int]:
    """The nodes, of `size` many, on the source's side; of several minimum cuts that with most of them there."""
    if len(edges) > LARGE:
        return _by_scipy(edges, size, source, sink)
    left = _Left(edges, size)
    while True:
        distance = left.distances_to(sink)
        if distance[source] < 0:
            # whatever still has a way to the sink is on its side
            return {node for node in range(size) if distance[node] < 0}
        left.fill(source, sink, distance)


def _by_scipy(edges: Mapping[tuple[int, int], int], size: int, source: int, sink: int) -> set[int]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    starts, ends = np.array(list(edges), dtype=np.int32).T
    graph = csr_array((np.array(list(edges.values()), dtype=np.int32), (starts, ends)), shape=(size, size))
    left = graph - maximum_flow(graph, source, sink).flow
    into: list[list[int]] = [[] for _ in range(size)]
    for start, end, capacity in zip(*left.nonzero(), left.data[left.data != 0], strict=True):
        if capacity > 0:
            into[end].append(int(start))
    sink_side, pending = {sink}, [sink]
    while pending:
        for node in into[pending.pop()]:
            if node not in sink_side:
                sink_side.add(node)
                pending.append(node)
    return set(range(size)) - sink_side


class _Left:
    """What may still flow: edge k goes to `end[k]`, and edge k ^ 1 is its way back."""

    def __init__(self, edges: Mapping[tuple[int, int], int], size: int) -> None:
        self.end: list[int] = []
        self.capacity: list[int] = []
        self.of: list[list[int]] = [[] for _ in range(size)]
        for (start, end), capacity in edges.items():
            self.of[start].append(len(self.end))
            self.of[end].append(len(self.end) + 1)
            self.end += (end, start)
            self.capacity += (capacity, 0)

    def distances_to(self, sink: int) -> list[int]:
        """How many edges with room it takes from each node, -1 where there is no way."""
        distance = [-1] * len(self.of)
        distance[sink] = 0
        reached = [sink]
        for node in reached:
            for edge in self.of[node]:
                before = self.end[edge]
                if distance[before] < 0 and self.capacity[edge ^ 1] > 0:
                    distance[before] = distance[node] + 1
                    reached.append(before)
        return distance

    def fill(self, source: int, sink: int, distance: list[int]) -> None:
        """Has as much flow as goes along ways on which each edge is a step towards the sink."""
        untried = [iter(edges) for edges in self.of]
        path: list[int] = []
        node = source
        while True:
            if node == sink:
                much = min(self.capacity[edge] for edge in path)
                for edge in path:
                    self.capacity[edge] -= much
                    self.capacity[edge ^ 1] += much
                # back to where the first edge is full
                place = next(k for k, edge in enumerate(path) if not self.capacity[edge])
                node = self.end[path[place] ^ 1]
                untried[node] = iter(self.of[node])
                del path[place:]
            nearer = distance[node] - 1
            step = next((e for e in untried[node] if self.capacity[e] and distance[self.end[e]] == nearer), -1)
            if step >= 0:
                path.append(step)
                node = self.end[step]
            elif path:
                # nothing goes on from here
                distance[node] = len(self.of)
                node = self.end[path.pop() ^ 1]
            else:
                return
