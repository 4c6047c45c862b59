"""Archives: what holds for zip and tar alike, and the tricks of each."""

import gzip
import io
import stat
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from pathlib import Path, PurePosixPath

import pytest
from readers import made
from readers.made import nifti, safe, tar_bytes, tgz_bytes, zip_bytes

from podium.readers import archives
from podium.readers.archives import archive_names, extract_archive
from podium.readers.files import SafeFile

CONTENT = {"a.h5": b"one", "sub/b.h5": b"two", "sub/empty": b""}


MAKERS = {"s.tar": tar_bytes, "s.tar.gz": tgz_bytes, "s.tgz": tgz_bytes, "s.zip": zip_bytes}
every_kind = pytest.mark.parametrize("name", MAKERS)


def refusal(folder: Path, name: str, content: bytes, **bounds: int) -> str:
    return made.refusal(extract_archive, safe(folder, name, content), folder / "out", **bounds)


def unpacked(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class TestAllKinds:
    @every_kind
    def test_files_come_out(self, tmp_path: Path, name: str) -> None:
        file = safe(tmp_path, name, MAKERS[name](CONTENT))
        assert archive_names(file) == tuple(CONTENT)
        assert not (tmp_path / "out").exists()
        extract_archive(file, tmp_path / "out")
        assert unpacked(tmp_path / "out") == CONTENT

    @every_kind
    @pytest.mark.parametrize(
        "content",
        [
            {"big": bytes(range(256)) * 20_000, "after": b"x"},
            {"ordner/" + "ä" * 120 + ".h5": b"x", "./dotted//c": b"y"},
            {"inner.zip": zip_bytes({"../evil": b"x"})},  # archives inside are not opened
        ],
        ids=["large files", "long names in UTF-8", "an archive"],
    )
    def test_unusual_files_come_out(self, tmp_path: Path, name: str, content: dict[str, bytes]) -> None:
        extract_archive(safe(tmp_path, name, MAKERS[name](content)), tmp_path / "out")
        assert unpacked(tmp_path / "out") == {str(PurePosixPath(member)): data for member, data in content.items()}

    @every_kind
    @pytest.mark.parametrize(
        ("members", "words"),
        [
            ("../a", "holds '../a', which leads out of the archive."),
            ("a/../../b", "holds 'a/../../b', which leads out of the archive."),
            ("/etc/cron.d/a", "holds the absolute path '/etc/cron.d/a'."),
            ("a\\b", "holds 'a\\b', a Windows path; use forward slashes."),
            ("C:/a", "holds 'C:/a', a Windows path; use forward slashes."),
            ("x" * 256, "holds a name that is too long: 'xxx"),
            ("/".join(["long"] * 250), "holds a name that is too long: 'long/long"),
            ("/".join(["d"] * 17), "deeper than 16 folders."),
            (".", "holds a file without a name."),
            ("../a\nb", "holds '../a\\nb', which leads out of the archive."),
            ("a a/b", "uses the path of 'a/b' for both a file and a folder."),
            ("a/b a", "holds more than one member named 'a'."),
            ("a ./a", "holds more than one member named './a'."),
        ],
    )
    def test_names_are_refused_in_words(self, tmp_path: Path, name: str, members: str, words: str) -> None:
        *accepted, _ = contents = dict.fromkeys(members.split(" "), b"x")
        message = refusal(tmp_path, name, MAKERS[name](contents))
        assert message.startswith(f"'{name}' ")
        assert words in message
        assert unpacked(tmp_path / "out") == dict.fromkeys(accepted, b"x")

    @every_kind
    @pytest.mark.parametrize("member", ["Icon\r", "a\nb", "my\u00a0folder/a", "my\u00a0folder/"])
    def test_a_name_that_cannot_be_shown_costs_its_member_only(self, tmp_path: Path, name: str, member: str) -> None:
        content = {"before": b"x", member: b"", "after": b"y"}
        left_out = extract_archive(safe(tmp_path, name, MAKERS[name](content)), tmp_path / "out")
        escaped = member.encode("unicode_escape").decode()
        reason = f"'{escaped}' in '{name}' has unprintable characters in its name; rename it."
        assert left_out == ((escaped, reason),)
        assert unpacked(tmp_path / "out") == {"before": b"x", "after": b"y"}

    @every_kind
    def test_a_file_that_is_already_there_is_not_touched(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "kept").write_bytes(b"kept")
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "a").symlink_to(tmp_path / "kept")
        assert refusal(tmp_path, name, MAKERS[name]({"a": b"x"})) == f"'a' in '{name}' cannot be unpacked."
        assert (tmp_path / "kept").read_bytes() == b"kept"

    @every_kind
    def test_the_number_of_files_is_bounded(self, tmp_path: Path, name: str) -> None:
        content = MAKERS[name]({"a": b"", "b": b"", "c": b""})
        assert refusal(tmp_path, name, content, max_files=2) == f"'{name}' holds more than 2 files."
        extract_archive(safe(tmp_path, name, content), tmp_path / "enough", max_files=3)

    @every_kind
    def test_folders_that_only_names_bring_along_are_bounded(
        self, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ten folders per file: a small archive could fill a disk with them."""
        monkeypatch.setattr(archives, "MAX_ENTRIES", 20)
        content = {"/".join(f"{number}{level}" for level in range(10)) + "/x": b"" for number in range(2)}
        assert refusal(tmp_path, name, MAKERS[name](content)) == f"'{name}' holds more than 20 files and folders."
        assert len(list((tmp_path / "out").rglob("*"))) == 20

    @every_kind
    def test_the_total_size_is_bounded(self, tmp_path: Path, name: str) -> None:
        content = MAKERS[name]({"a": bytes(600), "b": bytes(600)})
        assert refusal(tmp_path, name, content, max_bytes=1199) == f"'{name}' unpacks to more than 1,199 bytes."
        extract_archive(safe(tmp_path, name, content), tmp_path / "enough", max_bytes=1200)

    @pytest.mark.parametrize("name", ["s.tgz", "s.zip"])
    def test_the_ratio_is_bounded_but_empty_masks_pass(
        self, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(archives, "RATIO_FREE_BYTES", 1_000_000)
        content = MAKERS[name]({"a": bytes(1_100_000)})
        extract_archive(safe(tmp_path, name, content), tmp_path / "enough")
        monkeypatch.setattr(archives, "MAX_RATIO", 100)
        assert "unpacks to more than 1,000,000 bytes" in refusal(tmp_path, name, content)

    @every_kind
    @pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
    def test_cut_archives_are_refused(self, tmp_path: Path, name: str, share: float) -> None:
        noise = b"".join(zlib.compress(bytes([n])) for n in range(256)) * 20
        content = MAKERS[name]({"a": noise, "b": noise})
        message = refusal(tmp_path, name, content[: int(len(content) * share)])
        assert message in (
            f"'{name}' ends too early; pack it again.",
            f"'{name}' is a damaged or incomplete zip archive; pack it again.",
        )

    @every_kind
    def test_modes_and_times_are_ours(self, tmp_path: Path, name: str) -> None:
        extract_archive(safe(tmp_path, name, MAKERS[name](CONTENT)), tmp_path / "out")
        assert stat.S_IMODE((tmp_path / "out/a.h5").stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "out/sub").stat().st_mode) == 0o700
        assert (tmp_path / "out/a.h5").stat().st_mtime > 1e9


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"\x1f\x8b", gzip.compress(nifti()), nifti(), bytes(1024)],
    ids=["nothing", "half a zip's magic", "gzip's magic", "gzipped NIfTI", "NIfTI", "zeros"],
)
def test_other_files_are_no_archives(tmp_path: Path, content: bytes) -> None:
    assert refusal(tmp_path, "s.zip", content) == "'s.zip' is not a zip, tar or gzipped tar archive."


def single(kind: bytes, content: bytes = b"") -> bytes:
    """One member of any kind, without the end of the archive."""
    member = tarfile.TarInfo("a")
    member.type, member.size = kind, len(content)
    return member.tobuf() + content + bytes(-len(content) % 512)


def pax(records: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a")
        member.pax_headers = records
        archive.addfile(member)
    return buffer.getvalue()


def with_checksum(place: int, value: bytes) -> bytes:
    """A header with other bytes at `place`, and the checksum that fits."""
    block = bytearray(tar_bytes({"a": b""}))
    block[place : place + len(value)] = value
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:512])
    return bytes(block)


ONE = tar_bytes({"a": b""})
EXTENDED = pax({"comment": "x"}).partition(b"a" + bytes(99))[0]
SPECIAL = (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"Z")
WITH_DATA = (tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.FIFOTYPE)
NO_SIZES = ("-1", "1e9", "٣", "9" * 30)


class TestTar:
    @pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    def test_all_dialects_are_read(self, tmp_path: Path, kind: int) -> None:
        content = {"folder/" * 10 + "n" * 90: b"x", "a": b"y"}
        extract_archive(safe(tmp_path, "s.tar", tar_bytes(content, kind)), tmp_path / "out")
        assert unpacked(tmp_path / "out") == content

    def test_folders_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "source/empty").mkdir(parents=True)
        with tarfile.open(tmp_path / "s.tar", "w") as archive:
            archive.add(tmp_path / "source", arcname=".")
        extract_archive(SafeFile.inside(tmp_path, "s.tar"), tmp_path / "out")
        assert (tmp_path / "out/empty").is_dir()

    @pytest.mark.parametrize("name", ["../a", "/a"])
    def test_names_in_extended_headers_are_checked_too(self, tmp_path: Path, name: str) -> None:
        assert f"'{name}'" in refusal(tmp_path, "s.tar", pax({"path": name}))

    def test_extended_headers_are_bounded_in_all(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        single = pax({"comment": "x" * 30})
        header = single[: single.index(b"a" + bytes(99))]
        monkeypatch.setattr(archives, "MAX_EXTENDED_BYTES_IN_ALL", 60)
        assert refusal(tmp_path, "s.tar", header * 2 + single) == "'s.tar' holds an extended header that is too long."

    def test_other_words_for_all_members_are_harmless(self, tmp_path: Path) -> None:
        content = single(tarfile.XGLTYPE, b"13 comment=x\n") + tar_bytes({"a": b"1"})
        extract_archive(safe(tmp_path, "s.tar", content), tmp_path / "out")
        assert unpacked(tmp_path / "out") == {"a": b"1"}

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            *((single(kind, b"x" * 600), "holds 'a', which is not a regular file.") for kind in WITH_DATA),
            (single(tarfile.GNUTYPE_SPARSE), "holds the sparse file 'a'; pack it without --sparse."),
            (pax({"GNU.sparse.major": "1"}), "holds a sparse file; pack it without --sparse."),
            *((pax({"size": size}), "declares a member whose size is not a number.") for size in NO_SIZES),
            (pax({"size": str(10**15)}), "unpacks to more than 67,108,864 bytes."),
            (with_checksum(124, b"\xff" * 12), "declares a member of negative size."),  # base 256: minus one
            (pax({"comment": "x" * 100_000}), "holds an extended header that is too long."),
            (EXTENDED * 9 + pax({"comment": "x"}), "holds too many extended headers for one member."),
            *(
                (single(tarfile.XHDTYPE, records) + ONE, "holds an extended header that is damaged; pack it again.")
                for records in (b"5 a=b", b"99 a=b\n", b"x a=b\n", b"6 ab\n\n", b"0 a=b\n")
            ),
            (
                single(tarfile.XGLTYPE, b"10 path=x\n") + ONE,
                "gives one name or size to all its members; pack it again.",
            ),
            (ONE[:512] + b"x" + bytes(511), "is a damaged tar archive; pack it again."),
            (ONE + ONE, "has data after its end; pack it again as one archive."),
            (ONE + bytes(2_000_000), "has data after its end; pack it again as one archive."),
        ],
    )
    @pytest.mark.parametrize("name", ["s.tar", "s.tgz"])
    def test_headers_are_refused_in_words(self, tmp_path: Path, name: str, content: bytes, words: str) -> None:
        packed = gzip.compress(content) if name == "s.tgz" else content
        assert refusal(tmp_path, name, packed) == f"'{name}' {words}"

    def test_a_broken_checksum_is_refused(self, tmp_path: Path) -> None:
        content = bytearray(gzip.compress(tar_bytes({"a": bytes(3_000_000)})))
        content[-8] ^= 1
        assert refusal(tmp_path, "s.tgz", bytes(content)) == "'s.tgz' is corrupt; pack it again."


def directory(content: bytes) -> bytes:
    return content[content.index(b"PK\x01\x02") :]


def changed_directory(content: bytes, offset: int, value: bytes) -> bytes:
    place = content.index(b"PK\x01\x02") + offset
    return content[:place] + value + content[place + len(value) :]


ZIP = zip_bytes({"a": b"abc"})


class TestZip:
    @pytest.mark.parametrize(
        ("packed", "files"),
        [
            (zip_bytes(CONTENT, zipfile.ZIP_STORED), CONTENT),
            (zip_bytes({"empty/": b"", "empty/a": b"x"}), {"empty/a": b"x"}),
            (zip_bytes({"xx.h5": b"1"}).replace(b"xx.h5", "ä.h5".encode()), {"ä.h5": b"1"}),
        ],
        ids=["stored members", "folders", "UTF-8 names that do not say so"],
    )
    def test_every_dialect_is_read(self, tmp_path: Path, packed: bytes, files: dict[str, bytes]) -> None:
        extract_archive(safe(tmp_path, "s.zip", packed), tmp_path / "out")
        assert unpacked(tmp_path / "out") == files

    def test_streamed_zips_are_read(self, tmp_path: Path) -> None:
        class Unseekable(io.BytesIO):
            def tell(self) -> int:
                raise io.UnsupportedOperation

        buffer = Unseekable()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in CONTENT.items():
                archive.writestr(name, content)
        extract_archive(safe(tmp_path, "s.zip", buffer.getvalue()), tmp_path / "out")
        assert unpacked(tmp_path / "out") == CONTENT

    @pytest.mark.parametrize(
        ("written", "code_page", "name"), [("ä", "cp437", "ä"), ("结果", "gbk", "╜ß╣√"), ("予測", "cp932", "ù_æ¬")]
    )
    def test_names_of_an_old_code_page_are_read_as_the_standard_says(
        self, tmp_path: Path, written: str, code_page: str, name: str
    ) -> None:
        raw = written.encode(code_page)
        content = zip_bytes({"x" * len(raw) + "/a.h5": b"1"}).replace(b"x" * len(raw) + b"/", raw + b"/")
        extract_archive(safe(tmp_path, "s.zip", content), tmp_path / "out")
        assert unpacked(tmp_path / "out") == {f"{name}/a.h5": b"1"}

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (changed_directory(ZIP, 8, struct.pack("<H", 1)), "'s.zip' is encrypted; send it without a password."),
            (
                zip_bytes({"a": b"x"}, zipfile.ZIP_BZIP2),
                "'s.zip' compresses 'a' with an unsupported method; use deflate.",
            ),
            (ZIP[:30] + b"b" + ZIP[31:], "'s.zip' contradicts itself about 'a'; pack it again."),  # the name
            (changed_directory(ZIP, 24, struct.pack("<I", 4)), "'a' in 's.zip' is damaged; pack it again."),
            (changed_directory(ZIP, 16, bytes(4)), "'a' in 's.zip' is damaged; pack it again."),
            (ZIP[:31] + b"\xff" + ZIP[32:], "'a' in 's.zip' is corrupt; pack it again."),  # the deflated data
            (
                changed_directory(zip_bytes({"a": b"x"}, zipfile.ZIP_STORED), 20, struct.pack("<II", 5000, 5000)),
                "'s.zip' is a damaged or incomplete zip archive; pack it again.",
            ),
        ],
        ids=["encrypted", "bzip2", "two names", "size", "checksum", "corrupt", "beyond the file"],
    )
    def test_members_are_refused_in_words(self, tmp_path: Path, content: bytes, words: str) -> None:
        assert refusal(tmp_path, "s.zip", content) == words

    def test_more_than_declared_is_refused(self, tmp_path: Path) -> None:
        first = zip_bytes({"a": bytes(5_000_000)})
        shortened = struct.pack("<II", zlib.crc32(bytes(10)), struct.unpack("<I", directory(first)[20:24])[0])
        content = changed_directory(first, 16, shortened + struct.pack("<I", 10))
        assert refusal(tmp_path, "s.zip", content) == "'a' in 's.zip' unpacks to more than the 10 bytes declared."
        assert (tmp_path / "out/a").stat().st_size <= 10

    def test_overlapping_members_are_refused(self, tmp_path: Path) -> None:
        content = zip_bytes({"a": b"x"})
        start = content.index(b"PK\x01\x02")
        entry = directory(content)[: 46 + 1]
        end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 2, 2, 2 * len(entry), start, 0)
        assert (
            refusal(tmp_path, "s.zip", content[:start] + entry + entry + end)
            == "'s.zip' holds members that overlap, such as 'a'."
        )

    @pytest.mark.parametrize("shift", [1, 256, -1])
    def test_members_before_the_file_are_refused(self, tmp_path: Path, shift: int) -> None:
        content = zip_bytes({"a": b"x"})
        place = content.index(b"PK\x05\x06") + 16  # where the directory is said to begin
        (begin,) = struct.unpack_from("<I", content, place)
        message = refusal(tmp_path, "s.zip", content[:place] + struct.pack("<I", begin + shift) + content[place + 4 :])
        assert message in (
            "'s.zip' is a damaged or incomplete zip archive; pack it again.",
            "'s.zip' contradicts itself about 'a'; pack it again.",
        )

    def test_the_directory_is_bounded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archives, "MAX_DIRECTORY_BYTES", 200_000)
        content = zip_bytes({f"{n:0200}": b"" for n in range(1000)}, zipfile.ZIP_STORED)
        assert refusal(tmp_path, "s.zip", content) == "'s.zip' is a damaged or incomplete zip archive; pack it again."

    @pytest.mark.parametrize("announced", [1, 0xFFFF, "zip64"])
    def test_members_are_counted_before_the_directory_is_taken_apart(
        self, tmp_path: Path, announced: int | str
    ) -> None:
        """Whatever number the archive announces: taken apart, its directory is ten times as large."""
        first = zip_bytes({"a": b""}, zipfile.ZIP_STORED)
        start = first.index(b"PK\x01\x02")
        entries = first[start : start + 46 + 1] * 60_000
        end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(entries), start, 0)
        if announced == "zip64":
            record = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 60_000, 60_000, len(entries), start)
            locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, start + len(entries), 1)
            unknown = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
            end = record + locator + unknown
        elif announced != 1:
            end = end[:8] + struct.pack("<HH", announced, announced) + end[12:]
        tracemalloc.start()
        try:
            message = refusal(tmp_path, "s.zip", first[:start] + entries + end)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert message == "'s.zip' holds more than 50,000 files."
        assert peak < 4 * len(entries)


NOT_REGULAR = "'a' in 's.archive' is not a regular file."
UNPRINTABLE = "in 's.archive' has unprintable characters in its name; rename it."


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        *((single(kind) + bytes(1024), "a", NOT_REGULAR) for kind in SPECIAL),
        (changed_directory(ZIP, 38, struct.pack("<I", (stat.S_IFIFO | 0o600) << 16)), "a", NOT_REGULAR),
        (
            tar_bytes({b"\xff.h5".decode("utf-8", "surrogateescape"): b"x"}),
            "\\udcff.h5",
            f"'\\udcff.h5' {UNPRINTABLE}",
        ),
        (
            zip_bytes({"a.h5xpng": b"1"}).replace(b"a.h5xpng", b"a.h5\0png"),
            "a.h5\\x00png",
            f"'a.h5\\x00png' {UNPRINTABLE}",
        ),
    ],
)
def test_what_is_no_file_or_has_no_name_is_left_out(tmp_path: Path, content: bytes, name: str, reason: str) -> None:
    assert extract_archive(safe(tmp_path, "s.archive", content), tmp_path / "out") == ((name, reason),)
    assert unpacked(tmp_path / "out") == {}
