"""The Python of a page of the documentation: which blocks there are, when they run, and what they print.

In: a Markdown file. Out: its `Block`s, in order, which run in one namespace, each as a file of its own.

A fence of text right below a block, or one under `<!-- output -->`, is what the block prints. Above a block may stand

    <!-- run: long -->          left to `make test-long`; <!-- page: long --> at the top says so of all blocks
    <!-- run: bridge -->        needs another library: it is a file of its own, in `make test-bridges`
    <!-- run: bridge, 4 -->     in so many processes of MPI
    <!-- run: long, shared -->  runs before each bridge block of the page as well, in its file
    <!-- run: simulator -->     needs a GPU: runs in numba's simulator, all such blocks of the page in one process
    <!-- run: no -->            another tool's code
    <!-- raises: Unsupported --> it raises that, with the text that stands below as a message

and what a reader need not see is a block as well: <!-- hidden, a line break, the code, a line break, and -->.

    python -m tests.docs.blocks docs/cuda.md simulator        runs those by hand
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from adjit.errors import AdjitError

ROOT = Path(__file__).parents[2]
KINDS = ("short", "long", "bridge", "simulator", "no")
PART = re.compile(
    r"^[ ]*<!--(?P<comment>.*?)-->[ ]*$|^(?P<indent>[ ]*)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Block:
    """Code of a page. `line`: of the page, where it begins; `raises`: the name of the error that it ends with;
    `is_shared`: its names are known to the bridge blocks of the page; `processes`: of MPI, that run it together."""

    page: Path
    line: int
    text: str
    kind: str = "short"
    raises: str = ""
    output: str | None = None
    is_hidden: bool = False
    is_shared: bool = False
    processes: int = 1

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass
class _Reader:
    """What has been read of a page."""

    page: Path
    usual: str = "short"
    blocks: list[Block] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)
    may_be_output: bool = False

    def comment(self, text: str, line: int) -> None:
        word, _, rest = text.strip().partition(":")
        if text.strip().startswith("hidden\n"):
            code = text.strip().removeprefix("hidden\n") + "\n"
            self.add(Block(self.page, line + 1, code, is_hidden=True))
        elif word == "page":
            self.usual = rest.strip()
        elif word in ("run", "raises", "output"):
            self.marks[word] = rest.strip()

    def fence(self, language: str, text: str, line: int) -> None:
        if self.blocks and ("output" in self.marks or (language == "text" and self.may_be_output)):
            self.blocks[-1].output = text
            self.marks, self.may_be_output = {}, False
        elif language == "python":
            self.add(Block(self.page, line, text))
            self.may_be_output = True
        else:
            self.may_be_output = False

    def add(self, block: Block) -> None:
        block.kind, _, more = self.marks.get("run", self.usual).partition(",")
        block.is_shared = more.strip() == "shared"
        block.processes = int(more) if block.kind == "bridge" and more else 1
        assert block.kind in KINDS, f"{block.name}: run: {block.kind}"
        block.raises = self.marks.get("raises", "")
        self.blocks.append(block)
        self.marks = {}


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    reader, end = _Reader(page), 0
    for found in PART.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if text[end : found.start()].strip():
            reader.may_be_output = False
        if found["comment"] is not None:
            reader.comment(found["comment"], line)
        else:
            indent = found["indent"]
            body = re.sub(rf"^{indent}", "", found["text"], flags=re.MULTILINE) if indent else found["text"]
            reader.fence(found["language"], body, line)
        end = found.end()
    return reader.blocks


def program_of(block: Block, page: Iterable[Block]) -> str:
    """The file of a bridge block: what the page shares above it, and its own text."""
    return "".join(other.text for other in page if other.is_shared and other.line < block.line) + block.text


def pages() -> Iterator[Path]:
    yield ROOT / "README.md"
    yield ROOT / "CONTRIBUTING.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def run(blocks: Iterable[Block], folder: Path) -> dict[str, object]:
    """Runs them in one namespace, which it returns; AssertionError where one prints something else than it says."""
    module = types.ModuleType("example")
    with _as_main(module, folder):
        for k, block in enumerate(blocks):
            file = folder / str(k) / "example.py"
            file.parent.mkdir()
            file.write_text(block.text, encoding="utf-8")
            printed = _printed(block, file, module)
            if block.output is not None:
                assert printed.strip() == block.output.strip(), f"{block.name} prints\n{printed}"
    return vars(module)


def _printed(block: Block, file: Path, module: types.ModuleType) -> str:
    printed = io.StringIO()
    code = compile(block.text, str(file), "exec", dont_inherit=True)
    try:
        with contextlib.redirect_stdout(printed):
            exec(code, vars(module))
    except AdjitError as fault:
        if type(fault).__name__ != block.raises:
            raise
        return fault.message
    assert not block.raises, f"{block.name} does not raise {block.raises}"
    return printed.getvalue()


@contextlib.contextmanager
def _as_main(module: types.ModuleType, folder: Path) -> Iterator[None]:
    """With the module among Python's own, and the folder as the current one."""
    before, cwd = sys.modules.get(module.__name__), Path.cwd()
    sys.modules[module.__name__] = module
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(cwd)
        del sys.modules[module.__name__]
        if before is not None:
            sys.modules[module.__name__] = before


def main(page: str, which: str) -> None:
    """Runs the blocks of one kind, or the one at a line."""
    chosen = [b for b in blocks_of(ROOT / page) if which in (b.kind, str(b.line))]
    assert chosen, f"{page} has no block {which}"
    with tempfile.TemporaryDirectory() as folder:
        run(chosen, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
