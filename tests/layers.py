#!/usr/bin/env python3
"""Checks that the arrows between folders, and between the folders within them, run one way (docs/how-it-works.md): who may
include whom; that no units include each other in a circle; that no small one stands alone without need; that texts name files that there are, and sections of docs/algorithms.md;
and that what the tools say has one way out."""

import ast
import collections
import graphlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Each folder may include itself and these: folders of lib, folders and files of hpcrun-lite.
MAY_INCLUDE = {
    "lib/machine": set(),
    "lib/bytes": set(),
    "lib/print": set(),
    "lib/spelling": set(),
    "lib/files": {"print"},
    "lib/cct": {"bytes"},
    "lib/metrics": set(),
    "lib/mpi_calls": set(),
    "lib/storage": set(),
    "lib/exchange": {"files", "storage"},
    "lib/unwind": {"bytes", "cct", "machine"},
    "lib/measurement": {"bytes", "cct", "machine"},
    "lib/structure": {"bytes", "files", "machine"},
    "lib/database": {"bytes", "print", "metrics", "exchange", "files"},
    "lib/blame": {"metrics", "database"},
    "lib/waits": {"bytes", "metrics", "measurement", "exchange", "storage"},
    "lib/stuck": {"cct", "measurement", "mpi_calls", "print", "structure"},
    "lib/stacks": {"cct", "files", "machine", "measurement", "print", "stuck"},
    "lib/merge": {"bytes", "files", "cct", "metrics", "measurement", "structure", "exchange", "database", "blame", "storage",
                  "waits"},
    "lib/follow": {"cct", "measurement", "merge", "print", "structure", "stuck"},
    "lib/views": {"spelling", "metrics", "database", "blame"},
    "hpcrun-lite/runtime": {"machine", "print", "unwind", "measurement", "cct", "interface"},
    "hpcrun-lite/mpi": {"machine", "mpi_calls", "unwind", "runtime/api.hpp", "runtime/state/call_mark.hpp", "runtime/state/call_slots.hpp",
                        "runtime/system/export.hpp", "runtime/system/found_function.hpp", "runtime/system/system_calls.hpp"},
    "hpcrun-lite/launcher": {"files", "machine", "print", "measurement", "spelling", "runtime/events/event_list.hpp",
                             "runtime/events/kernel_event.hpp", "runtime/events/papi_event_set.hpp", "runtime/process/job_key.hpp",
                             "runtime/process/run_directory.hpp"},
    "prof-mpi": {"files", "print", "spelling", "exchange", "merge", "structure", "blame", "database"},
    "viewer-cli": {"bytes", "files", "print", "spelling", "exchange", "merge", "structure", "follow", "stuck", "stacks", "blame", "database", "metrics",
                   "views"},
}
# The folders within these, each of which may include itself and those before it; those in one tuple not each other. "." is what
# lies beside the folders; where it is not listed, it may include all and all may include it.
ORDER = {
    "lib/machine": [("aarch64", "x86_64"), "."],
    "lib/structure": [".", "aarch64"],
    "lib/unwind": [".", ("aarch64", "x86_64")],
    "lib/waits": ["timeline", "matching", "communication", "states", "clocks", "variation", "causes", "path", "replay"],
    "hpcrun-lite/runtime": ["system", "events", "pace", "teams", "state", "process", "modules", "recording", "sampling", "life", "wrappers",
                            "interpose"],
    "lib/merge": ["input", "rules", "attribution", "idleness", "values", "diagnosis", "timelines"],
    "viewer-cli": ["text", "request", "findings", "tree", "export", "commands", "tui", "."],
    "viewer-cli/commands": [".", "html"],
    "viewer-cli/tui": ["widgets", "state", "pages", "panes"],
}
# The modules of the Python package, each of which may import those before it.
MODULES = ["text", "errors", "checksum", "parts", "cursor", "scopes", "run", "summaries", "tiles", "sources", "metrics", "figures", "table",
           "tree", "views", "paths", "findings", "time_lines", "hatchet", "database", "__init__"]
