from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import accumulate, pairwise

import numpy as np
from scipy import linalg, optimize, special

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# psychometrics: three-parameter logistic items, ability by EAP on a quadrature grid
@prog("psychometrics", lambda: (np.array([1.2, 0.8, 1.5, 0.6]), np.array([-0.5, 0.1, 0.7, 1.1]), 0.18), (0, 1, 2))
def ability_of_examinee(a, b, guess):
    nodes, weights = np.polynomial.hermite_e.hermegauss(11)
    answers = {"q1": 1, "q2": 1, "q3": 0, "q4": 1}
    like = np.ones_like(nodes)
    for (item, correct), ai, bi in zip(answers.items(), a, b):
        p = guess + (1 - guess) / (1 + np.exp(-1.702 * ai * (nodes - bi)))
        like *= p if correct else 1 - p
    posterior = like * weights / np.sum(like * weights)
    eap = posterior @ nodes
    psd = np.sqrt(posterior @ (nodes - eap) ** 2)
    return eap + 0.5 * psd


# hydrology: Muskingum routing through a network of reaches given by who flows into whom
@prog("hydrology", lambda: (np.array([1.5, 2.0, 1.1]), np.array([0.2, 0.3, 0.25]), 0.9), (0, 1, 2))
def routed_flood(K, X, scale, dt=1.0):
    upstream = {"outlet": ["left", "right"], "left": [], "right": []}
    where = {name: k for k, name in enumerate(["left", "right", "outlet"])}
    storm = {"left": [1.0, 4.0, 9.0, 6.0, 3.0, 1.5, 1.0, 1.0], "right": [0.5, 1.0, 3.0, 7.0, 5.0, 2.0, 1.0, 0.5]}
    hydrographs = {}
    for name in ("left", "right", "outlet"):
        inflow = np.zeros(8)
        for other in upstream[name]:
            inflow = inflow + hydrographs[other]
        if name in storm:
            inflow = inflow + scale * np.array(storm[name])
        k, x = K[where[name]], X[where[name]]
        den = 2 * k * (1 - x) + dt
        c0, c1, c2 = (dt - 2 * k * x) / den, (dt + 2 * k * x) / den, (2 * k * (1 - x) - dt) / den
        out = [inflow[0]]
        for before, now in pairwise(inflow):
            out.append(c0 * now + c1 * before + c2 * out[-1])
        hydrographs[name] = np.array(out)
    outlet = hydrographs["outlet"]
    peak = int(outlet.argmax())
    return outlet[peak] + 0.01 * np.sum(outlet[peak:] ** 2)


# sports rating: Elo with home advantage and margin of victory, over a season of results
@dataclass
class Club:
    rating: float = 0.0
    played: int = 0
    form: deque = field(default_factory=lambda: deque(maxlen=3))


@prog("sports rating", lambda: (0.3, 0.25, np.array([0.4, 0.1, -0.2, -0.3])), (0, 1, 2))
def season_log_loss(k_factor, home, start):
    table = {name: Club(rating) for name, rating in zip("abcd", start)}
    season = [
        ("a", "b", 2, 1),
        ("c", "d", 0, 0),
        ("b", "c", 3, 0),
        ("d", "a", 1, 2),
        ("a", "c", 1, 1),
        ("b", "d", 2, 2),
    ]
    loss = 0.0
    for first, second, goals, against in season:
        one, other = table[first], table[second]
        edge = one.rating + home - other.rating + 0.1 * (sum(one.form) - sum(other.form))
        expected = 1 / (1 + 10 ** (-edge))
        score = 1.0 if goals > against else 0.5 if goals == against else 0.0
        loss -= score * np.log(expected) + (1 - score) * np.log1p(-expected)
        change = k_factor * (1 + np.log1p(abs(goals - against))) * (score - expected)
        one.rating += change
        other.rating -= change
        for club, gained in ((one, change), (other, -change)):
            club.form.append(gained)
            club.played += 1
    best = max(table.values(), key=lambda club: club.rating)
    return loss / len(season) + 0.1 * best.rating * best.played


# nuclear engineering: point kinetics with six groups, a ramp of reactivity, implicit steps
@prog("reactor kinetics", lambda: (0.003, np.array([2.1, 14.2, 12.7, 25.7, 7.5, 2.7]) * 1e-4, 2.0), (0, 1, 2))
def power_after_ramp(rho, beta, life, steps=12, dt=0.05):
    lam = np.array([0.0124, 0.0305, 0.111, 0.301, 1.14, 3.01])
    total, life = beta.sum(), life * 1e-4
    n = 1.0
    C = beta * n / (lam * life)
    history = np.empty(steps + 1)
    history[0] = n
    for k in range(steps):
        r = rho * min(1.0, (k + 1) / 6)
        M = np.zeros((7, 7))
        M[0, 0] = (r - total) / life
        M[0, 1:] = lam
        M[1:, 0] = beta / life
        M[np.arange(1, 7), np.arange(1, 7)] = -lam
        state = np.linalg.solve(np.eye(7) - dt * M, np.concatenate([[n], C]))
        n, C = state[0], state[1:]
        history[k + 1] = n
    period = dt / np.log(history[-1] / history[-2])
    return history[-1] + 0.1 * period


