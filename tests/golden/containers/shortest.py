import math

import numpy as np
from numba import njit


class OutOfBounds(IndexError):
    """An index of the program is out of bounds. `where`: the array, and in further lines the place in the program."""

    def __init__(self, where, index, extent):
        super().__init__(where, index, extent)
        self.where, self.index, self.extent = where, index, extent

    def __str__(self):
        what, *lines = self.where.splitlines()
        return "\n".join((f"index {self.index} is out of bounds for {what} with size {self.extent}", *lines))


@njit
def check_index(index, extent, where):
    """OutOfBounds if an axis of this extent has no element at the index, which may count from its end."""
    if not -extent <= index < extent:
        raise OutOfBounds(where, index, extent)


@njit(error_model="numpy", nogil=True)
def shortest_grad(costs, hops):
    """Gradient of shortest at container_primals.py:162 with respect to costs."""
    hops_0, hops_1 = hops
    # ---- forward sweep
    n = costs.size
    items = np.empty(0)
    items_bar = np.zeros_like(items)
    items = np.empty(1)
    items_bar_2 = np.zeros_like(items)
    items_2 = np.empty(1, np.int64)
    items[0] = 0.0
    items_2[0] = 0
    chosen_bar_tape = []
    place_tape = []
    is_not_tape = []
    place_tape_2 = []
    trips_tape = []
    items_bar_tape = []
    chosen_tape = []
    chosen_bar_tape_2 = []
    place_tape_3 = []
    is_not_tape_2 = []
    place_tape_4 = []
    trips_tape_2 = []
    items_bar_tape_2 = []
    chosen_bar_tape_3 = []
    chosen_tape_2 = []
    chosen_old_tape = []
    items_bar_tape_3 = []
    result_tape = []
    is_there_tape = []
    items_tape = []
    items_tape_2 = []
    items_bar_tape_4 = []
    node_tape = []
    items_tape_3 = []
    items_tape_4 = []
    items_bar_tape_5 = []
    place_tape_5 = []
    is_before_tape = []
    place_tape_6 = []
    both_tape = []
    child_tape = []
    trips_tape_3 = []
    items_3 = np.empty(0, np.int64)
    items_4 = 0
    place = 1
    position = 0
    position_2 = 0
    position_3 = 0
    position_4 = 0
    position_5 = 0
    position_6 = 0
    position_7 = 0
    position_8 = 0
    position_9 = 0
    trips = 0
    while place > 0:
        items_tape.append(place)
        items_tape_2.append(items)
        items_bar_tape_4.append(items_bar_2)
        items_tape_3.append(items_4)
        items_tape_4.append(items_3)
        items_bar_tape_5.append(items_bar)
        n_2 = items_3.size
        n_3 = items.size
        if place == 0:
            raise IndexError(
                "pop from an empty heap\n  container_primals.py:168 in shortest\n    cost, node = heapq.heappop(waiting)"
            )
        place_2 = place - 1
        items_item = items[place_2]
        items_item_2 = items_2[place_2]
        if place_2 > 0:
            cost = items[0]
            node = items_2[0]
            items[0] = items_item
            items_2[0] = items_item_2
            child = 1
            place_3 = 0
            trips_2 = 0
            while child < place_2:
                place_tape_6.append(place_3)
                child_tape.append(child)
                total = child + 1
                if total < place_2:
                    place_4 = place_2 + child if child < 0 else child
                    items_item_3 = items[place_4]
                    items_item_4 = items_2[place_4]
                    place_4 = place_2 + total if total < 0 else total
                    items_item_5 = items[place_4]
                    items_item_6 = items_2[place_4]
                    if items_item_3 == items_item_5:
                        is_before = items_item_4 < items_item_6
                    else:
                        is_before = items_item_3 < items_item_5
                    both = not is_before
                else:
                    both = False
                both_tape.append(both)
                if both:
                    child = total
                is_below = child < 0
                place_4 = place_2 + child if is_below else child
                items_item_3 = items[place_4]
                items_item_4 = items_2[place_4]
                if items_item == items_item_3:
                    is_before = items_item_2 < items_item_4
                else:
                    is_before = items_item < items_item_3
                is_before_tape.append(is_before)
                if not is_before:
                    place_4 = place_2 + child if is_below else child
                    items_item_3 = items[place_4]
                    items_item_4 = items_2[place_4]
                    if place_3 < 0:
                        place_3 += place_2
                    items[place_3] = items_item_3
                    items_2[place_3] = items_item_4
                    place_3 = child
                    child = 2 * child + 1
                position_9 += 1
                trips_2 += 1
                if is_before:
                    break
            place_tape_5.append(place_3)
            trips_tape_3.append(trips_2)
            if place_3 < 0:
                place_3 += place_2
            items[place_3] = items_item
            items_2[place_3] = items_item_2
            position_8 += 1
        else:
            cost = items_item
            node = items_item_2
        node_tape.append(node)
        returned = False
        k = 0
        for k in range(items_4):
            returned = items_3[items_4 + k if k < 0 else k] == node
            if not returned:
                k = 0
            if returned:
                break
        if not returned:
            k = -1
        is_there = k >= 0
        is_there_tape.append(is_there)
        if is_there:
            place = place_2
        else:
            returned = False
            k = 0
            for k in range(items_4):
                returned = items_3[items_4 + k if k < 0 else k] == node
                if not returned:
                    k = 0
                if returned:
                    break
            if not returned:
                k = -1
            result_tape.append(k)
            if k < 0:
                if n_2 == items_4:
                    capacity = max(items_4 * 2, 4)
                    items_5 = np.empty(capacity, np.int64)
                    for k in range(items_4):
                        items_5[k] = items_3[k]
                    items_6 = np.empty(capacity)
                    items_bar = np.zeros_like(items_6)
                    items_bar_tape_3.append(items_bar)
                    position_7 += 1
                    items_3 = items_5
                chosen_bar_tape_3.append(items_bar)
                chosen_tape_2.append(items_3)
                chosen_old_tape.append(items_3[items_4])
                items_3[items_4] = node
                position_6 += 1
                items_4 += 1
            check_index(
                node,
                n,
                where="axis 0 of `costs`\n  container_primals.py:173 in shortest\n    heapq.heappush(waiting, (cost + costs[node] * math.sqrt(hop), (node + hop) % n))"
            )
            costs_item = costs[node]
            total_2 = cost + costs_item * math.sqrt(hops_0)
            remainder = (node + hops_0) % n
            if n_3 == place_2:
                capacity = max(place_2 * 2, 4)
                items_6 = np.empty(capacity)
                items_bar_2 = np.zeros_like(items_6)
                items_bar_tape_2.append(items_bar_2)
                for k in range(place_2):
                    items_6[k] = items[k]
                items_5 = np.empty(capacity, np.int64)
                for k in range(place_2):
                    items_5[k] = items_2[k]
                position_5 += 1
                items = items_6
                items_2 = items_5
            chosen_tape.append(items)
            chosen_bar_tape_2.append(items_bar_2)
            items[place_2] = total_2
            items_2[place_2] = remainder
            trips_2 = 0
            while place_2 > 0:
                place_tape_4.append(place_2)
                quotient = (place_2 - 1) // 2
                is_below = quotient < 0
                place_3 = place + quotient if is_below else quotient
                chosen_item = items[place_3]
                chosen_item_2 = items_2[place_3]
                if total_2 == chosen_item:
                    is_before = remainder < chosen_item_2
                else:
                    is_before = total_2 < chosen_item
                is_not = not is_before
                is_not_tape_2.append(is_not)
                if not is_not:
                    place_3 = place + quotient if is_below else quotient
                    chosen_item = items[place_3]
                    chosen_item_2 = items_2[place_3]
                    if place_2 < 0:
                        place_2 += place
                    items[place_2] = chosen_item
                    items_2[place_2] = chosen_item_2
                    place_2 = quotient
                position_4 += 1
                trips_2 += 1
                if is_not:
                    break
            place_tape_3.append(place_2)
            trips_tape_2.append(trips_2)
            if place_2 < 0:
                place_2 += place
            items[place_2] = total_2
            items_2[place_2] = remainder
            total_2 = cost + costs_item * math.sqrt(hops_1)
            remainder = (node + hops_1) % n
            if items.size == place:
                capacity = max(place * 2, 4)
                items_6 = np.empty(capacity)
                items_bar_2 = np.zeros_like(items_6)
                items_bar_tape.append(items_bar_2)
                for k in range(place):
                    items_6[k] = items[k]
                items_5 = np.empty(capacity, np.int64)
                for k in range(place):
                    items_5[k] = items_2[k]
                position_3 += 1
                items = items_6
                items_2 = items_5
            chosen_bar_tape.append(items_bar_2)
            items[place] = total_2
            items_2[place] = remainder
            count = place + 1
            trips_2 = 0
            while place > 0:
                place_tape_2.append(place)
                quotient = (place - 1) // 2
                is_below = quotient < 0
                place_2 = count + quotient if is_below else quotient
                chosen_item = items[place_2]
                chosen_item_2 = items_2[place_2]
                if total_2 == chosen_item:
                    is_before = remainder < chosen_item_2
                else:
                    is_before = total_2 < chosen_item
                is_not = not is_before
                is_not_tape.append(is_not)
                if not is_not:
                    place_2 = count + quotient if is_below else quotient
                    chosen_item = items[place_2]
                    chosen_item_2 = items_2[place_2]
                    if place < 0:
                        place += count
                    items[place] = chosen_item
                    items_2[place] = chosen_item_2
                    place = quotient
                position_2 += 1
                trips_2 += 1
                if is_not:
                    break
            place_tape.append(place)
            trips_tape.append(trips_2)
            if place < 0:
                place += count
            items[place] = total_2
            items_2[place] = remainder
            position += 1
            place = count
        trips += 1
    # ---- reverse sweep
    costs_bar = np.zeros_like(costs)
    # L174: return sum(reached.values())
    for i in range(items_4):
        items_bar[i] += 1.0
    for trip in range(trips - 1, -1, -1):
        # L171: reached[node] = cost
        items_4 = items_tape[trip]
        items = items_tape_2[trip]
        items_bar = items_bar_tape_4[trip]
        node = node_tape[trip]
        items_7 = items_tape_3[trip]
        items_2 = items_tape_4[trip]
        items_bar_2 = items_bar_tape_5[trip]
        if is_there_tape[trip]:
            cost_bar = 0.0
        else:
            position -= 1
            # L173: heapq.heappush(waiting, (cost + costs[node] * math.sqrt(hop), (node + hop) % n))
            chosen_bar = chosen_bar_tape[position]
            place = place_tape[position]
            if place < 0:
                place += items_4 + 1
            stored_bar = chosen_bar[place]
            chosen_bar[place] = 0.0
            for trip in range(trips_tape[position] - 1, -1, -1):
                place = place_tape_2[position_2 - 1]
                quotient = (place - 1) // 2
                is_below = quotient < 0
                if not is_not_tape[position_2 - 1]:
                    if place < 0:
                        place += items_4 + 1
                    stored_bar_2 = chosen_bar[place]
                    chosen_bar[place] = 0.0
                    chosen_bar[items_4 + 1 + quotient if is_below else quotient] += stored_bar_2
                position_2 -= 1
            stored_bar_2 = chosen_bar[items_4]
            chosen_bar[items_4] = 0.0
            sum_bar = stored_bar + stored_bar_2
            chosen = chosen_tape[position]
            chosen_bar = chosen_bar_tape_2[position]
            if chosen.size == items_4:
                position_3 -= 1
                items_bar_3 = items_bar_tape[position_3]
                for k in range(items_4):
                    stored_bar = items_bar_3[k]
                    items_bar_3[k] = 0.0
                    chosen_bar[k] += stored_bar
            costs_item_bar = math.sqrt(hops_1) * sum_bar
            place = place_tape_3[position]
            if place < 0:
                place += items_4
            stored_bar = chosen_bar[place]
            chosen_bar[place] = 0.0
            for trip in range(trips_tape_2[position] - 1, -1, -1):
                place = place_tape_4[position_4 - 1]
                quotient = (place - 1) // 2
                is_below = quotient < 0
                if not is_not_tape_2[position_4 - 1]:
                    if place < 0:
                        place += items_4
                    stored_bar_2 = chosen_bar[place]
                    chosen_bar[place] = 0.0
                    chosen_bar[items_4 + quotient if is_below else quotient] += stored_bar_2
                position_4 -= 1
            stored_bar_2 = chosen_bar[items_4 - 1]
            chosen_bar[items_4 - 1] = 0.0
            sum_bar_2 = stored_bar + stored_bar_2
            if items.size == items_4 - 1:
                position_5 -= 1
                items_bar_3 = items_bar_tape_2[position_5]
                for k in range(items_4 - 1):
                    stored_bar = items_bar_3[k]
                    items_bar_3[k] = 0.0
                    items_bar[k] += stored_bar
            cost_bar = sum_bar + sum_bar_2
            costs_item_bar_2 = math.sqrt(hops_0) * sum_bar_2
            costs_bar[node] += (
                (0.0 if (sum_bar == 0.0) & np.isnan(costs_item_bar) else costs_item_bar)
                + (0.0 if (sum_bar_2 == 0.0) & np.isnan(costs_item_bar_2) else costs_item_bar_2)
            )
            # L171: reached[node] = cost
            result = result_tape[position]
            if result < 0:
                position_6 -= 1
                chosen_bar = chosen_bar_tape_3[position_6]
                stored_bar = chosen_bar[items_7]
                chosen_bar[items_7] = 0.0
                cost_bar += stored_bar
                chosen_2 = chosen_tape_2[position_6]
                chosen_2[items_7] = chosen_old_tape[position_6]
                if items_2.size == items_7:
                    position_7 -= 1
                    items_bar_3 = items_bar_tape_3[position_7]
                    for k in range(items_7):
                        stored_bar = items_bar_3[k]
                        items_bar_3[k] = 0.0
                        items_bar_2[k] += stored_bar
            else:
                stored_bar = items_bar_2[result]
                items_bar_2[result] = 0.0
                cost_bar += stored_bar
        # L168: cost, node = heapq.heappop(waiting)
        if items_4 - 1 > 0:
            position_8 -= 1
            place = place_tape_5[position_8]
            if place < 0:
                place += items_4 - 1
            stored_bar = items_bar[place]
            items_bar[place] = 0.0
            for trip in range(trips_tape_3[position_8] - 1, -1, -1):
                place = place_tape_6[position_9 - 1]
                child = child_tape[position_9 - 1]
                total = child + 1
                if both_tape[position_9 - 1]:
                    child = total
                is_below = child < 0
                if not is_before_tape[position_9 - 1]:
                    if place < 0:
                        place += items_4 - 1
                    stored_bar_2 = items_bar[place]
                    items_bar[place] = 0.0
                    items_bar[items_4 - 1 + child if is_below else child] += stored_bar_2
                position_9 -= 1
            items_item_bar = stored_bar + items_bar[0]
            items_bar[0] = cost_bar
        else:
            items_item_bar = cost_bar
        items_bar[items_4 - 1] += items_item_bar
    return costs_bar
