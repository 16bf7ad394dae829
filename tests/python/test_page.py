"""docs/python.md says what the package prints: every `>>>` of it is run.

Usage: test_page.py PAGE MAKE_BROWSED_DB PACKAGE SCRATCH
"""

import doctest
import os
import pathlib
import re
import subprocess
import sys

PAGE, MAKE, PACKAGE, SCRATCH = (pathlib.Path(argument).absolute() for argument in sys.argv[1:5])


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    os.chdir(SCRATCH)
    os.environ["COLUMNS"] = "120"  # whatever the terminal
    sys.path.insert(0, str(PACKAGE))
    subprocess.run([MAKE, "solver.db"], check=True)
    pathlib.Path("no_database.db").write_text("something else\n")
    # A fence ends an example; to doctest that is an empty line.
    text = re.sub(r"^```.*$", "", PAGE.read_text(), flags=re.M)
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    ran = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples)
    if ran.failed or ran.attempted < 20:
        sys.exit(f"{ran.failed} of {ran.attempted} examples of {PAGE.name} are not what the package prints")
    print(f"{ran.attempted} examples")


if __name__ == "__main__":
    main()
