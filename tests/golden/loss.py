import numpy as np

from adjit.transform import workspace
from adjit.transform.support import broadcast_extent


def loss_grad(inputs, weights, bias, targets):
    """Gradient of loss at primals.py:75 with respect to weights, bias."""
    # ---- forward sweep
    # hidden = np.tanh(inputs @ weights + bias)
    matmul = workspace.dot(inputs, weights)
    n = broadcast_extent(weights.shape[1], bias.size)
    is_wide = weights.shape[1] != 1
    is_wide_2 = bias.size != 1
    hidden = workspace.empty((inputs.shape[0], n))
    for i in range(inputs.shape[0]):
        for j in range(n):
            hidden[i, j] = np.tanh(matmul[i, j if is_wide else 0] + bias[j if is_wide_2 else 0])
    # residual = hidden - targets
    n_2 = broadcast_extent(inputs.shape[0], targets.shape[0])
    n_3 = broadcast_extent(n, targets.shape[1])
    is_wide_3 = inputs.shape[0] != 1
    is_wide_4 = n != 1
    is_wide_5 = targets.shape[0] != 1
    is_wide_6 = targets.shape[1] != 1
    residual = workspace.empty((n_2, n_3))
    for i in range(n_2):
        for j in range(n_3):
            residual[i, j] = (
                hidden[i if is_wide_3 else 0, j if is_wide_4 else 0]
                - targets[i if is_wide_5 else 0, j if is_wide_6 else 0]
            )
    # ---- reverse sweep
    residual_bar = workspace.zeros_like(residual)
    hidden_bar = workspace.zeros_like(hidden)
    bias_bar = np.zeros_like(bias)
    matmul_bar = workspace.zeros_like(matmul)
    # L78: return np.mean(residual * residual)
    quotient = 1 / (n_2 * n_3)
    for i in range(n_2):
        for j in range(n_3):
            residual_bar[i, j] += 2.0 * residual[i, j] * quotient
    # L77: residual = hidden - targets
    for i in range(n_2):
        for j in range(n_3):
            stored_bar = residual_bar[i, j]
            residual_bar[i, j] = 0.0
            hidden_bar[i if is_wide_3 else 0, j if is_wide_4 else 0] += stored_bar
    # L76: hidden = np.tanh(inputs @ weights + bias)
    for i in range(inputs.shape[0]):
        for j in range(n):
            stored_bar = hidden_bar[i, j]
            hidden_bar[i, j] = 0.0
            tanh = hidden[i, j]
            sum_bar = (1.0 - tanh * tanh) * stored_bar
            bias_bar[j if is_wide_2 else 0] += sum_bar
            matmul_bar[i, j if is_wide else 0] += sum_bar
    return workspace.dot(inputs.T, matmul_bar), bias_bar
