"""The lines that people write, as patterns: see `holes.py` for what stands in angle brackets.

CALLS give arrays, PAIRS several results, NUMBERS numbers; FATES is what becomes of an array, which is `$` there; VIEWS
are all ways to see its memory; LINES are other statements, LOOPS what scientific code does.
Patterns of several lines stand in blocks.
"""

from __future__ import annotations

# ------------------------------------------------------------------------------------------------------- library calls

CALLS = """
np.linalg.solve(<M>, <~M>)
np.linalg.solve(<M>, <v>)
np.linalg.solve(<M>, <E>)
np.linalg.inv(<M>)
np.linalg.inv(<M> @ <M>.T + np.eye(<M>.shape[0]))
np.linalg.pinv(<A>)
np.linalg.pinv(<M>)
np.linalg.cholesky(<M> @ <M>.T + np.eye(<M>.shape[0]))
np.linalg.cholesky(<A> @ <A>.T + 2.0 * np.eye(<A>.shape[0]))
np.linalg.eigvalsh(<M> + <M>.T)
np.linalg.eigh(<M> + <M>.T)[0]
np.linalg.qr(<M>)[1]
np.linalg.svd(<A>)[1]
np.linalg.lstsq(<A>, <A> @ <A>[0])[0]
np.linalg.lstsq(<M>, <v>)[0]
np.linalg.matrix_power(<M>, 2)
np.cumsum(<E>)
np.cumsum(<v>)
np.cumsum(<A>, axis=0)
np.cumprod(<v>)
np.cumprod(<V>)
np.sort(<v>)
np.sort(<V>)
np.partition(<v>, 1)
np.concatenate((<v>, <V>))
np.concatenate((<A>, <~A>))
np.concatenate((<A>, <~A>), axis=1)
np.stack((<v>, <~v>))
np.stack((<v>, <~v>), axis=1)
np.hstack((<v>, <V>))
np.vstack((<v>, <~v>))
np.column_stack((<v>, <~v>))
np.append(<v>, <x>)
np.append(<v>, <V>)
np.where(<v> > 0.1237, <~v>, <x>)
np.where(<m>, <v>, <x>)
np.where(<A> > 0.1237, <~A>, <A>)
np.clip(<v>, -0.5, 0.7)
np.clip(<E>, <c>, 2.5)
np.random.default_rng(3).normal(<x>, 0.5, 4)
np.random.default_rng(4).gumbel(<x>, <c>, (2, 3))
<v>.clip(-0.4, 0.6)
np.minimum(<v>, <x>)
np.maximum(<A>, <x>)
np.roll(<v>, 1)
np.roll(<v>, -<n>)
np.roll(<A>, 1)
np.flip(<v>)
np.flip(<A>)
np.fliplr(<A>)
np.flipud(<A>)
np.rot90(<A>)
np.diff(<v>)
np.diff(<V>)
np.ediff1d(<v>)
np.outer(<v>, <V>)
np.kron(<A>, <M>)
np.cross(<v>[:3], <~v>[:3])
np.tril(<A>)
np.triu(<A>, 1)
np.diag(<v>)
np.diag(<A>)
np.diag(<A>).copy()
np.diagflat(<v>)
np.repeat(<v>, 2)
np.repeat(<A>, 2)
np.interp(<v>, np.array([-1.0, 0.0, 0.5, 2.0]), np.array([0.1, 0.7, -0.2, 0.4]))
np.interp(<V>, np.linspace(-2.0, 2.0, 4), <A>[0, 0] * np.array([0.1, 0.7, -0.2, 0.4]))
np.convolve(<v>, <~v>)
np.convolve(<v>, np.array([0.25, 0.5, 0.25]))
np.correlate(<v>, np.array([0.25, 0.5]))
np.gradient(<v>)
np.vander(<v>)
np.linspace(<x>, <x>, 4)
np.linspace(0.0, <f>, <n> + 2)
np.logspace(<c>, <f>, 3)
np.arange(<v>.size) * <f>
np.arange(4.0) + <f>
np.full(3, <x>)
np.full((2, 3), <x>)
np.full_like(<v>, <x>)
np.ones_like(<A>)
np.zeros_like(<v>)
np.eye(3)
np.identity(<v>.size)
np.array([<x>, <x>, <x>])
np.array([[<x>, <y>], [<y>, <x>]])
np.array([<v>[0], <x>])
np.asarray(<v>)
np.ascontiguousarray(<A>)
np.asfortranarray(<A>)
np.asarray(<v>, dtype=np.float64)
np.copy(<v>)
<A>.copy()
<v>.astype(np.float64)
<v>.astype(np.float32)
np.take(<v>, <I>)
np.take(<A>, <I>, axis=0)
np.extract(<v> > 0.0, <v>)
np.compress(<m>, <v>)
np.bincount(<I>, weights=<v>, minlength=4)
np.nan_to_num(<v>)
np.trapezoid(<A>)
np.sum(<A>, axis=0)
np.sum(<A>, axis=1)
<A>.sum(axis=0)
np.mean(<A>, axis=1)
np.max(<A>, axis=0)
<A>.min(axis=1)
np.sum(<T>, axis=2)
np.sum(<T>, axis=0)
np.prod(<A>, axis=0)
np.cov(<A>)
np.quantile(<v>, np.array([0.2, 0.7]))
np.reshape(<A>, -1)
<A>.reshape(<A>.size)
<v>.reshape(-1, 1)
<v>.reshape((1, <v>.size))
<A>.ravel()
<A>.flatten()
<A>.T.ravel()
np.ravel(<A>.T)
np.transpose(<A>)
np.transpose(<T>, (2, 0, 1))
<T>.transpose(1, 0, 2)
np.swapaxes(<A>, 0, 1)
np.expand_dims(<v>, 1)
np.expand_dims(<v>, 0) * <A>[:, :1]
np.broadcast_to(<v>, (2, <v>.size)) * <x>
np.atleast_2d(<v>)
np.squeeze(<v>.reshape(1, -1))
<A> @ <A>.T
<A>.T @ <A>
<M> @ <M>
<M> @ <v>
<v> @ <M>
np.dot(<M>, <v>)
np.dot(<A>, <A>.T)
<A>.dot(<A>.T)
<A>.T @ (<A> @ <A>.T)
(<A> * <x>) @ <A>.T
(<M> + <x> * np.eye(<M>.shape[0])) @ <v>
<M> @ (<M> @ <v>)
<A>[:, 0:2] @ <A>[:, 0:2].T
np.matmul(<M>, <v>)
np.multiply.outer(<v>, <v>)
np.add.reduceat(<v>, [0, 1])
np.cumulative_sum(<v>, include_initial=True)
np.lib.stride_tricks.sliding_window_view(<v>, 2)
np.exp(<v>, where=<v> > 0.1237, out=np.ones(<v>.size))
np.arcsin(0.3 * <v> + 0.2j).imag
np.union1d(<v>, np.append(<v>, <x>))
<A>.mT * <x>
np.squeeze(<A>[:1])
np.einsum("ij,j->i", <M>, <v>)
np.tensordot(<M>, <v>, 1)
np.linalg.inv(<M>) @ <v>
np.sqrt(<v> ** 2 + 0.1)
np.exp(<v>) / np.sum(np.exp(<v>))
np.exp(-<A>)
np.sinc(<v>)
np.arctan2(<v>, <~v> + 2.0)
np.hypot(<v>, <~v>)
np.log1p(<v> ** 2)
np.abs(<v> * <z>)
(<v> * <z>).real
np.real(<Z> * <x>)
np.abs(<Z> * <f> + <z>)
(<Z> * <v>).imag
np.exp(1j * <v>).real
<v>[<I>]
<A>[<I>]
<A>[:, [0, 1]]
<A>[[0, 1]]
<A>[[1, 0], [0, 1]]
<v>[[0, -1, 0]]
<v>[<m>]
<v>[<v> > 0.0]
<v>[np.argsort(<v>)]
<v>[np.nonzero(<v> > 0.0)[0]]
<v>[<J> % 2]
<J> * <v>
np.r_[<v>, 0:1:3j, <x>]
np.c_[<v>, <~v>]
sparse.diags([2.5 + <v> ** 2, <v>[1:], <v>[:-1]], [0, 1, -1]) @ <~v>
spsolve(sparse.diags([3.0 + <v> ** 2, <v>[1:] * 0.5], [0, -1], format="csc"), <~v>)
(sparse.kron(sparse.eye(2), <A>) + sparse.kron(<~A>, sparse.identity(2))).toarray()
ndimage.gaussian_filter1d(<v>, 0.7)
ndimage.convolve1d(<A>, np.array([0.25, 0.5, 0.25]), axis=0, mode="nearest")
<v> * (<J> + <J>)
<v> + <J>
<J> / 2
<v> * <m>
""".strip().splitlines()

