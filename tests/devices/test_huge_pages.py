"""A training on a CPU starts again, as the same process, with glibc asking for huge pages."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
from pathlib import Path
from lisax.devices import huge_pages
huge_pages.MODE = Path(sys.argv[1])
if "worked" in sys.argv:
    import numpy
huge_pages.start_again_with_huge_pages()
print(os.getpid(), os.environ.get(huge_pages.VARIABLE), *sys.argv[2:])
"""


@pytest.mark.parametrize(
    ("mode", "given", "words", "found"),
    [
        ("always [madvise] never", "", [], "glibc.malloc.hugetlb=1"),
        ("always [madvise] never", "glibc.malloc.check=3", ["a b"], "glibc.malloc.check=3:glibc.malloc.hugetlb=1"),
        ("always [madvise] never", "glibc.malloc.hugetlb=2", [], "glibc.malloc.hugetlb=2"),
        ("always [madvise] never", None, ["worked"], None),
        ("[always] madvise never", None, [], None),
        ("always madvise [never]", None, [], None),
        (None, None, [], None),
    ],
)
def test_a_process_starts_again_once_where_the_kernel_gives_huge_pages_on_request(tmp_path, mode, given, words, found):
    program, file = tmp_path / "program.py", tmp_path / "enabled"
    program.write_text(PROGRAM)
    if mode is not None:
        file.write_text(mode + "\n")
    environment = {name: value for name, value in os.environ.items() if name != "GLIBC_TUNABLES"}
    if given is not None:
        environment["GLIBC_TUNABLES"] = given
    process = subprocess.Popen(
        [sys.executable, program, file, *words],
        env=environment | {"PYTHONPATH": os.getcwd()},
        stdout=subprocess.PIPE,
        text=True,
    )
    printed, _ = process.communicate(timeout=60)
    assert printed.split() == [str(process.pid), str(found), *" ".join(words).split()]
