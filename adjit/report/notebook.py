"""What a notebook shows as code. Every derivative has one, so that nothing else of the reports is loaded with it.

In: the text of a derivative. Out: the same, with a form in HTML.
"""

from __future__ import annotations


class Source(str):
    """The text of a derivative; a notebook shows it as code."""

    def _repr_html_(self) -> str:
        from adjit.report.code import STYLE, adjoint_names, lines_of

        return f"{STYLE}<pre class='adjit-code'>{'<br>'.join(lines_of(self, adjoint_names(())))}</pre>"
