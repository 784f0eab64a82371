"""Functions in torch: values, gradients of every order, structures, what is refused."""

import zlib

import numpy as np
import pytest

import adjit
from adjit.errors import TypeMismatch, Unsupported
from tests.bridges import programs

torch = pytest.importorskip("torch")
bridge = pytest.importorskip("adjit.bridges.torch")

pytestmark = pytest.mark.bridge
PLAIN = {"target": "python"}


def tensor(*shape, dtype=torch.float64, seed=3, grad=True):
    values = np.random.default_rng(seed).standard_normal(shape)
    return torch.tensor(values, dtype=dtype, requires_grad=grad)


def checked(function, inputs, order=2):
    """torch's own check of gradients, and of gradients of gradients, against differences."""
    assert torch.autograd.gradcheck(function, inputs)
    if order > 1:
        assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_array_and_number_to_an_array(target):
    heat = bridge.function(programs.heat, target=target)
    u, k = tensor(7), torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    out = heat(u, k, 3)
    assert out.detach().numpy() == pytest.approx(programs.heat(u.detach().numpy(), 0.1, 3), rel=1e-14)
    checked(lambda u, k: heat(u, k, 3), (u, k), order=2 if target == "python" else 1)


def test_third_order_is_adjits_as_well():
    energy = bridge.function(programs.energy, **PLAIN)
    x = tensor(3, grad=False)
    w = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    found = energy(x, w)
    for _ in range(3):
        (found,) = torch.autograd.grad(found, w, create_graph=True)
    expected = -np.sum(np.cos(0.7 * x.numpy()) * x.numpy() ** 5)
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_memory_of_tensors_is_read_where_it_is():
    seen = []

    def noting(call, tensors):
        seen.extend(t.__array_interface__["data"][0] for t in tensors)
        return run(call, tensors)

    run, bridge.Call.run = bridge.Call.run, noting
    try:
        x = tensor(1000)
        bridge.function(programs.energy)(x, 0.5).backward()
    finally:
        bridge.Call.run = run
    assert seen[0] == seen[1] == x.data_ptr()


def test_several_results():
    several = bridge.function(programs.several, **PLAIN)
    x, w = tensor(4), torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    a, b, n = several(x, w, 2)
    assert n.item() == 6
    assert n.dtype == torch.int64
    assert not n.requires_grad
    checked(lambda x, w: several(x, w, 2)[:2], (x, w))
    # of one of them alone
    checked(lambda x, w: several(x, w, 2)[1], (x, w))


def test_structures():
    layers = bridge.function(programs.layers, **PLAIN)
    own = [tensor(3, 4), tensor(3), tensor(2, 3), tensor(2), torch.tensor(0.4, dtype=torch.float64, requires_grad=True)]
    x = tensor(4, seed=5)

    def whole(a, b, c, d, scale, x):
        return layers({"layers": [{"w": a, "b": b}, {"w": c, "b": d}], "scale": scale}, x)

    checked(whole, (*own, x))
    expected = torch.sum(torch.tanh(own[2] @ torch.tanh(own[0] @ x + own[1]) + own[3]) ** 2) * own[4]
    assert whole(*own, x).item() == pytest.approx(expected.item(), rel=1e-13)


def test_part_of_a_structure_alone():
    layers = bridge.function(programs.layers, **PLAIN)
    w, b = tensor(2, 3), np.zeros(2)
    x = np.array([0.1, 0.2, 0.3])
    checked(lambda w: layers({"layers": [{"w": w, "b": b}], "scale": 2.0}, x), (w,))


def test_objects_and_methods():
    weights, x = tensor(3), tensor(3, seed=4)
    rate = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    of_model = bridge.function(programs.of_model, **PLAIN)
    checked(lambda rate, weights, x: of_model(programs.Model(rate, weights), x), (rate, weights, x))
    model = programs.Model(0.3, weights.detach().numpy())
    checked(bridge.function(model.loss, **PLAIN), (x,))


def test_an_argument_that_is_written_stays_as_it_is():
    x = tensor(5)
    before = x.detach().clone()
    overwrites = bridge.function(programs.overwrites, **PLAIN)
    overwrites(x).backward()
    assert torch.equal(x.detach(), before)
    expected = adjit.grad(programs.overwrites, target="python")(before.numpy())
    assert x.grad.numpy() == pytest.approx(expected, rel=1e-14)
    checked(overwrites, (x,))


def test_a_result_that_is_an_argument_has_memory_of_its_own():
    x, w = tensor(3), tensor(3, seed=4)
    out, _ = bridge.function(programs.itself, **PLAIN)(x, w)
    assert out.data_ptr() != x.data_ptr()
    checked(bridge.function(programs.itself, **PLAIN), (x, w))


def test_an_argument_changed_before_the_backward_pass_is_an_error():
    x = tensor(3)
    y = x * 1.0
    out = bridge.function(programs.energy, **PLAIN)(y, 0.5)
    y += 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_strides():
    energy = bridge.function(programs.energy, **PLAIN)
    a = tensor(3, 4)
    checked(lambda a: energy(a[:, 1], 0.5), (a,))


