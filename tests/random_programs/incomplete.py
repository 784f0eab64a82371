"""Parts of random programs on data of which some is missing or infinite, or that meets zeros of roots and lengths.

In: a source of random draws. Out: lines that add a number to `t`. Names: `x` and `v`, finite, `y`, nan where `missing`
is true, `w`, from 0 to 1; `X`, `Y`, `W`, `M` are the same as matrices.
"""

from __future__ import annotations

import random

# arrays made element by element of such, {a} and {b}
_OF_ONE = (
    "{a} ** 2", "np.sin({a})", "np.exp(-0.5 * {a})", "np.tanh({a})", "np.sqrt(1.0 + {a} * {a})", "np.abs({a})",
    "np.log(1.0 + {a} ** 2)", "np.sqrt({a} * {a})", "1.0 / (1.0 + {a} ** 2)", "np.maximum({a}, 0.35)",
    "0.7 * {a} - 0.1", "np.minimum({a}, 1.1)", "np.clip({a}, -1.1, 1.1)", "np.arctan({a})", "-{a}", "{a} ** 3",
    "np.square({a})", "np.cbrt(2.5 + np.tanh({a}))", "np.logaddexp({a}, 0.2)",
    "np.hypot({a}, 0.5)", "np.nan_to_num({a})",
)  # fmt: skip
_OF_TWO = (
    "{a} * {b}", "{a} + {b}", "{a} - {b}", "{a} / (1.0 + {b} * {b})", "np.where({m}, {a}, {b})", "np.hypot({a}, {b})",
    "np.where({x} > 0.2, {a}, {b})", "np.maximum({a}, {b})", "np.fmin({a}, {b})", "np.arctan2({a}, 1.5 + {b} ** 2)",
    "np.power(1.2 + np.sin({a}), {b} + 0.1)", "np.logaddexp({a}, {b})", "np.fmax({a}, {b})", "({a} - {b}) ** 2",
    "np.where(np.isnan({a}), {b}, {a})", "np.where(np.isfinite({a}), {a} * {b}, {b})", "{a} * np.exp(-({b} ** 2))",
)  # fmt: skip
_OF_A_ROW = (
    "np.cumsum({a})", "np.cumprod(0.5 + {a})", "{a}[::-1]", "np.roll({a}, 1)", "np.concatenate(({a}[1:], {a}[:1]))",
    "np.diff({a}, prepend=0.1)",
    "{a}[np.array([1, 0, 3, 3])]", "{a} - {a}[0]", "{a}.reshape(2, 2).T.ravel()", "np.cumsum({a}[::-1])[::-1]",
)  # fmt: skip
_OF_A_MATRIX = (
    "{a}.T", "{a}[::-1]", "np.cumsum({a}, axis=0)", "np.cumsum({a}, axis=1)", "{a} - np.nanmean({a}, axis=0)",
    "{a} * {x}[0]", "np.roll({a}, 1, axis=1)", "{a} - {a}[:, :1]", "np.vstack(({a}[1], {a}[0]))",
)  # fmt: skip
# what leaves out of `a` what is missing
_LEFT_OUT = (
    "a = np.where(np.isnan(a), {b}, a)", "a = np.where({m}, {b}, a)", "a = np.nan_to_num(a, nan=0.5)",
    "a = np.where(np.isfinite({y}), a, {b})", "a[np.isnan(a)] = 0.0", "a[{m}] = 0.3", "a[~np.isfinite(a)] = x[2]",
    "a = np.where(a == a, a, {b})", "a = np.where(~{m}, a, {b})", "np.copyto(a, 0.2, where={m})",
)  # fmt: skip
_LEFT_OUT_OF_A_ROW = (
    "a = a[~missing]", "a = a[np.flatnonzero(~missing)]", "a = a[~np.isnan(a)]", "a[missing] = x[missing]",
    "for i in range(a.size):\n    if np.isnan(a[i]):\n        a[i] = {b}[i]",
    "for i in range(a.size):\n    if missing[i]:\n"
    "        a[i] = a[i - 1] if i > 0 and a[i - 1] == a[i - 1] else x[i]",
    "a = np.array([r for r in a if not np.isnan(r)])", "a = a[np.nonzero(np.isfinite(a))]",
    "kept = np.empty(a.size)\nn = 0\nfor i in range(a.size):\n"
    "    if not missing[i]:\n        kept[n] = a[i]\n        n += 1\na = kept[:n]",
)  # fmt: skip
# a number of `a`, where nothing is missing any more
_WHOLE = (
    "np.sum({g})", "np.max({g})", "np.sum({g} ** 2)", "np.sum({g} * np.exp(-a))", "np.min({g}) + np.sum({g})",
    "np.sqrt(1.0 + np.sum({g} ** 2))", "np.sum(np.abs({g}))", "np.sum({g}) * x[1]",
)  # fmt: skip
# and where something is
_PARTIAL = (
    "np.nansum({g})", "np.nanmean({g})", "np.nanmax({g})", "np.nanmin({g})", "np.nanvar({g})", "np.nanstd({g})",
    "np.nanmedian({g})", "np.nanprod({g})", "np.sum({g}, where=~{m})", "np.sum({g}[~{m}] * {x}[~{m}])",
    "np.sum(np.where({m}, 0.0, {g}))", "np.sum(np.nan_to_num({g}) * {w})", "np.nansum({g} * {w})",
    "np.mean({g}[~np.isnan(a)])", "np.sum({g}[np.isfinite(a)] ** 2)", "np.max({g}, where=~{m}, initial=0.1)",
    "np.nansum(np.where({w} > 0.3, {g}, 0.0))", "np.sum(np.where({m}, {x}, {g}) * {w})", "np.nanquantile({g}, 0.4)",
    "np.mean({g}, where=~{m})", "np.sum(np.where(np.isnan({y}), 0.0, {g}) * ~{m})",
    "np.average(np.nan_to_num({g}), weights=1.0 * ~{m} + 0.1)",
)  # fmt: skip
_PARTIAL_OF_A_ROW = (
    "np.sum(np.nancumsum({g}))", "np.sum({g}[np.flatnonzero(~missing)])", "sum(r for r in {g} if r == r)",
    "sum([r * r for r in {g} if not math.isnan(r)])", "np.sum(np.nancumprod({g}))", "{g}[np.nanargmax(a)]",
    "np.sum(np.sort({g}[~missing])[:2])", "np.dot(np.where(missing, 0.0, {g}), x)",
    "sum(r * z for r, z, m in zip({g}, x, missing) if not m)",
)  # fmt: skip
_PARTIAL_OF_A_MATRIX = (
    "np.sum(np.nansum({g}, axis={k}) * x[:2])", "np.nansum(np.nanmean({g}, axis={k}) * x[:2])",
    "np.nansum(np.nanmax({g}, axis={k}))", "np.nansum(np.nanstd({g}, axis={k}) * x[2:])",
    "np.nansum(np.sum({g}, axis={k}))", "np.sum({g}[:, ~np.isnan(np.sum(a, axis=0))])",
    "np.nansum(np.nanmin({g}, {k}) ** 2)", "np.sum({g}, axis={k}, where=~M)[0]", "np.sum({g}[~np.any(M, axis=1)])",
    "np.nansum(np.nanmedian({g}, axis={k}))", "np.sum(np.nan_to_num({g}) @ x[:2])",
    "np.nansum(np.nanvar({g}, axis={k}, ddof=0))", "np.sum({g}[0][~M[0]])",
)  # fmt: skip
_LOOPS = (
    "for i in range(a.size):\n    if not np.isnan(a[i]):\n        t += {s}",
    "for i in range(a.size):\n    r = {s}\n    t += r if r == r else 0.0",
    "for i in range(a.size):\n    if missing[i]:\n        continue\n    t += {s}",
    "for i in range(a.size):\n    r = {s}\n    if not missing[i] and r > -5.0:\n        t += math.tanh(r)",
    "for i in range(a.size):\n    r = {s}\n    if math.isnan(r):\n        r = x[i]\n    t += r * w[i]",
    "last = x[0]\nfor i in range(a.size):\n    r = {s}\n    last = last if np.isnan(r) else 0.5 * r + 0.3 * last\n"
    "    t += last",
    "for i in np.flatnonzero(~missing):\n    t += {s}",
    "i = 0\nwhile i < a.size:\n    if np.isfinite(y[i]):\n        t += {s}\n    i += 1",
    "p, e = x[0], 1.0\nfor i in range(a.size):\n    if not missing[i]:\n        gain = e / (e + 0.5)\n"
    "        p += gain * ({s} - p)\n        e *= 1.0 - gain\n    e += 0.1\n    t += p",
    "r = np.empty(a.size)\nfor i in range(a.size):\n    r[i] = {s}\nfor i in range(a.size):\n    if not missing[i]:\n"
    "        t += r[i] * r[i]",
)
_STEPS = (
    "a[i]",
    "a[i] * x[i]",
    "a[i] * a[i]",
    "math.exp(-a[i] * a[i])",
    "(a[i] - x[i]) ** 2",
    "a[i] / (1.0 + x[i] ** 2)",
)
# of finite numbers `v`, between infinities
_PADDED = (
    "b = np.full(6, {f})\nb[{at}] = {g}\n",
    "b = np.where({c}, {f}, {g})\n",
    "b = np.full((3, 4), {f})\nb[1] = {g}\nb = b.ravel()[3:9]\n",
    "b = np.concatenate(([{f}], {g}, [{f}]))\n",
    "b = {g}.copy()\nb[{c}] = {f}\n",
    "b = np.empty(6)\nb[:] = {f}\nfor i in range(4):\n    b[i + 1] = {g}[i]\n",
)
_FINITE = (
    "v", "v * v", "v + 0.5", "np.exp(v)", "v * w", "x * x[1]", "np.sin(v)", "v[::-1] - v[0]",
    # what products and sums that round once make another number of
    "x * w + v", "np.exp(v) * w", "v * v - 0.3 * x",
)  # fmt: skip
_ASKED = ("w > 0.5", "missing", "np.isnan(y)", "~missing & (w < 0.9)")
_OF_INFINITE = (
    "t += np.min(b)", "t += np.sum(np.exp(-b))", "t += np.sum(1.0 / (2.0 + b))", "t += np.sum(np.tanh(b) * {k})",
    "t += np.sum(np.arctan(b))", "t += -np.log(np.sum(np.exp(-b)))", "t += np.sum(b[np.isfinite(b)] ** 2)",
    "least = np.inf\nfor r in b:\n    least = min(least, r * {k})\nt += least", "t += np.sum(np.minimum(b, 1.5))",
    "m = np.min(b)\nt += m - np.log(np.sum(np.exp(m - b)))", "p = np.exp(-b) / np.sum(np.exp(-b))\nt += np.sum(p * p)",
    "for i in range(b.size - 1):\n    t += min(b[i], b[i + 1] + {k}, 2.0)",
    "t += np.sort(b)[0] * np.sum(np.exp(-b * b))", "t += np.sum(np.where(np.isinf(b), 0.0, b * {k}))",
    "for r in b:\n    if r < np.inf:\n        t += r * r", "t += np.sum(np.fmin(b, {k}))",
    "t += np.sum(np.where(b < 1.0, b * b, 1.0))", "t += np.sum({k} / (1.0 + np.exp(b)))",
    "t += np.sum(np.exp(-(b**2))) + np.min(b) ** 2", "t += np.sum(np.nan_to_num(b, posinf=0.5))",
    "t += np.minimum.accumulate(b)[-1]", "t += np.min(np.add.outer(b, b))", "t += np.sum({k} * np.exp(-b))",
    "t += sorted(b)[0] + b[np.argmin(b)]", "t += np.sum(np.maximum(0.0, 1.0 - b))",
    "t += 1.0 / np.sum(1.0 / (1.0 + b * b))", "t += np.logaddexp(-b[1], -b[2]) if np.isfinite(b[1]) else {k}",
    "t += np.sum(np.sqrt(1.0 + np.exp(-2.0 * b)))",
)  # fmt: skip
_TABLES = (
    # shortest ways; alignments; the likeliest sequence; weights of what may be seen
    "d = np.full((4, 4), np.inf)\nfor i in range(4):\n    d[i, i] = 0.0\n    d[i, (i + 1) % 4] = 0.3 + {g}[i] ** 2\n"
    "for k in range(4):\n    for i in range(4):\n        for j in range(4):\n"
    "            d[i, j] = min(d[i, j], d[i, k] + d[k, j])\nt += np.sum(d)",
    "d = np.full((5, 5), np.inf)\nd[0, 0] = 0.0\nfor i in range(4):\n    for j in range(4):\n"
    "        if abs(i - j) < {n}:\n"
    "            d[i + 1, j + 1] = abs({g}[i] - w[j] - 0.037) + min(d[i, j + 1], d[i + 1, j], d[i, j])\n"
    "t += d[4, 4]",
    "d = np.full((5, 5), np.inf)\nd[0, 0] = 0.0\nfor i in range(1, 5):\n    for j in range(1, 5):\n"
    "        ways = np.array([d[i - 1, j], d[i, j - 1], d[i - 1, j - 1]])\n        m = np.min(ways)\n"
    "        d[i, j] = ({g}[i - 1] - w[j - 1]) ** 2 + m - 0.4 * np.log(np.sum(np.exp((m - ways) / 0.4)))\nt += d[4, 4]",
    "p = np.array([[0.0, -np.inf], [-0.3, -1.2]])\ns = np.array([0.0, -np.inf])\nfor i in range(4):\n"
    "    q = np.empty(2)\n    for j in range(2):\n"
    "        q[j] = max(s[0] + p[0, j], s[1] + p[1, j]) + {g}[i] * (j + 0.5)\n"
    "    s = q\nt += np.max(s)",
    "p = np.array([[-0.2, -np.inf, -0.5], [-1.0, -0.4, -np.inf], [-np.inf, -0.1, -0.7]])\n"
    "s = np.array([0.0, -np.inf, -np.inf])\n"
    "for i in range(4):\n    s = s[:, None] + p\n    m = np.max(s, axis=0)\n"
    "    e = np.exp(s - np.where(np.isfinite(m), m, 0.0))\n"
    "    s = np.where(np.isfinite(m), m + np.log(np.sum(e, axis=0)), -np.inf)\n"
    "    s = s + {g}[i] * np.array([0.3, 1.0, -0.5])\nt += np.max(s)",
    "s = np.outer({g}, w)\ns = np.where(np.tri(4) > 0.0, s, -np.inf)\n"
    "p = np.exp(s - np.max(s, axis=1)[:, None])\n"
    "p = p / np.sum(p, axis=1)[:, None]\nt += np.sum(p @ x)",
    "s = np.outer({g}, w)\nfor i in range(4):\n    for j in range(4):\n"
    "        if j > i:\n            s[i, j] = -np.inf\n"
    "m = np.max(s, axis=1)\nt += np.sum(m + np.log(np.sum(np.exp(s - m[:, None]), axis=1)))",
    "b = [np.inf] * 5\nb[0] = 0.0\nfor i in range(1, 5):\n    for j in range(i):\n"
    "        b[i] = min(b[i], b[j] + ({g}[i - 1] - w[j]) ** 2 + 0.1)\nt += b[4]",
)
# of `d`, of which some elements are zero, in ways that have slopes there
_WITH_ZEROS = (
    "d = {g} - {g}[{i}]", "d = np.maximum({g}, 0.0)", "d = {g} - np.min({g})", "d = np.where({c}, {g}, 0.0)",
    "d = {g} * (w > 0.3)", "d = np.zeros(6)\nd[1:5] = {g}", "d = np.outer({g}, w).ravel()",
    "d = {g}.copy()\nd[d < 0.2] = 0.0", "d = np.abs({g} - {g}[{i}])",
)  # fmt: skip
_OF_ZEROS = (
    "t += np.sum(np.sqrt(d * d) ** 2)", "t += np.sum(np.where(d > 0.0, np.sqrt(np.where(d > 0.0, d, 1.0)), 0.0))",
    "t += np.sum(np.exp(-np.sqrt(d**2)) * (1.0 + np.sqrt(d**2)))", "t += np.linalg.norm(d) ** 2",
    "t += np.sum(np.hypot(d, 0.0) ** 2)", "t += np.sum(d[d > 0.0] * np.log(d[d > 0.0]))",
    "t += np.sum(np.where(d > 0.0, d * np.log(d), 0.0))", "t += np.sum(np.maximum(np.sqrt(np.abs(d)), 0.4))",
    "t += np.sum(np.abs(d) ** 1.5) + np.sum(d**2)", "t += np.std(d - d) + np.std(d)",
    "for r in d:\n    if r > 0.0:\n        t += math.sqrt(r) + math.log(r)", "t += np.sum(np.hypot(d, d) * d)",
    "n = np.linalg.norm(d)\nt += np.sum(d / n) if n > 0.0 else 0.0",
    "t += np.sum(np.sinc(d)) + np.sum(np.where(d == 0.0, 1.0, np.sin(d) / d))",
    "t += np.sum(np.where(np.abs(d) < 0.5, 0.5 * d * d, 0.5 * np.abs(d) - 0.125))",
    "t += np.sum(np.arctan2(d, 1.0)) + np.sum(np.hypot(d, 1.0))",
    "s = np.sqrt(np.abs(d))\ns[d == 0.0] = 0.0\nt += np.sum(s)",
    "t += np.sum(np.divide(np.sin(d), d, out=np.ones(d.size), where=d != 0.0))",
    "r = np.abs(d)\nt += np.sum(r**3 * np.where(r > 0.0, np.log(r), 0.0))",
    "t += np.sum(np.power(d, 2) + np.power(d, 3.0) + d**0)",
    "for r in d:\n    n = math.sqrt(r * r)\n    t += math.exp(-n * n) * math.cos(n)",
    "t += np.sum(np.sqrt(np.maximum(d, 0.25)))",
    "q = d[:, None] - d[None, :]\nt += np.sum((1.0 + np.sqrt(q**2)) * np.exp(-np.sqrt(q**2)))",
    "t += np.sum(np.sign(d) * d * d)",
    "q = (d[:, None] - d[None, :]) ** 2\nnp.fill_diagonal(q, 1.0)\nt += np.sum(1.0 / np.sqrt(q + 0.01))",
    "t += np.sum(np.cbrt(d**3 + 1.0))",
    "n = np.linalg.norm(np.stack((d, d)), axis=0)\nt += np.sum(n**2) + np.sum(np.exp(-n * n))",
    "t += np.prod(1.0 + d) + np.prod(d)", "s = np.log(np.abs(d))\nt += np.sum(np.where(np.isfinite(s), s, 0.0))",
    "t += np.sum(np.exp(np.where(d > 0.0, np.log(d), -np.inf)) ** 2)",
    "p = d * d / (np.sum(d * d) + 0.1)\nt += -np.sum(p[p > 0.0] * np.log(p[p > 0.0]))",
    "t += np.var(d) + np.cumprod(d)[2]", "t += sum(1.0 / r for r in d if r != 0.0 and abs(r) > 0.1)",
    "t += np.sum((d + 0.3) ** np.where(d > 0.0, d, 1.0), where=d > -0.2)",
)  # fmt: skip
MATRICES = "X, Y, W, M = x.reshape(2, 2), y.reshape(2, 2), w.reshape(2, 2), missing.reshape(2, 2)"