PAIRS = """
<!e>, <!Q> = np.linalg.eigh(<M> + <M>.T)
<!Q>, <!R> = np.linalg.qr(<M>)
<!Q>, <!R> = np.linalg.qr(<A>)
<!U>, <!d>, <!W> = np.linalg.svd(<A>, False)
<!g>, <!t> = np.linalg.slogdet(<M>)
<!U>, <!d>, <!W> = np.linalg.svd(<M>)
<!r>, <!w> = <v> + <x>, <v> * <x>
<!r>, <!w> = np.cumsum(<v>), np.sort(<v>)
<!r>, <!w> = <M>[:2]
<!r>, <!w> = (<M> * <x>)[-2:]
<!g>, <!t> = <v>[:2]
<!g>, <!t> = <v>[-2:] * <x>
<!r> = <!w> = <E>
<!r> = <!w> = <x>
""".strip().splitlines()

NUMBERS = """
np.sum(<E>)
np.prod(<v>)
np.median(<v>)
np.var(<E>)
np.std(<v>)
np.ptp(<v>)
np.percentile(<v>, 30.0)
np.average(<v>, weights=np.abs(<~v>) + 0.3)
np.linalg.det(<M>)
np.linalg.slogdet(<M>)[1]
np.linalg.norm(<E>)
np.linalg.norm(<v>, 1)
np.linalg.norm(<v>, np.inf)
np.linalg.cond(<M>)
np.trace(<A> @ <A>.T)
np.interp(<f>, np.array([-1.0, 0.1, 2.0]), np.array([0.3, -0.5, 0.9]))
np.interp(<f>, np.linspace(-1.0, 2.0, <v>.size), <v>)
np.trapezoid(<v>)
np.dot(<v>, <M> @ <v>)
<v> @ <M> @ <v>
<v> @ np.linalg.solve(<M>, <v>)
np.max(<v>) - np.min(<v>)
np.argmax(<v>) * <f>
float(np.sum(<m>)) * <x>
np.sum(<J>) * <x>
(<f> * (<J> + <J>)).sum()
<J>[0] * <f>
np.count_nonzero(<v> > 0.0) * <x>
np.searchsorted(np.array([-0.5, 0.2, 0.8]), <f>) * <x>
math.erf(<x>)
math.lgamma(2.0 + <y> ** 2)
math.hypot(<x>, <y>)
math.copysign(<x>, <f>)
<x> % 1.3
<x> // 0.4 + <f>
divmod(<x>, 0.7)[1]
<f> ** <n>
(-<f>) ** <f>
(<f> ** 2 + 0.1) ** <f>
(-<f>) ** <n>
np.power(abs(<f>), <y>)
abs(<f>) ** <x>
np.sign(<x>) * <f>
round(<f>, 1) + <x>
sum([<x>, <y>, <f>])
max(<x>, <y>, 0.1)
<x> if <b> else <y>
<v>.dot(<~v>)
<v>.item(0)
<A>.T[0] @ <A>[:, 0]
(<A> @ <A>.T)[0, 0]
np.sum(<A>[:, 0] * <A>[:, -1])
np.sum(<A>[<I>] ** 2)
<t>[0] * <t>[1]
integrate.quad(lambda s: np.exp(-s) * <f> + s * <y>, 0, 1.2)[0]
integrate.quad(lambda s, c: np.sin(c * s), <f>, 1.5, args=(<x>,))[0]
optimize.brentq(lambda s: s + 0.2 * np.sin(s) - <f>, -9.0, 9.0)
optimize.newton(lambda s: s**3 + 2.0 * s - <f>, 0.3) * <x>
optimize.newton(lambda s, c: s - 0.4 * np.cos(s) - c, 0.3, args=(<f>,), fprime=lambda s, c: 1.0 + 0.4 * np.sin(s))
optimize.minimize_scalar(lambda s: (s - <f>) ** 2 + 0.1 * s**4, bracket=(-1.0, 1.0)).x
np.sum(optimize.fsolve(lambda s: s + 0.2 * np.sin(s) - <v>, np.zeros(<v>.size)) * <~v>)
np.sum(np.mgrid[0:1:3j, <f>:2:4j][1])
np.hypot(*np.array([<x>, <y>]))
sum((<x>, *np.array([<y>, <f>])))
""".strip().splitlines()

# ------------------------------------------------------------------------------------------------ what becomes of them

FATES = """
$ += 0.3
$ *= <x>
$ -= <x>
$ /= 1.5 + <x> ** 2
$ **= 2
$[0] = <x>
$[-1] += <x>
$[1:] += $[:-1]
$[:-1] *= $[1:]
$[::2] = <x>
$[:] = $ * $
$[...] = np.sin($)
$[$ > 0.0] *= <c>
$[$ < 0.2] = <x>
$[[0, 1]] = $[[1, 0]]
$[[0, -1]] += <x>
$[[1, 0]] *= <c>
$ = $ * <x> + $
$ = np.sin($)
$ += <~$>
$ *= <~$>
$[:] = <~$>
$ = <~$> + $
$[0], $[1] = $[1], $[0]
$[0] = $[-1] = <x>
$.fill(<x>)
np.fill_diagonal($, <x>)
$[0] *= np.sum($)
$ *= np.sum($)
$ -= np.mean($)
$ /= np.linalg.norm($) + 1.0
$[0, 0] = <x>
$[:, 0] *= <x>
$[0] = $[1] * <x>
$[:, [0, 1]] = $[:, [1, 0]]
$ = $.T
$ = $[::-1]
$ = $.copy()
$[<k>] += <h>
$[<k>] = $[<k>] + <h>
$[<k>] *= <x> + <h>
""".strip().splitlines()

FATE_BLOCKS = """
<!t> = np.zeros(len($), dtype=[("a", float), ("n", int)])
<!t>["a"] = <x>
<!t>["n"][0] = 2
for <i> in range(len($)):
    <!t>[<i>]["a"] *= 1.0 + <!t>["n"][<i>]
$[0] = <!t>["a"][0] * <x>

for <i> in range(len($)):
    $[<i>] *= <x>

for <i> in range(1, len($)):
    $[<i>] += $[<i> - 1] * <c>

for <i> in range(<n>):
    $ *= 0.5
    $[0] += <x>

for <i> in range(<n>):
    $ = $ * 0.5 + <c>

if <q>:
    $[0] = <x>

if <q>:
    $ = $ * <x>
else:
    $ = np.cos($)

<!s> = np.sum($)
$ *= <x>

<!s> = np.sum($ * $)
$[0] = <!s>

<!s> = $[0] * <x>
$[0] = <!s> + 1.0

<!w> = $ * $
$ += 1.0

<!w> = $
$ = $ + <x>

<!w> = $
<!w> *= <x>

<!w> = $ @ $
$ *= <c>
""".strip()

VIEWS = """
$[1:]
$[::-1]
$[::2]
$[:-1]
$[...]
$[:]
$.T
$.reshape(-1)
$.reshape($.size)
$.ravel()
np.ravel($)
$[1:].ravel()
$[:, 0].ravel()
$[:, :1].ravel()
$.T.ravel()
$.flatten()
$[0]
$[-1]
$[:, 0]
$[0, :]
$[:, ::-1]
$[1:, :1]
$[None]
$[:, None]
$[np.newaxis, :]
np.expand_dims($, 1)
np.expand_dims($, 0)
np.broadcast_to($, (2, $.size))
np.transpose($)
np.swapaxes($, 0, 1)
np.asarray($)
np.asarray($, dtype=np.float64)
np.ascontiguousarray($)
np.asfortranarray($)
np.atleast_1d($)
np.atleast_2d($)
np.squeeze($[None])
np.diag($)
$.diagonal()
np.flip($)
np.flipud($)
np.fliplr($)
np.rot90($)
np.real($)
$.real
np.copy($)
$.view()
$.astype(np.float64)
$.swapaxes(0, 1)
$.transpose()
$ if <q> else $[::-1]
$[0] if <q> else $[1]
""".strip().splitlines()

# --------------------------------------------------------------------------------------------------------- statements