# What it may import besides: the standard library, and these where they are present.
PRESENT = {"numpy", "pandas", "hatchet", "xxhash", "compression"}
# The runtime may see only what never allocates.
RUNTIME_HEADERS = {"cct/frame.hpp", "machine/machine.hpp", "measurement/published_calls_layout.hpp", "measurement/kinds.hpp", "measurement/launch_variables.hpp", "measurement/limits.hpp", "measurement/live.hpp", "measurement/live_trace.hpp",
                   "measurement/file_space.hpp", "measurement/raw_memory.hpp", "measurement/runtime_notes.hpp", "measurement/schedule.hpp", "measurement/stamp_level.hpp", "measurement/trace_operation.hpp", "measurement/trace_stream.hpp",
                   "measurement/transfer_cost.hpp", "measurement/write_signals.hpp", "print/printable.hpp", "print/shell_word.hpp", "unwind/callee.hpp", "unwind/known_walk.hpp", "unwind/rule.hpp",
                   "unwind/walker.hpp"}
# Enumerations, names and classes of numbers that files and tools share; they include nothing.
FREE_TO_ALL = {"measurement/published_calls_layout.hpp", "measurement/kinds.hpp", "measurement/launch_variables.hpp", "measurement/processor_set.hpp", "measurement/runtime_notes.hpp", "measurement/stamp_level.hpp", "measurement/trace_operation.hpp", "measurement/transfer_cost.hpp"}
LONGEST_GUIDE = 15  # lines
LEAST_UNIT = 50  # lines; a smaller unit stands alone only where another folder includes it
PROCESSORS = {"aarch64", "x86_64"}  # their folders have the same units, whatever the size
ALONE = {"viewer-cli/export/otf2_absent"}  # small units in the place of another one: here of otf2, where its library is absent
CITING = {".cpp", ".hpp", ".h", ".c", ".def", ".py", ".cmake", ".md"}
WITH_GUIDES = ("docs", "hpcrun-lite", "lib", "packaging", "prof-mpi", "python", "tests", "viewer-cli")
DATA = {"tests/same_bytes/cavity"}  # cases of data: neither these nor the folders in them need a guide
STARTS = re.compile(r"\b[Ss]tart(?:s| reading)? (?:at|with|here|there)\b")
LIB_FOLDERS = {path.split("/")[1] for path in MAY_INCLUDE if path.startswith("lib/")}
FOLDERS = LIB_FOLDERS | {"interface", "launcher", "mpi", "runtime"}
# Where what the tools say comes out; all else goes through these, so that no name gets to a terminal as it is. The wrappers
# of MPI say two things, of their own words and numbers; a handler of signals spells what it says by itself.
WAYS_OUT = {"lib/print/output.cpp", "lib/files/at_death.cpp", "hpcrun-lite/runtime/system/text.cpp", "hpcrun-lite/mpi/traced_lifetime.cpp",
            "hpcrun-lite/mpi/real_call.cpp"}
# What they take: a stream of text around it, or the browser's screen.
TAKES_STREAM = {"viewer-cli/main.cpp": {"std::cout"}, "hpcrun-lite/launcher/options.cpp": {"std::cout"},
                "viewer-cli/tui/widgets/terminal.cpp": {"stdout", "STDOUT_FILENO"}}
OUT = re.compile(r"std::cout|std::cerr|std::clog|\bstderr\b|\bstdout\b|\bfmt::print\b|\bputs\b|\bprintf\b|\bperror\b|STDERR_FILENO|STDOUT_FILENO")
ASKS_ONLY = re.compile(r"(isatty|ioctl|dup2|posix_spawn_file_actions_\w+)\([^)]*STD(OUT|ERR)_FILENO")
ANY_INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.M)
INCLUDE = re.compile(r'^\s*#include "((\w+)/[^"]+)"', re.M)


def other_ways_out(path, text):
    """What writes to standard output or standard error by itself."""
    if path in WAYS_OUT:
        return []
    wrong = []
    for number, line in enumerate(text.splitlines(), 1):
        code = ASKS_ONLY.sub("", line.split("//")[0])
        if (found := OUT.search(code)) and found.group() not in TAKES_STREAM.get(path, ()):
            wrong.append(f"{path}:{number}: {found.group()} (say it by print/output.hpp)")
    return wrong


def resolve(header, base, path):
    """The file that an include names; None: it is none of ours."""
    starts = (ROOT / "lib", ROOT / "hpcrun-lite", base, path.parent)
    return next((start / header for start in starts if (start / header).exists()), None)


