"""Programs as people write them, from a seed.

    write(7)        Program("def program(x, u, A): ...")

`words.py` has the lines that people write, as patterns with holes; `holes.py` fills them with what is there; `world.py`
runs what is written while it is written, so that every line fits the ones before; `writer.py` puts lines together.
"""

from tests.random_programs.writing.writer import write

__all__ = ["write"]
