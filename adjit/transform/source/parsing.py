"""A function's source: its syntax tree, with positions in the user's file, and the names it can see.

In: a function, a lambda or a numba dispatcher. Out: a `FunctionSource`.

    f = njit(lambda x: k * x)       node: the libcst Lambda; parameters: (x); globals: f's module's; closure: {"k": 2.0}

The text is that of the code that runs: it is found by the position that Python keeps in the code object, and compiled
again to see that the file has not changed since.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import functools
import inspect
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from adjit.errors import Place
from adjit.transform.ir import Origin, UserComment
from adjit.transform.source.callables import (
    compiled_by,
    file_lines,
    file_of,
    python_function,
    signature,
    told_of_string,
    unavailable,
)
from adjit.transform.source.comments import comments_in
from adjit.transform.source.external_reads import function_read
from adjit.transform.source.private_names import owner_of, with_owner

FUTURE_FLAGS = functools.reduce(
    int.__or__, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names)
)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Span = tuple[int, int, int, int]


@dataclass(frozen=True)
class _Text:
    """The text of one function. `positions` count from the first line of `module`, the shifts lead to the file."""

    module: cst.Module
    node: cst.FunctionDef | cst.Lambda
    lines: tuple[str, ...]
    line_shift: int
    # of the first line alone: a lambda starts in the middle of it
    column_shift: int
    definition: ast.FunctionDef | ast.Lambda
    # the node as it stands there, where names in it are private to a class
    as_written: cst.FunctionDef | cst.Lambda | None = None

    @functools.cached_property
    def positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        # that takes as long as all else that is done with a text, and is asked for where something is refused
        found = MetadataWrapper(self.module, unsafe_skip_copy=True).resolve(PositionProvider)
        return {own: found[node] for own, node in self.written.items() if node in found} or found

    @functools.cached_property
    def written(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        """What stands in the text for each node, where that is another one."""
        if self.as_written is None:
            return {}
        return dict(zip(_all_nodes(self.node), _all_nodes(self.as_written), strict=True))

    @functools.cached_property
    def statements(self) -> Mapping[cst.CSTNode, Any]:
        """The function and the statements in it as Python's own parser has read them, which says where they are."""
        return dict(zip(_statements(self.node), _statements(self.definition), strict=True))

    def span(self, node: cst.CSTNode) -> _Span:
        """The lines and columns of the file between which a node stands."""
        if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
            node = node.body[0]
        known = self.statements.get(node)
        if known is not None:
            ends = (known.lineno, known.col_offset), (known.end_lineno, known.end_col_offset)
            (line, column), (end_line, end_column) = ((at, _characters(self.lines[at - 1], k)) for at, k in ends)
            return line, column, end_line, end_column
        start, end = self.positions[node].start, self.positions[node].end
        column = start.column + (self.column_shift if start.line == 1 else 0)
        end_column = end.column + (self.column_shift if end.line == 1 else 0)
        return start.line + self.line_shift, column, end.line + self.line_shift, end_column

    def on_one_line(self, node: cst.CSTNode, span: _Span) -> str:
        """The code of a statement or expression without comments, indentation and line breaks."""
        line, column, end_line, end_column = span
        known = self.statements.get(node)
        if isinstance(known, ast.For | ast.While | ast.If):
            head = known.iter if isinstance(known, ast.For) else known.test
            text = self.lines[line - 1][column:].rstrip()
            is_alone = head.end_lineno == line < known.body[0].lineno and text[-1] == ":" and "#" not in text
            if is_alone and not text.startswith("elif"):
                return text
        elif line == end_line and not isinstance(node, cst.BaseCompoundStatement):
            return self.lines[line - 1][column:end_column]
        return _on_one_line(self.module, self.written.get(node, node))


