"""MetaImage: the text header of a .mha file, read more strictly than MetaIO reads it.

`ElementDataFile` can name any file of the container, and several fields change where MetaIO looks for pixels. So the
header is parsed here by a grammar in which our reading and MetaIO's cannot differ: one `Key = value` per line, keys
without blanks or colons (MetaIO takes a colon for the equals sign), no control characters, no key twice, no key that
differs from a known one only in its case. `ElementDataFile = LOCAL` must end it, exactly.
"""

import math
import re
from dataclasses import dataclass

from podium.errors import Refused
from podium.readers.files import SafeFile, escape_for_display
from podium.readers.formats.headers import ImageFormat, ImageHeader, check_axes, check_channels, check_lengths

MAX_HEADER_BYTES = 256 * 1024
MAX_LINE_BYTES = 4096

PIXEL_TYPES = {
    "MET_CHAR": "i1",
    "MET_UCHAR": "u1",
    "MET_SHORT": "i2",
    "MET_USHORT": "u2",
    "MET_INT": "i4",
    "MET_UINT": "u4",
    "MET_LONG_LONG": "i8",
    "MET_ULONG_LONG": "u8",
    "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}
"""The last character is the number of bytes. MET_LONG and MET_ULONG are missing on purpose: their size depends on who
reads them."""

REQUIRED = ("ObjectType", "NDims", "BinaryData", "DimSize", "ElementType")
FLAGS = ("BinaryData", "BinaryDataByteOrderMSB", "ElementByteOrderMSB", "CompressedData")
VECTORS = ("ElementSpacing", "ElementSize", "Offset", "Position", "Origin", "CenterOfRotation")
MATRICES = ("TransformMatrix", "Rotation", "Orientation")
OTHER_KNOWN = (
    *("ElementNumberOfChannels", "ElementDataFile", "CompressedDataSize", "CompressionLevel", "HeaderSize"),
    *("AnatomicalOrientation", "DistanceUnits", "Modality", "AcquisitionDate", "Color", "Comment", "SequenceID"),
    *("ElementMin", "ElementMax", "ElementNBits", "ElementToIntensityFunctionSlope"),
    *("ElementToIntensityFunctionOffset", "FileFormatVersion", "FormTypeName", "ObjectSubType"),
    *("Name", "ID", "ParentID"),
)
KNOWN = frozenset((*REQUIRED, *FLAGS, *VECTORS, *MATRICES, *OTHER_KNOWN))
KNOWN_BY_LOWER_CASE = {key.lower(): key for key in KNOWN}

# Brackets and bars: what SimpleITK keeps of a NIfTI (`dim[0]`) or DICOM (`0008|0060`) header when it writes a .mha.
LINE = re.compile(rb"([A-Za-z0-9_|.\[\]\-]{1,200}) = ?([^\x00-\x1f\x7f]*)")
WHOLE_NUMBER = re.compile(r"[0-9]{1,10}")
FIRST_KEY = re.compile(rb"\s*(ObjectType|NDims|Comment)\s*[=:]")  # in any spelling MetaIO might take
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")


def read_metaimage_header(file: SafeFile) -> ImageHeader:
    """The header of a .mha file whose pixels follow in the same file; everything else is refused."""
    fields, data_offset = _fields(file)
    return _Checked(file, fields).header(data_offset)


def _fields(file: SafeFile) -> tuple[dict[str, str], int]:
    """Keys and values in the order of the file, ElementDataFile left out, and the offset of the pixels."""
    start = file.first_bytes(MAX_HEADER_BYTES)
    fields: dict[str, str] = {}
    offset = 0
    while True:
        end = start.find(b"\n", offset)
        if end < 0 or end - offset > MAX_LINE_BYTES:
            raise Refused(f"The header of '{file.name}' does not end with 'ElementDataFile = LOCAL'.")
        line = start[offset:end]
        offset = end + 1
        match = LINE.fullmatch(line)
        if match is None:
            shown = escape_for_display(line[:60].decode("utf-8", "replace"))
            raise Refused(f"The header of '{file.name}' has a line that is not 'Key = value': '{shown}'.")
        key = match[1].decode("ascii")
        value = match[2].decode("utf-8", "replace")
        if key not in KNOWN and key.lower() in KNOWN_BY_LOWER_CASE:
            known = KNOWN_BY_LOWER_CASE[key.lower()]
            raise Refused(f"The header of '{file.name}' spells '{known}' as '{key}'.")
        if key in fields:
            raise Refused(f"The header of '{file.name}' has '{key}' twice.")
        if key == "ElementDataFile":
            if line != b"ElementDataFile = LOCAL":
                raise Refused(
                    f"'{file.name}' points to pixels outside itself; "
                    "send one .mha file with 'ElementDataFile = LOCAL' and the pixels after the header."
                )
            return fields, offset
        fields[key] = value


@dataclass(frozen=True)
class _Checked:
    """The fields of one header, each turned into a value or refused."""

    file: SafeFile
    fields: dict[str, str]

    def header(self, data_offset: int) -> ImageHeader:
        self.check_presence()
        axes = self.whole_number("NDims")
        check_axes(self.file, axes)
        compressed, byte_order = self.check_flags(), self.byte_order()
        shape = self.shape(axes)
        check_lengths(self.file, shape)
        if "ElementNumberOfChannels" in self.fields:
            check_channels(self.file, self.whole_number("ElementNumberOfChannels"))
        element_type = self.fields["ElementType"]
        if element_type not in PIXEL_TYPES:
            kind = escape_for_display(element_type)
            raise Refused(f"'{self.file.name}' has the ElementType '{kind}'; save a plain integer or float type.")
        if compressed:
            self.check_compressed_size(data_offset)
        self.check_geometry(axes)
        pixel_type = PIXEL_TYPES[element_type]
        return ImageHeader(
            shape=shape,
            pixel_bytes=int(pixel_type[-1]),
            dtype=byte_order + pixel_type,
            content_offset=data_offset,
            is_compressed=compressed,
        )

    def check_presence(self) -> None:
        if "HeaderSize" in self.fields:
            raise Refused(f"The header of '{self.file.name}' has a HeaderSize; save it without.")
        for key in REQUIRED:
            if key not in self.fields:
                raise Refused(f"The header of '{self.file.name}' has no '{key}'.")
        for key, value in self.fields.items():
            # MetaIO would look for the value of a known key on the next line.
            if key in KNOWN and not value.strip():
                raise Refused(f"The header of '{self.file.name}' gives no value for '{key}'.")
        # MetaIO needs the number of axes before it can read anything that has one value per axis.
        order = list(self.fields)
        for key in ("DimSize", *VECTORS, *MATRICES):
            if key in self.fields and order.index(key) < order.index("NDims"):
                raise Refused(f"The header of '{self.file.name}' gives '{key}' before 'NDims'.")
        if self.fields["ObjectType"] != "Image":
            raise Refused(
                f"'{self.file.name}' holds a MetaIO '{escape_for_display(self.fields['ObjectType'])}', not an Image."
            )

    def check_flags(self) -> bool:
        for key in FLAGS:
            if self.fields.get(key, "True") not in ("True", "False"):
                raise Refused(f"The header of '{self.file.name}' must say True or False for '{key}'.")
        if self.fields["BinaryData"] != "True":
            raise Refused(f"'{self.file.name}' stores its pixels as text; save it with BinaryData = True.")
        return self.fields.get("CompressedData") == "True"

    def byte_order(self) -> str:
        """NumPy's character for it; MetaIO writes little-endian by default."""
        orders = {self.fields[key] for key in ("BinaryDataByteOrderMSB", "ElementByteOrderMSB") if key in self.fields}
        if len(orders) > 1:
            raise Refused(f"The header of '{self.file.name}' gives two different byte orders.")
        return ">" if "True" in orders else "<"

    def shape(self, axes: int) -> tuple[int, ...]:
        lengths = [length for length in self.fields["DimSize"].split(" ") if length]
        if len(lengths) != axes or not all(WHOLE_NUMBER.fullmatch(length) for length in lengths):
            raise Refused(f"The DimSize of '{self.file.name}' is not {axes} whole numbers.")
        return tuple(int(length) for length in reversed(lengths))

    def check_compressed_size(self, data_offset: int) -> None:
        if "CompressedDataSize" not in self.fields:
            raise Refused(f"The header of '{self.file.name}' has no 'CompressedDataSize'.")
        declared = self.whole_number("CompressedDataSize")
        stored = self.file.size - data_offset
        if declared != stored:
            raise Refused(
                f"'{self.file.name}' holds {stored:,} compressed bytes, but its header declares {declared:,}."
            )

    def check_geometry(self, axes: int) -> None:
        counts = dict.fromkeys(VECTORS, axes) | dict.fromkeys(MATRICES, axes * axes)
        for key, count in counts.items():
            texts = [text for text in self.fields.get(key, "").split(" ") if text]
            is_number = [NUMBER.fullmatch(text) and math.isfinite(float(text)) for text in texts]
            if key in self.fields and (len(texts) != count or not all(is_number)):
                raise Refused(f"The {key} of '{self.file.name}' is not {count} finite numbers.")

    def whole_number(self, key: str) -> int:
        if WHOLE_NUMBER.fullmatch(self.fields[key]) is None:
            raise Refused(f"The {key} of '{self.file.name}' is not a whole number.")
        return int(self.fields[key])


METAIMAGE = ImageFormat(
    name="MetaImage",
    endings=(".mha",),
    image_io="MetaImageIO",
    matches=lambda start: FIRST_KEY.match(start) is not None,
    read_header=read_metaimage_header,
    has_geometry=True,
)
