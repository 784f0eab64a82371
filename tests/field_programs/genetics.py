"""Genes, genomes, evolution and gene circuits."""

import itertools
import math
from functools import lru_cache, reduce

import numpy as np
import scipy.linalg as la
import scipy.special as sp
from scipy import linalg, special
from scipy import linalg as sla
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.special import gammaln

from tests.field_programs import program, rng


# ---------------------------------------------------------------- hmm_loglik
@program(
    "HMM forward in log space",
    lambda: (rng(5).normal(size=(3, 3)), rng(6).normal(size=(3, 4)), rng(7).integers(0, 4, 25)),
    wrt=(0, 1),
)
def hmm_loglik(A, B, obs):
    logA = A - sp.logsumexp(A, axis=1, keepdims=True)
    logB = B - sp.logsumexp(B, axis=1)[:, None]
    alpha = np.full(3, -np.log(3)) + logB[:, obs[0]]
    for o in obs[1:]:
        alpha = sp.logsumexp(alpha[:, None] + logA, axis=0) + logB[:, o]
    return sp.logsumexp(alpha)


# ---------------------------------------------------------------- em_abo
@program(
    "Wright-Fisher moments / EM for haplotype freq (while convergence)", lambda: (np.array([20.0, 12.0, 9.0, 7.0]),)
)
def em_abo(n):
    nA, nB, nAB, nO = n
    p, q, r = 0.3, 0.3, 0.4
    N = n.sum()
    it = 0
    while True:
        it += 1
        aa = nA * p**2 / (p**2 + 2 * p * r)
        ao = nA - aa
        bb = nB * q**2 / (q**2 + 2 * q * r)
        bo = nB - bb
        p1, q1 = (2 * aa + ao + nAB) / (2 * N), (2 * bb + bo + nAB) / (2 * N)
        delta = abs(p1 - p) + abs(q1 - q)
        p, q, r = p1, q1, 1 - p1 - q1
        if delta < 1e-14 or it > 500:
            break
    return p * math.log(p) + q * math.log(q) + r * math.log(r)


# ---------------------------------------------------------------- pedigree
@program(
    "pedigree peeling by recursion over dict of parents with lru_cache kinship",
    lambda: (0.3, np.array([0.02, 0.4, 0.85])),
    wrt=(0, 1),
)
def pedigree(q, pen):
    parents = {"a": None, "b": None, "c": ("a", "b"), "d": None, "e": ("c", "d"), "f": ("c", "d")}
    affected = {"a": True, "b": False, "e": True, "f": False}

    @lru_cache(maxsize=None)
    def kinship(i, j):
        if i == j:
            return 0.5 * (1 + (kinship(*parents[i]) if parents[i] else 0))
        if i < j:
            i, j = j, i
        return 0.5 * sum(kinship(p, j) for p in parents[i]) if parents[i] else 0.0

    hw = [(1 - q) ** 2, 2 * q * (1 - q), q**2]
    tr = lambda g, gf, gm: {
        0: (1 - gf / 2) * (1 - gm / 2),
        1: gf / 2 * (1 - gm / 2) + gm / 2 * (1 - gf / 2),
        2: gf * gm / 4,
    }[g]
    people = list(parents)
    total = 0.0
    for genos in itertools.product(range(3), repeat=len(people)):
        g = dict(zip(people, genos))
        pr = 1.0
        for who in people:
            pr *= hw[g[who]] if parents[who] is None else tr(g[who], g[parents[who][0]], g[parents[who][1]])
            if who in affected:
                pr *= pen[g[who]] if affected[who] else 1 - pen[g[who]]
        total += pr
    return math.log(total) + kinship("e", "f") * q


# ---------------------------------------------------------------- coalescent_loglik
@program(
    "population genetics: coalescent density of observed intercoalescent times with exponential growth",
    lambda: (0.4, 0.8, [0.03, 0.05, 0.11, 0.2, 0.6], [6, 5, 4, 3, 2]),
    wrt=(0, 1, 2),
)
def coalescent_loglik(log_theta, growth, times, lineages):
    """Coalescent density of observed intercoalescent times with exponential growth."""
    theta = np.exp(log_theta)
    ll, t = 0.0, 0.0
    for k, dt in zip(lineages, times):
        rate = k * (k - 1) / theta
        t_new = t + dt
        hazard = rate * (np.exp(growth * t_new) - np.exp(growth * t)) / growth
        ll += np.log(rate) + growth * t_new - hazard
        t = t_new
    return ll


