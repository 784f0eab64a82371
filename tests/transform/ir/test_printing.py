"""The IR as text: one example with each kind of operation, and names that do not depend on the run."""

from adjit.transform import ir
from adjit.transform.ir.printing import to_text
from tests.transform.building import I
from tests.transform.ir.test_verify import everything

EXPECTED = """\
func f(a = %a:array(float64, 1d, C), m = %m:array(float64, 2d, C), x = %x:float64) -> (0, 1, 2, 3) {
  %n:int64 = extent %a, 0
  %v:array(float64, 1d, C) = copy %a
  %view:array(float64, 1d, A) = slice %m[0, ::2]
  %view.1:array(float64, 2d, A) = slice %v[1:, newaxis]
  %t:array(float64, 2d, F) = transpose %m, (1, 0)
  %flat:array(float64, 1d, C) = reshape %m, (-1)
  %tape:list(float64)<iv=None> = tape
  %like:array(float64, 1d, C) = alloc like %v fill 0.0
  %out:float64 = for %i:int64 in (0, %n, 1) carrying (%c:float64) = (0.0) stops {
    %v_item:float64 = load %v[%i]
    push %tape[%i] = %v_item
    store %v[%i] = %c
    %lt:bool = call lt(%v_item, 0.0)
    %phi:float64 = if %lt {
      yield %c
    } else {
      %add:float64 = call add(%c, %v_item)
      yield %add
    }
    %gt:bool = call gt(%phi, 10.0)
    yield %phi, %gt
  }
  %out.1:float64 = while carrying (%c.1:float64) = (%out) {
    %gt.1:bool = call gt(%c.1, 1.0)
    yield %gt.1
  } do (%c.2:float64) {
    %mul:float64 = call mul(%c.2, 0.5)
    yield %mul
  }
  # the last one
  %last:float64 = pull %tape[0]
  %lt.1:bool = call lt(%out.1, 2.0)
  raise ValueError('no') unless %lt.1
  yield %out.1, %last, %view, %view.1
}
"""


def test_text_of_everything():
    assert to_text(everything()) == EXPECTED


def test_equal_programs_have_equal_text():
    assert to_text(everything()) == to_text(everything())


def test_levels_are_told():
    def over(level: ir.Level, *ops: ir.Op) -> ir.For:
        return ir.For(stop=ir.integer(4), body=ir.Region((ir.Var(level[0], I),), ops, ()), level=level)

    text = to_text(ir.Function("f", (), (), ir.Region((), (over("blocks", over("threads")),), ()), ()))
    assert "for %b:int64 in (0, 4, 1) over blocks {" in text
    assert "for %t:int64 in (0, 4, 1) over threads {" in text
