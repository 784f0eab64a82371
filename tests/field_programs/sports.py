"""Ratings of players, and sailing."""

import itertools
import math
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
from scipy import optimize, special
from scipy.interpolate import RectBivariateSpline
from scipy.stats import norm

from tests.field_programs import program, rng


# ---------------------------------------------------------------- elo_brier
@program("sport: Elo ratings with history dict", lambda: (np.array([20.0, 400.0, 30.0]),))
def elo_brier(p):
    K, scale, home = p
    games = [("a", "b", 1), ("b", "c", 0), ("c", "a", 1), ("a", "c", 1), ("b", "a", 0), ("c", "b", 1)]
    rating = {t: 1500.0 for t in "abc"}
    loss = 0.0
    for h, a, res in games:
        pr = 1 / (1 + 10 ** (-(rating[h] + home - rating[a]) / scale))
        loss += (pr - res) ** 2
        delta = K * (res - pr)
        rating[h] += delta
        rating[a] -= delta
    return loss + 1e-4 * max(rating.values())


# ---------------------------------------------------------------- glicko
@program(
    "sports analytics: Glicko ratings over a season of games given as tuples",
    lambda: (
        {"ann": 1500.0, "bob": 1600.0, "cy": 1450.0},
        [("ann", "bob", 1.0), ("cy", "ann", 0.5), ("bob", "cy", 1.0), ("ann", "cy", 1.0)],
    ),
)
def glicko(ratings, games):
    q = math.log(10) / 400
    rd = {name: 200.0 for name in ratings}
    ratings = dict(ratings)
    loglik = 0.0
    for home, away, score in games:
        g = lambda d: 1 / math.sqrt(1 + 3 * q**2 * d**2 / math.pi**2)
        E = 1 / (1 + 10 ** (-g(rd[away]) * (ratings[home] - ratings[away]) / 400))
        loglik += score * math.log(E) + (1 - score) * math.log(1 - E)
        d2 = 1 / (q**2 * g(rd[away]) ** 2 * E * (1 - E))
        denom = 1 / rd[home] ** 2 + 1 / d2
        delta = q / denom * g(rd[away]) * (score - E)
        ratings[home], ratings[away] = ratings[home] + delta, ratings[away] - delta
        rd[home] = min(math.sqrt(1 / denom), 350.0)
    ranking = sorted(ratings.items(), key=lambda kv: kv[1], reverse=True)
    return loglik + (ranking[0][1] - ranking[-1][1]) / 1000


# ---------------------------------------------------------------- ratings
@program(
    "Elo / Bradley Terry with defaultdict and Counter", lambda: (dict(ana=0.3, bea=-0.1, cyd=0.2), 0.4), wrt=(0, 1)
)
def ratings(start, k):
    games = [("ana", "bea", 1), ("bea", "cyd", 0), ("cyd", "ana", 1), ("ana", "bea", 0), ("bea", "cyd", 1)]
    elo = defaultdict(float, start)
    played = Counter()
    ll = 0.0
    for home, away, won in games:
        p = special.expit(elo[home] - elo[away] + 0.05)
        ll += special.xlogy(won, p) + special.xlog1py(1 - won, -p)
        eff = k / (1 + 0.1 * played[home])
        elo[home] += eff * (won - p)
        elo[away] -= eff * (won - p)
        played.update([home, away])
    top = sorted(elo.items(), key=lambda kv: kv[1], reverse=True)
    return ll + 0.1 * top[0][1] - 0.2 * elo["cyd"] + max(elo.values())


# ---------------------------------------------------------------- elo_with_home_advantage
GAMES = [("ajax", "bayern", 1), ("bayern", "celtic", 0.5), ("celtic", "ajax", 0), ("ajax", "celtic", 1)]


@program(
    "Elo ratings with dictionary updates, home advantage, streak bonus by groups",
    lambda: ({"ajax": 1500.0, "bayern": 1600.0, "celtic": 1450.0}, 20.0, 60.0),
    wrt=(0, 1, 2),
)
def elo_with_home_advantage(ratings, K, home):
    ratings = dict(ratings)
    history = defaultdict(list)
    loss = 0.0
    for at_home, away, result in GAMES:
        expected = 1 / (1 + 10 ** ((ratings[away] - ratings[at_home] - home) / 400))
        loss -= result * math.log(expected) + (1 - result) * math.log(1 - expected)
        change = K * (result - expected)
        for team, sign in ((at_home, 1), (away, -1)):
            ratings[team] += sign * change
            history[team].append(sign * change)
    best = max(ratings, key=ratings.get)
    return loss + 0.01 * ratings[best] + sum(len(h) * max(h) for h in history.values()) * 0.01


