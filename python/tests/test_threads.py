# SPDX-License-Identifier: Apache-2.0
"""The interpreter's lock is released, threads share objects, and Ctrl-C leaves nothing half done."""

import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import heft
from heft import _library
from conftest import World


def test_others_run_while_a_call_computes(world: World) -> None:
    rows = np.random.default_rng(1).normal(size=(3000, 64)).astype(np.float32)
    calling, steps = threading.Event(), [0]
    done = threading.Event()

    def count() -> None:
        calling.wait()
        while not done.is_set():
            steps[0] += 1
            time.sleep(0)

    other = threading.Thread(target=count)
    other.start()
    calling.set()
    time.sleep(0.01)
    before = steps[0]
    world.client.encrypt("face", rows, encoding="bulk")
    during = steps[0] - before
    done.set()
    other.join()
    assert during > 20, "the other thread stood still while this one encrypted"


def test_threads_share_the_roles(world: World, gallery: str) -> None:
    world.enrol(gallery)
    held = heft.Gallery(gallery)

    def ask(person: int) -> str:
        reply = world.matcher.identify(held, world.probe(person))
        return world.owner.decide(reply, score=0.5).identity

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, [0, 1, 2, 3] * 4)) == [f"person {i}" for i in [0, 1, 2, 3] * 4]


def test_closing_waits_for_nobody_and_breaks_nothing(world: World, gallery: str) -> None:
    world.enrol(gallery)
    keys = world.owner.evaluation_keys()
    for _ in range(3):
        matcher = heft.Matcher(world.model, keys)
        probes = [world.probe(1) for _ in range(4)]
        with ThreadPoolExecutor(2) as pool:
            answers = [pool.submit(matcher.identify, gallery, probe) for probe in probes]
            matcher.close()
            for answer in answers:
                try:
                    world.owner.decide(answer.result(), score=0.5)
                except heft.FailedPrecondition as closed:
                    assert "closed" in str(closed)


LONG = """
import sys
import numpy as np
import heft

model = heft.Model.load(sys.argv[1] + "/model.heft")
owner = heft.KeyOwner.load(model, sys.argv[1] + "/keys")
client = heft.Client(model, sys.argv[1] + "/keys/encryption.key")
matcher = heft.Matcher(model, sys.argv[1] + "/keys/evaluation.keys",
                       sys.argv[1] + "/keys/enrolment.keys")
rng = np.random.default_rng(1)
rows = 100_000
vectors = {name: rng.normal(size=(rows, size)).astype(np.float32) for name, size in model.modalities}
print("ready", flush=True)
try:
    matcher.enrol_many(sys.argv[1] + "/gallery", vectors, np.arange(rows), client=client,
                       progress=lambda what, done, total, note: print(done, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(17)
"""


def test_ctrl_c_ends_a_long_call(world: World, tmp_path: pathlib.Path) -> None:
    world.model.save(tmp_path / "model.heft")
    heft.KeyOwner.generate(world.model, tmp_path / "keys")
    program = subprocess.Popen([sys.executable, "-c", LONG, str(tmp_path)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    while program.stdout.readline() == "0\n":  # the first batch is in
        pass
    began = time.monotonic()
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=120)
    assert program.returncode == 17, err
    assert out.endswith("interrupted\n") and time.monotonic() - began < 60
    gallery = heft.Gallery(tmp_path / "gallery")
    assert gallery.verify(world.model).intact
    waiting = gallery.pending()
    assert waiting and all(len(batch.identities) == 4096 for batch in waiting), "each whole or not at all"


def test_ctrl_c_ends_a_training(world: World, tmp_path: pathlib.Path) -> None:
    world.data.save(tmp_path / "data")
    program = subprocess.Popen(
        [sys.executable, "-c", "import sys, heft; print('ready', flush=True); "
         "heft.Model.train(sys.argv[1], epochs=1000, patience=1000, gamma=32)",
         str(tmp_path / "data")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ))
    assert program.stdout is not None and program.stdout.readline() == "ready\n"
    time.sleep(0.5)
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=120)
    assert "KeyboardInterrupt" in err and program.returncode != 0


WAITING = """
import sys
import numpy as np
import heft

model = heft.Model.load(sys.argv[1] + "/model.heft")
client = heft.Client(model, sys.argv[1] + "/keys/encryption.key")
matcher = heft.Matcher(model, sys.argv[1] + "/keys/evaluation.keys",
                       sys.argv[1] + "/keys/enrolment.keys")
files = {name: client.encrypt(name, np.ones((1, size), np.float32), ["cy"])
         for name, size in model.modalities}
print("ready", flush=True)
try:
    matcher.enrol(sys.argv[1] + "/gallery", files)
except KeyboardInterrupt:
    sys.exit(17)
"""