@dataclass(frozen=True, eq=False)
class FunctionSource:
    """What there is to know about a function before anything is run.

    stands_for: where the nodes of a text that was rewritten come from (`frontend/walk/recursion.py`). made_up: its
    variables that the user's text has not. dispatcher: what numba compiles it by, where it was read as that.
    """

    name: str
    filename: str
    node: cst.FunctionDef | cst.Lambda
    parameters: inspect.Signature
    globals: Mapping[str, Any]
    closure: Mapping[str, Any]
    function: FunctionType
    _text: _Text
    stands_for: Mapping[cst.CSTNode, tuple[FunctionSource, cst.CSTNode]] = field(default_factory=dict)
    made_up: frozenset[str] = frozenset()
    dispatcher: Any = None

    @property
    def called(self) -> str:
        """The name by which it is called: that of a private method has the class in front."""
        return self.node.name.value if isinstance(self.node, cst.FunctionDef) else self.name

    @property
    def identifier(self) -> str:
        """The name as generated code may use it."""
        return self.name if self.name.isidentifier() else "anonymous"

    @property
    def first_line(self) -> Place:
        """Where the function begins."""
        number = self._text.definition.lineno
        text = self._text.lines[number - 1].rstrip("\n")
        return Place(self.filename, self.name, number, 0, len(text), text)

    def place(self, node: cst.CSTNode) -> Place:
        """The span of a node on its first line."""
        if node in self.stands_for:
            source, of = self.stands_for[node]
            return source.place(of)
        line, column, end_line, end_column = self._text.span(node)
        text = self._text.lines[line - 1].rstrip("\n")
        return Place(self.filename, self.name, line, column, end_column if end_line == line else len(text), text)

    def holds(self, node: cst.CSTNode) -> bool:
        """Whether the node is of this text, and not of that of a rule."""
        return node in self.stands_for or node in self._text.positions

    def origin(self, node: cst.CSTNode, comments: Sequence[str] = ()) -> Origin:
        """The span of a statement and its text on one line; of a compound one, its header (`for i in range(n):`)."""
        if node in self.stands_for:
            source, of = self.stands_for[node]
            return source.origin(of, comments)
        span = self._text.span(node)
        return Origin(self.filename, self.name, *span, self._text.on_one_line(node, span), tuple(comments))

    def parsed(self, node: cst.CSTNode) -> tuple[Sequence[ast.stmt], ast.stmt] | None:
        """A statement of the function's body and all of that, as Python's own parser has read them; None of others."""
        found, statement = self._text.definition, self._text.statements.get(node)
        if not isinstance(found, ast.FunctionDef) or statement is None or node in self.stands_for:
            return None
        return (found.body, statement) if any(each is statement for each in found.body) else None

    @property
    def comments(self) -> tuple[UserComment, ...]:
        """All the comments in the function."""
        found = self._text.definition
        return comments_in(found, self._text.lines) if isinstance(found, ast.FunctionDef) else ()

    def comments_above(self, statement: cst.CSTNode) -> tuple[str, ...]:
        """The comment lines directly before a statement."""
        leading: Sequence[cst.EmptyLine] = getattr(statement, "leading_lines", ())
        return tuple(line.comment.value for line in leading if line.comment is not None)


def read_source(function: object) -> FunctionSource:
    """The source of a function, lambda or numba dispatcher; raises SourceUnavailable."""
    plain = python_function(function)
    function_read(plain)
    code = plain.__code__
    text = _parse(file_of(plain), code, file_lines(plain))
    closure: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, plain.__closure__ or (), strict=True):
        # it is empty while the enclosing function has not assigned the variable yet
        with contextlib.suppress(ValueError):
            closure[name] = cell.cell_contents
    return FunctionSource(
        name=code.co_name,
        filename=file_of(plain),
        node=text.node,
        parameters=signature(plain),
        globals=plain.__globals__,
        closure=closure,
        function=plain,
        _text=text,
        dispatcher=compiled_by(function),
    )


@functools.lru_cache(maxsize=1024)
def _parse(filename: str, code: CodeType, lines: tuple[str, ...]) -> _Text:
    found = _alone(filename, code, lines) or _in_whole(filename, code, lines)
    if isinstance(found, ast.AsyncFunctionDef):
        raise unavailable(code, "It is a coroutine.", "Write it as a plain function.")
    return _text_of(found, lines, owner_of(code))


def _alone(filename: str, code: CodeType, lines: tuple[str, ...]) -> Definition | None:
    """The definition, if the statement at the margin of a file that it stands in is text enough for this code: the rest
    is not read then."""
    first = min(code.co_firstlineno, len(lines)) - 1
    begin = next((k for k in range(first, -1, -1) if lines[k][:1] not in _INSIDE), first)
    # decorators stand at the margin, too
    header = next((k for k in range(begin, len(lines)) if lines[k][:1] not in "@" + _INSIDE), first)
    end = next((k for k in range(header + 1, len(lines)) if lines[k][:1] not in _INSIDE), len(lines))
    text = "".join((*_imports(lines)[:begin], *lines[begin:end]))
    read = _compiled(text, filename, code.co_flags & FUTURE_FLAGS)
    if read is None or code not in read[1]:
        return None
    return _definition(read[0], code)