def part(draw: random.Random) -> str:
    """Lines that add a number to `t`."""
    return draw.choice(
        (_of_a_row, _of_a_row, _of_a_row, _of_a_matrix, _of_a_matrix, _infinite, _table, _zeros, _zeros)
    )(draw)


def _of_a_row(draw: random.Random) -> str:
    names = {"x": "x", "y": "y", "w": "w", "m": "missing"}
    made = f"a = {_array(draw, names, _OF_A_ROW, draw.randrange(1, 4))} + 0.0"
    match draw.randrange(3):
        case 0:
            kept = draw.choice((*_LEFT_OUT, *_LEFT_OUT_OF_A_ROW))
            out = kept.format(b=draw.choice(("x", "v", "(0.4 * x)", "w")), **names)
            return f"{made}\n{out}\nt += {_number(draw, names, _WHOLE)}"
        case 1:
            return f"{made}\n{draw.choice(_LOOPS).format(s=draw.choice(_STEPS))}"
        case _:
            return f"{made}\nt += {_number(draw, names, (*_PARTIAL, *_PARTIAL_OF_A_ROW))}"


def _of_a_matrix(draw: random.Random) -> str:
    names = {"x": "X", "y": "Y", "w": "W", "m": "M"}
    made = f"{MATRICES}\na = {_array(draw, names, _OF_A_MATRIX, draw.randrange(1, 4))} + 0.0"
    if draw.random() < 0.3:
        out = draw.choice(_LEFT_OUT).format(b=draw.choice(("X", "0.4 * X", "W")), **names)
        return f"{made}\n{out}\nt += {_number(draw, names, _WHOLE)}"
    return f"{made}\nt += {_number(draw, names, (*_PARTIAL, *_PARTIAL_OF_A_MATRIX, *_PARTIAL_OF_A_MATRIX))}"


