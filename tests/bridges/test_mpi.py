"""Messages of numba_mpi in differentiated functions: every call, in both modes, by 1, 2 and 4 processes; refusals."""

import functools
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import adjit

if not find_spec("numba_mpi"):
    pytest.skip("needs numba_mpi", allow_module_level=True)

PROGRAMS = Path(__file__).with_name("messages.py")
NAMES = (
    "blocking", "any_source", "ring", "both_ways", "sendrecv", "columns", "allreduced", "extremes", "rooted", "spread",
    "integers", "inert", "matrices",
)  # fmt: skip
AT_MOST = 550  # seconds: what is not done by then waits for a message that does not come

pytestmark = pytest.mark.bridge


def mpiexec():
    """The one of the MPI that is installed beside Python, or else the system's."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


@functools.cache
def found(processes):
    """What the programs find of their derivatives, run by as many processes."""
    environment = {**os.environ, "PYTHONPATH": str(Path(adjit.__file__).parent.parent), "OMP_NUM_THREADS": "1"}
    command = [mpiexec(), "-n", str(processes), sys.executable, str(PROGRAMS)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=AT_MOST)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("processes", (1, 2, 4))
@pytest.mark.parametrize("name", NAMES)
def test_modes_agree_with_each_other_and_with_differences(name, processes):
    of_program = found(processes)[name]
    assert abs(of_program["value"]) < 1e-13
    assert of_program["reverse"] == pytest.approx(of_program["forward"], rel=1e-12)
    assert of_program["pullback"] == pytest.approx(of_program["forward"], rel=1e-12)
    # central ones with a step of 1e-5
    assert of_program["reverse"] == pytest.approx(of_program["difference"], rel=1e-7)


@pytest.mark.parametrize("processes", (1, 2, 4))
def test_heat_in_parts_has_the_gradient_of_the_whole(processes):
    assert max(found(processes)["heat"].values()) < 1e-12


@pytest.mark.parametrize("processes", (1, 2, 4))
def test_ties_have_equal_shares(processes):
    # n results, of which each process has a share of 1 / n
    assert found(processes)["ties"] == [1.0, 1.0]


# ------------------------------------------------------------------------------------------------------ what is refused


# Each in a process of its own: MPI is begun once, and ends with it.
REFUSED = {
    "numba_mpi.send(x.astype(np.float32), 0)": "a message of a type other than float64, int32 and int64",
    "numba_mpi.allreduce(x + 1j, x + 1j)": "a message of a type other than float64, int32 and int64",
    "numba_mpi.irecv(x)": "irecv from any source, or of any tag",
    "numba_mpi.waitany((numba_mpi.isend(x, 0)[1],))": "a test whether a message has arrived",
    "np.zeros(2, np.intc)[0:1] = numba_mpi.isend(x, 0)[1]": "an object of the class Sending stored in an array",
    "adjit.checkpoint(lambda x: numba_mpi.allreduce(x, x))(x)": "a checkpoint of this call",
    "for t in adjit.checkpoint(range(4)): numba_mpi.allreduce(np.sin(x), x)": "a checkpoint of this loop",
}
OF_SEVERAL_RUNS = ("jacobian", "jacrev", "jacfwd", "hessian", "vmap", "rounding_error")
CHECK = """
import numba_mpi, numpy as np
import adjit, adjit.bridges.mpi

def f(x):
    {line}
    return np.sum(x)

for make in ({makers}):
    try:
        make(f)(np.arange(3.0))
    except adjit.Unsupported as error:
        print(error)
        print("----")
"""


def refusals(tmp_path, line, *makers):
    text = CHECK.format(line=line, makers=" ".join(f"adjit.{m}," for m in makers))
    return ran(tmp_path, text).split("----\n")[:-1]


def ran(tmp_path, text):
    """What a program prints, in a process of its own."""
    file = tmp_path / "program.py"
    file.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(adjit.__file__).parent.parent)}
    command = [sys.executable, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=AT_MOST, check=True)
    return done.stdout


@pytest.mark.parametrize("line", REFUSED)
def test_what_has_no_derivative_is_refused_at_its_line(line, tmp_path):
    (found,) = refusals(tmp_path, line, "grad")
    assert found.startswith(REFUSED[line])
    assert "program.py:6 in f" in found


def test_the_bridge_is_asked_for(tmp_path):
    text = CHECK.replace(", adjit.bridges.mpi", "").format(line="numba_mpi.barrier()", makers="adjit.grad,")
    found = ran(tmp_path, text)
    assert found.startswith("numba_mpi.barrier without adjit.bridges.mpi\n  program.py:6 in f")


def test_what_would_send_several_times_is_refused(tmp_path):
    found = refusals(tmp_path, "y = np.zeros(3); numba_mpi.allreduce(x * x, y); x = x + y", *OF_SEVERAL_RUNS)
    assert len(found) == len(OF_SEVERAL_RUNS)
    assert all("of a program with messages" in one and "program.py:6 in f" in one for one in found)


def test_import_of_adjit_loads_no_mpi():
    asked = "import sys, adjit; print('numba_mpi' in sys.modules, 'mpi4py' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]
