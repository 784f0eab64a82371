"""Language and text."""

import functools
import itertools
import math
import re
from collections import Counter, defaultdict

import numpy as np
from scipy import special

from tests.field_programs import program, rng


# ---------------------------------------------------------------- interpolated
@program(
    "n-gram backoff, counts by Counter held fixed",
    lambda: (np.array([0.5, 0.3, 0.2]), "the cat sat on the mat the cat ran".split()),
)
def interpolated(lam, words):
    w = np.exp(lam) / np.exp(lam).sum()
    uni = Counter(words)
    bi = Counter(zip(words, words[1:]))
    V = len(uni)
    N = len(words)
    ll = 0.0
    for a, b in zip(words, words[1:]):
        p = w[0] / V + w[1] * uni[b] / N + w[2] * bi[a, b] / uni[a]
        ll += math.log(p)
    return -ll / (N - 1)


# ---------------------------------------------------------------- edit_cost
@program(
    "HMM part of speech Viterbi and forward with word dict; edit distance with learned costs",
    lambda: (np.array([1.0, 0.9, 1.3, 0.4]), "kitten", "sitting"),
)
def edit_cost(c, source, target):
    ins, dele, sub, vowel = c
    vowels = set("aeiou")

    def cost(a, b):
        if a == b:
            return 0.0
        return vowel if a in vowels and b in vowels else sub

    soft = lambda *xs: -special.logsumexp([-5 * x for x in xs]) / 5
    m, n = len(source), len(target)
    D = [[0.0] * (n + 1) for _ in range(m + 1)]
    for i in range(1, m + 1):
        D[i][0] = D[i - 1][0] + dele
    for j in range(1, n + 1):
        D[0][j] = D[0][j - 1] + ins
    for i, a in enumerate(source, 1):
        for j, b in enumerate(target, 1):
            D[i][j] = soft(D[i - 1][j] + dele, D[i][j - 1] + ins, D[i - 1][j - 1] + cost(a, b))
    return D[-1][-1]


# ---------------------------------------------------------------- tagged_sentences
@program(
    "a hidden Markov tagger with add-alpha smoothing by the forward algorithm in logarithms",
    lambda: (rng(4).normal(size=(3, 3)), rng(5).normal(size=(3, 7)), 0.5),
    wrt=(0, 1, 2),
)
def tagged_sentences(transitions, emissions, alpha):
    vocabulary = {w: i for i, w in enumerate("the dog cat saw ran big <unk>".split())}
    sentences = ["the big dog ran", "the cat saw the big bird", "dog saw"]
    A = np.exp(transitions) + alpha
    A /= A.sum(axis=1, keepdims=True)
    E = np.exp(emissions) + alpha
    E /= E.sum(axis=1, keepdims=True)
    loglik = 0.0
    for sentence in sentences:
        words = [vocabulary.get(w, vocabulary["<unk>"]) for w in sentence.split()]
        belief = np.full(3, 1.0 / 3) * E[:, words[0]]
        for w in words[1:]:
            norm = belief.sum()
            loglik += np.log(norm)
            belief = (belief / norm) @ A * E[:, w]
        loglik += np.log(belief.sum())
    return loglik / sum(len(s.split()) for s in sentences)


# ---------------------------------------------------------------- perplexity
@program(
    "bigram language model with Kneser-Ney-like discounting, perplexity of a sentence", lambda: (0.6, 0.4), wrt=(0, 1)
)
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


# ---------------------------------------------------------------- crf
@program(
    "natural language: linear-chain CRF with forward algorithm, features from strings",
    lambda: (rng(3).normal(size=(3, 4)) * 0.5, rng(4).normal(size=(3, 3)) * 0.5, ["the", "cat", "sat", "the"], "DNVD"),
    wrt=(0, 1),
)
def crf(W, T, words, tags):
    vocab = {w: i for i, w in enumerate(sorted(set(words) | {"mat"}))}
    labels = {t: i for i, t in enumerate("DNV")}
    xs = [vocab[w] for w in words]
    ys = [labels[t] for t in tags]
    score = W[ys[0], xs[0]]
    alpha = W[:, xs[0]]
    for t in range(1, len(xs)):
        score += T[ys[t - 1], ys[t]] + W[ys[t], xs[t]]
        alpha = np.logaddexp.reduce(alpha[:, None] + T, axis=0) + W[:, xs[t]]
    return special.logsumexp(alpha) - score


# ---------------------------------------------------------------- skipgram_loss
@program(
    "natural language processing: skip-gram with a fixed set of negative samples",
    lambda: (
        0.5 * np.random.default_rng(0).normal(size=(6, 3)),
        0.5 * np.random.default_rng(1).normal(size=(6, 3)),
        [0, 2, 1, 4, 3, 5, 2, 0],
    ),
    wrt=(0, 1),
)
def skipgram_loss(emb_in, emb_out, corpus, window=2, negatives=((3, 5), (0, 4), (1, 2))):
    """Skip-gram with a fixed set of negative samples."""
    pairs = [
        (c, corpus[j])
        for i, c in enumerate(corpus)
        for j in range(max(0, i - window), min(len(corpus), i + window + 1))
        if j != i
    ]
    loss = 0.0
    for n, (c, o) in enumerate(pairs):
        loss += np.log1p(np.exp(-emb_in[c] @ emb_out[o]))
        for k in negatives[n % len(negatives)]:
            loss += np.log1p(np.exp(emb_in[c] @ emb_out[k]))
    return loss / len(pairs)


