"""The bytes of a trace's file (docs/formats.md), for tests that change them."""

import ctypes
import struct

SLOT, BLOCK_HEADER = 32768, 64
PROCESS_STREAM = 0xFFFFFFFF
CLOCK_PAIR = 2  # a definition: two hosts' clocks compared

_XXH64 = ctypes.CDLL("libxxhash.so.0").XXH64
_XXH64.restype = ctypes.c_uint64
_XXH64.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]


def checksum(data):
    return _XXH64(bytes(data), len(data), 0)


def blocks(data):
    """Offset, stream and used bytes of each block."""
    for slot in range(SLOT, len(data) - BLOCK_HEADER, SLOT):
        magic, _, stream, _, used = struct.unpack_from("<4sIIII", data, slot)
        if magic == b"CTRB":
            yield slot, stream, used


def mend(data):
    """Makes the checksums right again of a trace without its index."""
    entries, index = struct.unpack_from("<IQ", data, 84)
    if entries != 0:
        del data[index:]
        struct.pack_into("<I", data, 84, 0)
    struct.pack_into("<Q", data, 128, checksum(data[:128]))
    for slot, _, used in blocks(data):
        begin = slot + BLOCK_HEADER
        struct.pack_into("<Q", data, slot + 40, checksum(data[begin : begin + used]))
        struct.pack_into("<Q", data, slot + 56, checksum(data[slot : slot + 56]))


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return value, at


def forget_comparisons(file):
    """Makes a trace's comparisons of clocks ones that have no reference, as a trace that was never sealed."""
    data = bytearray(file.read_bytes())
    forgotten = 0
    for slot, stream, used in blocks(data):
        at = slot + BLOCK_HEADER
        end = at + used
        while stream == PROCESS_STREAM and at < end:
            size, at = varint(data, at)
            if data[at] == CLOCK_PAIR:
                _, place = varint(data, at + 1)  # monotonic
                _, place = varint(data, place)  # real time
                if data[place] % 2 == 0:  # the reference is a rank below 64
                    data[place] = 1  # nobody
                    forgotten += 1
            at += size
    mend(data)
    file.write_bytes(data)
    return forgotten
