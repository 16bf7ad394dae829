"""A real terminal: tmux takes keys and shows what a program draws."""

import os
import pathlib
import subprocess
import time

PATIENCE = 300  # seconds until a screen must be there; the machine may be busy


class Terminal:
    """A tmux server of its own with one window, in which `command` runs. `folder` has a short path: sockets need that."""

    def __init__(self, folder, command, width=80, height=24, **environment):
        self.socket = pathlib.Path(folder) / f"tmux.{time.monotonic_ns()}"
        self.environment = dict(os.environ, XDG_STATE_HOME=f"{folder}/state", LC_ALL="C.UTF-8", TERM="xterm-256color", PS1="$ ")
        for name in ("NO_COLOR", "COLORFGBG", "TMUX"):
            self.environment.pop(name, None)
        self.environment.update(environment)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, command, ";", "set-option", "-g", "status", "off")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", str(self.socket), *map(str, words)], capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            raise AssertionError(f"tmux {words}: {done.stderr}")
        return done.stdout

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def capture(self, *options):
        text = self.tmux("capture-pane", "-p", *options)
        return "\n".join(line.rstrip() for line in text.rstrip("\n").split("\n")) + "\n"

    def until(self, holds, what):
        """Waits for a screen of which `holds` is true, and returns it."""
        end = time.monotonic() + PATIENCE
        while not holds(shown := self.capture()):
            if time.monotonic() > end:
                raise AssertionError(f"{what}:\n{shown}")
            time.sleep(0.05)
        return shown

    def wait_for(self, *texts):
        return self.until(lambda shown: all(text in shown for text in texts), f"{texts} did not appear")

    def settled(self, pause=0.5):
        """The screen when it no longer changes for so many seconds."""
        before = None
        while before != (shown := self.capture()):
            before = shown
            time.sleep(pause)
        return shown

    def close(self):
        """Ends all that runs there; what it writes at its end is written then."""
        tmux = ["tmux", "-S", str(self.socket)]
        panes = subprocess.run([*tmux, "list-panes", "-a", "-F", "#{pane_pid}"], capture_output=True, text=True, env=self.environment).stdout.split()
        subprocess.run([*tmux, "kill-server"], capture_output=True, env=self.environment)
        end = time.monotonic() + 10
        while panes and time.monotonic() < end:
            states = subprocess.run(["ps", "-o", "stat=", "-s", ",".join(panes)], capture_output=True, text=True).stdout.split()
            if all(state.startswith("Z") for state in states):  # not every container's first process waits for children
                return
            time.sleep(0.02)