def against_the_order(path, text):
    """Includes of a folder further up in ORDER."""
    wrong = []
    for where, order in ORDER.items():
        base = ROOT / where
        level = {name: number for number, names in enumerate(order) for name in ([names] if isinstance(names, str) else names)}

        def place(file):
            parts = file.relative_to(base).parts
            return parts[0] if len(parts) > 1 else "."

        if not path.is_relative_to(base) or (own := place(path)) not in level:
            continue
        for header in ANY_INCLUDE.findall(text):
            # What viewer-cli/tui includes is relative to viewer-cli.
            found = resolve(header, ROOT / where.split("/")[0], path)
            if not found or not found.is_relative_to(base) or (other := place(found)) not in level:
                continue
            if other != own and level[other] >= level[own]:
                wrong.append(f"{path.relative_to(ROOT)}: includes {header} (not allowed from {where}/{own})")
    return wrong


def read_units():
    """What each unit (a header and its source are one) includes, and its lines."""
    includes, lines = {}, collections.Counter()
    for where in MAY_INCLUDE:
        base = ROOT / where
        for path in sorted(base.rglob("*")):
            if path.suffix not in (".hpp", ".cpp", ".h", ".c"):
                continue
            unit = path.with_suffix("").relative_to(ROOT)
            text = path.read_text(errors="replace")
            lines[unit] += len(text.splitlines())
            others = includes.setdefault(unit, set())
            for header in ANY_INCLUDE.findall(text):
                if found := resolve(header, base, path):
                    others.add(found.with_suffix("").relative_to(ROOT))
    for unit, others in includes.items():
        others.discard(unit)
    return includes, lines


def small_units(includes, lines):
    """Small units that no other folder includes: they belong into the neighbour that they serve (CONTRIBUTING.md, conventions)."""
    needed = {other for unit, others in includes.items() for other in others if other.parent != unit.parent}
    return [f"{unit}: {lines[unit]} lines that no other folder includes (join it with a neighbour)" for unit in includes
            if lines[unit] < LEAST_UNIT and unit not in needed and unit.parent.name not in PROCESSORS and str(unit) not in ALONE]


TYPE = re.compile(r"^(?:template.*>\s*)?(?:class|struct|union|enum class) (?:alignas\([^)]*\) )?(\w+)[^;]*\{")


def types_of_one_name():
    """Types of one namespace that two headers define: the linker would take the functions of one for the other's. Headers that
    each stand for a processor are never in one program."""
    found = collections.defaultdict(set)
    for tree in ("lib", "hpcrun-lite", "prof-mpi", "viewer-cli"):
        for path in sorted((ROOT / tree).rglob("*.hpp")):
            if path.parent.name in PROCESSORS:
                continue
            within = []
            for line in path.read_text(errors="replace").splitlines():
                if opened := re.match(r"namespace ([\w:]+) \{", line):
                    within.append(opened.group(1))
                elif line.startswith("}  // namespace") and within:
                    within.pop()
                elif defined := TYPE.match(line):
                    found["::".join([*within, defined.group(1)])].add(str(path.relative_to(ROOT)))
    return [f"{name}: defined in {' and '.join(sorted(paths))}" for name, paths in sorted(found.items()) if len(paths) > 1]


def circles(includes):
    """Units that include each other, each circle once."""
    includes = {unit: set(others) for unit, others in includes.items()}
    found = []
    while True:
        try:
            graphlib.TopologicalSorter(includes).prepare()
            return found
        except graphlib.CycleError as error:
            circle = error.args[1]
            found.append("circle of units: " + " <- ".join(map(str, circle)))
            for unit, other in zip(circle, circle[1:]):  # either way round, whichever includes the other
                includes[other].discard(unit)


def python_modules():
    """Imports of the Python package that run against its order, or of what nobody said that it needs."""
    wrong = []
    for path in sorted((ROOT / "python/culprit").glob("*.py")):
        name = path.stem
        if name not in MODULES:
            wrong.append(f"{path.relative_to(ROOT)}: has no place in MODULES of tests/layers.py")
            continue
        tree = ast.parse(path.read_text())
        typing = {id(node) for block in ast.walk(tree) if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
                  for node in ast.walk(block)}
        for node in ast.walk(tree):
            if id(node) in typing or not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            if isinstance(node, ast.ImportFrom) and node.level:
                imported = [node.module] if node.module else [alias.name for alias in node.names]
                wrong += [f"{path.relative_to(ROOT)}: imports {each} (not allowed from {name})" for each in imported
                          if each not in MODULES[: MODULES.index(name)]]
                continue
            for each in [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]:
                if each.split(".")[0] not in sys.stdlib_module_names | PRESENT:
                    wrong.append(f"{path.relative_to(ROOT)}: imports {each} (the package needs nothing but Python)")
    return wrong


