"""What type checkers see of adjit: derived functions have the parameters of the function, and results have types.

A gradient has the type of the argument that it is with respect to. Which one that is, is known of the first three
positions: `grad(f)`, `grad(f, wrt=1)`, `grad(f, wrt=(0, 1))`. With respect to names, and to more of them, it is Any, as
no type checker knows which parameter has a name. `tests/typed/user.py` shows what is seen, `wrong.py` what is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, Unpack, overload

import numpy as np
from typing_extensions import TypeVar

from adjit import bridges as bridges
from adjit import cuda as cuda
from adjit import plot as plot
from adjit import rules as rules
from adjit.api.progress import progress as progress
from adjit.api.sparse import Sparsity
from adjit.api.specialise.ahead_of_time import precompile as precompile
from adjit.api.specialise.cache import cache_info as cache_info
from adjit.api.specialise.cache import clear_cache as clear_cache
from adjit.api.specialise.explain import Explanation
from adjit.api.specialise.options import Asked as _Options
from adjit.api.tools.check import check_grads as check_grads
from adjit.api.tools.rounding import RoundingError
from adjit.errors import AdjitError as AdjitError
from adjit.errors import Aliased as Aliased
from adjit.errors import InternalError as InternalError
from adjit.errors import NoRule as NoRule
from adjit.errors import NotCached as NotCached
from adjit.errors import NotDifferentiable as NotDifferentiable
from adjit.errors import NotScalar as NotScalar
from adjit.errors import OnlyDecides as OnlyDecides
from adjit.errors import Race as Race
from adjit.errors import ReadOnly as ReadOnly
from adjit.errors import SourceUnavailable as SourceUnavailable
from adjit.errors import TypeMismatch as TypeMismatch
from adjit.errors import Unsupported as Unsupported
from adjit.errors import Unwritten as Unwritten
from adjit.errors import WrongCall as WrongCall
from adjit.errors import WrongDevice as WrongDevice
from adjit.errors import WrongWrt as WrongWrt
from adjit.runtime.backend.pool import clear_workspaces as clear_workspaces
from adjit.runtime.backend.pool import workspace_bytes as workspace_bytes
from adjit.transform.source.marks import checkpoint as checkpoint
from adjit.transform.source.marks import intermediate as intermediate

__all__ = [
    "AdjitError", "Aliased", "InternalError", "NoRule", "NotCached", "NotDifferentiable", "NotScalar", "OnlyDecides",
    "Race", "ReadOnly", "SourceUnavailable", "TypeMismatch", "Unsupported", "Unwritten", "WrongCall", "WrongDevice",
    "WrongWrt", "cache_info", "check_grads", "checkpoint", "clear_cache", "clear_workspaces", "fixed_point", "grad",
    "hessian", "hvp", "implicit", "intermediate", "jacfwd", "jacobian", "jacrev", "jet", "jvp", "plot", "precompile",
    "progress", "rounding_error", "rules", "stop_gradient", "value_and_grad", "vjp", "vmap", "workspace_bytes",
]  # fmt: skip

__version__: str

_P = ParamSpec("_P")
_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)
_X = TypeVar("_X", default=Any)
_Y = TypeVar("_Y", default=Any)
_Z = TypeVar("_Z", default=Any)
_X_contra = TypeVar("_X_contra", contravariant=True)
_Y_contra = TypeVar("_Y_contra", contravariant=True)
_Z_contra = TypeVar("_Z_contra", contravariant=True)
_Aux = TypeVar("_Aux")
_S = TypeVar("_S", bound=tuple[int, ...])
_D = TypeVar("_D", bound=np.dtype[Any])
_Real = float | np.floating[Any]
_Number = complex | np.inexact[Any]
_Names = str | Sequence[str]
_Wrt = int | str | Sequence[int | str]
_Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
_Axes = int | None | tuple[int | None, ...] | Mapping[str, int | None]

# ------------------------------------------------------------------------- functions, with their first parameters apart

class _Of1(Protocol[_P, _X_contra, _R_co]):
    @overload
    def __call__(self, x: _X_contra, /, *args: Any, **kwargs: Any) -> _R_co: ...
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...

class _Of2(Protocol[_P, _X_contra, _Y_contra, _R_co]):
    @overload
    def __call__(self, x: _X_contra, y: _Y_contra, /, *args: Any, **kwargs: Any) -> _R_co: ...
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...

class _Of3(Protocol[_P, _X_contra, _Y_contra, _Z_contra, _R_co]):
    @overload
    def __call__(self, x: _X_contra, y: _Y_contra, z: _Z_contra, /, *args: Any, **kwargs: Any) -> _R_co: ...
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...

# ----------------------------------------------------------------------------------------------------- what is returned

class _Shown(Protocol):
    def source(self, *arguments: Any, tuned: bool = False) -> str: ...
    def explain(self, *arguments: Any) -> Explanation: ...
    def report(self, path: str | PathLike[str], *arguments: Any) -> None: ...

class _Derived(_Shown, Protocol[_P, _R_co]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...
    def save(self, path: str | PathLike[str], *arguments: Any, tuned: bool = False) -> None: ...
    def precompile(self, *arguments: Any) -> None: ...

class _Gradient(_Derived[_P, _R_co], Protocol[_P, _R_co]):
    def into(self, *arguments: Any, out: Any, **keywords: Any) -> _R_co: ...

class _Sparse(_Shown, Protocol[_P]):
    # a scipy.sparse.csr_array, of which SciPy has no types, or a tree of them
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...
    def sparsity(self, *args: _P.args, **kwargs: _P.kwargs) -> Sparsity: ...

class _Rounding(Protocol[_P]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> RoundingError: ...
    def source(self, *arguments: Any, tuned: bool = False) -> str: ...

class _Pullback(Protocol[_X_contra, _R_co]):
    @overload
    def __call__(self, seed: _X_contra, *, several: Literal[False] = False) -> _R_co: ...
    @overload
    def __call__(self, seed: Any, *, several: Literal[True]) -> tuple[Any, ...]: ...
    def source(self) -> str: ...
    def explain(self) -> Explanation: ...

# ----------------------------------------------------------------------------------------------------------- gradients

class _GradOf(Protocol):
    def __call__(self, function: _Of1[_P, _X, _Real], /) -> _Gradient[_P, _X]: ...

class _GradWithAuxOf(Protocol):
    def __call__(self, function: _Of1[_P, _X, tuple[_Real, _Aux]], /) -> _Gradient[_P, tuple[_X, _Aux]]: ...

class _AnyGradOf(Protocol):
    def __call__(self, function: Callable[_P, Any], /) -> _Gradient[_P, Any]: ...

class _ValueAndGradOf(Protocol):
    def __call__(self, function: _Of1[_P, _X, _Real], /) -> _Gradient[_P, tuple[float, _X]]: ...

class _ValueAndAnyGradOf(Protocol):
    def __call__(self, function: Callable[_P, _Real], /) -> _Gradient[_P, tuple[float, Any]]: ...

class _ValueAndGradWithAuxOf(Protocol):
    def __call__(
        self, function: Callable[_P, tuple[_Real, _Aux]], /
    ) -> _Gradient[_P, tuple[tuple[float, _Aux], Any]]: ...

@overload
def grad(
    function: _Of1[_P, _X, _Real],
    wrt: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, _X]: ...
@overload
def grad(
    function: _Of2[_P, Any, _Y, _Real],
    wrt: Literal[1],
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, _Y]: ...
@overload
def grad(
    function: _Of3[_P, Any, Any, _Z, _Real],
    wrt: Literal[2],
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, _Z]: ...
@overload
def grad(
    function: _Of1[_P, _X, _Real],
    wrt: tuple[Literal[0]],
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[_X]]: ...
@overload
def grad(
    function: _Of2[_P, _X, _Y, _Real],
    wrt: tuple[Literal[0], Literal[1]],
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[_X, _Y]]: ...
@overload
def grad(
    function: _Of3[_P, _X, _Y, _Z, _Real],
    wrt: tuple[Literal[0], Literal[1], Literal[2]],
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[_X, _Y, _Z]]: ...
@overload
def grad(
    function: Callable[_P, _Real],
    wrt: _Names | _Wrt,
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, Any]: ...
@overload
def grad(
    function: _Of1[_P, _X, tuple[_Real, _Aux]],
    wrt: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[_X, _Aux]]: ...
@overload
def grad(
    function: Callable[_P, tuple[_Real, _Aux]],
    wrt: _Wrt,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[Any, _Aux]]: ...
@overload
def grad(
    function: _Of1[_P, _X, _Number], wrt: Literal[0] = 0, *, holomorphic: Literal[True], **options: Unpack[_Options]
) -> _Gradient[_P, _X]: ...
@overload
def grad(
    function: _Of1[_P, _X, _Real], wrt: Literal[0] = 0, *, intermediates: _Names, **options: Unpack[_Options]
) -> _Gradient[_P, tuple[_X, Any]]: ...
@overload
def grad(
    function: Callable[_P, _Real], wrt: _Wrt, *, intermediates: _Names, **options: Unpack[_Options]
) -> _Gradient[_P, tuple[Any, Any]]: ...
@overload
def grad(
    function: None = None,
    wrt: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _GradOf: ...
@overload
def grad(
    function: None = None, wrt: Literal[0] = 0, *, has_aux: Literal[True], **options: Unpack[_Options]
) -> _GradWithAuxOf: ...
@overload
def grad(
    function: None = None,
    wrt: _Wrt = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    intermediates: _Names = (),
    **options: Unpack[_Options],
) -> _AnyGradOf: ...
@overload
def value_and_grad(
    function: _Of1[_P, _X, _Real],
    wrt: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[float, _X]]: ...
@overload
def value_and_grad(
    function: _Of2[_P, Any, _Y, _Real],
    wrt: Literal[1],
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[float, _Y]]: ...
@overload
def value_and_grad(
    function: _Of3[_P, Any, Any, _Z, _Real],
    wrt: Literal[2],
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[float, _Z]]: ...
@overload
def value_and_grad(
    function: _Of1[_P, _X, _Real],
    wrt: tuple[Literal[0]],
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[float, tuple[_X]]]: ...
@overload
def value_and_grad(
    function: _Of2[_P, _X, _Y, _Real],
    wrt: tuple[Literal[0], Literal[1]],
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[float, tuple[_X, _Y]]]: ...
@overload
def value_and_grad(
    function: _Of3[_P, _X, _Y, _Z, _Real],
    wrt: tuple[Literal[0], Literal[1], Literal[2]],
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[float, tuple[_X, _Y, _Z]]]: ...
@overload
def value_and_grad(
    function: Callable[_P, _Real],
    wrt: _Names | _Wrt,
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[float, Any]]: ...
@overload
def value_and_grad(
    function: _Of1[_P, _X, tuple[_Real, _Aux]],
    wrt: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[tuple[float, _Aux], _X]]: ...
@overload
def value_and_grad(
    function: Callable[_P, tuple[_Real, _Aux]],
    wrt: _Wrt,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    **options: Unpack[_Options],
) -> _Gradient[_P, tuple[tuple[float, _Aux], Any]]: ...
@overload
def value_and_grad(
    function: _Of1[_P, _X, _Number], wrt: Literal[0] = 0, *, holomorphic: Literal[True], **options: Unpack[_Options]
) -> _Gradient[_P, tuple[complex, _X]]: ...
@overload
def value_and_grad(
    function: _Of1[_P, _X, _Real], wrt: Literal[0] = 0, *, intermediates: _Names, **options: Unpack[_Options]
) -> _Gradient[_P, tuple[tuple[float, Any], _X]]: ...
@overload
def value_and_grad(
    function: Callable[_P, _Real], wrt: _Wrt, *, intermediates: _Names, **options: Unpack[_Options]
) -> _Gradient[_P, tuple[tuple[float, Any], Any]]: ...
@overload
def value_and_grad(
    function: None = None,
    wrt: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _ValueAndGradOf: ...
@overload
def value_and_grad(
    function: None = None,
    *,
    wrt: _Wrt,
    has_aux: Literal[False] = False,
    holomorphic: Literal[False] = False,
    **options: Unpack[_Options],
) -> _ValueAndAnyGradOf: ...
@overload
def value_and_grad(
    function: None = None, wrt: _Wrt = 0, *, has_aux: Literal[True], **options: Unpack[_Options]
) -> _ValueAndGradWithAuxOf: ...
@overload
def value_and_grad(
    function: None = None,
    wrt: _Wrt = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    intermediates: _Names = (),
    **options: Unpack[_Options],
) -> _AnyGradOf: ...

# -------------------------------------------------------------------------------------------- values with derivatives

@overload
def jvp(
    function: Callable[..., _Real],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    several: Literal[False] = False,
    **options: Unpack[_Options],
) -> tuple[float, float]: ...
@overload
def jvp(
    function: Callable[..., _R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    several: Literal[False] = False,
    **options: Unpack[_Options],
) -> tuple[_R, _R]: ...
@overload
def jvp(
    function: Callable[..., _Real],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    several: Literal[True],
    **options: Unpack[_Options],
) -> tuple[float, _Vector]: ...
@overload
def jvp(
    function: Callable[..., _R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    several: Literal[True],
    **options: Unpack[_Options],
) -> tuple[_R, Any]: ...
@overload
def vjp(
    function: Callable[[_X, _Y, _Z], _R], x: _X, y: _Y, z: _Z, /, **options: Unpack[_Options]
) -> tuple[_R, _Pullback[_R, tuple[_X, _Y, _Z]]]: ...
@overload
def vjp(
    function: Callable[[_X, _Y], _R], x: _X, y: _Y, /, **options: Unpack[_Options]
) -> tuple[_R, _Pullback[_R, tuple[_X, _Y]]]: ...
@overload
def vjp(function: Callable[[_X], _R], x: _X, /, **options: Unpack[_Options]) -> tuple[_R, _Pullback[_R, tuple[_X]]]: ...
@overload
def vjp(
    function: Callable[..., _R], *arguments: Any, **options: Unpack[_Options]
) -> tuple[_R, _Pullback[_R, tuple[Any, ...]]]: ...
@overload
def hvp(
    function: Callable[[_X, _Y, _Z], _Real], wrt: Literal[0] = 0, **options: Unpack[_Options]
) -> _Derived[[_X, _Y, _Z, _X], _X]: ...
@overload
def hvp(
    function: Callable[[_X, _Y], _Real], wrt: Literal[0] = 0, **options: Unpack[_Options]
) -> _Derived[[_X, _Y, _X], _X]: ...
@overload
def hvp(
    function: Callable[[_X], _Real], wrt: Literal[0] = 0, **options: Unpack[_Options]
) -> _Derived[[_X, _X], _X]: ...
@overload
def hvp(function: _Of1[..., _X, _Real], wrt: Literal[0] = 0, **options: Unpack[_Options]) -> _Derived[..., _X]: ...
@overload
def hvp(function: Callable[..., _Real], wrt: _Wrt = 0, **options: Unpack[_Options]) -> _Derived[..., Any]: ...
@overload
def hvp(
    function: None = None, wrt: _Wrt = 0, **options: Unpack[_Options]
) -> Callable[[Callable[..., _Real]], _Derived[..., Any]]: ...
@overload
def jet(
    function: Callable[..., _Real], order: int, wrt: _Wrt = 0, **options: Unpack[_Options]
) -> _Derived[..., tuple[float, ...]]: ...
@overload
def jet(
    function: Callable[..., _R], order: int, wrt: _Wrt = 0, **options: Unpack[_Options]
) -> _Derived[..., tuple[_R, ...]]: ...

# ------------------------------------------------------------------------------------------------------------ matrices

class _MatrixOf(Protocol):
    @overload
    def __call__(self, function: _Of1[_P, _X, _Real], /) -> _Derived[_P, _X]: ...
    @overload
    def __call__(
        self, function: _Of1[_P, np.ndarray[Any, Any], np.ndarray[Any, _D]], /
    ) -> _Derived[_P, np.ndarray[tuple[int, ...], _D]]: ...
    @overload
    def __call__(self, function: _Of1[_P, float, np.ndarray[_S, _D]], /) -> _Derived[_P, np.ndarray[_S, _D]]: ...
    @overload
    def __call__(self, function: Callable[_P, Any], /) -> _Derived[_P, Any]: ...

class _AnyMatrixOf(Protocol):
    def __call__(self, function: Callable[_P, Any], /) -> _Derived[_P, Any]: ...

class _HessianOf(Protocol):
    @overload
    def __call__(self, function: _Of1[_P, float, _Real], /) -> _Derived[_P, float]: ...
    @overload
    def __call__(
        self, function: _Of1[_P, np.ndarray[Any, _D], _Real], /
    ) -> _Derived[_P, np.ndarray[tuple[int, ...], _D]]: ...
    @overload
    def __call__(self, function: Callable[_P, _Real], /) -> _Derived[_P, Any]: ...

class _SparseOf(Protocol):
    def __call__(self, function: Callable[_P, Any], /) -> _Sparse[_P]: ...

@overload
def jacfwd(function: _Of1[_P, _X, _Real], wrt: Literal[0] = 0, **options: Unpack[_Options]) -> _Derived[_P, _X]: ...
@overload
def jacfwd(
    function: _Of1[_P, np.ndarray[Any, Any], np.ndarray[Any, _D]], wrt: Literal[0] = 0, **options: Unpack[_Options]
) -> _Derived[_P, np.ndarray[tuple[int, ...], _D]]: ...
@overload
def jacfwd(
    function: _Of1[_P, float, np.ndarray[_S, _D]], wrt: Literal[0] = 0, **options: Unpack[_Options]
) -> _Derived[_P, np.ndarray[_S, _D]]: ...
@overload
def jacfwd(function: Callable[_P, Any], wrt: _Wrt = 0, **options: Unpack[_Options]) -> _Derived[_P, Any]: ...
@overload
def jacfwd(function: None = None, wrt: Literal[0] = 0, **options: Unpack[_Options]) -> _MatrixOf: ...
@overload
def jacfwd(function: None = None, wrt: _Wrt = 0, **options: Unpack[_Options]) -> _AnyMatrixOf: ...
@overload
def jacrev(function: _Of1[_P, _X, _Real], wrt: Literal[0] = 0, **options: Unpack[_Options]) -> _Derived[_P, _X]: ...
@overload
def jacrev(
    function: _Of1[_P, np.ndarray[Any, Any], np.ndarray[Any, _D]], wrt: Literal[0] = 0, **options: Unpack[_Options]
) -> _Derived[_P, np.ndarray[tuple[int, ...], _D]]: ...
@overload
def jacrev(
    function: _Of1[_P, float, np.ndarray[_S, _D]], wrt: Literal[0] = 0, **options: Unpack[_Options]
) -> _Derived[_P, np.ndarray[_S, _D]]: ...
@overload
def jacrev(function: Callable[_P, Any], wrt: _Wrt = 0, **options: Unpack[_Options]) -> _Derived[_P, Any]: ...
@overload
def jacrev(function: None = None, wrt: Literal[0] = 0, **options: Unpack[_Options]) -> _MatrixOf: ...
@overload
def jacrev(function: None = None, wrt: _Wrt = 0, **options: Unpack[_Options]) -> _AnyMatrixOf: ...
@overload
def jacobian(
    function: _Of1[_P, _X, _Real], wrt: Literal[0] = 0, *, sparse: Literal[False] = False, **options: Unpack[_Options]
) -> _Derived[_P, _X]: ...
@overload
def jacobian(
    function: _Of1[_P, np.ndarray[Any, Any], np.ndarray[Any, _D]],
    wrt: Literal[0] = 0,
    *,
    sparse: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Derived[_P, np.ndarray[tuple[int, ...], _D]]: ...
@overload
def jacobian(
    function: _Of1[_P, float, np.ndarray[_S, _D]],
    wrt: Literal[0] = 0,
    *,
    sparse: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Derived[_P, np.ndarray[_S, _D]]: ...
@overload
def jacobian(
    function: Callable[_P, Any], wrt: _Wrt = 0, *, sparse: Literal[False] = False, **options: Unpack[_Options]
) -> _Derived[_P, Any]: ...
@overload
def jacobian(
    function: None = None, wrt: Literal[0] = 0, *, sparse: Literal[False] = False, **options: Unpack[_Options]
) -> _MatrixOf: ...
@overload
def jacobian(
    function: None = None, wrt: _Wrt = 0, *, sparse: Literal[False] = False, **options: Unpack[_Options]
) -> _AnyMatrixOf: ...
@overload
def jacobian(
    function: Callable[_P, Any],
    wrt: _Wrt = 0,
    *,
    sparse: Literal[True],
    sparsity: Any = None,
    **options: Unpack[_Options],
) -> _Sparse[_P]: ...
@overload
def jacobian(
    function: None = None, wrt: _Wrt = 0, *, sparse: Literal[True], sparsity: Any = None, **options: Unpack[_Options]
) -> _SparseOf: ...
@overload
def hessian(
    function: _Of1[_P, float, _Real],
    wrt: Literal[0] = 0,
    *,
    sparse: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Derived[_P, float]: ...
@overload
def hessian(
    function: _Of1[_P, np.ndarray[Any, _D], _Real],
    wrt: Literal[0] = 0,
    *,
    sparse: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Derived[_P, np.ndarray[tuple[int, ...], _D]]: ...
@overload
def hessian(
    function: Callable[_P, _Real], wrt: _Wrt = 0, *, sparse: Literal[False] = False, **options: Unpack[_Options]
) -> _Derived[_P, Any]: ...
@overload
def hessian(
    function: None = None, wrt: Literal[0] = 0, *, sparse: Literal[False] = False, **options: Unpack[_Options]
) -> _HessianOf: ...
@overload
def hessian(
    function: None = None, wrt: _Wrt = 0, *, sparse: Literal[False] = False, **options: Unpack[_Options]
) -> _AnyMatrixOf: ...
@overload
def hessian(
    function: Callable[_P, _Real],
    wrt: _Wrt = 0,
    *,
    sparse: Literal[True],
    sparsity: Any = None,
    **options: Unpack[_Options],
) -> _Sparse[_P]: ...
@overload
def hessian(
    function: None = None, wrt: _Wrt = 0, *, sparse: Literal[True], sparsity: Any = None, **options: Unpack[_Options]
) -> _SparseOf: ...

# --------------------------------------------------------------------------------- other functions made of a function

class _Mapped(Protocol):
    @overload
    def __call__(self, function: Callable[..., float], /) -> _Derived[..., _Vector]: ...
    @overload
    def __call__(
        self, function: Callable[..., np.ndarray[Any, _D]], /
    ) -> _Derived[..., np.ndarray[tuple[int, ...], _D]]: ...
    @overload
    def __call__(self, function: Callable[..., Any], /) -> _Derived[..., Any]: ...

@overload
def vmap(
    function: Callable[..., float], in_axes: _Axes = 0, out_axes: int = 0, **options: Unpack[_Options]
) -> _Derived[..., _Vector]: ...
@overload
def vmap(
    function: Callable[..., np.ndarray[Any, _D]], in_axes: _Axes = 0, out_axes: int = 0, **options: Unpack[_Options]
) -> _Derived[..., np.ndarray[tuple[int, ...], _D]]: ...
@overload
def vmap(
    function: Callable[..., Any], in_axes: _Axes = 0, out_axes: int = 0, **options: Unpack[_Options]
) -> _Derived[..., Any]: ...
@overload
def vmap(function: None = None, in_axes: _Axes = 0, out_axes: int = 0, **options: Unpack[_Options]) -> _Mapped: ...
@overload
def implicit(
    solver: Callable[_P, _X],
    residual: Callable[Concatenate[_X, ...], _X],
    *,
    fixed_point: None = None,
    minimum: None = None,
    linear: Literal["lu", "gmres"] = "lu",
    tolerance: float | None = 1e-3,
) -> Callable[_P, _X]: ...
@overload
def implicit(
    solver: Callable[_P, _X],
    residual: None = None,
    *,
    minimum: None = None,
    fixed_point: Callable[Concatenate[_X, ...], _X],
    linear: Literal["lu", "gmres"] = "lu",
    tolerance: float | None = 1e-3,
) -> Callable[_P, _X]: ...
@overload
def implicit(
    solver: Callable[_P, _X],
    residual: None = None,
    *,
    fixed_point: None = None,
    minimum: Callable[Concatenate[_X, ...], _Real],
    linear: Literal["lu", "gmres", "cg"] = "lu",
    tolerance: float | None = 1e-3,
) -> Callable[_P, _X]: ...
def fixed_point(step: _Of1[_P, _X, _X], *, tolerance: float = 1e-12, most: int = 10_000) -> Callable[_P, _X]: ...
def rounding_error(function: Callable[_P, _Real], **options: Unpack[_Options]) -> _Rounding[_P]: ...
def stop_gradient(x: _X) -> _X: ...
