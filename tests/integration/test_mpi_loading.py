"""The ways in which MPI gets into a program, under both MPIs: a user's tool in the profiling interface, preloaded or
linked; an extension of a program that is not linked with MPI; a thread that a library's constructor waits for; a shell
around the program; a session instead of MPI_Init; and calls that nobody sees, of which the user is informed."""

import unittest

import harness

SENDS = 20


def under_env(name, value):
    return ["env", f"{name}={value}"]


class Loading(harness.Workspace):
    def run_measured(self, mpi, command, before=()):
        return harness.launch(mpi, 2, [*before, harness.HPCRUN, "-o", self.here / "run", *command])

    def check_seen(self, send=0.4 * SENDS * 0.02):
        """Both ranks are known, and rank 1 waited for rank 0 in a receive and in a reduction, each seen once."""
        database = self.merge(self.here / "run")
        self.assertEqual(harness.viewer_json(database, "info")["ranks"], 2)
        roots = harness.viewer_json(database, "view", "calling-context", "--ranks", 1)["roots"]
        idle = {"MPI_Recv": 0, "MPI_Allreduce": 0}
        for node in harness.walk(roots):
            name = node["frame"]["name"]
            self.assertFalse(name.startswith("PMPI_"), name)
            if name in idle:
                idle[name] += node["values"].get("idleness:sum (I)", 0)
                self.assertNotIn(name, [below["frame"]["name"] for below in harness.walk(node["children"])])
        for seconds in idle.values():
            self.assertGreater(seconds, send)
        total = roots[0]["values"]["idleness:sum (I)"]
        self.assertLessEqual(sum(idle.values()), total * 1.001)

    def check_tool(self, done):
        for rank, sends in ((0, SENDS), (1, 0)):
            self.assertIn(f"tool: rank {rank}: {sends} sends, {SENDS} reductions", done.stdout)
        self.check_seen()

    def check_tool_preloaded(self, mpi):
        tool = harness.PROGRAMS / f"pmpi_tool.{mpi}"
        program = harness.PROGRAMS / f"mpi_exchange.{mpi}"
        self.check_tool(self.run_measured(mpi, [program], before=under_env("LD_PRELOAD", tool)))

    def check_tool_linked(self, mpi):
        self.check_tool(self.run_measured(mpi, [harness.PROGRAMS / f"mpi_exchange_tool.{mpi}"]))

    def check_extension(self, mpi):
        self.run_measured(mpi, [harness.PROGRAMS / "late_mpi", harness.PROGRAMS / f"mpi_exchange_plugin.{mpi}"])
        self.check_seen()

    def check_shell(self, mpi):
        self.run_measured(mpi, ["sh", "-c", f"{harness.PROGRAMS}/mpi_exchange.{mpi}; exit $?"])
        self.check_seen()

    def check_constructor(self, mpi):
        library = harness.PROGRAMS / f"mpi_constructor_library.{mpi}"
        command = [harness.PROGRAMS / f"mpi_constructor.{mpi}", library]
        self.assertEqual(harness.launch(mpi, 1, command).stdout, "loaded\n")
        done = harness.launch(mpi, 1, [harness.HPCRUN, "-o", self.here / "run", *command])
        self.assertEqual(done.stdout, "loaded\n")

    def test_session_mpich(self):
        """The rank is that in mpi://WORLD; rank 1 waited for rank 0."""
        program = harness.PROGRAMS / "sessions.mpich"
        alone = harness.launch("mpich", 2, [program])
        done = self.run_measured("mpich", [program])
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(alone.stdout.splitlines()))
        closing = [line for line in done.stderr.splitlines() if line.startswith("hpcrun-lite: ")]
        self.assertEqual(len(closing), 1, done.stderr)
        self.assertIn(" on rank 0 in ", closing[0])
        database = self.merge(self.here / "run")
        info = harness.viewer_json(database, "info")
        self.assertEqual(info["ranks"], 2)
        self.assertTrue(any("by a session" in note for note in info["notes"]), info["notes"])
        roots = harness.viewer_json(database, "view", "calling-context", "--ranks", 1)["roots"]
        idle = {"MPI_Barrier": 0, "MPI_Allreduce": 0, "MPI_Win_fence": 0}
        for node in harness.walk(roots):
            if node["frame"]["name"] in idle:
                idle[node["frame"]["name"]] += node["values"].get("idleness:sum (I)", 0)
        for seconds in idle.values():
            self.assertGreater(seconds, 0, idle)  # how long depends on when the ranks had a processor

    def test_session_of_unwanted_rank_mpich(self):
        directory = self.here / "run"
        harness.launch("mpich", 2, [harness.HPCRUN, "-o", directory, "--ranks", "1", harness.PROGRAMS / "sessions.mpich"])
        (file,) = directory.rglob("*.culprit")
        self.assertIn("rank-000001-", file.name)

    def check_unseen(self, mpi):
        library = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}[mpi]
        done = self.run_measured(mpi, [harness.PROGRAMS / "late_mpi", "-s", library])
        self.assertIn("MPI calls were not seen", done.stderr)
        info = harness.viewer_json(self.merge(self.here / "run"), "info")
        self.assertTrue(any("calls were not seen" in note for note in info["notes"]), info["notes"])


for mpi in harness.LAUNCHERS:
    for way in ("tool_preloaded", "tool_linked", "extension", "constructor", "shell", "unseen"):
        setattr(Loading, f"test_{way}_{mpi}", lambda self, mpi=mpi, way=way: getattr(self, f"check_{way}")(mpi))

if __name__ == "__main__":
    unittest.main()
