"""The browser in a real terminal: tmux sends keys and captures what is shown.

Usage: test_browser.py MAKE_BROWSED_DB VIEWER_CLI SCRATCH

Captures are compared with tests/integration/browser/*.txt. CULPRIT_RENEW_CAPTURES=1 writes these anew: look at them.
"""

import difflib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from terminal import PATIENCE, Terminal

MAKE, VIEWER, SCRATCH = (pathlib.Path(argument) for argument in sys.argv[1:4])
EXPECTED = pathlib.Path(__file__).resolve().parent / "browser"
RENEW = bool(os.environ.get("CULPRIT_RENEW_CAPTURES"))


class Window(Terminal):
    """The browser of `folder`/run.db, unless something else is to run."""

    def __init__(self, folder, width=80, height=24, command=None, **environment):
        self.folder = folder
        browser = f"{VIEWER} {folder}/run.db; echo ended $?; stty -a | grep -o ' -*icanon'; sleep 1000"
        super().__init__(folder, command or browser, width, height, **environment)

    def is_as_expected(self, name):
        file = EXPECTED / f"{name}.txt"
        if RENEW:
            EXPECTED.mkdir(exist_ok=True)
            file.write_text(self.settled())
            return
        expected = file.read_text()
        try:
            self.until(lambda shown: shown == expected, name)
        except AssertionError:
            difference = difflib.unified_diff(expected.splitlines(), self.capture().splitlines(), str(file), "shown", lineterm="")
            raise AssertionError("\n".join(difference)) from None


