"""Messages between the processes of MPI as calls of their own, each of which MPI's standard has the reverse of.

In: vectors, and who they go to or come from. Out: vectors that nobody else holds, so that derivatives, which know no
call that writes into what it is given, take them as they take any array.

    got, source, tag = received(n, left, 0)         of which the reverse is  sent(got_bar, source, tag)

A request is a number: the address of what is on its way, exact in a float64. So the adjoint of a request is a request,
that of the message back: it goes from the reverse of the wait to the reverse of what was waited for, as adjoints do.

numba compiles these with the addresses of MPI's objects in this process, so they are never kept for another one.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from mpi4py import MPI
from numba import carray  # type: ignore[attr-defined]
from numba_mpi import rank, size
from numba_mpi.api.operator import Operator
from numba_mpi.common import (
    _MPI_Comm_World_ptr,
    _MpiComm,
    _MpiDatatype,
    _MpiOp,
    libmpi,
)
from numba_mpi.utils import _address_as_void_pointer, _mpi_addr, _mpi_dtype

PROC_NULL, ANY_SOURCE, ANY_TAG = MPI.PROC_NULL, MPI.ANY_SOURCE, MPI.ANY_TAG

_ADDRESS, _INT = ctypes.c_size_t, ctypes.c_int
_PART = (_ADDRESS, _INT, _MpiDatatype)


def _function(name: str, *kinds: Any) -> Any:
    """A function of MPI's that takes addresses as numbers; another object than those of numba_mpi."""
    found = libmpi[name]
    found.restype, found.argtypes = _INT, kinds
    return found


_send = _function("MPI_Send", *_PART, _INT, _INT, _MpiComm)
_recv = _function("MPI_Recv", *_PART, _INT, _INT, _MpiComm, _ADDRESS)
_isend = _function("MPI_Isend", *_PART, _INT, _INT, _MpiComm, _ADDRESS)
_irecv = _function("MPI_Irecv", *_PART, _INT, _INT, _MpiComm, _ADDRESS)
_wait = _function("MPI_Wait", _ADDRESS, _ADDRESS)
_count = _function("MPI_Get_count", _ADDRESS, _MpiDatatype, _ADDRESS)
_allreduce = _function("MPI_Allreduce", _ADDRESS, *_PART, _MpiOp, _MpiComm)
_reduce = _function("MPI_Reduce", _ADDRESS, *_PART, _MpiOp, _INT, _MpiComm)
_reduce_scatter = _function("MPI_Reduce_scatter_block", _ADDRESS, *_PART, _MpiOp, _MpiComm)
_bcast = _function("MPI_Bcast", *_PART, _INT, _MpiComm)
_gather = _function("MPI_Gather", *_PART, *_PART, _INT, _MpiComm)
_scatter = _function("MPI_Scatter", *_PART, *_PART, _INT, _MpiComm)
_allgather = _function("MPI_Allgather", *_PART, *_PART, _MpiComm)

_libc = ctypes.CDLL(None)
_malloc, _free = _libc["malloc"], _libc["free"]
_malloc.restype, _malloc.argtypes = _ADDRESS, (_ADDRESS,)
_free.restype, _free.argtypes = None, (_ADDRESS,)

_HEAD = 16  # bytes before what is on its way: the request of MPI's


