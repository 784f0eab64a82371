"""Sparse Jacobians and Hessians are the dense ones, from few directions, for whatever arguments they get."""

import numpy as np
import pytest
import scipy.optimize
from scipy.sparse import csr_array, csr_matrix

import adjit
from adjit.errors import TypeMismatch, Unsupported, WrongCall, WrongWrt


def wave(*shape):
    return 1.3 * np.sin(1.0 + 0.9 * np.arange(float(np.prod(shape)))).reshape(shape) + 0.05


def burgers(u, nu, dx):
    r = np.zeros_like(u)
    r[0] = u[0]
    r[-1] = u[-1]
    for i in range(1, u.size - 1):
        r[i] = u[i] * (u[i + 1] - u[i - 1]) / (2.0 * dx) - nu * (u[i + 1] - 2.0 * u[i] + u[i - 1]) / dx**2
    return r


def gray_scott(z, n):
    """Two species on a torus of n by n points."""
    r = np.empty_like(z)
    for i in range(n):
        for j in range(n):
            u, v = z[0, i, j], z[1, i, j]
            up, down, left, right = (i + 1) % n, (i - 1) % n, (j - 1) % n, (j + 1) % n
            reaction = u * v * v
            for k in range(2):
                r[k, i, j] = z[k, up, j] + z[k, down, j] + z[k, i, left] + z[k, i, right] - 4.0 * z[k, i, j]
            r[0, i, j] += 0.04 * (1.0 - u) - reaction
            r[1, i, j] += reaction - 0.1 * v
    return r


def sparse_and_dense(function, arguments, wrt=0, kind="jacobian", target="python", **options):
    derivative = getattr(adjit, kind)(function, wrt=wrt, sparse=True, target=target, **options)
    dense = adjit.jacfwd if kind == "jacobian" else adjit.hessian
    return derivative, derivative(*arguments), dense(function, wrt=wrt, target=target)(*arguments)


def check_blocks(sparse, dense):
    if isinstance(dense, tuple):
        assert len(sparse) == len(dense)
        for one, other in zip(sparse, dense, strict=True):
            check_blocks(one, other)
        return
    assert isinstance(sparse, csr_array)
    assert sparse.dtype == np.asarray(dense).dtype
    # the very operations of the dense one, but for the zeros that it adds
    tolerance = 1e-6 if sparse.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(sparse.toarray().ravel(), np.ravel(dense), rtol=tolerance, atol=1e-14)


# ------------------------------------------------------------------------------------------------- by columns, by rows


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_stencil_takes_three_directions(target):
    derivative, sparse, dense = sparse_and_dense(burgers, (wave(12), 0.1, 0.2), target=target)
    check_blocks(sparse, dense)
    assert sparse.nnz == 2 + 3 * 10
    assert derivative.sparsity(wave(12), 0.1, 0.2).directions == 3


def test_many_unknowns_take_as_few():
    derivative = adjit.jacobian(burgers, sparse=True)
    u = wave(100_000)
    sparse = derivative(u, 0.1, 0.2)
    assert derivative.sparsity(u, 0.1, 0.2).directions == 3
    v = wave(100_000)[::-1].copy()
    along = adjit.jvp(burgers, (u, 0.1, 0.2), (v, 0.0, 0.0))[1]
    np.testing.assert_allclose(sparse @ v, along, rtol=1e-10, atol=1e-10)


def test_arguments_and_results_of_several_axes_are_in_c_order():
    z = wave(2, 6, 6)
    derivative, sparse, dense = sparse_and_dense(gray_scott, (z, 6))
    assert sparse.shape == (72, 72)
    check_blocks(sparse, dense)
    assert derivative.sparsity(z, 6).directions <= 12


def test_fortran_order_and_views_are_numbered_as_their_elements():
    def turned(x):
        y = x.T.copy()
        y[1] *= x[0, 0]
        return y.ravel()[2:]

    for x in (np.asfortranarray(wave(3, 4)), wave(4, 3).T, wave(6, 4)[::2]):
        check_blocks(*sparse_and_dense(turned, (x,))[1:])


def several(x, p, k):
    y = x[1:] * p[0]
    return y, p[1] * k, x.size, (k * x[0], y)


def test_blocks_of_several_arguments_and_results():
    arguments = wave(4), (0.7, 0.3), 1.5
    derivative = adjit.jacobian(several, wrt=("x", "p", "k"), sparse=True, target="python")
    found = derivative(*arguments)
    dense = adjit.jacfwd(several, wrt=("x", "p", "k"), target="python")(*arguments)
    for k in (0, 1, 3):
        check_blocks(found[k], dense[k])
    assert all(block.nnz == 0 for block in (found[2][0], *found[2][1], found[2][2]))