# robotics: forward kinematics by Denavit-Hartenberg rows, manipulability of the wrist
@prog("robotics", lambda: (np.array([0.3, -0.7, 1.1]), np.array([0.5, 0.4, 0.2])), (0, 1))
def manipulability(q, lengths):
    def link(theta, d, a, alpha):
        ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        return np.array(
            [[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]]
        )

    rows = [(lengths[0], 0.0, np.pi / 2), (0.0, lengths[1], 0.0), (0.0, lengths[2], 0.0)]
    frames = list(accumulate((link(t, *row) for t, row in zip(q, rows)), np.matmul, initial=np.eye(4)))
    end = frames[-1][:3, 3]
    J = np.column_stack([np.cross(T[:3, 2], end - T[:3, 3]) for T in frames[:-1]])
    return np.sqrt(np.linalg.det(J @ J.T)) + np.linalg.norm(end)


# optics: thin-film stack by characteristic matrices, reflectance over a band, s and p
@prog("thin films", lambda: (np.array([0.11, 0.07, 0.12]), np.array([1.38, 2.1, 1.46]), 0.4), (0, 1, 2))
def reflectance_of_stack(thickness, index, angle):
    n0, ns = 1.0, 1.52
    result = {}
    for pol in "sp":
        found = []
        for wavelength in np.linspace(0.45, 0.65, 5):
            cos0 = np.cos(angle)
            M = np.eye(2, dtype=complex)
            for d, n in zip(thickness, index):
                c = np.sqrt(1 - (n0 * np.sin(angle) / n) ** 2)
                delta = 2 * np.pi * n * d * c / wavelength
                eta = n * c if pol == "s" else n / c
                M = M @ np.array([[np.cos(delta), 1j * np.sin(delta) / eta], [1j * eta * np.sin(delta), np.cos(delta)]])
            cs = np.sqrt(1 - (n0 * np.sin(angle) / ns) ** 2)
            eta0, etas = (n0 * cos0, ns * cs) if pol == "s" else (n0 / cos0, ns / cs)
            B, C = M @ np.array([1, etas])
            r = (eta0 * B - C) / (eta0 * B + C)
            found.append(abs(r) ** 2)
        result[pol] = np.mean(found)
    return 0.5 * sum(result.values()) + 0.1 * (result["p"] - result["s"]) ** 2


# power systems: Newton power flow of four buses, losses of the lines
@prog("power flow", lambda: (np.array([0.4, 0.6, 0.3]), np.array([0.1, 0.25, 0.15]), 0.05), (0, 1, 2))
def line_losses(P, Q, r):
    lines = [(0, 1), (1, 2), (2, 3), (0, 3)]
    Y = np.zeros((4, 4), dtype=complex)
    for i, j in lines:
        y = 1 / (r + 0.1j)
        Y[i, j] -= y
        Y[j, i] -= y
        Y[i, i] += y
        Y[j, j] += y
    V = np.ones(4, dtype=complex)
    for _ in range(15):
        for k in range(1, 4):
            S = -(P[k - 1] + 1j * Q[k - 1])
            others = sum(Y[k, m] * V[m] for m in range(4) if m != k)
            V[k] = (np.conj(S / V[k]) - others) / Y[k, k]
    flows = [(V[i] - V[j]) * np.conj((V[i] - V[j]) / (r + 0.1j)) for i, j in lines]
    sag = min(np.abs(V))
    return np.sum(flows).real * 10 + sag


# demography: Leslie matrix, growth rate, stable ages, and elasticities by the reproductive values
@prog("demography", lambda: (np.array([0.0, 1.1, 0.8, 0.2]), np.array([0.5, 0.7, 0.4])), (0, 1))
def stable_population(fertility, survival):
    L = np.diag(survival, -1).astype(complex)
    L[0] += fertility
    values, vectors = np.linalg.eig(L)
    lead = np.argmax(values.real)
    growth = values[lead].real
    ages = vectors[:, lead].real
    ages = ages / ages.sum()
    w, left = np.linalg.eig(L.T)
    v = left[:, np.argmax(w.real)].real
    v = v / v[0]
    elasticity = np.outer(v, ages) * L.real / (growth * (v @ ages))
    expectancy = 1 + np.cumprod(survival).sum()
    return np.log(growth) + elasticity[0].sum() + 0.1 * expectancy + np.average(np.arange(4), weights=ages)


