"""PGO state on disk: what PyTorch wrote is read, what would run code is refused.

The recordings in fixtures/pgo were written by the scenarios' programs: s02 passes ids and mask of varying
batch and length, s06 x and y whose other dim varies, s07 breaks the graph twice, m02 has caches that grow.
"""

from __future__ import annotations

import base64
import contextlib
import copyreg
import os
import pickle
import pickletools
import struct
import sys
import types
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from conftest import TESTS, Trace
from hypothesis import given, settings
from hypothesis import strategies as st

import pgo_advisor
from pgo_advisor.errors import InputError
from pgo_advisor.ingest.job import ingest
from pgo_advisor.ingest.pgo.mega_cache import is_mega_cache, pgo_state
from pgo_advisor.ingest.pgo.pickles import Refused, read_code_state

PGO = TESTS / "fixtures" / "pgo"
VERSIONS = ["2.7.1", "2.13.0", "2.15.0"]


def recorded(version: str, name: str) -> Path:
    return PGO / version / f"code_state_{name}_None_.pkl"


@pytest.mark.parametrize("version", VERSIONS)
def test_what_pytorch_wrote(version: str) -> None:
    entries = {
        row["source"]: row
        for row in read_code_state(recorded(version, "s02_batch_and_seq").read_bytes())
    }
    assert set(entries) == {"L['ids']", "L['mask']", "L['self']._modules['emb'].norm_type"}
    ids = entries["L['ids']"]
    assert (ids["name"], ids["line"], ids["file"]) == (
        "forward",
        7,
        "/home/user/app/s02_batch_and_seq.py",
    )
    assert (ids["kind"], ids["size"], ids["stride"]) == ("tensor", (None, None), "[S(1), 1]")
    assert ids["file_hash"] == (None if version == "2.7.1" else "acf64992")
    assert entries["L['self']._modules['emb'].norm_type"]["value"] == "2.0"


@pytest.mark.parametrize("version", VERSIONS)
def test_mega_cache(version: str) -> None:
    path = PGO / version / "mega_cache.bin"
    assert is_mega_cache(path.read_bytes()[:100])
    entries = ingest([path]).tables.pgo_entries
    # two states were saved, the second has seen another batch size
    assert entries["size"].tolist() == [(None, 3)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["s02_batch_and_seq", "s06_wrapper_args", "m02_layer_caches"])
def test_the_list_is_that_of_the_trace(trace: Trace, version: str, name: str) -> None:
    from_trace = pgo_advisor.analyze(trace(version, name), torch_version=version)
    from_pickle = pgo_advisor.analyze(recorded(version, name), torch_version=version)
    assert from_trace.dynamic_sources
    assert set(from_pickle.dynamic_sources.split(",")) == set(from_trace.dynamic_sources.split(","))


def test_a_cache_directory(tmp_path: Path) -> None:
    for rank, name in enumerate(("s02_batch_and_seq", "s06_wrapper_args")):
        (tmp_path / "dynamo").mkdir(exist_ok=True)
        copy = tmp_path / "dynamo" / f"code_state_my_job_{rank}_.pkl"
        copy.write_bytes(recorded("2.13.0", name).read_bytes())
    (tmp_path / "fx" / "ab").mkdir(parents=True)
    (tmp_path / "fx" / "ab" / "cdef").write_bytes(pickle.dumps({"key": object}))
    read = ingest([tmp_path])
    assert set(read.tables.pgo_entries["rank"]) == {0, 1}
    assert read.losses == read.notes == ()


# Stand-ins for PyTorch's classes, pickled under its names


@dataclass(frozen=True)
class CodeId:
    filename: str
    firstlineno: int
    name: str
    file_hash: str | None = None
    closure_hash: int | None = None


class AutoDynamic(Enum):
    token = 0


class AutoUnset(Enum):
    token = 0


@dataclass(frozen=True)
class InferStride:
    dim: int


@dataclass
class FrameStateSizeEntry:
    scalar: Any = AutoUnset.token
    size: Any = AutoUnset.token
    stride: Any = AutoUnset.token