def sums(x, w):
    first = 0.0
    for i in range(x.size):
        first += w[i] * x[i] ** 2
    return first, x[0] * x[-1]


def test_few_results_of_many_arguments_go_by_rows():
    derivative, sparse, dense = sparse_and_dense(sums, (wave(40), wave(40)), wrt=("x", "w"))
    check_blocks(sparse, dense)
    own = derivative.sparsity(wave(40), wave(40))
    assert (own.by, own.directions) == ("rows", 2)


def doubled(x):
    y = np.zeros(2)
    for i in range(x.size):
        y[i % 2] += x[i] ** 3
    return y, y


def test_one_value_that_is_two_results_goes_by_rows_too():
    derivative, sparse, dense = sparse_and_dense(doubled, (wave(60),))
    assert derivative.sparsity(wave(60)).by == "rows"
    check_blocks(sparse, dense)


def test_way_stays_for_other_shapes():
    derivative = adjit.jacobian(doubled, sparse=True, target="python")
    for n in (60, 4, 61):
        check_blocks(derivative(wave(n)), adjit.jacfwd(doubled, target="python")(wave(n)))
    assert derivative.sparsity(wave(4)).by == "rows"


def test_of_products_a_row_depends_on_its_row():
    weights = wave(3, 2)

    def layer(x):
        return np.tanh(x @ weights)

    derivative, sparse, dense = sparse_and_dense(layer, (wave(5, 3),))
    check_blocks(sparse, dense)
    assert derivative.sparsity(wave(5, 3)).directions == 3

    def both(a, b):
        return a @ b

    derivative, sparse, dense = sparse_and_dense(both, (wave(4, 3), wave(3, 5)), wrt=("a", "b"))
    check_blocks(sparse, dense)
    assert sparse[0].nnz == 4 * 5 * 3


def test_what_libraries_solve_is_dense():
    def solved(b, d):
        return np.linalg.solve(np.diag(d) + 0.1, b) * b

    check_blocks(*sparse_and_dense(solved, (wave(4), 2.0 + wave(4) ** 2), wrt=("b", "d"))[1:])


def test_float32_stays():
    check_blocks(*sparse_and_dense(burgers, (wave(9).astype(np.float32), np.float32(0.1), np.float32(0.2)))[1:])


def test_what_is_held_fixed_has_no_entries():
    def held(x):
        return x * adjit.stop_gradient(x[::-1]) + np.floor(x[0])

    _, sparse, dense = sparse_and_dense(held, (wave(5),))
    check_blocks(sparse, dense)
    assert sparse.nnz == 5


def test_loops_that_swap_and_lists_that_grow():
    def stepped(u, steps):
        v = np.empty_like(u)
        kept = []
        for _ in range(steps):
            for i in range(u.size):
                v[i] = 0.5 * (u[i] + u[i - 1]) ** 2
            u, v = v, u
            kept.append(u[2])
        return u, np.array(kept)

    derivative, sparse, dense = sparse_and_dense(stepped, (wave(9), 3))
    check_blocks(sparse, dense)
    assert sparse[0].nnz == 9 * 4


# --------------------------------------------------------------------------- whatever the values: a pattern that holds


def upwind(u):
    r = np.empty_like(u)
    n = u.size
    for i in range(n):
        if u[i] > 0.0:
            r[i] = u[i] * (u[i] - u[i - 1])
        else:
            r[i] = u[i] * (u[(i + 1) % n] - u[i])
    return r


@pytest.mark.parametrize("target", ["python", pytest.param("cpu", marks=pytest.mark.long)])
def test_branches_on_values_get_the_pattern_of_their_path(target):
    derivative = adjit.jacobian(upwind, sparse=True, target=target)
    dense = adjit.jacfwd(upwind, target=target)
    for u in (np.full(8, 1.0), np.full(8, -1.0), wave(8), -wave(8)):
        check_blocks(derivative(u), dense(u))
    # what was found is kept
    assert derivative.sparsity(wave(8)).pattern.nnz == 3 * 8


def test_array_that_changes_in_place_is_looked_at():
    derivative = adjit.jacobian(upwind, sparse=True, target="python")
    u = np.full(8, 1.0)
    derivative(u)
    u[3] = -1.0
    check_blocks(derivative(u), adjit.jacfwd(upwind, target="python")(u))


def gathered(x, index, w):
    y = np.zeros(index.size)
    for k in range(index.size):
        y[k] = w * x[index[k]] ** 2
    return y


def test_index_arrays_get_the_pattern_of_their_values():
    derivative = adjit.jacobian(gathered, sparse=True, target="python")
    dense = adjit.jacfwd(gathered, target="python")
    for index in ([0, 1, 2, 3], [3, 3, 0, 1], [2, 2, 2, 2]):
        arguments = wave(5), np.array(index), 2.0
        check_blocks(derivative(*arguments), dense(*arguments))


