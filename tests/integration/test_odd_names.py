"""Names and arguments may hold any bytes. Whatever a program, a file or a command line brings, no tool writes a control
character, a change of direction, or a line that was not its own."""

import gzip
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import unittest

import harness

# What no tool may write, as code points; bytes that are no UTF-8 besides.
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")
COLOUR = re.compile(rb"\033\[[0-9;]*m")
SPOOF = "SPOOFED"  # stands behind each end of a line in a name

TERMINAL = b"\033[31m\033]0;owned\007\177"
LINES = b"\nSPOOFED\r\nSPOOFED\t\xe2\x80\xa8\xc2\x85"
DIRECTIONS = b"\xe2\x80\xaeevil\xe2\x81\xa6\xe2\x80\x8f\xc2\x9b31m"
NO_UTF8 = b"\x9b31m\xff\xfe\xc3"
EVERYTHING = TERMINAL + LINES + DIRECTIONS + NO_UTF8
# Of what the built program holds, and by what it is replaced.
REPLACED = {
    b"odd_function_name_to_be_replaced_1": TERMINAL,
    b"odd_function_name_to_be_replaced_2": LINES,
    b"odd_function_name_to_be_replaced_3": DIRECTIONS + NO_UTF8,
    b"odd_region_name_to_be_replaced_1": TERMINAL + NO_UTF8,
    b"odd_region_name_to_be_replaced_2": LINES,
    b"odd_file_name_to_be_replaced.c": TERMINAL + LINES,
}
COMMANDS = [
    ["report"], ["view", "calling-context", "--min", "0", "--ids"], ["view", "callers", "--min", "0"],
    ["view", "flat", "--min", "0"], ["hot-path"], ["threads", "c1"], ["blame"], ["suspects"], ["waits"], ["causes"],
    ["critical-path"], ["hotspots"], ["variation"], ["communication"], ["efficiency"], ["info"],
]
NO_CSV = {"report", "info"}
EXPORTS = ["collapsed", "speedscope", "hatchet", "caliper", "csv", "json", "html", "pprof", "firefox", "perfetto"]


def run(command, **options):
    """Runs a command; its exit status and all that it wrote, as bytes."""
    options.setdefault("env", harness.ENVIRONMENT)
    done = subprocess.run(command, capture_output=True, timeout=600, **options)
    return done.returncode, done.stdout, done.stderr


def on_a_terminal(command):
    """What a command writes on a terminal that shows colours."""
    outer, inner = pty.openpty()
    env = dict(harness.ENVIRONMENT, TERM="xterm-256color")
    env.pop("NO_COLOR", None)
    child = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=env)
    os.close(inner)
    text = b""
    while select.select([outer], [], [], 60)[0]:
        try:
            block = os.read(outer, 65536)
        except OSError:
            break
        if not block:
            break
        text += block
    os.close(outer)
    child.wait(timeout=300)
    return text


class OddNames(harness.Workspace):
    def check(self, written, what):
        """`written` is UTF-8 without a forbidden character, in lines that are its own."""
        try:
            text = written.decode()
        except UnicodeDecodeError as error:
            self.fail(f"{what}: no UTF-8: {error}")
        found = FORBIDDEN.search(text)
        self.assertIsNone(found, f"{what}: {text[max(0, found.start() - 60) : found.end() + 20]!r}" if found else "")
        for line in text.splitlines():
            self.assertFalse(line.startswith(SPOOF), f"{what}: {line!r}")

    def check_failure(self, command, **options):
        """A command that cannot do what it is asked says so in one line of its own."""
        status, out, err = run(command, **options)
        self.assertNotEqual(status, 0, command)
        self.check(out, command)
        self.check(err, command)
        self.assertEqual(len(err.decode().splitlines()), 1, err)


