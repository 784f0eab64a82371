# Tuned code: it needs adjit for its workspaces and elementary functions.
import math

import numpy as np
from numba import njit

from adjit.runtime import vectormath
from adjit.runtime.library import check_bounds, reassociable_add, reassociable_sub, workspace


@njit(error_model="numpy", nogil=True)
def memory_cell_grad(signal, weight, bias):
    """Gradient of memory_cell at primals.py:186 with respect to weight, bias."""
    # ---- forward sweep
    check_bounds(0, 3, weight.size)
    check_bounds(0, 2, bias.size)
    tanh_tape = workspace.empty(signal.size)
    exp_tape = workspace.empty(signal.size)
    tanh_tape_2 = workspace.empty(signal.size)
    exp_tape_2 = workspace.empty(signal.size)
    state_tape = workspace.empty(signal.size)
    exp_tape_3 = workspace.empty(signal.size)
    output_tape = workspace.empty(signal.size)
    product_strip = np.empty(32)
    show_strip = np.empty(32)
    # one unit with input, forget and output gates
    state = 0.0
    output = 0.0
    for t_start in range(0, signal.size, 32):
        t_stop = min(t_start + 32, signal.size)
        n = t_stop - t_start
        signal_strip = signal[t_start:t_stop]
        exp_tape_strip = exp_tape_2[t_start:t_stop]
        exp_tape_strip_2 = exp_tape[t_start:t_stop]
        tanh_tape_strip = tanh_tape_2[t_start:t_stop]
        state_tape_strip = state_tape[t_start:t_stop]
        output_tape_strip = output_tape[t_start:t_stop]
        exp_tape_strip_3 = exp_tape_3[t_start:t_stop]
        tanh_tape_strip_2 = tanh_tape[t_start:t_stop]
        for k in range(n):
            # admit = sigmoid(weight[0] * signal[t] + bias[0])
            signal_item = signal_strip[k]
            # return 1.0 / (1.0 + math.exp(-x))
            exp = vectormath.exp(-(weight[0] * signal_item + bias[0]))
            exp_tape_strip[k] = exp
            admit = 1.0 / (1.0 + exp)
            exp = vectormath.exp(-(weight[2] * signal_item + bias[2]))
            exp_tape_strip_2[k] = exp
            show = 1.0 / (1.0 + exp)
            show_strip[k] = show
            # state = keep * state + admit * math.tanh(weight[3] * signal[t])
            tanh = vectormath.tanh(weight[3] * signal_item)
            tanh_tape_strip[k] = tanh
            product_strip[k] = admit * tanh
        for k in range(n):
            show = show_strip[k]
            state_tape_strip[k] = state
            output_tape_strip[k] = output
            # return 1.0 / (1.0 + math.exp(-x))
            exp = math.exp(-reassociable_add(bias[1], weight[1] * output))
            exp_tape_strip_3[k] = exp
            keep = 1.0 / (1.0 + exp)
            # state = keep * state + admit * math.tanh(weight[3] * signal[t])
            state = reassociable_add(product_strip[k], keep * state)
            # output = show * math.tanh(state)
            tanh = math.tanh(state)
            tanh_tape_strip_2[k] = tanh
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
        state_bar = reassociable_add(state_bar, reassociable_sub(1.0, tanh * tanh) * (show * output_bar))
        # L194: state = keep * state + admit * math.tanh(weight[3] * signal[t])
        tanh = tanh_tape_2[t]
        admit_bar = tanh * state_bar
        exp_2 = exp_tape_2[t]
        admit = 1.0 / (1.0 + exp_2)
        signal_item = signal[t]
        weight_bar_sum = reassociable_add(
            weight_bar_sum, signal_item * (reassociable_sub(1.0, tanh * tanh) * (admit * state_bar))
        )
        state = state_tape[t]
        keep_bar = state * state_bar
        exp_3 = exp_tape_3[t]
        keep = 1.0 / (1.0 + exp_3)
        state_bar *= keep
        # L183 in sigmoid: return 1.0 / (1.0 + math.exp(-x))
        negated_bar = exp * (show * show * show_bar)
        # L193: show = sigmoid(weight[2] * signal[t] + bias[2])
        bias_bar_sum = reassociable_add(bias_bar_sum, negated_bar)
        weight_bar_sum_2 = reassociable_add(weight_bar_sum_2, signal_item * negated_bar)
        # L183 in sigmoid: return 1.0 / (1.0 + math.exp(-x))
        negated_bar = exp_3 * (keep * keep * keep_bar)
        # L192: keep = sigmoid(weight[1] * output + bias[1])
        bias_bar_sum_2 = reassociable_add(bias_bar_sum_2, negated_bar)
        output = output_tape[t]
        output_bar = weight[1] * -(exp_3 * (-keep * keep * keep_bar))
        weight_bar_sum_3 = reassociable_add(weight_bar_sum_3, output * negated_bar)
        # L183 in sigmoid: return 1.0 / (1.0 + math.exp(-x))
        negated_bar = exp_2 * (admit * admit * admit_bar)
        # L191: admit = sigmoid(weight[0] * signal[t] + bias[0])
        bias_bar_sum_3 = reassociable_add(bias_bar_sum_3, negated_bar)
        weight_bar_sum_4 = reassociable_add(weight_bar_sum_4, signal_item * negated_bar)
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
