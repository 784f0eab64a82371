from collections import namedtuple

import numpy as np

from adjit.api.arguments.trees import conform, leaves, nested, snapshot, template, zero

Both = namedtuple("Both", "a b")


def test_templates_keep_the_nesting():
    value = (1.5, Both(np.float32(2), np.ones((2, 2), order="F")), 3, True)
    found = template(value)
    assert [leaf.is_active for leaf in leaves(found)] == [True, True, True, False, False]
    assert type(zero(found)[1]) is Both
    assert type(zero(found)[1].a) is np.float32
    assert zero(found)[1].b.flags.f_contiguous
    assert leaves(zero(found))[-2:] == [0, False]
    assert leaves(nested(found, range(5))) == [0, 1, 2, 3, 4]


def test_conform_copies():
    given = np.array([1.0, 2.0])
    made = conform(given, template(given), "it")
    assert not np.shares_memory(made, given)


def test_snapshot_keeps_what_is_shared():
    base = np.arange(12.0)
    left = base[1:5]
    values = (left, base[3:9:2], (base[8:2:-1], 2.5), base[10:], np.arange(3), left)
    copied = snapshot(values)
    for old, new in zip(leaves(values), leaves(copied)):
        np.testing.assert_array_equal(old, new)
        if isinstance(old, np.ndarray):
            assert not np.shares_memory(old, new)
            assert old.strides == new.strides
    assert copied[0] is copied[5]
    copied[0][3] = -1.0
    assert copied[1][0] == 3.0
    copied[0][2] = -2.0
    assert copied[1][0] == -2.0
    copied[1][1] = -5.0
    assert copied[2][0][3] == -5.0
    assert not np.shares_memory(copied[3], copied[1])


def test_snapshot_of_a_matrix_and_its_transpose():
    matrix = np.arange(6.0).reshape(2, 3)
    first, second = snapshot((matrix, matrix.T))
    first[1, 2] = -1.0
    assert second[2, 1] == -1.0
    assert first.flags.c_contiguous
    assert second.flags.f_contiguous


def test_snapshot_of_what_is_not_contiguous_is_not_contiguous():
    matrix = np.arange(24.0).reshape(4, 6)
    for array in (matrix[:, ::2], matrix[::2].T, matrix[:, :1], matrix[:1, ::3], matrix[0, ::2], matrix[::-1, 2:]):
        (copied,) = snapshot((array,))
        np.testing.assert_array_equal(copied, array)
        assert not np.shares_memory(copied, array)
        assert not copied.flags.c_contiguous
        assert not copied.flags.f_contiguous
