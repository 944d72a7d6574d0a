"""A graph of stages: their order, what each may read, what makes it again, and the plan."""

import dataclasses
from types import SimpleNamespace

import pytest

from lisax.errors import LisaxError
from lisax.papers.recipe import BaseRecipe
from lisax.papers.settings import UndeclaredSetting, fact, kept
from lisax.papers.staged import Staged
from lisax.papers.stages import Stage, Stopped


@dataclasses.dataclass(frozen=True)
class Recipe(BaseRecipe):
    model_names = ("rank", "label")

    width: int = 1
    depth: int = 2
    limit: int | None = None

    @property
    def area(self) -> int:
        return self.width * self.depth

    def scaled(self, by: int) -> int:
        return by * self.depth


class Run(Staged):
    """`first` writes the area, `second` what `told` gives, `third` comes after it."""

    reads = ("limit",)

    def __init__(self, folder, recipe=None, until=None, told=lambda run: run.recipe.limit):
        (folder / "data").mkdir(exist_ok=True)
        super().__init__(SimpleNamespace(folder=folder / "data"), folder / "out", recipe or Recipe(), until=until)
        self.told, self.ran = told, []

    def stages(self):
        def stage(name, after, reads, content):
            path = self.out / name
            return Stage(name=name, after=after, reads=reads, outputs=[path], work=lambda: self._write(path, content()))

        return [
            stage("first", [], ["width", "depth"], lambda: self.recipe.area),
            stage("second", ["first"], self.reads, lambda: self.told(self)),
            stage("third", ["second"], [], lambda: "third"),
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


def ran(folder, **settings):
    run = Run(folder, Recipe(**settings))
    run.run()
    return run.ran


def test_a_changed_setting_makes_its_stage_again_and_those_after_it(tmp_path):
    assert ran(tmp_path) == ["first", "second", "third"]
    assert ran(tmp_path) == ran(tmp_path, seed=9, vocabulary_size=7) == []  # nobody reads these
    assert ran(tmp_path, limit=3) == ["second", "third"]
    assert ran(tmp_path, limit=3, depth=5) == ["first", "second", "third"]
    assert (tmp_path / "out" / "first").read_text() == "5"


@pytest.mark.parametrize(
    ("told", "setting"),
    [
        (lambda run: run.recipe.seed, "seed"),
        (lambda run: run.recipe.train.get("rank"), "train.rank"),
        (lambda run: "rank" in run.recipe.train, "train.rank"),
        (lambda run: list(run.recipe.train), "train"),
        (lambda run: run.half, "vocabulary_size"),
        (lambda run: run.colour, "colour"),
        (lambda run: run.data, "data_files"),
    ],
)
def test_a_setting_that_no_stage_declares_is_refused_every_time(tmp_path, told, setting):
    run = Run(tmp_path, told=told)
    for _ in range(2):  # what is kept of the first time is refused too
        with pytest.raises(UndeclaredSetting, match=rf"stage second reads the setting '{setting}'"):
            run.run()
    told(run)  # outside of stages all can be read
    assert run.ran == ["first"]
    with pytest.raises(UndeclaredSetting):
        run.run()
    declared = type("Declared", (Run,), {"reads": (setting,)})(tmp_path, told=told)
    declared.run()
    assert declared.ran == ["second", "third"]


def test_settings_of_the_stages_before_need_not_be_declared_again(tmp_path):
    run = Run(tmp_path, told=lambda run: run.recipe.area + run.recipe.scaled(3))
    run.run()
    assert (tmp_path / "out" / "second").read_text() == "8"


def test_a_property_that_is_declared_stands_for_what_it_is_made_of(tmp_path):
    told = type("Told", (Run,), {"reads": ("colour",)})
    told(tmp_path, told=lambda run: run.colour).run()
    for seed, again in ((2, ["second", "third"]), (3, [])):  # red both times
        run = told(tmp_path, Recipe(seed=seed), told=lambda run: run.colour)
        run.run()
        assert run.ran == again


def test_the_content_of_a_gin_file_counts_and_not_its_name(tmp_path):
    (tmp_path / "included.gin").write_text("A = 1\n")
    gin = tmp_path / "model.gin"
    gin.write_text(f"include '{tmp_path}/included.gin'\n")
    recipe = Recipe(train={"rank": str(gin)})
    before = recipe.value("train.rank")
    assert recipe.value("train.label") is None and recipe.value("train") == {"rank": before}
    (tmp_path / "included.gin").write_text("A = 2\n")
    assert recipe.value("train.rank") != before
    bound = [Recipe(train={"rank": (str(gin), {"B": value})}).value("train.rank") for value in (1, 2)]
    assert recipe.value("train.rank") not in bound and bound[0] != bound[1]


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
    (tmp_path / "out" / "first").unlink()
    assert states() == ["again: first is missing", "done", "done"]
    run = Run(tmp_path, Recipe(limit=4), told=lambda run: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run.run()
    assert states(limit=4) == ["done", "begun", "again: second changed"]


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ([("a", ["b"], [], "a"), ("b", [], [], "b")], "waits for b, not before it"),
        ([("a", [], [], "a"), ("a", [], [], "b")], "two stages are named a"),
        ([("a", [], ["hight"], "a")], "reads hight: no settings"),
        ([("a", [], [], "x"), ("b", [], [], "x")], "a and b both write"),
    ],
)
def test_mistakes_in_a_graph(tmp_path, stages, said):
    class Wrong(Run):
        def stages(self):
            return [
                Stage(name=name, after=after, reads=reads, outputs=[tmp_path / out], work=lambda: None)
                for name, after, reads, out in stages
            ]

    with pytest.raises(ValueError, match=said):
        _ = Wrong(tmp_path).graph
