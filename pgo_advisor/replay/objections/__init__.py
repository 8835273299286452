"""What can keep a call from a graph of the replay: one function for each kind of guard.

Each asks one question of a `Lookup` and yields its objections; `OBJECTIONS` lists them in the order in which
they are asked. A new kind of guard is a new function and its entry here.
"""

from pgo_advisor.replay.graphs import Objector
from pgo_advisor.replay.objections.decisions import decision
from pgo_advisor.replay.objections.guards import guard
from pgo_advisor.replay.objections.paths import failed, inputs, path
from pgo_advisor.replay.objections.sizes import rank, size, stride
from pgo_advisor.replay.objections.structure import mark, mode, reason, structure

OF_STRUCTURE: tuple[Objector, ...] = (reason, structure, mode, mark)
"""What no declaration changes."""
OF_SIZES: tuple[Objector, ...] = (rank, size, stride, guard, decision, inputs, path, failed)
OBJECTIONS = (*OF_STRUCTURE, *OF_SIZES)
