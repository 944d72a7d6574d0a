"""Writes the recorded outputs: `python -m tests.references.write_references`, which needs `make peers`.

Outputs are those of transformers' T5, MT5 and UMT5 in float32; the versions are in each file's metadata. The tests that
read the files need neither transformers nor torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transformers
from safetensors.numpy import save
from transformers.modeling_outputs import BaseModelOutput

from lisax.models.architectures import DualEncoderConfig
from lisax.models.decoding import Decoding
from lisax.weights.pretrained import get
from tests.models.reference import their_ids, torch_encoder, torch_t5
from tests.references import recorded

KINDS = {"mt5": "MT5", "umt5": "UMT5"}


def main() -> None:
    torch.set_num_threads(1)  # the same bytes again
    for name, config in recorded.ARCHITECTURES.items():
        model = torch_t5(config, recorded.drawn(config), KINDS.get(name, "T5"))
        write(name, of_transformer(config, model) | searches(model, recorded.questions(config), encoded=None))
    write("answers", {name: of_answers(name) for name in recorded.ARCHITECTURES})
    write("texts", of_texts())
    write("minilm", of_minilm())
    write("encoders", {key: array for name in recorded.ENCODERS for key, array in of_encoder(name).items()})


def write(name: str, arrays: dict[str, np.ndarray]) -> None:
    versions = {"written_with": f"transformers {transformers.__version__}, torch {torch.__version__}"}
    arrays = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
    recorded.file_of(name).write_bytes(save(arrays, versions))


def of_transformer(config: Any, model: Any) -> dict[str, np.ndarray]:
    inputs, targets = recorded.inputs(config), recorded.targets(config)
    with torch.no_grad():
        found = model(
            input_ids=tensor(inputs),
            attention_mask=tensor(inputs > 0),
            decoder_input_ids=tensor(recorded.shifted(targets)),
        )
    return {
        "encoded": recorded.stored(found.encoder_last_hidden_state, inputs, recorded.ENCODED_AT),
        "logits": recorded.stored(found.logits, targets, recorded.LOGITS_AT),
    }


def of_answers(name: str) -> np.ndarray:
    """float32 [4, answers]: the log-probability of each whole answer, with its EOS."""
    config = recorded.ARCHITECTURES[name]
    model, inputs = torch_t5(config, recorded.drawn(config), KINDS.get(name, "T5")), recorded.questions(config)
    scores = np.zeros((len(inputs), len(recorded.ANSWERS)), np.float32)
    for column, answer in enumerate(recorded.ANSWERS):
        targets = np.tile([*answer, 1], (len(inputs), 1))
        with torch.no_grad():
            logits = model(
                input_ids=tensor(inputs),
                attention_mask=tensor(inputs > 0),
                decoder_input_ids=tensor(recorded.shifted(targets)),
            ).logits
        scores[:, column] = logits.log_softmax(-1).gather(2, tensor(targets)[..., None])[..., 0].sum(1).numpy()
    return scores


def searches(model: Any, inputs: np.ndarray, encoded: Any) -> dict[str, np.ndarray]:
    """Tokens int8 [rows, beams, SEARCH_LENGTH], 0 after EOS, and scores float32 [rows, beams] of every search."""
    found = {}
    for name, decoding in recorded.SEARCHES.items():
        tokens, scores = search(model, inputs, encoded, decoding)
        found |= {f"{name}.tokens": tokens.astype(np.int8), f"{name}.scores": scores}
    return found


def search(model: Any, inputs: np.ndarray, encoded: Any, decoding: Decoding) -> tuple[np.ndarray, np.ndarray]:
    beams, rows, length = decoding.beam_size, len(inputs), recorded.SEARCH_LENGTH
    of_beams = (
        {"length_penalty": decoding.length_penalty, "early_stopping": decoding.early_stopping} if beams > 1 else {}
    )
    source = {"input_ids": tensor(inputs)} if encoded is None else {"encoder_outputs": BaseModelOutput(encoded)}
    found = model.generate(
        **source,
        attention_mask=tensor(inputs > 0),
        max_new_tokens=length,
        do_sample=False,
        num_beams=beams,
        num_return_sequences=beams,
        output_scores=True,
        return_dict_in_generate=True,
        use_cache=False,
        **of_beams,
    )
    sequences = found.sequences.numpy()[:, 1:].reshape(rows, beams, -1)
    tokens = np.zeros((rows, beams, length), np.int64)
    tokens[..., : sequences.shape[2]] = sequences
    ended = np.cumsum(tokens == 1, axis=2) - (tokens == 1) > 0
    tokens[ended] = 0
    if beams > 1:
        return tokens, found.sequences_scores.numpy().reshape(rows, beams)
    chosen = model.compute_transition_scores(found.sequences, found.scores, normalize_logits=True).numpy()
    real = ~ended[:, 0, : chosen.shape[1]]
    return tokens, ((chosen * real).sum(1) / real.sum(1))[:, None].astype(np.float32)


def of_texts() -> dict[str, np.ndarray]:
    """Encoder states of short texts in both towers of a dual encoder, and a decoder over several texts at once."""
    config = recorded.T5_1_1
    parameters, tokens = recorded.drawn(config), recorded.passages(config)
    towers = {"passage": torch_t5(config, parameters)}
    tower = recorded.drawn(DualEncoderConfig(config, tied=False))["question"]
    towers["question"] = torch_t5(config, parameters | tower)
    with torch.no_grad():
        states = {
            name: model.encoder(input_ids=tensor(tokens), attention_mask=tensor(tokens > 0)).last_hidden_state
            for name, model in towers.items()
        }
        rows, answers = tokens.reshape(4, -1), recorded.answers(config)
        together = states["passage"].reshape(*rows.shape, -1)
        read = towers["passage"](
            encoder_outputs=BaseModelOutput(together),
            attention_mask=tensor(rows > 0),
            decoder_input_ids=tensor(recorded.shifted(answers)),
        )
        found = searches(towers["passage"], rows, together)
    whole = tuple(range(tokens.shape[1]))
    return {
        **{name: recorded.stored(array, tokens, whole) for name, array in states.items()},
        "logits": recorded.stored(read.logits, answers, whole),
        **found,
    }


def of_encoder(name: str) -> dict[str, np.ndarray]:
    """States of each token that is no padding, and what the pooler makes of the first one's."""
    config = recorded.ENCODERS[name]
    tokens = recorded.questions(config)
    types = {"token_type_ids": tensor(recorded.token_types(config, tokens))} if config.token_types else {}
    with torch.no_grad():
        found = torch_encoder(config, recorded.drawn(config))(
            input_ids=tensor(their_ids(config, tokens)), attention_mask=tensor(tokens > 0), **types
        )
    whole = tuple(range(tokens.shape[1]))
    states = {f"{name}.states": recorded.stored(found.last_hidden_state, tokens, whole)}
    return states | ({f"{name}.pooled": found.pooler_output.numpy()} if config.pooler else {})


def of_minilm() -> dict[str, np.ndarray]:
    """Ids, types and states of a pair of sentences, and the vectors of all, by MiniLM's published weights."""
    folder = get("minilm")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    batch = tokenizer(recorded.SENTENCES, padding=True, return_tensors="pt")
    pair = tokenizer(*recorded.SENTENCES[:2], return_tensors="pt")
    with torch.no_grad():
        states, of_pair = model(**batch).last_hidden_state, model(**pair).last_hidden_state[0]
    real = batch["attention_mask"][..., None]
    vectors = torch.nn.functional.normalize((states * real).sum(1) / real.sum(1))
    ids = torch.cat([pair["input_ids"], pair["token_type_ids"]]).numpy().astype(np.int32)
    return {"vectors": vectors.numpy(), "states": of_pair.numpy()[recorded.MINILM_AT], "pair": ids}


def tensor(array: np.ndarray) -> Any:
    return torch.from_numpy(np.array(array)).long()


if __name__ == "__main__":
    main()
