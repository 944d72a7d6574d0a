"""A user's dataset as tasks: three lines of Python or one JSON file, and errors that name the line."""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import read_tasks
import seqio
from read_tasks import forget, train_a_step, written

import lisax
from lisax.cli import invoke
from lisax.errors import DataError, LisaxError
from lisax.files.writing import write_json, write_json_lines
from lisax.formats.examples import read_examples
from lisax.formats.vocabulary import UNK_ID, SentencePieceVocabulary, train_vocabulary
from lisax.records import Hit
from lisax.retrieval import runs
from lisax.tasks import register as registering
from lisax.tasks import sentence_data
from lisax.tasks.register import register, register_file
from lisax.training.export import export
from lisax.training.gin_files import bindings_of, run_gin
from lisax.weights.model_folder import ModelFolder

pytestmark = pytest.mark.usefixtures("forget")

PAGES = [
    {
        "id": f"P_{i}",
        "title": f"Town {i}",
        "sentences": [f"Town {i} has {n} harbours of kind {'abcdef'[n]} ." for n in range(6)],
    }
    for i in range(12)
]
CLAIMS = [
    {
        "id": i,
        "claim": f"Town {i} has {i % 6} harbours.",
        "label": label,
        "evidence": [] if label == "NOT ENOUGH INFO" else [[f"P_{i}_{i % 6}"]],
    }
    for i, label in enumerate(["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"] * 4)
]


@pytest.fixture
def folder(tmp_path):
    train_vocabulary([s for p in PAGES for s in p["sentences"]] * 5, tmp_path / "spiece.model", 90)
    return written(tmp_path / "mine", {"pages": PAGES, "claims.train": CLAIMS[:9], "claims.dev": CLAIMS[9:]})


def read(name, split="train"):
    return read_tasks.read(name, {"inputs": 128, "targets": 4}, split)


def test_a_folder_gives_every_task(folder, tmp_path):
    mine = register("mine", folder=folder, vocabulary=tmp_path / "spiece.model")
    variants = "claim_only label_listwise label_listwise_infused label_pointwise rank rank_entities".split()
    assert sorted(mine.tasks.values()) == [f"mine_{variant}" for variant in variants]
    assert len(read("mine_rank")) == 12 and len(read("mine_label_listwise_infused")) == 9
    assert len(read("mine_claim_only", "dev")) == 3
    assert {len(row["targets"]) for row in read("mine_span_corruption")} == {4}
    texts = [
        [json.loads(line)["text"] for line in (folder / "mine_tasks" / f"text.{split}.jsonl").open()]
        for split in ("dev", "train")
    ]
    assert sorted(sum(texts, [])) == sorted(f"{p['title']} . {' '.join(p['sentences'])}" for p in PAGES) and all(texts)
    entities = read("mine_rank_entities")[0]["inputs_pretokenized"].decode()
    assert entities.startswith("Query: Town 0 has 0 harbours. Document: Town 0 . Town 0 has 0 harbours")
    assert entities.endswith("Entity1: Town 0 Relevant:")
    gold = {str(c["id"]): {unit for s in c["evidence"] for unit in s} for c in CLAIMS}
    for row in read("mine_label_listwise_infused"):
        units = row["sentence_ids"].decode().split()
        assert len(units) == 5 and gold[row["claim_id"].decode()] <= set(units)


@pytest.mark.parametrize("variant", ["label_pointwise", pytest.param("rank", marks=pytest.mark.slow)])
def test_a_model_trained_on_a_registered_dataset_answers_from_its_bundle(folder, tmp_path, variant):
    mine = register("mine", folder=folder, vocabulary=tmp_path / "spiece.model")
    mine.write_gin(tmp_path / "mine.gin", variant, model="t5_1_1_micro")
    train_a_step(tmp_path, {"inputs": 64, "targets": 2})
    model = lisax.load(export(ModelFolder.find(tmp_path / "model"), tmp_path / "bundle"))
    assert model.model.max_tokens == 64
    if variant == "rank":
        assert len(model.rank("Town 1 has 2 harbours.", ["Town 1 has 1 harbours .", "Town 2"])) == 2
    else:
        for claim, sentence in (("a\ud800", "b"), ("a", "b\udfff")):
            with pytest.raises(LisaxError, match="half of a surrogate pair"):
                model.verify(claim, [sentence])
        shares = model.verify("Town 1 has 2 harbours.", ["Town 1 has 1 harbours ."]).probabilities
        assert sum(shares.values()) == pytest.approx(1)


