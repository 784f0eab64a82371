"""Programs of ten more fields, drawn at random, as their people write them."""

import math

import numpy as np

from tests.programs.rows import Rows, vector, wave

FIELDS = Rows()


# ------------------------------------------------------------------------------------------------- Langmuir probes


def probe_current(V, i_sat, slope, Te, Vp, i_esat):
    """Current to a probe in a plasma: ions below the floating potential, electrons until they saturate."""
    ions = -i_sat * (1.0 - slope * (V - Vp))
    retarded = i_esat * np.exp((V - Vp) / Te)
    saturated = i_esat * (1.0 + 0.02 * (V - Vp))
    return ions + np.where(V < Vp, retarded, saturated)


@FIELDS.add(
    lambda: (
        np.array([0.02, 0.01, 2.5, 12.3, 1.4]), np.linspace(-20.0, 25.0, 46),
        0.05 * wave(46) + probe_current(np.linspace(-20.0, 25.0, 46), 0.03, 0.012, 3.0, 11.0, 1.2),
    ),
    (0,),
)  # fmt: skip
def langmuir_misfit(p, V, measured):
    i_sat, slope, Te, Vp, i_esat = p
    model = probe_current(V, i_sat, slope, Te, Vp, i_esat)
    weights = 1.0 / (0.01 + 0.05 * np.abs(measured))
    chi = (model - measured) * weights
    chi2 = np.sum(chi**2) / (len(V) - len(p))
    # keep the temperature near what spectroscopy says
    return chi2 + ((Te - 2.8) / 0.5) ** 2


# ---------------------------------------------------------------------------------------------------- walking robots


@FIELDS.add(
    lambda: (vector(0.25, 0.3, 0.28, 0.26), vector(0.1, -0.1, 0.1, -0.1), 0.4, 0.85), (0, 1, 2, 3), compiled=True
)
def walking_cost(step_length, step_width, step_time, height):
    """Footsteps of a linear inverted pendulum: how far the capture point ends from the next foothold."""
    omega = np.sqrt(9.81 / height)
    x = np.array([0.0, 0.0])
    v = np.array([0.35, 0.05])
    foot = np.zeros(2)
    cost = 0.0
    for k in range(len(step_length)):
        c, s = np.cosh(omega * step_time), np.sinh(omega * step_time)
        d = x - foot
        x, v = foot + d * c + v / omega * s, d * omega * s + v * c
        capture = x + v / omega
        foot = foot + np.array([step_length[k], step_width[k]])
        slip = capture - foot
        cost += slip @ slip + 0.01 * step_length[k] ** 2
        if np.hypot(slip[0], slip[1]) > 0.6:
            cost += 10.0 * (np.linalg.norm(slip) - 0.6) ** 2
    return cost / step_time


# --------------------------------------------------------------------------------------------- speech: hidden Markov


@FIELDS.add(
    lambda: (
        0.5 * wave(3, 3), wave(3, 2), 0.3 * wave(3, 2), np.stack((np.sin(np.arange(14.0)), np.cos(np.arange(14.0))), 1),
    ),
    (0, 1, 2),
)  # fmt: skip
def log_likelihood_of_frames(logits, means, log_std, frames):
    n_states = logits.shape[0]
    log_A = logits - np.log(np.sum(np.exp(logits), axis=1))[:, None]
    alpha = np.full(n_states, -math.log(n_states))
    for t, frame in enumerate(frames):
        z = (frame - means) / np.exp(log_std)
        emission = -0.5 * np.sum(z * z, axis=1) - np.sum(log_std, axis=1) - math.log(2 * math.pi)
        if t == 0:
            alpha = alpha + emission
            continue
        scores = alpha[:, None] + log_A
        peak = np.max(scores, axis=0)
        alpha = peak + np.log(np.sum(np.exp(scores - peak), axis=0)) + emission
    peak = alpha.max()
    return (peak + np.log(np.exp(alpha - peak).sum())) / len(frames)


# -------------------------------------------------------------------------------------------------- turbine blades

ALPHA = np.radians(np.array([-10.0, -4.0, 0.0, 4.0, 8.0, 12.0, 16.0, 20.0]))
LIFT = np.array([-0.8, -0.2, 0.25, 0.7, 1.1, 1.35, 1.3, 1.1])
DRAG = np.array([0.04, 0.012, 0.009, 0.01, 0.014, 0.03, 0.09, 0.18])


