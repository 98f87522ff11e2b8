"""Shoal in a pipeline of scikit-learn: rows as coarse as a release, for training and prediction alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import shoal

try:
    import numpy as np
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("shoal"):
        raise
    raise shoal.MissingExtra("scikit-learn", extra="learn") from None

__all__ = ["Anonymizer"]


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Anonymizes the rows it is fitted on, and recodes any rows as coarse as those.

    Its output is text: ranges, nodes and sets, to be encoded by whatever follows. `fit` keeps the recoding
    and no row. What `transform` gives is for a model: to publish new rows use `shoal.Recoding.apply`.

    Args:
        k: How many rows each class of the rows it is fitted on must hold at least.
        quasi: The columns to recode; None for all. Others are left out.
        kinds: What a column's values are, as in a plan.
        hierarchies: Trees and builders by column, as in a plan.
        method: How rows come together, as in a plan.
        seed: Chance, as in a plan.

    """

    def __init__(
        self,
        k: int = 5,
        quasi: Sequence[str] | None = None,
        *,
        kinds: Mapping[str, str] | None = None,
        hierarchies: Mapping[str, Any] | None = None,
        method: str = "auto",
        seed: int = 0,
    ) -> None:
        self.k = k
        self.quasi = quasi
        self.kinds = kinds
        self.hierarchies = hierarchies
        self.method = method
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Anonymizer:  # noqa: N803
        """Anonymize the rows, and keep how that was done."""
        frame = self._frame(X, reset=True)
        release = shoal.anonymize(
            frame,
            k=self.k,
            quasi=list(self.quasi if self.quasi is not None else frame.columns),
            kinds=dict(self.kinds or {}),
            hierarchies=dict(self.hierarchies or {}),
            method=self.method,
            seed=self.seed,
        )
        self.recoding_ = release.recoding
        self.certificate_ = release.certificate
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The rows as coarse as those it was fitted on, in order; a frame for a frame, else an array."""
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        cells = self.recoding_.transform(frame)
        return cells if hasattr(X, "columns") else cells.to_numpy().astype(object)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The columns that come out."""
        check_is_fitted(self)
        return np.asarray(self.recoding_.get_feature_names_out(input_features), dtype=object)

    def _frame(self, X: Any, *, reset: bool) -> Any:  # noqa: N803
        import polars as pl

        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        if hasattr(X, "columns"):
            return X
        return pl.DataFrame({f"x{at}": pl.Series(_plain(array[:, at])) for at in range(array.shape[1])})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _plain(cells: Any) -> list[Any]:
    """The cells of one column of an array, in Python's own types."""
    return [cell.item() if hasattr(cell, "item") else cell for cell in cells]
