"""Tools made of derivatives: solvers with a derivative of their own, bounds of rounding errors, checks.

In: functions, as `adjit.api` takes them. Out: functions that can be differentiated, bounds, reports of what differs.

    implicit(newton, residual)          rounding_error(f)(1e8)          check_grads(f, x)
"""
