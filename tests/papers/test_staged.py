"""A graph of stages: their order, what each may read, what makes it again, and the plan."""

import dataclasses
from types import SimpleNamespace

import pytest

from lisax import world
from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.papers.recipe import BaseRecipe
from lisax.papers.settings import fact, kept
from lisax.papers.staged import Staged
from lisax.papers.stages import Stage, Stopped


@dataclasses.dataclass(frozen=True)
class Sizes:
    low: int = 1
    high: int = 9


@dataclasses.dataclass(frozen=True)
class Recipe(BaseRecipe):
    model_names = ("rank", "label")

    width: int = 1
    depth: int = 2
    limit: int | None = None
    sizes: Sizes = Sizes()

    @property
    def area(self) -> int:
        return self.width * self.depth

    def scaled(self, by: int) -> int:
        return by * self.depth


class Run(Staged):
    """`first` writes width and depth, `second` what `told` gives, `third` comes after it."""

    def __init__(self, folder, recipe=None, until=None, told=lambda run: run.recipe.limit):
        (folder / "data").mkdir(exist_ok=True)
        data = SimpleNamespace(folder=folder / "data", may_read=lambda file: True)
        super().__init__(data, folder / "out", recipe or Recipe(), until=until)
        self.told, self.ran = told, []

    def stages(self):
        def stage(name, after, content):
            path = self.out / name
            return Stage(name, after, [path], lambda: self._write(path, content()))

        return [
            stage("first", [], lambda: (self.recipe.width, self.recipe.depth)),
            stage("second", ["first"], lambda: self.told(self)),
            stage("third", ["second"], lambda: "third"),
        ]

    def _write(self, path, content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(content))
        self.ran.append(path.name)

    @kept
    def half(self):
        return self.recipe.vocabulary_size // 2

    @fact
    def colour(self):
        return "red" if self.recipe.seed else "blue"


def ran(folder, told=lambda run: run.recipe.limit, **settings):
    run = Run(folder, Recipe(**settings), told=told)
    run.run()
    return run.ran


def helper(recipe):
    return recipe.sizes.low


def entered(path, text="A = 1\n"):
    path.write_text(text)
    return {"rank": str(path)}


def test_a_changed_setting_makes_its_stage_again_and_those_after_it(tmp_path):
    assert ran(tmp_path) == ["first", "second", "third"]
    assert ran(tmp_path) == ran(tmp_path, seed=9, vocabulary_size=700) == []  # nobody reads these
    assert ran(tmp_path, limit=3) == ["second", "third"]
    assert ran(tmp_path, limit=3, depth=5) == ["first", "second", "third"]
    assert (tmp_path / "out" / "first").read_text() == "(1, 5)"


def test_a_run_prints_what_changed_before_it_makes_a_stage_again(tmp_path, capfd):
    ran(tmp_path)
    assert "made again" not in capfd.readouterr().err
    ran(tmp_path, limit=3)
    lines = capfd.readouterr().err.splitlines()
    assert lines[1:3] == ["[second] is made again: limit changed", "[second]"]
    assert "[third] is made again: second changed" in lines
    with pytest.raises(ZeroDivisionError):
        ran(tmp_path, lambda run: 1 / (run.recipe.limit - 4), limit=4)
    capfd.readouterr()
    ran(tmp_path, limit=5)  # after an interruption
    assert "[second] is made again: limit changed" in capfd.readouterr().err


def test_files_that_the_data_do_not_name_change_no_input(tmp_path):
    world.write(tmp_path / "data", 20)
    run = Run(tmp_path)
    run._data = open_folder(tmp_path / "data")
    before = run.data_files
    assert {"pages.jsonl", "claims.dev.jsonl", "questions.dev.jsonl"} < {name for name, *_ in before}
    for name in ("notes.txt", ".DS_Store", "a/pages.jsonl", "mine_tasks/rank.train.jsonl"):
        (tmp_path / "data" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "data" / name).write_text("note")
    assert run.data_files == before
    with (tmp_path / "data/pages.jsonl").open("a") as pages:
        pages.write("\n")
    assert run.data_files != before