def names_of_no_file():
    """Files and folders of ours that texts name and that are not there."""
    files = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.relative_to(ROOT).parts[0] not in ("build", ".git")]
    known = {str(path) for path in files} | {path.name for path in files}
    wrong = []
    for text in (path for path in files if path.suffix == ".md" and path.name != "CHANGELOG.md"):
        for name in re.findall(r"`([^`\s]+)`", (ROOT / text).read_text()):
            ours = re.fullmatch(r"(?:lib|hpcrun-lite|prof-mpi|viewer-cli|python|tests|docs)/[\w./-]+|[\w-]+\.[ch]pp", name)
            if ours and not {name.rstrip("/"), f"lib/{name}", f"{text.parent}/{name}".rstrip("/")} & known:
                wrong.append(f"{text}: names {name}, which is not there")
    return wrong


def citations_of_no_section():
    """Citations of docs/algorithms.md by a number that no heading there has, perhaps over the end of a comment's line."""
    sections = set(re.findall(r"^##+ ([\d.]*\d)", (ROOT / "docs/algorithms.md").read_text(), re.M))
    number = r"\d+(?:\.\d+)?"
    cited = re.compile(rf"algorithms\.md (?:sections? )?({number}(?:(?:, | and | to |-){number})*)")
    wrong = []
    for path in sorted(ROOT.rglob("*")):
        file = path.relative_to(ROOT)
        if file.parts[0] in ("build", ".git") or path.suffix not in CITING and path.name != "CMakeLists.txt" or not path.is_file():
            continue
        text = re.sub(r"\s*\n\s*(?:///?<?|#)?\s*", " ", path.read_text(errors="replace"))
        wrong += [f"{file}: cites docs/algorithms.md {each}, which is no section there"
                  for citation in cited.findall(text) for each in re.findall(number, citation) if each not in sections]
    return wrong


def needs_no_guide(folder):
    """Folders of tests/unit that mirror a folder of the tools, and data (CONTRIBUTING.md, conventions)."""
    if folder.is_relative_to("tests/unit"):
        mirrored = folder.relative_to("tests/unit")
        return bool(mirrored.parts) and any((ROOT / tools / mirrored).is_dir() for tools in ("lib", "."))
    return any(folder.is_relative_to(data) for data in DATA)


def folders_without_guide():
    """Folders whose README.md is missing, too long to be read at once, or names no place to start."""
    wrong = []
    for folder in sorted(path for where in WITH_GUIDES for path in (ROOT / where, *(ROOT / where).rglob("*")) if path.is_dir()):
        name = folder.relative_to(ROOT)
        guide = folder / "README.md"
        if not guide.exists():
            made_by_tools = all(path.suffix == ".pyc" for path in folder.iterdir())  # __pycache__, or an empty one, which Git does not keep
            if not made_by_tools and not needs_no_guide(name):
                wrong.append(f"{name}: has no README.md")
            continue
        text = guide.read_text()
        if len(text.splitlines()) > LONGEST_GUIDE:
            wrong.append(f"{name}/README.md: longer than {LONGEST_GUIDE} lines")
        if not STARTS.search(" ".join(text.split())):
            wrong.append(f"{name}/README.md: names no place to start")
    return wrong


def main():
    includes, lines = read_units()
    wrong = circles(includes) + types_of_one_name() + small_units(includes, lines) + names_of_no_file() + citations_of_no_section() + folders_without_guide() + python_modules()
    for where, allowed in MAY_INCLUDE.items():
        for path in sorted((ROOT / where).rglob("*")):
            if path.suffix not in (".hpp", ".cpp", ".h", ".c"):
                continue
            text = path.read_text(errors="replace")
            wrong += other_ways_out(str(path.relative_to(ROOT)), text)
            headers = INCLUDE.findall(text)
            wrong += against_the_order(path, text)
            for header, folder in headers:
                own = where.split("/")[-1]
                if folder in FOLDERS and not {folder, header} & (allowed | {own} | FREE_TO_ALL):
                    wrong.append(f"{path.relative_to(ROOT)}: includes {header} (not allowed from {where})")
                if where == "hpcrun-lite/runtime" and folder in LIB_FOLDERS and header not in RUNTIME_HEADERS:
                    wrong.append(f"{path.relative_to(ROOT)}: includes {header} (may allocate)")
    print("\n".join(wrong) if wrong else "layers: every arrow runs one way")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
