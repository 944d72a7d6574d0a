"""The strongest cheap baseline of a set of claims: a classifier of their words that reads no evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lisax.errors import DataError
from lisax.records import LABELS, Claim, Label, Prediction


def claim_words_verdicts(training: Iterable[Claim], claims: Mapping[str, Claim]) -> dict[str, Prediction]:
    """Predictions without evidence from the TF-IDF of a claim's words and pairs of words, by a logistic regression on
    the claims of `training` that have labels: seconds for tens of thousands. Raises DataError if none has one."""
    labelled = [(claim.text, str(claim.label)) for claim in training if claim.label is not None]
    if not labelled:
        raise DataError("a classifier of claims needs claims that have labels, found none")
    texts, labels = zip(*labelled)
    if len(set(labels)) == 1 or not claims:
        shares = {claim_id: {labels[0]: 1.0} for claim_id in claims}
    else:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+", sublinear_tf=True)
        model = make_pipeline(words, LogisticRegression(max_iter=1000)).fit(texts, labels)
        rows = model.predict_proba([claim.text for claim in claims.values()])
        shares = {claim_id: dict(zip(model.classes_, map(float, row))) for claim_id, row in zip(claims, rows)}
    return {
        claim_id: Prediction(
            claim_id, Label(max(found, key=found.get)), tuple(found.get(str(one), 0.0) for one in LABELS), ()
        )
        for claim_id, found in shares.items()
    }
