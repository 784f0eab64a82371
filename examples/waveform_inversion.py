"""Find the speed of sound in the ground: full-waveform inversion in two dimensions, with L-BFGS and gradients of a
program that launches hand-written CUDA kernels.

In:  shots in one well, recorded in another one. The fit sees the recordings, and not the model behind them.
Out: the misfit and the error of the model before and after, the time of a gradient, the gradient's source
     (build/demo/misfit_gradient.py), and a picture of the models (…/ground.png).

The kernels and the program are in `acoustic.py` beside this file. With a GPU everything runs there. Without one the
same program runs on the CPU, with launches as loops, and a small gradient is compared with numba's simulator.

    python examples/waveform_inversion.py [--rows 100] [--columns 84] [--shots 10] [--iterations 40] [--small]
                                          [--out build/demo]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numba import cuda
from scipy.optimize import minimize

import adjit
from acoustic import WELL, first_guess, ground, misfit, recorded, sponge_of, wavelet_of

LEAST, MOST = 0.10, 0.34  # of c; beyond one half the steps are not stable
TYPES = "float64[:, ::1], float64[:, ::1], float64[::1], int64, float64[:, ::1]"


class Survey:
    """Shots and their recordings: `value_and_gradient(c)` sums the misfit of a model over all shots."""

    def __init__(self, model, rows, steps, period, target):
        self.target, self.rows = target, rows
        self.sponge = self.given(sponge_of(model.shape))
        self.wavelet = self.given(wavelet_of(steps, period))
        # the fit gets these recordings, and nothing else of the model
        self.observed = [self.shot(model, row) for row in rows]
        self.derived = adjit.value_and_grad(misfit, target=target)

    def given(self, array):
        return cuda.to_device(array) if self.target == "cuda" else array

    def shot(self, model, row):
        value, _ = adjit.vjp(recorded, self.given(model), self.sponge, self.wavelet, row, target=self.target)
        return value

    def value_and_gradient(self, model):
        value, gradient = 0.0, np.zeros(model.shape)
        c = self.given(np.ascontiguousarray(model))
        found = [
            self.derived(c, self.sponge, self.wavelet, *shot) for shot in zip(self.rows, self.observed, strict=True)
        ]
        for one, bar in found:
            value += float(fetched(one))
            gradient += fetched(bar)
        return value, gradient


def fetched(value):
    return value.copy_to_host() if hasattr(value, "copy_to_host") else value


def fit(survey, start, iterations):
    """The model with the least misfit, and the misfit after each iteration."""
    first, _ = survey.value_and_gradient(start)
    # scaled so that a step of L-BFGS changes the model by some percent
    scale = 1.0 / first
    way = [first]

    def asked(vector):
        value, gradient = survey.value_and_gradient(vector.reshape(start.shape))
        return value * scale, gradient.ravel() * scale

    def noted(intermediate_result):
        way.append(intermediate_result.fun / scale)

    found = minimize(
        asked,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(LEAST, MOST)] * start.size,
        callback=noted,
        options={"maxiter": iterations},
    )
    return found.x.reshape(start.shape), way


def small(target):
    """The gradient of one shot over a small model."""
    shape = (6, 27)
    survey = Survey(ground(shape), [3], 8, 5.0, target)
    return survey.value_and_gradient(first_guess(shape))


def compare_with_simulator():
    """The difference between the gradients by the generated kernels, in the simulator, and by the CPU."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    text = "import json, waveform_inversion as w; v, g = w.small('cuda'); print(json.dumps([v, g.tolist()]))"
    run = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        env=environment,
        cwd=Path(__file__).parent,
        check=True,
    )
    value, gradient = json.loads(run.stdout)
    wanted_value, wanted = small("cpu")
    return max(abs(value / wanted_value - 1.0), np.abs(np.array(gradient) - wanted).max() / np.abs(wanted).max())


def median_time(run, rounds=5):
    run()
    spent = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run()
        spent.append(time.perf_counter() - begin)
    return float(np.median(spent))


def draw(models, titles, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(models), figsize=(4.2 * len(models), 3.2), constrained_layout=True)
    for axis, model, title in zip(axes, models, titles, strict=True):
        image = axis.imshow(
            np.sqrt(model), vmin=np.sqrt(models[0].min()), vmax=np.sqrt(models[0].max()), cmap="viridis"
        )
        axis.set_title(title)
        axis.set_xticks([])
        axis.set_yticks([])
    figure.colorbar(image, ax=axes, label="speed, in grid spacings per step", shrink=0.8)
    figure.savefig(path, dpi=130)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for name, usual in (("rows", 100), ("columns", 84), ("shots", 10), ("iterations", 40), ("steps", 380)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--small", action="store_true", help="a small model, two iterations, and no picture")
    parser.add_argument("--out", type=Path, default=Path("build/demo"))
    asked = parser.parse_args(arguments)
    if asked.small:
        asked.rows, asked.columns, asked.shots, asked.iterations, asked.steps = 40, 40, 2, 2, 80
    target = "cuda" if cuda.is_available() else "cpu"
    if target == "cpu":
        print("No GPU here: the launches run as loops on the CPU.")
        print(f"A small model in numba's simulator: the gradients agree to {compare_with_simulator():.0e}.")
    shape = (asked.rows, asked.columns)
    model, start = ground(shape), first_guess(shape)
    rows = np.linspace(14, asked.rows - 15, asked.shots).astype(int).tolist()
    survey = Survey(model, rows, asked.steps, 24.0, target)

    begin = time.perf_counter()
    survey.value_and_gradient(start)
    print(f"the first gradient of all shots: {time.perf_counter() - begin:.1f} s")
    each = median_time(lambda: survey.value_and_gradient(start)) / asked.shots
    print(f"then {1e3 * each:.1f} ms per shot, for the misfit and its gradient")
    begin = time.perf_counter()
    found, way = fit(survey, start, asked.iterations)
    spent = time.perf_counter() - begin
    inside = (slice(14, -14), slice(WELL + 4, -WELL - 4))
    before, after = (np.abs(m - model)[inside].mean() for m in (start, found))
    where = "the GPU" if target == "cuda" else "the CPU"
    print(f"{len(way) - 1} iterations over {asked.shots} shots of {asked.steps} steps took {spent:.1f} s on {where}.")
    print(f"misfit      {way[0]:.4g} -> {way[-1]:.4g}, {way[-1] / way[0]:.2%} of the start")
    print(f"mean error  {before:.5f} -> {after:.5f} of c, between the wells")
    if asked.small:
        assert way[-1] < way[0]
        return
    asked.out.mkdir(parents=True, exist_ok=True)
    source = adjit.value_and_grad(misfit, target="cuda").source(TYPES)
    (asked.out / "misfit_gradient.py").write_text(source, encoding="utf-8")
    draw(
        [model, start, found],
        ["the ground", "first guess", f"after {len(way) - 1} iterations"],
        asked.out / "ground.png",
    )
    print(f"wrote {asked.out / 'misfit_gradient.py'} and {asked.out / 'ground.png'}")


if __name__ == "__main__":
    main()