def test_ctrl_c_ends_a_wait_for_another_writer(world: World, tmp_path: pathlib.Path) -> None:
    """While this process activates, another one waits to enrol."""
    world.model.save(tmp_path / "model.heft")
    keys, gallery = tmp_path / "keys", tmp_path / "gallery"
    owner = heft.KeyOwner.generate(world.model, keys)
    client = heft.Client(world.model, keys / "encryption.key")
    matcher = heft.Matcher(world.model, keys / "evaluation.keys", keys / "enrolment.keys")
    matcher.enrol(gallery, client.encrypt_each(world.rows(range(2)), ["ann", "bob"]))
    word = owner.approve(matcher.pending(gallery)).signed_admission
    holds, go_on = threading.Event(), threading.Event()

    def hold(what: str, done: int, total: int, note: str) -> None:
        holds.set()
        go_on.wait(120)

    writer = threading.Thread(target=matcher.activate, args=(gallery, word, owner.public_key),
                              kwargs={"progress": hold})
    writer.start()
    try:
        assert holds.wait(60)
        program = subprocess.Popen([sys.executable, "-c", WAITING, str(tmp_path)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ))
        assert program.stdout is not None and program.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(2)
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=50)  # it would wait for 60 seconds
        assert program.returncode == 17, err
    finally:
        go_on.set()
        writer.join()
    assert heft.Gallery(gallery).identities() == ["ann", "bob"]
    assert heft.Gallery(gallery).pending() == []


HELD_UP = """
import fcntl, sys, threading, time
import heft

gallery = heft.Gallery(sys.argv[1])
with open(sys.argv[1] + "/server.lock", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    waiting = threading.Thread(target=lambda: gallery.server_key)
    waiting.start()
    time.sleep(1)
    assert waiting.is_alive() and not gallery.closed and len(gallery) == 8
    gallery.identities()
waiting.join()
print(gallery.server_key)
"""


def test_a_wait_for_the_server_key_holds_nobody_up(world: World, gallery: str) -> None:
    world.enrol(gallery)
    for name in ("server.key", "server.pub", "keys.made"):
        (pathlib.Path(gallery) / name).unlink()
    done = subprocess.run([sys.executable, "-c", HELD_UP, gallery], stdout=subprocess.PIPE, text=True,
                          timeout=120)
    assert done.returncode == 0 and len(done.stdout.strip()) == 64


def test_a_callback_may_ask_its_owner_and_not_change_it(world: World) -> None:
    asked: list[int] = []

    def ask(what: str, done: int, total: int, note: str) -> None:
        asked.append(world.owner.budget().limits.scores)

    world.owner.evaluation_keys(progress=ask)
    assert asked and set(asked) == {10**6}

    def change(what: str, done: int, total: int, note: str) -> None:
        world.owner.set_budget(scores=1)

    with pytest.raises(heft.FailedPrecondition, match="callback"):
        world.owner.evaluation_keys(progress=change)
    assert world.owner.budget().limits.scores == 10**6


STARTED = """
import os, signal, sys, threading, time
import numpy as np
import heft

model = heft.Model.load(sys.argv[1] + "/model.heft")
owner = heft.KeyOwner.load(model, sys.argv[1] + "/keys")
"""

