# Tuned code: it needs adjit for its workspaces and elementary functions.
import numpy as np
from numba import njit

from adjit.runtime import vectormath
from adjit.runtime.library import check_bounds, reassociable_add, reassociable_sub, workspace


@njit(error_model="numpy", nogil=True)
def log_likelihood_value_and_grad(points, means, log_weights):
    """Value and gradient of log_likelihood at primals.py:55 with respect to means, log_weights."""
    # ---- forward sweep
    check_bounds(0, points.shape[1] - 1, means.shape[1])
    check_bounds(0, means.shape[0] - 1, log_weights.size)
    log_weights_bar = np.zeros_like(log_weights)
    means_bar = np.zeros_like(means)
    # several iterations at once, in SIMD lanes
    width = min(64, max(1, points.shape[0]), 16 * max(1, 2048 // (means.shape[0] + points.shape[1] + 9)))
    exp_tape = workspace.empty((means.shape[0], width))
    points_turned = workspace.empty((points.shape[1], width))
    largest_lanes = workspace.empty(width)
    largest_place_lanes = workspace.empty(width, np.int64)
    distance_lanes = workspace.empty(width)
    summed_lanes = workspace.empty(width)
    largest_bar_lanes = workspace.empty(width)
    summed_bar_lanes = workspace.empty(width)
    distance_bar_lanes = workspace.empty(width)
    sum_lanes = workspace.empty(width)
    logits = workspace.empty((means.shape[0], width))
    logits_bar = workspace.empty((means.shape[0], width))
    total = 0.0
    for i0 in range(0, points.shape[0], width):
        lanes = min(width, points.shape[0] - i0)
        points_block = points[i0 : i0 + lanes]
        for j in range(points.shape[1]):
            for lane in range(lanes):
                points_turned[j, lane] = points_block[lane, j]
        for lane in range(lanes):
            largest_lanes[lane] = -np.inf
            largest_place_lanes[lane] = -1
        for k in range(means.shape[0]):
            for lane in range(lanes):
                distance_lanes[lane] = 0.0
            # squared distance from the centre
            for d in range(points.shape[1]):
                # offset = points[i, d] - means[k, d]
                means_item = means[k, d]
                for lane in range(lanes):
                    offset = points_turned[d, lane] - means_item
                    # distance += offset * offset
                    distance_lanes[lane] += offset * offset
            # logits[k] = log_weights[k] - 0.5 * distance
            log_weights_item = log_weights[k]
            for lane in range(lanes):
                logits_item = log_weights_item - 0.5 * distance_lanes[lane]
                logits[k, lane] = logits_item
                # largest = max(largest, logits[k])
                largest = largest_lanes[lane]
                largest_lanes[lane] = max(largest, logits_item)
                largest_place_lanes[lane] = k if logits_item > largest else largest_place_lanes[lane]
        for lane in range(lanes):
            summed_lanes[lane] = 0.0
        for k in range(means.shape[0]):
            # summed += math.exp(logits[k] - largest)
            for lane in range(lanes):
                exp = vectormath.exp(logits[k, lane] - largest_lanes[lane])
                exp_tape[k, lane] = exp
                summed_lanes[lane] += exp
        # total += largest + math.log(summed)
        for lane in range(lanes):
            sum_lanes[lane] = largest_lanes[lane] + vectormath.log(summed_lanes[lane])
        # ---- reverse of the iteration
        # L71: total += largest + math.log(summed)
        for lane in range(lanes):
            summed_bar_lanes[lane] = 1.0 / summed_lanes[lane]
            largest_bar_lanes[lane] = 1.0
        for k in range(means.shape[0]):
            # L70: summed += math.exp(logits[k] - largest)
            for lane in range(lanes):
                difference_bar = exp_tape[k, lane] * summed_bar_lanes[lane]
                logits_bar[k, lane] = difference_bar
                largest_bar_lanes[lane] = reassociable_sub(largest_bar_lanes[lane], difference_bar)
        for k in range(means.shape[0]):
            log_weights_bar_sum = 0.0
            # L67: largest = max(largest, logits[k])
            for lane in range(lanes):
                # L66: logits[k] = log_weights[k] - 0.5 * distance
                logits_item_bar = (
                    (largest_bar_lanes[lane] if k == largest_place_lanes[lane] else 0.0) + logits_bar[k, lane]
                )
                distance_bar_lanes[lane] = 0.5 * -logits_item_bar
                log_weights_bar_sum = reassociable_add(log_weights_bar_sum, logits_item_bar)
            # L66: logits[k] = log_weights[k] - 0.5 * distance
            log_weights_bar[k] += log_weights_bar_sum
            for d in range(points.shape[1]):
                # L65: distance += offset * offset
                means_item = means[k, d]
                means_bar_sum = 0.0
                for lane in range(lanes):
                    offset = points_turned[d, lane] - means_item
                    offset_bar = 2.0 * offset * distance_bar_lanes[lane]
                    # L64: offset = points[i, d] - means[k, d]
                    means_bar_sum = reassociable_add(means_bar_sum, -offset_bar)
                # L64: offset = points[i, d] - means[k, d]
                means_bar[k, d] += means_bar_sum
        # L71: total += largest + math.log(summed)
        for lane in range(lanes):
            total += sum_lanes[lane]
    return total, (means_bar, log_weights_bar)
