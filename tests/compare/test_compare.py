"""./dev compare with scripts in place of the profilers: which command lines it runs, what it reads of their outputs, and its tables."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import hpctoolkit_database
import made_prefixes
import peers
import run
import tools

PEERS = ("hpctoolkit", "scorep", "scalasca", "mpip", "caliper")


class Made(unittest.TestCase):
    shares = made_prefixes.SHARES

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.here = pathlib.Path(directory.name).resolve()
        path = made_prefixes.make(self.here, self.shares)
        for changed in (mock.patch.dict(os.environ, PATH=path), mock.patch.dict(tools.ENVIRONMENT, PATH=path),
                        mock.patch.object(tools.Gperftools, "library", "/nowhere/libprofiler.so.0")):  # fmt: skip
            changed.start()
            self.addCleanup(changed.stop)

    def options(self, *names):
        return [word for name in names for word in (f"--{name}", self.here / name)]

    def compare(self, *words):
        """Returns the exit status, the tables and what was said beside them."""
        printed, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            status = run.main([str(word) for word in (self.here / "culprit", self.here / "out", *words)])
        return status, printed.getvalue(), said.getvalue()


def rows_of(text, title):
    """Tool: cells, of the table below the paragraph that begins with this."""
    table = text.split(title, 1)[1].split("\n| --- |", 1)[1].split("\n```", 1)[0]
    cells = [[cell.strip() for cell in line[2:-2].split(" | ")] for line in table.splitlines()[1:] if line]
    return {name: rest for name, *rest in cells}


class AllTools(Made):
    """One run of everything; what each test looks at is of that run."""

    def setUp(self):
        super().setUp()
        with mock.patch.object(run, "WAITING", ("point_to_point",)):  # the other: OffByThreeSigmas
            self.status, self.text, _ = self.compare(1, *self.options(*PEERS))

    def test_everything(self):
        self.assertEqual(self.status, 0)
        for check in (self.shares_of_each, self.waits_of_each, self.costs_of_each, self.commands_shown, self.commands_run):
            with self.subTest(check.__name__):
                check()

    def shares_of_each(self):
        rows = rows_of(self.text, "Shares that the program knows")
        exact = [f"{share:.1f}" for share in made_prefixes.SHARES.values()]
        for tool in ("Culprit, 200 Hz", "perf, DWARF, 200 Hz", "gperftools, 200 Hz", "HPCToolkit, 200 Hz", "Caliper, 200 Hz"):
            self.assertEqual(rows[tool][:5], exact, tool)
            self.assertEqual(rows[tool][5:7], ["1000", "0.0 σ"], tool)
        for tool in ("callgrind", "Score-P, profile"):
            self.assertEqual(rows[tool], [*exact, "", "", ""], tool)
        self.assertEqual(rows["HPCToolkit, 200 Hz"][7], "99.5 %")
        self.assertEqual(rows["Culprit, 200 Hz"][7], "100.0 %")
        self.assertFalse({"mpiP", "Scalasca", "Score-P, trace", "Caliper, mpi-report"} & set(rows))

    def waits_of_each(self):
        rows = rows_of(self.text, "**Waits that point_to_point logs")
        self.assertEqual(rows["Culprit, 200 Hz, --trace"], ["0.500", "0.501", "+0.2 %", "0.530", "0.530"])
        self.assertEqual(rows["Scalasca"], ["0.500", "0.480", "-4.0 %", "0.530", ""])
        self.assertEqual(rows["mpiP"], ["0.500", "none", "", "0.530", "0.535"])
        self.assertEqual(rows["Score-P, profile"], ["0.500", "none", "", "0.530", "0.530"])
        for tool in ("perf, frame pointers, 200 Hz", "gperftools, 200 Hz", "callgrind", "HPCToolkit, 200 Hz", "Caliper, 200 Hz"):
            self.assertEqual(rows[tool], ["0.500", "none", "", "0.530", ""], tool)

    def costs_of_each(self):
        serial = rows_of(self.text, "**One thread, functions of known shares**")
        lammps = rows_of(self.text, "**LAMMPS of Debian, 2 ranks**")
        built = rows_of(self.text, "**Fixed work with MPI, 2 ranks**")
        self.assertFalse({"mpiP", "Scalasca"} & set(serial))
        self.assertFalse({"Score-P, profile", "Score-P, trace", "Scalasca"} & set(lammps))
        self.assertIn("Not mpiP: it measures calls of MPI.", self.text)
        self.assertIn("Not Scalasca: Score-P measures what it has built.", self.text)
        for tool in ("HPCToolkit, 1000 Hz", "HPCToolkit, 200 Hz, -t", "Score-P, trace", "Scalasca", "mpiP", "Caliper, mpi-report"):
            self.assertRegex(built[tool][2], r"^\d+ B$", tool)  # data
        self.assertRegex(built["Scalasca"][3], r"^\d+\.\d\d s$")
        self.assertEqual(built["Score-P, trace"][3], "")  # which others show
        self.assertNotIn("callgrind", built)

    def commands_shown(self):
        """In the blocks below the tables, without the directories of this machine."""
        shown = "\n".join(self.text.split("```")[1::2]).replace(f"{self.here}/commands/", "")
        self.assertEqual([line for line in shown.splitlines() if str(self.here) in line or str(run.REPOSITORY) in line], [])
        for line in (
            "hpcrun -e REALTIME@5000 -o DIR/measurements shares 400",
            "hpcstruct -c OUT/hpcstruct_cache DIR/measurements",
            "mpirun.openmpi --oversubscribe -n 2 env LD_PRELOAD=PREFIX/lib/libmpiP.so 'MPIP=-f DIR' lmp -in tests/apps/melt.in -log none "
            "-screen none -var steps 200",
            "scorep --thread=none --mpp=none gcc -O2 -g -o shares.Score-P tests/compare/shares.c",
            "env SCOREP_EXPERIMENT_DIRECTORY=DIR/scorep SCOREP_ENABLE_PROFILING=true SCOREP_ENABLE_TRACING=false shares.Score-P 400",
            "env SCAN_MPI_LAUNCHER=mpirun.openmpi SCAN_TRACE_ANALYZER=none scalasca -analyze -t -e DIR/scorep mpirun.openmpi --oversubscribe -n 2 "
            "point_to_point.Score-P LOGS 5 20",
            "mpirun.openmpi --oversubscribe -n 2 scout.mpi --statistics DIR/scorep/traces.otf2",
            "env 'LD_PRELOAD=PREFIX/lib64/libcaliper.so OUT/caliper_begin.so' 'CALI_CONFIG=sample-profile(output=DIR/profile.cali,"
            "output.format=cali,sample.frequency=200,use.mpi=false)' shares 400",
            "perf report --stdio -i DIR/perf.PID",
        ):
            self.assertIn(line, shown.splitlines())
        self.assertNotRegex(shown, r"DIR/\w+\.\d")

    def commands_run(self):
        """As the scripts noted them, with what was set for libraries."""
        record = made_prefixes.record(self.here)
        run_by = {name: [line for line in record if line[0] == name] for name in {line[0] for line in record}}
        self.assertEqual({tuple(line[1:3]) for line in run_by["hpcrun"]}, {("-e", "REALTIME@5000"), ("-e", "REALTIME@1000")})
        self.assertEqual({line[4] for line in run_by["scorep"] if "mpicc.openmpi" in line}, {"mpicc.openmpi"})
        self.assertTrue(all("--nocompiler" in line for line in run_by["scorep"] if "--mpp=mpi" in line))
        instrumented = [line[-1] for line in run_by["fixed_work.Score-P"]]
        self.assertEqual(instrumented[:2], ["SCOREP=true/false", "SCOREP=false/true"])
        self.assertTrue(any(line[-3].startswith("MPIP=-f /") for line in run_by["lmp"]))
        self.assertTrue(any("mpi-report(output=" in line[-2] for line in run_by["lmp"]))
        self.assertFalse(any(line[-3] != "MPIP=" for line in run_by["shares"]))  # no MPI there


class Interleaved(Made):
    @mock.patch.object(run, "WAITING", ())
    @mock.patch.object(run, "check_shares", lambda *_: [])
    def test_every_other_round_runs_backwards(self):
        self.compare("--mpip", self.here / "mpip", 2)  # the number behind an option
        lines = [line for line in made_prefixes.record(self.here) if line[0] == "lmp"]
        first, last = lines[: len(lines) // 2], lines[len(lines) // 2 :]
        self.assertEqual(len(lines), 2 * 8)  # of all but callgrind
        self.assertEqual([line[-3] for line in first], [line[-3] for line in last][::-1])
        self.assertIn("MPIP=-f ", first[-1][-3])


class OffByThreeSigmas(Made):
    shares = dict(made_prefixes.SHARES, forces=43.1, neighbors=18.8)

    @mock.patch.object(run, "WAITING", ("collectives",))
    @mock.patch.object(run, "cost", lambda *_: None)
    def test_culprits_shares_fail_after_all_tables(self):
        status, text, said = self.compare(1)
        self.assertEqual(status, 1)
        self.assertEqual(rows_of(text, "**Waits that collectives logs")["callgrind"], ["0.500", "none", "", "0.530", ""])
        self.assertEqual(rows_of(text, "Shares that the program knows")["Culprit, 200 Hz"][6], "3.7 σ")
        wrong = [line for line in said.splitlines() if "off by" in line]
        self.assertEqual(wrong, [f"compare: shares: {tool}: off by 3.7 σ (3 or more)" for tool in
                                 ("Culprit, 200 Hz", "Culprit, 1000 Hz", "Culprit, 200 Hz, --trace")])  # fmt: skip


class Missing(Made):
    def test_one_line_names_the_tool_and_the_file(self):
        for option, file, name in (
            ("hpctoolkit", "bin/hpcstruct", "HPCToolkit"), ("hpctoolkit", "bin/hpcprof", "HPCToolkit"), ("scorep", "bin/scorep-score", "Score-P"),
            ("scalasca", "bin/scout.mpi", "Scalasca"), ("mpip", "lib/libmpiP.so", "mpiP"), ("caliper", "bin/cali-query", "Caliper"),
        ):  # fmt: skip
            with self.subTest(file):
                path = self.here / option / file
                path.rename(self.here / "aside")
                with self.assertRaises(SystemExit) as ended:
                    self.compare(*self.options("scorep", option))
                (self.here / "aside").rename(path)
                self.assertEqual(ended.exception.code, f"compare: {name}: {path}: not found "
                                 f"(give --{option} the directory that {name} is installed in)")  # fmt: skip
        self.assertFalse((self.here / "record").exists())  # before anything runs

    def test_scalasca_needs_score_p(self):
        with self.assertRaisesRegex(SystemExit, r"compare: Score-P: .*/scalasca/bin/scorep: not found \(give --scorep "):
            self.compare(*self.options("scalasca"))

    def test_hpcprof_mpi_will_do(self):
        (self.here / "hpctoolkit/bin/hpcprof").rename(self.here / "hpctoolkit/bin/hpcprof-mpi")
        self.assertEqual(peers.HPCToolkit(self.here / "hpctoolkit").hpcprof.name, "hpcprof-mpi")

    def test_exit_status(self):
        words = [sys.executable, run.__file__, self.here / "culprit", self.here / "out", "--mpip", self.here / "nowhere"]
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
        self.assertTrue(re.match(r"compare: mpiP: .*/nowhere/lib/libmpiP\.so: not found \(", done.stderr), done.stderr)

    def test_a_tool_that_fails(self):
        made_prefixes.script(self.here / "culprit/bin/prof-mpi", self.here, "echo no >&2; exit 3\n")
        with self.assertRaises(SystemExit) as ended:
            self.compare(1)
        self.assertEqual(ended.exception.code, f"compare: Culprit, 200 Hz: {self.here}/culprit/bin/prof-mpi: exit 3: no")


class Database(Made):
    def read(self, longer):
        for name, content in zip(("meta.db", "profile.db"), made_prefixes.database(self.shares, longer)):
            (self.here / name).write_bytes(content)
        return dict(hpctoolkit_database.own_times(self.here, "REALTIME"))

    def test_own_times(self):
        self.assertEqual(self.read(0), self.shares)

    def test_of_a_later_minor_version(self):
        self.assertEqual(self.read(8), self.shares)

    def test_of_another_major_version(self):
        self.read(0)
        (self.here / "meta.db").write_bytes(b"HPCTOOLKITmeta\5\0" + bytes(200))
        with self.assertRaisesRegex(SystemExit, "meta.db: not a meta.db of version 4"):
            hpctoolkit_database.own_times(self.here, "REALTIME")


class CaliperKeys(unittest.TestCase):
    def test_attributes_in_place_of_aliases(self):
        caliper = peers.Caliper.__new__(peers.Caliper)
        caliper.ask = types.MethodType(lambda *_: '[{"source.function#cali.sampler.pc":"forces","sum#count":3},{"sum#count":1}]', caliper)
        self.assertEqual(caliper.shares(None), ({"forces": 0.75, "": 0.25}, 4))


if __name__ == "__main__":
    unittest.main()