# Programs that would hang or crash, by what they try, with what they print.
PROGRAMS = {
    "a call while the interpreter ends": ("""
class Last:
    def __del__(self):
        print(model.to_bytes()[:4].decode(), flush=True)

def generate():
    try:
        yield
    finally:
        print(owner.budget().limits.decisions > 0, flush=True)

last, more = Last(), generate()
next(more)
""", {"HEFT", "True"}),
    "signals that raise, one soon after the other": ("""
class Late(Exception):
    pass

def late(*_):
    global raises
    if raises:
        raises -= 1
        raise Late

def attempt():
    global raises, hits
    try:
        try:
            try:
                raises = 2
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 1e-3), 1e-4)
                owner.budget()
            finally:
                raises = 0
        except Late:
            hits += 1
    except Late:
        hits += 1

raises = hits = 0
signal.signal(signal.SIGALRM, late)
rng = np.random.default_rng(1)
end = time.monotonic() + 4
while time.monotonic() < end:
    attempt()
signal.setitimer(signal.ITIMER_REAL, 0)
print(hits > 0)
owner.set_budget(scores=1)
print(owner.budget().limits.scores)
""", {"True", "1"}),
    "a child of fork in a callback": ("""
children = []

def fork(*_):
    if not children:
        children.append(os.fork())

try:
    owner.evaluation_keys(progress=fork)
except heft.FailedPrecondition as error:
    assert children == [0] and "child of fork" in str(error) and owner.encryption_key()
    os._exit(3)
print(os.waitpid(children[0], 0)[1])
""", {str(3 << 8)}),
    "Ctrl-C in a call of a callback, which the handler sees once": ("""
seen = []

def interrupt(*_):
    seen.append(1)
    raise KeyboardInterrupt

def call(*_):
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    heft.Model.train(data, gamma=32, epochs=100000, patience=100000, progress=lambda *_: None)

signal.signal(signal.SIGINT, interrupt)
data = heft.TrainingData.synthesise(identities=190, samples=6)
try:
    owner.evaluation_keys(progress=call)
except KeyboardInterrupt:
    time.sleep(0.2)
    print(len(seen))
""", {"1"}),
    "an end of the interpreter in which threads wait for a lock and in a callback": ("""
folder = sys.argv[1] + "/ends"
client = heft.Client(model, owner.encryption_key())
matcher = heft.Matcher(model, sys.argv[1] + "/keys/evaluation.keys", sys.argv[1] + "/keys/enrolment.keys")
files = client.encrypt_each({name: np.ones((1, size), "f4") for name, size in model.modalities}, ["ann"])
matcher.enrol(folder, files)
word = owner.approve(matcher.pending(folder)).signed_admission
holds = threading.Event()

def hold(*_):
    holds.set()
    time.sleep(3)

threading.Thread(target=matcher.activate, args=(folder, word, owner.public_key), kwargs={"progress": hold},
                 daemon=True).start()
holds.wait()
threading.Thread(target=matcher.enrol, args=(folder, files), daemon=True).start()
time.sleep(0.5)

class Last:
    def __del__(self, sleep=time.sleep):
        sleep(4)

last = Last()
print("ends", flush=True)
""", {"ends"}),
    "a workspace in its own callback": ("""
def again(*_):
    space.search(rows)

space = heft.Workspace.create(sys.argv[1] + "/workspace", model=model)
rows = {name: np.ones((1, size), "f4") for name, size in model.modalities}
space.add(rows, ["ann"])
try:
    space.search(rows, progress=again)
except heft.FailedPrecondition as error:
    print(error)
print(len(space.search(rows)))
""", {"a callback of a workspace's call cannot use that workspace: do it when the call is back", "1"}),
    "an exception that is false": ("""
class Nothing(Exception):
    def __len__(self):
        return 0

def fail(*_):
    raise Nothing

try:
    owner.evaluation_keys(progress=fail)
except Nothing:
    print("raised")
""", {"raised"}),
    "a str whose encode is another": ("""
class Text(str):
    def encode(self, *_):
        return 5

client = heft.Client(model, owner.encryption_key())
files = client.encrypt(Text("face"), np.ones((1, 64), "f4"), [Text("ann")])
print(len(files) > 0, heft.fits({"a": "b"}, Text("a=b")))
""", {"True True"}),
}


@pytest.fixture(scope="module")
def started(world: World, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with a model and keys, for the programs."""
    folder = tmp_path_factory.mktemp("started")
    world.model.save(folder / "model.heft")
    heft.KeyOwner.generate(world.model, folder / "keys").close()
    return folder


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_end_as_they_should(name: str, started: pathlib.Path) -> None:
    text, prints = PROGRAMS[name]
    done = subprocess.run([sys.executable, "-c", STARTED + text, str(started)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 0 and set(done.stdout.splitlines()) == prints, done.stderr


def test_an_exception_in_the_worker_comes_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(_library._declared("heft_thread_count"), "fails", True)
    monkeypatch.setattr(_library._declared("heft_thread_count"), "raw", fail)
    fail.__name__ = "fail"
    with pytest.raises(ZeroDivisionError):
        heft.threads()
    assert world.model.to_bytes()


def test_functions_that_sign_are_freed() -> None:
    class Sign:
        def __call__(self, message: bytes) -> bytes:
            return b""

    key = heft.SigningKey.generate().public_key
    for given in (key, "no key"):
        function = Sign()
        held = weakref.ref(function)
        try:
            heft.SigningKey.outside(given, function).close()
        except heft.InvalidArgument:
            pass
        del function
        gc.collect()
        assert held() is None
