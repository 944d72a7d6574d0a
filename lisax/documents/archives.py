"""Office files and books are zip archives of XML: opened here with limits, since a small file can unpack to any size.

A reader gets the names and the contents of members; nothing is written to disk. Python's XML parser (expat 2.4.1 and
later) stops at entities that grow without end, and reads none from outside.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.etree import ElementTree

from lisax.documents.blocks import TOO_LARGE, Unread

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
UNPACKED = 256 << 20  # bytes that all members of a file may have
MEMBER = 64 << 20
MEMBERS = 20_000


def check_zip(path: Path) -> None:
    """Raises Unread for a file that is not an archive, has a password, declares entities, or unpacks to too much."""
    with Archive(path) as archive:
        for name in archive.names:
            if name.endswith((".xml", ".rels")):
                archive.check(name)


class Archive(zipfile.ZipFile):
    """The archive at `path`, with its `names`. `read(name)` and `xml(name)` are bounded."""

    def __init__(self, path: Path):
        self.path = path
        try:
            super().__init__(path)
        except (zipfile.BadZipFile, OSError) as error:
            content = path.read_bytes()
            if content.startswith(OLE):  # an Office file of before 2007, or one that is encrypted
                if "EncryptedPackage".encode("utf-16-le") in content:
                    raise Unread("password-protected", path=path) from None
                raise Unread(
                    "damaged", "it is an old Office file (.doc, .xls or .ppt) by its content", path=path
                ) from None
            raise Unread("damaged", str(error), path=path) from None
        members = self.infolist()
        if any(member.flag_bits & 1 for member in members):
            raise Unread("password-protected", path=path)
        whole = sum(member.file_size for member in members)
        if len(members) > MEMBERS or whole > UNPACKED:
            raise Unread(TOO_LARGE, f"it unpacks to {whole >> 20:,} MiB in {len(members):,} members", path=path)
        self.names = {member.filename: member for member in members}

    def read(self, name: str) -> bytes:
        """A member's content. Raises Unread if it is missing, damaged or too large."""
        try:
            with self.open(name) as member:
                content = member.read(MEMBER + 1)
        except (KeyError, zipfile.BadZipFile, EOFError, NotImplementedError, zipfile.zlib.error) as error:
            raise Unread("damaged", f"{name}: {error}", path=self.path) from None
        if len(content) > MEMBER:
            raise Unread(TOO_LARGE, f"{name} has more than {MEMBER >> 20} MiB", path=self.path)
        return content

    def check(self, name: str) -> bytes:
        """The content of a member that is XML. Raises Unread if it declares entities."""
        content = self.read(name)
        if b"<!ENTITY" in content:
            raise Unread("damaged", f"{name} declares entities", path=self.path)
        return content

    def xml(self, name: str) -> ElementTree.Element:
        """A member's XML tree. Raises Unread if it is not XML, or declares entities."""
        content = self.check(name)
        try:
            return ElementTree.fromstring(content)
        except ElementTree.ParseError as error:
            raise Unread("damaged", f"{name}: {error}", path=self.path) from None
