"""Each value that the reverse sweep reads: kept, made again, put back, or its trip run again.

In: sweeps with a mirror. Out: one function in which both sweeps are ordinary operations.

    join(sweeps, ...)          x_tape[i] = x   in the forward sweep,   x = x_tape[i]   in the reverse sweep
"""

from adjit.transform.storage.buffer_renaming import are_kept, with_versions
from adjit.transform.storage.memory_limit import leave_room
from adjit.transform.storage.primal import Joint
from adjit.transform.storage.reexecution import requests_for
from adjit.transform.storage.storage import join
from adjit.transform.storage.sweep_fusion import fuse

__all__ = ["Joint", "are_kept", "fuse", "join", "leave_room", "requests_for", "with_versions"]
