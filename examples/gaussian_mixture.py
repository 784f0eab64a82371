"""Fit a Gaussian mixture to scikit-learn's wine data with SciPy's L-BFGS and adjit's gradient.

In:  178 wines with 13 measured features each, standardised. The fit does not see their cultivars.
     (With --small: points drawn from two Gaussians, without scikit-learn and matplotlib.)
Out: the log-likelihood by this fit and by scikit-learn's EM, from the same starts; the times of the function and of the
     gradient; the gradient's source (build/demo/negative_log_likelihood_gradient.py); and a picture (…/wine.png).

The model, in plain loops, is in `mixture.py` beside this file.

    python examples/gaussian_mixture.py [--components 3] [--starts 6] [--small] [--out build/demo]
"""

import argparse
import math
import statistics
import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import adjit
from mixture import covariances_of, factors_of, negative_log_likelihood, pack, unpack

# ----------------------------------------------------------------------------------------------------------- the fits


def start_from_clusters(points, components, seed):
    """Weights, means and covariances of a k-means clustering, the same for both fits."""
    from sklearn.cluster import KMeans

    labels = KMeans(components, init="random", n_init=1, random_state=seed).fit_predict(points)
    groups = [points[labels == k] for k in range(components)]
    weights = np.array([len(g) / len(points) for g in groups])
    means = np.array([g.mean(axis=0) for g in groups])
    return weights, means, np.array([np.cov(g.T, bias=True) + 1e-6 * np.eye(g.shape[1]) for g in groups])


def fit_by_em(points, weights, means, covariances):
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(
        len(weights),
        covariance_type="full",
        tol=1e-9,
        max_iter=5000,
        weights_init=weights,
        means_init=means,
        precisions_init=np.linalg.inv(covariances),
    )
    begin = time.perf_counter()
    mixture.fit(points)
    return mixture, time.perf_counter() - begin


def fit_by_gradient(value_and_gradient, points, weights, means, covariances):
    """SciPy's result, the log-likelihood after each iteration, and the seconds of the fit."""
    shape = means.shape
    path = []

    def objective(vector):
        value, gradients = value_and_gradient(*unpack(vector, *shape), points)
        return value, pack(*gradients)

    begin = time.perf_counter()
    result = minimize(
        objective,
        pack(np.log(weights), means, factors_of(covariances)),
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: path.append(-intermediate_result.fun),
        options={"maxiter": 2000, "maxfun": 4000, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-7},
    )
    return result, path, time.perf_counter() - begin


# -------------------------------------------------------------------------------------------------- cost and pictures


def median_times(functions, arguments, rounds=15, seconds=0.02):
    """Seconds per call of each function, as medians of rounds in which they take turns."""
    repeats, times = [], [[] for _ in functions]
    for function in functions:
        begin = time.perf_counter()
        function(*arguments)
        repeats.append(max(1, int(seconds / (time.perf_counter() - begin))))
    for _ in range(rounds):
        for function, repeat, found in zip(functions, repeats, times, strict=True):
            begin = time.perf_counter()
            for _ in range(repeat):
                function(*arguments)
            found.append((time.perf_counter() - begin) / repeat)
    return [statistics.median(found) for found in times]


def draw(file, points, cultivars, parameters, path, em_score):
    """The fitted components over the data, along its first two principal axes; and the log-likelihood by iteration."""
    import matplotlib
    from sklearn.decomposition import PCA

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    axes = PCA(2).fit(points)
    flat, (_, means, factors) = axes.transform(points), parameters
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    left.scatter(flat[:, 0], flat[:, 1], c=cultivars, s=14, cmap="viridis")
    circle = np.stack([np.cos(np.linspace(0, 2 * np.pi, 200)), np.sin(np.linspace(0, 2 * np.pi, 200))])
    for centre, covariance in zip(axes.transform(means), covariances_of(factors), strict=True):
        root = np.linalg.cholesky(axes.components_ @ covariance @ axes.components_.T)
        for radius in (1, 2):
            ring = centre[:, None] + radius * (root @ circle)
            left.plot(ring[0], ring[1], color="black", linewidth=1.4 / radius)
    left.set(xlabel="first principal axis", ylabel="second", title="components (1 and 2 standard deviations)")
    right.plot(range(1, len(path) + 1), path, label="L-BFGS with adjit's gradient")
    right.axhline(em_score, color="black", linestyle="--", linewidth=1, label="scikit-learn's EM, converged")
    right.set(xlabel="iteration", ylabel="log-likelihood per sample", title="best start")
    right.legend()
    figure.savefig(file, dpi=120)


def labels_of(logits, means, factors, points):
    """The likeliest component of each point."""
    densities = map(multivariate_normal, means, covariances_of(factors))
    return np.argmax([a + density.logpdf(points) for a, density in zip(logits, densities, strict=True)], axis=0)