# ---------------------------------------------------------------- season_log_posterior
class BradleyTerry:
    def __init__(self, n_teams, prior_sd=1.0):
        self.n_teams = n_teams
        self.prior_sd = prior_sd

    def win_prob(self, strength, home, away, home_adv):
        return 1.0 / (1.0 + 10 ** (-(strength[home] - strength[away] + home_adv) / 0.4))

    def __call__(self, strength, home_adv, games):
        lp = norm.logpdf(strength, 0.0, self.prior_sd).sum()
        for home, away, hg, ag in games:
            p = self.win_prob(strength, home, away, home_adv)
            margin = np.log1p(abs(hg - ag))
            lp += margin * (np.log(p) if hg > ag else np.log(1 - p))
        return lp


@program(
    "sports analytics: Bradley-Terry, log posterior of a season",
    lambda: (
        np.array([0.2, -0.1, 0.05, -0.3]),
        0.08,
        0.7,
        [(0, 1, 3, 1), (2, 3, 2, 0), (1, 2, 0, 1), (3, 0, 1, 4), (0, 2, 2, 1), (1, 3, 3, 2)],
    ),
    wrt=(0, 1, 2),
)
def season_log_posterior(strength, home_adv, prior_sd, games):
    model = BradleyTerry(len(strength), prior_sd=prior_sd)
    return model(strength, home_adv, games)


# ---------------------------------------------------------------- season_log_loss
@dataclass
class Club:
    rating: float = 0.0
    played: int = 0
    form: deque = field(default_factory=lambda: deque(maxlen=3))


@program(
    "sports rating: Elo with home advantage and margin of victory, over a season of results",
    lambda: (0.3, 0.25, np.array([0.4, 0.1, -0.2, -0.3])),
    wrt=(0, 1, 2),
)
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


# ---------------------------------------------------------------- elo
@program("sports/ratings: Elo with defaultdict and tuples list", lambda: (np.array([32.0, 400.0]),))
def elo(par):
    k, s = par
    rating = defaultdict(lambda: 1500.0)
    games = [("ann", "bob", 1.0), ("bob", "cat", 0.5), ("cat", "ann", 0.0), ("ann", "bob", 0.0)]
    loss = 0.0
    for a, b, r in games:
        e = 1 / (1 + 10 ** ((rating[b] - rating[a]) / s))
        loss -= r * np.log(e) + (1 - r) * np.log(1 - e)
        rating[a] += k * (r - e)
        rating[b] -= k * (r - e)
    top = max(rating, key=rating.get)
    return loss + rating[top] / 1000


# ---------------------------------------------------------------- elo_score
@program(
    "sports analytics: margins of matches under strengths with home advantage, "
    "Elo updates, and a Brier score for the end",
    lambda: (np.array([24.0, 65.0, 400.0]), 0.8),
    wrt=(0, 1),
)
def elo_score(parameters, regress):
    k, home, width = parameters
    teams = ["ajax", "boca", "celtic", "dinamo", "everton"]
    ratings = dict.fromkeys(teams, 1500.0)
    g = rng(12)
    strength = {team: value for team, value in zip(teams, g.normal(0.0, 1.0, len(teams)))}
    brier, played = [], SimpleNamespace(count=0)
    for season in range(3):
        for at_home, away in itertools.permutations(teams, 2):
            margin = strength[at_home] - strength[away] + 0.4 + g.normal()
            result = 1.0 if margin > 0.5 else 0.5 if margin > -0.2 else 0.0
            gap = ratings[at_home] + home - ratings[away]
            expected = 1.0 / (1.0 + 10.0 ** (-gap / width))
            if season:
                brier.append((expected - result) ** 2)
            times = math.log1p(abs(margin)) * 2.2 / (2.2 + 0.001 * abs(gap))
            change = k * times * (result - expected)
            ratings[at_home] += change
            ratings[away] -= change
            played.count += 1
        ratings = {team: 1500.0 + regress * (rating - 1500.0) for team, rating in ratings.items()}
    table = sorted(ratings.items(), key=lambda item: -item[1])
    return np.mean(brier) + 1e-4 * (table[0][1] - table[-1][1]) + 1e-3 * played.count


# ---------------------------------------------------------------- glicko_holdout_logloss
SCALE = 173.7178


