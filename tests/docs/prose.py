"""What adjit says in English, as sentences: README, docs/, messages of the package and docstrings of public names.

python -m tests.docs.prose                       # how long sentences are, and what is against the rules
python -m tests.docs.prose README.md docs/ adjit/errors.py      # of these files and folders alone
python -m tests.docs.prose --list adjit/api      # each text with its line, to be read one after the other
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).parents[2]
LONGEST, MEAN = 30, 16

# Wordings that readers stumbled over, each with what to write. Regular expressions, tried without regard to case.
PATTERNS = {
    r"\b(an?|one) \w+ an? (argument|entry|sample|element|signature|iteration|call|name|loop|line|pass|step|type)\b": (
        '"per" or "for each": one entry per argument'
    ),
    r"\bonce an? (signature|type|call|kind|trip|loop|sample|argument|element|process)\b": '"once per signature"',
    r"\btrips?\b": "iteration(s)",
    r"\bextents?\b": "shape, size or length",
    r"\b(an?|as|the|one|known|these) texts?\b": "string (of Python), source or message",
    r"\btext = string\b": "string",
    r"\bis derived of\b|\bwhat is derived\b": "derivative, derived function",
    r"\b(is|are|was|were|be|been|being) made (of|from)\b": "consists of, is computed from, is created from",
    r"\b(is|are) made (once|for|by|new|when|at|in)\b": "is created, is compiled, is generated",
    r"\bwhat (is|was) made\b": "result, copy, object",
    r"\bof which\b": "two sentences",
    r"\bof those\b|\bof these\b(?! (files|libraries|functions|types|names|kinds|shapes|pages))": "name what it is",
    r"\bof whom\b|\bwhereof\b|\bthereof\b|\btherein\b|\bwherein\b": "name what it is",
    r"\bsaid once\b|\bas said\b|\bis said\b|\bare said\b": "printed, documented, stated",
    r"\bput together\b": "assembled, built, structured",
    r"\bput back\b": "restore",
    r"\bcomputed again\b|\bruns? again\b|\bmakes? again\b|\bmade again\b": "recomputed, reruns",
    r"\btaken at (its|their) word\b": "trusted",
    r"\bwait awake\b|\bawake\b": "busy-waiting",
    r"\bwhat becomes of\b|\bwhat became of\b|\bbecomes of\b": "how it is differentiated",
    r"\bof its own\b|\bof their own\b|\bof your own\b|\bof one's own\b": "its own X",
    r"\bin place of\b": "instead of",
    r"\bin the place of\b": "instead of",
    r"\bby that much\b|\bthat much\b": "a number",
    r"\bdoes that\b|\bdo that\b|\bdid that\b": "name the action",
    r"\bnone flows\b|\bnothing flows\b|\bflows? into it\b": "has no derivative",
    r"\bof several at once\b|\bof several\b": "for several seeds at once",
    r"\b0\.\d+ (times|of) (as long|the time)\b": '"3 times faster"',
    r"\b0\.\d+ to 0\.\d+ (times|of)\b": '"2 to 3 times faster"',
    r"\bis at work\b|\bat work\b": "is used, is installed",
    r"\ba way of its own\b": "in its own way, or name it",
    r"\bhow the result changes with it\b": "the derivative of the result with respect to x",
    r"\bseen through\b|\bsees? through\b": "removed, recognised",
    r"\bheld at what\b|\bat what (it|they) (is|are|holds?|has|have)\b": "with its current value",
    r"\bmakes? of\b|\bthen backwards\b": "name the action",
    r"\bin other words\b|\bthat is to say\b": "say it once",
    r"\bso many\b|\bas many as there\b": "a number",
    r"\bwhat (it|they) (is|are) (of|for|about)\b": "name it",
    r"\bthat it is with respect to\b": "the arguments in wrt",
    r"\bis no (list|number|array|function|constant|type|name|file|option|dict|tuple|string|class|module)\b": (
        '"is not a list"'
    ),
    r"\bare no (lists?|numbers?|arrays?|functions?|constants?|types?)\b": '"are not lists"',
    r"\bthere is no such\b": "name what does not exist",
    r"\bthings?\b": "name it",
    r"\bwhose like\b|\band the like\b|\bits like\b|\band kin\b|\bits kin\b|\bkin of\b": "similar functions",
    r"\bwhat (stands|stood)\b": "the code, the line",
    r"\bfor good\b|\bfor once\b": "permanently",
    r"\bwants? (a|an|the|to be|both|one)\b": "needs, expects, takes",
    r"\bnothing of (it|that|this)\b": "name it",
    r"\bby hand written\b|\bhand-made\b": "hand-written",
    r"\bat (most|least) so\b": "name it",
    r"\bends (the )?process\b|\bnever comes back\b": "terminates, hangs",
}  # fmt: skip

# Where a sentence ends. Some names begin one in lower case.
END = re.compile(r"(?<=[.!?])[)\"”]?\s+(?=[A-Z0-9`(\"“*\[]|(?:adjit|numba|torch|autograd)\b)")

# Sentences that may be longer or have such wordings, each with the reason.
EXCEPTIONS: dict[str, str] = {}


@dataclass(frozen=True)
class Sentence:
    """A sentence with its place, `file:line`; `code` and names stand in it as one word."""

    place: str
    text: str

    @property
    def length(self) -> int:
        return len(re.findall(r"[A-Za-z0-9`][\w`'’./-]*", self.text))

    def faults(self) -> Iterator[str]:
        if self.text in EXCEPTIONS:
            return
        if self.length > LONGEST:
            yield f"{self.length} words"
        # what is quoted is somebody else's
        own = re.sub(r"`[^`]*`|“[^”]*”|\"[^\"]*\"", "`code`", self.text)
        for pattern, instead in PATTERNS.items():
            if found := re.search(pattern, own, re.IGNORECASE):
                yield f'"{found.group()}": write {instead}'


def sentences(place: str, text: str) -> Iterator[Sentence]:
    """The sentences of a paragraph. Names with dots, numbers and abbreviations do not end one."""
    text = re.sub(r"\b(e\.g|i\.e|cf|vs|no|al|resp|approx)\.", lambda m: m.group().replace(".", "․"), text)
    for one in END.split(" ".join(text.split())):
        if len(re.findall(r"[A-Za-z]{2,}", one)) >= 3:
            yield Sentence(place, one.strip())


def of_markdown(file: Path) -> Iterator[Sentence]:
    """Paragraphs, list items and cells of tables, without code, comments and headings."""
    name = str(file.relative_to(ROOT))
    text = file.read_text(encoding="utf-8")
    blank = lambda found: "\n" * found.group().count("\n")  # noqa: E731
    text = re.sub(r"<!--.*?-->", blank, text, flags=re.DOTALL)
    text = re.sub(r"^( *)(```|~~~).*?^\1\2 *$", blank, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\${1,2}[^$\n]+\${1,2}", "`formula`", text)
    text = re.sub(r"<[^>\n]+>", "", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"[*_]{2}", "", text)
    paragraph: list[str] = []
    start = 1

    def close() -> Iterator[Sentence]:
        if paragraph:
            yield from sentences(f"{name}:{start}", " ".join(paragraph))
            paragraph.clear()

    for number, line in enumerate([*text.split("\n"), ""], 1):
        bare = line.strip()
        is_item = re.match(r"([-*+]|\d+\.)\s+", bare)
        if not bare or bare.startswith(("#", "|", "::: ", "=== ", "!!! ")) or is_item:
            yield from close()
            start = number
            if bare.startswith("|") and not re.fullmatch(r"[|\s:-]+", bare):
                for cell in re.split(r"(?<!\\)\|", bare.strip("|")):
                    yield from sentences(f"{name}:{number}", cell)
            elif is_item:
                paragraph.append(bare[is_item.end() :])
        else:
            if not paragraph:
                start = number
            paragraph.append(bare)
    yield from close()


def _words(node: ast.expr) -> str | None:
    """A literal string, or a formatted one with a word in the place of each value."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(p.value if isinstance(p, ast.Constant) else "`x`" for p in parts)  # type: ignore[misc]
    return None


