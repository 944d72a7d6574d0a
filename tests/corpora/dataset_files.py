"""Files of datasets, as tests write them."""

import io
import json
import tarfile
from pathlib import Path

MCQS = "QUESTION\tCHOICE 1\tCHOICE 2\tCHOICE 3\tCHOICE 4\tCORRECT CHOICE\tRELEVANT TABLE\tRELEVANT ROW\tRELEVANT COL\n"


def lines(path: Path, rows) -> Path:
    """Writes JSON Lines; a text is a line as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return path


def put(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(as_bytes(content))


def packed(mode: str = "w:gz", **members: str | bytes) -> bytes:
    """A tar; `__` in a name is a slash."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size = len(as_bytes(content))
            archive.addfile(info, io.BytesIO(as_bytes(content)))
    return data.getvalue()


def as_bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()
