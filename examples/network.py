"""Read digits with a network written as loops, and compare it with scikit-learn's.

In:  scikit-learn's 1,797 digits of 8 by 8 pixels (with --small: points on two spirals, without scikit-learn).
Out: the loss and the share of digits read correctly, by both, the time of a gradient, and a picture
     (build/demo/digits.png).

The loss is a loop over samples and neurons. Both networks start from the same weights, use SciPy's L-BFGS with the same
tolerances, and stop after the same number of iterations.

    python examples/network.py [--hidden 32] [--iterations 300] [--small] [--out build/demo]
"""

import argparse
import math
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import adjit

PENALTY = 1e-3


def scores_of(w1, b1, w2, b2, x, hidden, scores):
    """Stores the hidden layer and the scores of one sample."""
    for h in range(b1.size):
        s = b1[h]
        for k in range(x.size):
            s += w1[h, k] * x[k]
        hidden[h] = math.tanh(s)
    for c in range(b2.size):
        s = b2[c]
        for h in range(b1.size):
            s += w2[c, h] * hidden[h]
        scores[c] = s


def loss(w1, b1, w2, b2, x, y):
    """The mean cross-entropy of softmax, and a penalty on weights, as scikit-learn defines them."""
    hidden, scores = np.empty(b1.size), np.empty(b2.size)
    total = 0.0
    for i in range(y.size):
        scores_of(w1, b1, w2, b2, x[i], hidden, scores)
        most = scores[0]
        for c in range(1, b2.size):
            most = max(most, scores[c])
        sum_ = 0.0
        for c in range(b2.size):
            sum_ += math.exp(scores[c] - most)
        total += most + math.log(sum_) - scores[y[i]]
    return (total + 0.5 * PENALTY * (np.sum(w1 * w1) + np.sum(w2 * w2))) / y.size


def read(weights, x):
    """The class of each sample."""
    w1, b1, w2, b2 = weights
    return np.argmax(np.tanh(x @ w1.T + b1) @ w2.T + b2, axis=1)