def _array(draw: random.Random, names: dict[str, str], of_all: tuple[str, ...], depth: int) -> str:
    if depth == 0:
        return draw.choice((names["x"], names["y"], names["y"], names["x"], names["w"]))
    a, b = (_array(draw, names, of_all, draw.randrange(depth)) for _ in range(2))
    if a == b:
        b = names["x"] if a != names["x"] else names["y"]
    pattern = draw.choice(draw.choice((_OF_TWO, _OF_TWO, _OF_ONE, of_all)))
    return f"({pattern.format(a=a, b=b, **names)})"


def _number(draw: random.Random, names: dict[str, str], patterns: tuple[str, ...]) -> str:
    given = draw.choice(("a", "a", "(a * a)", "np.exp(-a * a)", "np.sin(a)", "np.sqrt(1.0 + a * a)"))
    return draw.choice(patterns).format(g=given, k=draw.randrange(2), **names)


def _infinite(draw: random.Random) -> str:
    made = draw.choice(_PADDED).format(
        f="np.inf", g=_finite(draw), c=draw.choice(_ASKED), at=draw.choice(("1:5", ":4", "2:"))
    )
    return made + draw.choice(_OF_INFINITE).format(k=draw.choice(("x[0]", "x[1] * x[2]", "0.7", "w[1]")))


def _table(draw: random.Random) -> str:
    return f"g = {_finite(draw)}\n" + draw.choice(_TABLES).format(g="g", n=draw.randrange(1, 4))


def _zeros(draw: random.Random) -> str:
    made = draw.choice(_WITH_ZEROS).format(g=_finite(draw), i=draw.randrange(4), c=draw.choice(_ASKED))
    return f"{made}\n{draw.choice(_OF_ZEROS)}"


def _finite(draw: random.Random) -> str:
    found = draw.choice(_FINITE)
    return found if found == "v" else f"({found})"
