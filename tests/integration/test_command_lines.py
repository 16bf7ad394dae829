"""Help, man pages and shell completion say the same of every option, and wrong use is refused in one line."""

import os
import pathlib
import pty
import re
import shutil
import subprocess
import unittest

from harness import ENVIRONMENT, HPCRUN, PREFIX, PROF_MPI, PROGRAMS, VIEWER, Workspace, run

MAN = PREFIX / "share" / "man" / "man1"
MAKE_EXAMPLE_DB = pathlib.Path(os.environ["CULPRIT_MAKE_EXAMPLE_DB"])
TOOLS = {"hpcrun-lite": HPCRUN, "prof-mpi": PROF_MPI, "viewer-cli": VIEWER}
COMMANDS = ("report view hot-path threads blame suspects waits causes critical-path hotspots variation communication efficiency what-if stuck stacks "
            "diff export info").split()
LONG_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
# Options of other tools that texts mention.
FOREIGN = {"viewer-cli": {"--trace", "--segment"}, "hpcrun-lite": set(), "prof-mpi": {"--procedure"}}


def helps(tool):
    """All help texts of a tool."""
    texts = [run([TOOLS[tool], "--help"]).stdout]
    if tool == "viewer-cli":
        texts += [run([VIEWER, command, "--help"]).stdout for command in COMMANDS]
    return texts


def options_of_help(tool):
    """The options that the lists of its help texts begin lines with."""
    found = set()
    for text in helps(tool):
        for line in text.splitlines():
            # "-o, --output FILE  what it is" or, of several, "--ranks LIST, --role NAME, ...: as for view"
            if re.match(r"\s+-", line):
                declared = line.split("   ")[0] if re.match(r"\s+-\S.*?\s{2,}\S", line) is None else re.split(r"\s{2,}", line.strip())[0]
                found |= set(LONG_OPTION.findall(declared))
    return found - FOREIGN[tool]


def man_text(tool):
    """The man page without its formatting."""
    text = (MAN / f"{tool}.1").read_text()
    return re.sub(r"\\f[BIRP]", "", text).replace("\\-", "-")


class Texts(unittest.TestCase):
    def test_help_and_man_page_name_the_same_options(self):
        for tool in TOOLS:
            with self.subTest(tool):
                in_help = options_of_help(tool)
                in_man = set(LONG_OPTION.findall(man_text(tool))) - FOREIGN[tool]
                self.assertGreater(len(in_help), 5)
                self.assertEqual(in_help - in_man, set(), "in the help, not in the man page")
                self.assertEqual(in_man - in_help, set(), "in the man page, not in the help")

    def test_every_command_has_a_help_with_examples_first_and_is_in_the_man_page(self):
        page = man_text("viewer-cli")
        overview = run([VIEWER, "--help"]).stdout
        for command in COMMANDS:
            text = run([VIEWER, command, "--help"]).stdout
            self.assertIn(f"  {command}", overview)
            self.assertRegex(text, r"\n  viewer-cli run1(\.db)? |\n  viewer-cli \S+\.db ")
            if "options" in text:
                self.assertLess(text.index("  viewer-cli "), text.index("\noptions"))
            self.assertRegex(page, rf"(?m)^\.BR? \"?{re.escape(command)}\b|, \" {re.escape(command)}\b|{re.escape(command)}$")
            self.assertEqual(run([VIEWER, "x.db", command, "--help"]).stdout, text)
        for tool, path in TOOLS.items():
            self.assertRegex(run([path, "--version"]).stdout, r"\d+\.\d+\.\d+")

    def test_help_is_as_wide_as_a_screen_and_shows_what_the_locale_can(self):
        for command in ("", *COMMANDS):
            for width in (80, 100):
                text = run([VIEWER, *command.split(), "--help"], env=dict(ENVIRONMENT, COLUMNS=str(width))).stdout
                wide = [line for line in text.splitlines() if len(line) > width and not re.match("  viewer-cli|usage: |  --derive '", line)]
                self.assertEqual(wide, [])
                self.assertEqual(text.split(), run([VIEWER, *command.split(), "--help"]).stdout.split())
        plain = run([VIEWER, "view", "--help"], env=dict(ENVIRONMENT, LC_ALL="C")).stdout
        self.assertTrue(plain.isascii())
        self.assertIn('"f <- a.c:12"', " ".join(plain.split()))

    def test_the_browsers_keys_are_in_its_help_and_in_the_man_page(self):
        aliases = set(",.=Q")
        tui = pathlib.Path(__file__).parents[2] / "viewer-cli" / "tui"
        code = "".join(path.read_text() for path in [tui / "browser.cpp", *(tui / "panes").glob("*.cpp")])
        taken = set(re.findall(r"case U'(.)'", code)) - aliases
        keys = " ".join(re.findall(r'Line\{"([^"]+)", "', (tui / "pages" / "explain.cpp").read_text()))
        in_help = {word.strip(",") for word in keys.split()}
        page = (MAN / "viewer-cli.1").read_text().split(".SH BROWSER")[1].split(".SH FILES")[0].replace("\\-", "-")
        bold = re.findall(r"\\fB(.*?)\\fR", page) + re.findall(r"(?m)^\.BR? (.*)$", page)
        in_man = set(re.split(r'[\s",]+', " ".join(bold)))
        self.assertGreater(len(taken), 30)
        self.assertEqual(taken - in_help, set(), "keys that the help (?) does not have")
        self.assertEqual({key for key in in_help if len(key) == 1} - in_man, set(), "keys that the man page does not have")

    def test_man_pages_are_formatted_without_warnings(self):
        mandoc, groff = shutil.which("mandoc"), shutil.which("groff")
        if not mandoc and not groff:
            self.skipTest("neither mandoc nor groff is installed")
        for tool in TOOLS:
            page = MAN / f"{tool}.1"
            if mandoc:
                done = subprocess.run([mandoc, "-Tlint", "-Wwarning", page], capture_output=True, text=True)
                self.assertEqual(done.stdout + done.stderr, "")
            if groff:
                done = subprocess.run([groff, "-man", "-ww", "-Tutf8", "-z", page], capture_output=True, text=True)
                self.assertEqual(done.stderr, "")