def spirals(count=300, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    t = np.sqrt(rng.random(count)) * 2.0 * np.pi
    r = np.column_stack([np.cos(t), np.sin(t)]) * (t * np.where(y == 0, 1.0, -1.0))[:, None] / 3.0
    return r + 0.05 * rng.normal(size=r.shape), y


def weights_of(features, hidden, classes, seed=1):
    """Random weights by the rule of Glorot and Bengio (2010)."""
    rng = np.random.default_rng(seed)
    first, second = math.sqrt(6.0 / (features + hidden)), math.sqrt(6.0 / (hidden + classes))
    w1, w2 = rng.uniform(-first, first, (hidden, features)), rng.uniform(-second, second, (classes, hidden))
    return w1, np.zeros(hidden), w2, np.zeros(classes)


def pack(weights):
    return np.concatenate([part.ravel() for part in weights])


def unpack(vector, like):
    ends = np.cumsum([part.size for part in like])[:-1]
    return tuple(part.reshape(one.shape) for part, one in zip(np.split(vector, ends), like, strict=True))


both = adjit.value_and_grad(loss, wrt=("w1", "b1", "w2", "b2"))


def fit(start, x, y, iterations):
    """The weights, the loss after each iteration, and the mean seconds of a gradient."""
    way, spent = [], []

    def asked(vector):
        weights = unpack(vector, start)
        begin = time.perf_counter()
        value, slopes = both(*weights, x, y)
        spent.append(time.perf_counter() - begin)
        return value, pack(slopes)

    found = minimize(
        asked, pack(start), jac=True, method="L-BFGS-B",
        options={"maxiter": iterations, "maxfun": 2 * iterations, "ftol": 1e-12, "gtol": 1e-9},
        callback=lambda intermediate_result: way.append(intermediate_result.fun),
    )  # fmt: skip
    return unpack(found.x, start), way, np.mean(spent)


def fit_by_sklearn(start, x, y, iterations):
    """scikit-learn's network, fitted from the same weights."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    class Started(MLPClassifier):
        def _initialize(self, *args):
            super()._initialize(*args)
            w1, b1, w2, b2 = start
            self.coefs_, self.intercepts_ = [w1.T.copy(), w2.T.copy()], [b1.copy(), b2.copy()]

    network = Started(
        start[1].size, activation="tanh", solver="lbfgs", alpha=PENALTY, max_iter=iterations, tol=1e-9, random_state=0
    )
    with warnings.catch_warnings():
        # it stops after the given number of iterations, as it should here
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(x, y)
    return network


def solve(small, hidden, iterations):
    if small:
        x, y = spirals()
    else:
        from sklearn.datasets import load_digits

        x, y = load_digits(return_X_y=True)
        x, y = x / 16.0, y.astype(np.int64)
    order = np.random.default_rng(7).permutation(y.size)
    learn, test = order[: 3 * y.size // 4], order[3 * y.size // 4 :]
    start = weights_of(x.shape[1], hidden, int(y.max()) + 1)
    begin = time.perf_counter()
    both(*start, x[:5], y[:5])
    compiled = time.perf_counter() - begin
    begin = time.perf_counter()
    weights, way, gradient = fit(start, x[learn], y[learn], iterations)
    return {
        "x": x, "y": y, "learn": learn, "test": test, "start": start, "weights": weights, "way": way,
        "compiled": compiled, "gradient": gradient,
        "seconds": time.perf_counter() - begin, "right": np.mean(read(weights, x[test]) == y[test]),
    }  # fmt: skip


def check(found, least):
    """The gradient agrees with the formula for one layer and with differences; and the network has learned."""
    x, y = found["x"][found["learn"]], found["y"][found["learn"]]
    w1, b1, w2, b2 = found["start"]
    hidden = np.tanh(x @ w1.T + b1)
    scores = hidden @ w2.T + b2
    share = np.exp(scores - scores.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    share[np.arange(y.size), y] -= 1.0
    _, slopes = both(*found["start"], x, y)
    np.testing.assert_allclose(slopes[2], (share.T @ hidden + PENALTY * w2) / y.size, rtol=1e-9, atol=1e-14)
    back = (share @ w2) * (1.0 - hidden**2)
    np.testing.assert_allclose(slopes[0], (back.T @ x + PENALTY * w1) / y.size, rtol=1e-9, atol=1e-14)
    adjit.check_grads(loss, (*found["start"], x[:20], y[:20]), order=1)
    assert found["right"] >= least, found["right"]


def draw(found, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    x, y, test = found["x"], found["y"], found["test"]
    figure = plt.figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subfigures(1, 2)
    right.suptitle("read as; wrong ones in red, with the truth", fontsize=10)
    axis = left.subplots()
    axis.semilogy(found["way"])
    axis.set(xlabel="iteration", ylabel="loss")
    said = read(found["weights"], x[test])
    first = np.argsort(said == y[test], kind="stable")[:24]  # what it reads wrong comes first
    for k, axis in zip(first, right.subplots(4, 6).ravel(), strict=True):
        axis.imshow(x[test][k].reshape(8, 8), cmap="gray_r")
        is_right = said[k] == y[test][k]
        title = f"{said[k]}" if is_right else f"{said[k]}, is {y[test][k]}"
        axis.set_title(title, fontsize=9, color="black" if is_right else "red")
        axis.axis("off")
    figure.savefig(file, dpi=120)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--small", action="store_true", help="two spirals, without scikit-learn, and no picture")
    parser.add_argument("--out", type=Path, default=Path("build/demo"))
    asked = parser.parse_args(arguments)
    found = solve(asked.small, 16 if asked.small else asked.hidden, asked.iterations)
    check(found, 0.95)
    print(f"first call {found['compiled']:.1f} s, then {1e3 * found['gradient']:.2f} ms per gradient")
    print(
        f"adjit:        loss {found['way'][-1]:.6f} after {len(found['way'])} iterations, "
        f"{found['right']:.1%} right, {found['seconds']:.1f} s"
    )
    if not asked.small:
        learn, test = found["learn"], found["test"]
        begin = time.perf_counter()
        network = fit_by_sklearn(found["start"], found["x"][learn], found["y"][learn], asked.iterations)
        seconds = time.perf_counter() - begin
        right = network.score(found["x"][test], found["y"][test])
        print(
            f"scikit-learn: loss {network.loss_:.6f} after {network.n_iter_} iterations, "
            f"{right:.1%} right, {seconds:.1f} s"
        )
        assert abs(right - found["right"]) < 0.03
        asked.out.mkdir(parents=True, exist_ok=True)
        draw(found, asked.out / "digits.png")
        print(f"wrote {asked.out / 'digits.png'}")


if __name__ == "__main__":
    main()