def test_float32_stays_float32():
    heat = bridge.function(programs.heat)
    u = tensor(6, dtype=torch.float32)
    k = torch.tensor(0.1, dtype=torch.float32, requires_grad=True)
    out = heat(u, k, 2)
    out.sum().backward()
    assert (u.grad.dtype, k.grad.dtype) == (torch.float32, torch.float32)
    _, pullback = adjit.vjp(programs.heat, u.detach().numpy(), np.float32(0.1), 2)
    expected = pullback(np.ones_like(out.detach().numpy()))
    assert np.array_equal(u.grad.numpy(), expected[0])
    assert k.grad.item() == float(expected[1])


def test_nothing_is_derived_that_is_not_asked_for(monkeypatch):
    prepared = []
    monkeypatch.setattr(bridge.Call, "prepare", lambda call: prepared.append(call.spec.kind))
    energy = bridge.function(programs.energy, **PLAIN)
    assert not energy(tensor(3, grad=False), 0.5).requires_grad
    with torch.no_grad():
        assert not energy(tensor(3), 0.5).requires_grad
    assert prepared == []
    energy(tensor(3), 0.5).backward()
    assert prepared == ["vjp"]


def test_func_transforms():
    energy = bridge.function(programs.energy, **PLAIN)
    xs, w = tensor(4, 3, grad=False), torch.tensor(0.7, dtype=torch.float64)
    found = torch.func.vmap(torch.func.grad(energy), in_dims=(0, None))(xs, w)
    expected = [adjit.grad(programs.energy, target="python")(x.numpy(), 0.7) for x in xs]
    assert found.numpy() == pytest.approx(np.array(expected), rel=1e-13)
    # over another axis, and results that are arrays
    heat = bridge.function(programs.heat, **PLAIN)
    found = torch.func.vmap(lambda u: heat(u, 0.1, 2), in_dims=1)(xs)
    assert found.numpy() == pytest.approx(np.array([programs.heat(u.numpy(), 0.1, 2) for u in xs.T]), rel=1e-13)
    hessian = torch.func.jacrev(torch.func.grad(energy))(xs[0], w)
    assert hessian.numpy() == pytest.approx(
        adjit.hessian(programs.energy, target="python")(xs[0].numpy(), 0.7), rel=1e-12
    )


def test_in_what_torch_compiles():
    energy = bridge.function(programs.energy, **PLAIN)

    def whole(x):
        return 2.0 * energy(torch.sin(x), 0.7)

    x = tensor(4)
    expected = torch.autograd.grad(whole(x), x)
    found = torch.autograd.grad(torch.compile(whole, backend="eager")(x), x)
    assert torch.equal(found[0], expected[0])


def test_in_a_model_that_learns():
    torch.manual_seed(0)
    layer = torch.nn.Linear(5, 5, dtype=torch.float64)
    heat = bridge.function(programs.heat)
    x = tensor(5, grad=False)
    losses = []
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(20):
        optimiser.zero_grad()
        loss = ((heat(layer(x), 0.2, 3) - 1.0) ** 2).mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize(
    "given, kind, said",
    [
        (lambda: (torch.ones(3, dtype=torch.bfloat16), 0.5), TypeMismatch, "bfloat16"),
        (lambda: (torch.ones(3).to_sparse(), 0.5), TypeMismatch, "to_dense"),
        (lambda: (torch.ones(3, dtype=torch.complex128, requires_grad=True), 0.5), Unsupported, "complex"),
    ],
)
def test_refused(given, kind, said):
    with pytest.raises(kind, match=said):
        bridge.function(programs.energy, **PLAIN)(*given())


def test_what_adjit_refuses_is_refused_at_the_call():
    def counted(x):
        return x[0] * zlib.crc32(x)

    with pytest.raises(adjit.AdjitError, match="test_torch.py"):
        bridge.function(counted, **PLAIN)(tensor(5))


def test_random_draws_have_a_value_and_no_gradient():
    drawing = bridge.function(programs.drawing, **PLAIN)
    assert drawing(tensor(3, grad=False)).item() != drawing(tensor(3, grad=False)).item()
    with pytest.raises(Unsupported, match="Draw the numbers before"):
        drawing(tensor(3))


def test_an_argument_that_is_written_and_overlaps_is_refused():
    adds_to = bridge.function(programs.adds_to, **PLAIN)
    x = tensor(6)
    checked(lambda x: adds_to(x[:3], x[3:]), (x,))
    with pytest.raises(adjit.Aliased, match="share memory"):
        adds_to(x[1:4], x[2:5])


def test_a_list_of_numbers():
    def total(xs):
        s = 0.0
        for x in xs:
            s += x * x
        return s

    one = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(TypeMismatch, match="Pass a tuple"):
        bridge.function(total, **PLAIN)([one, one])
    bridge.function(total, **PLAIN)((one, one)).backward()
    assert one.grad.item() == 8.0


def test_results_that_are_integers_alone_have_no_gradient():
    def largest(x):
        k = 0
        for i in range(x.size):
            if x[i] > x[k]:
                k = i
        return k

    x = tensor(5)
    found = bridge.function(largest, **PLAIN)(x)
    assert found.item() == int(x.argmax())
    assert not found.requires_grad
