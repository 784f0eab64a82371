"""Rows of the rule table for scipy.stats' statistics of samples."""

from __future__ import annotations

from scipy import stats

from tests.rules import rows as at
from tests.rules.rows import Row, array, row, vector

WEIGHTED = at.positive_array(4)
ROWS = at.positive_array(2, 5)

DESCRIPTIVE: list[Row] = [
    row(stats.zscore, lambda a: stats.zscore(a), vector(4)),
    row(stats.zscore, lambda a: stats.zscore(a, axis=None, ddof=1), array(2, 3), tags="double", note="whole"),
    row(stats.moment, lambda a: stats.moment(a, 3, axis=1), array(2, 4), tags="double"),
    row(stats.skew, lambda a: stats.skew(a) + stats.skew(a, bias=False), vector(5), tags="double"),
    row(stats.kurtosis, lambda a: stats.kurtosis(a, axis=1, bias=False), array(2, 5), tags="double"),
    row(stats.kurtosis, lambda a: stats.kurtosis(a, fisher=False, keepdims=True), vector(4), tags="double", note="own"),
    row(stats.gmean, lambda a, w: stats.gmean(a, weights=w) + stats.gmean(a), WEIGHTED, WEIGHTED, tags="double"),
    row(stats.hmean, lambda a, w: stats.hmean(a, weights=w) + stats.hmean(a), WEIGHTED, WEIGHTED, tags="double"),
    row(stats.pmean, lambda a: stats.pmean(a, 1.7, axis=1), ROWS, tags="double"),
    row(stats.entropy, lambda p, q: stats.entropy(p, q, base=2) + stats.entropy(p), WEIGHTED, WEIGHTED, tags="double"),
    row(stats.sem, lambda a: stats.sem(a) * stats.variation(a), WEIGHTED, tags="double"),
    row(stats.variation, lambda a: stats.variation(a, axis=1), ROWS, tags="double"),
    row(stats.iqr, lambda a: stats.iqr(a, rng=(20, 60)) * 1.0, vector(5), tags="double"),
    row(stats.trim_mean, lambda a: stats.trim_mean(a, 0.3, axis=1), array(2, 5), tags="double"),
    row(stats.median_abs_deviation, lambda a: 1.0 * stats.median_abs_deviation(a), vector(5), tags="double"),
    row(stats.pearsonr, lambda x, y: stats.pearsonr(x, y)[0] * 1.0, vector(5), vector(5), tags="double"),
    row(
        stats.linregress,
        lambda x, y: stats.linregress(x, y).slope * stats.linregress(x, y).intercept,
        vector(4),
        vector(4),
        tags="double",
    ),
]
