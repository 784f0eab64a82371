# Tuned code: it needs adjit for its workspaces and elementary functions.
import numpy as np
from numba import njit

from adjit.runtime import vectormath
from adjit.runtime.library import reassociable_add, same_extent, workspace


@njit(error_model="numpy", nogil=True)
def loss_grad(inputs, weights, bias, targets):
    """Gradient of loss at primals.py:75 with respect to weights, bias."""
    # ---- forward sweep
    same_extent(weights.shape[0], inputs.shape[1])
    same_extent(bias.size, weights.shape[1])
    same_extent(targets.shape[0], inputs.shape[0])
    same_extent(targets.shape[1], weights.shape[1])
    matmul = workspace.dot(inputs, weights)
    bias_bar = np.zeros_like(bias)
    matmul_bar = workspace.empty_like(matmul)
    quotient = 1 / (targets.shape[0] * bias.size)
    # hidden = np.tanh(inputs @ weights + bias)
    for i in range(targets.shape[0]):
        for j in range(bias.size):
            hidden = vectormath.tanh(matmul[i, j] + bias[j])
            # return np.mean(residual * residual)
            residual = hidden - targets[i, j]
            residual_bar = 2.0 * residual * quotient
            # hidden = np.tanh(inputs @ weights + bias)
            sum_bar = (1.0 - hidden * hidden) * residual_bar
            bias_bar[j] = reassociable_add(bias_bar[j], sum_bar)
            matmul_bar[i, j] = sum_bar
    return workspace.dot(inputs.T, matmul_bar), bias_bar
