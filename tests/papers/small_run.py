"""A paper's run by its verb, on a small world."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import pytest

from lisax import world
from lisax.cli import main
from lisax.corpora import open_folder
from lisax.papers.base import Pipeline
from lisax.papers.recipe import BaseRecipe


@dataclasses.dataclass(frozen=True)
class SmallRun:
    """Called, it makes the run anew, with nothing in memory of the stages before."""

    folder: Path  # of the data, `world`, of the run, `out`, and of the recipe
    verb: str
    paper: type[Pipeline]
    recipe: type[BaseRecipe]

    def made(self, recipe: str, models: Mapping[str, str], pages: int = 200, **of_world: int) -> Self:
        """Writes the world, the gin files of models, and the recipe, in which `{folder}` stands for theirs; and runs."""
        world.write(self.folder / "world", pages, **of_world)
        for name, text in models.items():
            (self.folder / f"{name}.gin").write_text(text)
        (self.folder / "recipe.gin").write_text(recipe.format(folder=self.folder))
        assert main(self.command) == 0
        return self

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def command(self) -> list[str]:
        return self.into(self.out)

    def into(self, out: Path, *more: str) -> list[str]:
        """The command with another folder for its run."""
        folder = self.folder
        return ["run", self.verb, f"--data={folder}/world", f"--out={out}", f"--gin_file={folder}/recipe.gin", *more]

    def __call__(self) -> Pipeline:
        recipe = self.recipe.read([str(self.folder / "recipe.gin")])
        return self.paper(open_folder(self.folder / "world"), self.out, recipe)

    def again(self, capfd: pytest.CaptureFixture) -> str:
        """Runs the command a second time, which does no stage again. Returns what it says."""
        before = {path: path.read_bytes() for path in (self.out / "predictions").iterdir()}
        assert main(self.command) == 0
        told = capfd.readouterr().err
        said = [line for line in told.splitlines() if line.startswith("[")]
        assert said == [f"[{stage}] done before" for stage in self().graph]
        assert {path: path.read_bytes() for path in (self.out / "predictions").iterdir()} == before
        return told