@dataclass
class CodeState:
    automatic_dynamic: Any = field(default_factory=lambda: defaultdict(FrameStateSizeEntry))


DYNAMIC = AutoDynamic.token


@pytest.fixture(autouse=True)
def as_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("torch._dynamo.pgo")
    for kind in (CodeId, AutoDynamic, AutoUnset, InferStride, FrameStateSizeEntry, CodeState):
        monkeypatch.setattr(kind, "__module__", module.__name__)
        setattr(module, kind.__name__, kind)
    for name in ("torch", "torch._dynamo"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)


def state(*codes: tuple[CodeId, dict[str, FrameStateSizeEntry]]) -> bytes:
    states: Any = defaultdict(CodeState)
    for code, inputs in codes:
        entries: Any = defaultdict(FrameStateSizeEntry)
        entries.update(inputs)
        states[code] = CodeState(entries)
    return pickle.dumps(states, protocol=4)


def tensor(*size: Any) -> FrameStateSizeEntry:
    return FrameStateSizeEntry(DYNAMIC, size, tuple(1 for _ in size))


def scalar(value: Any) -> FrameStateSizeEntry:
    return FrameStateSizeEntry(value, DYNAMIC, DYNAMIC)


F = CodeId("/a/f.py", 3, "f", "53dcf75c")


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        # ranks that have seen one size each
        ([(F, tensor(4, 3)), (F, tensor(5, 3))], {("L['x']", 0)}),
        # the same code at another path
        (
            [(F, tensor(4, 3)), (CodeId("/b/f.py", 3, "f", "53dcf75c"), tensor(5, 3))],
            {("L['x']", 0)},
        ),
        # another file, line or closure is other code
        ([(F, tensor(4, 3)), (CodeId("/a/f.py", 3, "f", "00000000"), tensor(5, 3))], set()),
        ([(F, tensor(4, 3)), (CodeId("/a/f.py", 4, "f", "53dcf75c"), tensor(5, 3))], set()),
        ([(F, tensor(4)), (CodeId("/a/f.py", 3, "f", "53dcf75c", 7), tensor(5))], set()),
        # of 2.7, without hashes
        (
            [(CodeId("/a/f.py", 3, "f"), tensor(4)), (CodeId("/a/f.py", 3, "f"), tensor(5))],
            {("L['x']", 0)},
        ),
        # a rank that varies is no dim
        ([(F, tensor(4, 3)), (F, tensor(4))], set()),
        ([(F, scalar(4)), (F, scalar(5))], {("L['x']", None)}),
        ([(F, scalar(0.1)), (F, scalar(0.2))], set()),
        ([(F, scalar(4)), (F, scalar(4))], set()),
        ([(F, tensor(4, DYNAMIC)), (F, tensor(4, 3))], {("L['x']", 1)}),
    ],
)
def test_profiles_are_joined_as_pytorch_joins_them(
    tmp_path: Path, states: list[tuple[CodeId, FrameStateSizeEntry]], expected: set[Any]
) -> None:
    for rank, (code, entry) in enumerate(states):
        (tmp_path / f"code_state_job_{rank}_.pkl").write_bytes(
            state((code, {"L['x']": entry})) + bytes(rank)
        )
    analysis = pgo_advisor.analyze(tmp_path, torch_version="2.13")
    assert {tuple(advice.pair) for advice in analysis.advice} == expected


def test_a_profile_adds_what_a_trace_does_not_have(trace: Trace) -> None:
    both = pgo_advisor.analyze(
        trace("2.13.0", "s01_batch_dim"), recorded("2.13.0", "s06_wrapper_args")
    )
    assert both.dynamic_sources == "L['x']:0,L['args'][0]:0,L['kwargs']['y']:1"
    assert [advice.saved is None for advice in both.advice] == [False, True, True]