# ---------------------------------------------------------------- log_likelihood
@program(
    "likelihood of tagged words under a hidden Markov model with smoothed counts, by the forward algorithm",
    lambda: (np.array([0.7, 0.1]), np.array([[0.2, 0.6, 0.2], [0.1, 0.3, 0.6], [0.5, 0.4, 0.1]])),
    wrt=(0, 1),
)
def log_likelihood(smoothing, transitions):
    text = "the dog saw the old man . the man ran . a dog ran to the old house . she saw a house ."
    lexicon = defaultdict(lambda: defaultdict(float))
    guess = {"the": "D", "a": "D", "dog": "N", "man": "N", "house": "N", "saw": "V", "ran": "V"}
    tags = ("D", "N", "V")
    for word in re.findall(r"[a-z]+", text):
        for tag in tags:
            lexicon[tag][word] += 1.0 if guess.get(word, tag) == tag else 0.0
    T = transitions / transitions.sum(axis=1, keepdims=True)
    total = 0.0
    for sentence in filter(None, map(str.split, text.split("."))):
        alpha = None
        for word in sentence:
            emit = np.array(
                [
                    (lexicon[t].get(word, 0.0) + smoothing[0])
                    / (sum(lexicon[t].values()) + smoothing[0] * len(lexicon[t]))
                    for t in tags
                ]
            )
            alpha = emit / 3 if alpha is None else (alpha @ T + smoothing[1]) * emit
            scale = alpha.sum()
            total += math.log(scale)
            alpha = alpha / scale
    return total / 10.0


# ---------------------------------------------------------------- stress_of_map
FEATURES = {"a": (1.0, 0.0), "e": (0.6, 0.5), "i": (0.0, 1.0), "o": (0.5, -0.4), "u": (0.1, -1.0)}


WORDS = ["hais", "haus", "hus", "huos", "heis"]


@program(
    "dialectology: distances of pronunciations by weighted edits of features, a map by classical scaling",
    lambda: (np.array([1.0, 0.7]), 0.9),
    wrt=(0, 1),
)
def stress_of_map(weights, gap):
    def vowel(a, b):
        if a == b:
            return 0.0
        if a in FEATURES and b in FEATURES:
            return math.sqrt(sum(w * (x - y) ** 2 for w, x, y in zip(weights, FEATURES[a], FEATURES[b])))
        return 2.0

    def edits(left, right):
        row = [k * gap for k in range(len(right) + 1)]
        for i, a in enumerate(left, start=1):
            previous, row[0] = row[0], i * gap
            for j, b in enumerate(right, start=1):
                previous, row[j] = row[j], min(row[j] + gap, row[j - 1] + gap, previous + vowel(a, b))
        return row[-1]

    n = len(WORDS)
    D = np.zeros((n, n))
    for i, j in itertools.combinations(range(n), 2):
        D[i, j] = D[j, i] = edits(WORDS[i], WORDS[j])
    J = np.eye(n) - np.ones((n, n)) / n
    B = -0.5 * J @ D**2 @ J
    values = np.linalg.eigvalsh(B)
    positive = values[values > 1e-9]
    return positive[-2:].sum() / positive.sum() + D.mean()


# ---------------------------------------------------------------- demerits
@program(
    "typography: optimal line breaks (as TeX has them), the badness of a paragraph by its widths of words and spaces",
    lambda: (np.array([5.2, 3.1, 7.4, 2.2, 6.3, 4.1, 5.5, 3.3, 8.0, 1.9, 4.4]), 1.0, 0.45),
    wrt=(0, 1, 2),
    refused="min of no items",
)
def demerits(widths, space, stretch, measure=19.0):
    n = len(widths)

    @functools.cache
    def best(k):
        if k == n:
            return 0.0, ()
        found = []
        for last in range(k, n):
            natural = sum(widths[k : last + 1]) + space * (last - k)
            if natural > measure and last > k:
                break
            if last == n - 1:
                return 0.0, (last,)
            ratio = (measure - natural) / (stretch * max(last - k, 0.5))
            rest, breaks = best(last + 1)
            found.append(((1 + 0.01 * abs(ratio) ** 3) ** 2 + rest, (last, *breaks)))
        return min(found)

    total, breaks = best(0)
    return total + 0.01 * len(breaks) * space


# ---------------------------------------------------------------- bm25
@program("NLP/IR: tf-idf cosines with Counter on tokens", lambda: (np.array([1.0, 0.5, 2.0, 1.5, 0.8]),))
def bm25(w):
    docs = ["a b c a", "b c d", "a d e e e", "c"]
    vocab = {t: i for i, t in enumerate(sorted({t for d in docs for t in d.split()}))}
    counts = [Counter(d.split()) for d in docs]
    avg = sum(map(len, (d.split() for d in docs))) / len(docs)
    k1, b = w[0], w[1]
    score = []
    for d, c in zip(docs, counts):
        s = 0.0
        for t in ("a", "c", "e"):
            df = sum(t in c2 for c2 in counts)
            idf = math.log((len(docs) - df + 0.5) / (df + 0.5) + 1)
            tf = c[t]
            s += w[vocab[t]] * idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(d.split()) / avg))
        score.append(s)
    p = special.softmax(score)
    return -np.log(p[2])
