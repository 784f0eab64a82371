"""Calls of numba_mpi inside of functions that are differentiated: with this module imported they have adjoints.

In: a function that each process of MPI runs, with `send recv sendrecv isend irecv wait waitall bcast reduce allreduce
scatter gather allgather barrier rank size` of numba_mpi in it. Out: its derivatives, in which the messages go back.

    import adjit.bridges.mpi                    numba_mpi.send(u[1:2], left)      forward sweep
    gradient = adjit.grad(simulate)             u_bar[1] += received from left    reverse sweep

*What is differentiated* is the sum of the results over all processes: each of them seeds its own with 1, or with what
it gives to its pullback, and gets the gradient with respect to its own arguments. A result that all processes share,
such as a total after `allreduce`, counts once for each: divide it by `size()`, or return it from one process only. A
parameter that all processes are given alike has its gradient in parts; the whole is their sum. Every process has to
call the same derivative, as it has to call the same function.

*Order.* A process runs the reverse of its program, last statement first, so the k-th last message between two processes
in the one direction is the k-th of the reverse sweep in the other. What waits for what is turned around as well: where
the program cannot deadlock, its reverse cannot, and a `send` that MPI has to keep until it is asked for is mirrored by
one that it has to keep too. In forward mode the tangent of a message follows it.

    send(x, r, t)                x_bar += received from r with tag t
    recv(x, r, t)                x_bar is sent to r with tag t, and is then 0, as x was overwritten
    q = isend(x, r, t); wait(q)  the wait begins to receive, and isend waits for it:  x_bar += that
    q = irecv(x, r, t); wait(q)  the wait begins to send x_bar, which is then 0, and irecv waits for it
    allreduce(x, y, SUM)         x_bar += allreduce(y_bar, SUM); MIN, MAX: to those who had it, in equal shares
    reduce, bcast                each the other's; gather, scatter: likewise; allgather: the sum, a part to each

The messages are those of MPI's world, of vectors and arrays of float64; those of int32 and int64 carry no derivative.
A failing call raises RuntimeError, so that the status that these functions return is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba_mpi
import numpy as np
from numba_mpi import Operator

from adjit.bridges.messages import ANY_SOURCE, ANY_TAG, OF_KIND, PROC_NULL
from adjit.rules.registry import builtin, known_when_compiled

decomposition, exchange = builtin.decomposition, builtin.exchange

builtin.constant(numba_mpi.rank, numba_mpi.size, numba_mpi.initialized, numba_mpi.query_thread)
builtin.effect(numba_mpi.barrier, numba_mpi.wtime)


@known_when_compiled
def calls(kind):
    """The calls for vectors of a type."""
    return OF_KIND.get(np.dtype(kind))


@known_when_compiled
def is_one_of(operator, name):
    return Operator(operator).name == name


def of(data):
    """The calls for an array."""
    own = calls(data.dtype)
    if own is None:
        raise NotImplementedError("a message of a type other than float64, int32 and int64")
    return own


def flat(data):
    """What MPI sends of an array: a vector."""
    return np.ascontiguousarray(data).reshape(-1)


def arrived(data, got):
    """Stores a message into an array, or into the beginning of a vector."""
    if data.ndim == 1:
        for i in range(got.size):
            data[i] = got[i]
    elif got.size == data.size:
        data[...] = got.reshape(data.shape)
    elif got.size > 0:
        raise ValueError("a message that fills a part of an array with more than one axis")


# ------------------------------------------------------------------------------------------------- from one to another


@decomposition(numba_mpi.send)
def send(data, dest, tag=0):
    if dest != PROC_NULL:
        of(data).sent(flat(data), dest, tag)
    return 0


@decomposition(numba_mpi.recv)
def recv(data, source=ANY_SOURCE, tag=ANY_TAG):
    if source != PROC_NULL:
        got, _, _ = of(data).received(data.size, source, tag)
        arrived(data, got)
    return 0


@decomposition(numba_mpi.sendrecv)
def sendrecv(senddata, dest, recvdata, source=ANY_SOURCE, sendtag=0, recvtag=ANY_TAG):
    _, request = irecv(recvdata, source, recvtag)
    send(senddata, dest, sendtag)
    request.wait()
    return 0


@dataclass(frozen=True, eq=False)
class Nothing:
    """A message to nobody, or from nobody, on its way."""

    def wait(self):
        return 0


@dataclass(frozen=True, eq=False)
class Sending:
    """A message on its way from here. `request`: of whose adjoint is made what comes back."""

    request: Any
    data: Any
    dest: Any
    tag: Any

    def wait(self):
        if self.dest != PROC_NULL:
            of(self.data).delivered(self.request, self.data.size, self.dest, self.tag)
        return 0


@dataclass(frozen=True, eq=False)
class Receiving:
    """A message on its way into an array."""

    request: Any
    data: Any
    source: Any
    tag: Any

    def wait(self):
        if self.source != PROC_NULL:
            arrived(self.data, of(self.data).finished(self.request, self.data.size, self.source, self.tag))
        return 0


@decomposition(numba_mpi.isend)
def isend(data, dest, tag=0):
    request = 0.0
    if dest != PROC_NULL:
        request = of(data).posted_send(flat(data), dest, tag)
    return 0, Sending(request, data, dest, tag)


@decomposition(numba_mpi.irecv)
def irecv(data, source=ANY_SOURCE, tag=ANY_TAG):
    if source == ANY_SOURCE or tag == ANY_TAG:
        raise NotImplementedError("irecv from any source, or of any tag: name both, or use recv")
    request = 0.0
    if source != PROC_NULL:
        request = of(data).posted_receive(data.size, source, tag)
    return 0, Receiving(request, data, source, tag)


@decomposition(numba_mpi.wait)
def wait(request):
    return request.wait()


@decomposition(numba_mpi.waitall)
def waitall(requests):
    for request in requests:
        request.wait()
    return 0


@decomposition(numba_mpi.waitany, numba_mpi.test, numba_mpi.testall, numba_mpi.testany)
def in_any_order(*given):
    raise NotImplementedError("a test whether a message has arrived, or waitany: use wait or waitall")


# ------------------------------------------------------------------------------------------------------------ of all


@decomposition(numba_mpi.allreduce)
def allreduce(sendobj, recvobj, operator=Operator.SUM):
    arrived(recvobj, combined(vector(sendobj), operator))
    return 0


@decomposition(numba_mpi.reduce)
def reduce(sendobj, recvobj, operator, root):
    data = vector(sendobj)
    if is_one_of(operator, "SUM"):
        arrived(recvobj, of(data).summed_at(data, root))
    else:
        got = combined(data, operator)
        if numba_mpi.rank() == root:
            arrived(recvobj, got)
    return 0


def vector(sendobj):
    return np.array([sendobj]) if np.ndim(sendobj) == 0 else flat(sendobj)


def combined(data, operator):
    """What the operator makes of the elements of all processes."""
    if is_one_of(operator, "SUM"):
        return of(data).summed(data)
    return of(data).greatest(data) if is_one_of(operator, "MAX") else of(data).least(data)


@decomposition(numba_mpi.bcast)
def bcast(data, root):
    got = of(data).broadcast(flat(data), data.size, root)
    if numba_mpi.rank() != root:
        arrived(data, got)
    return 0


@decomposition(numba_mpi.scatter)
def scatter(send_data, recv_data, count, root):
    arrived(recv_data, of(recv_data).scattered(flat(send_data), count, root))
    return 0


@decomposition(numba_mpi.gather)
def gather(send_data, recv_data, count, root):
    arrived(recv_data, of(recv_data).gathered(flat(send_data), root))
    return 0


@decomposition(numba_mpi.allgather)
def allgather(send_data, recv_data, count):
    arrived(recv_data, of(recv_data).gathered_everywhere(flat(send_data)))
    return 0


# ----------------------------------------------------------------------------------------------------------- the rules


def of_size(got, n):
    """A vector of n elements that begins with these, and goes on with zeros."""
    made = np.zeros(n)
    for i in range(got.size):
        made[i] = got[i]
    return made


def shares(data, found, own):
    """How much of what was found is here: 1, where several have it an equal part of that, or 0."""
    has = np.where(data == found, 1.0, 0.0)
    return has / own.summed(has)


# of the calls for vectors of one type; of integers what goes back is zero


def _of_messages(own: Any) -> None:
    def sent_tangent(data, dest, tag, data_dot):
        own.sent(data_dot, dest, tag)
        return None

    def sent_adjoint(data, dest, tag):
        got, _, _ = own.received(data.size, dest, tag)
        return got, None, None

    def received_tangent(n, source, tag, *, got):
        got_dot, _, _ = own.received(n, got[1], got[2])
        return got_dot, None, None

    def received_adjoint(n, source, tag, *, got, got_bar):
        own.sent(got_bar[0], got[1], got[2])
        return None, None, None

    exchange(own.sent, sent_tangent, sent_adjoint)
    exchange(own.received, received_tangent, received_adjoint)


def _of_requests(own: Any) -> None:
    def posted_send_tangent(data, dest, tag, data_dot):
        return own.posted_send(data_dot, dest, tag)

    def posted_send_adjoint(data, dest, tag, *, request_bar):
        return own.finished(request_bar, data.size, dest, tag), None, None

    def posted_receive_tangent(n, source, tag):
        return own.posted_receive(n, source, tag)

    def posted_receive_adjoint(n, source, tag, *, request_bar):
        own.delivered(request_bar, n, source, tag)
        return None, None, None

    def finished_tangent(request, n, source, tag, request_dot):
        return own.finished(request_dot, n, source, tag)

    def finished_adjoint(request, n, source, tag, *, got_bar):
        return own.posted_send(got_bar, source, tag), None, None, None

    def delivered_tangent(request, n, dest, tag, request_dot):
        own.delivered(request_dot, n, dest, tag)
        return None

    def delivered_adjoint(request, n, dest, tag):
        return own.posted_receive(n, dest, tag), None, None, None

    exchange(own.posted_send, posted_send_tangent, posted_send_adjoint)
    exchange(own.posted_receive, posted_receive_tangent, posted_receive_adjoint)
    exchange(own.finished, finished_tangent, finished_adjoint)
    exchange(own.delivered, delivered_tangent, delivered_adjoint)


def _of_sums(own: Any) -> None:
    def extreme_tangent(data, data_dot, *, found):
        return own.summed(shares(data, found, own) * data_dot)

    def extreme_adjoint(data, *, found, found_bar):
        return shares(data, found, own) * own.summed(found_bar)

    exchange(own.greatest, extreme_tangent, extreme_adjoint)
    exchange(own.least, extreme_tangent, extreme_adjoint)
    exchange(own.summed, lambda data, data_dot: own.summed(data_dot), lambda data, *, total_bar: own.summed(total_bar))
    exchange(
        own.summed_at,
        lambda data, root, data_dot: own.summed_at(data_dot, root),
        lambda data, root, *, total_bar: (own.broadcast(total_bar, data.size, root), None),
    )
    exchange(
        own.part_of_sum,
        lambda data, n, data_dot: own.part_of_sum(data_dot, n),
        lambda data, n, *, got_bar: (of_size(own.gathered_everywhere(got_bar), data.size), None),
    )


def _of_parts(own: Any) -> None:
    exchange(
        own.broadcast,
        lambda data, n, root, data_dot: own.broadcast(data_dot, n, root),
        lambda data, n, root, *, got_bar: (of_size(own.summed_at(got_bar, root), data.size), None, None),
    )
    exchange(
        own.gathered,
        lambda data, root, data_dot: own.gathered(data_dot, root),
        lambda data, root, *, got_bar: (own.scattered(got_bar, data.size, root), None),
    )
    exchange(
        own.scattered,
        lambda data, n, root, data_dot: own.scattered(data_dot, n, root),
        lambda data, n, root, *, got_bar: (of_size(own.gathered(got_bar, root), data.size), None, None),
    )
    exchange(
        own.gathered_everywhere,
        lambda data, data_dot: own.gathered_everywhere(data_dot),
        lambda data, *, got_bar: own.part_of_sum(got_bar, data.size),
    )


for _own in OF_KIND.values():
    for _rules in (_of_messages, _of_requests, _of_sums, _of_parts):
        _rules(_own)