@functools.lru_cache(maxsize=64)
def _imports(lines: tuple[str, ...]) -> Sequence[str]:
    """The lines of the imports at the margin, and of all else nothing: Python calls what is in a module its own way."""
    found, is_import = [], False
    for line in lines:
        if line[:1] not in _INSIDE:
            is_import = line.startswith(("import ", "from "))
        found.append(line if is_import else "\n")
    return found


# What the other lines of a statement at the margin may begin with.
_INSIDE = " \t\r\n\f#)]}"


def _in_whole(filename: str, code: CodeType, lines: tuple[str, ...]) -> Definition:
    """The definition, wherever it is."""
    whole = _read_file(filename, lines, code.co_flags & FUTURE_FLAGS)
    if whole is None:
        raise unavailable(code, "That file is not valid Python now.")
    tree, compiled = whole
    found = _definition(tree, code)
    if found is None or not (code in compiled or _is_rewritten_by_pytest(code)):
        # other lines of the file were edited, or what reloads one function of a file has no lines for it
        moved = next((one for one in compiled if one.co_name == code.co_name and _is_alike(one, code)), None)
        found = None if moved is None else _definition(tree, moved)
    if found is None:
        # Python 3.13 keeps one such text, that of its option -c, for all that is executed as a string
        if code.co_filename == "<string>":
            raise unavailable(code, *told_of_string(code.co_filename))
        why = "That file holds other code now: it was edited after the import, or a tool rewrote the function."
        raise unavailable(code, why, "Import the file again, as with importlib.reload.")
    return found


_Read = tuple[ast.Module, tuple[CodeType, ...]]


@functools.lru_cache(maxsize=64)
def _read_file(filename: str, lines: tuple[str, ...], flags: int) -> _Read | None:
    return _compiled("".join(lines), filename, flags)


def _compiled(text: str, filename: str, flags: int) -> _Read | None:
    """The tree of a text and all code objects it compiles to; None where that is not valid Python."""
    # notebooks allow `await` at the top level
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        tree = ast.parse(text, filename)
        codes = tuple(_codes(compile(text, filename, "exec", flags=flags, dont_inherit=True)))
    except (SyntaxError, ValueError):
        return None
    return tree, codes


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _is_alike(one: CodeType, other: CodeType) -> bool:
    """Whether code does the same as other code, wherever their texts stand."""
    parts, others = map(_without_places, (one, other))
    return parts == others