class GlickoPlayer:
    def __init__(self, rating=1500.0, rd=350.0, vol=0.06):
        self.mu, self.phi, self.vol = (rating - 1500.0) / SCALE, rd / SCALE, vol

    @property
    def g(self):
        return 1.0 / math.sqrt(1.0 + 3.0 * self.phi**2 / math.pi**2)

    def expect(self, other):
        return 1.0 / (1.0 + math.exp(-other.g * (self.mu - other.mu)))

    def _new_volatility(self, delta, v, tau, eps=1e-13):
        a = math.log(self.vol**2)

        def f(x):
            ex = math.exp(x)
            d = self.phi**2 + v + ex
            return ex * (delta**2 - d) / (2.0 * d**2) - (x - a) / tau**2

        A, k = a, 1
        if delta**2 > self.phi**2 + v:
            B = math.log(delta**2 - self.phi**2 - v)
        else:
            while f(a - k * tau) < 0:
                k += 1
            B = a - k * tau
        fA, fB = f(A), f(B)
        while abs(B - A) > eps and fB != 0.0:
            C = A + (A - B) * fA / (fB - fA)
            fC = f(C)
            if fC * fB <= 0:
                A, fA = B, fB
            else:
                fA /= 2.0
            B, fB = C, fC
        return math.exp(B / 2.0)

    def updated(self, results, tau):
        v = 1.0 / sum(o.g**2 * (e := self.expect(o)) * (1.0 - e) for o, _ in results)
        gain = sum(o.g * (s - self.expect(o)) for o, s in results)
        vol = self._new_volatility(v * gain, v, tau)
        phi = 1.0 / math.sqrt(1.0 / (self.phi**2 + vol**2) + 1.0 / v)
        return self.mu + phi**2 * gain, phi, vol


SEASON = ["ARS 1 BHA, ARS 0 CHE, DUN 0.5 CHE", "BHA 1 CHE, ARS 0 DUN", "CHE 0 ARS, BHA 0.5 DUN, ARS 1 DUN, BHA 1 CHE"]


@program(
    "sports rankings: Glicko-2 over a season of rating periods, the log loss on the matches of the last round",
    lambda: (np.array([1500.0, 1420.0, 1710.0, 1610.0]), np.array([60.0, 45.0, 40.0, 50.0]), 0.8),
    wrt=(0, 1, 2),
    refused="a store into an item of a dictionary without a name",
)
def glicko_holdout_logloss(ratings, deviations, tau, vol=0.25):
    table = {n: GlickoPlayer(r, rd, vol) for n, r, rd in zip(("ARS", "BHA", "CHE", "DUN"), ratings, deviations)}
    for period in SEASON:
        games = defaultdict(list)
        for home, score, away in map(str.split, period.split(",")):
            games[home].append((table[away], float(score)))
            games[away].append((table[home], 1.0 - float(score)))
        # everybody's update uses the ratings before the period
        fresh = {name: p.updated(games[name], tau) for name, p in table.items()}
        for name, state in fresh.items():
            vars(table[name]).update(zip(("mu", "phi", "vol"), state))
    loss = 0.0
    for a, b, won in [("ARS", "CHE", 0), ("BHA", "DUN", 1), ("CHE", "DUN", 1)]:
        one, two = table[a], table[b]
        both = 1.0 / math.sqrt(1.0 + 3.0 * (one.phi**2 + two.phi**2) / math.pi**2)
        prob = 1.0 / (1.0 + math.exp(-both * (one.mu - two.mu)))
        loss -= math.log(prob if won else 1.0 - prob)
    return loss


# ---------------------------------------------------------------- glicko_two_log_loss
class ClubPlayer:
    def __init__(self, rating, rd, vol=0.06):
        self.mu, self.phi, self.vol = (rating - 1500) / 173.7178, rd / 173.7178, vol

    @staticmethod
    def g(phi):
        return 1 / math.sqrt(1 + 3 * phi**2 / math.pi**2)

    def expect(self, other):
        return 1 / (1 + math.exp(-self.g(other.phi) * (self.mu - other.mu)))

    def updated(self, results, tau):
        if not results:
            return self.mu, math.hypot(self.phi, self.vol), self.vol
        v = 1 / sum(self.g(o.phi) ** 2 * self.expect(o) * (1 - self.expect(o)) for o, _ in results)
        total = sum(self.g(o.phi) * (s - self.expect(o)) for o, s in results)
        spare = (v * total) ** 2 - self.phi**2 - v
        a = A = math.log(self.vol**2)

        def f(x):
            ex = math.exp(x)
            return ex * (spare - ex) / (2 * (self.phi**2 + v + ex) ** 2) - (x - a) / tau**2

        B = math.log(spare) if spare > 0 else next(a - k * tau for k in itertools.count(1) if f(a - k * tau) >= 0)
        fa, fb = f(A), f(B)
        while abs(B - A) > 1e-13 and fb != 0:  # Illinois
            C = A + (A - B) * fa / (fb - fa)
            fc = f(C)
            if fc * fb <= 0:
                A, fa = B, fb
            else:
                fa /= 2
            B, fb = C, fc
        vol = math.exp(B / 2)
        phi = 1 / math.sqrt(1 / (self.phi**2 + vol**2) + 1 / v)
        return self.mu + phi**2 * total, phi, vol