@FIELDS.add(lambda: (np.radians(vector(18.0, 11.0, 6.0, 3.0)), vector(1.9, 1.5, 1.1, 0.8), 7.0, 9.0), (0, 1, 2))
def rotor_power(twist, chord, tip_speed_ratio, wind):
    """Blade elements and momentum, with Prandtl's loss at the tip."""
    blades, radius, density = 3, 20.0, 1.225
    r = np.linspace(0.25, 0.95, len(twist)) * radius
    omega = tip_speed_ratio * wind / radius
    torque = 0.0
    for i in range(len(r)):
        a, a_prime = 0.3, 0.0
        solidity = blades * chord[i] / (2.0 * np.pi * r[i])
        for _ in range(25):
            phi = np.arctan2((1.0 - a) * wind, (1.0 + a_prime) * omega * r[i])
            angle = phi - twist[i]
            cl, cd = np.interp(angle, ALPHA, LIFT), np.interp(angle, ALPHA, DRAG)
            cn = cl * np.cos(phi) + cd * np.sin(phi)
            ct = cl * np.sin(phi) - cd * np.cos(phi)
            f = blades / 2.0 * (radius - r[i]) / (r[i] * np.sin(phi))
            loss = 2.0 / np.pi * np.arccos(np.exp(-f))
            k = solidity * cn / (4.0 * loss * np.sin(phi) ** 2)
            a_new = k / (1.0 + k)
            if a_new > 0.4:
                a_new = 0.4 + 0.3 * np.tanh(a_new - 0.4)
            kp = solidity * ct / (4.0 * loss * np.sin(phi) * np.cos(phi))
            a = 0.5 * a + 0.5 * a_new
            a_prime = 0.5 * a_prime + 0.5 * kp / (1.0 - kp)
        w2 = ((1.0 - a) * wind) ** 2 + ((1.0 + a_prime) * omega * r[i]) ** 2
        torque += blades * 0.5 * density * w2 * chord[i] * ct * r[i] * (r[1] - r[0])
    return torque * omega * 1e-5


# --------------------------------------------------------------------------------------------- rainfall and runoff


def _days():
    t = np.arange(40.0)
    rain = np.maximum(0.0, 8.0 * np.sin(0.7 * t) + 4.0 * np.cos(1.9 * t))
    return rain, 2.0 + np.sin(0.3 * t), 1.0 + 0.5 * np.sin(0.7 * t - 1.0)


@FIELDS.add(lambda: (np.array([120.0, 1.4, 0.12, 0.03, 2.6]), *_days()), (0,))
def one_minus_nash_sutcliffe(params, rain, evaporation, observed):
    """A bucket for the soil, one for groundwater, and a triangular unit hydrograph."""
    capacity, beta, k_fast, k_slow, lag = params
    soil, ground = 0.5 * capacity, 10.0
    quick = np.zeros(len(rain))
    slow = np.zeros(len(rain))
    for day, (p, e) in enumerate(zip(rain, evaporation)):
        wetness = min(soil / capacity, 1.0)
        recharge = p * wetness**beta
        soil += p - recharge
        actual = e * min(1.0, soil / (0.7 * capacity))
        soil = max(soil - actual, 1e-3)
        if soil > capacity:
            recharge += soil - capacity
            soil = capacity
        quick[day] = k_fast * recharge
        ground += recharge - quick[day]
        slow[day] = k_slow * ground
        ground -= slow[day]
    width = 6
    weights = np.maximum(1e-6, 1.0 - np.abs(np.arange(width) - lag) / lag)
    weights /= weights.sum()
    flow = np.convolve(quick, weights)[: len(quick)] + slow
    warm_up = 5
    error = np.sum((flow[warm_up:] - observed[warm_up:]) ** 2)
    return error / np.sum((observed[warm_up:] - np.mean(observed[warm_up:])) ** 2)


# ------------------------------------------------------------------------------------------------ mass spectrometry


@FIELDS.add(
    lambda: (0.9, 0.012, vector(1.0, 0.6), np.array([5, 8]), np.array([1.0, 0.45, 0.2, 0.05]) + 0.01 * wave(4)),
    (0, 1, 2),
)
def one_minus_cosine(charge_scale, heavy, amounts, carbons, spectrum):
    """Isotope patterns of a mixture against a spectrum: binomials of the heavy isotope, and the spectral angle."""
    n_peaks = spectrum.shape[0]
    pattern = np.zeros(n_peaks)
    for amount, n in zip(amounts, carbons):
        for k in range(n_peaks):
            ways = math.exp(math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0))
            pattern[k] += amount * ways * heavy**k * (1.0 - heavy) ** (n - k)
    blurred = pattern.copy()
    blurred[1:] += 0.05 * charge_scale * pattern[:-1]
    blurred[:-1] += 0.05 * charge_scale * pattern[1:]
    blurred = np.sqrt(blurred)
    target = np.sqrt(np.clip(spectrum, 0.0, None))
    return 1.0 - blurred @ target / (np.linalg.norm(blurred) * np.linalg.norm(target))


# ----------------------------------------------------------------------------------------------- bundle adjustment


def rodrigues(w):
    theta = np.sqrt(np.dot(w, w))
    k = w / theta
    K = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
    return np.eye(3) + np.sin(theta) * K + (1.0 - np.cos(theta)) * (K @ K)