def fit_drawn_points(count=400, features=3):
    """The fit of points from two known Gaussians is at least as likely as the truth, and near it."""
    rng = np.random.default_rng(5)
    truth = np.log([0.3, 0.7]), np.array([[-1.5] * features, [1.0] * features]), np.zeros((2, features, features))
    labels = (rng.random(count) < 0.7).astype(int)
    points = truth[1][labels] + rng.normal(size=(count, features))
    value_and_gradient = adjit.value_and_grad(negative_log_likelihood, wrt=("logits", "means", "factors"))
    weights, covariances = np.full(2, 0.5), np.array([2.0 * np.eye(features)] * 2)
    result, _, seconds = fit_by_gradient(value_and_gradient, points, weights, 0.3 * truth[1], covariances)
    at_truth = -negative_log_likelihood(*truth, points)
    _, means, _ = unpack(result.x, 2, features)
    assert -result.fun >= at_truth, (result.fun, at_truth)
    assert np.abs(means - truth[1]).max() < 0.3, means
    print(f"log-likelihood per point {-result.fun:.4f}, of the truth {at_truth:.4f}; {seconds:.1f} s with compilation")


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Gaussian mixture of the wine data, by L-BFGS with adjit's gradient.")
    parser.add_argument("--components", type=int, default=3)
    parser.add_argument("--starts", type=int, default=6, help="fits, each from another clustering")
    parser.add_argument("--small", action="store_true", help="drawn points, without scikit-learn, and no picture")
    parser.add_argument("--out", type=Path, default=Path("build/demo"))
    options = parser.parse_args(arguments)
    if options.small:
        fit_drawn_points()
        return
    options.out.mkdir(parents=True, exist_ok=True)
    from sklearn.datasets import load_wine
    from sklearn.metrics import adjusted_rand_score
    from sklearn.preprocessing import StandardScaler

    raw, cultivars = load_wine(return_X_y=True)
    points = StandardScaler().fit_transform(raw)
    starts = [start_from_clusters(points, options.components, seed) for seed in range(options.starts)]
    weights, means, covariances = starts[0]
    arguments = (np.log(weights), means, factors_of(covariances), points)
    samples, features = points.shape
    unknowns = pack(*arguments[:3]).size
    print(f"wine: {samples} samples, {features} features; {options.components} components, {unknowns} unknowns")

    value_and_gradient = adjit.value_and_grad(negative_log_likelihood, wrt=("logits", "means", "factors"))
    begin = time.perf_counter()
    value_and_gradient(*arguments)
    print(f"first call of the gradient, with compilation: {time.perf_counter() - begin:.1f} s")
    source = options.out / "negative_log_likelihood_gradient.py"
    value_and_gradient.save(source, *arguments)

    print("\nlog-likelihood per sample; both fits start from the same k-means clusterings:")
    print("start   at start   L-BFGS with adjit's gradient     scikit-learn's EM")
    fits = []
    for number, start in enumerate(starts):
        result, path, seconds = fit_by_gradient(value_and_gradient, points, *start)
        mixture, em_seconds = fit_by_em(points, *start)
        em_score = mixture.score(points)
        fits.append((-result.fun, result.x, path, em_score))
        at_start = -negative_log_likelihood(np.log(start[0]), start[1], factors_of(start[2]), points)
        print(
            f"{number:5d} {at_start:10.5f}   {-result.fun:10.6f} {result.nfev:4d} calls {1e3 * seconds:4.0f} ms"
            f"   {em_score:10.6f} {mixture.n_iter_:4d} steps {1e3 * em_seconds:4.0f} ms",
            flush=True,
        )

    score, found, path, _ = max(fits, key=lambda fit: fit[0])
    best_em = max(fit[3] for fit in fits)
    parameters = unpack(found, *means.shape)
    narrowest = math.sqrt(np.linalg.eigvalsh(covariances_of(parameters[2])).min())
    agreement = adjusted_rand_score(cultivars, labels_of(*parameters, points))
    print(f"best:  L-BFGS with adjit {score:.6f}   EM {best_em:.6f}   difference {score - best_em:+.1e}")
    print(f"smallest standard deviation of a component in any direction: {narrowest:.3f} (near 0: collapsed)")
    print(f"agreement with the three cultivars, adjusted Rand index: {agreement:.3f}")
    print("EM adds 1e-6 to each variance, and L-BFGS does not. Both can stop in a local optimum. EM needs fewer steps,")
    print("as it is specific to this model. With the gradient you can change the model.")

    primal_time, gradient_time = median_times([negative_log_likelihood, value_and_gradient], arguments)
    print(f"\nfunction {1e6 * primal_time:.0f} us, value and gradient {1e6 * gradient_time:.0f} us, ", end="")
    print(f"ratio {gradient_time / primal_time:.2f} (medians, both compiled by numba)")
    plot = options.out / "wine.png"
    draw(plot, points, cultivars, parameters, path, best_em)
    print(f"wrote the gradient's source, {source}\nwrote the picture, {plot}")


if __name__ == "__main__":
    main()
