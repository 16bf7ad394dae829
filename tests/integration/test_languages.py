"""Fortran through mpif.h, `use mpi` and `use mpi_f08`, under both MPIs: MPI calls are seen exactly once, under their C
names, and module procedures read as the user wrote them."""

import unittest

import harness

ITERATIONS = 150


class Languages(harness.Workspace):
    twins = False  # the wrappers of each MPI are made from its own headers

    def check(self, mpi, interface):
        program = harness.PROGRAMS / f"ring_{interface}.{mpi}"
        directory = self.here / "run"
        measured = harness.launch(mpi, 2, [harness.HPCRUN, "-o", directory, program, ITERATIONS])
        self.assertEqual(measured.stdout.split(), [str(2 * ITERATIONS)])  # the sum of what both ranks counted to
        database = self.merge(directory)
        self.check_calls(database)
        self.check_suspect(database)

    def check_calls(self, database):
        view = harness.viewer_json(database, "view", "calling-context")
        for node in harness.walk(view["roots"]):
            name = node["frame"]["name"]
            self.assertNotRegex(name.lower(), r"^p?mpi_\w+_$|^pmpi_(?!\w+_[cf]2[cf])|_f08_$|culprit")
            if name == "MPI_Allreduce":
                inner = harness.walk(node["children"])
                self.assertNotIn("MPI_Allreduce", [below["frame"]["name"] for below in inner])
        info = harness.viewer_json(database, "info")
        self.assertEqual(info["ranks"], 2)

    def check_suspect(self, database):
        report = harness.viewer_json(database, "report")
        self.assertGreater(harness.idle_share(report), 0.15)
        suspects = harness.viewer_json(database, "suspects")
        self.assertGreater(len(suspects), 0)
        self.assertIn("ring_work::uneven_work", harness.names(suspects[0]["suspect"]))
        self.assertEqual(suspects[0]["ranks"], [1])


for mpi in harness.LAUNCHERS:
    for interface in ("mpif", "mpi", "f08"):
        setattr(
            Languages,
            f"test_{interface}_{mpi}",
            lambda self, mpi=mpi, interface=interface: self.check(mpi, interface),
        )

if __name__ == "__main__":
    unittest.main()