def test_only_what_the_pattern_depends_on_finds_it_anew():
    derivative = adjit.jacobian(gathered, sparse=True, target="python")
    first = derivative.sparsity(wave(5), np.array([0, 1, 2, 3]), 2.0)
    assert derivative.sparsity(-wave(5), np.array([0, 1, 2, 3]), 3.0) is first
    assert derivative.sparsity(wave(5), np.array([0, 1, 2, 4]), 2.0) is not first


STRIDE = 1


def strided(x):
    return x[STRIDE:] * x[:-STRIDE]


def test_global_that_is_bound_anew_is_read_when_asked_again():
    global STRIDE
    first = adjit.jacobian(strided, sparse=True, target="python")
    before = first(wave(6))
    STRIDE = 2
    try:
        np.testing.assert_array_equal(first(wave(6)).toarray(), before.toarray())
        again = adjit.jacobian(strided, sparse=True, target="python")
        check_blocks(again(wave(6)), adjit.jacfwd(strided, target="python")(wave(6)))
        assert adjit.jacobian(strided, sparse=True, target="python") is again
    finally:
        STRIDE = 1


def test_trip_counts_by_values_and_integers():
    def grown(x, n, limit):
        total = 0.0
        i = 0
        while i < n and total < limit:
            total += x[i] ** 2
            i += 1
        return np.array([total, x[i]])

    derivative = adjit.jacobian(grown, sparse=True, target="python")
    dense = adjit.jacfwd(grown, target="python")
    for arguments in ((wave(6), 5, 1.0), (wave(6), 5, 9.0), (wave(6), 2, 9.0), (3.0 * wave(6), 5, 1.0)):
        check_blocks(derivative(*arguments), dense(*arguments))


def test_sign_of_zero_counts():
    def signed(x, y):
        return x * 2.0 if 1.0 / y > 0.0 else x[::-1] * 3.0

    derivative = adjit.jacobian(signed, sparse=True, target="python")
    for y in (0.0, -0.0):
        check_blocks(derivative(wave(3), y), adjit.jacfwd(signed, target="python")(wave(3), y))


def test_what_is_raised_is_raised_and_said_once_a_sweep(capsys):
    def checked(x):
        assert x[0] > 0.0, "not positive"
        print("running")
        return x * x

    derivative = adjit.jacobian(checked, sparse=True, target="python")
    derivative(np.ones(3))
    assert capsys.readouterr().out.count("running") == 1
    with pytest.raises(AssertionError, match="not positive"):
        derivative(-np.ones(3))


def test_dictionaries_and_lists_beside_wrt():
    def model(x, parts):
        return parts["scale"] * x[parts["index"][0] :] + parts["shift"][0]

    derivative = adjit.jacobian(model, sparse=True, target="python")
    for first in (0, 2):
        arguments = wave(4), {"scale": 2.0, "index": [first], "shift": wave(3)}
        check_blocks(derivative(*arguments), adjit.jacfwd(model, target="python")(*arguments))


class Chain:
    def __init__(self, k):
        self.k = k

    def forces(self, x):
        return self.k * np.diff(x) ** 3


def test_methods_are_read_at_each_call():
    chain = Chain(2.0)
    derivative = adjit.jacobian(chain.forces, sparse=True, target="python")
    first = derivative(wave(5))
    chain.k = 4.0
    np.testing.assert_allclose(derivative(wave(5)).toarray(), 2.0 * first.toarray(), rtol=1e-15)


# ------------------------------------------------------------------------------------------------------------- Hessians


def energy(x):
    total = 0.0
    for i in range(x.size - 1):
        total += (x[i + 1] - x[i] ** 2) ** 2 + np.sin(x[i])
    return total


@pytest.mark.parametrize("target", ["python", pytest.param("cpu", marks=pytest.mark.long)])
def test_hessian_of_a_chain(target):
    derivative, sparse, dense = sparse_and_dense(energy, (wave(12),), kind="hessian", target=target)
    check_blocks(sparse, dense)
    assert derivative.sparsity(wave(12)).directions == 3


def test_hessian_of_a_star_takes_two_directions():
    def star(x):
        total = x[0] ** 2
        for i in range(1, x.size):
            total += x[0] * x[i] ** 2
        return total

    derivative, sparse, dense = sparse_and_dense(star, (wave(30),), kind="hessian")
    check_blocks(sparse, dense)
    assert (derivative.sparsity(wave(30)).by, derivative.sparsity(wave(30)).directions) == ("symmetric", 2)


