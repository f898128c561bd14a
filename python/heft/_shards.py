# SPDX-License-Identifier: Apache-2.0
"""Galleries in buckets: the shard list, the buckets, and the bucket of an identity."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Optional

from heft._gallery import RETENTION_BYTES, RETENTION_SECONDS, Gallery, opened_as
from heft._library import call
from heft._values import Names, Object, Path, labels_of, path_of, text_of

if TYPE_CHECKING:
    from heft._matcher import Matcher


class ShardList(Object):
    """The buckets of a divided gallery, which also determine the bucket of each identity
    (docs/scale.md). Give the key owner this file by a separate, trusted way, as the trust
    file."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __init__(self, gallery: str, buckets: Names) -> None:
        """A list from the ids of galleries (Gallery.gallery_id), ordered by bucket. InvalidArgument."""
        ids = labels_of(buckets)
        self._held = call("heft_shards_make", text_of(gallery, "gallery"), ids, len(ids))

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return dict(call("heft_shards_describe", self))

    @staticmethod
    def create(matcher: Matcher, gallery: Path, buckets: int, *, retention_seconds: int = RETENTION_SECONDS,
               retention_bytes: int = RETENTION_BYTES) -> ShardList:
        """Makes empty galleries in one store, one per bucket, "store:people.000" and so on for
        "store:people", and returns their list. After an interrupted call, the existing empty
        buckets are used. AlreadyExists, Unavailable."""
        return ShardList._of(call(
            "heft_shards_create", matcher, path_of(gallery), buckets,
            {"retention_seconds": retention_seconds, "retention_bytes": retention_bytes}))

    @staticmethod
    def load(path: Path) -> ShardList:
        """Loads a file. DataLoss, NotFound, Unavailable."""
        return ShardList._of(call("heft_shards_load", path_of(path)))

    @staticmethod
    def parse(text: str) -> ShardList:
        """Reads a file's text, which str() gives. DataLoss."""
        return ShardList._of(call("heft_shards_parse", text_of(text, "text").encode(), "shards"))

    def save(self, path: Path) -> None:
        """Writes or replaces the file. Unavailable."""
        call("heft_shards_save", self, path_of(path))

    @property
    def gallery(self) -> str:
        """Name of the gallery."""
        return str(self._facts["gallery"])

    @property
    def gallery_id(self) -> str:
        """Id of the gallery as a whole, which decisions contain; 32 hexadecimal digits."""
        return str(self._facts["gallery_id"])

    @property
    def buckets(self) -> list[str]:
        """Ids of the buckets' galleries, ordered by bucket."""
        return list(self._facts["buckets"])

    def bucket_of(self, identity: str) -> int:
        """The bucket of an identity."""
        return bucket_of(identity, len(self))

    def find(self, gallery: str) -> Optional[int]:
        """The bucket with that gallery id, or None."""
        bucket = int(call("heft_shards_number", self, text_of(gallery, "gallery")))
        return bucket if bucket >= 0 else None

    def open_bucket(self, gallery: Path, bucket: int) -> Gallery:
        """Opens one bucket. FailedPrecondition if the gallery of that name has another id than in
        the list; NotFound."""
        opened = call("heft_shards_open", self, path_of(gallery), bucket)
        return opened_as(call("heft_bucket_address", path_of(gallery), bucket), opened)

    def open(self, gallery: Path) -> list[Gallery]:
        """Opens all buckets, in order."""
        return [self.open_bucket(gallery, bucket) for bucket in range(len(self))]

    def __len__(self) -> int:
        return len(self._facts["buckets"])

    def __eq__(self, other: object, /) -> bool:
        return isinstance(other, ShardList) and str(self) == str(other)

    def __str__(self) -> str:
        return str(self._facts["text"])

    def _shown(self) -> dict[str, Any]:
        return {"gallery": self.gallery, "gallery_id": self.gallery_id, "buckets": self.buckets}

    def _words(self) -> str:
        return f"{self.gallery}, {len(self)} buckets"


def bucket_of(identity: str, buckets: int) -> int:
    """The bucket of an identity, among so many."""
    return int(call("heft_bucket_of", text_of(identity, "identity"), buckets))


def bucket_address(gallery: str, bucket: int) -> str:
    """The name of a bucket: "people.007" for "people". Also for FOLDER:NAME."""
    return str(call("heft_bucket_address", text_of(gallery, "gallery"), bucket))