def _without_places(code: CodeType) -> CodeType:
    consts = [_without_places(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    if code.co_name != "<lambda>" and consts and isinstance(consts[0], str):
        consts[0] = ""  # what a function says of itself may be indented in another way
    return code.replace(co_firstlineno=1, co_linetable=b"", co_qualname=code.co_name, co_consts=tuple(consts))


def _is_rewritten_by_pytest(code: CodeType) -> bool:
    """pytest replaces `assert` in test files, and marks what it adds with names that no file can contain."""
    return any(name.startswith("@py") for inner in _codes(code) for name in inner.co_names + inner.co_varnames)


def _definition(tree: ast.Module, code: CodeType) -> Definition | None:
    """The syntax node that a code object was compiled from."""
    found: Sequence[Definition] = [n for n in _begun_at(tree, code.co_firstlineno) if _name(n) == code.co_name]
    if code.co_name == "<lambda>" and len(found) > 1:
        # they come from the outside in, so the last one that fits is the innermost
        found = [node for node in found if isinstance(node, ast.Lambda) and _is_of(node, code)][-1:]
    return found[0] if found else None


def _begun_at(tree: ast.Module, line: int) -> Iterator[Definition]:
    """The definitions that begin on a line, decorators included, from the outside in."""
    left: deque[ast.AST] = deque([tree])
    while left:
        node = left.popleft()
        if isinstance(node, Definition) and _first_line(node) == line:
            yield node
        for child in ast.iter_child_nodes(node):
            first = _first_line(child)
            # what has no place, such as a function's parameters, may be anywhere
            if first is None or first <= line <= child.end_lineno:  # type: ignore[attr-defined]
                left.append(child)


def _first_line(node: ast.AST) -> int | None:
    decorators = getattr(node, "decorator_list", None)
    found: int | None = getattr(decorators[0] if decorators else node, "lineno", None)
    return found


def _name(node: Definition) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _is_of(node: ast.Lambda, code: CodeType) -> bool:
    """Whether the code has the parameters of the lambda, and every instruction of it stands inside."""
    parameters = tuple(a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
    if parameters != code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return False
    body = node.body
    start, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    spans = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    return bool(spans) and all(start <= (p[0], p[2]) and (p[1], p[3]) <= end for p in spans)


def _text_of(found: ast.FunctionDef | ast.Lambda, lines: tuple[str, ...], owner: str) -> _Text:
    assert found.end_lineno is not None
    assert found.end_col_offset is not None
    first, is_lambda = found.lineno - 1, isinstance(found, ast.Lambda)
    segment = list(lines[first : found.end_lineno])
    before, shift = "", 0
    if is_lambda:
        start = _characters(segment[0], found.col_offset)
        segment[-1] = segment[-1][: _characters(segment[-1], found.end_col_offset)] + ")\n"
        segment[0] = segment[0][start:]
        before, shift = "(", start - 1
    elif segment[0][0] in " \t":
        # an indented function stands in a block of its own; to dedent it would change its strings and its columns
        before, first = "if True:\n", first - 1
    module = cst.parse_module(before + "".join(segment))
    node = next(_functions_in(module))
    if not owner:
        return _Text(module, node, lines, first, shift, found)
    return _Text(module, with_owner(node, owner), lines, first, shift, found, as_written=node)


def _all_nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _all_nodes(child)


def _characters(line: str, count: int) -> int:
    """How many characters the first bytes of a line are: ast counts bytes, everything else characters."""
    return count if line.isascii() else len(line.encode()[:count].decode())


def _statements(node: Any) -> Iterator[Any]:
    """A function or statement of either parser, and the statements in it, in the order of the text."""
    if isinstance(node, _STATEMENTS):
        yield node
    for name in _PARTS if not isinstance(node, cst.Lambda | ast.Lambda) else ():
        part = getattr(node, name, None)
        for each in part if isinstance(part, list | tuple) else () if part is None else (part,):
            yield from _statements(each)


_STATEMENTS = cst.BaseCompoundStatement, cst.BaseSmallStatement, cst.Lambda, ast.stmt, ast.Lambda
_PARTS = "body", "handlers", "orelse", "finalbody", "cases"


def _functions_in(node: cst.CSTNode) -> Iterator[cst.FunctionDef | cst.Lambda]:
    if isinstance(node, cst.FunctionDef | cst.Lambda):
        yield node
        return
    for child in node.children:
        yield from _functions_in(child)


def _on_one_line(module: cst.Module, node: cst.CSTNode) -> str:
    """The code of a statement or expression without comments, indentation and line breaks."""
    if isinstance(node, cst.BaseCompoundStatement):
        return _header(module, node)
    if isinstance(node, cst.SimpleStatementLine):
        node = node.with_changes(leading_lines=(), trailing_whitespace=cst.TrailingWhitespace())
    elif isinstance(node, cst.BaseSmallStatement):
        node = node.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
    elif isinstance(node, cst.BaseExpression):
        node = node.with_changes(lpar=(), rpar=())
    text = module.code_for_node(node).strip()
    if "\n" not in text:
        return text
    return _unparsed(f"({text})" if isinstance(node, cst.BaseExpression) else text)


def _header(module: cst.Module, node: cst.BaseCompoundStatement) -> str:
    if isinstance(node, cst.Try | cst.TryStar):
        return "try:"
    if isinstance(node, cst.Match):
        return f"match {_on_one_line(module, node.subject)}:"
    bare: dict[str, object] = {"leading_lines": (), "body": cst.SimpleStatementSuite([cst.Pass()])}
    bare |= {"orelse": None} if isinstance(node, cst.For | cst.While | cst.If) else {}
    bare |= {"decorators": (), "lines_after_decorators": ()} if isinstance(node, cst.FunctionDef | cst.ClassDef) else {}
    text = module.code_for_node(node.with_changes(**bare)).strip()
    if "\n" in text:
        text = " ".join(_unparsed(text).split("\n    "))
    return text.removesuffix("pass").rstrip()


def _unparsed(text: str) -> str:
    return ast.unparse(ast.parse(text))