def test_hessian_of_a_grid_takes_fewer_directions_than_its_columns():
    def surface(z):
        total = 0.0
        for i in range(z.shape[0] - 1):
            for j in range(z.shape[1] - 1):
                total += np.sqrt(1.0 + (z[i + 1, j] - z[i, j]) ** 2 + (z[i, j + 1] - z[i, j]) ** 2)
        return total

    z = wave(7, 8)
    derivative, sparse, dense = sparse_and_dense(surface, (z,), kind="hessian")
    check_blocks(sparse, dense)
    by_columns = adjit.jacobian(adjit.grad(surface, target="python"), sparse=True, target="python").sparsity(z)
    assert derivative.sparsity(z).directions <= by_columns.directions


def test_blocks_of_a_hessian():
    def coupled(x, k):
        return k[0] * np.sum(x[1:] * x[:-1]) + k[1] ** 3

    check_blocks(*sparse_and_dense(coupled, (wave(5), wave(2)), wrt=("x", "k"), kind="hessian")[1:])


# ---------------------------------------------------------------------------------------------- patterns that are given


def test_pattern_is_reused():
    first = adjit.jacobian(burgers, sparse=True, target="python").sparsity(wave(12), 0.1, 0.2)
    again = adjit.jacobian(burgers, sparse=True, sparsity=first, target="python")
    assert again.sparsity(wave(12), 0.3, 0.1) is first


@pytest.mark.parametrize("form", [csr_matrix, csr_array, np.asarray])
def test_given_pattern_is_that_of_the_result(form):
    wide = form(np.tri(12, k=2) - np.tri(12, k=-3))
    derivative = adjit.jacobian(burgers, sparse=True, sparsity=wide, target="python")
    found = derivative(wave(12), 0.1, 0.2)
    assert found.nnz == 12 + 2 * 11 + 2 * 10
    check_blocks(found, adjit.jacfwd(burgers, target="python")(wave(12), 0.1, 0.2))


def test_given_pattern_without_an_entry_is_refused():
    thin = csr_array(np.tri(12) - np.tri(12, k=-2))
    with pytest.raises(WrongCall, match=r"no entry at \(1, 2\)"):
        adjit.jacobian(burgers, sparse=True, sparsity=thin, target="python")(wave(12), 0.1, 0.2)
    with pytest.raises(TypeMismatch, match="of shape"):
        adjit.jacobian(burgers, sparse=True, sparsity=thin, target="python")(wave(11), 0.1, 0.2)


def test_matrix_is_the_callers_own():
    derivative = adjit.jacobian(burgers, sparse=True, target="python")
    found = derivative(np.zeros(6), 0.0, 1.0)
    found.eliminate_zeros()
    check_blocks(derivative(wave(6), 0.1, 1.0), adjit.jacfwd(burgers, target="python")(wave(6), 0.1, 1.0))


# ---------------------------------------------------------------------------------------------------- what is refused


def test_refusals():
    def drawn(x):
        return x * np.random.rand()

    def turned(z):
        return z * 1j

    with pytest.raises(Unsupported, match="draws random numbers"):
        adjit.jacobian(drawn, sparse=True, target="python")(wave(3))
    with pytest.raises(Unsupported, match="complex"):
        adjit.jacobian(turned, sparse=True, target="python")(wave(3))
    with pytest.raises(Unsupported, match="on a GPU"):
        adjit.jacobian(burgers, sparse=True, target="cuda")
    with pytest.raises(Unsupported, match="part of an argument"):
        adjit.jacobian(burgers, wrt="u[0]", sparse=True)
    with pytest.raises(WrongCall, match="sparse=1"):
        adjit.jacobian(burgers, sparse=1)
    with pytest.raises(WrongCall, match="without sparse=True"):
        adjit.hessian(energy, sparsity=np.ones((2, 2)))
    with pytest.raises(WrongWrt, match="has no derivative"):
        adjit.jacobian(gathered, wrt="index", sparse=True, target="python")(wave(5), np.array([0]), 1.0)


def test_as_a_decorator_with_a_source():
    @adjit.jacobian(sparse=True, target="python")
    def residual(u):
        return u[1:] - u[:-1] ** 2

    assert residual(wave(4)).shape == (3, 4)
    assert "entries[k] = " in residual.source(wave(4))
    assert "u" in str(residual.explain(wave(4)))


# ------------------------------------------------------------------------------------------------------- with SciPy


def test_least_squares_of_scipy_takes_it():
    def residual(x, data):
        r = np.empty(x.size)
        r[0] = x[0]
        for i in range(1, x.size):
            r[i] = x[i] + 0.1 * x[i - 1] ** 3
        return r - data

    data = wave(30)
    derivative = adjit.jacobian(residual, sparse=True, target="python")
    found = scipy.optimize.least_squares(residual, np.zeros(30), derivative, args=(data,))
    assert found.success
    np.testing.assert_allclose(residual(found.x, data), 0.0, atol=1e-9)
