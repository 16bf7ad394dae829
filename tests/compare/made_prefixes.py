"""Prefixes of small scripts in place of the profilers: each notes its command line, and writes a small output of the true format.

Programs that are "compiled" are scripts, too, which write what a preloaded or linked library would.
"""

import os
import pathlib
import struct

SHARES = {"forces": 38.1, "neighbors": 23.8, "by_key": 23.8, "reduce": 9.5, "rare": 4.8}  # percent
SAMPLES = 1000
SIGNS = "\037"  # between the words of a line of the record

NOTE = """#!/bin/sh
here=@HERE@
{ printf '%s\\037' "${0##*/}" "$@"; printf 'MPIP=%s\\037CALI_CONFIG=%s\\037SCOREP=%s/%s\\n' "$MPIP" "$CALI_CONFIG" \\
  "$SCOREP_ENABLE_PROFILING" "$SCOREP_ENABLE_TRACING"; } >>"$here/record"
"""
# Of a command that runs another: skips its own options, of which -o FILE and such have a value.
AFTER_OPTIONS = """
while :; do
  case $1 in
    -o) out=$2; shift 2 ;;
    -e | -n | -F | --call-graph) shift 2 ;;
    --) shift; break ;;
    -*) shift ;;
    *) break ;;
  esac
done
"""
# What the libraries of tools write while a program runs.
MEASURED = """
[ -z "$CPUPROFILE" ] || echo data >"$CPUPROFILE"
[ -z "$MPIP" ] || cp "$here/report.mpiP" "${MPIP#-f }/program.2.4711.1.mpiP"
case $CALI_CONFIG in
  *output=*) file=${CALI_CONFIG#*output=}; echo "${CALI_CONFIG%%(*}" >"${file%%[,)]*}" ;;
esac
if [ -n "$SCOREP_EXPERIMENT_DIRECTORY" ]; then
  mkdir -p "$SCOREP_EXPERIMENT_DIRECTORY" && echo cube >"$SCOREP_EXPERIMENT_DIRECTORY/profile.cubex"
fi
"""
WAITS = 'cp "$here/truth-0.log" "$here/truth-1.log" "$1"\n'
PROGRAMS = {
    "shares": 'cat "$here/shares.txt"\n', "point_to_point": WAITS, "collectives": WAITS, "fixed_work": "", "lmp": "", "caliper_begin.so": "",
}  # fmt: skip

COMPILER = """
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then file=$2; fi
  shift
done
name=${file##*/}
cp "$here/programs/${name%.Score-P}" "$file"
"""
COMMANDS = {
    "gcc": COMPILER,
    "mpicc.openmpi": COMPILER,
    "mpirun.openmpi": AFTER_OPTIONS + 'exec "$@"\n',
    "perf": """
case $1 in
  record) shift; @AFTER_OPTIONS@ echo data >"$out"; exec "$@" ;;
  script) cat "$here/perf.txt" ;;
  report) echo "# Samples" ;;
esac
""",
    "google-pprof": 'cat "$here/pprof.txt"\n',
    "valgrind": """
file=${3#--callgrind-out-file=}; shift 3
echo data >"${file%\\%p}$$"; exec "$@"
""",
    "callgrind_annotate": 'cat "$here/callgrind.txt"\n',
}
CULPRIT = {
    "bin/hpcrun-lite": AFTER_OPTIONS + 'mkdir -p "$out" && echo data >"$out/rank-0"; exec "$@"\n',
    "bin/prof-mpi": "",
    "bin/viewer-cli": 'cat "$here/viewer-$2.txt"\n',
}
HPCTOOLKIT = {
    "bin/hpcrun": AFTER_OPTIONS + 'mkdir -p "$out" && cp "$here/hpcrun.log" "$out/shares-000000-000-007f0101-4711-0.log"; exec "$@"\n',
    "bin/hpcstruct": "",
    "bin/hpcprof": AFTER_OPTIONS + 'mkdir -p "$out" && cp "$here/meta.db" "$here/profile.db" "$out"\n',
}
SCOREP = {
    "bin/scorep": AFTER_OPTIONS + 'exec "$@"\n',
    "bin/scorep-score": 'cat "$here/scorep-score.txt"\n',
}
SCALASCA = {
    "bin/scalasca": 'directory=$4; shift 4; mkdir -p "$directory"; echo trace >"$directory/traces.otf2"; exec "$@"\n',
    "bin/scout.mpi": 'cp "$here/trace.stat" "${2%/*}"\n',
}
MPIP = {"lib/libmpiP.so": ""}
CALIPER = {
    "lib64/libcaliper.so": "",
    "bin/cali-query": """
case $2 in
  *json) cat "$here/cali-query.json" ;;
  *) echo "Function Samples" ;;
esac
""",
}
PREFIXES = {"culprit": CULPRIT, "hpctoolkit": HPCTOOLKIT, "scorep": SCOREP, "scalasca": SCALASCA, "mpip": MPIP, "caliper": CALIPER}

