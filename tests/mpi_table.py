#!/usr/bin/env python3
"""Checks that the table of wrapped calls (lib/mpi_calls) knows every function of an MPI's mpi.h, or leaves it
out for a reason, and that lib/merge/rules/mpi.rules says of each call in it whether it waits, as the table does. That
its prototypes are mpi.h's own, the compiler checks. Usage: mpi_table.py MPICC"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Written out in files of their own (lifetime_calls.cpp, given_names.cpp).
ELSEWHERE = r"Init|Init_thread|Session_init|Finalize|Abort|Pcontrol|(Comm|Win)_set_name"

# Local calls that neither communicate nor make or free what calls that communicate refer to.
LEFT_OUT = {
    "derived datatypes": r"Type_.*|Pack.*|Unpack.*|Get_count|Get_elements(_x)?|Get_address|Address|Aint_(add|diff)",
    "queries of communicators and topologies": r"Comm_(rank|size|compare|remote_size|test_inter|get_parent)|Topo_test|Dims_create"
    r"|Cart(dim)?_(get|rank|coords|shift|map)|Graph(dims)?_(get|neighbors|neighbors_count|map)"
    r"|Dist_graph_neighbors(_count)?",
    "queries of groups": r"Group_(rank|size|compare|translate_ranks)",
    "local window calls": r"Win_(attach|detach|sync|shared_query)",
    "queries and local calls of files": r"File_(delete|seek|get_(amode|atomicity|byte_offset|position|position_shared|size|type_extent|view))"
    r"|Register_datarep",
    "attributes, names, hints": r".*_(get|set|delete)_attr|Attr_.*|.*keyval|Keyval_.*|.*_(get|set)_name|.*_(get|set)_info|Info_.*",
    "errors": r".*errhandler.*|Errhandler_.*|Error_.*|Add_error_.*",
    "operators, memory, ports, buffers": r"Op_.*|Reduce_local|(Alloc|Free)_mem|(Open|Close)_port|(Publish|Unpublish|Lookup)_name|Buffer_attach",
    "the environment": r"Initialized|Finalized|Is_thread_main|Query_thread|Get_(version|library_version|processor_name)|Wtime|Wtick",
    "handle and status conversions": r".*_(c2f|f2c|f2f08|f082f|c2f08|f082c)|Status_set_.*|Test_cancelled",
    "generalized requests, whose work is the program's own": r"Grequest_.*",
    "the tools interface": r"T_.*",
    "sessions and partitions of MPI 4": r"Session_(?!init).*|.*_from_(session_pset|groups?)|P(send|recv)_init|Pready.*|Parrived",
}


def functions_of(compiler):
    """Names without MPI_ of the functions that its mpi.h declares."""
    text = subprocess.run(
        [compiler, "-E", "-P", "-x", "c", "-"], input="#include <mpi.h>\n", capture_output=True, text=True, check=True
    ).stdout
    return set(re.findall(r"\b(?:int|double|MPI_\w+)\s+MPI_([A-Z]\w*)\s*\(", text))


def table(large):
    """Names in the table; with `large`, also the forms for large counts."""
    names = set()
    for path in sorted((ROOT / "lib/mpi_calls").glob("*.def")):
        for counted, name in re.findall(r"^CULPRIT_(COUNTED_)?CALL\((\w+),", path.read_text(), re.M):
            names |= {name, name + "_c"} if counted and large else {name}
    return names


def wrapped(compiler):
    """Names without MPI_ of what the wrappers for this MPI define."""
    functions = functions_of(compiler)
    return {name for name in functions if re.fullmatch(ELSEWHERE, name)} | (table(large=True) & functions)


def against_rules():
    """Calls of which the rules say nothing, or something else than the type of their facts."""
    facts = (ROOT / "hpcrun-lite/mpi/call_facts.hpp").read_text()
    waits = dict(re.findall(r"^struct (\w+) {\n  static constexpr WaitRule kRule = WaitRule::(\w+);", facts, re.M))
    rules = {}
    for line in re.sub(r"\n\s+", " ", (ROOT / "lib/merge/rules/mpi.rules").read_text()).splitlines():
        rule, *names = line.split() or [""]
        rules |= {} if rule.startswith("#") else dict.fromkeys(names, rule)
    wrong = []
    for path in sorted((ROOT / "lib/mpi_calls").glob("*.def")):
        for name, kind in re.findall(r"^CULPRIT_(?:COUNTED_)?CALL\((\w+),.*?\), (\w+){", path.read_text(), re.M):
            allowed = ("wait",) if waits.get(kind) == "waits" else ("communication", "may-wait")
            if (rule := rules.get("MPI_" + name)) not in allowed:
                wrong.append(f"MPI_{name}: {rule or 'missing'} in mpi.rules, but {kind} {waits.get(kind)}: {' or '.join(allowed)}")
    return wrong


def main():
    functions = functions_of(sys.argv[1])
    known = table(large="Send_c" in functions)
    reasons = re.compile("|".join(f"({pattern})(_c)?" for pattern in LEFT_OUT.values()))
    missing = sorted(
        name for name in functions - known if not re.fullmatch(ELSEWHERE, name) and not reasons.fullmatch(name)
    )
    both = sorted(name for name in known if reasons.fullmatch(name))
    for name in missing:
        print(f"MPI_{name}: in mpi.h, not in lib/mpi_calls, and not left out for a reason")
    for name in both:
        print(f"MPI_{name}: in lib/mpi_calls, and left out")
    if len(functions) < 300 or len(known & functions) < 180:
        missing.append(f"{len(functions)} functions, {len(known & functions)} wrapped: too few to believe")
        print(missing[-1])
    print(*(unlike := against_rules()), sep="\n", end="\n" if unlike else "")
    print(f"{len(functions)} functions, {len(known & functions)} wrapped")
    return 1 if missing or both or unlike else 0


if __name__ == "__main__":
    sys.exit(main())
