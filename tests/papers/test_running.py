"""A paper's run in its folder."""

import pytest

from lisax import world
from lisax.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    world.write(folder, 40)
    return folder


def test_a_folder_belongs_to_one_paper(folder, tmp_path, capfd):
    def run(paper, *more):
        return main(["run", paper, f"--data={folder}", f"--out={tmp_path}", "--until=index", *more])

    assert run("deseption") == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for more in ((), ("--dry-run",)):
        capfd.readouterr()
        assert run("list5", *more) == 1
        error = f"{tmp_path} is the folder of a run of deseption: give another folder for list5, --out DIR"
        assert error in capfd.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    (tmp_path / "paper.txt").unlink()  # as in folders of older versions
    assert run("deseption") == 0
    assert "[index] done before" in capfd.readouterr().err
    assert run("list5") == 1


@pytest.mark.parametrize("command", [["run", "cltr"], ["run", "open-tables"], ["demo"]])
def test_pages_are_those_of_a_generated_world(folder, tmp_path, capfd, command):
    assert main([*command, "--pages=60", f"--data={folder}", f"--out={tmp_path}/out"]) == 2
    assert "--pages is the size of a generated world: leave it out with --data" in capfd.readouterr().err