class TestMalice:
    """Pickles in the manner of the known attacks; each would leave a mark if anything of it ran."""

    @pytest.fixture(autouse=True)
    def nothing_runs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        self.mark = tmp_path / "ran"
        self.ran: list[object] = []
        pgo: Any = sys.modules["torch._dynamo.pgo"]
        pgo.attack = lambda *a, **k: self.ran.append(a)
        yield
        assert not self.mark.exists()
        assert self.ran == []

    def refused(self, content: bytes) -> str:
        with pytest.raises(Refused) as error:
            read_code_state(content)
        assert "\n" not in str(error.value)
        return str(error.value)

    @pytest.mark.parametrize(
        "call",
        [
            lambda mark: (os.system, (f"touch {mark}",)),
            lambda mark: (eval, (f"open({str(mark)!r}, 'w')",)),
            lambda mark: (exec, (f"open({str(mark)!r}, 'w')",)),
            lambda mark: (getattr, (os, "system")),
            lambda mark: (open, (str(mark), "w")),
            lambda mark: (__import__, ("os",)),
            lambda mark: (pickle.loads, (b"",)),
        ],
    )
    @pytest.mark.parametrize("protocol", range(6))
    def test_calls(self, call: Callable[[Path], Any], protocol: int) -> None:
        class Attack:
            def __reduce__(inner: Any) -> Any:
                return call(self.mark)

        try:
            content = pickle.dumps({CodeId("", 1, ""): Attack()}, protocol=protocol)
        except TypeError:
            pytest.skip("modules cannot be pickled")
        self.refused(content)

    @staticmethod
    def glob(module: str, name: str) -> bytes:
        return (
            b"".join(b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name))
            + b"\x93"
        )

    @pytest.mark.parametrize(
        ("module", "name"),
        [
            ("os", "system"),
            ("builtins", "eval"),
            ("torch._dynamo.pgo", "attack"),
            ("torch._dynamo.pgo", "os.system"),
            ("torch._dynamo.pgo", "CodeId.__init__.__globals__"),
            ("torch._dynamo.pgo.CodeId", "make"),
            ("collections", "namedtuple"),
            ("collections", "OrderedDict"),
            ("collections", "_sys"),
            ("functools", "partial"),
            ("copyreg", "_reconstructor"),
        ],
    )
    def test_names(self, module: str, name: str) -> None:
        told = self.refused(b"\x80\x04" + self.glob(module, name) + b"K\x01\x85R.")
        assert f"{module}.{name}" in told

    @pytest.mark.parametrize(
        "content",
        [
            b"cos\nsystem\n(S'touch ran'\ntR.",  # GLOBAL
            b"(S'touch ran'\nios\nsystem\n.",  # INST
            b"(cos\nsystem\nS'touch ran'\no.",  # OBJ
            b"\x80\x02\x82\x01.",  # EXT1
            b"\x80\x02\x83\x01\x00.",  # EXT2
            b"\x80\x02\x84\x01\x00\x00\x00.",  # EXT4
            b"Pid\n.",  # PERSID
            b"\x80\x04K\x01Q.",  # BINPERSID
            b"\x80\x05\x97.",  # NEXT_BUFFER
            b"\x80\x04]K\x01a.",  # lists
            b"\x80\x04\x8f(K\x01\x90.",  # sets
            b"\x80\x04K\x01K\x02K\x03\x92.",  # NEWOBJ_EX
        ],
    )
    def test_instructions(self, content: bytes) -> None:
        copyreg.add_extension("os", "system", 1)
        try:
            self.refused(content)
        finally:
            copyreg.remove_extension("os", "system", 1)

    def test_reduce_on_allowed_classes(self) -> None:
        for name in ("CodeId", "CodeState", "FrameStateSizeEntry", "InferStride"):
            self.refused(b"\x80\x04" + self.glob("torch._dynamo.pgo", name) + b"K\x01\x85R.")
        for name in ("AutoDynamic", "AutoUnset"):
            self.refused(b"\x80\x04" + self.glob("torch._dynamo.pgo", name) + b"K\x01\x85R.")
        default = self.glob("collections", "defaultdict")
        for factory in (b"K\x01", b"N", default, self.glob("torch._dynamo.pgo", "AutoDynamic")):
            self.refused(b"\x80\x04" + default + factory + b"\x85R.")

    def test_build(self) -> None:
        made = b"\x80\x04" + self.glob("torch._dynamo.pgo", "CodeId") + b")\x81"
        for told in (
            b"N}\x8c\x08__dict__N\x86b.",  # slots
            b"}K\x01Nsb.",  # a name that is no text
            b"(K\x01K\x02\x86b.",
            b"}\x8c\x01aNsb}\x8c\x01aNsb.",  # twice
        ):
            self.refused(made + told)
        # a class is no object, nor is a dict
        self.refused(b"\x80\x04" + self.glob("torch._dynamo.pgo", "CodeId") + b"}b.")
        self.refused(b"\x80\x04}}\x8c\x0c__setstate__Nsb.")
        # fields that are none change nothing
        state_of = b"}(\x8c\x0c__setstate__N\x8c\x09__class__Nub."
        self.refused(made + state_of)

    @pytest.mark.slow
    def test_endless_things(self) -> None:
        self.refused(b"\x80\x04" + b")" + b"\x85" * 1_000_000 + b"}b.")
        self.refused(b"\x80\x04" + b")" + b"\x85" * 1_000_000 + b"K\x01R.")
        self.refused(b"\x80\x04" + b")" + b"\x85" * 1_000_000 + b")\x81.")
        self.refused(b"\x80\x04" + b"(" * 1_000_000 + b".")
        self.refused(b"\x80\x04" + b"}" * 1_000_000 + b"t.")
        # a dict that holds itself
        self.refused(b"\x80\x04}\x94\x8c\x01ah\x00s.")
        # a memo of four thousand millions
        self.refused(b"\x80\x04Nr\xff\xff\xff\xff0.")
        # a text that is said to be longer than memory
        self.refused(b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"x.")
        self.refused(b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"x.")
        # an integer of 255 bytes as a line
        code = CodeId("f.py", 1 << 2000, "f")
        self.refused(state((code, {"L['x']": tensor(1)})))

    def test_little_that_becomes_much(self) -> None:
        dims = tuple(range(5000))
        self.refused(state((F, {"L['x']": tensor(*dims)})))
        code = CodeId("f" * 1_000_000, 1, "f")
        inputs = {f"L['x{number}']": tensor(1) for number in range(100)}
        assert len(state((code, inputs))) < 1_100_000
        assert "repeats its parts" in self.refused(state((code, inputs)))

    @pytest.mark.slow
    def test_nine_million_rows_of_250_kb(self) -> None:
        assert "repeats its parts" in self.refused(
            (TESTS / "fixtures" / "attacks" / "c.pkl").read_bytes()
        )

    @pytest.mark.slow
    def test_instructions_without_end(self) -> None:
        self.refused(b"\x80\x04" + b"}" * 15_000_000 + b".")
        self.refused(b"\x80\x04" + b"}0" * 7_000_000 + b"}.")
        assert "not opened" in self.refused(b"\x80\x04" + b"}" * 60_000_000 + b".")

    def test_one_state_for_many_objects(self) -> None:
        made = self.glob("torch._dynamo.pgo", "CodeId") + b"\x94"
        fields = b"}(" + b"".join(b"\x8c\x01%cN" % number for number in range(65, 91)) + b"u\x94"
        self.refused(b"\x80\x04" + made + fields + b"h\x00)\x81h\x01b.")

    def test_a_name_with_surrogates(self) -> None:
        rows = read_code_state(state((CodeId("a\udcff", 1, "f"), {"L['x']": tensor(1)})))
        assert rows[0]["file"] == "a?"

    def test_a_path_to_one(self, tmp_path: Path) -> None:
        path = tmp_path / "code_state_job_0_.pkl"
        path.write_bytes(b"\x80\x04" + self.glob("torch._dynamo.pgo", "attack") + b")R.")
        with pytest.raises(InputError, match="nothing of it was executed"):
            ingest([path])


