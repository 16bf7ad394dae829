"""XXH3-64 with seed 0 (Collet's xxHash, specification 0.1.1), the checksum of every part of a database.

The package xxhash does it where it is installed. Else it is done here, with as little work per byte as Python allows: a
whole block of 1024 bytes is joined with the secret by one operation on large integers, and what is left is sums of
products. That is about 40 MB per second.
"""

from __future__ import annotations

from operator import mul
from typing import Callable

MASK = 0xFFFFFFFFFFFFFFFF
PRIME32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
PRIME64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
MIX1, MIX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
STRIPE, LANES = 64, 8
BLOCK = 1024  # bytes between two scrambles: as many stripes as the secret has room for, each 8 bytes further
START = (PRIME32[2], *PRIME64[:4], PRIME32[1], PRIME64[4], PRIME32[0])
BLOCK_KEY = int.from_bytes(b"".join(SECRET[8 * i : 8 * i + STRIPE] for i in range(BLOCK // STRIPE)), "little")


def word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")


def avalanche(value: int, factor: int = MIX1) -> int:
    value ^= value >> 37
    value = value * factor & MASK
    return value ^ value >> 32


def avalanche64(value: int) -> int:
    """The one of XXH64."""
    value ^= value >> 33
    value = value * PRIME64[1] & MASK
    value ^= value >> 29
    value = value * PRIME64[2] & MASK
    return value ^ value >> 32


def fold(a: int, b: int) -> int:
    """Both halves of a product of 128 bits, joined."""
    product = a * b
    return product & MASK ^ product >> 64


def mix16(data: bytes, at: int, key: int) -> int:
    return fold(word(data, at) ^ word(SECRET, key), word(data, at + 8) ^ word(SECRET, key + 8))


def rotate(value: int, by: int) -> int:
    return (value << by | value >> 64 - by) & MASK


def up_to_16(data: bytes) -> int:
    size = len(data)
    if size > 8:
        low = word(data, 0) ^ word(SECRET, 24) ^ word(SECRET, 32)
        high = word(data, size - 8) ^ word(SECRET, 40) ^ word(SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return avalanche(size + swapped + high + fold(low, high) & MASK)
    if size >= 4:
        joined = word(data, size - 4, 4) + (word(data, 0, 4) << 32)
        value = joined ^ word(SECRET, 8) ^ word(SECRET, 16)
        value ^= rotate(value, 49) ^ rotate(value, 24)
        value = value * MIX2 & MASK
        value ^= (value >> 35) + size
        value = value * MIX2 & MASK
        return value ^ value >> 28
    if size > 0:
        joined = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return avalanche64(joined ^ word(SECRET, 0, 4) ^ word(SECRET, 4, 4))
    return avalanche64(word(SECRET, 56) ^ word(SECRET, 64))


def up_to_240(data: bytes) -> int:
    size = len(data)
    total = size * PRIME64[0]
    if size <= 128:
        for i in range((size - 1) // 32, -1, -1):
            total += mix16(data, 16 * i, 32 * i) + mix16(data, size - 16 * (i + 1), 32 * i + 16)
        return avalanche(total & MASK)
    for i in range(8):
        total += mix16(data, 16 * i, 16 * i)
    total = avalanche(total & MASK)
    for i in range(8, size // 16):
        total += mix16(data, 16 * i, 16 * (i - 8) + 3)
    return avalanche(total + mix16(data, size - 16, 136 - 17) & MASK)


def accumulate(lanes: list, data: bytes, key: int) -> None:
    """Adds whole stripes, `key` being the secret for all of them."""
    words = memoryview(data).cast("Q").tolist()
    joined = (int.from_bytes(data, "little") ^ key).to_bytes(len(data), "little")
    halves = memoryview(joined).cast("I").tolist()
    for lane in range(LANES):
        products = sum(map(mul, halves[2 * lane :: 2 * LANES], halves[2 * lane + 1 :: 2 * LANES]))
        lanes[lane] += products + sum(words[lane ^ 1 :: LANES])


def merge(lanes: list, key: int, start: int) -> int:
    for i in range(0, LANES, 2):
        start += fold(lanes[i] ^ word(SECRET, key + 8 * i), lanes[i + 1] ^ word(SECRET, key + 8 * i + 8))
    return avalanche(start & MASK)


def long(data: bytes) -> int:
    lanes, size = list(START), len(data)
    blocks = (size - 1) // BLOCK
    scramble = [word(SECRET, len(SECRET) - STRIPE + 8 * lane) for lane in range(LANES)]
    for block in range(blocks):
        accumulate(lanes, data[block * BLOCK : (block + 1) * BLOCK], BLOCK_KEY)
        for lane in range(LANES):
            value = lanes[lane] & MASK
            lanes[lane] = (value ^ value >> 47 ^ scramble[lane]) * PRIME32[0] & MASK
    stripes = (size - 1 - blocks * BLOCK) // STRIPE
    if stripes:
        rest = data[blocks * BLOCK : blocks * BLOCK + stripes * STRIPE]
        accumulate(lanes, rest, BLOCK_KEY & (1 << 8 * len(rest)) - 1)
    last = len(SECRET) - STRIPE - 7
    accumulate(lanes, data[-STRIPE:], int.from_bytes(SECRET[last : last + STRIPE], "little"))
    return merge([lane & MASK for lane in lanes], 11, size * PRIME64[0] & MASK)


def xxh3_64(data: bytes) -> int:
    """The checksum of `data`, 64 bits."""
    if len(data) <= 16:
        return up_to_16(data)
    return up_to_240(data) if len(data) <= 240 else long(data)


def choose() -> Callable[[bytes], int]:
    try:
        from xxhash import xxh3_64_intdigest
    except ImportError:
        return xxh3_64
    return xxh3_64_intdigest


checksum = choose()
