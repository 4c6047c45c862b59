"""How much an LZF stream unpacks to, without unpacking it."""

from podium.readers.inflate import BadStreamError


def unpacked_lzf_size(stream: bytes) -> int:
    """The unpacked size. A control byte below 32 copies that many + 1 literal bytes; any other repeats earlier output:
    its upper three bits give the length - 2 (7: a further byte is added), the rest and one more byte the distance.
    """
    position = size = 0
    end = len(stream)
    while position < end:
        control = stream[position]
        position += 1
        if control < 32:
            position += control + 1
            size += control + 1
            continue
        length = (control >> 5) + 2
        if length == 9:
            length += stream[position] if position < end else 0
            position += 1
        if position >= end:
            raise BadStreamError("ends too early")
        distance = ((control & 31) << 8) + stream[position] + 1
        position += 1
        if distance > size:
            raise BadStreamError("is corrupt")
        size += length
    if position != end:
        raise BadStreamError("ends too early")
    return size
