"""What users call: derivatives of functions, their source, explanations, checks and caches.

In: functions and arguments. Out: derivatives, which are compiled per signature when they are called.

    grad(energy)(3.0)           value_and_grad, vjp, jvp, hvp, jacobian, hessian, check_grads
"""
