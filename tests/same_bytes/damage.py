"""Makes measurements wrong, always at the same places: cut off, changed, incomplete."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
import trace_bytes  # noqa: E402


def files(directory, ending):
    """By their names, which begin with their ranks."""
    return sorted(directory.rglob("*" + ending), key=lambda path: path.name)


def cut(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def cut_trace(directory, rank):
    cut(files(directory, ".trace")[rank])


def cut_measurement(directory, rank):
    cut(files(directory, ".culprit")[rank])


def remove_trace(directory, rank):
    files(directory, ".trace")[rank].unlink()


def remove_measurement(directory, rank):
    files(directory, ".culprit")[rank].unlink()


def flip_bit_of_trace(directory, rank):
    """In the middle of the records of the block in the middle."""
    path = files(directory, ".trace")[rank]
    data = bytearray(path.read_bytes())
    blocks = list(trace_bytes.blocks(data))
    slot, _, used = blocks[len(blocks) // 2]
    data[slot + trace_bytes.BLOCK_HEADER + used // 2] ^= 0x10
    path.write_bytes(data)


def forget_clocks(directory, _):
    for path in files(directory, ".trace"):
        trace_bytes.forget_comparisons(path)