# ---------------------------------------------------------------- spectrum_of_sites
@lru_cache(maxsize=None)
def log_choose(n, k):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


@program(
    "population genetics: site frequency spectrum by a transition matrix between allele counts",
    lambda: (0.03, 0.01, np.array([0.5, 0.3, 0.2])),
    wrt=(0, 1, 2),
)
def spectrum_of_sites(s, mu, start):
    n = 8
    p = np.zeros(n + 1)
    p[1:4] = start / start.sum()

    def row(i):
        x = i / n
        x = x * (1 + s) / (1 + s * x)
        x = x * (1 - mu) + (1 - x) * mu
        return [math.exp(log_choose(n, j) + j * math.log(x) + (n - j) * math.log1p(-x)) for j in range(n + 1)]

    P = np.array([row(i) for i in range(n + 1)])
    for _ in range(12):
        p = p @ P
    heterozygosity = sum(2 * p[i] * (i / n) * (1 - i / n) for i in range(n + 1))
    return heterozygosity - 0.1 * np.sum(p * np.log(p))


# ---------------------------------------------------------------- nb_glm_nll
def _nb_args():
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(10), np.repeat([0, 1], 5), rng.normal(size=10)])
    return np.array([1.5, 0.6, -0.2]), -0.7, X, rng.poisson(8, 10), np.log(rng.uniform(0.7, 1.4, 10))


@program("genomics: negative binomial regression with log link, as used for RNA-seq counts", _nb_args, wrt=(0, 1))
def nb_glm_nll(beta, log_disp, X, counts, offset):
    """Negative binomial regression with log link, as used for RNA-seq counts."""
    mu = np.exp(X @ beta + offset)
    r = np.exp(-log_disp)
    ll = (
        gammaln(counts + r)
        - gammaln(r)
        - gammaln(counts + 1)
        + r * np.log(r / (r + mu))
        + counts * np.log(mu / (r + mu))
    )
    return -ll.sum()


# ---------------------------------------------------------------- chip_likelihood
@program(
    "genomics: occupancy of a promoter by a transcription factor, all places on both strands, against counts of reads",
    lambda: (rng(11).normal(size=(4, 6)), -1.0, 0.8, np.array([30.0, 12.0, 55.0])),
    wrt=(0, 1, 2, 3),
)
def chip_likelihood(weights, log_concentration, cooperativity, background):
    promoters = ["ACGTTGACATTGCAGGTCATTA", "TTGACCATATGGCAACGT", "GGCATTGACAATTGTCAATCCGTA"]
    reads = [140, 35, 260]
    code = {base: k for k, base in enumerate("ACGT")}
    pwm = weights - special.logsumexp(weights, axis=0, keepdims=True)
    width = pwm.shape[1]

    def scan(sequence):
        digits = np.array([code[base] for base in sequence])
        sites = np.lib.stride_tricks.sliding_window_view(digits, width)
        return pwm[sites, np.arange(width)].sum(axis=-1) - width * math.log(0.25)

    def log_partition(affinity, n):
        # Z[i]: the first i bases; bound[i]: the same with a factor that ends there
        Z, bound = [1.0] * (n + 1), [0.0] * (n + 1)
        for i in range(1, n + 1):
            if i >= width:
                start = i - width
                close = sum(bound[max(start - 3, 0) : start + 1])
                bound[i] = affinity[start] * (Z[start] + (math.exp(cooperativity) - 1.0) * close)
            Z[i] = Z[i - 1] + bound[i]
        return math.log(Z[n]), bound[n] / Z[n]

    total = 0.0
    for sequence, count, noise in zip(promoters, reads, background):
        reverse = sequence.translate(str.maketrans("ACGT", "TGCA"))[::-1]
        strands = np.stack([scan(sequence), scan(reverse)[::-1]])
        affinity = np.exp(log_concentration + np.logaddexp.reduce(strands, axis=0))
        gc = (sequence.count("G") + sequence.count("C")) / len(sequence)
        logz, last = log_partition(affinity, len(sequence))
        rate = noise * (1.0 + 0.5 * gc) + 60.0 * logz + 5.0 * last
        total += special.xlogy(count, rate) - rate - special.gammaln(count + 1)
    return total


