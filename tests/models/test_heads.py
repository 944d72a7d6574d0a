"""Models on a T5's encoder: plain numpy from recorded encoder states on, and a decoder over several texts.

Both the states and the way from them to the outputs are independent of the package. A text without tokens stands for
a table, candidate or passage that is absent.
"""

import dataclasses

import numpy as np
import pytest
from applying import applied
from safetensors.numpy import load_file

from lisax.models.architectures import DualEncoderConfig, FusionConfig, PointerConfig, ReaderConfig, SpanReaderConfig
from tests.references import recorded

T5, WIDTH = recorded.T5_1_1, recorded.T5_1_1.emb_dim
TEXTS = recorded.passages(T5)  # of four rows, three a row
ROWS = TEXTS.reshape(4, recorded.PASSAGES, -1)


@pytest.fixture(scope="module")
def record():
    return load_file(recorded.file_of("texts"))


def states_of(record, tower="passage"):
    """[tokens, emb] of each text."""
    return np.split(record[tower], np.cumsum((TEXTS > 0).sum(1))[:-1])


def softmax(x):
    odds = np.exp(x - x.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def pooled(states, query):
    return states.mean(0) if query is None else softmax(states @ query / np.sqrt(WIDTH)) @ states


def present_vectors(record, row, query):
    texts = states_of(record)[recorded.PASSAGES * row :][: recorded.PASSAGES]
    return np.stack([pooled(states, query) for states in texts if len(states)])


@pytest.mark.parametrize(
    ("objective", "heads", "pooling"), [("joint", 2, "attention"), ("ternary", 4, "mean"), ("uniform", 0, "attention")]
)
def test_table_fusion(record, objective, heads, pooling):
    config = FusionConfig(T5, objective, heads, pooling)
    parameters = recorded.drawn(config)
    head, found = parameters["fusion"], applied(config, parameters, ROWS)
    for row in range(4):
        vectors = present_vectors(record, row, head.get("pooling"))
        present, gathered = ROWS[row].any(-1), [vectors]
        for i in range(heads):
            query, key, value = (
                np.split(vectors @ head[name]["kernel"], heads, axis=1)[i] for name in ("query", "key", "value")
            )
            weights = softmax(query @ key.T / np.sqrt(WIDTH // heads))
            np.testing.assert_allclose(found.attention[row, i][np.ix_(present, present)], weights, atol=1e-4)
            gathered.append(weights @ value)
        hidden = np.tanh(np.concatenate(gathered, axis=1) @ head["hidden"]["kernel"])
        np.testing.assert_allclose(found.logits[row][present], hidden @ head["classes"]["kernel"], atol=1e-4)


class PlainPointer:
    """DeSePtion's equations 1 to 4 of one row, from the vectors of its candidates."""

    def __init__(self, config, head, vectors):
        self.config, self.head, self.vectors = config, head, vectors
        self.keys = vectors @ self.kernel("keys")

    def kernel(self, name):
        return self.head[name]["kernel"]

    def begin(self):
        """What a hypothesis is before its first step: LSTM state, what it reads next, pointers, and what they gave."""
        zeros = np.zeros(self.config.hidden)
        return {"state": (zeros, zeros), "read": self.head["start"], "pointers": (), "shares": (), "h": ()}

    def step(self, hypothesis):
        """(LSTM state, h after all hops, log-probabilities of the candidates that are left)"""
        sigmoid, (hidden, cell) = (lambda x: 1 / (1 + np.exp(-x))), hypothesis["state"]
        gates = (
            hypothesis["read"] @ self.kernel("lstm_input") + hidden @ self.kernel("lstm_state") + self.head["lstm_bias"]
        )
        write, forget, show, new = np.split(gates, 4)
        cell = sigmoid(forget) * cell + sigmoid(write) * np.tanh(new)
        hidden = h = sigmoid(show) * np.tanh(cell)
        for _ in range(self.config.hops):
            h = softmax(np.tanh(self.keys + h @ self.kernel("hop")) @ self.head["hop_score"]) @ self.keys
        logits = (
            np.tanh(self.vectors @ self.kernel("pointer_keys") + h @ self.kernel("pointer_state"))
            @ self.head["pointer_score"]
        )
        logits[list(hypothesis["pointers"])] = -np.inf
        return (hidden, cell), h, np.log(np.maximum(softmax(logits), 1e-30))

    def extended(self, hypothesis, state, h, shares, chosen):
        return {
            "state": state,
            "read": self.vectors[chosen],
            "pointers": (*hypothesis["pointers"], chosen),
            "shares": (*hypothesis["shares"], shares[chosen]),
            "h": (*hypothesis["h"], h),
        }

    def labels(self, x):
        return np.tanh(x @ self.kernel("hidden")) @ self.kernel("classes")

    def labels_of_set(self, hypothesis):
        read = np.zeros((self.config.steps, WIDTH))
        read[: len(hypothesis["pointers"])] = pointed = self.vectors[list(hypothesis["pointers"])]
        return self.labels(np.concatenate([read.ravel(), pointed.max(0), pointed.min(0)]))


POINTER = PointerConfig(T5, steps=3, hidden=6, hops=2, beam_size=3)


@pytest.mark.parametrize("gold", [(0, 0, 0), (2, 1, 0)], ids=str)
@pytest.mark.parametrize("relation", ["sequence", "set"])
def test_evidence_pointer_step_by_step(record, relation, gold):
    config = dataclasses.replace(POINTER, relation=relation, pooling="mean" if relation == "set" else "attention")
    parameters = recorded.drawn(config)
    forced, own = applied(config, parameters, ROWS, np.tile(gold, (4, 1)))
    for path, given in ((forced, gold), (own, (0, 0, 0))):
        for row in range(4):
            vectors = present_vectors(record, row, parameters["pointer"].get("pooling"))
            present = np.flatnonzero(ROWS[row].any(-1))
            plain = PlainPointer(config, parameters["pointer"], vectors)
            hypothesis = plain.begin()
            for step in range(len(vectors)):
                state, h, shares = plain.step(hypothesis)
                left = [i for i in range(len(vectors)) if i not in hypothesis["pointers"]]
                np.testing.assert_allclose(path.log_pointers[row, step][present[left]], shares[left], atol=1e-4)
                chosen = list(present).index(given[step] - 1) if given[step] else int(np.argmax(shares))
                hypothesis = plain.extended(hypothesis, state, h, shares, chosen)
            expected = [int(present[i]) for i in hypothesis["pointers"]]
            assert np.asarray(path.pointers[row]).tolist() == expected + [-1] * (3 - len(expected))
            if relation == "set":
                np.testing.assert_allclose(path.labels[row, 0], plain.labels_of_set(hypothesis), atol=1e-4)
            else:
                np.testing.assert_allclose(
                    path.labels[row, : len(vectors)], plain.labels(np.stack(hypothesis["h"])), atol=1e-4
                )


@pytest.mark.parametrize("relation", ["sequence", "set"])
def test_evidence_pointer_beams(record, relation):
    config = dataclasses.replace(POINTER, relation=relation)
    parameters = recorded.drawn(config)
    found = applied(config, parameters, ROWS, method="search")
    for row in range(4):
        present = np.flatnonzero(ROWS[row].any(-1))
        plain = PlainPointer(
            config, parameters["pointer"], present_vectors(record, row, parameters["pointer"]["pooling"])
        )
        beams = [plain.begin()]
        for _ in present:
            grown = []
            for hypothesis in beams:
                step = plain.step(hypothesis)
                grown += [
                    plain.extended(hypothesis, *step, i) for i in range(len(present)) if i not in hypothesis["pointers"]
                ]
            beams = sorted(grown, key=lambda hypothesis: -sum(hypothesis["shares"]))[: config.beam_size]
        assert len(beams) > 1
        for place, hypothesis in enumerate(beams):
            count = len(present)
            seen = np.asarray(found.pointers[row, place, :count]).tolist()
            assert seen == [present[i] for i in hypothesis["pointers"]]
            assert (np.asarray(found.pointers[row, place, count:]) == -1).all()
            np.testing.assert_allclose(found.scores[row, place], sum(hypothesis["shares"]), atol=1e-4)
            np.testing.assert_allclose(found.shares[row, place, :count], np.exp(hypothesis["shares"]), atol=1e-4)
            labels = (
                plain.labels_of_set(hypothesis)[None] if relation == "set" else plain.labels(np.stack(hypothesis["h"]))
            )
            np.testing.assert_allclose(found.labels[row, place], softmax(labels).mean(0), atol=1e-4)


@pytest.mark.parametrize("pooling", ["mean", "first"])
@pytest.mark.parametrize("tied", [True, False])
def test_dual_encoder(record, tied, pooling):
    config = DualEncoderConfig(T5, pooling, tied)
    questions, passages = applied(config, recorded.drawn(config), TEXTS, TEXTS)
    there = TEXTS.any(1)
    for found, tower in ((questions, "passage" if tied else "question"), (passages, "passage")):
        expected = [
            states[0] if pooling == "first" else states.mean(0) for states in states_of(record, tower) if len(states)
        ]
        np.testing.assert_allclose(np.asarray(found)[there], np.array(expected) / WIDTH**0.25, atol=1e-4)


def test_span_reader(record):
    config = SpanReaderConfig(T5, recorded.PASSAGES)
    parameters, tokens = recorded.drawn(config), TEXTS.reshape(4, -1)
    logits = np.asarray(applied(config, parameters, tokens))
    np.testing.assert_allclose(logits[tokens > 0], record["passage"] @ parameters["span"]["kernel"], atol=1e-4)
    assert (logits[tokens == 0] < -1e9).all()


def test_generating_reader(record):
    config, answers = ReaderConfig(T5, recorded.PASSAGES), recorded.answers(T5)
    logits = applied(config, recorded.drawn(config), TEXTS.reshape(4, -1), recorded.shifted(answers), answers)
    np.testing.assert_allclose(np.asarray(logits)[answers > 0], record["logits"], atol=1e-4)