TRUTH_LOGS = [  # rank 1 waits 0.5 s for a message, and 9 s in MPI_Init; each is in calls of MPI for 0.01 and 0.52 s between
    """truth 1 rank 0 of 2 from 0 to 30000000000
call 0 10000000000 10100000000 MPI_Init main collective:0,0,0,0
call 0 12000000000 12010000000 MPI_Send send_word sends:0,1,7,0,4,0
end
""",
    """truth 1 rank 1 of 2 from 0 to 30000000000
call 0 1000000000 10100000000 MPI_Init main collective:0,0,0,0
call 0 11500000000 12020000000 MPI_Recv receive_word receives:0,0,7,0,4
end
""",
]
VIEWER_WAITS = """[{"pattern": "late-sender", "seconds": 0.501}, {"pattern": "late-sender-wrong-order", "seconds": 0.2},
 {"pattern": "barrier-completion", "seconds": 3}, {"pattern": "wait-at-init", "seconds": 9}]
"""
VIEWER_CALLS = '{"mpi": [{"call": "MPI_Init", "seconds": 9.2}, {"call": "MPI_Recv", "seconds": 0.52}, {"call": "MPI_Send", "seconds": 0.01}]}\n'
HPCRUN_LOG = """SAMPLE ANOMALIES: blocks: 0 (async: 0, dlopen: 0), errors: 5 (segv: 0, soft: 5)
SUMMARY: samples: 1000 (recorded: 1000, blocked: 0, errant: 5, trolled: 0, yielded: 0),
         frames: 24000 (trolled: 0)
         intervals: 300 (suspicious: 0)
"""
SCORE_HEAD = """
Estimated aggregate size of event trace:                   501kB
Estimated requirements for largest trace buffer (max_buf): 251kB
Estimated memory requirements (SCOREP_TOTAL_MEMORY):       4097kB
(hint: When tracing set SCOREP_TOTAL_MEMORY=4097kB to avoid intermediate flushes
 or reduce requirements using USR regions filters.)

flt     type max_buf[B] visits time[s] time[%] time/visit[us]  region
         ALL    256,161 12,012  104.03   100.0         335.60  ALL
         MPI    232,096 10,008    4.03     3.9          52.03  MPI
         USR     24,024  2,002  100.00    96.1        1753.48  USR

         MPI     66,000  2,000    0.40     0.4         150.00  MPI_Recv
         MPI         24      2    3.50     3.4      1750000.00  MPI_Init
         MPI     66,000  2,000    0.13     0.1          65.00  MPI_Send
"""
TRACE_STAT = """PatternName               Count      Mean    Median      Minimum      Maximum      Sum     Variance    Quartil25    Quartil75
mpi_latesender                     1 0.4800000 0.4800000 0.4800000000 0.4800000000 0.4800000000
- cnode 126 enter: 5.6760874812 exit: 5.8911956069 duration: 0.4800000000 rank: 1

mpi_latesender_wo                  1 0.2000000 0.2000000 0.2000000000 0.2000000000 0.2000000000
mpi_barrier_completion             2 1.5000000 1.5000000 1.5000000000 1.5000000000 3.0000000000 0.0000000000
"""
MPIP_REPORT = """@ mpiP
@ Command : point_to_point
---------------------------------------------------------------------------
@--- MPI Time (seconds) ---------------------------------------------------
---------------------------------------------------------------------------
Task    AppTime    MPITime     MPI%
   0       8.12       0.01     0.12
   1       8.11      0.525     6.47
   *       16.2      0.535     3.30
---------------------------------------------------------------------------
@--- Callsites: 2 ---------------------------------------------------------
---------------------------------------------------------------------------
 ID Lev File/Address        Line Parent_Funct             MPI_Call
  1   0 point_to_point.c      11 send_word                Send
"""


def count(share):
    return round(SAMPLES * share / 100)


def outputs(shares):
    """Name: text of what tools say of the program's shares (percent), and of its waits."""
    flat = [f'{{"frame": {{"kind": "procedure", "name": "{name}"}}, "children": [], "values": {{"CPU:sum (E)": {share}, '
            f'"samples:sum (E)": {count(share)}}}}}' for name, share in shares.items()]  # fmt: skip
    callers = "0 main\n\n"
    return {
        "shares.txt": "".join(f"{name} {share / 10:.6f}\n" for name, share in SHARES.items()),
        "perf.txt": "".join(f"1 {name}\n{callers}" * count(share) for name, share in shares.items()),
        "pprof.txt": "".join(f"     {count(share):5d}  {share}%  {share}%     {count(share):5d}  {share}% {name}\n" for name, share in shares.items())
        + f"         0   0.0% 100.0%     {SAMPLES} 100.0% main\n",
        "callgrind.txt": "".join(f"{10000 * count(share):,} ({share}%)  shares.c:{name} [shares]\n" for name, share in shares.items()),
        "viewer-view.txt": f'{{"roots": [{", ".join(flat)}]}}\n',
        "viewer-info.txt": '{"partial": 0, "samples": 1000}\n',
        "viewer-report.txt": "all is well\n",
        "viewer-waits.txt": VIEWER_WAITS,
        "viewer-communication.txt": VIEWER_CALLS,
        "hpcrun.log": HPCRUN_LOG,
        "scorep-score.txt": SCORE_HEAD
        + "".join(f"         USR     24,000  2,000   {share:.2f}    {share:.1f}        1753.84  {name}\n" for name, share in shares.items()),
        "trace.stat": TRACE_STAT,
        "report.mpiP": MPIP_REPORT,
        "cali-query.json": "[" + ",\n".join(f'{{"Function":"{name}","Samples":{count(share)}}}' for name, share in shares.items()) + "\n]",
        "truth-0.log": TRUTH_LOGS[0],
        "truth-1.log": TRUTH_LOGS[1],
    }  # fmt: skip


