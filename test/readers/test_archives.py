"""Archives: what holds for zip and tar alike, and the tricks of each."""

import gzip
import io
import stat
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest
from readers.made import nifti, safe, tar_bytes, tgz_bytes, zip_bytes

from podium.errors import SubmissionError
from podium.readers import archives as archive_extract
from podium.readers import archives as archive_target
from podium.readers import archives as zip_archive
from podium.readers import inflate
from podium.readers.archives import archive_names, extract_archive
from podium.readers.files import SafeFile

CONTENT = {"a.h5": b"one", "sub/b.h5": b"two", "sub/empty": b""}


MAKERS = {"s.tar": tar_bytes, "s.tar.gz": tgz_bytes, "s.tgz": tgz_bytes, "s.zip": zip_bytes}
every_kind = pytest.mark.parametrize("name", MAKERS)


def refusal(folder: Path, name: str, content: bytes, **bounds: int) -> str:
    file = safe(folder, name, content)
    with pytest.raises(SubmissionError) as caught:
        extract_archive(file, folder / "out", **bounds)
    assert str(folder) not in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


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
    def test_large_files_come_out(self, tmp_path: Path, name: str) -> None:
        content = {"big": bytes(range(256)) * 20_000, "after": b"x"}
        extract_archive(safe(tmp_path, name, MAKERS[name](content)), tmp_path / "out")
        assert unpacked(tmp_path / "out") == content

    @every_kind
    def test_long_names_in_utf8_come_out(self, tmp_path: Path, name: str) -> None:
        content = {"ordner/" + "ä" * 120 + ".h5": b"x", "./dotted//c": b"y"}
        extract_archive(safe(tmp_path, name, MAKERS[name](content)), tmp_path / "out")
        assert unpacked(tmp_path / "out") == {"ordner/" + "ä" * 120 + ".h5": b"x", "dotted/c": b"y"}

    @every_kind
    @pytest.mark.parametrize(
        ("member", "words"),
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
        ],
    )
    def test_names_are_refused_in_words(self, tmp_path: Path, name: str, member: str, words: str) -> None:
        message = refusal(tmp_path, name, MAKERS[name]({member: b"x"}))
        assert message.startswith(f"'{name}' ")
        assert words in message
        assert unpacked(tmp_path / "out") == {}

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
    def test_a_name_that_cannot_be_shown_still_must_not_lead_out(self, tmp_path: Path, name: str) -> None:
        message = refusal(tmp_path, name, MAKERS[name]({"../a\nb": b"x"}))
        assert message == f"'{name}' holds '../a\\nb', which leads out of the archive."

    @every_kind
    def test_no_file_lies_below_a_file(self, tmp_path: Path, name: str) -> None:
        message = refusal(tmp_path, name, MAKERS[name]({"a": b"x", "a/b": b"y"}))
        assert message == f"'{name}' uses the path of 'a/b' for both a file and a folder."

    @every_kind
    def test_no_file_replaces_a_folder(self, tmp_path: Path, name: str) -> None:
        message = refusal(tmp_path, name, MAKERS[name]({"a/b": b"x", "a": b"y"}))
        assert message == f"'{name}' holds more than one member named 'a'."

    @every_kind
    def test_no_file_replaces_a_file(self, tmp_path: Path, name: str) -> None:
        message = refusal(tmp_path, name, MAKERS[name]({"a": b"x", "./a": b"y"}))
        assert message == f"'{name}' holds more than one member named './a'."

    @every_kind
    def test_a_file_that_is_already_there_is_not_touched(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "kept").write_bytes(b"kept")
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "a").symlink_to(tmp_path / "kept")
        message = refusal(tmp_path, name, MAKERS[name]({"a": b"x"}))
        assert message == f"'a' in '{name}' cannot be unpacked."
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
        monkeypatch.setattr(archive_target, "MAX_ENTRIES", 20)
        content = {"/".join(f"{number}{level}" for level in range(10)) + "/x": b"" for number in range(2)}
        message = refusal(tmp_path, name, MAKERS[name](content))
        assert message == f"'{name}' holds more than 20 files and folders."
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
        monkeypatch.setattr(archive_extract, "RATIO_FREE_BYTES", 1_000_000)
        content = MAKERS[name]({"a": bytes(1_100_000)})
        assert "unpacks to more than 1,000,000 bytes" in refusal(tmp_path, name, content, max_ratio=100)
        extract_archive(safe(tmp_path, name, content), tmp_path / "enough")

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

    @every_kind
    def test_archives_inside_are_not_opened(self, tmp_path: Path, name: str) -> None:
        inner = zip_bytes({"../evil": b"x"})
        extract_archive(safe(tmp_path, name, MAKERS[name]({"inner.zip": inner})), tmp_path / "out")
        assert unpacked(tmp_path / "out") == {"inner.zip": inner}


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"\x1f\x8b", gzip.compress(nifti()), nifti(), bytes(1024)],
    ids=["nothing", "half a zip's magic", "gzip's magic", "gzipped NIfTI", "NIfTI", "zeros"],
)
def test_other_files_are_no_archives(tmp_path: Path, content: bytes) -> None:
    assert refusal(tmp_path, "s.zip", content) == "'s.zip' is not a zip, tar or gzipped tar archive."


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

    @pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"Z"])
    def test_special_files_are_left_out(self, tmp_path: Path, kind: bytes) -> None:
        (tmp_path / "s.tar").write_bytes(self.single(kind) + bytes(1024))
        left_out = extract_archive(SafeFile.inside(tmp_path, "s.tar"), tmp_path / "out")
        assert left_out == (("a", "'a' in 's.tar' is not a regular file."),)
        assert unpacked(tmp_path / "out") == {}

    @pytest.mark.parametrize("kind", [tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.FIFOTYPE])
    def test_special_files_with_data_are_refused(self, tmp_path: Path, kind: bytes) -> None:
        message = refusal(tmp_path, "s.tar", self.single(kind, b"x" * 600))
        assert message == "'s.tar' holds 'a', which is not a regular file."

    def test_sparse_files_are_refused(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "s.tar", self.single(tarfile.GNUTYPE_SPARSE))
        assert message == "'s.tar' holds the sparse file 'a'; pack it without --sparse."

    def test_sparse_files_of_the_newer_kind_are_refused(self, tmp_path: Path) -> None:
        content = self.pax({"GNU.sparse.major": "1", "GNU.sparse.name": "/etc/passwd"})
        assert refusal(tmp_path, "s.tar", content) == "'s.tar' holds a sparse file; pack it without --sparse."

    @pytest.mark.parametrize("name", ["../a", "/a"])
    def test_names_in_extended_headers_are_checked_too(self, tmp_path: Path, name: str) -> None:
        assert f"'{name}'" in refusal(tmp_path, "s.tar", self.pax({"path": name}))

    def test_names_that_are_no_text_are_refused(self, tmp_path: Path) -> None:
        content = tar_bytes({os_name(b"\xff.h5"): b"x", "a.h5": b"1"})
        left_out = extract_archive(safe(tmp_path, "s.tar", content), tmp_path / "out")
        reason = "'\\udcff.h5' in 's.tar' has unprintable characters in its name; rename it."
        assert left_out == (("\\udcff.h5", reason),)
        assert unpacked(tmp_path / "out") == {"a.h5": b"1"}

    @pytest.mark.parametrize("size", ["-1", "1e9", "٣", "9" * 30])
    def test_sizes_in_extended_headers_are_numbers(self, tmp_path: Path, size: str) -> None:
        message = refusal(tmp_path, "s.tar", self.pax({"size": size}))
        assert message == "'s.tar' declares a member whose size is not a number."

    def test_a_huge_announced_size_is_refused_at_once(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "s.tar", self.pax({"size": str(10**15)}))
        assert "unpacks to more than 67,108,864 bytes" in message

    def test_negative_sizes_are_refused(self, tmp_path: Path) -> None:
        block = bytearray(tar_bytes({"a": b""}))
        block[124:136] = b"\xff" * 12  # base 256: minus one
        assert refusal(tmp_path, "s.tar", with_checksum(block)) == "'s.tar' declares a member of negative size."

    def test_extended_headers_are_bounded(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "s.tgz", gzip.compress(self.pax({"comment": "x" * 100_000})))
        assert message == "'s.tgz' holds an extended header that is too long."

    def test_extended_headers_without_a_member_are_bounded(self, tmp_path: Path) -> None:
        single = self.pax({"comment": "x"})
        header = single[: single.index(b"a" + bytes(99))]
        message = refusal(tmp_path, "s.tar", header * 9 + single)
        assert message == "'s.tar' holds too many extended headers for one member."

    def test_extended_headers_are_bounded_in_all(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        single = self.pax({"comment": "x" * 30})
        header = single[: single.index(b"a" + bytes(99))]
        monkeypatch.setattr("podium.readers.archives.MAX_EXTENDED_BYTES_IN_ALL", 60)
        message = refusal(tmp_path, "s.tar", header * 2 + single)
        assert message == "'s.tar' holds an extended header that is too long."

    def test_gzip_pieces_are_bounded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Twenty bytes each, and nothing comes out of them: only their number says that something is wrong."""
        monkeypatch.setattr(inflate, "MAX_MEMBERS", 100)
        content = gzip.compress(self.single(tarfile.REGTYPE)) + gzip.compress(b"") * 101
        assert refusal(tmp_path, "s.tgz", content) == "'s.tgz' is made of too many pieces; pack it again."

    @pytest.mark.parametrize("records", [b"5 a=b", b"99 a=b\n", b"x a=b\n", b"6 ab\n\n", b"0 a=b\n"])
    def test_damaged_extended_headers_are_refused(self, tmp_path: Path, records: bytes) -> None:
        content = self.single(tarfile.XHDTYPE, records) + tar_bytes({"a": b""})
        message = refusal(tmp_path, "s.tar", content)
        assert message == "'s.tar' holds an extended header that is damaged; pack it again."

    def test_one_name_for_all_members_is_refused(self, tmp_path: Path) -> None:
        content = self.single(tarfile.XGLTYPE, b"10 path=x\n") + tar_bytes({"a": b""})
        message = refusal(tmp_path, "s.tar", content)
        assert message == "'s.tar' gives one name or size to all its members; pack it again."

    def test_other_words_for_all_members_are_harmless(self, tmp_path: Path) -> None:
        content = self.single(tarfile.XGLTYPE, b"13 comment=x\n") + tar_bytes({"a": b"1"})
        extract_archive(safe(tmp_path, "s.tar", content), tmp_path / "out")
        assert unpacked(tmp_path / "out") == {"a": b"1"}

    def test_a_damaged_header_is_refused(self, tmp_path: Path) -> None:
        content = bytearray(tar_bytes({"a": b"x", "b": b"y"}))
        content[1024] ^= 1
        assert refusal(tmp_path, "s.tar", bytes(content)) == "'s.tar' is a damaged tar archive; pack it again."

    def test_nothing_follows_the_end(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "s.tar", tar_bytes({"a": b"x"}) + tar_bytes({"b": b"y"}))
        assert message == "'s.tar' has data after its end; pack it again as one archive."

    def test_padding_is_bounded(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "s.tgz", gzip.compress(tar_bytes({"a": b"x"}) + bytes(2_000_000)))
        assert message == "'s.tgz' has data after its end; pack it again as one archive."

    def test_a_broken_checksum_is_refused(self, tmp_path: Path) -> None:
        content = bytearray(gzip.compress(tar_bytes({"a": bytes(3_000_000)})))
        content[-8] ^= 1
        assert refusal(tmp_path, "s.tgz", bytes(content)) == "'s.tgz' is corrupt; pack it again."

    def single(self, kind: bytes, content: bytes = b"") -> bytes:
        """One member of any kind, without the end of the archive."""
        member = tarfile.TarInfo("a")
        member.type, member.size = kind, len(content)
        return member.tobuf() + content + bytes(-len(content) % 512)

    def pax(self, records: dict[str, str]) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            member = tarfile.TarInfo("a")
            member.pax_headers = records
            archive.addfile(member)
        return buffer.getvalue()


def os_name(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def with_checksum(block: bytearray) -> bytes:
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:512])
    return bytes(block)


class TestZip:
    def test_stored_members_are_read(self, tmp_path: Path) -> None:
        extract_archive(safe(tmp_path, "s.zip", zip_bytes(CONTENT, zipfile.ZIP_STORED)), tmp_path / "out")
        assert unpacked(tmp_path / "out") == CONTENT

    def test_folders_are_read(self, tmp_path: Path) -> None:
        extract_archive(safe(tmp_path, "s.zip", zip_bytes({"empty/": b"", "empty/a": b"x"})), tmp_path / "out")
        assert unpacked(tmp_path / "out") == {"empty/a": b"x"}

    def test_streamed_zips_are_read(self, tmp_path: Path) -> None:
        class Unseekable(io.RawIOBase):
            def __init__(self) -> None:
                self.content = b""

            def writable(self) -> bool:
                return True

            def write(self, data: bytes) -> int:
                self.content += bytes(data)
                return len(data)

        buffer = Unseekable()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in CONTENT.items():
                archive.writestr(name, content)
        extract_archive(safe(tmp_path, "s.zip", buffer.content), tmp_path / "out")
        assert unpacked(tmp_path / "out") == CONTENT

    def test_utf8_names_that_do_not_say_so_are_read(self, tmp_path: Path) -> None:
        content = zip_bytes({"xx.h5": b"1"}).replace(b"xx.h5", "ä.h5".encode())
        extract_archive(safe(tmp_path, "s.zip", content), tmp_path / "out")
        assert unpacked(tmp_path / "out") == {"ä.h5": b"1"}

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

    def test_names_with_nul_are_refused(self, tmp_path: Path) -> None:
        content = zip_bytes({"a.h5xpng": b"1"}).replace(b"a.h5xpng", b"a.h5\0png")
        left_out = extract_archive(safe(tmp_path, "s.zip", content), tmp_path / "out")
        reason = "'a.h5\\x00png' in 's.zip' has unprintable characters in its name; rename it."
        assert left_out == (("a.h5\\x00png", reason),)
        assert unpacked(tmp_path / "out") == {}

    def test_encrypted_members_are_refused(self, tmp_path: Path) -> None:
        content = changed_directory(zip_bytes({"a": b"x"}), 8, struct.pack("<H", 1))
        assert refusal(tmp_path, "s.zip", content) == "'s.zip' is encrypted; send it without a password."

    def test_special_files_are_left_out(self, tmp_path: Path) -> None:
        content = changed_directory(zip_bytes({"a": b"x"}), 38, struct.pack("<I", (stat.S_IFIFO | 0o600) << 16))
        (tmp_path / "s.zip").write_bytes(content)
        left_out = extract_archive(SafeFile.inside(tmp_path, "s.zip"), tmp_path / "out")
        assert left_out == (("a", "'a' in 's.zip' is not a regular file."),)
        assert unpacked(tmp_path / "out") == {}

    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_other_compressions_are_refused(self, tmp_path: Path, method: int) -> None:
        message = refusal(tmp_path, "s.zip", zip_bytes({"a": b"x"}, method))
        assert message == "'s.zip' compresses 'a' with an unsupported method; use deflate."

    def test_headers_that_contradict_each_other_are_refused(self, tmp_path: Path) -> None:
        content = zip_bytes({"visible": b"x"}).replace(b"visible", b"hidden!", 1)
        message = refusal(tmp_path, "s.zip", content)
        assert message == "'s.zip' contradicts itself about 'visible'; pack it again."

    def test_more_than_announced_is_refused(self, tmp_path: Path) -> None:
        first = zip_bytes({"a": bytes(5_000_000)})
        shortened = struct.pack("<II", zlib.crc32(bytes(10)), struct.unpack("<I", directory(first)[20:24])[0])
        content = changed_directory(first, 16, shortened + struct.pack("<I", 10))
        message = refusal(tmp_path, "s.zip", content)
        assert message == "'a' in 's.zip' unpacks to more than the 10 bytes declared."
        assert (tmp_path / "out/a").stat().st_size <= 10

    def test_less_than_announced_is_refused(self, tmp_path: Path) -> None:
        content = changed_directory(zip_bytes({"a": b"abc"}), 24, struct.pack("<I", 4))
        assert refusal(tmp_path, "s.zip", content) == "'a' in 's.zip' is damaged; pack it again."

    def test_a_broken_checksum_is_refused(self, tmp_path: Path) -> None:
        content = changed_directory(zip_bytes({"a": b"abc"}), 16, b"\0\0\0\0")
        assert refusal(tmp_path, "s.zip", content) == "'a' in 's.zip' is damaged; pack it again."

    def test_a_corrupt_member_is_refused(self, tmp_path: Path) -> None:
        content = bytearray(zip_bytes({"a": b"abc"}))
        content[31] = 0xFF  # the first byte of the deflated data
        assert refusal(tmp_path, "s.zip", bytes(content)) == "'a' in 's.zip' is corrupt; pack it again."

    def test_overlapping_members_are_refused(self, tmp_path: Path) -> None:
        content = zip_bytes({"a": b"x"})
        start = content.index(b"PK\x01\x02")
        entry = directory(content)[: 46 + 1]
        end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 2, 2, 2 * len(entry), start, 0)
        message = refusal(tmp_path, "s.zip", content[:start] + entry + entry + end)
        assert message == "'s.zip' holds members that overlap, such as 'a'."

    def test_members_beyond_the_file_are_refused(self, tmp_path: Path) -> None:
        content = changed_directory(zip_bytes({"a": b"x"}, zipfile.ZIP_STORED), 20, struct.pack("<II", 5000, 5000))
        message = refusal(tmp_path, "s.zip", content)
        assert message == "'s.zip' is a damaged or incomplete zip archive; pack it again."

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
        monkeypatch.setattr(zip_archive, "MAX_DIRECTORY_BYTES", 200_000)
        content = zip_bytes({f"{n:0200}": b"" for n in range(1000)}, zipfile.ZIP_STORED)
        message = refusal(tmp_path, "s.zip", content)
        assert message == "'s.zip' is a damaged or incomplete zip archive; pack it again."

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


def directory(content: bytes) -> bytes:
    return content[content.index(b"PK\x01\x02") :]


def changed_directory(content: bytes, offset: int, value: bytes) -> bytes:
    place = content.index(b"PK\x01\x02") + offset
    return content[:place] + value + content[place + len(value) :]
