"""Counts the calls of compiled graphs from inside of a program, for `pgo-advisor record --calls`.

It runs in the recorded program, whose Python may lack pgo-advisor: it imports nothing of it, and nothing
but the standard library before PyTorch itself is loaded. PyTorch calls `start` at the end of `import torch`,
as an entry point of the group `torch.backends` (torch/__init__.py, `_import_device_backends`).

- A graph's calls are counted where Dynamo installs it: `OutputGraph.install_global_unsafe`, names that begin
  with `__compiled_fn` (torch/_dynamo/output_graph.py). What is installed is a wrapper by
  `torch._dynamo.disable`; the function in its closure is replaced by one that counts, so the object that
  Dynamo guards and calls stays the same. Symbols in the sizes of inputs are ints among the graph's inputs:
  they are all that varies from call to call.
- Calls that run uncompiled are counted by `sys.monitoring` (Python 3.12) at the start of the code objects
  that Dynamo once traced: neither its tracing nor compiled code runs these. Below 3.12 only the functions
  that the program itself compiled are seen: how often they were entered (`_callback_from_stance`,
  torch/_dynamo/eval_frame.py), less the calls of their graphs.

What is counted goes into the trace, every ten seconds and at the end, as artifact `pgo_advisor_calls` of the
compile that made the graph: what this process counted so far. The calls that a forked process makes of
graphs that it inherited are in no log that has their compile. No fault of this file reaches the program.
"""

from __future__ import annotations

import atexit
import functools
import importlib.abc
import importlib.machinery
import inspect
import itertools
import json
import operator
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeGuard

VERSION = 1
EVERY = 10.0
"""Seconds between two records: what a kill can lose."""
BYTES_A_SECOND = 2000
"""What records may add to the trace: after long ones the next comes later."""
MAX_SIZES = 10_000
"""Combinations of sizes of a graph that are counted each; calls with further ones are counted together."""
ALL_TIMED = 64
"""The first calls of a graph, which are all timed; then it is every sixteenth."""


def start() -> None:
    """Watches this process from now on; what this PyTorch has not as it is known, is not watched."""
    with suppress(Exception):
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder(_Observer()))


