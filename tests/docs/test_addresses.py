"""The project has one address, `Repository` in pyproject.toml; all that names it agrees.

To change it: edit it there, and replace the old one where these tests then fail (README.md and CITATION.cff).
"""

import importlib.util
import re
import tomllib

from tests.docs.blocks import ROOT

URLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
REPOSITORY = URLS["Repository"]


def addresses(name):
    return re.findall(r"https?://[^\s\"'<>()]+", (ROOT / name).read_text("utf-8"))


def test_readme_has_the_address():
    assert addresses("README.md") == [REPOSITORY, REPOSITORY]
    text = (ROOT / "README.md").read_text("utf-8")
    assert f'pip install "git+{REPOSITORY}"' in text
    assert f"git clone {REPOSITORY} " in text


def test_citation_has_the_address_and_the_version():
    import adjit

    assert addresses("CITATION.cff") == [REPOSITORY]
    assert f"version: {adjit.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_other_addresses_begin_with_it():
    assert all(url.startswith(REPOSITORY) for url in URLS.values())


def test_the_site_takes_the_address_from_there():
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    assert hooks.address() == REPOSITORY
    assert "http" not in (ROOT / "mkdocs.yml").read_text("utf-8")
    # what leads out of docs/ leads to the repository
    assert "](docs/" not in hooks.front()
    assert f"[change log]({REPOSITORY})" in hooks.front()