# ---------------------------------------------------------------- tree_loglik
def hky_rate_matrix(kappa, pi):
    Q = np.zeros((4, 4))
    transitions = {(0, 2), (2, 0), (1, 3), (3, 1)}
    for i in range(4):
        for j in range(4):
            if i != j:
                Q[i, j] = pi[j] * (kappa if (i, j) in transitions else 1.0)
        Q[i, i] = -Q[i].sum()
    scale = -np.dot(pi, np.diag(Q))
    return Q / scale


def prune(node, Q, pattern):
    """Felsenstein pruning; a node is a leaf name or a list of (child, branch length)."""
    if isinstance(node, str):
        v = np.zeros(4)
        v["ACGT".index(pattern[node])] = 1.0
        return v
    partial_lik = np.ones(4)
    for child, length in node:
        P = expm(Q * length)
        partial_lik = partial_lik * (P @ prune(child, Q, pattern))
    return partial_lik


def _tree_args():
    species = ("human", "chimp", "gorilla", "orang")
    cols = ["AAAA", "CCCT", "GGAG", "TTTT", "ACAA", "GGGA"]
    sites = [dict(zip(species, col)) for col in cols]
    return 4.0, np.array([0.3, 0.25, 0.2, 0.25]), np.array([0.05, 0.06, 0.04, 0.12, 0.3]), sites


@program("phylogenetics: pruning on a tree, HKY model", _tree_args, wrt=(0, 1, 2), slow=True)
def tree_loglik(kappa, freqs, lengths, sites):
    a, b, c, d, e = lengths
    tree = [([("human", a), ("chimp", b)], c), ("gorilla", d), ("orang", e)]
    pi = freqs / freqs.sum()
    Q = hky_rate_matrix(kappa, pi)
    return sum(np.log(pi @ prune(tree, Q, site)) for site in sites)


# ---------------------------------------------------------------- felsenstein
@program(
    "phylogenetics: Felsenstein pruning on newick-like nested tuples",
    lambda: (np.array([0.1, 0.2, 0.15, 0.3, 0.25, 0.05]), 0.8),
    wrt=(0, 1),
)
def felsenstein(bl, kappa):
    tree = (((0, 1), 2), 3)
    tips = [0, 1, 0, 2]
    pi = np.ones(4) / 4
    Q = np.array([[0, 1, kappa, 1], [1, 0, 1, kappa], [kappa, 1, 0, 1], [1, kappa, 1, 0]], dtype=float)
    Q -= np.diag(Q.sum(axis=1))
    counter = itertools.count()

    def partial(node):
        if isinstance(node, tuple):
            L = np.ones(4)
            for child in node:
                Pm = sla.expm(Q * bl[next(counter)])
                L = L * (Pm @ partial(child))
            return L
        e = np.zeros(4)
        e[tips[node]] = 1.0
        return e

    return -np.log(pi @ partial(tree))


# ---------------------------------------------------------------- pruning
@program(
    "phylogenetics: Felsenstein pruning with recursion over nested tuples, HKY matrix exponentiated",
    lambda: (2.0, np.array([0.3, 0.2, 0.2, 0.3]), 0.1),
    wrt=(0, 1, 2),
)
def pruning(kappa, pi, scale):
    seqs = {"human": "ACGTA", "chimp": "ACGTG", "mouse": "ATGAA", "rat": "ATGAC"}
    tree = ((("human", 0.5), ("chimp", 0.6)), 0.9), ((("mouse", 1.0), ("rat", 1.1)), 0.7)
    Q = np.array([[0, 1, kappa, 1], [1, 0, 1, kappa], [kappa, 1, 0, 1], [1, kappa, 1, 0]]) * pi
    np.fill_diagonal(Q, -Q.sum(axis=1))
    Q = Q / -np.dot(pi, np.diag(Q))

    def partial_lik(node, site):
        if isinstance(node, str):
            vec = np.zeros(4)
            vec["ACGT".index(seqs[node][site])] = 1
            return vec
        out = np.ones(4)
        for child, length in node:
            out = out * (la.expm(Q * length * scale) @ partial_lik(child, site))
        return out

    return sum(math.log(pi @ partial_lik(tree, s)) for s in range(5))


# ---------------------------------------------------------------- tree_likelihood
class JukesCantor:
    def P(self, t):
        e = np.exp(-4 * t / 3)
        return np.full((4, 4), 0.25 - 0.25 * e) + np.eye(4) * e


