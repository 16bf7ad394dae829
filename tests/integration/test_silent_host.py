"""A host whose agent does not answer keeps `viewer-cli stacks` from the others for half a minute, not for ever."""

import time
import unittest

import harness
import made_hosts
import test_stacks


@unittest.skipUnless(made_hosts.available(), "needs root, to make hosts")
class SilentHost(harness.Workspace):
    def test_an_agent_that_does_not_answer(self):
        """The job's agent hangs from the second command to a host on."""
        directory = self.here / "hosts"
        directory.mkdir()
        with made_hosts.Hosts(directory, "far1", "far2") as hosts:
            slow = self.here / "slow"
            slow.write_text(f'#!/bin/sh\nmkdir "$0.$1" 2>/dev/null || sleep 600\nexec {hosts.agent} "$@"\n')
            slow.chmod(0o755)
            with test_stacks.Job("openmpi", 5, options=test_stacks.on_hosts("openmpi", slow, hosts.names)) as job:
                self.wait_until_all_wait(job.launcher.pid)
                done = test_stacks.stacks("--job", job.launcher.pid, "--looks", 1, "--every", 0, expect=3)
                lines = done.stderr.splitlines()
                self.assertEqual(len(lines), 2, lines)
                for host, line in zip(hosts.names, lines):
                    self.assertIn(f"viewer-cli: stacks: host {host}: no answer within 30 s (look there: viewer-cli stacks --job openmpi:", line)
                self.assertIn("rank 0 is in MPI_Allreduce", done.stdout)

    def wait_until_all_wait(self, launcher):
        end = time.monotonic() + test_stacks.PATIENCE
        while "MPI_Allreduce" not in test_stacks.stacks("--job", launcher, "--here", expect=None).stdout:
            self.assertLess(time.monotonic(), end, "rank 0 does not get to MPI_Allreduce")
            time.sleep(0.2)


if __name__ == "__main__":
    unittest.main()