LINES = """
<!s> = <x>
<!s> = <x>
<!s> = <x> + <h>
<!s> = <h> + <x>
<!s> = <h> * <h>
<!s> = <h>
<s> = <x>
<s> += <x>
<s> += <h>
<s> *= <y>
<s> -= <x> * <y>
<s>, <!s> = <x>, <y>
<s>, <!s> = <h>, <x>
<!r> = <E>
<!r> = <V>
<v>[<k>] = <x>
<v>[<k>] += <x>
<v>[<k>] *= <x>
<v>[<k>] += <h>
<v>[<k>] = <v>[<k>] + <h>
<v>[<k>] -= <v>[<k>] * <h>
<v>[int(<h>) % 2] += <x>
<v>[<k>], <v>[<k>] = <v>[<k>], <v>[<k>]
<A>[<k>, <k>] += <x>
<A>[0] += <A>[1]
<A>[0], <!r> = <x>, <A>[1]
<A>[:, 0] = <x>
<A>[[0, 1]] = <A>[[1, 0]]
<A>[:, [0, 1]] = <A>[:, [1, 0]]
<A>[[0, 1], [1, 0]] += <x>
<A>[<I>] = <x>
<A>[<I>, 0] *= <x>
<A>[0, <I>] = <x>
<v>[<I>] = <x>
<v>[<I>] += <x>
<v>[<I>] = <~v>
<v>[<m>] = <x>
<v>[<m>] *= <x>
<v>[<v> > 0.0] = 0.0
<v>[<v> < 0.1] += <x>
<A>[<A> > 0.3] *= <c>
<v>[:] = <~v>
<v>[1:] = <v>[:-1]
<v>[:-1] = <v>[1:]
<v>[1:] += <x> * <v>[:-1]
<v>[::2] *= <x>
<v> += <~v>
<v> *= <~v>
<a> += <x>
<a> *= <y>
<a> *= <~a>
<v> = <~v>
<A> = <~A>
<v> = <v>[::-1]
<v> = <M> @ <v>
<v>, <!r> = <~v>, <v>
<v>, <=v> = <=v>, <v>
assert <v>.size < 100
<!s>, *<!t> = <x>, <y>, <f>
<!s>, <!t>, <!e> = <v>[:3]
<v>[0], <v>[1] = <v>[1:3]
(<!s>, <!t>), <!r> = <M>[:2, :2]
(<!s> := <x>)
<!s> = (<!t> := <x>) * <!t>
""".strip().splitlines()

LITTLE_BLOCKS = """
<v>[0] = <x>
<!s> = <v>[0] * <v>[1]
<v>[0] = <x>

<!r> = np.zeros(<v>.size)
for <i> in range(<v>.size):
    <!r>[<i>] = <v>[<i>] * <x>

<!r> = np.empty_like(<v>)
for <i> in range(<v>.size):
    <!r>[<i>] = <x> * <v>[<i>] ** 2

for (<!b>, <!c>), <!e> in np.ndenumerate(<A>):
    <s> += <!e> * <!e> * <!b>

for <!b>, <!c> in np.ndindex(<A>.shape):
    <s> += <A>[<!b>, <!c>] * <x>

<!r> = <v> * <x>
<!r>.sort()
<!s> = <!r>[0] * <x>

<!r> = np.zeros_like(<A>)
for <i> in range(<A>.shape[0]):
    <!r>[<i>] = <A>[<i>] * <x>

<!r> = np.zeros((<n>, <v>.size))
for <i> in range(<!r>.shape[0]):
    <!r>[<i>, :] = <v> * <y>
<!t> = np.sum(<!r>, axis=0)

<!c> = np.zeros(3, dtype=np.int64)
for <i> in range(<v>.size):
    <!c>[<i> % 3] += 1
    <s> += <v>[<i>] * <!c>[<i> % 3]

<J>[0] += 1
<!s> = <x> * <J>[0]

<J>[<k>] += 1
<!s> = <v>[0] * <J>[<k>] + <x>

<J>[0] -= 1
<s> += <v>[<J>[0] % 2]
<J>[1] = <J>[0]

<J>[0], <J>[1] = <J>[1], <J>[0]
<!s> = <x> * <J>[0]

<!c> = np.array([0])
for <i> in range(<n>):
    <!c>[0] += 1
    <s> += <v>[0] * <!c>[0]

<!c> = np.array([0])
while <!c>[0] < <n>:
    <!c>[0] += 1
    <s> += <x> * <!c>[0]

<!c> = 0
for <i> in range(<v>.size):
    if <v>[<i>] > 0.1237:
        <!c> += 1
        <s> += <v>[<i>] * <!c>

<!b> = <v>[0]
for <i> in range(1, <v>.size):
    <!b> = max(<!b>, <v>[<i>] * <x>)
<s> += <!b>

for <i> in range(<A>.shape[0]):
    <!b>, <!c> = <x>, -1
    for <!j> in range(<A>.shape[1]):
        <!e> = <A>[<i>, <!j>] * <y>
        if <!e> < <!b>:
            <!b>, <!c> = <!e>, <!j>
    <s> += <!b> * (<!c> + 0.5)

<!c> = np.zeros(4, dtype=np.int64)
for <i> in range(<v>.size):
    <!b> = int(abs(<v>[<i>]) * 2.0) % 4
    <!c>[<!b>] += 1
    <s> += <v>[<i>] * <!c>[<!b>]

<!q> = <J> + <J>
<!s> = np.sum(<!q> * <x>)

<!q> = <J> * <J>
<!r> = <!q> * <v>

<!q> = <J> - <J>[::-1]
<!r> = <v> + <!q>

<!q> = -<J>
<!r> = <v> * <!q>

<!q> = <m> + <m>
<!r> = <v> * <!q>

<!q> = <J>.copy()
<!q>[0] = 2
<!s> = <x> * <!q>[0] * <J>[0]

<!q> = <J>[1:]
<!q>[0] += 1
<!s> = <x> * <J>[1]

<!y> = np.sqrt(<v> - <v>)
<!y>[:] = 2.0
<!s> = np.sum(<!y> * <!y> * <v>)

<!y> = np.sqrt(np.abs(<v> - <v>[0]))
<!y>[0] = 2.0
<!s> = (<!y> * <!y> * <v>).sum()

<!g> = math.sin if <q> else math.cos
<!s> = <!g>(<x>)

<!g> = lambda r: r * <x>
<!s> = <!g>(<x>) + <!g>(<y>)

<!g> = lambda r, t: r * <f> - t
<!s> = <!g>(<x>, <!g>(<y>, <c>))

def <!g>(r):
    return r * <x>
<!s> = <!g>(<x>)

def <!g>():
    <v>[0] += <x>
    return <v>[0]
<!s> = <v>[0] * <!g>()

def <!g>(r):
    r[0] = <x>
    return r[0] * <f>
<!s> = <!g>(<v>) * <v>[0] + <!g>(<v>)

def <!g>(r):
    r[0] += <x>
    return r[0]
<!s> = <v>[0] + <!g>(<v>)

def <!g>(r):
    r[0] += <x>
    return r[0]
<v>[0] += <!g>(<v>)

def <!g>(r):
    r[0] += <x>
    return r[0]
<v>[0] = <v>[0] * <!g>(<v>)

def <!g>(r):
    r[0] *= 0.5
    return r[0]
<!s> = max(<v>[0], <!g>(<v>)) - <v>[0] * <!g>(<v>)

def <!g>(r):
    r[0] *= 0.5
    return r[0]
<!s> = 0.0
while abs(<!g>(<v>)) > 0.2:
    <!s> += <v>[0]

def <!g>(r):
    r[0] *= 0.5
    return r[0]
if <!g>(<v>) > 0.1237 and <!g>(<v>) < 0.4:
    <s> += <v>[0]

def <!g>(r):
    r[0] += 1
    return r[0]
<!c> = np.array([0, 0])
<!s> = <v>[<!g>(<!c>) % 2] * <v>[<!g>(<!c>) % 2]

def <!g>(r):
    r[0] += 1
    return r[0]
<!c> = np.array([0, 0])
<v>[<!g>(<!c>) % 2] += <x> * <!g>(<!c>)

def <!g>(out, r):
    for i in range(r.size):
        out[i] = r[i] * <f>
<!r> = np.empty(<v>.size)
<!g>(<!r>, <v>)

def <!g>(out, r):
    out[:] = r * r
    return
<!r> = np.empty_like(<v>)
<!g>(<!r>, <v>)
<!r> *= <x>

def <!g>(r):
    if r.size > 10:
        return
    r[0] = <x>
<!g>(<v>)

def <!g>(r, t):
    if r > t:
        return r * t
    if r > 0.0:
        return r
    return t * t
<!s> = <!g>(<x>, <y>)

def <!g>(r):
    return r[1:], r[0]
<!r>, <!s> = <!g>(<v>)
<!r>[0] = <x>

def <!g>(r):
    return r[::-1]
<!r> = <!g>(<v>)
<!r>[0] *= <x>

def <!g>(h, r):
    return h(r) * r
<!s> = <!g>(lambda r: r * <f>, <x>)

def <!g>(h, r):
    return h(h(r))
<!s> = <!g>(lambda t: <!g>(lambda r: r * <f>, t), <x>)

<!r> = <E>
<!s> = np.sum(<!r>)
del <!r>

def <!g>(r, seen=[]):
    seen.append(r)
    return len(seen) * r
<!s> = <!g>(<x>) + <!g>(<y>)

def <!g>(r, t=<x>, k=2):
    return r * t + k
<!s> = <!g>(<x>) + <!g>(<y>, k=3)

def <!g>(out, r):
    for i in range(1, r.size):
        out[i] += out[i - 1] * r[i]
<!g>(<v>, <~v>)

def <!g>(r):
    r *= 2.0
    return r
<!s> = np.sum(<v> * <!g>(<v>))

def <!g>(r):
    r[0] += <x>
    return r
<!s> = <!g>(<v>)[0] * <v>[1] + np.sum(<!g>(<v>))

def <!g>(r):
    r[-1] = <x>
    return 0
<!s> = <v>[<!g>(<v>)] + <v>[-1]

def <!g>(r):
    r[0] += <x>
    return r[0]
<!t> = (<v>[0], <!g>(<v>), <v>[0])
<!s> = <!t>[0] + <!t>[1] * <!t>[2]

def <!g>(r):
    r[0] += <x>
    return r[0]
<!s> = <v>[0] if <!g>(<v>) > 0.1237 else <!g>(<v>)

def <!g>(r):
    r[0] += <x>
    return r[0]
<!s> = <v>[0] < <!g>(<v>) < <v>[0] + 0.5

def <!g>(r):
    r[0] += <x>
    return r[0]
<!s> = np.array([<v>[0], <!g>(<v>), <v>[0]])

def <!g>(r):
    r[0] += <x>
    return r[0]
<!r> = <v> * <!g>(<v>) + <v>

def <!g>(r):
    r[0] += <x>
    return r[0]
<!r> = <v> + <!g>(<v>)

def <!g>(r):
    r[0] += <x>
    return r[0]
<v>[1:] *= <!g>(<v>)

def <!g>(r):
    r[0] += <x>
    return r[0]
<!r> = <!s> = <!g>(<v>)

def <!g>(r):
    r[0] += <x>
    return r[0]
while <!g>(<v>) < 1.137 and <v>[0] > -3.0:
    <s> += <v>[0] ** 2
    <v>[0] += 0.3

def <!g>(r):
    r[0] += <x>
    return r[0]
for <i> in range(int(abs(<!g>(<v>))) + 1):
    <s> += <v>[0]

def <!g>(r):
    r[0] += <x>
    return r[0]
<!s> = math.sin(<v>[0]) * <!g>(<v>) + max(<!g>(<v>), <v>[0])

def <!g>(r):
    r[0] += <x>
    return r[0]
if <v>[0] > 5.0 or <!g>(<v>) > 0.1237:
    <s> += <v>[0]

<!t> = (<x>, <v>, <n>)
<!s> = <!t>[0] * <!t>[1][0] + <!t>[2]

<!t> = <x>, <y>
<!s>, <!r> = <!t>

<!t> = [<x>, <y>, <f>]
<!s> = 0.0
for <!e> in <!t>:
    <!s> += <!e> * <!e>
""".strip()