class Measured(OddNames):
    """One run of a program all of whose names are odd, with all that can be made of it."""

    def setUp(self):
        super().setUp()
        program = (harness.PROGRAMS / "odd_names.openmpi").read_bytes()
        for name, other in REPLACED.items():
            self.assertIn(name, program)
            program = program.replace(name, (other + b"_" * len(name))[: len(name)])
        self.folder = os.fsencode(self.here) + b"/dir" + EVERYTHING
        os.mkdir(self.folder)
        self.program = self.folder + b"/app" + EVERYTHING
        with open(self.program, "wb") as file:
            file.write(program)
        os.chmod(self.program, 0o755)

    def test_no_way_out_lets_through_what_is_not_printable(self):
        directory = b"run" + EVERYTHING
        launcher = [os.fsencode(word) for word in harness.LAUNCHERS["openmpi"]] + [b"-n", b"2"]
        measure = [os.fsencode(harness.HPCRUN), b"-v", b"--trace", b"-o", directory, self.program, EVERYTHING, b"it's $HOME"]
        status, out, err = run(launcher + measure, cwd=self.folder)
        self.assertEqual(status, 0, err)
        self.check(out, "measuring")
        self.check(err, "measuring")
        status, out, err = run([os.fsencode(harness.PROF_MPI), b"-v", directory], cwd=self.folder)
        self.assertIn(status, (0, 3), err)
        self.check(out, "merging")
        self.check(err, "merging")
        database = self.folder + b"/" + directory + b".db"
        self.outputs(database)
        self.names(database)
        self.exports(database)
        reader = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "read_db.py"
        status, out, err = run([b"python3", os.fsencode(reader), database, b"tree", b"99"])
        self.assertEqual(status, 0, err)
        self.assertIn(b"\\u001b[31m", out)
        self.check(out, "read_db.py")

    def outputs(self, database):
        viewer = os.fsencode(harness.VIEWER)
        for command in [*COMMANDS, ["diff", database]]:
            words = [viewer, database, *map(os.fsencode, command)]
            status, out, err = run(words)
            self.assertEqual(status, 0, (command, err))
            self.check(out, command)
            self.check(err, command)
            status, out, _ = run([*words, b"--format", b"json"])
            self.assertEqual(status, 0, command)
            self.check(out, [*command, "json"])
            json.loads(out)
            if command[0] not in NO_CSV:
                status, out, err = run([*words, b"--format", b"csv"])
                self.assertEqual(status, 0, (command, err))
                self.check(out, [*command, "csv"])
            seen = on_a_terminal([*words, *([b"--format", b"text"] if command[0] == "report" else [])])
            self.check(COLOUR.sub(b"", seen).replace(b"\r\n", b"\n"), [*command, "on a terminal"])

    def names(self, database):
        """The odd names are there, each spelled in one way; the command is what was typed."""
        _, out, _ = run([os.fsencode(harness.VIEWER), database, b"view", b"--min", b"0", b"--format", b"json"])
        names = {node["frame"]["name"] for node in harness.walk(json.loads(out)["roots"])}
        self.assertTrue(any(name.startswith("\\u001b[31m\\u001b]0;owned\\u0007\\u007f_") for name in names), names)
        self.assertTrue(any(name.startswith("\\nSPOOFED\\r\\nSPOOFED\\t\\u2028\\u0085_") for name in names), names)
        self.assertTrue(any("\\u202eevil\\u2066\\u200f\\u009b31m\\x9b31m\\xff\\xfe\\xc3_" in name for name in names), names)
        _, out, _ = run([os.fsencode(harness.VIEWER), database, b"info", b"--format", b"json"])
        command = json.loads(out)["command"]
        self.assertEqual(command[1], EVERYTHING.decode(errors="replace"))
        _, out, _ = run([os.fsencode(harness.VIEWER), database, b"info"])
        self.assertIn(b"'it'\\''s $HOME'", out)

    def exports(self, database):
        for form in EXPORTS:
            words = [os.fsencode(harness.VIEWER), database, b"export", form.encode()]
            status, out, err = run(words)
            self.assertEqual(status, 0, (form, err))
            if form in ("pprof", "perfetto"):
                data = gzip.decompress(out) if form == "pprof" else out
                for piece in (TERMINAL, LINES, DIRECTIONS, NO_UTF8):
                    self.assertNotIn(piece, data)
            else:
                self.check(out, f"export {form}")
            if form in ("speedscope", "caliper", "json", "firefox"):
                json.loads(out)
            path = self.folder + b"/exported"
            status, _, err = run([*words, b"-o", path])
            self.assertEqual(status, 0, err)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), out, form)
        archive = self.folder + b"/archive"
        status, _, err = run([os.fsencode(harness.VIEWER), database, b"export", b"otf2", b"-o", archive])
        self.assertEqual(status, 0, err)
        status, out, err = run([b"otf2-print", b"--show-global-defs", archive + b"/traces.otf2"])
        self.assertEqual((status, err), (0, b""))
        self.check(out, "otf2-print")
        _, out, _ = run([os.fsencode(harness.VIEWER), database, b"export", b"collapsed"])
        for line in out.decode().splitlines():
            self.assertRegex(line, r"^[^;]+(;[^;]+)* \d+$")

    def test_the_next_command_can_be_typed(self):
        for name in (b"a b", b"it's", b"$HOME`id`", b"-dash", b"line\nbreak", TERMINAL, NO_UTF8, b"~", b"plain"):
            status, _, err = run([os.fsencode(harness.HPCRUN), b"-o", b"./" + name, os.fsencode(harness.PROGRAMS / "spin"), b"0.2"],
                                 cwd=self.folder)
            self.assertEqual(status, 0, err)
            self.check(err, name)
            command = err.decode().split("; next: ")[1].strip()
            path = f"{harness.VIEWER.parent}:{os.environ['PATH']}"
            status, out, err = run(["bash", "-c", command], cwd=self.folder, env=dict(harness.ENVIRONMENT, PATH=path))
            self.assertEqual(status, 0, (command, err))
            self.assertIn(b"Measured: ", out, command)


