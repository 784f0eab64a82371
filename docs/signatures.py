"""How signatures are shown in the reference: with the options by name, as `help` shows them.

In: functions that Griffe has read. Out: the same with the options of `adjit.api.specialise.options.Asked` as
parameters, each with its default from `Options`. mkdocs.yml names `NamedOptions` as an extension.

    hvp(function=None, wrt=0, **options: Unpack[Asked])         hvp(function=None, wrt=0, *, target="cpu", ...)
"""

from __future__ import annotations

from typing import Any

import griffe


class NamedOptions(griffe.Extension):
    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        options = next((p for p in func.parameters if str(p.annotation) == "Unpack[Asked]"), None)
        if options is None:
            return
        home = func.modules_collection["adjit.api.specialise.options"]
        del func.parameters[options.name]
        for name in home["Asked"].attributes:
            default = home["Options"].attributes[name].value
            func.parameters.add(griffe.Parameter(name, kind=griffe.ParameterKind.keyword_only, default=default))