class Completion(Workspace):
    def setUp(self):
        super().setUp()
        run([MAKE_EXAMPLE_DB, self.here / "run1.db"])
        (self.here / "run2").mkdir()
        self.environment = dict(ENVIRONMENT, PATH=f"{PREFIX / 'bin'}:{ENVIRONMENT['PATH']}")

    def bash(self, line):
        tool = line.split()[0]
        script = f"""
          source '{PREFIX}/share/bash-completion/completions/{tool}'
          COMP_LINE={shell_quoted(line)} COMP_POINT=${{#COMP_LINE}}
          read -ra COMP_WORDS <<<"$COMP_LINE"
          case $COMP_LINE in *' ') COMP_WORDS+=('') ;; esac
          COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
          _{tool.replace("-", "_")}
          printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        return run(["bash", "-c", script], cwd=self.here, env=self.environment).stdout.split()

    def test_bash_completes_commands_formats_options_and_the_metrics_of_the_database(self):
        self.assertEqual(self.bash("viewer-cli run1.db cr"), ["critical-path"])
        self.assertEqual(set(self.bash("viewer-cli run1.db ")), set(COMMANDS))
        self.assertIn("pprof", self.bash("viewer-cli run1.db export p"))
        self.assertEqual(self.bash("viewer-cli run1.db view cal"), ["calling-context", "callers"])
        self.assertIn("--scaling", self.bash("viewer-cli run1.db diff run2 --s"))
        self.assertNotIn("--scaling", self.bash("viewer-cli run1.db view --s"))
        self.assertIn("idleness", self.bash("viewer-cli run1.db threads main --metric idl"))
        self.assertIn("max", self.bash("viewer-cli run1.db view --sort REALTIME:m"))  # behind the colon
        self.assertIn("REALTIME,idleness", self.bash("viewer-cli run1.db view --metrics REALTIME,idl"))
        self.assertIn("main", self.bash("viewer-cli run1.db view --role m"))
        self.assertEqual(self.bash("viewer-cli gone.db view --sort REAL"), [])
        self.assertEqual(set(self.bash("viewer-cli ru")), {"run1.db", "run2"})
        (self.here / "run3.txt").write_text("")
        self.assertEqual(set(self.bash("viewer-cli run1.db diff ru")), {"run1.db", "run2"})
        self.assertEqual(self.bash("viewer-cli st"), ["stacks"])
        self.assertIn("spmv", self.bash("viewer-cli run1.db threads cg::"))  # behind the colons
        self.assertNotIn("--every", self.bash("viewer-cli run1.db report --"))
        self.assertIn("--every", self.bash("viewer-cli run1.db --"))
        self.assertEqual(self.bash("viewer-cli run1.db variation --metric idl"), [])
        self.assertEqual(self.bash("hpcrun-lite -e pe"), ["perf::"])
        (self.here / "run3.txt").unlink()
        self.assertEqual(self.bash("prof-mpi --balance p"), ["paper"])
        self.assertEqual(self.bash("prof-mpi ru"), ["run2"])
        self.assertEqual(self.bash("hpcrun-lite --trace-"), ["--trace-limit", "--trace-threads-above"])
        self.assertEqual(self.bash("prof-mpi --hot"), ["--hotspot-threshold"])
        self.assertEqual(set(self.bash("hpcrun-lite -o out ./app ru")), {"run1.db", "run2"})

    def test_bash_inserts_no_command_that_a_database_names(self):
        tool = self.here / "tool"
        tool.mkdir()
        (tool / "viewer-cli").write_text("#!/bin/sh\nprintf '%s\\n' 'x$(touch owned);touch owned' plain:sum,other\n")
        (tool / "viewer-cli").chmod(0o755)
        script = f"""
          source '{PREFIX}/share/bash-completion/completions/viewer-cli'
          COMP_LINE='viewer-cli run1.db view --sort ' COMP_POINT=30
          _viewer_cli
          eval "printf '%s\\n' ${{COMPREPLY[0]}}"
          echo "${{COMPREPLY[1]}}"
        """
        environment = dict(self.environment, PATH=f"{tool}:{self.environment['PATH']}")
        shown = run(["bash", "-c", script], cwd=self.here, env=environment).stdout.splitlines()
        self.assertEqual(shown, ["x$(touch owned);touch owned", "plain:sum,other"])
        self.assertFalse((self.here / "owned").exists())

    def test_bash_inserts_no_command_that_a_file_is_named_as(self):
        (self.here / "run$(touch owned)").write_text("")
        script = f"""
          source '{PREFIX}/share/bash-completion/completions/hpcrun-lite'
          compopt() {{ echo "$@"; }}
          for words in 'hpcrun-lite run' 'hpcrun-lite true run'; do
            read -ra COMP_WORDS <<<"$words"
            COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _hpcrun_lite
          done
        """
        shown = run(["bash", "-c", script], cwd=self.here, env=self.environment).stdout.splitlines()
        self.assertEqual(shown, ["-o filenames"] * 2)

    def test_zsh_and_fish_complete_the_same(self):
        line = "viewer-cli run1.db export "
        expected = set(self.bash(line))
        self.assertIn("speedscope", expected)
        seen = False
        if shutil.which("fish"):
            seen = True
            script = f"source {PREFIX}/share/fish/vendor_completions.d/viewer-cli.fish; complete -C '{line}'"
            done = run(["fish", "--no-config", "-c", script], cwd=self.here, env=self.environment)
            self.assertEqual({each.split("\t")[0] for each in done.stdout.splitlines()}, expected)
            for tool in ("prof-mpi", "hpcrun-lite"):
                script = f"source {PREFIX}/share/fish/vendor_completions.d/{tool}.fish; complete -C '{tool} --ver'"
                done = run(["fish", "--no-config", "-c", script], cwd=self.here, env=self.environment).stdout
                self.assertIn("--version", done)
        if shutil.which("zsh"):
            seen = True
            script = f"""
              compadd() {{ shift; print -l -- "$@" }}
              _files() {{ print files }}
              words=(viewer-cli run1.db export '') CURRENT=4
              source '{PREFIX}/share/zsh/site-functions/_viewer-cli'
              words=(viewer-cli ru) CURRENT=2
              source '{PREFIX}/share/zsh/site-functions/_viewer-cli'
            """
            shown = run(["zsh", "-f", "-c", script], cwd=self.here, env=self.environment).stdout.split()
            self.assertEqual(set(shown), expected | {"files"})
            for tool in TOOLS:
                run(["zsh", "-n", PREFIX / "share/zsh/site-functions" / f"_{tool}"])
        if not seen:
            self.skipTest("neither zsh nor fish is installed")

    def test_scripts_with_their_own_lists_know_every_option(self):
        for tool in ("hpcrun-lite", "prof-mpi"):
            options = options_of_help(tool)
            for script in (f"bash-completion/completions/{tool}", f"zsh/site-functions/_{tool}"):
                known = set(LONG_OPTION.findall((PREFIX / "share" / script).read_text()))
                self.assertEqual(known, options, script)
            fish = (PREFIX / "share/fish/vendor_completions.d" / f"{tool}.fish").read_text()
            self.assertEqual({"--" + name for name in re.findall(r" -l ([a-z-]+)", fish)}, options)
        known = set(run([VIEWER, "--complete", "run1.db", "--"]).stdout.split())
        for command in COMMANDS:
            known |= set(run([VIEWER, "--complete", "run1.db", command, "--"]).stdout.split())
        self.assertEqual(known, options_of_help("viewer-cli"))


class WrongUse(Workspace):
    def test_wrong_use_is_refused_in_one_line_that_says_what_to_do(self):
        database = self.here / "run1.db"
        run([MAKE_EXAMPLE_DB, database])
        (self.here / "text.db").write_text("no database\n" * 100)
        (self.here / "empty").mkdir()
        for words, status, parts in (
            ([], 2, ["no database", "--help"]),
            ([database, "frobnicate"], 2, ["frobnicate", "report", "critical-path"]),
            ([database, "--frobnicate"], 2, ["--frobnicate", "--help"]),
            ([database, "reprot"], 2, ["reprot", "did you mean report?"]),
            ([database, "view", "--sotr", "idleness"], 2, ["--sotr", "did you mean --sort?", "see viewer-cli view --help)"]),
            ([database, "diff", database, "--depth", "x"], 2, ["--depth", "see viewer-cli diff --help)"]),
            ([database, "view", "--ranks", ""], 2, ["--ranks", "no value", "see viewer-cli view --help)"]),
            (["report", database], 2, ["report", "before the command"]),
            ([database, "view", "sideways"], 2, ["sideways", "calling-context"]),
            ([database, "view", "--sort", "REALTIM"], 2, ["REALTIM", "did you mean REALTIME?", "idleness"]),
            ([database, "view", "--role", "nobody"], 2, ["nobody", "main"]),
            ([database, "view", "--ranks", "99"], 2, ["99", "8"]),
            ([database, "view", "--focus", "("], 2, ["--focus", "regular expression"]),
            ([database, "view", "--derive", "x=("], 2, ["--derive"]),
            ([database, "info", "--scaling", "weak"], 2, ["--scaling", "info"]),
            ([database, "threads"], 2, ["node"]),
            ([database, "threads", "nobody"], 2, ["nobody", "view"]),
            ([database, "diff"], 2, ["second database"]),
            ([database, "diff", self.here / "gone.db"], 1, ["gone.db", "does not exist"]),
            ([database, "diff", database, "--metric", "REALTIME:max"], 2, ["REALTIME:max", ":mean"]),
            ([database, "export"], 2, ["format"]),
            ([database, "export", "tarot"], 2, ["tarot", "pprof"]),
            ([database, "export", "perfetto", "--metric", "idleness"], 2, ["--metric", "export perfetto"]),
            ([database, "export", "csv", "--metric", "idleness"], 2, ["--metric", "export csv"]),
            ([database, "export", "csv", "-o", self.here / "no" / "x"], 1, ["No such file", "-o"]),
            ([database, "export", "csv", "-o", database], 1, ["run1.db", "is a database", "-o"]),
            ([self.here / "gone.db"], 1, ["gone.db", "does not exist", "prof-mpi"]),
            ([self.here / "text.db"], 1, ["text.db"]),
            ([self.here / "empty"], 1, ["empty"]),
        ):
            with self.subTest(words):
                done = run([VIEWER, *words], expect=status)
                self.assertEqual(done.stdout, "")
                self.assert_one_line(done.stderr, "viewer-cli: ", *parts)


    def test_rules_that_fit_nothing_are_reported_as_other_problems_are(self):
        run([HPCRUN, "-q", "-o", self.here / "run", PROGRAMS / "spin", "0.1"])
        rules = self.here / "rules"
        rules.write_text("wait mpi nothing_here\n")
        done = run([PROF_MPI, "--idle-rules", rules, self.here / "run"])
        self.assert_one_line(done.stderr, f"prof-mpi: idle rules: {rules}:1: nothing_here: no procedure of that name was sampled (")
        self.assertNotIn("nothing_here", done.stdout)

    def test_misspelt_options_of_the_other_tools_are_guessed(self):
        for command, status, parts in (
            ([PROF_MPI, "--frce", self.here], 2, ["prof-mpi: ", "--frce", "did you mean --force?"]),
            ([PROF_MPI, "--balance", "papr", self.here], 2, ["prof-mpi: ", "papr", "noise-aware", "did you mean paper?"]),
            ([HPCRUN, "--outptu", "x", "true"], 2, ["hpcrun-lite: ", "--outptu", "did you mean --output?"]),
            ([HPCRUN, "-e", "CPUTIM@5000", "true"], 1, ["hpcrun-lite: ", "CPUTIM", "did you mean CPUTIME?"]),
            ([PROF_MPI, self.here, "other", "--idle-rules", "rules"], 2, ["prof-mpi: usage: unexpected 'other'", "--help"]),
            ([PROF_MPI, "--structure-cache", "/nosuch/a/b", self.here], 2, ["--structure-cache: /nosuch/a/b: ", "/nosuch/a "]),
            ([HPCRUN, "ld.so", "/bin/true"], 126, ["hpcrun-lite: run: ", "ld.so: is the dynamic loader", "the program itself"]),
            ([HPCRUN, "-e", "perf::PAGE_FAULT", "true"], 1, ["hpcrun-lite: ", "did you mean perf::PAGE-FAULTS?"]),
        ):
            with self.subTest(command):
                done = run(command, expect=status)
                self.assertEqual(done.stdout, "")
                self.assert_one_line(done.stderr, *parts)

    def test_help_that_cannot_be_written_is_a_failure(self):
        for tool, path in TOOLS.items():
            for option in ("--help", "--version"):
                with self.subTest(tool + " " + option), open("/dev/full", "w") as full:
                    done = subprocess.run([path, option], stdout=full, stderr=subprocess.PIPE, text=True)
                    self.assertEqual(done.returncode, 1)
                    self.assert_one_line(done.stderr, f"{tool}: write: standard output: No space left on device")

    def test_a_binary_export_does_not_go_to_a_terminal(self):
        database = self.here / "run1.db"
        run([MAKE_EXAMPLE_DB, database])
        ours, theirs = pty.openpty()
        done = subprocess.run([VIEWER, database, "export", "pprof"], stdout=theirs, stderr=subprocess.PIPE, text=True)
        os.close(theirs)
        os.close(ours)
        self.assertEqual(done.returncode, 2)
        self.assert_one_line(done.stderr, "viewer-cli: export: ", "terminal", "-o FILE")

    def test_output_that_cannot_be_written_is_told_by_its_reason(self):
        database = self.here / "run1.db"
        run([MAKE_EXAMPLE_DB, database])
        for words in (["report"], ["view", "--format", "json"], ["--help"], ["export", "csv"], ["info"], ["blame"]):
            with self.subTest(words):
                with open("/dev/full", "w") as full:
                    done = subprocess.run([VIEWER, database, *words], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1)
                self.assert_one_line(done.stderr, "viewer-cli: write: standard output: No space left on device")
        done = subprocess.run([VIEWER, database, "export", "pprof", "-o", "/dev/full"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assert_one_line(done.stderr, "viewer-cli: export: /dev/full: No space left on device")
        # A reader that has seen enough ends it silently.
        script = f"'{VIEWER}' '{database}' view --all | head -1; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        self.assertIn(done.stdout.split()[-1], ("0", "141"))
        self.assertEqual(done.stderr, "")


class Progress(Workspace):
    def test_a_phase_of_one_step_does_not_stand_at_nothing(self):
        run([HPCRUN, "-q", "-o", self.here / "run", PROGRAMS / "spin", "0.1"])
        ours, theirs = pty.openpty()
        done = subprocess.run([PROF_MPI, "-j", "1", self.here / "run"], stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # the other end is closed, and all is read
            pass
        os.close(ours)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"prof-mpi: writing", shown)
        self.assertNotIn(b"0 of 1 ", shown)


def shell_quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


if __name__ == "__main__":
    unittest.main()
