"""What a type checker refuses: each line that is marked with a code of mypy's, and no other."""

import numpy as np

import adjit

x = np.ones(3)


def energy(x: np.ndarray[tuple[int], np.dtype[np.float64]], k: float = 1.0) -> float:
    return 0.5 * k * float(np.sum(x * x))


def name(x: float) -> str:
    return str(x)


@adjit.value_and_grad
def square(x: float) -> float:
    return x * x


adjit.grad(energy)(x, "soft")  # arg-type
adjit.grad(energy)(x, 1.0, 2.0)  # call-arg
adjit.grad(energy)(x, stiffness=1.0)  # call-arg
adjit.grad(energy)()  # call-arg
adjit.grad(energy, wrt=1)(x, 1.0).shape  # attr-defined
adjit.grad(name)  # call-overload
adjit.grad(energy, paralel=True)  # call-overload call-overload
adjit.grad(energy, target="gpu")  # call-overload
adjit.hessian(name)  # arg-type
adjit.vjp(energy, x, 1.0)[1](x)  # call-overload
adjit.hvp(energy)(x, 1.0)  # call-arg
adjit.rounding_error(name)  # arg-type
adjit.implicit(name, energy)  # arg-type
adjit.checkpoint(3)  # call-overload
square("a")  # arg-type
square(1.0) + 1.0  # operator
