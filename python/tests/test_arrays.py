# SPDX-License-Identifier: Apache-2.0
"""Arrays and files: what is taken, what is copied, and what is refused."""

import pathlib
import tracemalloc
from typing import Any, Union, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import heft
from conftest import World


def scores(world: World, gallery: str, face: object) -> float:
    files = {"face": world.client.encrypt("face", face, use="identification"),  # type: ignore[arg-type]
             "voice": world.probe(2)["voice"]}
    opened = world.owner.open(world.matcher.identify(gallery, files))
    return opened.candidates[0].score


def test_every_form_of_the_same_numbers_is_the_same_vector(world: World, gallery: str) -> None:
    world.enrol(gallery)
    face = world.rows(range(2, 3), 1)["face"]
    wide = np.zeros((1, 128), np.float32)
    wide[:, ::2] = face
    swapped = face.astype(">f4")
    forms: list[object] = [face, face[0], face.astype(np.float64), face[0].tolist(), wide[:, ::2],
                           swapped, np.asfortranarray(face)]
    found = [scores(world, gallery, form) for form in forms]
    assert max(found) - min(found) < 3e-3


def allocated(world: World, rows: Union[NDArray[np.float32], NDArray[np.float64]]) -> int:
    """Bytes that NumPy takes while rows are looked at; the wrong dimension ends it early."""
    tracemalloc.start()
    with pytest.raises(heft.InvalidArgument, match="dimension"):
        world.client.encrypt("face", rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_contiguous_float32_is_not_copied(world: World) -> None:
    rows = np.ones((1000, 1000), np.float32)
    assert allocated(world, rows) < rows.nbytes / 10
    assert allocated(world, rows[::2]) >= rows.nbytes / 2
    assert allocated(world, rows.astype(np.float64)) >= rows.nbytes


def test_a_models_projection_is_a_view_that_outlives_the_name(world: World) -> None:
    model = heft.Model.load(world.model.to_bytes())
    view = model.projection
    assert view.shape == (16, 112) and view.dtype == np.float64
    assert not view.flags.owndata and not view.flags.writeable
    expected = world.model.projection.copy()
    del model
    assert np.array_equal(view, expected)


@pytest.mark.parametrize("face", [
    np.ones(64, np.int32), np.ones((1, 1, 64), np.float32), np.ones(63, np.float32),
    np.ones((2, 32), np.float32), np.array(["a"] * 64), np.ones(64, np.complex128), None,
    np.full(64, np.nan, np.float32), np.full(64, np.inf), np.zeros(64, np.float32),
    np.full(64, 1e300), np.ones((0, 64), np.float32)])
def test_what_is_no_vector(world: World, face: object) -> None:
    with pytest.raises(heft.InvalidArgument) as refused:
        world.client.encrypt("face", face)  # type: ignore[arg-type]
    assert isinstance(refused.value, ValueError) and str(refused.value)


def test_labels(world: World, gallery: str) -> None:
    rows = world.rows(range(3))
    forms: list[Any] = [["1", "2", "3"], [1, 2, 3], np.arange(1, 4), np.array(["1", "2", "3"])]
    for labels in forms:
        files = world.client.encrypt_each(rows, labels)
        world.matcher.enrol(gallery + str(type(labels[0])), files)
    assert heft.Gallery.names(gallery + str(str)) == ["main"]
    with pytest.raises(TypeError, match="labels"):
        world.client.encrypt("face", rows["face"], [1.5, 2.5, 3.5])  # type: ignore[arg-type]
    with pytest.raises(heft.InvalidArgument):
        world.client.encrypt("face", rows["face"], ["1", "2"])
    with pytest.raises(heft.InvalidArgument):
        world.client.encrypt("face", rows["face"], ["1", "2", "a\nb"])


def test_files_are_bytes_or_paths(world: World, gallery: str, tmp_path: pathlib.Path) -> None:
    files = world.client.encrypt_each(world.rows(range(2)), ["ann", "bob"])
    face = tmp_path / "face.ct"
    face.write_bytes(files["face"])
    world.matcher.enrol(gallery, [face, memoryview(files["voice"])])
    world.activate(gallery)
    key = tmp_path / "encryption.key"
    key.write_bytes(world.owner.encryption_key())
    heft.Client(world.model, key)
    heft.Client(world.model, str(key))
    with pytest.raises(heft.NotFound, match="nowhere"):
        heft.Client(world.model, tmp_path / "nowhere.key")
    with pytest.raises(TypeError):
        heft.Client(world.model, 17)  # type: ignore[arg-type]


def test_training_from_arrays_is_training_from_the_folder(
        world: World, tmp_path: pathlib.Path) -> None:
    world.data.save(tmp_path / "data")
    loaded = heft.TrainingData.load(tmp_path / "data")
    assert loaded.labels == world.data.labels and len(loaded) == 180
    split = (tmp_path / "data" / "split.txt").read_text().split()
    arrays = {name: world.data.vectors(name) for name in reversed(world.data.modalities)}
    a = heft.Model.train(arrays, world.data.labels, split, gamma=8, epochs=2)
    b = heft.Model.train(tmp_path / "data", gamma=8, epochs=2)
    assert a.id == b.id and a.decision_id == b.decision_id
    assert a.modalities == [("face", 64), ("voice", 48)]
    assert a.training_summary["options"] == b.training_summary["options"]


class Clears:
    """An array that empties the mapping that it is in."""

    def __init__(self, mapping: dict[str, Any], rows: NDArray[np.float32]) -> None:
        self.mapping, self.rows = mapping, rows

    def __array__(self, *_: Any, **__: Any) -> NDArray[np.float32]:
        self.mapping.clear()
        self.junk = [f"x{i}" * 5 for i in range(100_000)]
        return self.rows


def test_a_mapping_may_change_meanwhile(world: World) -> None:
    calls: list[Any] = [world.client.encrypt_each, world.client.encrypt_fused]
    for call in calls:
        mapping: dict[str, Any] = {}
        for name, rows in world.rows(range(2)).items():
            mapping["".join(list(name))] = Clears(mapping, rows)
        said = call(mapping)
        assert not mapping
        assert isinstance(said, bytes) or list(said) == ["face", "voice"]


def test_what_an_array_says_of_itself_is_told(world: World) -> None:
    class Says:
        def __init__(self, error: BaseException) -> None:
            self.error = error

        def __array__(self, *_: Any, **__: Any) -> NDArray[np.float32]:
            raise self.error

    for error in (ZeroDivisionError("x"), MemoryError("x"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            world.client.encrypt("face", cast(Any, Says(error)))
    with pytest.raises(heft.InvalidArgument, match="face: .*on another device"):
        world.client.encrypt("face", cast(Any, Says(TypeError("on another device"))))
    with pytest.raises(heft.InvalidArgument, match="float32"):
        world.client.encrypt("face", cast(Any, [[1.0], [1.0, 2.0]]))
    with pytest.raises(MemoryError):
        world.client.encrypt("face", np.broadcast_to(np.float32(1), (2**40, 64)))