class Refused(OddNames):
    """Error messages."""

    def test_errors_of_viewer_cli(self):
        viewer = os.fsencode(harness.VIEWER)
        run([os.fsencode(harness.HPCRUN), b"-o", b"run", os.fsencode(harness.PROGRAMS / "spin"), b"0.2"], cwd=self.here)
        database = os.fsencode(self.here / "run")
        odd = EVERYTHING
        for words in (
            [odd], [database, odd], [database, b"--" + odd], [database, b"view", odd], [database, b"threads", odd],
            [database, b"view", b"--metrics", odd], [database, b"view", b"--sort", odd], [database, b"view", b"--focus", odd + b"("],
            [database, b"view", b"--ranks", odd], [database, b"view", b"--depth", odd], [database, b"hot-path", b"--metric", odd],
            [database, b"view", b"--derive", odd], [database, b"view", b"--derive", odd + b" = 1 +"], [database, b"diff", odd],
            [database, b"causes", odd], [database, b"variation", b"--procedure", odd], [database, b"export", odd],
            [database, b"export", b"csv", b"-o", odd + b"/x"], [database, b"view", b"--format", odd],
        ):
            self.check_failure([viewer, *words], cwd=self.here)

    def test_commands_in_errors_can_be_typed(self):
        status, _, err = run([os.fsencode(harness.VIEWER), b"report", b"it's $HOME"], cwd=self.here)
        self.assertEqual(status, 2)
        self.assertIn(b"(write: viewer-cli 'it'\\''s $HOME' report)", err)

    def test_errors_about_a_directory_and_a_database_of_odd_names(self):
        folder = os.fsencode(self.here) + b"/" + EVERYTHING
        os.mkdir(folder)
        with open(folder + b".db", "wb") as file:
            file.write(b"garbage" * 100)
        for words in ([os.fsencode(harness.VIEWER), folder], [os.fsencode(harness.VIEWER), folder + b".db"],
                      [os.fsencode(harness.PROF_MPI), b"--force", folder]):
            self.check_failure(words)

    def test_errors_of_prof_mpi(self):
        merge = os.fsencode(harness.PROF_MPI)
        run([os.fsencode(harness.HPCRUN), b"-o", b"run", os.fsencode(harness.PROGRAMS / "spin"), b"0.2"], cwd=self.here)
        odd = EVERYTHING
        for words in (
            [odd], [b"run", odd], [b"run", b"--" + odd], [b"run", b"--idle-rules", odd], [b"run", b"-R", odd],
            [b"run", b"--balance", odd], [b"run", b"--alpha", odd], [b"run", b"--hotspot-threshold", odd], [b"run", b"-o", odd + b"/x"], [b"run", b"--segment", odd],
        ):
            status, out, err = run([merge, *words], cwd=self.here)
            self.assertNotEqual((status, out + err), (0, b""), words)
            self.check(out, words)
            self.check(err, words)

    def test_a_damaged_measurement_of_an_odd_name(self):
        directory = os.fsencode(self.here) + b"/run" + EVERYTHING
        run([os.fsencode(harness.HPCRUN), b"-o", directory, os.fsencode(harness.PROGRAMS / "spin"), b"0.2"])
        for folder, _, files in os.walk(directory):
            for file in files:
                if file != b"culprit.run":
                    with open(folder + b"/" + file, "r+b") as damaged:
                        damaged.truncate(100)
        for words in ([os.fsencode(harness.PROF_MPI), directory], [os.fsencode(harness.VIEWER), directory]):
            status, out, err = run(words)
            self.assertNotEqual(status, 0)
            self.check(out, words)
            self.check(err, words)

    def test_errors_of_hpcrun_lite(self):
        measure = os.fsencode(harness.HPCRUN)
        odd = EVERYTHING
        (self.here / "text").write_text("hello")
        os.symlink(b"text", os.fsencode(self.here) + b"/" + odd)
        for words in (
            [odd], [b"./" + odd], [b"--" + odd, b"true"], [b"-e", odd, b"true"], [b"-e", b"REALTIME@" + odd, b"true"],
            [b"--ranks", odd, b"true"], [b"-t", b"--trace-limit", odd, b"true"], [b"-t", b"--trace-threads-above", odd, b"true"], [b"-o", b"text/" + odd, b"true"],
            [b"-o", odd, b"true"], [odd + b"/mpirun", b"-n", b"2", b"true"],
        ):
            self.check_failure([measure, *words], cwd=self.here)

    def test_errors_of_the_runtime(self):
        runtime = harness.PREFIX / "lib" / "culprit" / "libculprit-runtime.so"
        env = dict(harness.ENVIRONMENT, LD_PRELOAD=str(runtime), CULPRIT_RUN_ID="x", CULPRIT_LAUNCHED="1")
        env = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
        env[b"CULPRIT_OUTPUT"] = b"/dev/null/" + EVERYTHING
        _, _, err = run([os.fsencode(harness.PROGRAMS / "spin"), b"0.2"], env=env)
        self.assertIn(b"create measurement: ", err)
        self.check(err, "runtime")
        self.assertEqual(len(err.splitlines()), 1, err)


if __name__ == "__main__":
    unittest.main()
