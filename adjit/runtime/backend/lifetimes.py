"""Where the variables of numba's form of a function end: as numba's own analysis says, in a tenth of its time.

In: blocks of statements. Out: which variables each block sets, and reads before; which are set once, before all that
reads them, and so need no place in memory; and, in the blocks, a `del` after the last use of a variable.

    v = x[i:j]       v = x[i:j]
    y = v[0]         y = v[0]
                     del v

Of numbers nothing ends: only what refers to memory is given back.
numba asks each statement for its variables four times, and passes sets of names round until nothing changes. Here a set
is a number with a bit for each name, and a statement is asked once.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from numba.core import analysis, ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.unsafe import eh


class Uses(NamedTuple):
    """The names that the statements of a block have in them, and those of the block as a whole."""

    named: Sequence[Sequence[str]]  # by statement, what an assignment sets among them
    read: frozenset[str]  # before they are set, if they are
    set: frozenset[str]


def of_block(block: Any, among: Container[str] | None = None) -> Uses:
    """Which variables a block reads and sets; `among` these, if it is given."""
    named, read, assigned = [], set[str](), set[str]()
    for statement in block.body:
        names: list[str] = []
        if type(statement) is ir.Assign:
            _names_in(statement.value, names)
            target = statement.target.name
            if target not in names and (among is None or target in among):
                assigned.add(target)
            names.append(target)
        else:
            for part in statement.__dict__.values():
                _names_in(part, names)
        if among is not None:
            names = [name for name in names if name in among]
        named.append(names)
        read.update(name for name in names if name not in assigned)
    return Uses(named, frozenset(read), frozenset(assigned))


def _names_in(part: Any, found: list[str]) -> None:
    kind = type(part)
    if kind is ir.Var:
        found.append(part.name)
    elif kind is ir.Expr:
        for inner in part._kws.values():
            _names_in(inner, found)
    elif kind is tuple or kind is list:
        for inner in part:
            _names_in(inner, found)
    elif kind is dict:
        for inner in part.values():
            _names_in(inner, found)
    elif isinstance(part, ir.Inst):
        found.extend(variable.name for variable in part.list_vars())


def is_known(blocks: Mapping[int, Any]) -> bool:
    """Whether all statements are numba's own, and not a package's, whose variables that package lists."""
    others = analysis.ir_extension_usedefs
    return not others or not any(type(statement) in others for block in blocks.values() for statement in block.body)


def with_dels(blocks: Mapping[int, Any], among: Container[str]) -> None:
    """Puts a `del` where each of these variables ends: after its last use, or where a block begins that does not need
    it."""
    uses = {label: of_block(block, among) for label, block in blocks.items()}
    bits = _Bits(uses.values())
    within, at_start = _ends(blocks, uses, bits)
    for label, block in blocks.items():
        ending = set(bits.names(within[label]))
        body = [block.body[-1]]
        for statement, names in zip(block.body[-2::-1], uses[label].named[-2::-1], strict=True):
            last = ending.intersection(names)
            ending -= last
            body.extend(ir.Del(name, loc=statement.loc) for name in sorted(last))
            body.append(statement)
        body.reverse()
        for name in sorted(bits.names(at_start[label])):
            body.insert(0, ir.Del(name, loc=body[0].loc))
        block.body = body


class _Bits:
    """Sets of names as numbers."""

    def __init__(self, uses: Any) -> None:
        self._bit: dict[str, int] = {}
        self._names: list[str] = []
        for used in uses:
            for name in (*used.read, *used.set):
                if name not in self._bit:
                    self._bit[name] = 1 << len(self._names)
                    self._names.append(name)

    def of(self, names: Any) -> int:
        bits = 0
        for name in names:
            bits |= self._bit[name]
        return bits

    def names(self, bits: int) -> Iterator[str]:
        while bits:
            low = bits & -bits
            yield self._names[low.bit_length() - 1]
            bits ^= low


def _ends(blocks: Mapping[int, Any], uses: Mapping[int, Uses], bits: _Bits) -> tuple[dict[int, int], dict[int, int]]:
    """Which variables end in each block, and which where it begins."""
    flow = compute_cfg_from_blocks(blocks)
    order = list(flow.topo_order())
    after = {label: [out for out, _ in flow.successors(label)] for label in blocks}
    assigned = {label: bits.of(used.set) for label, used in uses.items()}
    # what has been set or read on some way to the end of a block: only that can be alive there
    met = {label: assigned[label] | bits.of(used.read) for label, used in uses.items()}
    alive = {label: bits.of(used.read) for label, used in uses.items()}

    def needed(label: int) -> int:
        """What is alive where the block ends."""
        return functools.reduce(operator.or_, (alive[out] for out in after[label]), 0)

    changes = True
    while changes:
        changes = False
        for label in order:
            for out in after[label]:
                new = met[out] | met[label]
                changes = changes or new != met[out]
                met[out] = new
    changes = True
    while changes:
        changes = False
        for label in reversed(order):
            new = alive[label] | (needed(label) & met[label] & ~assigned[label])
            changes = changes or new != alive[label]
            alive[label] = new
    within, at_start = {}, dict.fromkeys(blocks, 0)
    for label in blocks:
        here = alive[label] | assigned[label]
        within[label] = here & ~(needed(label) | bits.of(uses[label].named[-1]))
        for out in after[label]:
            at_start[out] |= (here & ~within[label]) & ~(alive[out] | assigned[out])
    return within, at_start


class Known(NamedTuple):
    """Variables that are set once."""

    local: frozenset[str]  # and read in that block alone
    wide: frozenset[str]  # and read after it in others, too


def known_variables(blocks: Mapping[int, Any]) -> Known:
    """Those whose only assignment comes before all that reads them, in whatever way a block is reached."""
    uses = {label: of_block(block) for label, block in blocks.items()}
    times = Counter(s.target.name for b in blocks.values() for s in b.body if isinstance(s, ir.Assign))
    read: dict[str, list[int]] = {}
    for label, used in uses.items():
        for name in used.read:
            read.setdefault(name, []).append(label)
    set_in = {name: label for label, used in uses.items() for name in used.set if times[name] == 1}
    local = frozenset(name for name in set_in if name not in read)
    if _catches(blocks):
        # what raises goes from the middle of a block to where it is caught
        return Known(local, frozenset())
    above = compute_cfg_from_blocks(blocks).dominators()
    wide = frozenset(
        name
        for name, label in set_in.items()
        # blocks are written in the order of their labels
        if name in read and all(label < other and label in above[other] for other in read[name])
    )
    return Known(local, wide)


def _catches(blocks: Mapping[int, Any]) -> bool:
    return any(
        isinstance(s, ir.Assign) and isinstance(s.value, ir.Global) and s.value.value is eh.exception_check
        for block in blocks.values()
        for s in block.body
    )