@program(
    "chess ratings: Glicko-2 over three rating periods of a club, results packed "
    "in bits, the loss on the rapid games after",
    lambda: (
        np.array([1812.0, 1530.0, 1655.0, 1490.0, 1720.0, 1601.0]),
        np.array([60.0, 210.0, 95.0, 300.0, 75.0, 130.0]),
        0.5,
    ),
    wrt=(0, 1, 2),
)
def glicko_two_log_loss(ratings, deviations, tau):
    players = [ClubPlayer(r, rd) for r, rd in zip(ratings, deviations, strict=True)]
    n = len(players)
    packed = [0x2A16_1862, 0x0919_2264, 0x2580_6A18]  # two bits a game: 0 loss, 1 draw, 2 win of the first
    for period, bits in enumerate(packed):
        results = {i: [] for i in range(n)}
        order = list(range(n))
        for _ in range(n - 1):
            for a, b in zip(order[: n // 2], reversed(order[n // 2 :]), strict=True):
                code, bits = bits & 0b11, bits >> 2
                if code == 3 or (a ^ b) & 7 == period:
                    continue  # not played
                results[a].append((players[b], code / 2))
                results[b].append((players[a], 1 - code / 2))
            order[1:] = order[-1:] + order[1:-1]
        fresh = [p.updated(results[i], tau) for i, p in enumerate(players)]
        for p, state in zip(players, fresh, strict=True):
            p.mu, p.phi, p.vol = state
    rapid = [(0, 1, 1.0), (2, 3, 0.5), (4, 5, 1.0), (1, 4, 0.0), (3, 0, 0.0), (5, 2, 0.5), (3, 1, 1.0)]
    loss = 0.0
    for i, j, s in rapid:
        both = math.hypot(players[i].phi, players[j].phi)
        p = 1 / (1 + math.exp(-ClubPlayer.g(both) * (players[i].mu - players[j].mu)))
        loss -= s * math.log(p) + (1 - s) * math.log1p(-p)
    table = np.zeros(3)
    np.add.at(table, [0, 1, 1, 2, 0, 2], [p.phi for p in players])  # by team
    volatility = sum(p.vol for p in players) / n
    return loss / len(rapid) + 0.05 * float(table.max()) + 10 * volatility


# ---------------------------------------------------------------- vpp
Sail = namedtuple("Sail", "area cl cd ce")


@program(
    "yacht design: speed of a sailing boat for a true wind, by balance of drive "
    "and resistance, heel and righting moment",
    lambda: (np.array([30.0, 22.0]), np.array([7.5, 2.2, 1.9, 3200.0]), 12.0),
    wrt=(0, 1, 2),
)
def vpp(areas, hull, tws):
    lwl, beam, draft, mass = hull
    knots = 0.5144
    sails = [Sail(areas[0], 1.4, 0.10, 5.2), Sail(areas[1], 1.5, 0.06, 4.0)]

    def apparent(v, angle):
        wx = tws * knots * math.cos(angle) + v
        wy = tws * knots * math.sin(angle)
        return math.hypot(wx, wy), math.atan2(wy, wx)

    def forces(v, heel, angle):
        aws, awa = apparent(v, angle)
        awa = math.atan(math.tan(awa) * math.cos(heel)) if awa < math.pi / 2 else awa
        q = 0.5 * 1.225 * aws**2
        total = sum(s.area for s in sails)
        cl = sum(s.area * s.cl * math.sin(2 * min(awa, math.pi / 4)) for s in sails) / total
        cd = sum(s.area * (s.cd + 0.9 * math.sin(awa) ** 2) for s in sails) / total + cl**2 / (math.pi * 4.5)
        lift, drag = q * total * cl, q * total * cd
        drive = lift * math.sin(awa) - drag * math.cos(awa)
        side = lift * math.cos(awa) + drag * math.sin(awa)
        arm = sum(s.area * s.ce for s in sails) / total + 0.4 * draft
        return drive, side, side * arm * math.cos(heel)

    def resistance(v, heel, side):
        fn = v / math.sqrt(9.81 * lwl)
        wetted = 1.9 * math.sqrt(mass / 1025.0 * lwl)
        friction = 0.5 * 1025.0 * v**2 * wetted * 0.075 / (math.log10(v * lwl * 0.7 / 1.19e-6) - 2.0) ** 2
        wave = mass * 9.81 * 0.035 * (fn / 0.4) ** 6 / (1.0 + math.exp(-20.0 * (fn - 0.3)))
        induced = side**2 / (math.pi * 0.5 * 1025.0 * v**2 * draft**2 * math.cos(heel))
        return friction + wave + induced

    polar = {}
    for degrees in range(45, 150, 35):
        angle = math.radians(degrees)
        v, heel = 2.0, 0.1
        for _ in range(60):
            drive, side, moment = forces(v, heel, angle)
            heel += 0.3 * (math.atan(moment / (mass * 9.81 * 0.12 * beam * 3.0)) - heel)
            v += 0.0006 * (drive - resistance(v, heel, side))
        polar[degrees] = v / knots
    return sum(w * polar[d] for d, w in zip(polar, (0.5, 0.3, 0.1, 0.1)))


# ---------------------------------------------------------------- elapsed_time_of_race
TWA_TABLE = np.array([32.0, 40.0, 52.0, 75.0, 90.0, 110.0, 135.0, 150.0, 180.0])


TWS_TABLE = np.array([6.0, 10.0, 14.0, 20.0])


def _example_polar():
    twa = np.radians(TWA_TABLE)[:, None]
    shape = (
        np.sin(0.5 * twa) ** 0.9 * (1.25 - 0.42 * (twa / np.pi) ** 3) * (1 - 0.5 * np.exp(-(((twa - 0.3) / 0.3) ** 2)))
    )
    return 8.6 * shape * np.tanh(TWS_TABLE / 9.5)


def best_vmg_angle(polar, tws, bracket, sign):
    """The angle, in degrees, at which the speed made good to windward (sign 1) or to leeward (-1) is stationary."""

    def slope(twa):
        a = math.radians(twa)
        speed, gradient = polar.ev(twa, tws), polar.ev(twa, tws, dx=1)
        return sign * (gradient * math.cos(a) - speed * math.sin(a) * math.pi / 180)

    return optimize.brentq(slope, *bracket, xtol=1e-13, rtol=1e-14)


def hours_of_leg(polar, bearing, distance, twd, tws, current):
    heading = np.array([math.sin(bearing), math.cos(bearing)])
    wind_from = np.array([math.sin(twd), math.cos(twd)])
    over_water = -tws * wind_from - current
    speed_of_wind = np.linalg.norm(over_water)
    upwind_dir = -over_water / speed_of_wind
    up = best_vmg_angle(polar, speed_of_wind, (33.0, 75.0), 1)
    down = best_vmg_angle(polar, speed_of_wind, (115.0, 179.0), -1)

    hours = distance / 6.0
    for _ in range(200):
        through_water = distance * heading - hours * current
        run = np.linalg.norm(through_water)
        twa = math.degrees(math.acos(np.clip(through_water @ upwind_dir / run, -1, 1)))
        match twa:
            case a if a < up:
                made_good = polar.ev(up, speed_of_wind) * math.cos(math.radians(up))
                new = run * math.cos(math.radians(a)) / made_good
            case a if a > down:
                made_good = polar.ev(down, speed_of_wind) * math.cos(math.radians(down))
                new = run * math.cos(math.radians(a)) / made_good
            case a:
                new = run / polar.ev(a, speed_of_wind)
        if abs(new - hours) < 1e-14:
            break
        hours = float(new)
    return hours


@program(
    "sailing polar diagrams: the time around a course in a shifting wind and a current, by the best angles to the wind",
    lambda: (_example_polar(), 11.3, 0.35, np.array([0.6, -0.35])),
    wrt=(0, 1, 2, 3),
)
def elapsed_time_of_race(table, tws, twd, current):
    polar = RectBivariateSpline(TWA_TABLE, TWS_TABLE, table, kx=3, ky=3)
    course = [(20.0, 2.1), (115.0, 1.4), (197.0, 2.3), (285.0, 1.2)]
    elapsed = 0.0
    for bearing, miles in course:
        veer = math.radians(8.0) * elapsed
        elapsed += hours_of_leg(polar, math.radians(bearing), miles, twd + veer, tws - 0.5 * elapsed, current)
    return elapsed * 60