# ---------------------------------------------------------------------------------------------------- scientific code

LOOPS = """
# lists that grow
<!l> = []
for <i> in range(<v>.size):
    <!l>.append(<v>[<i>] * <x1>)
<!a> = np.array(<!l>)

<!l> = [<x1>]
for <i> in range(<n>):
    <!l>.append(0.5 * <!l>[-1] + <x2>)
<!b> = <!l>[-1] + sum(<!l>)

<!l> = []
for <!e> in <v>:
    if <!e> > 0.1237:
        <!l>.append((<!e>, <!e> * <f>))
<!t> = 0.0
for <!p>, <!q> in <!l>:
    <!t> += <!p> * <!q>

<!l> = []
<!a> = <v> * 1.0
for <i> in range(2):
    <!a> = np.sin(<!a>) + <c>
    <!l>.append(<!a>)
<!m> = np.array(<!l>)

<!l> = []
for <i> in range(<A>.shape[0]):
    <!l>.append([<!e> * <x1> for <!e> in <A>[<i>]])
<!m> = np.array(<!l>)

<!a> = np.array([<x1> * <!e> for <!e> in <v>])

<!b> = sum(<!e> * <!g> for <!e>, <!g> in zip(<v>, <~v>))

<!b> = sum([<!e> ** 2 for <!e> in <v> if <!e> > 0.1237]) + sum(<!e> for <!e> in <V>)

<!l> = [<!e> for <!e> in <v>]
for <i> in range(<n>):
    <!l> = [0.5 * (<!l>[<!j>] + <!l>[<!j> - 1]) for <!j> in range(len(<!l>))]
<!a> = np.array(<!l>) * <x1>

<!s> = [<x1>, <x2>, <f>]
for <i> in range(<n>):
    <!s>[<i> % 3] = <!s>[<i> % 3] * 0.5 + <x3>
<!b> = <!s>[0] - <!s>[-1]

<!q> = [1.0]
<!t> = 0.0
while <!q>:
    <!w> = <!q>.pop()
    <!t> += <!w> * <f>
    if <!w> < 3.0:
        <!q>.append(<!w> * 2.0)

<!l> = sorted(<v>)
<!b> = <!l>[0] + <!l>[-1] * <c>

<!l> = []
if <q>:
    <!l>.append(<x1>)
<!l>.append(<x2>)
<!b> = <!l>[0] * len(<!l>)

# items that are lists or objects, and are changed where they are
<!l> = [[<!e>, <x1>] for <!e> in <v>]
for <!p> in <!l>:
    <!p>[1] = <!p>[1] * 0.5 + <!p>[0]
<!l>[0][0] += <x2>
<!b> = sum(<!p>[0] * <!p>[1] for <!p> in <!l>)

<!l> = [{"at": <!e>, "speed": <f>} for <!e> in <v>]
for <i> in range(<n>):
    for <!p> in <!l>:
        <!p>["speed"] -= 0.1 * <!p>["at"]
        <!p>["at"] += 0.1 * <!p>["speed"]
<!b> = <!l>[-1]["at"] + <!l>[0]["speed"]

<!d> = {}
for <i> in range(<v>.size):
    if <i> % 3 not in <!d>:
        <!d>[<i> % 3] = [0.0, <x1>]
    <!d>[<i> % 3][0] += <v>[<i>]
<!b> = sum(<!w>[0] * <!w>[1] for <!w> in <!d>.values())

<!l> = [<!e> * <x1> for <!e> in <v>]
<!l>.append(<!l>.pop() * <!l>.pop(0) + <x2>)
<!l>[0] += <!l>.pop()
<!b> = <!l>[0] * len(<!l>)

# lists of arrays and lists of lengths of their own
<!l> = []
for <i> in range(<v>.size):
    <!l>.append(<v>[: <i> + 1] * <x1>)
<!b> = sum(<!w>[-1] * np.sum(<!w>) for <!w> in <!l>) + np.sum(np.concatenate(<!l>))

<!l> = []
for <i> in range(<n>):
    <!l>.insert(0, <v> * <x1>)
    <!l>.extend([<v> * <f>, <v> + <i>])
<!b> = sum(np.sum(<!w> * <!w>) for <!w> in <!l>) + len(<!l>)

<!l>, <!q> = [], []
for <i> in range(<n>):
    <!q> += <!l>
    <!l> = [<A> * <x1>] + <!l> + [<A>]
<!b> = sum(np.sum(<!w> * <!w>) for <!w> in <!q>) - np.sum(<!l>[0] * <!l>[-1])

<!l> = [[] for <i> in range(3)]
for <i> in range(<v>.size):
    <!l>[<i> * <i> % 3].append(<v>[<i>] * <x1>)
<!b> = sum(sum(<!w>) ** 2 for <!w> in <!l>)

<!d> = collections.defaultdict(list)
for <!e> in <v>:
    <!d>[int(<!e> > 0.1237)].append(<!e> * <!e>)
<!b> = <x1>
for <!w> in <!d>.values():
    <!b> += sum(<!w>) / len(<!w>)

<!l> = []
<!p> = [<x1>]
for <!e> in <v>:
    if <!e> > 0.1237:
        <!l>.append(<!p>)
        <!p> = []
    <!p>.append(<!e>)
<!b> = sum(sum(<!w>) ** 2 for <!w> in <!l>) + len(<!p>)

<!l> = [<v> * <i> for <i> in range(<n>)] + [<v> * 1.0]
<!l>[-1] += <x1>
<!l>[0][0] = <x2>
<!b> = sum(np.sum(<!w> * <!w>) for <!w> in <!l>)

# dictionaries
<!d> = {"a": <x1>, "b": <v>}
<!d>["c"] = <!d>["a"] * 2.0
for <i> in range(<n>):
    <!d>["a"] += <x2> * 0.1
<!b> = <!d>["a"] + <!d>["c"] + np.sum(<!d>["b"])

<!d> = {"rate": <x1>, "start": <f>}
if <q>:
    <!d>["rate"] = <x2>
<!b> = sum(<!w> * <!w> for <!w> in <!d>.values())

<!d> = {}
for <i> in range(<v>.size):
    <!d>[<i> % 3] = <!d>.get(<i> % 3, 0.0) + <v>[<i>] * <x1>
<!b> = sum(<!w> * <!w> for <!w> in <!d>.values()) + len(<!d>)

<!d> = collections.defaultdict(float)
for <i> in range(<n>):
    <!d>[<i> // 2, <i> % 2] += <x1>
for <!k> in <!d>:
    <x2> += <!d>[<!k>] * <f>

<!d> = collections.Counter({0: <x1>, 1: <f>})
for <i> in range(<n>):
    <!d>.update({<i> % 3: <x2> * 0.1})
    <!d>.subtract([1])
<!b> = <!d>[0] * <!d>[2] + <!d>[1]

<!d> = collections.Counter(int(<!e> > 0.1237) for <!e> in <v>)
<!d> += collections.Counter({1: 2})
<!b> = <x1> * <!d>[0] + <f> * <!d>.total()

# what changes while it is run through
<!l> = [<x1>, <f>, <c>]
for <!k>, <!e> in enumerate(<!l>):
    <!l>[-1] += <!e> * 0.1
    if len(<!l>) < 5 and <q>:
        <!l>.append(<!e> * <x2>)
<!b> = sum(<!w> * <!w> for <!w> in <!l>)

<!l> = [<x1>, <x2>]
<!g>, <!h>, <!d> = (2.0 * <!w> for <!w> in <!l>), zip(<!l>, <v>), {"a": <c>}
<!t> = <!d>.values()
<!l>[0], <!d>["b"] = <f>, <x1>
<!b> = sum(<!g>) + sum(<!w> * <!e> for <!w>, <!e> in <!h>) + sum(<!t>)

<!d> = {"a": <x1>, "b": <c>}
for <!k>, <!w> in <!d>.items():
    <!d>["b"] += <f>
    <!d>[<!k>] *= <x2>
<!b> = <!d>["a"] + <!d>["b"]

# heaps, sets, queues
<!h> = []
for <i> in range(<v>.size):
    heapq.heappush(<!h>, (<v>[<i>] * <c>, <i>))
<!t> = 0.0
while len(<!h>) > 1:
    <!w>, <!k> = heapq.heappop(<!h>)
    <!t> = 0.5 * <!t> + <!w> * <x1>

<!n>, <!h> = itertools.count(), []
for <!e> in <v>:
    heapq.heappush(<!h>, (<!e> > <f>, next(<!n>), <!e>))
<!b> = sum(<!w>[1] * <!w>[2] for <!w> in <!h>) * <x1>

# sorted lists, searches, samples
<!l> = []
for <!e> in <v>:
    bisect.insort(<!l>, <!e>)
<!b> = sum((<!k> + 1) * <!w> for <!k>, <!w> in enumerate(<!l>)) + bisect.bisect(<!l>, 0.1237) * <x1>

<!b> = <x1> * statistics.fmean(<v>) + statistics.median(<V>) + statistics.pvariance(<v>)

<!b> = <x1>
for <!e>, <!w> in itertools.zip_longest(<v>, <V>, fillvalue=<f>):
    <!b> += <!e> * <!w>

# what may be None, in tuples
<!p>, <!k> = None, None
for <i> in range(<v>.size):
    if <v>[<i>] > 0.1237 and (<!p> is None or <v>[<i>] < <!p>):
        <!p>, <!k> = <v>[<i>], <i>
<!w> = (<!p>, <x1>)
<!b> = <x1> if <!w>[0] is None else <!w>[0] * <!w>[1] + <!k>

<!s> = set()
<!b> = <x1>
for <i> in range(<n>):
    if <i> * <i> % 3 not in <!s>:
        <!b> = <!b> * 0.5 + <x2>
    <!s>.add(<i> * <i> % 3)

<!q> = collections.deque([<x1>, <x2>], maxlen=3)
for <!e> in <v>:
    <!q>.append(<!e> + 0.5 * <!q>[0])
<!b> = sum(<!q>)

<!o> = sorted(range(<v>.size), key=lambda <!k>: <v>[<!k>])
<!b> = <v>[<!o>[0]] * <x1> + <V>[<!o>[0] % <V>.size]

<!b> = math.prod(<v>) * <x1> + functools.reduce(lambda <!p>, <!w>: 0.5 * <!p> + <!w> * <f>, <V>)

# cases, and what is caught
for <i> in range(<n>):
    match <i> % 3:
        case 0:
            <x1> += 0.1 * <x2>
        case 1 if <q>:
            <x1> *= 0.9
        case _:
            continue

<!b> = <x1>
try:
    for <i> in range(<n>):
        <!b> = 0.7 * <!b> + <x2>
        if <!b> > 0.8123:
            raise ValueError("large")
    <!b> = <!b> * <f>
except ValueError:
    <!b> = <!b> - <c>

try:
    <!m> = np.linalg.cholesky(<M> + <M>.T)
except np.linalg.LinAlgError:
    <!m> = <M> * 1.0

# iterations that stop when nothing moves any more
for <i> in range(<n> + 3):
    <!p> = <x1>
    <x1> = 0.5 * <x1> + 0.3 * np.sin(<x2>)
    if abs(<x1> - <!p>) < 0.0437:
        break

for <i> in range(<n> + 3):
    <!p>, <x1> = <x1>, <x2> + 0.3 * math.cos(<x1>)
    if abs(<!p> - <x1>) < 0.0437:
        break

<!a> = <v> * 1.0
for <i> in range(<n> + 3):
    <!w> = 0.5 * <!a> + 0.2 * np.tanh(<!a>)
    <!b> = np.abs(<!w> - <!a>).max()
    <!a> = <!w>
    if <!b> < 0.0437:
        break

<!k> = 0
while True:
    <!p>, <!q> = <x1>, <x2>
    <x1> = 0.5 * <!q> + 0.3 * <!p>
    <x2> = 0.7 * <!p>
    <!k> += 1
    if abs(<x1> - <!p>) + abs(<x2> - <!q>) < 0.0437 or <!k> > <n> + 2:
        break

for <i> in range(<n> + 2):
    <!p> = <x1>
    <x1> = 0.6 * <x1> + 0.2 * <x2>
    if <x1> < <!p> * 0.8123:
        continue
    <x2> = <x2> - 0.3 * <!p>

# None at first, and texts
<!p> = None
<!t> = 0.0
for <!e> in <v>:
    if <!p> is not None:
        <!t> += (<!e> - <!p>) * <x1>
    <!p> = <!e>

<!p> = None
for <i> in range(<n>):
    if <!p> is None or <v>[<i> % <v>.size] > <!p>:
        <!p> = <v>[<i> % <v>.size] * <f>
<!b> = <x1> if <!p> is None else <!p> * <c>

<!k>, <!t> = "rest", <x1>
for <i> in range(<n> + 2):
    if <!k> == "rest":
        <!t> += 0.3 * <x2>
        if <!t> > 0.4137:
            <!k> = "move"
    else:
        <!t> *= 0.7
        <!k> = "rest" if <!t> < 0.2137 else <!k>

# functions that call themselves
def <!g>(t, m):
    if m <= 0:
        return t * <x1>
    u = 0.5 * <!g>(0.7 * t, m - 1)
    return u + t * <!g>(0.3 * t - u, m - 2)
<!b> = <!g>(<x>, <n>)

def <!g>(lo, hi):
    if hi - lo < 2:
        return <c> * <v>[lo % <v>.size]
    mid = (lo + hi) // 2
    return <!g>(lo, mid) * <f> + <!g>(mid, hi) ** 2
<!b> = <!g>(0, <n>)

def <!g>(m, <!w>=0.5):
    <!t> = <!w> * <x1>
    for k in range(m - 1):
        if <!t> > 0.8123:
            continue
        <!t> += 0.3 * <!g>(k, <!w>=<!t>) * <!w>
    return <!t> if m > 0 else np.sin(<!t>)
<!b> = <!g>(min(<n>, 4))

def <!g>(<!w>, m):
    if m == 0:
        return
    <!w>[m % <!w>.size] += <x1> * 0.5
    <!g>(<!w>, m - 1)
    <!w>[0] *= 0.7
<!g>(<v>, <n>)

def <!g>(<!w>, m):
    while m > 0:
        m -= 1
        if <q>:
            <!w> = 0.5 * <!w> + 0.3 * <!g>(<!w> * <c>, m // 2)
    return <!w> * <x1>
<!b> = <!g>(<x2>, <n>)

<!b> = <x1>
def <!g>(t):
    nonlocal <!b>
    <!b> = 0.5 * <!b> + t
for <i> in range(<n>):
    <!g>(<x2> * <f>)

# batches: what belongs to a column is worked out once
<!m> = (<A> - <A>.mean(axis=0)) / np.sqrt(<A>.var(axis=0) + 0.5)

<!m> = <A> - <A>.max(axis=1, keepdims=True)
<!m> = np.exp(<!m>) / np.exp(<!m>).sum(axis=1, keepdims=True)

# time stepping with buffers that change places
<!a>, <!b> = <v>.copy(), np.zeros_like(<v>)
for <i> in range(<n>):
    for <!j> in range(1, <v>.size - 1):
        <!b>[<!j>] = <!a>[<!j>] + 0.2 * (<!a>[<!j> - 1] - 2.0 * <!a>[<!j>] + <!a>[<!j> + 1])
    <!a>, <!b> = <!b>, <!a>

# time stepping of a whole array
<!a> = <v>.copy()
for <i> in adjit.checkpoint(range(<n>)):
    <!a> = np.sin(<!a>) * <!a> + <c>

<!a> = <v> * 1.0
for <i> in adjit.checkpoint(range(<n>), 2):
    <!a> += 0.1 * np.cos(<!a>) * <f>

<!a> = <v>
for <i> in adjit.checkpoint(range(len(<v>))):
    <!a> = <!a> * <!a> + <x>

# running sums
<!t> = 0.0
<!r> = np.empty(<v>.size)
for <i> in range(<v>.size):
    <!t> += <v>[<i>]
    <!r>[<i>] = <!t> / (<i> + 1)

# a stencil in place
for <i> in range(1, <v>.size - 1):
    <v>[<i>] = 0.5 * <v>[<i>] + 0.25 * (<v>[<i> - 1] + <v>[<i> + 1])

<v>[1:-1] += <x> * (<v>[2:] - 2.0 * <v>[1:-1] + <v>[:-2])

for <i> in range(<n>):
    <!l> = np.zeros_like(<v>)
    <!l>[1:-1] = <v>[2:] - <v>[:-2]
    <v> = <v> + 0.1 * <!l>

# the Thomas algorithm
<!n> = <v>.size
<!d>, <!w> = <v>.copy(), np.full(<!n>, 3.0) + <f>
for <i> in range(1, <!n>):
    <!m> = 1.0 / <!w>[<i> - 1]
    <!w>[<i>] -= <!m>
    <!d>[<i>] -= <!m> * <!d>[<i> - 1]
<!d>[-1] /= <!w>[-1]
for <i> in range(<!n> - 2, -1, -1):
    <!d>[<i>] = (<!d>[<i>] - <!d>[<i> + 1]) / <!w>[<i>]

# Newton's method
<!r> = 1.0 + <f> ** 2
<!c> = 0
while abs(<!r> * <!r> - 2.3) > 1e-12 and <!c> < 30:
    <!r> -= (<!r> * <!r> - (2.3 + 0.1 * <f>)) / (2.0 * <!r>)
    <!c> += 1

# Horner
<!p> = 0.0
for <!e> in <v>:
    <!p> = <!p> * <f> + <!e>

<!p> = <v>[-1]
for <i> in range(<v>.size - 2, -1, -1):
    <!p> = <v>[<i>] + <!p> * <x1>

# a table that is looked up
<!t> = np.sin(np.arange(6.0) * 0.4)
<!s> = 0.0
for <i> in range(<v>.size):
    <!w> = abs(<v>[<i>]) * 2.0
    <!k> = int(<!w>)
    <!s> += <!t>[<!k>] + (<!w> - <!k>) * (<!t>[<!k> + 1] - <!t>[<!k>])

# a moving average
<!w> = 2
<!r> = np.empty(<v>.size - <!w> + 1)
for <i> in range(<!r>.size):
    <!r>[<i>] = <v>[<i> : <i> + <!w>].mean()

# Monte Carlo paths
<!s> = 0.0
for <i> in range(<A>.shape[0]):
    <!p> = 1.0
    for <!j> in range(<A>.shape[1]):
        <!p> *= 1.0 + 0.1 * <A>[<i>, <!j>] + <c> * 0.1
    if <!p> > 0.9137:
        <!s> += <!p> - 0.9137

# Givens rotations
<!c>, <!s> = math.cos(<f>), math.sin(<f>)
for <i> in range(<A>.shape[1]):
    <!a>, <!b> = <A>[0, <i>], <A>[1, <i>]
    <A>[0, <i>] = <!c> * <!a> - <!s> * <!b>
    <A>[1, <i>] = <!s> * <!a> + <!c> * <!b>

# elimination
<!L> = <M>.copy()
for <i> in range(<!L>.shape[0]):
    for <!r> in range(<i> + 1, <!L>.shape[0]):
        <!f> = <!L>[<!r>, <i>] / <!L>[<i>, <i>]
        <!L>[<!r>, <i>:] -= <!f> * <!L>[<i>, <i>:]

# substitution
<!y> = np.zeros(<v>.size)
for <i> in range(<v>.size):
    <!y>[<i>] = (<v>[<i>] - <M>[<i>, :<i>] @ <!y>[:<i>]) / (2.0 + <M>[<i>, <i>] ** 2)

# products of expressions in a loop
<!a> = <v> * 1.0
for <i> in range(<n>):
    <!M> = (<M> * <x>) @ <M>.T
    <!a> = <!a> + 0.1 * (<!M> @ <!a>)

<!a> = <v> * 1.0
for <i> in range(<n>):
    <!a> = <!a> + 0.1 * (<M>.T @ (<M> @ <!a> - <v>))

<!a> = <A>[0] * 1.0
for <i> in range(<n>):
    <!r> = <A> @ <!a> - <c>
    <!a> = <!a> - 0.1 * (<A>.T @ <!r>)

for <i> in range(<n>):
    <v> = <v> + 0.1 * ((<M> + <x> * np.eye(<v>.size)) @ <v>)

# an array that is born in a loop
for <i> in range(<n>):
    <!v> = <v> * <i> + <x>
<!s> = np.sum(<!v> * <!v>)

for <i> in range(<n>):
    <!v> = np.zeros(<v>.size)
    for <!j> in range(<v>.size):
        <!v>[<!j>] = <v>[<!j>] * <x> + <i>
<!s> = np.sum(<!v> * <v>)

if <q>:
    <!v> = <v> * <x>
else:
    <!v> = np.cumsum(<v>)
<!v>[0] += <x>

if <q>:
    <!v> = np.zeros(<v>.size)
    for <i> in range(<v>.size):
        <!v>[<i>] = np.sin(<v>[<i>])
    <s> += np.sum(<!v> * <v>)

# scratch
<!t> = 0.0
<!w> = np.zeros(<v>.size)
for <i> in range(<n>):
    for <!j> in range(<v>.size):
        <!w>[<!j>] = <v>[<!j>] * <i> + <c>
    <!t> += np.sum(<!w> * <v>)

for <i> in range(<n>):
    <!w> = np.zeros(<v>.size)
    for <!k> in range(2):
        for <!j> in range(<v>.size):
            <!w>[<!j>] = <v>[<i>]
    <v> += <!w>[::-1] * <!w>

<!w> = np.empty((2, <v>.size))
for <i> in range(<n>):
    <!w>[0] = <v> * <x>
    <!w>[1] = <!w>[0] + <v>
    <v> = <v> + 0.1 * <!w>[1]

<!w> = np.zeros((<n> + 1, <v>.size))
<!w>[0] = <v>
for <i> in range(<!w>.shape[0] - 1):
    <!w>[<i> + 1] = 0.5 * <!w>[<i>] + np.sin(<!w>[<i>]) * <f>

<!w> = np.zeros((3, 2, 2))
for <i> in range(3):
    <!w>[<i>, :, :] = <f> * np.eye(2) + <i>
<!r> = <!w>[0, :, :] @ <!w>[1, :, :]

# n bodies
<!f> = np.zeros_like(<A>)
for <i> in range(<A>.shape[0]):
    for <!j> in range(<A>.shape[0]):
        if <i> != <!j>:
            <!d> = <A>[<!j>] - <A>[<i>]
            <!f>[<i>] += <!d> / (np.sum(<!d> * <!d>) + 0.5) ** 1.5

# an online mean
<!m>, <!q> = 0.0, 0.0
for <i> in range(<v>.size):
    <!d> = <v>[<i>] - <!m>
    <!m> += <!d> / (<i> + 1)
    <!q> += <!d> * (<v>[<i>] - <!m>)

<!c> = np.zeros(2, dtype=np.int64)
<!m> = np.zeros(2)
for <i> in range(<v>.size):
    <!b> = 1 if <v>[<i>] > 0.1237 else 0
    <!c>[<!b>] += 1
    <!m>[<!b>] += (<v>[<i>] - <!m>[<!b>]) / <!c>[<!b>]

# a histogram
<!h> = np.zeros(4)
for <i> in range(<v>.size):
    <!h>[<I>[<i>]] += <v>[<i>] * <x>

# in parallel
<!r> = np.empty(<v>.size)
for <i> in prange(<v>.size):
    <!r>[<i>] = np.sin(<v>[<i>]) * <f>

<!s> = 0.0
for <i> in prange(<v>.size):
    <!s> += <v>[<i>] * <v>[<i>] * <f>

<!r> = np.zeros(<A>.shape[0])
for <i> in prange(<A>.shape[0]):
    <!t> = 0.0
    for <!j> in range(<A>.shape[1]):
        <!t> += <A>[<i>, <!j>] ** 2 * <c>
    <!r>[<i>] = <!t>

for <i> in prange(1, <v>.size):
    <v>[<i>] = <v>[<i>] * <v>[<i> - 1]

<!r> = np.zeros(<v>.size)
for <i> in prange(<v>.size):
    <!w> = np.zeros(2)
    <!w>[0] = <v>[<i>]
    <!w>[1] = <!w>[0] * <f>
    <!r>[<i>] = np.sum(<!w>)

# Runge-Kutta
<!y>, <!h> = <v>.copy(), 0.1
for <i> in range(<n>):
    <!k> = np.sin(<!y>) * <f>
    <!l> = np.sin(<!y> + 0.5 * <!h> * <!k>) * <f>
    <!y> = <!y> + <!h> * <!l>

<!q>, <!p> = <v>.copy(), np.zeros(<v>.size)
for <i> in range(<n>):
    <!p> -= 0.05 * <!q> * <f>
    <!q> += 0.1 * <!p>
    <!p> -= 0.05 * <!q>

# a power iteration
<!v> = <v> + 2.0
for <i> in range(<n>):
    <!v> = <M> @ <!v>
    <!v> = <!v> / np.linalg.norm(<!v>)

<!v> = <v> + 2.0
for <i> in range(<n>):
    <!w> = np.linalg.solve(<M>, <!v>)
    <!w> /= np.sqrt(<!w> @ <!w>)
    <!v> = <!w>

# bisection
<!l>, <!h> = -3.0, 3.0
while <!h> - <!l> > 0.4:
    <!m> = 0.5 * (<!l> + <!h>)
    if <!m> ** 3 > <f>:
        <!h> = <!m>
    else:
        <!l> = <!m>
<!s> = (<!l> + <!h>) * <x>

# a loop that is left
<!s> = 0.0
for <i> in range(<v>.size):
    if <v>[<i>] < -0.3137:
        continue
    <!s> += <v>[<i>] * <x>
    if <!s> > 1.137:
        break

for <i>, <!e> in enumerate(<v>):
    <v>[<i>] = <!e> * <x> + <i>

for <!e>, <!g> in <M>[:, :2]:
    <s> += <!e> * <!g>

for <!i>, (<!e>, <!g>) in enumerate(<A>[:, :2]):
    <v>[<!i> % <v>.size] += <!e> * <x> - <!g>

for <!e>, <!g> in zip(<v>, <~v>):
    <s> += <!e> * <!g>

for <i>, <!e> in enumerate((<x>, 0.7 * <x>), <n>):
    <s> += <i> * <!e>

for (<i>, <!e>), <!g> in zip(enumerate((<x>, 1.137), len(<v>)), (0.3, <x>)):
    <s> += <i> * <!e> * <!g>

# two names of what a trip makes, of which one is stored into afterwards
<!a> = <v> * <x>
<!w> = <!a>
for <i> in range(3):
    <!w> = np.sin(<!a>) * 0.7
    <!a> = <!w>
<!w>[0] = <x>

<!a> = <v> * <x>
<!w> = <!a>[1:]
for <i> in adjit.checkpoint(range(3), 2):
    <!r> = np.sin(<!a>) * 0.7
    <!w> = <!r>[1:]
    <!a> = <!r>
<!a> *= <x>

for <!r> in <A>:
    <!r> *= <x>
    <s> += <!r>[0]

for <i> in range(<A>.shape[0]):
    <!r> = <A>[<i>]
    <!r>[0] = <x>
    <!r> += <!r>[::-1]

# backtracking
<!t> = 1.0
<!c> = 0
while np.sum((<v> - <!t> * <f>) ** 2) > 1.137 and <!c> < 3:
    <!t> *= 0.5
    <!c> += 1

# a recurrence
<!a>, <!b> = <f>, <x>
for <i> in range(<n>):
    <!a>, <!b> = <!b>, 0.5 * (<!a> + <!b>) * <!b>

# Gram-Schmidt
<!Q> = <M>.copy()
for <i> in range(<!Q>.shape[1]):
    for <!j> in range(<i>):
        <!Q>[:, <i>] -= (<!Q>[:, <!j>] @ <!Q>[:, <i>]) * <!Q>[:, <!j>]
    <!Q>[:, <i>] /= np.sqrt(np.sum(<!Q>[:, <i>] ** 2))

# a softmax
<!z> = <v> - np.max(<v>)
np.exp(<!z>, <!z>)
<!z> /= np.sum(<!z>)

# parts of complex arrays
<!z> = <v> + 1j * <v>
<!w> = <!z>.real.ravel()
<!w>[0] = <x>
<!s> = np.sum(<!z>.real * <v>)

<!z> = <A> * (1.0 + 2j)
<!w> = <!z>.imag
<!w>[0] *= <x>
<!s> = np.sum(np.abs(<!z>) ** 2)

<!z> = <A> @ <A>.T
for <i> in range(<!z>.shape[0]):
    <!z>[<i>] = np.exp(<!z>[<i>] - np.max(<!z>[<i>]))
    <!z>[<i>] /= <!z>[<i>].sum()

# loops of array statements over columns, with a bound that grows
<!w> = np.zeros_like(<M>)
<!p> = 0
for <i> in range(<M>.shape[1]):
    <M>[:, <i>:] += 0.4 * <M>[:, <i> : <i> + 1]
    <M>[:, <i>:] *= <v>[<!p> : <!p> + <M>.shape[1] - <i>]
    <!w>[:, <i>] = 0.7 * <M>[:, <i>] - <!w>[:, <i>]
    <!p> += <o> % 2

<!w> = np.ones_like(<A>)
for <i> in range(<A>.shape[1]):
    <!w>[:, <i>] = 0.5 * np.sum(<A> * <A>, axis=1) + <c>
    <!w>[1:] += 0.2 * <!w>[:-1]
<!s> = np.sum(np.sin(np.sum(<!w> - <A>, axis=1)))

for <i> in range(<v>.size - 1, 0, -1):
    <v>[<i> - 1] += 0.4 * np.sin(<v>[<i>])

for <i> in range(1, <A>.shape[0]):
    for <!j> in range(<A>.shape[1] - 1, -1, -2):
        <A>[<i>, <!j>] = <A>[<i> - 1, <!j>] * <c> + <A>[<i>, <!j> - 1]

for <i> in range(<A>.shape[0]):
    for <!j> in range(<i>):
        <A>[<i>, 0] += <A>[<!j>, -1] * <x>

# loops with else
for <i> in range(<v>.size):
    if <v>[<i>] > 1.237:
        break
else:
    <v>[0] = <x>

# draws
np.random.seed(3)
<!a> = np.random.laplace(<v>, 0.3) * np.random.weibull(2.0, <v>.size)
<!s> = np.sum(np.random.permutation(<v>) * <!a>) + np.random.normal(<x>, <c>)

np.random.seed(4)
for <!i> in range(<v>.size):
    <v>[<!i>] = 0.5 * <v>[<!i>] * np.random.exponential(1.0) + np.random.uniform(-1.0, <c>)

# a queue
<!b> = np.zeros(2)
<!h> = np.array([0])
<!s> = 0.0
for <i> in range(<v>.size):
    <!s> += <!b>[<!h>[0]]
    <!b>[<!h>[0]] = <v>[<i>]
    <!h>[0] = (<!h>[0] + 1) % 2

<!s> = 0.0
for <!i> in range(<v>.size):
    <v>[<!i>] = <v>[<!i>] * 0.7 + <f>
    <!w> = <v> * <f>
    <!s> += <!w>[<!i>] * <v>[<!i>]

<!s> = 0.0
for <!i> in range(<v>.size):
    <!t> = min(<v>[<!i>], <c>)
    <!w> = <v> * <!t> - <!t>
    <!s> += <!w>[<!i>] ** 2

<!c> = 0
while <!c> < 2 and (<q>):
    <!w> = np.sin(<v>) * <f>
    <!c> += 1
<!s> = <!w>[0] * <!w>[-1] if <q> else <f>

for <!i> in range(<o> % 2):
    <!w> = np.sin(<v>) * <f>
if <q>:
    <s> += np.sum(<!w> * <!w>)

if <q>:
    <!w> = <v> * <f>
if <q>:
    <s> += np.dot(<!w>, <!w>)

# of another kind on another path
<!r> = <v>.astype(np.float32)
if <q>:
    <!r> = <v> * <f>
for <!i> in range(2):
    <!r> = <!r> * 0.5 + <f>

# chosen in single precision
<!r> = <v>.astype(np.float32)
<!s> = np.sum(np.maximum(<!r>[0] * <!r>, np.float32(0.1237))) + np.sum(np.fmin(<!r>, <!r>[-1] * <!r>))

<!r> = <f>
if <q>:
    <!r> = <v>
for <!i> in range(<o> % 3):
    <!r> = <f>

# of another kind from the second trip on
<!w> = 0.0
for <i> in range(<n>):
    <!w> = 0.5 * <!w> + <v> * <x>
    <s> += np.sum(<!w>)

<!w> = np.inf
<!c> = 0
while np.max(np.abs(<!w>)) > 0.0137 and <!c> < 9:
    <!w> = (<v> + <x>) * 0.3 ** <!c>
    <s> += <!w>[0]
    <!c> += 1

<!a>, <!b> = 0.0, <x>
for <i> in range(70):
    <!a>, <!b> = 0.3 * <!b> + 0.2 * np.sin(<v>), 0.1 * <!a>
    if np.sum(<!a>) > 30.0237:
        break
    <s> += 0.01 * np.sum(<!b>)

<!w> = [0.0, <x>]
for <i> in range(70):
    <!w> = [0.5 * <!w>[1] + <v>, <!w>[0]]
    <s> += 0.01 * np.sum(<!w>[0])

# generators: what runs through them, and what both change
def <!g>(t, m):
    for k in range(m):
        t = 0.6 * t + <f>
        yield t
<!b> = 0.0
for <!k>, <!t> in enumerate(<!g>(<x1>, <n>)):
    if <!t> > 1.8123:
        continue
    <!b> += <!t> * (<!k> + 1)
    if <q>:
        break

def <!g>(t):
    while True:
        t = np.sin(t) + <c>
        if t > 1.3:
            t -= <x1>
        yield t
<!b> = <x2>
for <!k>, <!t> in zip(range(<n>), <!g>(<f>)):
    <!b> = <!b> * 0.5 + <!t> * <!k>

def <!g>(r, m):
    for k in range(0, r.size, m):
        part = r[k : k + m]
        if part[0] > 2.8123:
            return
        yield part
<!b> = sum(np.sum(<!t> * <!t>) for <!t> in <!g>(<v>, 2)) + max((<!t>[0] for <!t> in <!g>(<v>, 3)), default=<f>)

def <!g>(m):
    for k in range(m):
        for j in range(k):
            if (k + j) % 3 != 0:
                yield k, j
<!b> = 0.0
for <!k>, <!t> in <!g>(<n>):
    <!b> += (<v>[<!k> % <v>.size] - <v>[<!t> % <v>.size]) ** 2 * <f>
else:
    <!b> *= <x1>

def <!g>(t, m):
    if m <= 0:
        yield t
        return
    yield from <!g>(t * <c>, m - 1)
    yield t * <x1>
<!r> = [<!t> * 0.5 for <!t> in <!g>(<x2>, 3)]
<!b> = <!r>[0] + <!r>[-1] * len(<!r>)

<!r> = [<x1>]
def <!g>(m):
    for k in range(m):
        <!r>[0] = 0.7 * <!r>[0] + <f>
        yield <!r>[0]
<!b> = 0.0
for <!t> in <!g>(<n>):
    <!b> += <!t>
    <!r>[0] += 0.1 * <!t>
    if <!b> > 4.0123:
        break

# texts that are known as it runs only
<!t> = "abacbc"
<!r> = {"a": <x1>, "b": <x2>, "c": <f>}
<!b> = 0.0
for <!k> in range(5):
    <!b> += <!r>[<!t>[<!k>]] if <!t>[<!k>] != <!t>[<!k> + 1] else 0.5 * <!r>[<!t>[-<!k>]]
    <!r>[<!t>[<!k>]] *= 0.5 if <!t>[<!k>] in "ab" else <c>

# what is chosen as it runs among objects, tuples and dictionaries
<!r> = [types.SimpleNamespace(a=<x1>, g=np.sin), types.SimpleNamespace(a=<x2>, b=<f>, g=np.tanh)]
<!b> = <f>
for <!k> in range(<n>):
    <!t> = <!r>[<!k> % 2]
    <!b> = <!t>.g(<!b>) + <!t>.a * (<!t>.b if hasattr(<!t>, "b") else 0.5)
    <!t>.a *= 0.9
<!b> += <!r>[0].a * <!r>[1].a

<!r> = [(<x1>, <x2>), (<f>,), (<x2>, <f>, <x1>)]
<!b> = 0.0
for <!k> in range(<n>):
    <!t> = <!r>[<!k> % 3]
    <!b> = 0.6 * <!b> + sum(<!t>) * len(<!t>) + <!t>[-1]

# a list with a name of its own, in what another one takes the place of
<!r> = {"a": <x1>, "b": [<f>]}
<!l> = <!r>["b"]
if <q>:
    <!r> = {"a": <f>, "b": [<x2>]}
<!r>["b"].append(<x1>)
<!s> = sum(<!l>) + 2.0 * sum(<!r>["b"])

<!r> = {"a": <x1>, "b": [<f>]}
<!l> = <!r>["b"]
for <!i> in range(<o> % 3):
    <!r> = {"a": <!r>["a"] * 0.5 + <f>, "b": <!r>["b"]}
    <!r>["b"].append(<!r>["a"])
<!s> = sum(<!l>) + 2.0 * sum(<!r>["b"])

<!t> = {"a": <x1>}
<!r> = {"a": <f>, "b": <x2>}
<!p> = <!t> if <q> else <!r>
<!p>["a"] *= <c>
<!b> = <!t>["a"] + <!p>["a"] * <!r>["b"] * len(<!p>)

<!t> = [<x1>]
<!r> = [<x2>, <f>]
for <!k> in range(<n>):
    <!p> = <!t> if <!k> % 2 else <!r>
    <!p>.append(<!p>[-1] * 0.5 + <c>)
<!b> = sum(<!t>) * len(<!r>) + sum(<!r>)

# exceptions of functions that are called
def <!g>(t):
    if t > 0.8123:
        raise ValueError("large", t)
    return t * <f>
<!b> = 0.0
for <!k> in range(<n>):
    try:
        <!b> += <!g>(<x1> * (0.4 + 0.3 * <!k>)) + 0.5 * <!g>(<x2>)
    except ValueError as error:
        <!b> -= 0.5 * error.args[1]
        if <!b> < -3.0123:
            break
    else:
        <!b> *= 0.9

# what is put into a list or a dictionary, and has another name
<!r> = {}
<!b> = <!r>.setdefault(1, <f>)
<!t> = <!r>.setdefault(1, <x1>)
<s> += <!b> * <!t> * <!r>[1]

def <!g>(r, t):
    r.append(t * <x1>)
    return r[-1]
<!r> = []
<!b> = <!g>(<!r>, <f>)
<!t> = <!g>(<!r>, <!b>) * <!r>[0]

# what stands to the right of and and or changes something where Python asks it
def <!g>(r, t):
    r.append(t * <x1>)
    return r[-1]
<!r> = [<f>]
<!b> = 0.0
for <!e> in <v>:
    if <!e> > 0.1237 and <!g>(<!r>, <!e>) > 0.2123:
        <!b> += <!r>[-1] * <!e>
    <!b> *= 0.9
<!b> += sum(<!r>) * len(<!r>)

<!b> = <x1>
def <!g>(t):
    nonlocal <!b>
    <!b> = 0.5 * <!b> + t * <f>
    return <!b>
<!t> = 1.0 if <q> or <!g>(<x2>) > 0.3123 else <c>
<!t> *= <!b>

<!b> = <x1>
def <!g>(t):
    nonlocal <!b>
    <!b> = 0.5 * <!b> + t
    return <!b>
<!r> = -0.2123 < <!g>(<f>) < <!g>(<x2>) < <!g>(<f>)
<!b> = <!b> * (<c> if <!r> else 0.7)

def <!g>(t):
    t[0] = t[0] * <f> + <c>
    return t[-1] * <x1>
<!p> = <v> * 1.0
for <!k> in range(<n>):
    if not (<q> and <!g>(<!p>) > 0.1123):
        <!p> *= 0.8
<!b> = np.sum(<!p> * <v>)

def <!g>(r, t):
    r.a, r.n = 0.5 * r.a + t, r.n + 1
    return r.n % 2 == 0
<!r> = types.SimpleNamespace(a=<x1>, n=0)
<!b> = 0.0
for <!k> in range(<n>):
    <!b> += <f> if <q> or <!g>(<!r>, <x2>) else <!r>.a
<!b> += <!r>.a * <!r>.n

def <!g>(r):
    r.a *= 0.6 + 0.1 * <c>
    return r.a
<!r> = types.SimpleNamespace(a=1.0 + <f> ** 2)
<!b> = 0.0
while <!b> < 3.0123 and <!g>(<!r>) > 0.0231:
    <!b> += <!r>.a * <x1>

<!r> = {"a": <x1>, "b": <f>}
<!b> = <q> and <!r>.pop("a") > 0.1123
<!t> = sum(<!r>.values()) * len(<!r>) * (1.0 if <!b> else <c>)

<!r> = []
def <!g>(t):
    <!r>.append(t)
    return t * <f>
<!t> = [<!e> * <x1> for <!e> in <v> if <!e> > -0.1123 and <!g>(<!e>) < 0.4123]
<!b> = sum(<!t>) + sum(<!r>) * len(<!t>)

<!b> = 0.0
for <!e> in <v>:
    if <!e> > 0.1123 and (<!w> := <!e> * <f>) < 0.5123:
        <!b> += <!w> * <!w>
    elif <!e> < 0.0 or (<!w> := <x1> + <!e>) > 0.2123:
        <!b> -= <!e>
    else:
        <!b> += <!w>
""".strip()


def _paragraphs(text: str) -> list[str]:
    """Blocks between empty lines; comments that head them say what they are, and are kept in a part of the programs."""
    return [block for block in text.split("\n\n") if block.strip()]


BLOCKS = _paragraphs(LOOPS)
LINES += _paragraphs(LITTLE_BLOCKS)
FATES += _paragraphs(FATE_BLOCKS)