def test_the_files_are_written_once_and_again_when_the_data_change(folder, monkeypatch):
    register("mine", folder=folder, vocabulary="bytes")
    monkeypatch.setattr(sentence_data, "_candidates", lambda *_: pytest.fail("built again"))
    forget("mine_")
    assert register("mine", folder=folder, vocabulary="bytes").counts["rank"]["train"] == 12
    monkeypatch.undo()
    forget("mine_")
    write_json_lines(folder / "claims.train.jsonl", CLAIMS[:3])
    assert register("mine", folder=folder, vocabulary="bytes").counts["rank"]["train"] == 4


def test_a_json_file_with_claims_corpus_run_and_a_trained_vocabulary(folder, tmp_path):
    run = [
        Hit(str(c["id"]), f"P_{i}_{n}", 1 + i * 6 + n, -i * 6 - n) for c in CLAIMS for i in range(12) for n in range(6)
    ]
    runs.write_run(tmp_path / "run.trec", run, "test")
    described = {
        "name": "theirs",
        "claims": {"train": "mine/claims.train.jsonl", "dev": "mine/claims.dev.jsonl"},
        "corpus": "mine/pages.jsonl",
        "run": "run.trec",
        "vocabulary": "train",
        "preset": "released",
        "out": "built",
    }
    write_json(tmp_path / "task.json", described)
    register_file(tmp_path / "task.json")
    assert (tmp_path / "built/spiece.model").is_file() and not (tmp_path / "built/sentences.bm25").exists()
    negatives = [row["sentence_ids"].decode() for row in read("theirs_rank") if not row["relevant"]]
    # Ranks 50 to 200 of 72 candidates: pages 8 on.
    assert len(negatives) == 6 and all(int(unit.split("_")[1]) >= 8 for unit in negatives)
    assert read("theirs_claim_only")[0]["inputs_pretokenized"] == b"hypothesis: Town 0 has 0 harbours."


def test_claims_with_their_own_candidates_need_no_retrieval(folder):
    candidates = {"candidates": [f"P_1_{n}" for n in range(6)]}
    write_json_lines(folder / "claims.train.jsonl", [claim | candidates for claim in CLAIMS[:9]])
    write_json_lines(folder / "claims.dev.jsonl", [CLAIMS[9] | {"candidates": ["P_1_1"]}])
    register("mine", folder=folder, vocabulary="bytes")
    assert not (folder / "mine_tasks/sentences.bm25").exists()
    (example,) = read_examples(folder / "mine_tasks/label_listwise.dev.jsonl")
    assert [sentence.id for sentence in example.sentences] == ["P_1_1"]


def test_contrasts_are_mixed_with_a_labellers_training_examples(folder):
    plain = register("plain", folder=folder, vocabulary="bytes").counts
    counts = register("mixed", folder=folder, vocabulary="bytes", contrasts=90).counts
    for variant, of_split in counts.items():
        more = 90 if variant.startswith("label_") else 0
        assert of_split == {"train": plain[variant]["train"] + more, "dev": plain[variant]["dev"]}
    ids = [example.claim_id for example in read_examples(folder / "mixed_tasks/label_listwise.train.jsonl")]
    assert len(set(ids)) == len(ids) and not all(id.startswith("contrast-") for id in ids[-90:])
    with pytest.raises(LisaxError, match="`contrasts` is a number of examples, .* found -3"):
        register("other", folder=folder, vocabulary="bytes", contrasts=-3)