class Bytes:
    """A file that grows, whose parts point to what was put before."""

    def __init__(self, head):
        self.data = bytearray(head)

    def put(self, layout, *values):
        self.data += bytes(-len(self.data) % 8)
        place = len(self.data)
        self.data += struct.pack("<" + layout, *values)
        return place

    def text(self, text):
        place = len(self.data)
        self.data += text.encode() + b"\0"
        return place


def database(shares, longer=0):
    """(meta.db, profile.db) of main, which calls the functions, and has a loop; records are `longer` bytes longer than in version 4.0."""
    meta = Bytes(b"HPCTOOLKITmeta\4\0" + bytes(0x80))
    pad, gap = bytes(longer), f"{longer}s"
    scopes = [meta.put("QBB6x", meta.text(name), 0, 0) for name in ("execution", "function")]
    formula, square = meta.text("$$"), meta.text("($$^2)")
    summaries = [(scopes[0], formula, 0, 1), (scopes[1], square, 0, 2), (scopes[1], formula, 2, 3), (scopes[1], formula, 0, 4)]
    listed = [meta.put("QQBxH4x" + gap, *each, pad) for each in summaries][0]
    other = meta.text("CPUTIME"), meta.text("REALTIME")
    metrics = [meta.put("QQQHH4x" + gap, name, 0, listed, 0, len(summaries), pad) for name in other][0]
    section = meta.put("QIBBB", metrics, len(other), 32 + longer, 16, 24 + longer)
    meta.data[0x38:0x40] = struct.pack("<Q", section)
    names = {name: meta.put("QQQQII", meta.text(name), 0, 0, 0, 0, 0) for name in ("main", *shares)}

    def context(number, kind, name=None, children=(0, 0)):
        has = 1 if name else 0
        return struct.pack("<QQIBBBBHxxxxxx", *children, number, has, 1, kind, has, 0) + (struct.pack("<Q", names[name]) if name else b"")

    leaves = b"".join(context(10 + each, 0, name) for each, name in enumerate(shares))
    inner = (len(leaves), meta.put(f"{len(leaves)}s", leaves))
    loop = context(3, 1, children=inner)
    main = context(2, 0, "main", (len(loop), meta.put(f"{len(loop)}s", loop)))
    entry = meta.put("QQIH2xQ" + gap, len(main), meta.put(f"{len(main)}s", main), 1, 1, 0, pad)
    meta.data[0x48:0x50] = struct.pack("<Q", meta.put("QHB", entry, 1, 32 + longer))
    return bytes(meta.data), profile_of(shares)


def profile_of(shares):
    profile = Bytes(b"HPCTOOLKITprof\4\0" + bytes(0x20))
    values = [(2, [(1, 100.0)])] + [(10 + each, [(1, share), (4, share)]) for each, share in enumerate(shares.values())]
    pairs = [pair for _, own in values for pair in own]
    place = profile.put("0s", b"")
    profile.data += b"".join(struct.pack("<Hd", *pair) for pair in pairs)
    index, starts = 0, []
    for number, own in values:
        starts.append(struct.pack("<IQ", number, index))
        index += len(own)
    indices = profile.put(f"{12 * len(starts)}s", b"".join(starts))
    block = profile.put("QQI4xQQI4x", len(pairs), place, len(starts), indices, 0, 1)
    profile.data[0x18:0x20] = struct.pack("<Q", profile.put("QIB", block, 1, 48))
    return bytes(profile.data)


def script(path, here, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((NOTE + body).replace("@HERE@", str(here)).replace("@AFTER_OPTIONS@", AFTER_OPTIONS))
    path.chmod(0o755)


def make(here, shares=SHARES):
    """All of it below `here`: PATH for the commands, PREFIXES by name, programs, outputs."""
    for name, body in PROGRAMS.items():
        script(here / "programs" / name, here, MEASURED + body)
    for name, body in COMMANDS.items():
        script(here / "commands" / name, here, body)
    script(here / "commands" / "lmp", here, MEASURED)
    for prefix, files in PREFIXES.items():
        for name, body in files.items():
            script(here / prefix / name, here, body)
    for name, text in outputs(shares).items():
        (here / name).write_text(text)
    for name, content in zip(("meta.db", "profile.db"), database(shares)):
        (here / name).write_bytes(content)
    return f"{here / 'commands'}{os.pathsep}{os.environ['PATH']}"


def record(here):
    """The command lines that were noted, as lists of words; the last three: what was set for mpiP, Caliper and Score-P."""
    return [line.split(SIGNS) for line in pathlib.Path(here / "record").read_text().splitlines()]
