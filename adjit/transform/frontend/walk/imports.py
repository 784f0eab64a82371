"""`import` inside a function: what it names is known while compiling.

In: the statement. Out: the modules, or what is in them, under the names that the function has for them.

    from scipy.special import gammaln      gammaln: the function of SciPy
"""

from __future__ import annotations

import importlib
from typing import Any

import libcst as cst
import libcst.helpers

from adjit.transform.frontend.values.frame import Frame, wrap
from adjit.transform.frontend.values.statics import Static
from adjit.transform.source.external_reads import is_defined, read_attribute


def importing(frame: Frame, node: cst.Import) -> None:
    """`import name, name as other`."""
    for alias in node.names:
        module, name = _module(frame, alias.evaluated_name), alias.evaluated_alias
        if name is None:
            # `import a.b` binds a
            name = alias.evaluated_name.partition(".")[0]
            module = _module(frame, name)
        frame.store(name, Static(module))


def importing_from(frame: Frame, node: cst.ImportFrom) -> None:
    """`from module import name, name as other`."""
    ctx, name = frame.ctx, "." * len(node.relative)
    if node.module is not None:
        name += cst.helpers.get_full_name_for_node_or_raise(node.module)
    if isinstance(node.names, cst.ImportStar):
        raise ctx.unsupported("`import *` inside a function", "Name what is imported.")
    module = _module(frame, name)
    for alias in node.names:
        asked = alias.evaluated_name
        if not is_defined(module, asked):
            _module(frame, f"{name}.{asked}")
        frame.store(alias.evaluated_alias or asked, wrap(ctx, read_attribute(module, asked)))


def _module(frame: Frame, name: str) -> Any:
    """A module that the function imports, which happens as it is compiled."""
    try:
        return importlib.import_module(name, frame.source.globals.get("__package__"))
    except ImportError as error:
        raise frame.ctx.unsupported(
            f"an import that fails: {error}", "Install it, or look for the right name."
        ) from None
