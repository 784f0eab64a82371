"""Programs that tests write into files, imported afresh."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest


def imported(folder: Path, texts: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The last of these modules, each of which may import those before it, from files in a new folder."""
    folder.mkdir()
    for name, text in texts.items():
        path = folder / f"{name}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    return module