def _places_in_status() -> tuple[int, int]:
    """Which integers of a status are source and tag; libraries differ."""
    status = MPI.Status()
    status.source, status.tag = 1234567, 7654321
    numbers = list((ctypes.c_int * (MPI._sizeof(MPI.Status) // 4)).from_address(MPI._addressof(status)))
    return numbers.index(1234567), numbers.index(7654321)


_SOURCE, _TAG = _places_in_status()
_STATUS = -(-MPI._sizeof(MPI.Status) // 4)  # integers in one


@numba.njit
def _check(status: int) -> None:
    if status != 0:
        raise RuntimeError("a call of MPI failed")


@numba.njit
def _operation(address: int) -> Any:
    return carray(_address_as_void_pointer(address), (1,), np.intp)[0]


_SUM, _MAX, _MIN = map(int, (Operator.SUM, Operator.MAX, Operator.MIN))


def _messages(kind: Any) -> tuple[Any, ...]:
    """From one process to another, done when they return."""

    @numba.njit
    def sent(data: Any, dest: Any, tag: Any) -> int:
        """Sends a vector, and returns when it may be changed; 0."""
        _check(_send(data.ctypes.data, data.size, _mpi_dtype(data), dest, tag, _mpi_addr(_MPI_Comm_World_ptr)))
        return 0

    @numba.njit
    def received(n: Any, source: Any, tag: Any) -> Any:
        """A vector of at most n elements; where it came from, and its tag."""
        made, status, count = np.empty(n, kind), np.empty(_STATUS, np.intc), np.empty(1, np.intc)
        world = _mpi_addr(_MPI_Comm_World_ptr)
        _check(_recv(made.ctypes.data, n, _mpi_dtype(made), source, tag, world, status.ctypes.data))
        _check(_count(status.ctypes.data, _mpi_dtype(made), count.ctypes.data))
        return made[: count[0]].copy(), np.int64(status[_SOURCE]), np.int64(status[_TAG])

    return sent, received


def _requests(kind: Any) -> tuple[Any, ...]:
    """The same, begun and waited for."""
    width = np.dtype(kind).itemsize

    @numba.njit
    def _block(n: Any) -> Any:
        """Memory for a message of n elements on its way."""
        address = _malloc(_HEAD + n * width)
        return np.int64(address), carray(_address_as_void_pointer(address + _HEAD), (n,), kind)

    @numba.njit
    def posted_send(data: Any, dest: Any, tag: Any) -> float:
        """Begins to send a copy of a vector: a request for `delivered`."""
        address, held = _block(data.size)
        held[:] = data
        world = _mpi_addr(_MPI_Comm_World_ptr)
        _check(_isend(held.ctypes.data, data.size, _mpi_dtype(held), dest, tag, world, address))
        return float(address)

    @numba.njit
    def posted_receive(n: Any, source: Any, tag: Any) -> float:
        """Begins to receive a vector of at most n elements: a request for `finished`."""
        address, held = _block(n)
        world = _mpi_addr(_MPI_Comm_World_ptr)
        _check(_irecv(held.ctypes.data, n, _mpi_dtype(held), source, tag, world, address))
        return float(address)

    @numba.njit
    def _waited(request: Any) -> Any:
        """Waits for a request of its own: its memory, and the status."""
        address, status = np.int64(request), np.empty(_STATUS, np.intc)
        if address == 0:
            raise RuntimeError("a message was begun, and no wait follows")
        _check(_wait(address, status.ctypes.data))
        return address, status

    @numba.njit
    def finished(request: Any, n: Any, source: Any, tag: Any) -> Any:
        """What a request for at most n elements has brought, when it has."""
        address, status = _waited(request)
        held, count = carray(_address_as_void_pointer(address + _HEAD), (n,), kind), np.empty(1, np.intc)
        _check(_count(status.ctypes.data, _mpi_dtype(held), count.ctypes.data))
        made = held[: count[0]].copy()
        _free(np.uint64(address))
        return made

    @numba.njit
    def delivered(request: Any, n: Any, dest: Any, tag: Any) -> int:
        """Waits until a vector of n elements is on its way for good; 0."""
        address, _ = _waited(request)
        _free(np.uint64(address))
        return 0

    return posted_send, posted_receive, finished, delivered


def _sums(kind: Any) -> tuple[Any, ...]:
    """What all processes have, put together."""

    @numba.njit
    def _combined(data: Any, operator: int) -> Any:
        made = np.empty(data.size, kind)
        world = _mpi_addr(_MPI_Comm_World_ptr)
        kind_, by = _mpi_dtype(data), _operation(operator)
        _check(_allreduce(data.ctypes.data, made.ctypes.data, data.size, kind_, by, world))
        return made

    @numba.njit
    def summed(data: Any) -> Any:
        """The sum over all processes, in each of them."""
        return _combined(data, _SUM)

    @numba.njit
    def greatest(data: Any) -> Any:
        """The greatest over all processes, element by element, in each of them."""
        return _combined(data, _MAX)

    @numba.njit
    def least(data: Any) -> Any:
        """The least over all processes, element by element, in each of them."""
        return _combined(data, _MIN)

    @numba.njit
    def summed_at(data: Any, root: Any) -> Any:
        """The sum over all processes at the root, and nothing elsewhere."""
        made = np.empty(data.size if rank() == root else 0, kind)
        world, kind_, by = _mpi_addr(_MPI_Comm_World_ptr), _mpi_dtype(data), _operation(_SUM)
        _check(_reduce(data.ctypes.data, made.ctypes.data, data.size, kind_, by, root, world))
        return made

    @numba.njit
    def part_of_sum(data: Any, n: Any) -> Any:
        """The n elements for this process of the sum over all of what each has for all."""
        made = np.empty(n, kind)
        kind_, by, world = _mpi_dtype(data), _operation(_SUM), _mpi_addr(_MPI_Comm_World_ptr)
        _check(_reduce_scatter(data.ctypes.data, made.ctypes.data, n, kind_, by, world))
        return made

    return summed, greatest, least, summed_at, part_of_sum


def _parts(kind: Any) -> tuple[Any, ...]:
    """What one process has for all, or all for one."""

    @numba.njit
    def broadcast(data: Any, n: Any, root: Any) -> Any:
        """The n elements that the root has, in each process."""
        made = np.empty(n, kind)
        if rank() == root:
            made[:] = data
        _check(_bcast(made.ctypes.data, n, _mpi_dtype(made), root, _mpi_addr(_MPI_Comm_World_ptr)))
        return made

    @numba.njit
    def gathered(data: Any, root: Any) -> Any:
        """What all processes have, one after the other, at the root; and nothing elsewhere."""
        made = np.empty(data.size * size() if rank() == root else 0, kind)
        kind_, n, world = _mpi_dtype(data), data.size, _mpi_addr(_MPI_Comm_World_ptr)
        _check(_gather(data.ctypes.data, n, kind_, made.ctypes.data, n, kind_, root, world))
        return made

    @numba.njit
    def scattered(data: Any, n: Any, root: Any) -> Any:
        """The n elements for this process of what the root has for all."""
        made = np.empty(n, kind)
        if rank() == root and data.size < n * size():
            raise ValueError("the root has too few elements to scatter")
        kind_, world = _mpi_dtype(made), _mpi_addr(_MPI_Comm_World_ptr)
        _check(_scatter(data.ctypes.data, n, kind_, made.ctypes.data, n, kind_, root, world))
        return made

    @numba.njit
    def gathered_everywhere(data: Any) -> Any:
        """What all processes have, one after the other, in each of them."""
        made = np.empty(data.size * size(), kind)
        kind_, n = _mpi_dtype(data), data.size
        _check(_allgather(data.ctypes.data, n, kind_, made.ctypes.data, n, kind_, _mpi_addr(_MPI_Comm_World_ptr)))
        return made

    return broadcast, gathered, scattered, gathered_everywhere


def _of_kind(kind: Any) -> SimpleNamespace:
    """The calls for vectors of numbers of one type, by their names."""
    made = (*_messages(kind), *_requests(kind), *_sums(kind), *_parts(kind))
    return SimpleNamespace(**{call.__name__: call for call in made})


OF_KIND = {np.dtype(kind): _of_kind(kind) for kind in (np.float64, np.int64, np.int32)}