class Kimura:
    def __init__(self, kappa):
        self.kappa = kappa

    def P(self, t):
        Q = np.ones((4, 4))
        for i, j in ((0, 2), (2, 0), (1, 3), (3, 1)):
            Q[i, j] = self.kappa
        np.fill_diagonal(Q, 0)
        Q = Q / Q.sum(1)[0]
        np.fill_diagonal(Q, -Q.sum(1))
        return linalg.expm(Q * t)


@program(
    "phylogenetics: Felsenstein pruning on a nested tuple tree, Jukes-Cantor and Kimura as strategies",
    lambda: (np.array([0.1, 0.2, 0.15, 0.3, 0.05]), 2.5),
    wrt=(0, 1),
    slow=True,
)
def tree_likelihood(t, kappa):
    sites = ("ACGT", "AAGA", "CCGT")
    tree = ((0, 1), (2, 3))

    def partials(node, site, model):
        if isinstance(node, int):
            v = np.zeros(4)
            v["ACGT".index(site[node])] = 1.0
            return model.P(t[node]) @ v
        return reduce(np.multiply, (partials(child, site, model) for child in node))

    total = 0.0
    for model, weight in ((JukesCantor(), 0.4), (Kimura(kappa), 0.6)):
        for site in sites:
            left, right = (partials(half, site, model) for half in tree)
            total += weight * np.log(0.25 * np.sum(left * (model.P(t[4]) @ right)))
    return -total


# ---------------------------------------------------------------- tree_log_likelihood
TREE = ((("A", 0), ("B", 1), 2), (("C", 3), ("D", 4), 5))


def _partial(node, leaves, lengths, rate):
    if isinstance(node[0], str):
        likelihood = leaves[node[0]]
    else:
        left, right, _ = node
        likelihood = _partial(left, leaves, lengths, rate) * _partial(right, leaves, lengths, rate)
    decay = math.exp(-4.0 / 3.0 * rate * lengths[node[-1]])
    P = np.full((4, 4), 0.25 * (1.0 - decay)) + decay * np.eye(4)
    return P @ likelihood


@program(
    "phylogenetics: Felsenstein's pruning on a nested tuple with Jukes-Cantor, invariant sites",
    lambda: (np.array([0.1, 0.2, 0.15, 0.3, 0.25, 0.12]), 0.8, 0.1),
    wrt=(0, 1, 2),
)
def tree_log_likelihood(lengths, rate, invariant):
    sites = {"A": "ACGTAAC", "B": "ACGTAGC", "C": "ACCTATC", "D": "ACCTTTC"}
    pi = np.full(4, 0.25)
    total = 0.0
    for column in zip(*sites.values()):
        leaves = {}
        for name, base in zip(sites, column):
            one = np.zeros(4)
            one["ACGT".index(base)] = 1.0
            leaves[name] = one
        left, right = TREE
        root = _partial((*left[:-1], left[-1]), leaves, lengths, rate) * _partial(right, leaves, lengths, rate)
        likelihood = (1.0 - invariant) * (pi @ root)
        if len(set(column)) == 1:
            likelihood += invariant * 0.25
        total += math.log(likelihood)
    return total


# ---------------------------------------------------------------- coalescent
@program(
    "evolutionary biology: coalescent likelihood with heap of lineages",
    lambda: (np.array([1.0, 0.5]), [0.1, 0.15, 0.4, 0.9, 1.3]),
)
def coalescent(theta, times):
    N0, growth = theta
    k = len(times) + 1
    ll, prev = 0.0, 0.0
    for t in times:
        rate = k * (k - 1) / 2
        Lam = (np.expm1(growth * t) - np.expm1(growth * prev)) / (growth * N0)
        ll += -rate * Lam + np.log(rate / N0) + growth * t
        prev, k = t, k - 1
    return ll


