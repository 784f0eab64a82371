"""Functions without annotations: derived functions are called with anything, and what comes after a call is reached."""

from typing import reveal_type

import adjit


def energy(x, k=1.0):  # type: ignore[no-untyped-def]
    return k * x * x


@adjit.value_and_grad(wrt="k")
def stiff(x, k):  # type: ignore[no-untyped-def]
    return k * x * x


reveal_type((adjit.grad(energy), adjit.grad(lambda x: x * x), adjit.grad(energy, wrt=1)(1.0, 2.0), stiff(1.0, k=2.0)))
reveal_type((adjit.value_and_grad(energy)(1.0), adjit.jacfwd(energy)(1.0), adjit.jacobian(energy)(1.0)))
reveal_type((adjit.hessian(energy)(1.0), adjit.vmap(energy)(1.0), adjit.fixed_point(energy)(1.0, 2.0)))
reveal_type((adjit.vjp(energy, 1.0), adjit.jvp(energy, (1.0,), (1.0,)), adjit.hvp(energy)(1.0, 1.0, 1.0)))