class _Finder(importlib.abc.MetaPathFinder):
    """Has the observer look at modules of PyTorch as soon as they are loaded."""

    def __init__(self, observer: _Observer) -> None:
        self._wanted: dict[str, Callable[[Any], None]] = {
            "torch._dynamo": observer.watch_reset,
            "torch._dynamo.eval_frame": observer.watch_entries,
            "torch._dynamo.output_graph": observer.watch_graphs,
        }
        for name in self._wanted.keys() & sys.modules.keys():
            with suppress(Exception):
                self._wanted.pop(name)(sys.modules[name])

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._wanted:
            return None
        watch = self._wanted.pop(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            with suppress(Exception):
                watch(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


class _Observer:
    """All that is counted in this process."""

    def __init__(self) -> None:
        self._graphs: list[_Graph] = []
        self._codes: dict[CodeType, _Code] = {}
        self._entries: dict[Any, _Entry] = {}
        self._entered = threading.local()
        self._tool: int | None = None
        self._due = time.monotonic() + EVERY
        self._writing = threading.Lock()

    def watch_reset(self, dynamo: Any) -> None:
        """The ids of compiles begin again after it."""
        reset = dynamo.reset

        @functools.wraps(reset)
        def write_and_reset(*args: Any, **kwargs: Any) -> Any:
            with suppress(Exception):
                self.write()
                self._forget()
            return reset(*args, **kwargs)

        dynamo.reset = write_and_reset

    def watch_entries(self, module: Any) -> None:
        """Counts the calls of what the program compiled, where `sys.monitoring` is not there."""
        if hasattr(sys, "monitoring"):
            return
        chosen = module._callback_from_stance

        @functools.wraps(chosen)
        def choose_counting(callback: Any, *args: Any, **kwargs: Any) -> Any:
            if callback:
                _quietly(self._enter, callback)
            return chosen(callback, *args, **kwargs)

        module._callback_from_stance = choose_counting

    def _enter(self, callback: Any) -> None:
        entry = self._entries.get(callback)
        if entry is None:
            entry = self._entries.setdefault(callback, _Entry())
        next(entry.calls)
        self._entered.last = entry

    def watch_graphs(self, module: Any) -> None:
        """Counts each graph that is installed from now on."""
        graph_class = module.OutputGraph
        install, begin = graph_class.install_global_unsafe, graph_class.__init__
        signature = inspect.signature(begin)

        @functools.wraps(install)
        def install_counting(graph: Any, name: str, value: Any, *args: Any, **kwargs: Any) -> Any:
            if name.startswith("__compiled_fn"):
                with suppress(Exception):
                    value = self._counting(graph, value)
            return install(graph, name, value, *args, **kwargs)

        @functools.wraps(begin)
        def begin_noting(graph: Any, *args: Any, **kwargs: Any) -> None:
            begin(graph, *args, **kwargs)
            with suppress(Exception):
                self._note_code(signature.bind(graph, *args, **kwargs).arguments["f_code"])

        graph_class.install_global_unsafe = install_counting
        graph_class.__init__ = begin_noting
        self._monitor()
        # after PyTorch's own, which closes the trace, so that it comes before
        atexit.register(_quietly, self.write)
        os.register_at_fork(after_in_child=functools.partial(_quietly, self._start_anew))

    def _monitor(self) -> None:
        monitoring: Any = getattr(sys, "monitoring", None)
        for tool in (4, 3) if monitoring else ():
            with suppress(ValueError):
                monitoring.use_tool_id(tool, "pgo-advisor")
                monitoring.register_callback(tool, monitoring.events.PY_START, self._runs_eagerly)
                self._tool = tool
                return

    def _start_anew(self) -> None:
        """In a forked process, which has counted nothing yet."""
        self._writing = threading.Lock()
        for counted in (*self._graphs, *self._codes.values()):
            counted.clear()
        from multiprocessing import util

        # a worker ends by os._exit, after it has run these
        util.register_after_fork(
            self, lambda me: util.Finalize(None, _quietly, (me.write,), exitpriority=1)
        )

    def _counting(self, output_graph: Any, installed: Any) -> Any:
        torch: Any = import_module("torch")
        compile_id = torch._guards.CompileContext.current_compile_id()
        inputs = [node for node in output_graph.graph.nodes if node.op == "placeholder"]
        symbols = {}
        for position, node in enumerate(inputs):
            value = node.meta.get("example_value")
            if isinstance(value, torch.SymInt):
                symbols[position] = str(value.node.expr)
        graph = _Graph(compile_id, symbols)
        self._codes[output_graph.root_tx.f_code].graphs.append(graph)
        names = getattr(getattr(installed, "__code__", None), "co_freevars", ())
        if "fn" in names:
            cell = installed.__closure__[names.index("fn")]
            cell.cell_contents = graph.counting(cell.cell_contents, self._look)
        else:
            # a module, by DDPOptimizer
            installed = torch._dynamo.disable(graph.counting(installed, self._look))
        self._graphs.append(graph)
        return installed

    def _note_code(self, code: CodeType) -> None:
        torch: Any = import_module("torch")
        compile_id = torch._guards.CompileContext.current_compile_id()
        known = self._codes.setdefault(code, _Code(compile_id))
        known.compile_id = compile_id
        known.traced.add(str(compile_id))
        if self._tool is not None:
            monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
            monitoring.set_local_events(self._tool, code, monitoring.events.PY_START)
        entry = getattr(self._entered, "last", None)
        if entry is not None and not entry.known and _value(entry.calls) == 1:
            # what is traced first of the first call is the function itself
            entry.known = True
            known.entries.append(entry)

    def _runs_eagerly(self, code: CodeType, offset: int) -> None:
        with suppress(Exception):
            from torch._C._dynamo.eval_frame import get_eval_frame_callback

            caller = sys._getframe(1).f_back
            if get_eval_frame_callback() is not None or _of_dynamo(caller):
                self._codes[code].count_eager(caller)
                self._look()

    def _look(self) -> None:
        """Writes if it is time to."""
        if time.monotonic() >= self._due:
            self.write()

    def write(self) -> None:
        """Adds to the trace what has changed since it was last written."""
        torch: Any = import_module("torch")
        if torch._guards.CompileContext.current_trace_id() is not None:
            return  # the record would be one of the compile that is under way
        if not self._writing.acquire(blocking=False):
            return
        try:
            written = sum(counted.write() for counted in (*self._graphs, *self._codes.values()))
            self._due = time.monotonic() + max(EVERY, written / BYTES_A_SECOND)
        finally:
            self._writing.release()

    def _forget(self) -> None:
        """Begins anew: the ids of what is compiled from now on may be old ones."""
        self._graphs = []
        self._codes = {}
        self._entries.clear()


class _Counted:
    """What is counted of one compile, and was last written of it."""

    def __init__(self, compile_id: Any) -> None:
        self.compile_id = compile_id
        self.clear()

    def clear(self) -> None:
        self._written: dict[str, Any] | None = None

    def told(self) -> dict[str, Any] | None:
        """What there is to tell so far, as JSON; None for nothing."""
        raise NotImplementedError

    def write(self) -> int:
        """Adds it to the trace if it has changed; the characters of it."""
        logging: Any = import_module("torch._logging")
        told = self.told()
        if told is None or told == self._written:
            return 0
        self._written = told
        text = json.dumps({"version": VERSION, "pid": os.getpid(), **told})
        logging.trace_structured(
            "artifact",
            metadata_fn=lambda: {"name": "pgo_advisor_calls", "encoding": "json"},
            payload_fn=lambda: text,
            compile_id=self.compile_id,
        )
        return len(text)


class _Graph(_Counted):
    """The calls of a graph. `symbols` are names by the graph's input."""

    def __init__(self, compile_id: Any, symbols: dict[int, str]) -> None:
        self._symbols = symbols
        super().__init__(compile_id)

    def clear(self) -> None:
        super().clear()
        # what other threads count goes on in the old ones
        self._calls = itertools.count()
        self._sizes: dict[Any, itertools.count[int]] = {}
        self._unlisted = itertools.count()
        self._timed = 0
        self._seconds = 0.0
        self._first: float | None = None
        self._last: float | None = None

    def counting(
        self,
        function: Callable[..., Any],
        look: Callable[[], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> Callable[..., Any]:
        """`function`, counted; `look` is called now and then."""
        me = self

        def timed(args: Any, kwargs: Any) -> Any:
            me._last = time.time()
            me._first = me._first or me._last
            began = clock()
            try:
                return function(*args, **kwargs)
            finally:
                # what another thread adds meanwhile may be lost, of both
                me._timed, me._seconds = me._timed + 1, me._seconds + clock() - began
                _quietly(look)

        if not self._symbols:

            def counted(*args: Any, **kwargs: Any) -> Any:
                number = next(me._calls)
                if number & 15 and number > ALL_TIMED:
                    return function(*args, **kwargs)
                return timed(args, kwargs)

        else:
            sizes_of = operator.itemgetter(*self._symbols)

            def counted(*args: Any, **kwargs: Any) -> Any:
                number = next(me._calls)
                try:
                    next(me._sizes[sizes_of(args)])
                except Exception:
                    _quietly(me._count_new, sizes_of, args)
                if number & 15 and number > ALL_TIMED:
                    return function(*args, **kwargs)
                return timed(args, kwargs)

        return functools.wraps(function, updated=())(counted)

    def _count_new(self, sizes_of: Callable[[Any], Any], args: Any) -> None:
        if len(self._sizes) >= MAX_SIZES:
            next(self._unlisted)
        else:
            next(self._sizes.setdefault(sizes_of(args), itertools.count()))

    def calls(self) -> int:
        return _value(self._calls)

    def told(self) -> dict[str, Any] | None:
        calls = self.calls()
        if not calls:
            return None
        one = len(self._symbols) == 1
        return {
            "calls": calls,
            "first": self._first,
            "last": self._last,
            "timed": self._timed,
            "seconds": self._seconds,
            "symbols": [*self._symbols.values()],
            "sizes": [
                [[key] if one else list(key), _value(count)]
                for key, count in list(self._sizes.items())
            ],
            "unlisted": _value(self._unlisted),
        }


class _Entry:
    """The calls of what one `torch.compile` returned."""

    def __init__(self) -> None:
        self.calls = itertools.count()
        self.known = False
        """Whether it is known which function it is."""


class _Code(_Counted):
    """Calls of a function that Dynamo once traced, and that ran as it is written."""

    def __init__(self, compile_id: Any) -> None:
        self.graphs: list[_Graph] = []
        self.traced: set[str] = set()
        self.entries: list[_Entry] = []
        super().__init__(compile_id)

    def clear(self) -> None:
        super().clear()
        self._eager = itertools.count()
        self._first: float | None = None
        self._place: list[Any] | None = None
        for entry in self.entries:
            entry.calls = itertools.count()

    def count_eager(self, caller: FrameType | None) -> None:
        if next(self._eager) == 0:
            self._first = time.time()
            while _of_dynamo(caller):
                caller = caller.f_back
            if caller is not None:
                self._place = [caller.f_code.co_filename, caller.f_lineno]

    def told(self) -> dict[str, Any] | None:
        calls = _value(self._eager) or self._entered_only()
        if not calls:
            return None
        return {"eager": calls, "first": self._first, "place": self._place}

    def _entered_only(self) -> int:
        """Calls that entered the function and none of its graphs; 0 where a compile made no graph."""
        if len(self.traced) > len(self.graphs):
            return 0
        entered = sum(_value(entry.calls) for entry in self.entries)
        return max(0, entered - sum(graph.calls() for graph in self.graphs))


def _quietly(work: Callable[..., Any], *given: Any) -> None:
    with suppress(Exception):
        work(*given)


def _value(count: itertools.count[int]) -> int:
    """How often an itertools.count was asked: to ask it again would count."""
    return int(repr(count)[6:-1])


def _of_dynamo(frame: FrameType | None) -> TypeGuard[FrameType]:
    return frame is not None and str(frame.f_globals.get("__name__")).startswith("torch._dynamo")
