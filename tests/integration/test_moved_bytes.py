"""What a program reads and writes is counted to the byte, at the code that does it, with a trace and without; what MPI reads and
writes for its messages is not."""

import re
import unittest

import harness

TIMES = 600
RANKS = 2
READ = {"by_pread": 500 * TIMES, "by_read_in_large_pieces": 1000 * TIMES, "by_fread": 24 * TIMES}
WRITTEN = {"by_write": 1000 * TIMES, "by_writev": 30 * TIMES, "by_fwrite": 24 * TIMES, "by_stream": 4096 * TIMES}
BY_MPI = 10 * 65536


class MovedBytes(harness.UnderBothMpis, harness.Workspace):
    def counted(self, database, metric):
        """{procedure: bytes}, over all ranks."""
        column = f"{metric}:sum (I)"
        view = harness.viewer_json(database, "view", "calling-context", "--metrics", column)
        found = {}
        for node in harness.walk(view["roots"]):
            if node["frame"]["kind"] == "procedure":
                (name,) = re.findall(r"\bby_\w+", node["frame"]["name"]) or [node["frame"]["name"]]
                found[name] = max(found.get(name, 0), node["values"][column] or 0)
        return found

    def check(self, mpi):
        for options in ((), ("--trace",)):
            with self.subTest(options):
                program = harness.PROGRAMS / f"moved_bytes.{mpi}"
                files = self.here / "files"
                files.mkdir(exist_ok=True)
                run = self.measure(mpi, RANKS, program, files, name=f"run{len(options)}", options=options)
                database = self.merge(run)
                read, written = self.counted(database, "bytes-read"), self.counted(database, "bytes-written")
                self.assertEqual({name: read[name] for name in READ}, {name: RANKS * size for name, size in READ.items()})
                self.assertEqual(
                    {name: written[name] for name in WRITTEN}, {name: RANKS * size for name, size in WRITTEN.items()}
                )
                # Open MPI notes some bytes of its own in a file that ranks share.
                self.assertAlmostEqual(written["by_mpi"], RANKS * BY_MPI, delta=100)
                self.assertAlmostEqual(written["main"], RANKS * (sum(WRITTEN.values()) + BY_MPI), delta=100)


if __name__ == "__main__":
    unittest.main()
