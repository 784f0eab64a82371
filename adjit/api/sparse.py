"""Sparse Jacobians and Hessians: SciPy's CSR matrices, from as few directions as their pattern allows.

In: a function, and arguments at each call. Out: a matrix, or a tree of them.

    jacobian(residual, sparse=True)(u)      a tridiagonal one of 10^5 unknowns: three directions, one sweep

A call asks which pattern holds for its arguments (`Sparsity`), and runs the derivative that makes its entries
(`transform/derive/jacobians/compressed_jacobian.py`). The pattern comes from a run that propagates sets of columns
(`transform/derive/jacobians/sparsity_patterns.py`). The run also finds the arguments whose values may change the
pattern. The pattern is found again where such an argument has other values, and new entries are added to the known
ones.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjit.api import colouring
from adjit.api.arguments.structures import laid_out
from adjit.api.arguments.trees import Leaf, Template, leaves, map_leaves, nested, template
from adjit.api.arguments.types import check_value
from adjit.api.specialise.dispatch import derive
from adjit.api.specialise.options import Options
from adjit.errors import TypeMismatch, Unsupported, WrongCall
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import WIDEST, Derivative, shown
from adjit.transform.strategy import READABLE

MOST_ENTRIES = 2**31 - 1  # SciPy's indices of so many are of 32 bits


@dataclass(frozen=True, eq=False)
class Sparsity:
    """The pattern of a Jacobian, and the directions that its columns or rows share.

    - `pattern`: a CSR matrix of booleans, True where an entry may differ from zero. It has one row per element of the
      results and one column per element of the arguments, in C order.
    - `by`: "columns", "rows", or "symmetric" for a Hessian, where half the entries are computed.
    - `colours`: the direction of each column (row).
    """

    pattern: Any
    by: str
    colours: Any
    _lines: Any
    _via: Any

    @property
    def directions(self) -> int:
        """How many directions there are: of forward mode, or of reverse mode for one by rows."""
        return int(self.colours.max(initial=-1)) + 1

    def __repr__(self) -> str:
        rows, columns = self.pattern.shape
        return f"<{rows} by {columns}, {self.pattern.nnz} entries, {self.directions} directions by {self.by}>"


@dataclass(frozen=True)
class _Kept:
    """What is known for arguments of some types, shapes and integers. `counts`: the positions of those whose values the
    pattern depends on, and `values` what they were when it was found last."""

    counts: Sequence[int]
    values: list[Any]
    results: Template
    sparsity: Sparsity


class SparseDerivative:
    """A Jacobian, or Hessian, whose calls give SciPy's CSR matrices."""

    def __init__(
        self, derivative: Derivative, options: Options, propagating: Any, is_symmetric: bool, given: Any
    ) -> None:
        self.derivative, self.options, self._propagating = derivative, options, propagating
        self._is_symmetric, self._given = is_symmetric, given
        self._kept: dict[Any, _Kept] = {}
        # what makes the entries is made in the call that first has these types, as the pattern is: of the same globals
        self._ways: dict[Any, tuple[str, Any]] = {}
        self.__signature__ = derivatives.parameters(derivative)
        functools.update_wrapper(self, derivatives.root(derivative), updated=())

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        arguments = derivatives.bound(self.derivative, arguments, keywords)
        kept, run = self._found(arguments)
        own = kept.sparsity
        entries = run(*arguments, own.colours, own._lines, own._via, own.directions)
        return self._put_together(arguments, kept, entries)

    def __repr__(self) -> str:
        made = self.derivative
        return f"<sparse {made.title} of {shown(made.differentiated)} with respect to {made.wrt}>"

    def sparsity(self, *arguments: Any, **keywords: Any) -> Sparsity:
        """The pattern for these arguments and what it is made with: to be looked at, or given as `sparsity=`."""
        return self._found(derivatives.bound(self.derivative, arguments, keywords))[0].sparsity

    def source(self, *arguments: Any, tuned: bool = False) -> str:
        """The generated source that makes the entries for these arguments, which are values."""
        kept, run = self._found(derivatives.bound(self.derivative, arguments))
        own = kept.sparsity
        return str(run.source(*arguments, own.colours, own._lines, own._via, own.directions, tuned=tuned))

    def explain(self, *arguments: Any) -> Any:
        """What was decided for the function that makes the entries, and why; as `explain` of other derivatives."""
        kept, run = self._found(derivatives.bound(self.derivative, arguments))
        own = kept.sparsity
        return run.explain(*arguments, own.colours, own._lines, own._via, own.directions)

    def report(self, path: str | os.PathLike[str], *arguments: Any) -> None:
        """Writes a page about that function, to be looked at in a browser."""
        kept, run = self._found(derivatives.bound(self.derivative, arguments))
        own = kept.sparsity
        run.report(path, *arguments, own.colours, own._lines, own._via, own.directions)

    # ------------------------------------------------------------------------------------------------- the pattern

    def _found(self, arguments: tuple[Any, ...]) -> tuple[_Kept, Any]:
        """What is known for these arguments, and what makes the entries."""
        key, values = self._key(arguments)
        kept = self._kept.get(key)
        if kept is None or any(not _same(values[p], v) for p, v in zip(kept.counts, kept.values, strict=True)):
            kept = self._kept[key] = self._looked_up(arguments, values, kept)
        kinds = _types_in(key)
        if kinds not in self._ways:
            kind, width = self._way(kept.sparsity)
            entries = dataclasses.replace(self.derivative, kind=kind, width=width, called=self.derivative.title)
            self._ways[kinds] = kind, derive(entries, self.options)
        kind, run = self._ways[kinds]
        is_by_rows = kind == "compressed_rows"
        if is_by_rows != (kept.sparsity.by == "rows"):
            # of other shapes the other way would be the better one
            sparsity = self._coloured(kept.sparsity.pattern, is_by_rows)
            kept = self._kept[key] = dataclasses.replace(kept, sparsity=sparsity)
        return kept, run

    def _key(self, arguments: tuple[Any, ...]) -> tuple[Any, list[list[Any]]]:
        """All that a pattern may depend on but the values of floats and of arrays, which are apart."""
        found = laid_out(self.derivative, list(self.__signature__.parameters), arguments)
        layouts, given = ((), arguments) if found is None else found
        for name, value in zip(self.__signature__.parameters, given, strict=True):
            check_value(shown(self.derivative), name, value)
        return (layouts, tuple(map(_kind, given))), [leaves(one) for one in given]

    def _looked_up(self, arguments: tuple[Any, ...], values: list[list[Any]], before: _Kept | None) -> _Kept:
        sets, counts, table = self._sets(arguments)
        pattern = self._pattern(sets, table, arguments)
        if self._is_symmetric:
            pattern = (pattern + pattern.T).tocsr()
            pattern.sort_indices()
        # the shapes of results may depend on values, too
        is_more = before is not None and before.sparsity.pattern.shape == pattern.shape
        known = before.sparsity if before is not None and is_more else self._given_for(pattern)
        if known is None:
            sparsity = self._coloured(pattern)
        elif _is_inside(pattern, known.pattern):
            sparsity = known
        else:
            sparsity = self._coloured(_united(pattern, known.pattern))
        read = [p for p, is_read in enumerate(counts) if is_read]
        results = map_leaves(_result, sets)
        return _Kept(read, [_copies(values[p]) for p in read], results, sparsity)

    def _sets(self, arguments: tuple[Any, ...]) -> tuple[Any, Sequence[bool], Any]:
        """The sets of the results, which parameters these depend on, and the table of unions."""
        first = 1 + sum(_size(template(arguments[p])) for p in self.derivative.wrt or ())
        rows = first + 1024
        while True:
            table = np.zeros((rows, 2), np.int64)
            table[0, 0] = first
            sets, counts = self._propagating(*arguments, table)
            if table[0, 0] <= rows:
                return sets, counts, table
            rows = int(table[0, 0])

    def _pattern(self, sets: Any, table: Any, arguments: tuple[Any, ...]) -> Any:
        from scipy.sparse import csr_array

        roots = np.concatenate([np.ravel(np.asarray(s, np.int64)) for s in leaves(sets)] or [np.zeros(0, np.int64)])
        columns = sum(_size(template(arguments[p])) for p in self.derivative.wrt or ())
        sizes = _compiled(colouring.row_sizes)(table, roots, columns)
        starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        if starts[-1] > MOST_ENTRIES:
            raise Unsupported(
                f"a sparse Jacobian of {shown(self.derivative.function)} with {starts[-1]:,} entries",
                why="Some results depend on very many arguments.",
                instead="Use jvp or vjp, which need no matrix.",
            )
        found = _compiled(colouring.row_columns)(table, roots, columns, starts)
        pattern = csr_array((np.ones(found.size, bool), found, starts), shape=(roots.size, columns))
        pattern.sort_indices()
        return pattern

    def _given_for(self, pattern: Any) -> Sparsity | None:
        """The pattern that the user gave, which has to have all entries of the one found."""
        from scipy.sparse import csr_array, issparse

        given = self._given
        if given is None:
            return None
        whole = given.pattern if isinstance(given, Sparsity) else given
        if not issparse(whole):
            whole = np.asarray(whole)
        if whole.shape != pattern.shape:
            raise TypeMismatch(
                f"the sparsity given to {shown(self.derivative)} is of shape {whole.shape}",
                why=f"The matrix is of shape {pattern.shape} for these arguments.",
                instead="Give one of that shape, or leave it out.",
            )
        if not isinstance(given, Sparsity):
            whole = csr_array(whole)
            whole = csr_array((np.ones(whole.nnz, bool), whole.indices, whole.indptr), shape=whole.shape)
            whole.sum_duplicates()
            if self._is_symmetric:
                whole = _united(whole, whole.T.tocsr())
        if not _is_inside(pattern, whole):
            missing = (pattern.astype(np.int8) - whole.astype(np.int8) > 0).nonzero()
            raise WrongCall(
                f"the sparsity given to {shown(self.derivative)} has no entry at ({missing[0][0]}, {missing[1][0]})",
                why="That result depends on that argument.",
                instead="Give one with all entries, or leave it out.",
            )
        is_ours = isinstance(given, Sparsity) and (given.by == "symmetric") == self._is_symmetric
        return given if is_ours else self._coloured(whole)

    # ------------------------------------------------------------------------------------------------- the colours

    @staticmethod
    def _way(sparsity: Sparsity) -> tuple[str, int]:
        """The kind of derivative that makes the entries, and its width: chunks of about one size."""
        if sparsity.by == "rows":
            return "compressed_rows", 1
        count = max(sparsity.directions, 1)
        return "compressed_columns", -(-count // -(-count // WIDEST))

    def _coloured(self, pattern: Any, by_rows: bool | None = None) -> Sparsity:
        """The pattern with colours, by rows where those take fewer sweeps."""
        starts, columns = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)
        if self._is_symmetric:
            colours = _compiled(colouring.star)(starts, columns, np.arange(pattern.shape[0]))
            lines, via = _compiled(colouring.found_at)(starts, columns, colours)
            return Sparsity(pattern, "symmetric", colours, lines, via)
        turned = pattern.tocsc()
        per_row, per_column = np.diff(starts).max(initial=0), np.diff(turned.indptr).max(initial=0)
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(starts))
        if by_rows is None:
            # at least so many sweeps each
            by_rows = bool(-(-per_row // WIDEST) > per_column) and self._fewer_by_rows(pattern, turned)
        if by_rows:
            colours = self._apart(pattern.indptr, pattern.indices, turned.indptr, turned.indices)
            return Sparsity(pattern, "rows", colours, columns, colours[rows])
        colours = self._apart(turned.indptr, turned.indices, pattern.indptr, pattern.indices)
        return Sparsity(pattern, "columns", colours, rows, colours[columns])

    def _fewer_by_rows(self, pattern: Any, turned: Any) -> bool:
        colours = self._apart(pattern.indptr, pattern.indices, turned.indptr, turned.indices)
        return bool(colours.max(initial=-1) + 1 < -(-np.diff(pattern.indptr).max(initial=0) // WIDEST))

    @staticmethod
    def _apart(starts: Any, lines: Any, line_starts: Any, others: Any) -> Any:
        starts, lines, line_starts, others = (np.asarray(a, np.int64) for a in (starts, lines, line_starts, others))
        count = starts.size - 1
        if np.diff(line_starts).max(initial=0) == count:
            # a line with all of them in it
            return np.arange(count)
        return _compiled(colouring.apart_in_lines)(starts, lines, line_starts, others, np.arange(count))

    # -------------------------------------------------------------------------------------------------- the result

    def _put_together(self, arguments: tuple[Any, ...], kept: _Kept, entries: Any) -> Any:
        from scipy.sparse import csr_array

        pattern, made = kept.sparsity.pattern, self.derivative
        whole = csr_array((entries, pattern.indices.copy(), pattern.indptr.copy()), shape=pattern.shape)
        templates = [template(arguments[p]) for p in made.wrt or ()]
        if made.single and isinstance(templates[0], Leaf) and isinstance(kept.results, _Result):
            return whole
        of_rows = iter(_stretches(one.size for one in leaves(kept.results)))

        def block(result: _Result) -> Any:
            rows = next(of_rows)
            of_columns = iter(_stretches(_size(leaf) for one in templates for leaf in leaves(one)))
            parts = [nested(one, (whole[rows, next(of_columns)] for _ in leaves(one))) for one in templates]
            return parts[0] if made.single else tuple(parts)

        return map_leaves(block, kept.results)


def sparse_derivative(derivative: Derivative, options: Options, is_symmetric: bool, given: Any = None) -> Any:
    """The sparse derivative, the same object for each request as far as that is so for what finds its pattern."""
    if options.target in ("cuda", "cuda-device"):
        raise Unsupported("a sparse Jacobian on a GPU", instead='Leave target out, or use target="cpu".')
    propagating = derive(
        dataclasses.replace(derivative, kind="sparsity", called=derivative.title),
        dataclasses.replace(options, parallel=False, strategy=READABLE),
    )
    if given is not None:
        return SparseDerivative(derivative, options, propagating, is_symmetric, given)
    known = _made.setdefault(propagating, {})
    if (options, is_symmetric) not in known:
        known[options, is_symmetric] = SparseDerivative(derivative, options, propagating, is_symmetric, None)
    return known[options, is_symmetric]


_made: weakref.WeakKeyDictionary[Any, dict[Any, SparseDerivative]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class _Result:
    size: int


def _result(sets: Any) -> _Result:
    return _Result(int(np.size(sets)))


def _compiled(function: Any) -> Any:
    """A function of `colouring`, compiled as derivatives are, and kept with them."""
    return derive(Derivative(function, "primal"), Options())


def _stretches(sizes: Iterator[int]) -> Iterator[slice]:
    """One after the other."""
    start = 0
    for size in sizes:
        yield slice(start, start + size)
        start += size


def _size(found: Template) -> int:
    return sum(math.prod(leaf.shape) for leaf in leaves(found) if leaf.is_active)


def _kind(argument: Any) -> Any:
    """What tells arguments apart, the values of floats and of arrays aside."""
    if isinstance(argument, np.ndarray):
        return np.ndarray, argument.dtype, argument.flags.c_contiguous, argument.shape
    if isinstance(argument, tuple):
        return tuple(map(_kind, argument))
    return type(argument), None if isinstance(argument, float | complex | np.inexact) else argument


def _types_in(key: Any) -> Any:
    """The key without shapes and values."""
    layouts, kinds = key

    def plain(kind: Any) -> Any:
        if kind and kind[0] is np.ndarray:
            return np.ndarray, kind[1], len(kind[3])
        return kind[0] if kind and isinstance(kind[0], type) else tuple(map(plain, kind))

    return layouts, plain(kinds)


def _copies(values: Sequence[Any]) -> list[Any]:
    return [value.copy() if isinstance(value, np.ndarray) else value for value in values]


def _same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether values are the same to the last bit: a branch may ask for the sign of a zero."""
    return all(np.array_equal(_bytes(a), _bytes(b)) for a, b in zip(left, right, strict=True))


def _bytes(value: Any) -> Any:
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8)


def _is_inside(inner: Any, outer: Any) -> bool:
    """Whether a pattern has no entry that the other one has not."""
    is_same = np.array_equal(inner.indptr, outer.indptr) and np.array_equal(inner.indices, outer.indices)
    return is_same or bool(_united(inner, outer).nnz == outer.nnz)


def _united(left: Any, right: Any) -> Any:
    found = (left + right).tocsr()
    found.sort_indices()
    return found