# ---------------------------------------------------------------- soft_nw
@program(
    "biochem: Needleman-Wunsch soft alignment DP (2d dp)",
    lambda: (np.random.default_rng(7).normal(size=(5, 6)), -0.5),
    wrt=(0, 1),
)
def soft_nw(S, gap, T=0.5):
    n, m = S.shape
    D = np.full((n + 1, m + 1), -np.inf)
    D[0, :] = gap * np.arange(m + 1)
    D[:, 0] = gap * np.arange(n + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cand = np.array([D[i - 1, j - 1] + S[i - 1, j - 1], D[i - 1, j] + gap, D[i, j - 1] + gap])
            mx = cand.max()
            D[i, j] = mx + T * np.log(np.sum(np.exp((cand - mx) / T)))
    return D[-1, -1]


# ---------------------------------------------------------------- circuit_fit
def rk4(f, y, t, h, *args):
    k1 = f(t, y, *args)
    k2 = f(t + h / 2, y + h / 2 * k1, *args)
    k3 = f(t + h / 2, y + h / 2 * k2, *args)
    k4 = f(t + h, y + h * k3, *args)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def repressilator(t, y, alpha, n):
    m, p = y[:3], y[3:]
    dm = -m + alpha / (1 + np.roll(p, 1) ** n) + 0.1
    dp = -2 * (p - m)
    return np.concatenate([dm, dp])


@program(
    "biology: gene circuit ODE solved by own RK4, measured by interp",
    lambda: (12.0, 2.1, np.array([1.0, 0.5, 2.0, 0.1, 0.2, 0.3])),
    wrt=(0, 1, 2),
)
def circuit_fit(alpha, n, y0):
    ts = np.linspace(0, 5, 51)
    ys = [y0]
    for a, b in zip(ts, ts[1:]):
        ys.append(rk4(repressilator, ys[-1], a, b - a, alpha, n))
    Y = np.stack(ys)
    sampled = np.interp([0.33, 1.7, 2.9, 4.4], ts, Y[:, 3])
    return np.sum((sampled - 1.0) ** 2) + Y[-1].max()


# ---------------------------------------------------------------- toggle_loss
def toggle_rhs(t, y, a1, a2, n, d):
    u, v = y
    return [a1 / (1 + v**n) - d * u, a2 / (1 + u**n) - d * v]


@program(
    "systems biology: genetic toggle switch, distance to measured protein levels",
    lambda: (3.0, 2.5, 2.0, 1.1, np.array([[1.0, 0.8], [1.6, 0.9], [2.0, 0.7], [2.2, 0.6], [2.4, 0.5]])),
    wrt=(0, 1, 2, 3),
)
def toggle_loss(a1, a2, n, d, data):
    """Genetic toggle switch, distance to measured protein levels."""
    t = np.linspace(0, 5, len(data))
    sol = solve_ivp(toggle_rhs, (0, 5), [1.0, 0.8], t_eval=t, args=(a1, a2, n, d), rtol=1e-10, atol=1e-12)
    if not sol.success:
        raise RuntimeError(sol.message)
    return float(np.sum((sol.y.T - data) ** 2))


# ---------------------------------------------------------------- gillespie
@program(
    "evolutionary game / biology: Gillespie with fixed uniforms; choice by "
    "cumsum/searchsorted and propensity list of lambdas",
    lambda: (np.array([1.0, 0.1, 0.05]), rng(4).random((30, 2))),
)
def gillespie(k, u):
    stoich = ((1, 0), (-1, 1), (0, -1))
    propensity = [lambda a, b: k[0], lambda a, b: k[1] * a, lambda a, b: k[2] * b]
    a, b, t = 3, 1, 0.0
    area = 0.0
    for u1, u2 in u:
        rates = np.array([p(a, b) for p in propensity])
        total = rates.sum()
        tau = -math.log(u1) / total
        area += tau * (a + 2 * b)
        t += tau
        r = int(np.searchsorted(np.cumsum(rates), u2 * total))
        da, db = stoich[r]
        a, b = a + da, b + db
    return area / t


# ---------------------------------------------------------------- chemostat
@program(
    "microbiology: chemostat with Monod, solved by hand-written RK45 adaptive steps",
    lambda: (np.array([0.5, 0.3, 0.45]), 0.2),
    wrt=(0, 1),
)
def chemostat(theta, D):
    mu, Ks, Y = theta

    def f(y):
        x, s = y
        g = mu * s / (Ks + s)
        return np.array([(g - D) * x, D * (5.0 - s) - g * x / Y])

    y, t, h = np.array([0.1, 5.0]), 0.0, 0.1
    while t < 12.0:
        h = min(h, 12.0 - t)
        k1 = f(y)
        k2 = f(y + h * k1 / 4)
        k3 = f(y + h * (3 * k1 + 9 * k2) / 32)
        k4 = f(y + h * (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = f(y + h * (439 / 216 * k1 - 8 * k2 + 3680 / 513 * k3 - 845 / 4104 * k4))
        y4 = y + h * (25 / 216 * k1 + 1408 / 2565 * k3 + 2197 / 4104 * k4 - k5 / 5)
        if abs(y4).max() > 100:
            raise RuntimeError(f"diverged at {t}")
        t += h
        y = y4
        h = 0.25
    return y[0] * D
