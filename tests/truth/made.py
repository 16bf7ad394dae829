"""The patterns that each truth program makes by construction, with half a delay or more of waiting in each."""

# Flush waits are always approximated. Of the libraries here only Open MPI's component pt2pt lets an operation wait for its
# target's post.
MADE = {
    "point_to_point": {"late-sender", "late-sender-wrong-order", "late-receiver", "wait-at-barrier"},
    "requests": {"late-sender", "late-sender-wrong-order", "late-receiver"},
    "collectives": {"wait-at-barrier", "wait-at-nxn", "late-broadcast", "early-reduce", "early-scan", "wait-at-root"},
    "active_target": {"late-post", "early-wait", "late-complete", "wait-at-fence", "early-fence", "wait-at-create", "wait-at-free"},
    "passive_target": {"lock-wait"},
    "chain": {"late-sender", "late-post"},
    "mixed": {"late-sender", "late-post", "early-wait", "late-complete", "wait-at-fence", "early-fence", "wait-at-nxn"},
    "fortran_f08": {
        "late-sender", "late-receiver", "wait-at-barrier", "wait-at-nxn", "late-broadcast", "early-reduce", "early-scan",
        "late-post", "early-wait", "late-complete", "wait-at-fence", "early-fence", "lock-wait",
    },
}