class TestDamage:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_cut_at_every_byte(self, version: str) -> None:
        content = recorded(version, "s07_graph_break_resume").read_bytes()
        for cut in range(len(content)):
            with pytest.raises(Refused):
                read_code_state(content[:cut])

    @pytest.mark.parametrize("version", VERSIONS)
    def test_mega_cache_cut_at_every_byte(self, version: str, tmp_path: Path) -> None:
        content = (PGO / version / "mega_cache.bin").read_bytes()
        path = tmp_path / "cache.bin"
        # between two artifacts a file of 2.7, which has no checksum, looks whole
        between = content.rindex(b"mega:None:") - 16 if version == "2.7.1" else None
        for cut in range(25, len(content)):
            path.write_bytes(content[:cut])
            pickled, losses = pgo_state(path)
            assert losses or cut == between
            if pickled is not None:
                read_code_state(pickled)

    def test_mega_cache_of_other_artifacts(self, tmp_path: Path) -> None:
        def text(value: bytes) -> bytes:
            return struct.pack(">Q", len(value)) + value

        one = struct.pack(">Q", 1)
        inductor = text(base64.b64encode(b"inductor")) + one + text(b"a2V5") + text(bytes(1000))
        pgo = text(base64.b64encode(b"pgo")) + one + text(b"a2V5")
        pgo += text(state((F, {"L['x']": tensor(DYNAMIC)})))
        body = one + inductor + pgo + inductor
        path = tmp_path / "cache.bin"
        path.write_bytes(zlib.crc32(body).to_bytes(4, "big") + body)
        read = ingest([path])
        assert read.tables.pgo_entries["size"].tolist() == [(None,)]
        assert read.losses == ()
        path.write_bytes(b"1234" + body)
        assert any("checksum" in loss for loss in ingest([path]).losses)

    def test_of_many_states_only_the_last_is_read(self, tmp_path: Path) -> None:
        def text(value: bytes) -> bytes:
            return struct.pack(">Q", len(value)) + value

        states = [bytes(1000), state((F, {"L['x']": tensor(DYNAMIC)}))]
        body = text(base64.b64encode(b"pgo")) + struct.pack(">Q", 2)
        body = struct.pack(">Q", 1) + body + b"".join(text(b"a2V5") + text(one) for one in states)
        path = tmp_path / "cache.bin"
        path.write_bytes(zlib.crc32(body).to_bytes(4, "big") + body)
        assert pgo_state(path) == (states[1], [])

    def test_more_artifacts_than_any_has(self, tmp_path: Path) -> None:
        body = struct.pack(">QQ", 1, 4) + b"cGdv" + struct.pack(">Q", 1 << 62) + bytes(100_000)
        path = tmp_path / "cache.bin"
        path.write_bytes(zlib.crc32(body).to_bytes(4, "big") + body)
        assert pgo_state(path) == (
            None,
            ["the file is cut or damaged: it names more artifacts than any has"],
        )

    @pytest.mark.slow
    def test_a_text_larger_than_any(self, tmp_path: Path) -> None:
        line = b"  L['x']: scalar 3\n"
        (tmp_path / "a.txt").write_bytes(b"hash(ab)/a.py:3:f:\n" + line * 60_000)
        read = ingest([tmp_path / "a.txt"])
        assert len(read.tables.pgo_entries) == 50_000
        assert any("larger than any" in loss for loss in read.losses)

    @given(st.binary(max_size=300))
    def test_any_bytes(self, content: bytes) -> None:
        with contextlib.suppress(Refused):
            read_code_state(content)

    @pytest.mark.slow
    @given(st.data())
    @settings(max_examples=300)
    def test_a_state_with_other_bytes_in_it(self, data: st.DataObject) -> None:
        content = bytearray(recorded("2.13.0", "s07_graph_break_resume").read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        with contextlib.suppress(Refused):
            read_code_state(bytes(content))

    @given(
        st.lists(
            st.sampled_from([o.code.encode("latin-1") for o in pickletools.opcodes]), max_size=60
        )
    )
    def test_any_instructions(self, opcodes: list[bytes]) -> None:
        with contextlib.suppress(Refused):
            read_code_state(b"".join(opcodes))