@FIELDS.add(
    lambda: (
        np.hstack((0.2 * wave(2, 3), wave(2, 3), np.array([[500.0, -0.1, 0.01], [520.0, 0.05, 0.0]]))),
        wave(6, 3) + np.array([0.0, 0.0, 6.0]), np.array([0, 0, 0, 1, 1, 1, 0, 1]), np.array([0, 1, 2, 3, 4, 5, 5, 0]),
        40.0 * wave(8, 2),
    ),
    (0, 1),
)  # fmt: skip
def reprojection_loss(cameras, points, camera_index, point_index, observations):
    delta = 30.0
    loss = 0.0
    for obs in range(len(observations)):
        cam = cameras[camera_index[obs]]
        p = rodrigues(cam[:3]) @ points[point_index[obs]] + cam[3:6]
        u = -p[:2] / p[2]
        r2 = np.sum(u**2)
        f, k1, k2 = cam[6:9]
        projected = f * (1.0 + k1 * r2 + k2 * r2**2) * u
        e = np.linalg.norm(projected - observations[obs])
        loss += 0.5 * e**2 if e < delta else delta * (e - 0.5 * delta)
    return loss / len(observations)


# ---------------------------------------------------------------------------------------------------- train dynamics


@FIELDS.add(
    lambda: (np.array([0.9, 0.8, 0.2, 0.1, -0.5]), np.array([2.0, 0.03, 0.0006]), np.array([0.0, 300.0, 700.0, 1200.0]),
             np.array([0.0, 8.0, -5.0, 3.0]), 420.0),
    (0, 1, 4),
)  # fmt: skip
def traction_energy(notches, davis, gradient_at, gradients, mass):
    """Energy of a run under Davis' resistance over a profile of gradients (per mille); what braking returns is less."""
    dt, t_per_notch = 2.0, 10
    position = speed = energy = 0.0
    a, b, c = davis
    for notch in notches:
        for _ in range(t_per_notch):
            section = np.searchsorted(gradient_at, position, side="right") - 1
            resistance = a + b * speed + c * speed**2 + mass * 9.81e-3 * gradients[section]
            force = min(300.0 * notch, 8000.0 * notch / max(speed, 1.0)) if notch > 0 else 200.0 * notch
            speed = max(0.0, speed + (force - resistance) / (1.06 * mass) * dt)
            position += speed * dt
            work = force * speed * dt
            energy += work / 0.85 if work > 0 else 0.6 * work
    return energy / 3600.0 + 0.01 * abs(position - 1500.0)


# --------------------------------------------------------------------------------------------------- NMR relaxation


@FIELDS.add(lambda: (vector(1.0, 0.5), vector(12.0, -7.5), vector(0.15, 0.3), 0.2), (0, 1, 2, 3))
def free_induction_misfit(amplitudes, offsets, t2, phase):
    dwell = 0.004
    t = dwell * np.arange(32)
    fid = np.zeros(32, dtype=np.complex128)
    for a, f, tau in zip(amplitudes, offsets, t2):
        fid += a * np.exp(2j * np.pi * f * t - t / tau)
    fid *= np.exp(1j * phase)
    reference = np.exp(-t / 0.2) * np.exp(2j * np.pi * 12.3 * t)
    difference = fid - reference
    return np.sum(np.abs(difference) ** 2) + 0.1 * np.sum(fid.imag[:4] ** 2)


# -------------------------------------------------------------------------------------------------------- epidemics


@FIELDS.add(
    lambda: (
        np.array([0.25, 0.2, 0.15]), np.array([[8.0, 3.0, 1.0], [3.0, 6.0, 2.0], [1.0, 2.0, 3.0]]),
        np.array([2000.0, 5000.0, 1500.0]), np.array([3, 5, 9, 14, 22, 35, 50, 66]), 0.05, 4.0,
    ),
    (0, 1, 4, 5),
)  # fmt: skip
def negative_log_likelihood(rates, contacts, population, cases, susceptibility, dispersion):
    """SEIR in three ages by Runge and Kutta; weekly cases are negative binomial."""
    sigma, gamma, report = rates

    def derivative(y):
        S, E, I = y[0], y[1], y[2]
        infection = susceptibility * S * (contacts @ (I / population))
        return np.stack((-infection, infection - sigma * E, sigma * E - gamma * I, sigma * E))

    y = np.zeros((4, 3))
    y[2] = np.array([1.0, 3.0, 1.0])
    y[0] = population - y[2]
    nll = 0.0
    for observed in cases:
        before = y[3].sum()
        for _ in range(7):
            k1 = derivative(y)
            k2 = derivative(y + 0.5 * k1)
            k3 = derivative(y + 0.5 * k2)
            k4 = derivative(y + k3)
            y = y + (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0
        mu = report * (y[3].sum() - before) + 1e-6
        nll -= (
            math.lgamma(observed + dispersion) - math.lgamma(dispersion) - math.lgamma(observed + 1.0)
            + dispersion * math.log(dispersion / (dispersion + mu)) + observed * math.log(mu / (dispersion + mu))
        )  # fmt: skip
    return nll