# speech: autocorrelation, Levinson-Durbin, and the gain of the predictor
@prog("speech coding", lambda: (np.sin(np.arange(40.0) * 0.7) + 0.3 * np.cos(np.arange(40.0) * 2.1), 0.02), (0, 1))
def prediction_gain(frame, floor, order=4):
    windowed = frame * np.hamming(len(frame))
    R = [np.dot(windowed[: len(windowed) - lag], windowed[lag:]) for lag in range(order + 1)]
    R[0] *= 1 + floor
    a, error = [1.0], R[0]
    reflections = []
    for i in range(1, order + 1):
        k = -sum(a[j] * R[i - j] for j in range(i)) / error
        extended = a + [0.0]
        a = [x + k * y for x, y in zip(extended, extended[::-1])]
        error *= 1 - k * k
        reflections.append(k)
    cepstrum = [-a[1]]
    for n in range(2, order + 1):
        cepstrum.append(-a[n] - sum((m / n) * cepstrum[m - 1] * a[n - m] for m in range(1, n)))
    return 10 * np.log10(R[0] / error) + np.sum(np.arctanh(reflections) ** 2) + sum(c * c for c in cepstrum)


# agronomy: soil water balance with runoff by curve number, stress on the yield in growth stages
@prog("agronomy", lambda: (70.0, 0.45, np.array([0.9, 1.15, 0.7])), (0, 1, 2))
def crop_yield(curve_number, depletion, kc):
    rain = [12.0, 0.0, 0.0, 25.0, 3.0, 0.0, 0.0, 0.0, 40.0, 0.0, 0.0, 2.0]
    stages = ["initial"] * 3 + ["mid"] * 5 + ["late"] * 4
    coefficients = dict(zip(("initial", "mid", "late"), kc))
    S = 25400 / curve_number - 254
    taw = 60.0
    store, supply, demand = 30.0, defaultdict(float), defaultdict(float)
    for day, (p, stage) in enumerate(zip(rain, stages)):
        runoff = (p - 0.2 * S) ** 2 / (p + 0.8 * S) if p > 0.2 * S else 0.0
        store = min(store + p - runoff, taw)
        etc = (4.0 + np.sin(day / 3)) * coefficients[stage]
        stress = 1.0 if store > (1 - depletion) * taw else store / ((1 - depletion) * taw)
        eta = stress * etc
        store -= eta
        supply[stage] += eta
        demand[stage] += etc
    sensitivity = {"initial": 0.2, "mid": 0.6, "late": 0.35}
    return reduce(lambda y, s: y * (1 - sensitivity[s] * (1 - supply[s] / demand[s])), sensitivity, 8.0)


# geodesy: Vincenty's inverse formula, iterated to convergence, and a network of distances
@prog("geodesy", lambda: (np.array([[0.83, 0.15], [0.9, 0.21], [0.86, 0.3]]), 6378.137), (0, 1))
def length_of_traverse(stations, a, f=1 / 298.257223563):
    def distance(p, q):
        b = a * (1 - f)
        (lat1, lon1), (lat2, lon2) = p, q
        U1, U2 = np.arctan((1 - f) * np.tan(lat1)), np.arctan((1 - f) * np.tan(lat2))
        L = lam = lon2 - lon1
        while True:
            sin_sigma = np.hypot(
                np.cos(U2) * np.sin(lam), np.cos(U1) * np.sin(U2) - np.sin(U1) * np.cos(U2) * np.cos(lam)
            )
            cos_sigma = np.sin(U1) * np.sin(U2) + np.cos(U1) * np.cos(U2) * np.cos(lam)
            sigma = np.arctan2(sin_sigma, cos_sigma)
            sin_alpha = np.cos(U1) * np.cos(U2) * np.sin(lam) / sin_sigma
            cos2 = 1 - sin_alpha**2
            mid = cos_sigma - 2 * np.sin(U1) * np.sin(U2) / cos2
            C = f / 16 * cos2 * (4 + f * (4 - 3 * cos2))
            before = lam
            lam = L + (1 - C) * f * sin_alpha * (sigma + C * sin_sigma * (mid + C * cos_sigma * (2 * mid**2 - 1)))
            if abs(lam - before) < 1e-13:
                break
        u2 = cos2 * (a**2 - b**2) / b**2
        A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
        B = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
        ds = B * sin_sigma * (mid + B / 4 * (cos_sigma * (2 * mid**2 - 1)))
        return b * A * (sigma - ds)

    legs = [distance(p, q) for p, q in zip(stations, stations[1:])]
    return sum(legs) / 100 + distance(stations[0], stations[-1]) / max(legs)