def of_messages(file: Path) -> Iterator[Sentence]:
    """All strings of a module that read as English: messages, explanations, help and comments of generated code."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    name = str(file.relative_to(ROOT))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in docstrings or id(node) in inner or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        for number, line in enumerate((_words(node) or "").split("\n")):
            for text in _TAG.split(line):
                if reads_as_english(text):
                    yield from sentences(f"{name}:{node.lineno + number}", text)


# What a page of the report is written with.
_TAG = re.compile(r"<style>.*?</style>|</?(?:b|button|code|div|h2|i|main|section|span|strong|table|td|th|tr)\b[^<>]*>")


def reads_as_english(line: str) -> bool:
    words = re.findall(r"(?<![\w.%])[A-Za-z]{2,}(?![\w(=\[])", line)
    if len(words) > 9 and not {"a", "an", "and", "are", "as", "in", "is", "of", "the", "to", "with"}.intersection(
        words
    ):
        return False  # a list of names
    is_code = re.match(
        r"\s*(def|if|for|return|import|from|class|while|raise|elif|else|@|#include|\w+(\.\w+)* [-+*/]?= )", line
    )
    return len(words) >= 4 and not is_code and " " in line.strip()


def of_docstrings(file: Path) -> Iterator[Sentence]:
    """Docstrings of a stub or module: of it, and of what has no underscore in front."""
    name = str(file.relative_to(ROOT))
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or not ast.get_docstring(node):
            continue
        if getattr(node, "name", "a").startswith("_"):
            continue
        first = node.body[0]
        start, paragraph = first.lineno, list[str]()
        for number, line in enumerate([*(ast.get_docstring(node) or "").split("\n"), ""]):
            is_item = re.match(r"\s*(- |\* |[\w*`, .]+: )", line)
            if not line.strip() or line.startswith("    ") or is_item:
                yield from sentences(f"{name}:{start}", " ".join(paragraph))
                start, paragraph = first.lineno + number, []
            if line.strip() and not line.startswith("    "):
                paragraph.append(line.strip())


def pages() -> list[Path]:
    own = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(p for p in own if "decisions" not in p.parts)]


def public_modules() -> list[Path]:
    """Where names that users call are documented: modules that the reference names, by their objects' sources."""
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    found = set()
    for dotted in re.findall(r"^::: (adjit[\w.]*)", reference, re.MULTILINE):
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            base = ROOT.joinpath(*parts[:length])
            for file in (base.with_suffix(".py"), base / "__init__.py"):
                if file.exists():
                    found.add(file)
                    break
            else:
                continue
            break
    return sorted(found)


def of(paths: list[Path]) -> Iterator[Sentence]:
    public = set(public_modules())
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix == ".md" and (not path.is_dir() or file in pages()):
                yield from of_markdown(file)
            elif file.suffix == ".py":
                yield from of_messages(file)
                if file in public:
                    yield from of_docstrings(file)


def everything() -> list[Path]:
    return [*pages(), ROOT / "adjit"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=lambda name: Path(name).resolve())
    parser.add_argument("--list", action="store_true", help="print each sentence")
    options = parser.parse_args()
    found = list(of(options.paths or everything()))
    count = 0
    for one in found:
        told = list(one.faults())
        count += len(told)
        if options.list or told:
            print(f"{one.place}: {one.text}", *(f"    {fault}" for fault in told), sep="\n")
    mean = fmean(one.length for one in found) if found else 0.0
    print(f"{len(found)} sentences, {mean:.1f} words in the mean (at most {MEAN}), {count} faults")


if __name__ == "__main__":
    main()
