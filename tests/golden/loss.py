import numpy as np
from numba import njit

STRETCHED = "two axes differ in length, and this code is for axes of equal length"


class Stretched(Exception):
    """Lengths of arrays differ in code for equal lengths. Only users of a saved source see this error."""


@njit
def same_extent(left, right):
    """Stretched if two axes are not of one length, as the code that follows takes them to be."""
    if left != right:
        raise Stretched(STRETCHED)


@njit(error_model="numpy", nogil=True)
def loss_grad(inputs, weights, bias, targets):
    """Gradient of loss at primals.py:75 with respect to weights, bias."""
    # ---- forward sweep
    same_extent(weights.shape[0], inputs.shape[1])
    same_extent(bias.size, weights.shape[1])
    same_extent(targets.shape[0], inputs.shape[0])
    same_extent(targets.shape[1], weights.shape[1])
    matmul = inputs @ weights
    hidden_tape = np.empty(bias.size)
    bias_bar = np.zeros_like(bias)
    matmul_bar = np.zeros_like(matmul)
    quotient = 1 / (targets.shape[0] * bias.size)
    # hidden = np.tanh(inputs @ weights + bias)
    for i in range(targets.shape[0]):
        for j in range(bias.size):
            hidden = np.tanh(matmul[i, j] + bias[j])
            hidden_tape[j] = hidden
        # ---- reverse of the iteration
        # L76: hidden = np.tanh(inputs @ weights + bias)
        for j in range(bias.size):
            # L78: return np.mean(residual * residual)
            hidden = hidden_tape[j]
            residual = hidden - targets[i, j]
            residual_bar = 2.0 * residual * quotient
            # L76: hidden = np.tanh(inputs @ weights + bias)
            sum_bar = (1.0 - hidden * hidden) * residual_bar
            bias_bar[j] += sum_bar
            matmul_bar[i, j] += sum_bar
    return np.dot(inputs.T, matmul_bar), bias_bar
