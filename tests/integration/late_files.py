"""A file system of FUSE that behaves as a network's does, with one client on each host: `late_files.py BACKING MOUNTPOINT RULES`.

BACKING is the server's directory, RULES a file of JSON that may change at any time:

    delay      seconds that an operation takes at most; one in twenty takes ten times as long
    errors     the share of operations that fail with EIO or ESTALE
    full       true: what is written from now on finds no space
    stale      a name: files that end so fail with ESTALE when they are read for the first time, and the second

As with NFS, a client keeps what is written and sends it later, in another order (`LATER` seconds, or when the file is closed or
synchronized); that this failed is reported by the next write or by closing. Attributes, names and the lack of names that a client has
seen hold for `CACHED` seconds, whatever other clients do meanwhile. What a client has not sent when its host dies is lost. Flags of
rename, fallocate and direct access to maps are unknown here. Unlike NFS, opening a file does not renew its attributes.
"""

import collections
import errno
import json
import os
import pathlib
import random
import sys
import threading
import time

import fusepy

LATER = 0.3
CACHED = 5


class Pending:
    """What was written to one file and is not sent yet."""

    def __init__(self):
        self.pieces, self.error = [], 0


class Client(fusepy.Operations):
    def __init__(self, backing, rules):
        self.backing, self.rules = backing, pathlib.Path(rules)
        self.pending, self.mutex = {}, threading.RLock()
        self.stale = collections.Counter()

    def init(self, _path):
        threading.Thread(target=self.send_at_times, daemon=True).start()

    def __call__(self, operation, *arguments):
        rules = json.loads(self.rules.read_text())
        delay = random.random() * rules.get("delay", 0)
        time.sleep(delay * 10 if random.random() < 0.05 else delay)
        if operation not in ("init", "destroy", "release") and random.random() < rules.get("errors", 0):
            raise fusepy.FuseOSError(random.choice((errno.EIO, errno.ESTALE)))
        return getattr(self, operation)(*arguments)

    def real(self, path):
        return self.backing + path

    # What is written goes to the server later.

    def send_at_times(self):
        while True:
            time.sleep(LATER)
            for number in list(self.pending):
                self.send(number)

    def send(self, number):
        """Returns what failed since this was last asked."""
        with self.mutex:
            pending = self.pending.get(number)
            if pending is None:
                return 0
            pieces, pending.pieces = pending.pieces, []
            ends = sorted((offset, offset + len(data)) for offset, data in pieces)
            if all(before[1] <= after[0] for before, after in zip(ends, ends[1:])):
                random.shuffle(pieces)
            for offset, data in pieces:
                try:
                    if json.loads(self.rules.read_text()).get("full"):
                        raise OSError(errno.ENOSPC, "")
                    os.pwrite(number, data, offset)
                except OSError as failed:
                    pending.error = failed.errno
            return pending.error

    def reported(self, number):
        if error := self.send(number):
            self.pending[number].error = 0
            raise fusepy.FuseOSError(error)
        return 0

    def send_all(self):
        """Its own writes a client always sees."""
        for number in list(self.pending):
            self.send(number)

    def write(self, _path, data, offset, number):
        pending = self.pending[number]
        if pending.error:
            return self.reported(number)
        with self.mutex:
            pending.pieces.append((offset, bytes(data)))
        return len(data)

    def flush(self, _path, number):
        return self.reported(number)

    def fsync(self, _path, _data_only, number):
        return self.reported(number)

    def release(self, _path, number):
        self.send(number)
        with self.mutex:
            del self.pending[number]
        os.close(number)
        return 0

    # All else goes there at once.

    def opened(self, number):
        self.pending[number] = Pending()
        return number

    def create(self, path, mode, _info=None):
        return self.opened(os.open(self.real(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))

    def open(self, path, flags):
        return self.opened(os.open(self.real(path), (flags & ~(os.O_APPEND | os.O_ACCMODE | os.O_DIRECT)) | os.O_RDWR))

    def read(self, path, size, offset, number):
        stale = json.loads(self.rules.read_text()).get("stale")
        if stale and path.endswith(stale) and self.stale[path] < 2:  # the first may only have been to read ahead
            self.stale[path] += 1
            raise fusepy.FuseOSError(errno.ESTALE)
        self.send_all()
        return os.pread(number, size, offset)

    def truncate(self, path, length, number=None):
        self.send_all()
        os.truncate(self.real(path) if number is None else number, length)

    def getattr(self, path, _number=None):
        self.send_all()
        found = os.lstat(self.real(path))
        return {name: getattr(found, name) for name in ("st_atime", "st_ctime", "st_gid", "st_ino", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid",
                                                        "st_blocks")}  # fmt: skip

    def readdir(self, path, _number):
        return [".", "..", *os.listdir(self.real(path))]

    def statfs(self, path):
        found = os.statvfs(self.real(path))
        return {name: getattr(found, name) for name in ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_frsize")}

    def chmod(self, path, mode):
        os.chmod(self.real(path), mode)

    def chown(self, path, user, group):
        os.chown(self.real(path), user, group, follow_symlinks=False)

    def link(self, path, old):
        os.link(self.real(old), self.real(path))

    def mkdir(self, path, mode):
        os.mkdir(self.real(path), mode)

    def readlink(self, path):
        return os.readlink(self.real(path))

    def rename(self, old, new):
        self.send_all()
        os.rename(self.real(old), self.real(new))

    def rmdir(self, path):
        os.rmdir(self.real(path))

    def symlink(self, path, target):
        os.symlink(target, self.real(path))

    def unlink(self, path):
        os.unlink(self.real(path))

    def utimens(self, path, times=None):
        os.utime(self.real(path), times)


if __name__ == "__main__":
    backing, mountpoint, rules = sys.argv[1:]
    fusepy.FUSE(Client(backing, rules), mountpoint, foreground=True, fsname="late", attr_timeout=CACHED, entry_timeout=CACHED,
                negative_timeout=CACHED, big_writes=True, use_ino=True)  # fmt: skip