@pytest.mark.parametrize(
    ("told", "setting", "again", "same"),
    [
        (lambda run: run.recipe.seed, "seed", {"seed": 1}, {"limit": 1}),
        (lambda run: run.recipe.scaled(3), "depth", None, {"limit": 1}),
        (lambda run: run.recipe.area > 1, "area", {"width": 3}, {"seed": 3}),
        (lambda run: helper(run.recipe), "sizes.low", {"sizes": Sizes(low=2)}, {"sizes": Sizes(high=3)}),
        (lambda run: run.half, "vocabulary_size", {"vocabulary_size": 800}, {"seed": 3}),
        (lambda run: run.colour, "colour", {"seed": 1}, {"limit": 1}),
        (lambda run: run.data, "data_files", None, {"seed": 3}),
        (
            lambda run: run.recipe.initial.get("rank"),
            "initial.rank",
            {"initial": {"rank": "a"}},
            {"initial": {"label": "a"}},
        ),
        (
            lambda run: "rank" in run.recipe.initial,
            "initial.rank?",
            {"initial": {"rank": "a"}},
            {"initial": {"label": "a"}},
        ),
        (lambda run: len(run.recipe.initial), "initial.*", {"initial": {"label": "a"}}, {"limit": 1}),
    ],
)
def test_what_a_stage_reads_is_noted_and_only_that_makes_it_again(tmp_path, told, setting, again, same):
    first = Run(tmp_path, told=told)
    told(first)  # what is computed before a stage reads it is noted too
    first.run()
    assert list(first.runner.settings("second")) == [setting]
    assert ran(tmp_path, told, **same) == []
    if again is not None:
        assert ran(tmp_path, told, **again)[-2:] == ["second", "third"]


def test_which_entry_is_there_is_less_than_what_it_is(tmp_path):
    def there(run):
        return "rank" in run.recipe.train

    assert ran(tmp_path, there, train=entered(tmp_path / "a.gin")) == ["first", "second", "third"]
    assert ran(tmp_path, there, train=entered(tmp_path / "a.gin", "A = 2\n")) == []


def test_two_stages_that_read_a_computed_value_both_depend_on_it(tmp_path):
    class Twice(Run):
        def stages(self):
            work = {name: (lambda name=name: self._write(self.out / name, self.half)) for name in ("one", "two")}
            return [Stage(name, [], [self.out / name], work[name]) for name in work]

    Twice(tmp_path).run()
    run = Twice(tmp_path, Recipe(vocabulary_size=600))
    run.run()
    assert run.ran == ["one", "two"]


def test_a_fact_stands_for_what_it_is_made_of(tmp_path):
    assert ran(tmp_path, lambda run: run.colour, seed=2)
    assert ran(tmp_path, lambda run: run.colour, seed=3) == []  # red both times


def test_the_content_of_a_gin_file_counts_and_not_its_name(tmp_path):
    (tmp_path / "included.gin").write_text("A = 1\n")
    gin = f"include '{tmp_path}/included.gin'\n"

    def content(run):
        return run.recipe.train["rank"]

    assert ran(tmp_path, content, train=entered(tmp_path / "a.gin", gin)) == ["first", "second", "third"]
    assert ran(tmp_path, content, train=entered(tmp_path / "b.gin", gin)) == []
    (tmp_path / "included.gin").write_text("A = 2\n")
    assert ran(tmp_path, content, train=entered(tmp_path / "b.gin", gin)) == ["second", "third"]
    assert ran(tmp_path, content, train=entered(tmp_path / "b.gin", gin), seed=4) == []
    for value in (1, 2):
        bound = {"rank": (str(tmp_path / "b.gin"), {"B": value})}
        assert ran(tmp_path, content, train=bound) == ["second", "third"]
    assert ran(tmp_path, content, train=bound) == []


def test_only_what_a_stage_waits_for_is_made_with_it(tmp_path):
    run = Run(tmp_path)
    run.make("second")
    assert run.ran == ["first", "second"]


def test_until(tmp_path):
    with pytest.raises(Stopped):
        Run(tmp_path, until="second").run()
    assert not (tmp_path / "out" / "third").exists()
    with pytest.raises(LisaxError, match="no stage 'last'; its stages are first, second, third"):
        Run(tmp_path, until="last").check_until()


def test_the_plan_says_what_would_be_done_and_writes_nothing(tmp_path):
    def states(**settings):
        return [planned.state for planned in Run(tmp_path, Recipe(**settings)).plan()]

    assert states() == ["to do"] * 3 and not (tmp_path / "out").exists()
    ran(tmp_path)
    assert states() == ["done"] * 3
    assert states(limit=1) == ["done", "again: limit changed", "again: second changed"]
    assert Run(tmp_path, Recipe(limit=1)).plan()[1].settings == {"limit": 1}
    (tmp_path / "out" / "first").unlink()
    assert states() == ["again: first is missing", "done", "done"]
    run = Run(tmp_path, Recipe(limit=4), told=lambda run: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run.run()
    assert states(limit=4) == ["done", "begun", "again: second changed"]


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ([("a", ["b"], "a"), ("b", [], "b")], "a waits for b, which does not come before it"),
        ([("a", [], "a"), ("a", [], "b")], "two stages are named a"),
        ([("a", [], "x"), ("b", [], "x")], "a and b both write"),
    ],
)
def test_mistakes_in_a_graph(tmp_path, stages, said):
    class Wrong(Run):
        def stages(self):
            return [Stage(name, after, [tmp_path / out], lambda: None) for name, after, out in stages]

    with pytest.raises((LisaxError, ValueError), match=said):
        _ = Wrong(tmp_path).graph