def test_the_gin_file_is_ready(folder, tmp_path):
    from lisax.training import gin_files

    mine = register("mine", folder=folder, vocabulary=tmp_path / "spiece.model")
    mine.write_gin(tmp_path / "mine.gin", "rank", model="t5_1_1_tiny")
    text = (tmp_path / "mine.gin").read_text()
    assert "MIXTURE_OR_TASK_NAME = 'mine_rank'" in text and "12 training examples" in text
    forget("mine_")
    assert register_file(tmp_path / "mine.json").counts == mine.counts
    bindings = ["MODEL_DIR = 'out'", "INITIAL_CHECKPOINT_PATH = None", "TRAIN_STEPS = 2"]
    with gin_files.configured("train", [tmp_path / "mine.gin"], bindings) as config:
        assert config.train_data.mixture_or_task_name == "mine_rank"
        assert config.train_data.module == str(tmp_path / "mine.json")
    for verb, out in (("eval", "EVAL_OUTPUT_DIR"), ("infer", "INFER_OUTPUT_DIR")):
        with gin_files.configured(
            verb, [tmp_path / "mine.gin", f"runs/{verb}.gin"], ["CHECKPOINT_PATH = 'out'", f"{out} = 'x'"]
        ) as config:
            assert config.dataset.mixture_or_task_name == "mine_rank" and config.dataset.split == "dev"
            assert config.dataset.module == str(tmp_path / "mine.json") and config.restore.path == "out"
            assert config.dataset.task_feature_lengths == {"inputs": 512, "targets": 2}
    with pytest.raises(LisaxError, match="no task 'label'"):
        mine.write_gin(tmp_path / "other.gin", "label")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"label": None}, r"claims.train.jsonl:2: field 'label': claim '1' has no label"),
        ({"evidence": []}, r"claims.train.jsonl:2: field 'evidence': claim '1' is REFUTES but has no evidence"),
        (
            {"evidence": [["P_99_0"]]},
            r"claims.train.jsonl:2: field 'evidence': 'P_99_0' of claim '1' is not a sentence",
        ),
    ],
)
def test_bad_data_are_named_and_nothing_is_registered(folder, change, message):
    write_json_lines(folder / "claims.train.jsonl", [CLAIMS[0], CLAIMS[1] | change])
    with pytest.raises(DataError, match=message):
        register("mine", folder=folder, vocabulary="bytes")
    assert not [name for name in seqio.TaskRegistry.names() if name.startswith("mine_")]
    assert not list(folder.rglob("*.train.jsonl.partial")) and not (folder / "mine_tasks/dataset.json").exists()


def test_a_claim_whose_evidence_the_corpus_lacks_is_skipped_if_asked(folder, capfd):
    write_json_lines(folder / "claims.train.jsonl", [*CLAIMS[:8], CLAIMS[0] | {"id": 8, "evidence": [["P_99_0"]]}])
    mine = register("mine", folder=folder, vocabulary="bytes", skip_bad=True)
    lines = capfd.readouterr().err.splitlines()
    missing = "claims.train.jsonl:9: field 'evidence': 'P_99_0' of claim '8' is not a sentence of the corpus"
    assert any(missing in line for line in lines)
    assert [line for line in lines if "skipped" in line] == ["bad lines skipped: 1"]
    write_json_lines(folder / "claims.train.jsonl", CLAIMS[:8])
    forget("mine_")
    assert register("mine", folder=folder, vocabulary="bytes").counts == mine.counts


def test_other_names_of_labels_are_mapped_or_left_out(folder, tmp_path, caplog):
    rows = [claim | {"label": {"SUPPORTS": "yes", "REFUTES": "no"}.get(claim["label"], "DISPUTED")} for claim in CLAIMS]
    write_json_lines(folder / "claims.train.jsonl", rows[:9])
    write_json_lines(folder / "claims.dev.jsonl", rows[9:])
    labels = {"yes": "SUPPORTS", "no": "REFUTES", "DISPUTED": None}
    with pytest.raises(
        DataError,
        match=r"claims.train.jsonl:3: field 'label': unknown label 'DISPUTED'; expected .*"
        r"labels=\{'DISPUTED': …\}; None leaves them out",
    ):
        register("mine", folder=folder, vocabulary="bytes", labels={"yes": "SUPPORTS", "no": "REFUTES"})
    mine = register("mine", folder=folder, vocabulary="bytes", labels=labels)
    assert mine.counts["label_listwise"] == {"train": 6, "dev": 2}
    assert "claims labelled 'DISPUTED' (left out, as was asked for): 3" in caplog.text
    told = [json.loads(line) for line in (folder / "mine_tasks/label_listwise.train.jsonl").open()]
    assert {row["label"] for row in told} == {"SUPPORTS", "REFUTES"}
    mine.write_gin(tmp_path / "mine.gin", "rank", model="t5_1_1_tiny")
    assert json.loads((tmp_path / "mine.json").read_text())["labels"] == labels
    forget("mine_")
    assert register_file(tmp_path / "mine.json").counts == mine.counts


