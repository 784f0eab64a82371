"""Which columns, or rows, of a sparse matrix travel together: colouring, by what graph theory knows of it.

In: a pattern as indices and where each row begins. Out: a colour for each column or row, and where entries are found.

    | x x . |      columns 0 and 2 have no row in common: one direction for both
    | . x x |

These functions are compiled as derivatives are (`value_of`), and kept for later processes with them. They are greedy:
each vertex gets the first colour that none of those has which it may not share with. (Gebremedhin, Manne and Pothen,
"What Color Is Your Jacobian?", 2005.)
"""

from __future__ import annotations

from typing import Any

import numpy as np


def row_sizes(table: Any, roots: Any, columns: int) -> Any:
    """How many columns are in each of the sets `roots`, of which `table` says what they are unions of."""
    seen = np.zeros(table.shape[0], np.int64)
    stack = np.empty(table.shape[0] + 2, np.int64)
    sizes = np.zeros(roots.size, np.int64)
    for row in range(roots.size):
        stack[0] = roots[row]
        waiting = 1
        while waiting > 0:
            waiting -= 1
            one = stack[waiting]
            if one > 0 and seen[one] != row + 1:
                seen[one] = row + 1
                if one <= columns:
                    sizes[row] += 1
                else:
                    stack[waiting] = table[one, 0]
                    stack[waiting + 1] = table[one, 1]
                    waiting += 2
    return sizes


def row_columns(table: Any, roots: Any, columns: int, starts: Any) -> Any:
    """The columns in each of these sets, those of a row from its place in `starts` on, in no order."""
    seen = np.zeros(table.shape[0], np.int64)
    stack = np.empty(table.shape[0] + 2, np.int64)
    found = np.empty(starts[roots.size], np.int64)
    for row in range(roots.size):
        stack[0] = roots[row]
        waiting = 1
        end = starts[row]
        while waiting > 0:
            waiting -= 1
            one = stack[waiting]
            if one > 0 and seen[one] != row + 1:
                seen[one] = row + 1
                if one <= columns:
                    found[end] = one - 1
                    end += 1
                else:
                    stack[waiting] = table[one, 0]
                    stack[waiting + 1] = table[one, 1]
                    waiting += 2
    return found


def apart_in_lines(starts: Any, lines: Any, line_starts: Any, others: Any, order: Any) -> Any:
    """Colours of columns so that no two of one colour have a row in common. `lines`: the rows of each column, from its
    place in `starts` on; `others`: the columns of each row. `order`: which columns come first."""
    count = starts.size - 1
    colours = np.full(count, -1, np.int64)
    forbidden = np.full(count + 1, -1, np.int64)
    for k in range(count):
        one = order[k]
        for p in range(starts[one], starts[one + 1]):
            line = lines[p]
            for q in range(line_starts[line], line_starts[line + 1]):
                colour = colours[others[q]]
                if colour >= 0:
                    forbidden[colour] = one
        colour = 0
        while forbidden[colour] == one:
            colour += 1
        colours[one] = colour
    return colours


def star(starts: Any, neighbours: Any, order: Any) -> Any:
    """Colours of the vertices of a graph so that neighbours differ, and each path of four vertices has three colours.

    Then of a symmetric matrix with this graph each entry stands alone in its row among the columns of one colour, or
    its mirror image does. An entry of the diagonal among the neighbours is passed over."""
    count = starts.size - 1
    colours = np.full(count, -1, np.int64)
    forbidden = np.full(count + 1, -1, np.int64)
    for k in range(count):
        v = order[k]
        for p in range(starts[v], starts[v + 1]):
            w = neighbours[p]
            if w == v:
                continue
            if colours[w] >= 0:
                forbidden[colours[w]] = v
            for q in range(starts[w], starts[w + 1]):
                x = neighbours[q]
                if colours[x] < 0 or w == x or v == x:
                    continue
                if colours[w] < 0:
                    forbidden[colours[x]] = v
                    continue
                for r in range(starts[x], starts[x + 1]):
                    y = neighbours[r]
                    if y != w and y != x and colours[y] == colours[w]:
                        forbidden[colours[x]] = v
        colour = 0
        while forbidden[colour] == v:
            colour += 1
        colours[v] = colour
    return colours


def found_at(starts: Any, neighbours: Any, colours: Any) -> tuple[Any, Any]:
    """Of each entry of a symmetric matrix with a star colouring: the row and the colour in which it stands alone."""
    lines = np.empty(neighbours.size, np.int64)
    via = np.empty(neighbours.size, np.int64)
    met = np.zeros(colours.size + 1, np.int64)
    for row in range(starts.size - 1):
        for p in range(starts[row], starts[row + 1]):
            met[colours[neighbours[p]]] += 1
        for p in range(starts[row], starts[row + 1]):
            column = neighbours[p]
            if met[colours[column]] == 1:
                lines[p] = row
                via[p] = colours[column]
            else:
                lines[p] = column
                via[p] = colours[row]
        for p in range(starts[row], starts[row + 1]):
            met[colours[neighbours[p]]] = 0
    return lines, via
