"""The documentation as a site: `make docs` writes it to site/.

Sphinx's source is the whole checkout, so that README, WORKSPACE, the changelog and what was measured are pages of the
site as they stand, and a link between them works on GitHub and on the site alike.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import lisax

project = "LisaX"
copyright = "the authors of LisaX, Apache 2.0"
version = release = lisax.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "WORKSPACE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/**.md",
    "benchmarks/RESULTS.md",
    "benchmarks/notes/*.md",
    "lisax/**/MODEL_CARD.md",
    "lisax/*/README.md",
    "tasks/README.md",
]
exclude_patterns = [".venv", ".cache", ".git", "build", "out", "site", "tests", "lisax/tasks", "lisax/gin_configs"]

# A link to a heading that is not there is a warning, and `make docs` takes warnings as errors.
myst_heading_anchors = 3

# The pages about tasks need no TensorFlow to be written.
autodoc_mock_imports = ["seqio", "tensorflow", "tensorflow_datasets"]
# Docstrings write names in single backticks.
default_role = "code"
autoclass_content = "both"  # what a class is, and what it is made with
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
add_module_names = False

highlight_language = "text"  # of blocks that name none: commands and what they print
html_theme = "furo"
html_title = f"LisaX {version}"
templates_path = ["_templates"]
html_additional_pages = {"index": "to_the_first_page.html"}
html_copy_source = False
html_show_sphinx = False


def setup(app):
    """Pictures in two versions, light and dark, are HTML, in which Sphinx sees no files: they are copied to where it names
    them."""

    def copied(app, error):
        shutil.copytree(Path(__file__).with_name("images"), Path(app.outdir, "docs/images"), dirs_exist_ok=True)

    app.connect("build-finished", copied)
