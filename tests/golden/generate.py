"""What adjit writes for a case of `primals.py`: the golden outputs, and what is compared with them.

    generated(CASES[0])      import numpy as np ... def damped_grad(x, w): ...

Run as a module, `python -m tests.golden.generate`, it writes all of them anew.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from adjit.api.specialise.dispatch import Options, derive
from adjit.transform.pipeline import Derivative
from tests.golden.container_primals import CONTAINERS
from tests.golden.primals import CASES, TUNED, Case

KINDS = {"reverse": "grad", "value": "value_and_grad", "forward": "jvp"}
# Each case as it is read, and some as they are compiled, too.
OF_ARRAYS = [*((case, False) for case in CASES), *((case, True) for case in CASES if case.name in TUNED)]
OUTPUTS = [*OF_ARRAYS, *((case, False) for case in CONTAINERS)]


def golden(case: Case, tuned: bool = False) -> Path:
    folder = "tuned" if tuned else "." if case.name in {each.name for each in CASES} else "containers"
    return Path(__file__).parent / folder / f"{case.name}.py"


def generated(case: Case, tuned: bool = False) -> str:
    """The text of the module."""
    derivative = Derivative(case.function, KINDS[case.mode], case.wrt, single=len(case.wrt) == 1)
    arguments = 2 * case.arguments if case.mode == "forward" else case.arguments
    with TemporaryDirectory() as folder:
        path = Path(folder, "saved.py")
        derive(derivative, Options()).save(path, *arguments, tuned=tuned)
        return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    for case, tuned in OUTPUTS:
        golden(case, tuned).write_text(generated(case, tuned), encoding="utf-8")
