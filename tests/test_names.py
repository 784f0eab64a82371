"""Names: modules are nouns of the field, and no new public function is a bare participle (functions are verbs)."""

import ast
import re
from pathlib import Path

import adjit

ROOT = Path(adjit.__file__).parent
# What says nothing of what is in a module.
NO_SUBJECTS = frozenset("""
    about after again alike along alone apart asked at_once beforehand before both counted covers defined described
    done few found given held helpers homes kept laid made many meeting misc more needed new old other others outside
    picked placed plain prepared released repeated rest rolled rounds said seen several shown stretches taken telling
    things told turned unasked used utils wanted watched worth written
""".split())  # fmt: skip
IRREGULAR = frozenset("""
    begun bound broken brought built caught chosen cut done drawn driven found given gone grown held hidden kept known
    laid left made meant met paid put read rebuilt run said seen sent shown sold spent spread stood taken thrown told
    worn written
""".split())  # fmt: skip
# The participles of today, which become verbs where a file is touched. The list only gets shorter.
OF_TODAY = Path(__file__).with_name("participles.txt")


def names_of_modules():
    for path in sorted(ROOT.rglob("*.py")):
        name = path.parent.name if path.name == "__init__.py" else path.stem
        yield name, path.relative_to(ROOT).as_posix()


def participles():
    for path in sorted(ROOT.rglob("*.py")):
        home = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.parse(path.read_text("utf-8")).body:
            name = node.name if isinstance(node, ast.FunctionDef) else "_"
            if name in IRREGULAR or re.fullmatch("[a-z]+ed", name):
                yield f"{home}.{name}"


def test_modules_are_named_after_what_is_in_them():
    assert [path for name, path in names_of_modules() if name in NO_SUBJECTS] == []


def test_no_new_public_function_is_a_bare_participle():
    today = OF_TODAY.read_text("utf-8").split()
    found = list(participles())
    assert [name for name in found if name not in today] == []
    assert [name for name in today if name not in found] == [], "these are gone: take them off the list"


def test_functions_of_the_front_end_fit_on_a_screen():
    nodes = (
        (path, node)
        for room in ("transform/frontend", "rules/python")
        for path in sorted((ROOT / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
    )
    functions = ((path, node) for path, node in nodes if isinstance(node, ast.FunctionDef))
    assert [f"{path.name}: {node.name}" for path, node in functions if node.end_lineno - node.lineno >= 60] == []
