"""All programs of the language tests: one row a feature of the language that adjit takes."""

from tests.programs.arrays import ARRAYS
from tests.programs.checkpoints import CHECKPOINTS
from tests.programs.choices import CHOICES
from tests.programs.counting import COUNTING
from tests.programs.expressions import EXPRESSIONS
from tests.programs.functions import FUNCTIONS
from tests.programs.leaving import LEAVING
from tests.programs.loops import LOOPS
from tests.programs.matrices_in_loops import MATRICES_IN_LOOPS
from tests.programs.statements import STATEMENTS

TABLES = (STATEMENTS, LOOPS, EXPRESSIONS, ARRAYS, FUNCTIONS, COUNTING, CHOICES, CHECKPOINTS, MATRICES_IN_LOOPS, LEAVING)
TABLE = [row for rows in TABLES for row in rows.rows]
