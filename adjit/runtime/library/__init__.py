"""The few functions that generated code calls, as plain Python.

In: sizes, arrays, numbers. Out: what their names say. How numba compiles them is in `backend`.

    from adjit.runtime.library import broadcast_extent, workspace       as generated text has it
"""

from adjit.runtime.library import workspace
from adjit.runtime.library.checks import (
    broadcast_extent,
    check_apart,
    check_bounds,
    check_index,
    check_mask,
    check_output,
    check_separate,
    check_size,
    equal_extent,
    equal_size,
    has_nan,
    index_range,
    is_of_shapes,
    is_same_array,
    overlaps,
    overlaps_itself,
    same_extent,
    slice_inside,
    some_elements,
    stored_extent,
)
from adjit.runtime.library.hints import (
    distinct,
    held,
    multiply_add,
    multiply_subtract,
    reassociable_add,
    reassociable_max,
    reassociable_min,
    reassociable_sub,
    stop_gradient,
    unique,
)
from adjit.runtime.library.integers import integer_fmod, integer_power, shift_count, shift_left, shift_right
from adjit.runtime.library.parts import joined
from adjit.runtime.library.products import (
    add_product,
    fused_add_product,
    fused_subtract_product,
    subtract_product,
)
from adjit.runtime.library.raising import raise_made
from adjit.runtime.library.schedule import checkpoint_distance, default_snapshots, fitting_snapshots
from adjit.runtime.library.sets import united, united_all
from adjit.runtime.library.watch import is_stopped
from adjit.runtime.library.wrappers import home_of, own_attribute, under_cache