def test_labels_mapped_anew_make_the_examples_anew(folder):
    first = register("one", folder=folder, vocabulary="bytes", out=folder / "out")
    second = register("two", folder=folder, vocabulary="bytes", out=folder / "out", labels={"REFUTES": None})
    assert (first.counts["claim_only"], second.counts["claim_only"]) == ({"train": 9, "dev": 3}, {"train": 6, "dev": 2})


@pytest.mark.parametrize("labels", [["DISPUTED"], {"DISPUTED": "MAYBE"}])
def test_labels_that_stand_for_nothing_are_refused(folder, labels):
    with pytest.raises(LisaxError, match="`labels` maps each name of a label to one of 'SUPPORTS', .* found"):
        register("mine", folder=folder, vocabulary="bytes", labels=labels)


def test_labels_that_leave_out_every_claim_are_refused(folder):
    labels = {claim["label"]: None for claim in CLAIMS}
    with pytest.raises(
        LisaxError, match="'mine': `labels` leaves out every claim of .*claims.train.jsonl: map a label"
    ):
        register("mine", folder=folder, vocabulary="bytes", labels=labels)


def test_bad_calls_say_what_is_wrong(folder, tmp_path):
    with pytest.raises(LisaxError, match="either `folder`, or `claims` and `corpus`"):
        register("mine", claims=folder / "claims.train.jsonl")
    (tmp_path / "bad.json").write_text(json.dumps({"name": "mine", "claimz": "x"}))
    with pytest.raises(LisaxError, match="'mine': unknown field 'claimz'; there are name, folder"):
        register_file(tmp_path / "bad.json")
    with pytest.raises(LisaxError, match="letters, digits and underscores"):
        register("my data", folder=folder)
    with pytest.raises(LisaxError, match="no format preset 'papper'"):
        register("mine", folder=folder, preset="papper")
    with pytest.raises(LisaxError, match="`seed` must be an integer"):
        register("mine", folder=folder, seed="0")
    assert not (folder / "mine_tasks").exists()
    runs.write_run(tmp_path / "pages.trec", [Hit("0", "P_1", 1, 1.0)], "test")
    with pytest.raises(DataError, match="pages.trec: none of its ids is a sentence"):
        register("mine", folder=folder, vocabulary="bytes", run=tmp_path / "pages.trec")
    register("mine", folder=folder, vocabulary="bytes")
    with pytest.raises(LisaxError, match="already a task 'mine_claim_only'"):
        register("mine", folder=folder, vocabulary="bytes")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(DataError, match="bad.json: not valid JSON"):
        register_file(tmp_path / "bad.json")
    for fields in (
        {"folder": 5},
        {"claims": 5, "corpus": "p"},
        {"claims": {"train": 7}, "corpus": "p"},
        {"claims": ["c"], "corpus": "p"},
    ):
        (tmp_path / "bad.json").write_text(json.dumps({"name": "yours"} | fields))
        with pytest.raises(LisaxError, match="must be a path"):
            register_file(tmp_path / "bad.json")


@pytest.mark.slow
def test_a_new_process_registers_the_files_of_LISAX_TASKS(folder, tmp_path):
    (tmp_path / "task.json").write_text(json.dumps({"name": "mine", "folder": "mine", "vocabulary": "bytes"}))
    environment = {k: v for k, v in os.environ.items() if k not in ("LISAX_DATA", "LISAX_VOCABULARY")}
    code = (
        "import lisax.tasks, seqio; print([n for n in seqio.TaskRegistry.names() if n.startswith(('mine', 'list5'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=environment | {"LISAX_TASKS": str(tmp_path / "task.json")},
    )
    assert "'mine_rank'" in done.stdout and "'list5_rank'" in done.stdout, done.stderr[-2000:]


def test_readmes_lines_train_where_nothing_is_registered_yet(folder, tmp_path, monkeypatch):
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    lines, command = re.search(
        r"```python\n(from lisax.tasks.register.*?)```\n\n```bash\nlisax (.*?)\n```", readme, re.DOTALL
    ).groups()
    (tmp_path / "here/data").mkdir(parents=True)
    folder.rename(tmp_path / "here/data/mine")
    monkeypatch.chdir(tmp_path / "here")
    exec(lines, {})
    monkeypatch.setattr(registering, "_registered", {})  # as in a new process
    forget("mine_")
    small = ["emb_dim=16", "num_heads=2", "head_dim=8", "mlp_dim=32", "num_encoder_layers=1", "num_decoder_layers=1"]
    few = ["TRAIN_STEPS=2", "BATCH_SIZE=4", "TASK_FEATURE_LENGTHS={'inputs': 256, 'targets': 2}"]
    few += [f"T5Config.{size}" for size in small]
    assert invoke([*shlex.split(command), *(f"--gin.{one}" for one in few)]) == 0
    assert (tmp_path / "here/OUT/checkpoint_2").is_dir()


