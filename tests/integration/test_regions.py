"""Regions that a program marks are frames of its call paths, exactly around what ran inside of them, from C, C++ and
Fortran; without the sampler, the calls do nothing."""

import unittest

import harness

STANDARDS = (("cc", "c", ("c89", "gnu89", "c99", "c17")), ("c++", "c++", ("c++98", "c++11", "c++20")))
WARNINGS = ("-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror")
CALLS = """#include <culprit.h>
int main(void) {
  culprit_start();
  culprit_region_begin("region");
  culprit_iteration(1);
  culprit_region_end("region");
  culprit_stop();
  return 0;
}
"""


def paths_to(view, name):
    """Per frame called `name`: the regions around it, outermost first, and its samples."""

    def search(nodes, around):
        for node in nodes:
            frame = node["frame"]
            inner = [*around, frame["name"]] if frame["kind"] == "region" else around
            if frame["name"].partition("(")[0] == name and frame["kind"] != "region":  # as C++, with its parameters
                yield tuple(inner), node["values"].get("samples:sum (I)", 0)
            yield from search(node["children"], inner)

    return list(search(view["roots"], []))


class Regions(harness.Workspace):
    def view_of(self, mode, level, *options):
        directory = self.here / "run"
        program = harness.PROGRAMS / f"regions_{level}"
        harness.run([harness.HPCRUN, "-q", "-o", directory, *options, program, mode])
        self.database = self.merge(directory)
        return harness.viewer_json(self.database, "view", "calling-context", "--metrics", "samples:sum (I)")

    def notes(self):
        return " ".join(harness.run([harness.VIEWER, self.database, "info"]).stdout.split())

    def around(self, view, name):
        """The sets of regions around the samples of `name`."""
        return {regions for regions, samples in paths_to(view, name) if samples > 0}

    def check_opener(self, view, name, outer, own):
        """`name` opens the region `own` itself: a sample may fall before that, or after its end."""
        around = self.around(view, name)
        self.assertIn((*outer, own), around)
        self.assertLessEqual(around, {outer, (*outer, own)})

    def check_nested(self, level):
        view = self.view_of("nested", level)
        self.assertEqual(self.around(view, "leaf"), {("outer",), ("outer", "inner")})
        self.assertEqual(self.around(view, "bare_leaf"), {()})
        # The function itself is inside of its regions, and outside of them before and after.
        self.assertGreaterEqual(self.around(view, "nested"), {("outer",), ("outer", "inner")})
        self.assertNotIn("note ", self.notes())

    def check_across(self, level):
        view = self.view_of("across", level)
        self.assertEqual(self.around(view, "leaf"), {("caller's",), ("caller's", "callee's")})
        self.check_opener(view, "callee", ("caller's",), "callee's")
        self.assertEqual(self.around(view, "main"), {()})

    def check_moving(self, level):
        self.assertEqual(self.around(self.view_of("moving", level), "leaf"), {("moving",)})

    def check_recursive(self, level):
        self.assertEqual(self.around(self.view_of("recursive", level), "leaf"), {("recursive",) * 21})

    def check_deep(self, level):
        self.assertEqual(self.around(self.view_of("deep", level), "leaf"), {("recursive",) * 64})
        self.assertIn("more than 64 regions were open", self.notes())

    def check_left(self, level):
        view = self.view_of("left", level)
        self.assertEqual(self.around(view, "leaf"), {("jumped over",), ("thrown through",), ("never ended",)})
        self.assertEqual(self.around(view, "bare_leaf"), {()})
        notes = self.notes()
        self.assertIn("regions were left without culprit_region_end", notes)
        self.assertIn("no region of that name was open", notes)

    def check_threads(self, level):
        self.assertEqual(self.around(self.view_of("threads", level), "leaf"), {("main's",), ("first",), ("second",)})

    def check_signals(self, level):
        view = self.view_of("signals", level)
        self.assertEqual(self.around(view, "leaf"), {("interrupted",), ("interrupted", "handler's")})

    def test_names(self):
        around = self.around(self.view_of("names", "O2"), "leaf")
        self.assertIn(("<further regions>",), around)
        self.assertTrue(all(regions[0].startswith(("made up ", "<further")) for regions in around))
        self.assertIn("more than 255 names of regions", self.notes())

    def test_iterations(self):
        self.assertEqual(self.around(self.view_of("iterations", "O2"), "leaf"), {("loop",)})
        self.assertIn("12 iterations marked", self.notes())

    def test_views_know_regions(self):
        self.view_of("iterations", "O2")  # nearly all of it in the region, so that the hottest path is in it
        hot = harness.viewer_json(self.database, "hot-path", "--metric", "samples")
        self.assertIn("region", [step["frame"]["kind"] for step in hot["path"]])
        node = harness.viewer_json(self.database, "threads", "main/loop/iterations", "--metric", "samples")
        self.assertGreater(node["values"][0]["value"], 0)
        self.assertIn("region loop", harness.run([harness.VIEWER, self.database, "view", "calling-context"]).stdout)
        report = harness.run([harness.VIEWER, self.database, "report"]).stdout
        self.assertIn("samples", report)
        modules = [module["path"] for module in harness.viewer_json(self.database, "info")["modules"]]
        self.assertNotIn("loop", modules)

    def test_unmeasured(self):
        for program in ("regions_O0", "regions_O2", "regions_static"):
            for mode in ("nested", "left", "signals"):
                harness.run([harness.PROGRAMS / program, mode])

    def test_header_in_every_standard(self):
        include = ["-I", harness.PREFIX / "include"]
        for compiler, language, standards in STANDARDS:
            for standard in standards:
                for more in ([], ["-DCULPRIT_DISABLE"], ["-fno-pie", "-O2"]):
                    command = [compiler, "-x", language, f"-std={standard}", *WARNINGS, *include, *more]
                    harness.run([*command, "-fsyntax-only", "-"], input=CALLS)

    def test_every_kind_of_executable_finds_the_sampler(self):
        source = self.here / "calls.c"
        source.write_text(CALLS.replace("return 0", "return culprit_sampler_()->start == 0"))
        for kind in (["-pie", "-fPIE"], ["-no-pie", "-fno-pic"], ["-pie", "-fPIE", "-O2"]):
            program = self.here / "calls"
            harness.run(["cc", *kind, "-I", harness.PREFIX / "include", source, "-o", program])
            harness.run([harness.HPCRUN, "-q", "-o", self.here / "".join(kind), program])
            harness.run([program], expect=1)

    def check_fortran(self, mpi):
        program = harness.PROGRAMS / f"regions_fortran.{mpi}"
        self.assertEqual(harness.launch(mpi, 2, [program]).stdout, "ended\n")
        directory = self.here / "run"
        done = harness.launch(mpi, 2, [harness.HPCRUN, "--delay", "-o", directory, program])
        self.assertEqual(done.stdout, "ended\n")
        self.database = self.merge(directory)
        view = harness.viewer_json(self.database, "view", "calling-context", "--metrics", "samples:sum (I)")
        self.assertEqual(self.around(view, "works::work_inside"), {("solve",)})
        self.check_opener(view, "works::solve", (), "solve")
        self.assertEqual(self.around(view, "works::work_outside"), set())
        self.assertEqual(self.around(view, "main"), {()})
        self.assertIn("6 iterations marked", self.notes())


for level in ("O0", "O2"):
    for check in ("nested", "across", "moving", "recursive", "deep", "left", "threads", "signals"):
        setattr(
            Regions,
            f"test_{check}_{level}",
            lambda self, level=level, check=check: getattr(self, f"check_{check}")(level),
        )
for mpi in harness.LAUNCHERS:
    setattr(Regions, f"test_fortran_{mpi}", lambda self, mpi=mpi: self.check_fortran(mpi))

if __name__ == "__main__":
    unittest.main()