# linguistics: bigram language model with Kneser-Ney-like discounting, perplexity of a sentence
@prog("language models", lambda: (0.6, 0.4), (0, 1))
def perplexity(discount, mixing):
    corpus = "the cat sat on the mat the dog sat on the cat a dog ran".split()
    unigrams, bigrams = Counter(corpus), Counter(zip(corpus, corpus[1:]))
    followers = defaultdict(set)
    for left, right in bigrams:
        followers[left].add(right)
    contexts = Counter(right for _, right in bigrams)

    def probability(word, history):
        base = (contexts[word] + mixing) / (len(bigrams) + mixing * len(unigrams))
        seen = unigrams[history]
        if not seen:
            return base
        kept = max(bigrams[history, word] - discount, 0.0) / seen
        return kept + discount * len(followers[history]) / seen * base

    sentence = "the dog sat on a mat".split()
    logs = [np.log(probability(word, history)) for history, word in zip(sentence, sentence[1:])]
    return np.exp(-sum(logs) / len(logs))


# chemistry: mechanism as a table of texts, mass action, Rosenbrock steps with a Jacobian by hand
@prog("chemical kinetics", lambda: ({"k1": 0.04, "k2": 0.9, "k3": 1.4}, np.array([1.0, 0.2, 0.0])), (0, 1))
def conversion(rates, start):
    species = ["A", "B", "C"]
    mechanism = ["A -> B : k1", "B + B -> C + B : k2", "B + C -> A + C : k3"]
    reactions = []
    for line in mechanism:
        equation, name = line.split(" : ")
        left, right = ([species.index(s) for s in side.split(" + ")] for side in equation.split(" -> "))
        reactions.append((left, right, rates[name]))

    def rhs(c):
        out = np.zeros(3)
        for left, right, k in reactions:
            rate = k * np.prod([c[i] for i in left])
            for i in left:
                out[i] -= rate
            for i in right:
                out[i] += rate
        return out

    def jacobian(c):
        J = np.zeros((3, 3))
        for left, right, k in reactions:
            for position, j in enumerate(left):
                d = k * np.prod([c[i] for p, i in enumerate(left) if p != position])
                for i in left:
                    J[i, j] -= d
                for i in right:
                    J[i, j] += d
        return J

    c, h, gamma = start, 0.5, 1 - np.sqrt(0.5)
    for _ in range(6):
        lu = linalg.lu_factor(np.eye(3) - h * gamma * jacobian(c))
        k1 = linalg.lu_solve(lu, rhs(c))
        k2 = linalg.lu_solve(lu, rhs(c + h * k1) - 2 * k1)
        c = c + 1.5 * h * k1 + 0.5 * h * k2
    return c[2] / c.sum() + 0.1 * c[0]


# actuarial science: Makeham's law, premiums by equivalence, reserves by Thiele backwards
@prog("life insurance", lambda: (0.00022, 2.7e-6, 1.124, 0.03), (0, 1, 2, 3))
def reserve_at_ten(A, B, c, interest):
    v = 1 / (1 + interest)

    def survival(x, t):
        return np.exp(-A * t - B / np.log(c) * c**x * (c**t - 1))

    tp = partial(survival, 40)
    years = range(25)
    deaths = [tp(t) - tp(t + 1) for t in years]
    benefit = sum(v ** (t + 1) * q for t, q in zip(years, deaths))
    annuity = sum(v**t * tp(t) for t in years)
    premium = 100_000 * benefit / annuity
    reserve, reserves = 0.0, {}
    for t in reversed(years):
        q = 1 - survival(40 + t, 1)
        reserve = v * (q * 100_000 + (1 - q) * reserve) - premium
        reserves[t] = reserve
    break_even = optimize.brentq(lambda i: sum((1 + i) ** -t for t in years) - annuity, 0.0, 0.2)
    return reserves[10] / 1000 + premium / 100 + break_even


# image reconstruction: Richardson-Lucy with a Moffat blur made by broadcasting, entropy of the result
@prog("deconvolution", lambda: (1.4, 2.2, rng(4).random((8, 8)) + 0.2), (0, 1, 2))
def deblurred_entropy(alpha, beta, image):
    y, x = np.ogrid[-2:3, -2:3]
    psf = (1 + (x**2 + y**2) / alpha**2) ** -beta
    psf /= psf.sum()

    def blur(a):
        padded = np.pad(a, 2, mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5))
        return np.einsum("ijkl,kl->ij", windows, psf)

    estimate = np.full_like(image, image.mean())
    for _ in range(4):
        ratio = image / np.maximum(blur(estimate), 1e-9)
        estimate *= blur(ratio)
    p = estimate / estimate.sum()
    return special.entr(p).sum() + 0.1 * np.abs(np.gradient(estimate)[0]).max()
