import math

import numpy as np
from numba import njit

BEFOREHAND = "an axis\n  in code that checks its indices before it runs"


class OutOfBounds(IndexError):
    """An index of the program is out of bounds. `where`: the array, and in further lines the place in the program."""

    def __init__(self, where, index, extent):
        super().__init__(where, index, extent)
        self.where, self.index, self.extent = where, index, extent

    def __str__(self):
        what, *lines = self.where.splitlines()
        return "\n".join((f"index {self.index} is out of bounds for {what} with size {self.extent}", *lines))


class BeyondLoop(OutOfBounds):
    """A test before a loop finds an index out of bounds. Only users of a saved source see this error."""


@njit
def check_bounds(least, greatest, extent):
    """BeyondLoop if an index may be out of bounds that lies between these two; if they leave none, no trip has one."""
    if least <= greatest and least < -extent:
        raise BeyondLoop(BEFOREHAND, least, extent)
    if least <= greatest and greatest >= extent:
        raise BeyondLoop(BEFOREHAND, greatest, extent)


@njit(error_model="numpy", nogil=True)
def memory_cell_grad(signal, weight, bias):
    """Gradient of memory_cell at primals.py:186 with respect to weight, bias."""
    # ---- forward sweep
    check_bounds(0, 3, weight.size)
    check_bounds(0, 2, bias.size)
    tanh_tape = np.empty(signal.size)
    exp_tape = np.empty(signal.size)
    tanh_tape_2 = np.empty(signal.size)
    exp_tape_2 = np.empty(signal.size)
    state_tape = np.empty(signal.size)
    exp_tape_3 = np.empty(signal.size)
    output_tape = np.empty(signal.size)
    # one unit with input, forget and output gates
    state = 0.0
    output = 0.0
    for t in range(signal.size):
        state_tape[t] = state
        output_tape[t] = output
        signal_item = signal[t]
        exp = math.exp(-(weight[0] * signal_item + bias[0]))
        exp_tape_2[t] = exp
        admit = 1.0 / (1.0 + exp)
        exp = math.exp(-(weight[1] * output + bias[1]))
        exp_tape_3[t] = exp
        keep = 1.0 / (1.0 + exp)
        exp = math.exp(-(weight[2] * signal_item + bias[2]))
        exp_tape[t] = exp
        show = 1.0 / (1.0 + exp)
        tanh = math.tanh(weight[3] * signal_item)
        tanh_tape_2[t] = tanh
        state = keep * state + admit * tanh
        tanh = math.tanh(state)
        tanh_tape[t] = tanh
        output = show * tanh
    # ---- reverse sweep
    weight_bar = np.zeros_like(weight)
    bias_bar = np.zeros_like(bias)
    state_bar = 0.0
    output_bar = 1.0
    weight_bar_sum = 0.0
    bias_bar_sum = 0.0
    weight_bar_sum_2 = 0.0
    bias_bar_sum_2 = 0.0
    weight_bar_sum_3 = 0.0
    bias_bar_sum_3 = 0.0
    weight_bar_sum_4 = 0.0
    for t in range(signal.size - 1, -1, -1):
        # L195: output = show * math.tanh(state)
        tanh = tanh_tape[t]
        show_bar = tanh * output_bar
        exp = exp_tape[t]
        show = 1.0 / (1.0 + exp)
        state_bar += (1.0 - tanh * tanh) * (show * output_bar)
        # L194: state = keep * state + admit * math.tanh(weight[3] * signal[t])
        tanh = tanh_tape_2[t]
        admit_bar = tanh * state_bar
        exp_2 = exp_tape_2[t]
        admit = 1.0 / (1.0 + exp_2)
        signal_item = signal[t]
        weight_bar_sum += signal_item * ((1.0 - tanh * tanh) * (admit * state_bar))
        state = state_tape[t]
        keep_bar = state * state_bar
        exp_3 = exp_tape_3[t]
        keep = 1.0 / (1.0 + exp_3)
        state_bar *= keep
        # L183 in sigmoid: return 1.0 / (1.0 + math.exp(-x))
        negated_bar = exp * (show * show * show_bar)
        # L193: show = sigmoid(weight[2] * signal[t] + bias[2])
        bias_bar_sum += negated_bar
        weight_bar_sum_2 += signal_item * negated_bar
        # L183 in sigmoid: return 1.0 / (1.0 + math.exp(-x))
        negated_bar = exp_3 * (keep * keep * keep_bar)
        # L192: keep = sigmoid(weight[1] * output + bias[1])
        bias_bar_sum_2 += negated_bar
        output = output_tape[t]
        output_bar = weight[1] * -(exp_3 * (-keep * keep * keep_bar))
        weight_bar_sum_3 += output * negated_bar
        # L183 in sigmoid: return 1.0 / (1.0 + math.exp(-x))
        negated_bar = exp_2 * (admit * admit * admit_bar)
        # L191: admit = sigmoid(weight[0] * signal[t] + bias[0])
        bias_bar_sum_3 += negated_bar
        weight_bar_sum_4 += signal_item * negated_bar
    if signal.size > 0:
        # L194: state = keep * state + admit * math.tanh(weight[3] * signal[t])
        weight_bar[3] += weight_bar_sum
        # L193: show = sigmoid(weight[2] * signal[t] + bias[2])
        bias_bar[2] += bias_bar_sum
        weight_bar[2] += weight_bar_sum_2
        # L192: keep = sigmoid(weight[1] * output + bias[1])
        bias_bar[1] += bias_bar_sum_2
        weight_bar[1] += weight_bar_sum_3
        # L191: admit = sigmoid(weight[0] * signal[t] + bias[0])
        bias_bar[0] += bias_bar_sum_3
        weight_bar[0] += weight_bar_sum_4
    return weight_bar, bias_bar
