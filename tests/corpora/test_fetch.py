"""`lisax data get` against a server of our own: resumes, retries, checks, unpacks, and says what is wrong."""

import hashlib
import http.server
import io
import socket
import tarfile
import threading
import zipfile

import pytest

from lisax.corpora import archives
from lisax.corpora.catalogue import ENTRIES, Download, Entry
from lisax.corpora.download import DownloadError, Patience, download, fetch
from lisax.errors import DataError, LisaxError

BODY = bytes(range(256)) * 40
QUICK = Patience(timeout_seconds=5, retries=3, first_wait_seconds=0)


class Server:
    """Serves `files`; `cut_after` breaks the next answers off, `fail` answers the next ones with a status."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.cut_after: list[int] = []
        self.fail: list[int] = []
        self.requests: list[str | None] = []
        self.etag: str | None = '"one"'
        self.ranges = True
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests.append(self.headers.get("Range"))
                body = server.files.get(self.path)
                if server.fail or body is None:
                    self.send_error(server.fail.pop(0) if server.fail else 404)
                    return
                asked = self.headers.get("Range")
                start = 0
                if server.ranges and asked and self.headers.get("If-Range", server.etag) == server.etag:
                    start = int(asked.removeprefix("bytes=").removesuffix("-"))
                if start >= len(body) and start:
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(body)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206 if start else 200)
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
                if server.etag:
                    self.send_header("ETag", server.etag)
                self.send_header("Content-Length", str(len(body) - start))
                self.end_headers()
                self.wfile.write(body[start : start + server.cut_after.pop(0)] if server.cut_after else body[start:])

            def log_message(self, *args):
                pass

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self):
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server()
    server.files["/a"] = BODY
    yield server
    server.close()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_download_arrives_whole(server, tmp_path):
    seen = []
    path = download(
        server.url + "/a",
        tmp_path / "deep/a",
        checksum="sha256:" + hashlib.sha256(BODY).hexdigest(),
        patience=QUICK,
        progress=lambda received, total: seen.append((received, total)),
    )
    assert path.read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY))
    assert names(tmp_path / "deep") == ["a"]


def test_a_broken_connection_is_resumed_where_it_broke(server, tmp_path):
    server.cut_after = [1000, 2000]
    assert download(server.url + "/a", tmp_path / "a", patience=QUICK).read_bytes() == BODY
    assert server.requests == [None, "bytes=1000-", "bytes=3000-"]


def test_another_run_resumes_what_the_first_left(server, tmp_path):
    server.cut_after = [1000]
    with pytest.raises(DownloadError, match="broke off.*the same command again, which resumes after 1,000 bytes"):
        download(server.url + "/a", tmp_path / "a", patience=Patience(5, retries=-1))
    assert names(tmp_path) == ["a.partial", "a.partial.json"]
    assert download(server.url + "/a", tmp_path / "a", patience=QUICK).read_bytes() == BODY
    assert server.requests == [None, "bytes=1000-"]
    assert names(tmp_path) == ["a"]


def test_a_partial_that_was_already_whole(server, tmp_path):
    (tmp_path / "a.partial").write_bytes(BODY)
    md5 = "md5:" + hashlib.md5(BODY).hexdigest()
    assert download(server.url + "/a", tmp_path / "a", checksum=md5, patience=QUICK).read_bytes() == BODY
    assert server.requests == [f"bytes={len(BODY)}-"]


@pytest.mark.parametrize("ranges, etag", [(False, '"one"'), (True, None), (True, 'W/"weak"')])
def test_without_a_safe_resume_the_download_begins_anew(server, tmp_path, ranges, etag):
    server.ranges, server.etag, server.cut_after = ranges, etag, [1000]
    assert download(server.url + "/a", tmp_path / "a", patience=QUICK).read_bytes() == BODY


def test_a_file_that_changed_meanwhile_begins_anew(server, tmp_path):
    server.cut_after = [1000]
    with pytest.raises(DownloadError):
        download(server.url + "/a", tmp_path / "a", patience=Patience(5, retries=-1))
    server.files["/a"], server.etag = BODY[::-1], '"two"'
    assert download(server.url + "/a", tmp_path / "a", patience=QUICK).read_bytes() == BODY[::-1]


def test_a_busy_server_is_asked_again_and_not_for_ever(server, tmp_path):
    server.fail = [503, 429, 500]
    assert download(server.url + "/a", tmp_path / "a", patience=QUICK).read_bytes() == BODY
    server.fail = [503] * 9
    with pytest.raises(DownloadError, match="the server answers 503"):
        download(server.url + "/a", tmp_path / "b", patience=QUICK)
    assert len(server.fail) == 5
    assert names(tmp_path) == ["a"]


def test_a_missing_file_is_not_asked_for_again(server, tmp_path):
    with pytest.raises(DownloadError, match="answers 404 .*may have moved"):
        download(server.url + "/nowhere", tmp_path / "a", patience=QUICK)
    assert len(server.requests) == 1


def test_a_wrong_checksum_leaves_nothing(server, tmp_path):
    with pytest.raises(DownloadError, match="the checksum is wrong: expected md5:0, found md5:"):
        download(server.url + "/a", tmp_path / "a", checksum="md5:0", patience=QUICK)
    assert names(tmp_path) == []


def test_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/a"
        with pytest.raises(DownloadError, match="cannot be reached; check the connection.*by other means into "):
            download(url, tmp_path / "a", patience=QUICK)
    with pytest.raises(DownloadError, match="not an address that can be fetched"):
        download("no-scheme", tmp_path / "a", patience=QUICK)


def zipped(**members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return data.getvalue()


def test_fetch_unpacks_once_and_goes_on_where_it_stopped(server, tmp_path):
    server.files["/pages.zip"] = zipped(
        **{"wiki-pages/wiki-001.jsonl": "{}", "__MACOSX/._x": "?", "wiki-pages/._wiki-001.jsonl": "?"}
    )
    server.files["/set.zip"] = zipped(**{"set/corpus.jsonl": "c", "set/qrels/test.tsv": "q", "other/x": "x"})
    downloads = (
        Download(server.url + "/a", "a.jsonl"),
        Download(server.url + "/pages.zip", "pages.zip", unpack=True),
        Download(server.url + "/set.zip", "set.zip", unpack=True, inside="set"),
    )
    entry = Entry("x", "X", "home", "free", downloads)
    out = tmp_path / "out"
    assert list(fetch(entry, out, patience=QUICK)) == [
        f"{out}/a.jsonl: 10,240 bytes",
        f"{out}/pages.zip: unpacked 1 files into {out}",
        f"{out}/set.zip: unpacked 2 files into {out}",
    ]
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()) == [
        ".pages.zip.unpacked.json",
        ".set.zip.unpacked.json",
        "a.jsonl",
        "corpus.jsonl",
        "qrels/test.tsv",
        "wiki-pages/wiki-001.jsonl",
    ]
    server.requests.clear()
    assert all(line.endswith(": already there") for line in fetch(entry, out, patience=QUICK))
    assert server.requests == []


def test_what_cannot_be_fetched_says_where_it_is(tmp_path):
    by_hand = next(entry for entry in ENTRIES if not entry.files)
    with pytest.raises(LisaxError, match="cannot be fetched directly: .*http"):
        list(fetch(by_hand, tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(LisaxError, match="expected a folder to fill, found a file"):
        list(fetch(ENTRIES[0], tmp_path / "file"))


def test_the_catalogue_is_well_formed():
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        # A page for readers may be an old one; what is fetched comes over TLS.
        assert entry.homepage.startswith(("https://", "http://")) and bool(entry.files) != bool(entry.note)
        for file in entry.files:
            assert file.url.startswith("https://") and "/" not in file.name
            if file.checksum:
                algorithm, digest = file.checksum.split(":")
                assert len(bytes.fromhex(digest)) == hashlib.new(algorithm).digest_size


def tarred(*members: tarfile.TarInfo) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for member in members:
            member.size = 1 if member.isreg() else 0
            archive.addfile(member, io.BytesIO(b"x"))
    return data.getvalue()


def member(name, kind=tarfile.REGTYPE, linkname=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, linkname
    return info


def zipped_link():
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return data.getvalue()


def test_a_tar_is_unpacked(tmp_path):
    (tmp_path / "a.tar.gz").write_bytes(tarred(member("./d", tarfile.DIRTYPE), member("./d/one"), member("two")))
    out = tmp_path / "out"
    assert archives.unpack(tmp_path / "a.tar.gz", out) == [out / "d/one", out / "two"]


@pytest.mark.parametrize(
    "data, said",
    [
        (tarred(member("good"), member("../evil")), "unsafe name, '../evil'"),
        (tarred(member("/evil")), "unsafe name, '/evil'"),
        (tarred(member("good"), member("link", tarfile.SYMTYPE, "/etc")), "a link or a device, 'link'"),
        (tarred(member("link", tarfile.LNKTYPE, "good")), "a link or a device"),
        (tarred(member("fifo", tarfile.FIFOTYPE)), "a link or a device"),
        (tarred(member("a"), member("a")), "holds 'a' twice"),
        (tarred(member("a"), member("a/b")), "cannot be unpacked"),
        (zipped(**{"good": "x", "../evil": "x"}), "unsafe name, '../evil'"),
        (zipped(**{"..\\evil": "x"}), "unsafe name"),
        (zipped(**{"C:/evil": "x"}), "unsafe name"),
        (zipped_link(), "holds a link, 'link'"),
        (zipped(a="x" * 99).replace(b"x" * 99, b"y" * 99), "broken"),
    ],
    ids=map(str, range(12)),
)  # the bytes hold the time of day
def test_archives_are_not_trusted(tmp_path, data, said):
    folder = tmp_path / "out"
    (tmp_path / "archive").write_bytes(data)
    with pytest.raises(DataError, match=said):
        archives.unpack(tmp_path / "archive", folder)
    assert names(folder) == []
    assert names(tmp_path) == ["archive", "out"]


def test_an_archive_larger_than_the_disk_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.zip").write_bytes(zipped(a="x" * 99))
    monkeypatch.setattr(archives.shutil, "disk_usage", lambda path: archives.shutil._ntuple_diskusage(9, 0, 9))
    with pytest.raises(DataError, match="unpacked it has 99 bytes, and the disk has 9 left"):
        archives.unpack(tmp_path / "a.zip", tmp_path / "out")
