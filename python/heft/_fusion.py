# SPDX-License-Identifier: Apache-2.0
"""A model as a transformer of scikit-learn, which is not needed."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, fields
from typing import Any, Mapping, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from heft import errors
from heft._model import Method, Model, Recipe
from heft._record import Shown
from heft._tables import has_vectors, split
from heft._values import Labels

_ALONE = "features"  # the modality of an array without modalities


@dataclass(eq=False, repr=False)
class Fusion(Shown):
    """Fusion as a transformer of scikit-learn: fit trains a Model (``model_``), transform returns the
    fused vectors of Model.transform, without encryption: for plots, baselines and pipelines. It has
    scikit-learn's protocol and does not import it.

    modalities: {"face": 512, "voice": 128} for arrays that have the modalities side by side, in this
    order; None: an array is one modality. fit_kind is Model.train's ``fit``; the other parameters have
    the names of Model.train's. After fit there are also ``modalities_``, ``n_features_in_`` and, of
    data frames, ``feature_names_in_``."""

    modalities: Optional[Mapping[str, int]] = None
    gamma: int = 0
    method: Method = ""
    recipe: Recipe = "generalising"
    degree: int = 0
    fit_kind: str = ""
    profile: str = "standard"
    weight_of_pairs: float = 0.25
    margin: float = 0.5
    grid_search: bool = False
    epochs: int = 0
    patience: int = 0
    learning_rate: float = 0.0
    weight_decay: float = 0.0001
    shrinkage: float = -1.0
    drop_modality: float = 0.0
    modality_weights: Sequence[float] = ()
    seed: int = 1
    against_wolves: bool = False
    with_exact: bool = False

    def fit(self, X: Any, y: Optional[Labels] = None, split: Optional[Labels] = None) -> Fusion:
        """Trains the model. X: an array of shape (rows, dimensions), a mapping from modalities to
        arrays, or a DataFrame as for Workspace.add; y: the person of each row, which methods "pca" and
        "none" do not need. split: as for Model.train. Returns itself. Errors as Model.train's."""
        vectors, labels = self._read(X, y, self.modalities or {})
        options = self.get_params()
        del options["modalities"]
        options["fit"] = options.pop("fit_kind")
        model = Model.train(vectors, labels, split, **options)
        sizes = dict(model.modalities)
        self.model_ = model
        self.modalities_ = {name: sizes[name] for name in vectors}
        self.n_features_in_ = sum(sizes.values())
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(list(X.columns), dtype=object)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The fused vectors of all rows, as Model.transform: float32 of shape (rows, gamma). X has one
        of the forms of fit's. FailedPrecondition before fit; InvalidArgument."""
        if not self.__sklearn_is_fitted__():
            raise errors.FailedPrecondition("this Fusion is not fitted: call fit first")
        return self.model_.transform(self._read(X, None, self.modalities_)[0])

    def fit_transform(self, X: Any, y: Optional[Labels] = None, **fit_params: Any) -> NDArray[np.float32]:
        """fit, then transform of the same rows."""
        return self.fit(X, y, **fit_params).transform(X)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Names of the columns of the result: fusion0, fusion1, ..."""
        del input_features
        return np.asarray([f"fusion{i}" for i in range(self.model_.gamma)], dtype=object)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as they were given."""
        del deep
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def set_params(self, **params: Any) -> Fusion:
        """Sets parameters by name, and returns itself. InvalidArgument for an unknown name, without
        any change."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise errors.InvalidArgument(f"Fusion has no parameter {name}: it has {', '.join(known)}")
        self.__dict__.update(params)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Parameters, and facts about the model, or None before fit, in a form for JSON."""
        params = {name: dict(value) if isinstance(value, Mapping) else
                  list(value) if isinstance(value, (tuple, list)) else value
                  for name, value in self.get_params().items()}
        return {"params": params, "model": self.model_.to_dict() if self.__sklearn_is_fitted__() else None}

    def __repr__(self) -> str:
        changed = [f"{one.name}={getattr(self, one.name)!r}" for one in fields(self)
                   if getattr(self, one.name) != one.default]
        return f"Fusion({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        # Called by scikit-learn only.
        utils: Any = importlib.import_module("sklearn.utils")
        return utils.Tags(estimator_type="transformer",
                          target_tags=utils.TargetTags(required=self.method not in ("pca", "none")),
                          transformer_tags=utils.TransformerTags(preserves_dtype=["float32"]))

    @staticmethod
    def _read(given: Any, labels: Any, sizes: Mapping[str, int]) -> tuple[dict[str, Any], Any]:
        """The vectors by modality, and the labels."""
        if has_vectors(given, sizes):
            return split(given, list(sizes.items()), labels)
        if isinstance(given, Mapping):
            return dict(given), labels
        array = np.asarray(given)
        if array.ndim != 2:
            raise errors.InvalidArgument(f"X: an array of {array.ndim} dimensions; give one with a row for "
                                         "each sample, or a mapping from modalities to arrays")
        sizes = sizes or {_ALONE: array.shape[1]}
        if sum(sizes.values()) != array.shape[1]:
            raise errors.InvalidArgument(f"X has {array.shape[1]} columns, but the modalities have "
                                         f"{' + '.join(map(str, sizes.values()))}")
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: array[:, end - sizes[name]:end] for name, end in zip(sizes, ends)}, labels
