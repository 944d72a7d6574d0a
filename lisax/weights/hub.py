"""Fetches models of the Hugging Face Hub, `hf:OWNER/NAME` or `hf:OWNER/NAME@REVISION`, through the Hub's own client.

The client keeps them in its cache (`HF_HOME`) and honours its settings: `HF_TOKEN`, `HF_ENDPOINT`, `HF_HUB_OFFLINE`.
Only files that run no code are fetched. Weights whose sha256 the Hub publishes are checked once, when they arrive. Of a
model with only pickled weights, the safetensors are taken that the Hub's own converter has proposed for it
(`refs/pr/N`), if they are of its present state.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

from lisax.errors import DataError, LisaxError
from lisax.files.writing import naming
from lisax.weights.hub_answers import guarded

PREFIX = "hf:"
FILES = (
    *("config.json", "model*.safetensors", "model.safetensors.index.json", "tokenizer.json", "spiece.model"),
    *("1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"),  # of sentence-transformers
)
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
CONVERTER, PROPOSAL = "SFconvertbot", "Adding `safetensors` variant"  # author and title of such a pull request
_REFERENCE = re.compile(r"hf:([\w.-]+/[\w.-]+)(?:@(?!/)(?!.*(?:\.\.|//))([\w./-]+))?", re.ASCII)


def get(reference: str, say: Callable[[str], None] | None = None) -> Path:
    """The folder of a model of the Hub, complete; missing files are downloaded.

    LisaxError if the reference, the repository or its revision does not exist, it needs a token, it has no weights in
    safetensors, or the Hub cannot be reached and the cache has no whole copy. DataError if weights have another sha256
    than the Hub's: then they are removed."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise LisaxError(f"'{reference}' names no model of the Hub: expected hf:OWNER/NAME or hf:OWNER/NAME@REVISION")
    try:
        from huggingface_hub import errors, utils
    except ImportError:
        raise LisaxError(
            f"{reference} needs huggingface_hub, which is not installed: pip install 'lisax[hub]'"
        ) from None
    try:
        utils.validate_repo_id(match[1])
    except errors.HFValidationError as error:
        raise LisaxError(f"'{reference}' names no model of the Hub: {error}") from None
    with guarded():
        return _get(reference, match, say)


def _get(reference: str, match: re.Match, say: Callable[[str], None] | None) -> Path:
    from huggingface_hub import constants

    repository, revision = match[1], match[2] or "main"
    page = f"{constants.ENDPOINT}/{repository}"
    blobs = Path(constants.HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}" / "blobs"
    before = set(blobs.iterdir()) if blobs.is_dir() else set()
    if say and not before:
        say(f"fetching {reference} from {page}")
    folder = _fetched(reference, repository, revision, blobs)
    _check(folder, before)
    if not _has_weights(folder) and match[2] is None:
        converted = _converted(repository, blobs.parent)
        if converted is not None:
            if say and not before:
                say(f"its weights are pickled: taking {page}/tree/{converted}, the Hub's conversion of them")
            folder = _fetched(reference, repository, converted, blobs)
            _check(folder, before)
    if not _has_weights(folder):
        raise LisaxError(
            f"{page} has no weights in safetensors, and others (.bin is pickled Python) are not loaded. See whether a "
            f"revision has them, for example hf:{repository}@refs/pr/1"
        )
    return folder


def _has_weights(folder: Path) -> bool:
    return any((folder / name).is_file() for name in WEIGHTS)


def _converted(repository: str, cache: Path) -> str | None:
    """The revision with the weights that the Hub's converter proposes: one that is open and based on the newest commit,
    or, without a network, one that is in the cache. None if there is none."""
    from huggingface_hub import HfApi, errors

    api = HfApi()
    try:
        newest = api.list_repo_commits(repository)[0].commit_id
        for proposed in api.get_repo_discussions(repository, author=CONVERTER, discussion_type="pull_request"):
            if (proposed.author, proposed.status) == (CONVERTER, "open") and proposed.title.startswith(PROPOSAL):
                commits = [
                    commit.commit_id for commit in api.list_repo_commits(repository, revision=proposed.git_reference)
                ]
                if newest in commits[1:2]:
                    return proposed.git_reference
    except (errors.HTTPError, errors.OfflineModeIsEnabled):
        for reference in sorted((cache / "refs" / "refs" / "pr").glob("*")):
            if _has_weights(cache / "snapshots" / reference.read_text().strip()):
                return f"refs/pr/{reference.name}"
    return None


def _fetched(reference: str, repository: str, revision: str, blobs: Path) -> Path:
    """The folder of a revision; raises LisaxError if it cannot be fetched."""
    from huggingface_hub import constants, errors, snapshot_download
    from huggingface_hub.utils import tqdm

    class Bars(tqdm):
        """Prints on the stream that leaves control characters unchanged."""

        def __init__(self, *given, **named):
            super().__init__(*given, **{**named, "file": sys.__stderr__})

    page = f"{constants.ENDPOINT}/{repository}"
    try:
        with naming(blobs.parent):
            return Path(snapshot_download(repository, revision=revision, allow_patterns=list(FILES), tqdm_class=Bars))
    except errors.GatedRepoError:
        raise LisaxError(
            f"{reference} is gated: accept its terms at {page}, and set HF_TOKEN to a token of yours"
        ) from None
    except errors.RepositoryNotFoundError:
        raise LisaxError(
            f"the Hub has no model '{repository}', or it is private: see {page}, or set HF_TOKEN"
        ) from None
    except errors.RevisionNotFoundError:
        raise LisaxError(f"'{repository}' has no revision '{revision}': see {page}/commits/main") from None
    except errors.LocalEntryNotFoundError as error:
        why = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else f"{constants.ENDPOINT} cannot be reached"
        if isinstance(error.__cause__, errors.HfHubHTTPError):
            why = f"the Hub answers: {str(error.__cause__).splitlines()[0]}"
        raise LisaxError(
            f"{reference} is not whole in the cache, and {why}. Download it with a network, with "
            f"`lisax models get {reference}`, and copy {blobs.parent}"
        ) from None
    except (errors.HTTPError, OSError) as error:  # HTTPError: the client's own HTTP library raises these too
        raise LisaxError(
            f"{reference} could not be fetched: {str(error).splitlines()[0]}. Run the same command again"
        ) from None


def _check(folder: Path, before: set[Path]) -> None:
    """Compares files that have just arrived with the sha256 that the cache names large ones by."""
    for path in folder.rglob("*.safetensors"):
        blob = path.resolve()
        if blob in before or not re.fullmatch(r"[0-9a-f]{64}", blob.name):
            continue
        with blob.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != blob.name:
            blob.unlink()
            path.unlink()
            raise DataError(
                f"its sha256 is {found}, and the Hub's is {blob.name}: it is removed, run the same command again",
                path=path,
            )
