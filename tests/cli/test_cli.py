"""The command line: light to start, clear when something is wrong."""

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from all_verbs import all_verbs

from lisax import cli
from lisax.adversary.attack import AttackKind
from lisax.cli import verbs
from lisax.retrieval.cells import Strategy

HEAVY = ("jax", "tensorflow", "numpy", "numba", "seqio", "bm25s", "Stemmer", "requests", "ir_measures", "lisax.world")
VERBS = dict(all_verbs())


def test_help_imports_nothing_heavy_and_is_quick():
    program = f"""
import sys
from lisax.cli import main
assert main(["--help"]) == 0
assert not set({HEAVY}) & set(sys.modules), set({HEAVY}) & set(sys.modules)
"""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert time.perf_counter() - started < 5  # a fifth of a second on an idle machine
    assert all(f"\n  {verb} " in done.stdout for verb in verbs.NAMES)
    assert done.stdout.count("$ lisax ") == len(verbs.NAMES)


def test_every_verbs_help_shows_its_options_and_an_example_and_imports_nothing_heavy():
    program = f"""
import sys
from lisax.cli import main
for words in {[*VERBS]}:
    assert main([*words, "--help"]) == 0
assert not set({HEAVY}) & set(sys.modules), set({HEAVY}) & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for words, verb in VERBS.items():
        assert f"Usage: lisax {' '.join(words)} " in done.stdout
        assert verb.help and verb.epilog.startswith(f"lisax {' '.join(words)}"), words
        for option in verb.params:
            is_argument = isinstance(option, click.Argument)
            assert (option.metavar if is_argument else option.opts[0]) in done.stdout, (words, option.name)
            assert option.help, (words, option.name)


def test_the_page_on_many_machines_names_every_verb_that_uses_them():
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    named = {words[0] for words, verb in VERBS.items() if any(option.name == "workers" for option in verb.params)}
    assert "demo" in named and not [name for name in named if f"`lisax {name}" not in page]


def test_the_choices_offered_are_those_there_are():
    for words, name, there in ((("attack", "make"), "kind", AttackKind), (("index", "cells"), "strategy", Strategy)):
        (offered,) = (option for option in VERBS[words].params if option.name == name)
        assert sorted(offered.type.choices) == sorted(there)


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_examples_parse(words):
    commands = re.sub(r"\s*\\\n\s*", " ", VERBS[words].epilog).splitlines()
    for _, *example in map(shlex.split, commands):
        assert tuple(example[: len(words)]) == words
        VERBS[words].make_context(" ".join(words), example[len(words) :])


def test_bad_input_is_1_without_a_traceback(tmp_path, capsys):
    assert cli.main(["data", "check", str(tmp_path / "missing")]) == 1
    given = ["--claims", "c", "--run", "r", "--index", "i", "--out", "o"]
    assert cli.main(["verify", "--model", str(tmp_path / "none"), *given]) == 1
    error = capsys.readouterr().err
    assert "missing" in error and "no such checkpoint or bundle" in error and "Traceback" not in error


@pytest.mark.parametrize(
    "words, said",
    [
        (["nothing"], "there is no verb 'nothing'; there are check, "),
        (["retreive"], "there is no verb 'retreive'; did you mean 'retrieve'?"),
        (["index", "document"], "there is no verb 'document'; did you mean 'documents'?"),
        (["index", "documents", "--out", "x"], "Missing option '--corpus'"),
        (["verify", "--modle", "x"], "No such option '--modle'. Did you mean '--model'?"),
        (["retrieve", "cells", "--k", "0"], "Invalid value for '--k': 0 is not in the range x>=1"),
        (["train", "--process_index=0", "--gin_file=x"], "belong together"),
    ],
)
def test_usage_errors_name_the_option_and_what_is_possible(words, said, capsys):
    assert cli.main(words) == 2
    told = capsys.readouterr().err
    assert said in told and told.startswith("Usage: lisax"), told


def test_a_file_is_not_read_and_written_by_one_command(tmp_path, capsys):
    claims = tmp_path / "claims.jsonl"
    claims.write_text('{"claim": "Tarn is a town."}\n')
    (tmp_path / "link").symlink_to(claims)
    for out in (claims, tmp_path / "link"):
        assert cli.main(["check", "--claims", str(claims), "--corpus", str(tmp_path), "--out", str(out)]) == 2
        assert "for '--out'" in (said := capsys.readouterr().err) and "is the file of '--claims'" in said
    assert claims.read_text() == '{"claim": "Tarn is a town."}\n'


def test_a_group_without_a_verb_shows_its_verbs(capsys):
    assert cli.main(["index"]) == 2
    assert "  documents  " in capsys.readouterr().err


def test_version(capsys):
    assert cli.main(["--version"]) == 0 and capsys.readouterr().out.startswith("lisax ")


def test_interruption_is_130(monkeypatch, capsys, tmp_path):
    def interrupted(*_args, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("lisax.corpora.check.check", interrupted)
    assert cli.main(["data", "check", str(tmp_path)]) == 130
    assert "interrupted; the same command resumes" in capsys.readouterr().err
    monkeypatch.setattr("lisax.adversary.making.make_attacks", interrupted)
    assert cli.main(["attack", "make", "--claims", "c", "--out", "x"]) == 130
    assert "interrupted; the same command starts again" in capsys.readouterr().err


def test_too_little_memory_is_a_sentence_and_other_errors_of_jax_are_not(monkeypatch, capsys, tmp_path):
    errors = [RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 5 bytes.\nmore"), RuntimeError("INTERNAL: x")]
    monkeypatch.setattr("lisax.corpora.check.check", lambda *_: raised(errors.pop(0)))
    assert cli.main(["data", "check", str(tmp_path)]) == 1
    assert "does not suffice (Out of memory allocating 5 bytes.); in training" in capsys.readouterr().err
    with pytest.raises(RuntimeError, match="INTERNAL"):
        cli.main(["data", "check", str(tmp_path)])


def raised(error):
    raise error


def test_a_reader_that_leaves_is_no_trouble():
    program = "import sys; from lisax.cli import main; sys.exit(main(['data', 'list']))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        told = process.stderr.read()
        assert process.wait() in (0, 1) and b"Traceback" not in told


ESCAPES = "\x1b]52;c;eA==\x07\x9b2J\x7f\u202e"
VISIBLE = r"\u001b]52;c;eA==\u0007\u009b2J\u007f\u202e"


@pytest.mark.parametrize(
    "words, said",
    [
        (["data", "check", "pages"], f"claims in {VISIBLE}: 1\n"),  # a result
        (["data", "check", f"no{ESCAPES}"], f"lisax: no{VISIBLE}: no such folder\n"),  # an error
        (["index", "documents", "--corpus", "texts", "--out", "i"], f"first at {VISIBLE}.txt\n"),  # a log
    ],
)
def test_what_comes_from_outside_steers_no_terminal(words, said, tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "pages.jsonl").write_text('{"id": "T", "title": "T", "sentences": ["Tarn is old."]}\n')
    (tmp_path / "pages" / f"claims.{ESCAPES}.jsonl").write_text('{"id": 1, "claim": "Tarn is old."}\n')
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / f"{ESCAPES}.txt").write_bytes(b"Jos\xe9 Velin was born in Tarn.")
    command = [sys.executable, "-P", "-m", "lisax", *words]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert said in done.stdout.decode() and not re.search(r"[^\n -~…–]", done.stdout.decode())
