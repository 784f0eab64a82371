"""From the mirror of a function to both sweeps in one: the reverse half of the road.

    storage ──► fusion ──► promotion ──► single trips ──► clears ──► carried clears ──► gather ──► carried clears
            ──► fills ──► common factors ──► outer products ──► substitution ──► rows ──► margins
            ──► delayed updates ──► limit

In: `Sweeps`. Out: a function of the arguments and the seeds, to the value's leaves if asked for and the adjoints. Which
loops run their trips again is known only when it is seen which keep tapes; then storage is decided once more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

from adjit.transform import ir
from adjit.transform.derive.mirror import Sweeps
from adjit.transform.rewrite.cheap_elements import substitute_elements
from adjit.transform.rewrite.define_undefined import defined_between_sweeps
from adjit.transform.rewrite.notes import note, recording
from adjit.transform.rewrite.passes import Pass, run_passes
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked
from adjit.transform.storage import Joint, are_kept, fuse, join, leave_room, requests_for, with_versions
from adjit.transform.strategy import Strategy
from adjit.transform.sweeps.clears import (
    CarriedClears,
    ascending,
    carry_clears,
    leave_out_clears,
    leave_out_fills,
    merge_clears,
    promote_sums,
    with_margins,
)
from adjit.transform.sweeps.common_factors import with_common_factors
from adjit.transform.sweeps.delayed_updates import delay_updates
from adjit.transform.sweeps.gather import gather
from adjit.transform.sweeps.matrix_pass_fusion import pass_once
from adjit.transform.sweeps.one_hot_loops import take_single_trips
from adjit.transform.sweeps.outer_products import through_vectors


def both_sweeps(
    sweeps: Sweeps,
    extra: Sequence[ir.Var],
    with_value: bool,
    limit: int | None,
    strategy: Strategy,
    around: Callable[[ir.Function], ir.Function] = lambda made: made,
) -> ir.Function:
    """Both sweeps in one function, trips back to back where that can be. `limit`: bytes for snapshots of loops.

    `around`: puts them into loops, if they are those of one trip.
    """
    joint, made = _stored(sweeps, extra, with_value, limit, strategy, strategy.uses("fuse"))
    made = around(made)
    promote = partial(promote_sums, shadows=joint.shadows.values())
    made = run_passes((Pass("promotion", promote, strategy.uses("promote")),), made)
    return _finished(made, limit, strategy, is_joint=True)


def sweeps_apart(sweeps: Sweeps, extra: Sequence[ir.Var], limit: int | None, strategy: Strategy) -> ir.Function:
    """Both sweeps in one function, one after the other, as they will be cut."""
    # that they are apart is to run the forward sweep once: without a limit no trip is run again
    may_run_again = limit is not None or strategy.trips == "again"
    _, made = _stored(sweeps, extra, True, limit, strategy, False, may_run_again)
    return _finished(made, limit, strategy, is_joint=False)


def _stored(
    sweeps: Sweeps,
    extra: Sequence[ir.Var],
    with_value: bool,
    limit: int | None,
    strategy: Strategy,
    is_fused: bool,
    may_run_again: bool = True,
) -> tuple[Joint, ir.Function]:
    """Both sweeps joined, and the function of that, once it is known which loops run their trips again."""
    if strategy.versions and limit is None and strategy.trips == "chosen":
        strategy = dataclasses.replace(strategy, versions=False)
        versions = with_versions(sweeps)
        if versions is not None:
            with recording() as noted:
                found = _stored(versions, extra, with_value, limit, strategy, is_fused, may_run_again)
            if are_kept(found[1]):
                note(*noted)
                return found
    with recording() as noted:
        joint = join(sweeps, extra, with_value, strategy)
        made = _joined(joint, is_fused)
    if may_run_again:
        requests = requests_for(joint.primal, _tapes(joint, made), set(joint.shadows.values()), limit, strategy)
        if requests:
            with recording() as noted:
                joint = join(sweeps, extra, with_value, strategy, requests)
                made = _joined(joint, is_fused)
    note(*noted)
    return joint, made


def _joined(joint: Joint, is_fused: bool) -> ir.Function:
    stored = checked(simplify(defined_between_sweeps(checked(joint.function, "reversed"))), "stored")
    return checked(simplify(fuse(stored, joint)), "fused") if is_fused else stored


def _finished(function: ir.Function, limit: int | None, strategy: Strategy, is_joint: bool) -> ir.Function:
    """The stores of the reverse sweep as one would write them, and, if tuned, gathered; with room under a limit.

    `is_joint`: the two sweeps stay together.
    """
    uses = strategy.uses
    passes = (
        Pass("single trips", take_single_trips, uses("single"), simplify),
        Pass("clears", lambda made: leave_out_clears(merge_clears(made)), uses("clears")),
        *(_gathering(strategy, is_joint) if strategy.tuned else (Pass("simplified", simplify),)),
        Pass("limit", lambda made: simplify(leave_room(made)), limit is not None),
    )
    return run_passes(passes, function)


def _gathering(strategy: Strategy, is_joint: bool) -> Sequence[Pass]:
    """Has the sums of neighbours where they are read, and every element stored to once."""
    uses = strategy.uses

    def gathered(function: ir.Function) -> ir.Function:
        carried = function.analysis(CarriedClears).pair if uses("carry") else None
        made = gather(function, carried, uses)
        return simplify(ascending(made) if uses("upwards") else made)

    return (
        Pass("carried clears", carry_clears, uses("carry")),
        Pass("gather", gathered, uses("gather")),
        Pass("carried clears", carry_clears, uses("carry"), simplify),
        Pass("fills", leave_out_fills, uses("fills")),
        Pass("common factors", with_common_factors, uses("factors"), simplify),
        Pass("outer products", through_vectors, uses("outer"), simplify),
        Pass("substitution", substitute_elements, uses("substitute")),
        Pass("rows", partial(pass_once, substitutes=uses("substitute"), is_joint=is_joint), uses("passes")),
        Pass("margins", with_margins, uses("margins")),
        Pass("delayed updates", delay_updates, uses("delay"), simplify),
    )


def _tapes(joint: Joint, function: ir.Function) -> dict[ir.Op, list[int]]:
    """The loops that still have tapes, with their axes: a loop that is one with its mirror has no pair any more."""
    apart = {op.pair for op in function.body.ops if isinstance(op, ir.For) and not op.is_mirror}
    return {loop: axes for loop, axes in joint.tapes.items() if loop in apart}
