"""relic.data.pickles: broken and malicious specimens, made on the spot."""

import copyreg
import json
import os
import pickle
import resource
import struct
import subprocess
import sys
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relic.data import pickles
from relic.data.pickles import read_pickle
from relic.errors import RelicError

QUIET = settings(
    max_examples=200, deadline=10_000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ROWS = [{"img_id": 7, "pred": "a dog"}, {"img_id": 8, "pred": "a cat"}]


def specimen(tmp_path, content: bytes):
    file = tmp_path / "specimen.pkl"
    file.write_bytes(content)
    return file


def refused(file) -> RelicError:
    """The error of a file that must not be read: it names the file and what mends it."""
    with pytest.raises(RelicError) as caught:
        read_pickle(file)
    assert str(file) in caught.value.found
    assert caught.value.mend, f"no mend in: {caught.value}"
    return caught.value


class Runs:
    """Runs a function when it is unpickled."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


class Plain:
    """A harmless instance, yet of a class."""


@pytest.mark.parametrize("protocol", range(6))
def test_reads_plain_rows_of_every_protocol(tmp_path, protocol):
    assert read_pickle(specimen(tmp_path, pickle.dumps(ROWS, protocol))) == ROWS


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (pickle.dumps(ROWS)[:-10], "truncated"),
        (b"", "truncated"),
        (b'[{"img_id": 7, "pred": "a dog"}]\n', "not a pickle"),
        (b"\x80\x04\xff", "not a pickle"),
        (pickle.dumps(ROWS) + b"\n", "goes on after its end"),
        (pickle.dumps({"img_id": 7}), "holds a dict"),
        (pickle.dumps("a dog"), "holds a str"),
        (b"\x80\x02]q\x00U\x03\xff\xfe\xfda.", "not UTF-8"),  # a Python 2 string
        (b"\x80\x02]h\x09a.", "not a pickle"),  # memo entry 9 was never put
        (b"\x80\x02}]K\x01s.", "not a pickle"),  # a list as a key
        (b"\x80\x05]\x97a.", "holds more than plain values"),  # an out-of-band buffer
    ],
)
def test_broken_files_are_named(tmp_path, content, says):
    assert says in refused(specimen(tmp_path, content)).found


@pytest.mark.parametrize("protocol", range(6))
def test_code_never_runs(tmp_path, protocol):
    witness = tmp_path / "it_ran"
    calls = [
        Runs(os.system, f"touch {witness}"),
        Runs(eval, f"open({str(witness)!r}, 'w').close()"),
        Runs(exec, f"open({str(witness)!r}, 'w').close()"),
        Runs(open, str(witness), "w"),
    ]
    for call in calls:
        content = pickle.dumps([call], protocol)
        assert "refused" in refused(specimen(tmp_path, content)).found
        assert not witness.exists()
    pickle.loads(content)[0].close()  # the specimens are real ones: plain pickle runs the last
    assert witness.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"(cposix\nsystem\n(S'true'\ntR.",  # GLOBAL and REDUCE by hand
        b"(S'true'\niposix\nsystem\n.",  # INST
        b"\x80\x04\x8c\x05posix\x8c\x06system\x93.",  # STACK_GLOBAL
        pickle.dumps([Plain()]),
        pickle.dumps([len]),
        pickle.dumps([complex(1, 2)]),
        pickle.dumps([RelicError("found")]),
    ],
)
def test_globals_are_refused_by_name(tmp_path, content):
    error = refused(specimen(tmp_path, content))
    assert "holds more than plain values" in error.found
    assert "delete it" in error.mend


@pytest.mark.parametrize("content", [b"]P42\na.", b"\x80\x02]K\x2aQa."])
def test_persistent_ids_are_refused(tmp_path, content):
    assert "PERSID" in refused(specimen(tmp_path, content)).found


@pytest.fixture
def extension():
    """`os.system` registered under code 240, as a library might register its own."""
    copyreg.add_extension(os.system.__module__, "system", 240)
    yield b"\x80\x02]\x82\xf0a."
    copyreg.remove_extension(os.system.__module__, "system", 240)


@pytest.mark.parametrize("code", [b"\x82\xf1", b"\x83\xf1\x00", b"\x84\xf1\x00\x00\x00"])
def test_unknown_extension_codes_are_refused(tmp_path, code):
    refused(specimen(tmp_path, b"\x80\x02]" + code + b"a."))


def test_registered_extension_codes_are_refused(tmp_path, extension):
    assert "EXT1" in refused(specimen(tmp_path, extension)).found


def test_extension_codes_in_pickles_cache_are_refused(tmp_path, extension):
    assert pickle.loads(extension) == [os.system]  # now cached: find_class is not asked again
    refused(specimen(tmp_path, extension))


def test_absent_file(tmp_path):
    assert "does not exist" in refused(tmp_path / "absent.pkl").found


def test_directory_in_place_of_a_file(tmp_path):
    assert "cannot be read" in refused(tmp_path).found


def test_link_to_itself(tmp_path):
    (tmp_path / "loop.pkl").symlink_to(tmp_path / "loop.pkl")
    assert "cannot be read" in refused(tmp_path / "loop.pkl").found


def test_file_that_cannot_be_read(tmp_path, unreadable):
    (tmp_path / "specimen.pkl").symlink_to(unreadable)
    assert "cannot be read" in refused(tmp_path / "specimen.pkl").found


def test_huge_file_is_not_even_opened(tmp_path):
    file = specimen(tmp_path, pickle.dumps(ROWS))
    os.truncate(file, pickles.LARGEST + 1)  # sparse: takes no room
    assert "500,000,001 bytes" in refused(file).found


# --- files of a few bytes that cost much -----------------------------------------------------


COSTLY = {
    "bytes": b"\x80\x05]\x8e" + struct.pack("<Q", 2**32) + b"abc",  # 4 GB of bytes announced
    "text": b"\x80\x05]\x8d" + struct.pack("<Q", 2**32) + b"abc",
    "bytearray": b"\x80\x05]\x96" + struct.pack("<Q", 2**32) + b"abc",
    "long": b"\x80\x02]\x8b" + struct.pack("<i", 2**31 - 1) + b"abc",
    "frame": b"\x80\x04\x95" + struct.pack("<Q", 2**40) + b"abc",
    "memo": b"\x80\x02]r" + struct.pack("<I", 2**25) + b".",  # a memo of 2**26 places
    "memo in text form": b"]p%d\n." % 2**25,
    "nested key": b"\x80\x02]})" + b"\x85" * 1_000_000 + b"K\x01sa.",  # tuples a million deep
    "nested lists": b"\x80\x02" + b"]" * 500_000 + b"a" * 499_999 + b".",
}
READER = """
import json, os, resource, sys
from pathlib import Path
from relic.data.pickles import manifest, read_pickle
manifest()  # which a first pickle reads: no cost of the file
from relic.errors import RelicError
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

def cost(name):
    child = os.fork()
    if not child:
        try:
            read_pickle(Path(name))
        except RelicError:
            pass
        os._exit(0)
    _, status, usage = os.wait4(child, 0)
    return status, usage.ru_maxrss // 1024

_, least = cost("absent")
costs = {Path(name).stem: cost(name) for name in sys.argv[1:]}
print(json.dumps({name: (status, most - least) for name, (status, most) in costs.items()}))
"""


@pytest.fixture(scope="module")
def costs(tmp_path_factory) -> dict[str, tuple[int, int]]:
    """Specimen -> exit status and megabytes, each read in a process of its own."""
    directory = tmp_path_factory.mktemp("costly")
    for name, content in COSTLY.items():
        (directory / f"{name}.pkl").write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", READER, *map(str, directory.iterdir())],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", COSTLY)
def test_small_files_cost_little_and_crash_nothing(costs, name):
    status, megabytes = costs[name]
    assert status == 0, f"reading killed the process (wait status {status})"
    assert megabytes < 150


# --- properties -------------------------------------------------------------------------------

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


@contextmanager
def little_memory():
    """At most 256 MB more than now: a bomb then fails instead of taking the machine with it."""
    with open("/proc/self/statm") as stream:
        now = int(stream.read().split()[0]) * resource.getpagesize()
    old = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 28), old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


def assert_plain_or_refused(file):
    """Reading gives plain values or a RelicError that names the file; anything else escapes."""
    said, content = str(file), None
    try:
        with little_memory():
            content = read_pickle(file)
    except RelicError as error:
        said = error.found
    assert str(file) in said
    left, seen = [content], set()
    while left:
        value = left.pop()
        if id(value) in seen:  # a list may hold itself
            continue
        seen.add(id(value))
        kinds = (list, dict, tuple, set, frozenset, str, bytes, bytearray, int, float, type(None))
        assert type(value) in (*kinds, bool)
        if isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            left += value


@QUIET
@given(content=st.lists(PLAIN, max_size=6), protocol=st.integers(0, 5))
def test_round_trip(tmp_path, content, protocol):
    assert read_pickle(specimen(tmp_path, pickle.dumps(content, protocol))) == content


@QUIET
@given(content=st.binary(max_size=200))
def test_random_bytes(tmp_path, content):
    assert_plain_or_refused(specimen(tmp_path, content))


@QUIET
@given(
    content=st.lists(PLAIN, max_size=4),
    protocol=st.integers(0, 5),
    changes=st.lists(st.tuples(st.integers(0), st.binary(max_size=3)), min_size=1, max_size=4),
)
def test_mutated_pickles(tmp_path, content, protocol, changes):
    dumped = bytearray(pickle.dumps(content, protocol))
    for place, new in changes:
        at = place % len(dumped)
        dumped[at : at + len(new)] = new
    assert_plain_or_refused(specimen(tmp_path, bytes(dumped)))


@QUIET
@given(ops=st.lists(st.sampled_from([bytes([i]) for i in b"()]}.012abdehjKMNQRVIFSstuq0\x82\x85\x86\x87\x88\x8f\x90\x91\x93\x94"]), max_size=60))  # fmt: skip
def test_random_opcodes(tmp_path, ops):
    assert_plain_or_refused(specimen(tmp_path, b"\x80\x04]" + b"".join(ops) + b"."))