def test_a_dataset_that_is_registered_stays_so_and_another_of_its_name_is_refused(folder, tmp_path):
    mine = register("mine", folder=folder, vocabulary="bytes")
    mine.write_gin(tmp_path / "mine.gin", "rank")
    assert register_file(tmp_path / "mine.json") is mine
    write_json(tmp_path / "other.json", {"name": "mine", "folder": "mine", "vocabulary": "bytes", "seed": 1})
    with pytest.raises(LisaxError, match="already a task"):
        register_file(tmp_path / "other.json")


def test_a_gin_file_whose_description_is_gone_says_so(folder, tmp_path):
    register("mine", folder=folder, vocabulary="bytes").write_gin(tmp_path / "mine.gin", "rank", model="t5_1_1_tiny")
    (tmp_path / "mine.json").unlink()
    with pytest.raises(DataError, match=r"mine\.json: no such file"):
        run_gin(
            [tmp_path / "mine.gin"],
            bindings_of({"MODEL_DIR": "out", "INITIAL_CHECKPOINT_PATH": None, "TRAIN_STEPS": 1}),
        )


RUSSIAN = [
    {
        "id": f"P_{i}",
        "title": f"Город {i}",
        "sentences": [f"В городе {i} живёт {n}{i}5 человек ." for n in range(3)] + ["Он стоит на реке ."] * 40,
    }
    for i in range(12)
]


@pytest.fixture
def russian(tmp_path):
    claims = [
        {"id": i, "claim": f"В городе {i} — {i}15 жителей?", "label": label, "evidence": [[f"P_{i}_1"]]}
        for i, label in enumerate(["SUPPORTS", "REFUTES"] * 6)
    ]
    return written(tmp_path / "russian", {"pages": RUSSIAN, "claims.train": claims[:9], "claims.dev": claims[9:]})


def test_a_vocabulary_trained_on_another_script_writes_prompts_and_every_claim(russian, caplog):
    mine = register("mine", folder=russian, vocabulary="train")
    vocabulary = SentencePieceVocabulary(russian / "mine_tasks" / "spiece.model")
    for task in mine.tasks.values():
        for split in ("train", "dev"):
            for row in read(task, split):
                text = row["inputs_pretokenized"].decode()
                ids = vocabulary.encode(text)
                assert UNK_ID not in ids and vocabulary.decode(ids) == " ".join(text.split())
    for text in ("Query: Document: Relevant:", "sentence1: sentence2:", "塔恩 😀 {~}", "Ж 1851"):
        assert vocabulary.decode(vocabulary.encode(text)) == text
    assert len(vocabulary.encode("Query: Document: Relevant:")) == 6
    assert not caplog.records


def test_a_trained_vocabulary_writes_a_character_that_is_rare(folder):
    """SentencePiece alone leaves out the rarest characters of a text."""
    claims = folder / "claims.train.jsonl"
    first, *others = claims.read_text().splitlines()
    claims.write_text("\n".join([json.dumps(json.loads(first) | {"claim": "Ħ costs 5 ₤."}), *others]))
    register("mine", folder=folder, vocabulary="train")
    vocabulary = SentencePieceVocabulary(folder / "mine_tasks" / "spiece.model")
    assert vocabulary.decode(vocabulary.encode("Ħ costs 5 ₤")) == "Ħ costs 5 ₤"


def test_a_vocabulary_that_cannot_write_the_claims_is_told_of(russian, tmp_path, caplog):
    train_vocabulary(["claim query town true false weak 1 2"] * 20, tmp_path / "english.model", 90)
    with caplog.at_level(logging.WARNING):
        register("mine", folder=russian, vocabulary=tmp_path / "english.model")
    texts, prompts = [record.getMessage() for record in caplog.records if "cannot write" in record.getMessage()]
    assert "characters of 24 texts, such as" in texts and "о" in texts and "characters of prompts" in prompts
