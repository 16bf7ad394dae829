"""std::threads, which one routine of the C++ library starts, are compared with those alone that run the same: their roles
bear the name of that."""

import unittest

import harness


class ThreadRoles(harness.Workspace):
    def roles_of(self, program):
        directory = self.here / program
        harness.run([harness.HPCRUN, "-o", directory, harness.PROGRAMS / program])
        info = harness.viewer_json(self.merge(directory), "info")
        return {role["role"]: role["threads"] for role in info["roles"]}

    def check(self, program):
        roles = self.roles_of(program)
        self.assertEqual(roles["main"], 1)
        for function in ("watch", "log_all", "Reader::read"):
            self.assertEqual(roles[function], 1, roles)
        self.assertEqual(sorted(roles.values()), [1, 1, 1, 1, 1, 4], roles)

    def test_with_debug_information(self):
        self.check("thread_functions")

    def test_without(self):
        self.check("thread_functions_bare")


if __name__ == "__main__":
    unittest.main()
