"""The intermediate representation: structured, in single-assignment form, typed with numba's types.

In: nothing. Out: the node classes that every pass reads and makes, and the helpers that all passes share.
A `Region` is a list of operations with arguments and yields; control flow is regions inside operations, so there is no
control-flow graph. Scalars are values; arrays are references to mutable memory. Tuples, modules and other static
things are resolved by the front end and do not occur here.

    y = x * x            %y:float64 = call mul(%x, %x)
    for i in range(n):   %s1 = for %i in (0, %n, 1) carrying %s0 = (0.0,) {
        s += a[i]            %e = load %a[%i];  %s2 = call add(%s0, %e);  yield %s2 }
"""

from adjit.transform.ir.builder import Builder, element_name
from adjit.transform.ir.control import (
    BLOCK_AGAIN,
    FORWARD_SWEEP,
    HEADINGS,
    REVERSE_BLOCK,
    REVERSE_SWEEP,
    REVERSE_TRIP,
    REVERSED,
    Comment,
    For,
    If,
    Level,
    Raise,
    Slot,
    While,
    carried_args,
    joined,
    names_of_slots,
    next_slots,
    raises,
    with_results,
    with_slots,
)
from adjit.transform.ir.core import (
    Call,
    Const,
    Function,
    Op,
    Operand,
    Origin,
    Pair,
    Region,
    Subprogram,
    Tree,
    Type,
    Undefined,
    UserComment,
    Var,
    axis_at,
    boolean,
    canonical,
    cast,
    integer,
    is_array,
    is_literal,
    is_reference,
    leaves,
    map_tree,
    of_kinds,
    pairs,
    place_of,
    said_at,
    select,
)
from adjit.transform.ir.launches import Barrier, External, Launch, external, of_cuda
from adjit.transform.ir.memory import (
    VIEWS,
    AddProduct,
    Alloc,
    At,
    Copy,
    Detached,
    Extent,
    Load,
    NewAxis,
    NewTape,
    OfRows,
    Ordered,
    Passed,
    Pull,
    Push,
    Reshape,
    Role,
    Selector,
    Slice,
    Span,
    Store,
    Transpose,
)
from adjit.transform.ir.output import Made, Said, quoted
from adjit.transform.ir.requested_places import Place
from adjit.transform.ir.walking import (
    Cloner,
    base_of,
    free_vars,
    is_float,
    name_of,
    names_like,
    reads,
    regions,
    replaced,
    rewritten,
    rewritten_op,
    same,
    substituted,
    substituted_operand,
    substituted_region,
    unpaired,
    walk,
    with_body,
    with_inner,
    with_loops,
    with_ops,
    with_parts,
    with_regions,
    with_trips_of,
)
