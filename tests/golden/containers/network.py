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
def network_grad(first, second, x):
    """Gradient of network at container_primals.py:122 with respect to first, second."""
    # ---- forward sweep
    same_extent(x.size, first.shape[1])
    same_extent(second.shape[1], first.shape[0])
    # return np.tanh(self.weights @ x + self.bias)
    matmul = first @ x
    x_2 = np.empty(first.shape[0])
    for i in range(first.shape[0]):
        x_2[i] = np.tanh(matmul[i] + 0.1)
    matmul_2 = second @ x_2
    matmul_bar = np.zeros_like(matmul_2)
    for i in range(second.shape[0]):
        x_3 = np.tanh(matmul_2[i] - 0.1)
        # ---- reverse of the iteration
        # L119 in __call__: return np.tanh(self.weights @ x + self.bias)
        matmul_bar[i] += 1.0 - x_3 * x_3
    # ---- reverse sweep
    second_bar = np.zeros_like(second)
    first_bar = np.zeros_like(first)
    matmul_bar_2 = np.zeros_like(matmul)
    # L116 in penalty: return np.sum(self.weights**2)
    for i in range(second.shape[0]):
        for j in range(first.shape[0]):
            second_bar[i, j] += 2.0 * second[i, j] * 0.001
    for i in range(first.shape[0]):
        for j in range(first.shape[1]):
            first_bar[i, j] += 2.0 * first[i, j] * 0.001
    # L119 in __call__: return np.tanh(self.weights @ x + self.bias)
    matmul_bar_view = matmul_bar[:, np.newaxis]
    for i in range(second.shape[0]):
        for j in range(second.shape[1]):
            second_bar[i, j] += matmul_bar_view[i, 0] * x_2[j]
    x_bar = np.dot(second.T, matmul_bar)
    for i in range(first.shape[0]):
        tanh = x_2[i]
        matmul_bar_2[i] += (1.0 - tanh * tanh) * x_bar[i]
    matmul_bar_view = matmul_bar_2[:, np.newaxis]
    for i in range(first.shape[0]):
        for j in range(first.shape[1]):
            first_bar[i, j] += matmul_bar_view[i, 0] * x[j]
    return first_bar, second_bar