class Browser(unittest.TestCase):
    def setUp(self):
        SCRATCH.mkdir(parents=True, exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp", prefix="browser."))  # sockets need short paths
        self.addCleanup(shutil.rmtree, self.folder, True)
        subprocess.run([MAKE, self.folder / "run.db", self.folder / "after.db"], check=True)

    def terminal(self, *arguments, **options):
        made = Window(self.folder, *arguments, **options)
        self.addCleanup(made.close)
        return made

    def test_three_sizes_show_where_the_culprit_is(self):
        for width, height in ((80, 24), (120, 40), (200, 60)):
            with self.subTest(width=width):
                shutil.rmtree(self.folder / "state", ignore_errors=True)
                terminal = self.terminal(width, height)
                terminal.wait_for("WHAT MAKES THEM WAIT")
                terminal.is_as_expected(f"start-{width}")
                terminal.keys("j", "Enter")
                terminal.wait_for("calling-context")
                terminal.is_as_expected(f"suspect-{width}")
                terminal.keys("r")
                terminal.wait_for("by rank")
                terminal.is_as_expected(f"ranks-{width}")
                terminal.keys("q")
                terminal.wait_for("ended 0")

    def compared(self, *arguments, width=80, height=24, setting=""):
        return self.terminal(width, height, command=f"cd {self.folder}; {setting} {VIEWER} {' '.join(arguments)}; echo ended $?; sleep 1000")

    def test_two_runs_at_three_sizes(self):
        for width, height in ((80, 24), (120, 40), (200, 60)):
            with self.subTest(width=width):
                terminal = self.compared("run.db", "after.db", width=width, height=height)
                terminal.wait_for("went from")
                terminal.is_as_expected(f"diff-{width}")
                terminal.keys("q")
                terminal.wait_for("ended 0")

    def test_a_comparison_from_the_command_and_from_a_key(self):
        terminal = self.compared("run.db", "diff", "after.db", "--browse", "--metric", "idleness")
        terminal.wait_for("idleness:sum (I) went from")
        terminal.keys("q")
        terminal.wait_for("ended 0")
        terminal = self.compared("run.db")
        terminal.wait_for("WHAT MAKES THEM WAIT")
        terminal.keys("D")
        terminal.wait_for("Compare with")
        terminal.keys("-l", "after.db")
        terminal.keys("Enter")
        terminal.wait_for("REALTIME:sum (I) went from")
        terminal.keys("q")
        terminal.wait_for("ended 0")

    def test_a_comparison_without_a_screen_is_text(self):
        words = [VIEWER, self.folder / "run.db"]
        plain = subprocess.run([*words, self.folder / "after.db"], capture_output=True, text=True, check=True).stdout
        asked = subprocess.run([*words, "diff", self.folder / "after.db"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(plain, asked)
        self.assertIn("What changed most itself", plain)

    def test_every_pane(self):
        terminal = self.terminal()
        terminal.wait_for("WHAT MAKES THEM WAIT")
        for name, keys, sign in (
            ("callers", ["3"], "callers"),
            ("flat", ["4"], "flat"),
            ("source", ["1", "j", "Enter", "s"], "from the database"),
            ("time", ["7", "Right", "Down"], "rank 1, iteration 1"),
            ("waits", ["8", "Right", "Right"], "wait-at-nxn"),
            ("mpi", ["8", "Left", "Left", "Left"], "MPI calls took"),
            ("efficiency", ["8", "Left"], "parallel efficiency"),
            ("help", ["?"], "EVERYWHERE"),
        ):
            with self.subTest(pane=name):
                terminal.keys(*keys)
                terminal.wait_for(sign)
                terminal.is_as_expected(name)

    def test_waiting_over_time_at_three_sizes(self):
        for width, height in ((80, 24), (120, 40), (200, 60)):
            with self.subTest(width=width):
                shutil.rmtree(self.folder / "state", ignore_errors=True)
                terminal = self.terminal(width, height)
                terminal.wait_for("WHAT MAKES THEM WAIT")
                terminal.keys("7", ">", ">", "Right")
                terminal.wait_for("70 % waiting")
                terminal.is_as_expected(f"waiting-{width}")
                terminal.keys("q")
                terminal.wait_for("ended 0")

    def test_the_code_over_time_and_procedures_over_ranks_at_three_sizes(self):
        for width, height in ((80, 24), (120, 40), (200, 60)):
            with self.subTest(width=width):
                shutil.rmtree(self.folder / "state", ignore_errors=True)
                terminal = self.terminal(width, height)
                terminal.wait_for("WHAT MAKES THEM WAIT")
                terminal.keys("7", "m")
                terminal.wait_for("Over time")
                terminal.keys("c", "o", "d", "e", "Enter")
                terminal.wait_for("Where each rank spent most of its time")
                terminal.is_as_expected(f"code-{width}")
                terminal.keys("6", "m", "m", "m")
                terminal.wait_for("procedures and MPI calls over ranks")
                terminal.is_as_expected(f"procedures-{width}")
                terminal.keys("q")
                terminal.wait_for("ended 0")

    def test_the_flame_graph_at_three_sizes(self):
        for width, height in ((80, 24), (120, 40), (200, 60)):
            with self.subTest(width=width):
                shutil.rmtree(self.folder / "state", ignore_errors=True)
                terminal = self.terminal(width, height)
                terminal.wait_for("WHAT MAKES THEM WAIT")
                terminal.keys("9")
                terminal.wait_for("by calling context")
                terminal.is_as_expected(f"flame-{width}")
                if width == 80:
                    terminal.keys("m")
                    terminal.wait_for("all code, by who calls it")
                    terminal.is_as_expected("flame-callers")
                terminal.keys("q")
                terminal.wait_for("ended 0")

    def test_two_nodes_over_ranks_at_three_sizes(self):
        for width, height in ((80, 24), (120, 40), (200, 60)):
            with self.subTest(width=width):
                shutil.rmtree(self.folder / "state", ignore_errors=True)
                terminal = self.terminal(width, height)
                terminal.wait_for("WHAT MAKES THEM WAIT")
                terminal.keys("2", "/", "s", "p", "m", "v", "Enter")
                terminal.wait_for("spmv.cpp:")
                terminal.keys("m", "/", "a", "l", "l", "r", "e", "d", "Enter")
                terminal.wait_for("MPI_Allreduce  called at")
                terminal.keys("m", "r")
                terminal.wait_for("by rank")
                terminal.is_as_expected(f"two-nodes-{width}")
                terminal.keys("q")
                terminal.wait_for("ended 0")

    def test_where_sources_are_is_told_once_and_remembered(self):
        text = "".join(f"line {number} of the file that moved\n" for number in range(1, 501))
        (self.folder / "moved").mkdir()
        (self.folder / "moved" / "solver.cpp").write_text(text)
        for arguments in (["run.db", "--source-map", f"/home/user/solver/src={self.folder}/moved"], ["run.db"]):
            terminal = self.compared(*arguments)
            terminal.wait_for("WHAT MAKES THEM WAIT")
            terminal.keys("Enter", "s")
            terminal.wait_for("line 412 of the file that moved")
            terminal.keys("q")
            terminal.wait_for("ended 0")

    @unittest.skipUnless(shutil.which("tic"), "tic (ncurses-bin) makes the terminal's description")
    def test_terminals_with_direct_colour_have_their_colours(self):
        colour = r"\E[%?%p1%{8}%<%tX%p1%d%eX8\:2\:\:%p1%{65536}%/%d\:%p1%{256}%/%{255}%&%d\:%p1%{255}%&%d%;m"
        (self.folder / "direct.ti").write_text(
            "culprit-direct|takes red and green and blue,\n\tRGB, colors#0x1000000, pairs#0x7FFF,\n"
            f"\tsetaf={colour.replace('X', '3')},\n\tsetab={colour.replace('X', '4')},\n\tuse=xterm-256color,\n"
        )
        subprocess.run(["tic", "-x", "-o", self.folder / "terminfo", self.folder / "direct.ti"], check=True)
        terminal = self.compared("run.db", setting=f"TERM=culprit-direct TERMINFO={self.folder}/terminfo")
        terminal.wait_for("WHAT MAKES THEM WAIT")
        self.assertRegex(terminal.capture("-e"), "\033\\[[0-9;:]*38[;:]2[;:]")

    def test_a_path_is_copied_and_a_screen_is_written(self):
        terminal = self.compared("run.db")
        terminal.tmux("set-option", "-s", "set-clipboard", "on")
        terminal.wait_for("WHAT MAKES THEM WAIT")
        terminal.keys("2", "/", "a", "l", "l", "r", "e", "d", "Enter", "y")
        terminal.wait_for("Copied")
        self.assertEqual(terminal.tmux("show-buffer"),
                         "main/loop at main.cpp:140/cg::iterate/loop at solver.cpp:412/cg::dot/MPI_Allreduce")
        terminal.keys("w")
        terminal.wait_for("run-Calls.txt")
        terminal.keys("Enter")
        terminal.wait_for("Written to run-Calls.txt")
        written = (self.folder / "run-Calls.txt").read_text()
        self.assertIn("▼time s", written)
        self.assertIn("MPI_Allreduce", written)
        terminal.keys("w", "Enter")
        terminal.wait_for("exists already")
        self.assertEqual((self.folder / "run-Calls.txt").read_text(), written)

    def test_from_a_wait_to_the_suspect(self):
        terminal = self.terminal()
        terminal.wait_for("WHAT MAKES THEM WAIT")
        terminal.keys("2", "/", "a", "l", "l", "r", "e", "d", "u", "c", "e", "Enter")
        terminal.wait_for("MPI_Allreduce  called at")
        terminal.keys("b")
        terminal.wait_for("innermost balanced code around the wait")
        terminal.keys("b")
        terminal.wait_for("ranks 3, 7 work more than the others")

    def test_another_size_at_any_time(self):
        terminal = self.terminal()
        terminal.wait_for("WHAT MAKES THEM WAIT")
        terminal.tmux("resize-window", "-x", 120, "-y", 40)
        terminal.is_as_expected("start-120")
        terminal.tmux("resize-window", "-x", 80, "-y", 24)
        terminal.is_as_expected("start-80")

    def test_a_click_on_a_tab_and_on_a_row(self):
        terminal = self.terminal()
        terminal.wait_for("WHAT MAKES THEM WAIT")
        terminal.keys("-l", "\033[M ,!")  # as a terminal of this kind tells a press at column 12 of line 1
        terminal.wait_for("calling-context")
        terminal.keys("-l", "\033[M#,!")  # and the button's release
        terminal.keys("-l", "\033[M !2")  # at the beginning of line 18
        terminal.wait_for("MPI_Finalize  called at")

    def test_the_view_is_remembered_and_nothing_is_written_beside_the_database(self):
        terminal = self.terminal()
        terminal.wait_for("WHAT MAKES THEM WAIT")
        before = sorted(self.folder.glob("run*"))
        terminal.keys("2", ">", ">")
        terminal.wait_for("▼wait")
        terminal.keys("q")
        terminal.wait_for("ended 0")
        self.assertEqual(sorted(self.folder.glob("run*")), before)
        again = self.terminal()
        again.wait_for("WHAT MAKES THEM WAIT")
        again.keys("2")
        again.wait_for("▼wait")

    def test_signals_give_the_terminal_back(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS,
                       signal.SIGUSR1, signal.SIGRTMIN, signal.SIGRTMAX):
            with self.subTest(signal=number.name):
                terminal = self.terminal()
                terminal.wait_for("WHAT MAKES THEM WAIT")
                children = subprocess.run(["pgrep", "-f", "--", f"{VIEWER} {self.folder}/run.db$"], capture_output=True, text=True)
                for process in children.stdout.split():
                    if os.readlink(f"/proc/{process}/exe") == str(VIEWER.resolve()):
                        os.kill(int(process), number)
                terminal.wait_for(f"ended {128 + number}")
                self.assertNotIn("-icanon", terminal.wait_for("icanon"))
                terminal.close()

    def test_a_database_that_is_changed_in_place_ends_it_with_one_line(self):
        database = self.folder / "run.db"
        whole = database.read_bytes()
        for what, change in {
            "truncated": lambda: os.truncate(database, 0),
            "overwritten": lambda: database.write_bytes(whole[::-1]),
            "another": lambda: shutil.copyfile(self.folder / "after.db", database),
        }.items():
            with self.subTest(change=what):
                database.unlink()
                database.write_bytes(whole)
                terminal = self.terminal()
                terminal.wait_for("WHAT MAKES THEM WAIT")
                change()
                terminal.keys("2")
                shown = terminal.wait_for("icanon")
                self.assertIn("ended 1\n", shown)
                self.assertIn(f"viewer-cli: read: {database}: was ", shown)
                self.assertNotIn("-icanon", shown)
                terminal.close()

    def test_a_terminal_that_tells_its_background_has_colours_for_it(self):
        # tmux answers with the style of the window; without one it has no answer.
        dark, light = (f"\033\\[(?:\\d+;)*{number}[;m]" for number in (36, 34))  # headings, of eight colours
        for style, expected, other in (("bg=#ffffff", light, dark), ("bg=#101010", dark, light), ("default", dark, light)):
            with self.subTest(style=style):
                terminal = self.terminal(command="sleep 1000")
                terminal.tmux("set-option", "-g", "window-style", style, ";", "respawn-pane", "-k",
                              f"TERM=screen {VIEWER} {self.folder}/run.db; sleep 1000")
                terminal.is_as_expected("start-80")  # the answer is no key
                terminal.keys("j", "Enter")
                terminal.is_as_expected("suspect-80")
                shown = terminal.capture("-e")
                self.assertRegex(shown, expected)
                self.assertNotRegex(shown, other)
                terminal.close()

    def test_an_answer_is_never_taken_for_keys(self):
        terminal = self.terminal()
        terminal.wait_for("WHAT MAKES THEM WAIT")
        time.sleep(1.5)  # when nobody waits for it any more
        for answer in ("\033]11;rgb:ffff/ffff/ffff\033\\", "\033]11;rgb:0000/0000/0000\007", "\033]10;rgb:1111/2222/3333\007"):
            terminal.keys("-l", answer)
        terminal.keys("j")
        terminal.keys("k")
        terminal.is_as_expected("start-80")

    def test_stopped_and_continued(self):
        terminal = self.terminal(command="bash --norc -i")
        terminal.wait_for("bash-")
        terminal.keys(f"{VIEWER} {self.folder}/run.db", "Enter")
        terminal.wait_for("WHAT MAKES THEM WAIT")
        terminal.keys("C-z")
        terminal.wait_for("Stopped")
        terminal.keys("fg", "Enter")
        terminal.wait_for("WHAT MAKES THEM WAIT")
        terminal.keys("q")
        terminal.keys("echo over $?", "Enter")
        terminal.wait_for("over 0")

    def test_ascii_and_no_colour(self):
        terminal = self.terminal(LC_ALL="C", NO_COLOR="1")
        terminal.wait_for("WHAT MAKES THEM WAIT")
        terminal.keys("2")
        terminal.wait_for("calling-context")
        self.assertTrue(terminal.capture().isascii())
        self.assertNotRegex(terminal.capture("-e"), "\033\\[[0-9;]*(3[0-7]|38;5)")
        terminal.is_as_expected("ascii")

    def test_without_a_screen_the_report(self):
        plain = subprocess.run([VIEWER, self.folder / "run.db"], capture_output=True, text=True, check=True).stdout
        self.assertIn("of waiting happen inside", plain)
        terminal = self.terminal(100, 50, command=f"TERM=dumb {VIEWER} {self.folder}/run.db; sleep 1000")
        terminal.wait_for("of waiting happen inside")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
