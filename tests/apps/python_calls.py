"""Python functions that compute for known times, called in the ways that there are. Prints by qualified name how many
seconds each took by itself. Usage: python_calls.py all|churn|deep|replaced|threads"""

import sys
import threading
import time

TIMES = {}


def burn(name, seconds):
    begin = time.perf_counter()
    end = begin + seconds
    count = 0
    while time.perf_counter() < end:
        count += 1
    TIMES[name] = TIMES.get(name, 0) + time.perf_counter() - begin


def by_function():
    burn("by_function", 0.4)


class Solver:
    def step(self):
        burn("Solver.step", 0.3)

    @staticmethod
    def prepare():
        burn("Solver.prepare", 0.3)


class Made:
    def __init__(self):
        burn("Made.__init__", 0.005)


def generator():
    for _ in range(3):
        burn("generator", 0.1)
        yield 1


def nested():
    def inner():
        burn("nested.<locals>.inner", 0.3)

    inner()


def by_c(value):
    burn("by_c", 0.1)
    return value


def früh():
    burn("früh", 0.3)


def recurse(depth):
    if depth == 0:
        burn("recurse", 0.3)
    else:
        recurse(depth - 1)


def everything():
    by_function()
    solver = Solver()
    solver.step()
    Solver.prepare()
    for _ in range(60):  # more often than until the interpreter chooses a shorter way
        Made()
    for _ in generator():
        pass
    nested()
    sorted([3, 2, 1], key=by_c)
    früh()
    recurse(5)
    exec(compile("def made():\n\n    burn('made', 0.3)\nmade()", "<made up>", "exec"), {"burn": burn})


def churn():
    """Functions are made and forgotten all the time; samples meet them at any point."""
    end = time.perf_counter() + 2
    while time.perf_counter() < end:
        for number in range(200):
            scope = {}
            exec(f"def made_{number}(depth):\n    return depth if depth == 0 else made_{number}(depth - 1)", scope)
            scope[f"made_{number}"](number % 40)
    print("churned")


def deep():
    sys.setrecursionlimit(100_000)
    recurse(5_000)
    everything()


def replaced():
    """Each file's code is thrown away before the next has its place in memory."""
    for number in range(12):
        file = f"/made/part_{number:02}.py"
        source = "def step():\n    burn(__file__, 0.2)\n\nstep()\n"
        exec(compile(source, file, "exec"), {"burn": burn, "__file__": file})


def threads():
    running = [threading.Thread(target=by_function) for _ in range(3)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def main():
    {"all": everything, "churn": churn, "deep": deep, "replaced": replaced, "threads": threads}[sys.argv[1]]()
    for name, seconds in TIMES.items():
        print(name, f"{seconds:.6f}")


main()
