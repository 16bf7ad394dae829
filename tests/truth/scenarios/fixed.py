"""Programs whose causes were once named wrongly, and one without a cause: each as short as it can be.

`programs(mpi)` gives {name: Program}; a test measures them, and compares with their logs."""

from program import Branch, Cause, Communication, Function, Invoke, Loop, Program, Work, callees_first

ITERATIONS = 60


def leaf(name, milliseconds, style="HERE"):
    return Function(name, [Work(milliseconds, style=style)])


def made(name, ranks, mpi, step, *causes):
    """A program whose iterations are these statements; a leaf's work is as many ms as its units."""
    main = Function("main", [Loop(ITERATIONS, step, iterations=True)])
    functions = callees_first(main)
    for function in functions:
        for statement in function.body:
            if isinstance(statement, Work):
                statement.milliseconds = [statement.of(rank) for rank in range(ranks)]
    return name, Program(name, ranks, mpi, 0.01, main, functions, list(causes), False)


def cause(path, ranks, rank, milliseconds, every=1, kind="one"):
    extra = [milliseconds if one == rank else 0.0 for one in range(ranks)]
    return Cause(kind, ("main", *path.split("/")), [rank], 0, extra=extra, every=every)


def only(rank, *body):
    return Branch(f"rank == {rank}", frozenset((rank,)), list(body), [])


def asymmetric_calls(mpi):
    """Common work before a send, a receive and a send, a receive; two ranks work more, in functions of their own."""
    common = leaf("common_work", 12)
    first, second = leaf("late_first", 0), leaf("late_second", 0)
    step = [
        Branch("rank == 0", frozenset((0,)), [Invoke(common), Invoke(first), Communication("SEND(1, 1);")], [
            Branch("rank == 1", frozenset((1,)),
                   [Invoke(common), Communication("RECEIVE(0, 1);"), Invoke(second), Communication("SEND(2, 1);")],
                   [Invoke(common), Communication("RECEIVE(1, 1);")]),
        ]),
        Communication("BARRIER();"),
    ]
    return made("asymmetric_calls", 3, mpi, step, cause("late_first", 3, 0, 4), cause("late_second", 3, 1, 2))


def alternatives(mpi):
    """Rank 0 runs f where the others run g, as long; h takes longer on rank 0."""
    f, g, h = leaf("run_f", 10), leaf("run_g", 10), leaf("run_h", 6)
    step = [Branch("rank == 0", frozenset((0,)), [Invoke(f)], [Invoke(g)]), Invoke(h), Communication("ALLREDUCE();")]
    return made("alternatives", 4, mpi, step, cause("run_h", 4, 0, 4))


def serial_section(mpi):
    """Before a broadcast whose root is held up by the section's rank, and a collective that needs all."""
    even, after, serial = leaf("even_part", 10), leaf("even_rest", 6), leaf("serial_part", 0)
    step = [
        Invoke(even), only(0, Invoke(serial), Communication("SEND(2, 1);")), only(2, Communication("RECEIVE(0, 1);")),
        Communication("BCAST(2);"), Invoke(after), Communication("ALLGATHER();"),
    ]
    return made("serial_section", 4, mpi, step, cause("serial_part", 4, 0, 5, kind="serial"))


def two_below_one(mpi):
    a, b, c = leaf("part_a", 6), leaf("part_b", 6), leaf("part_c", 6)
    update = Function("update", [Invoke(a), Invoke(b), Invoke(c)])
    step = [Invoke(update), Communication("ALLREDUCE();")]
    return made("two_below_one", 4, mpi, step, cause("update/part_a", 4, 1, 4), cause("update/part_b", 4, 1, 3))


def shared_kernel(mpi):
    """Every function works in a procedure that all share."""
    smooth, relax, norm = (leaf(name, 6, "SHARED") for name in ("smooth", "relax", "norm"))
    step = [Invoke(smooth), Invoke(relax), Invoke(norm), Communication("ALLREDUCE();")]
    return made("shared_kernel", 4, mpi, step, cause("smooth", 4, 2, 5))


def tail_calls(mpi):
    """Functions that do their work in one that all share, which they call last: by a jump."""
    shared = leaf("shared_work", 6)
    relax = Function("relax", [Invoke(shared)], tail=True)
    smooth, norm = (Function(name, [Invoke(below)], tail=True) for name, below in (("smooth", relax), ("norm", shared)))
    step = [Invoke(smooth), Communication("BARRIER();"), Invoke(norm), Communication("ALLREDUCE();")]
    return made("tail_calls", 4, mpi, step, cause("smooth/relax/shared_work", 4, 2, 5))


def compensating(mpi):
    """Two functions are uneven as much, on different ranks, each before a call that all ranks wait in: in sum all work as long."""
    step = [Invoke(leaf("forces", 6)), Communication("ALLREDUCE();"), Invoke(leaf("neighbours", 6)), Communication("BARRIER();")]
    return made("compensating", 4, mpi, step, cause("forces", 4, 0, 6), cause("neighbours", 4, 1, 6))


def interrupted(mpi):
    """One iteration takes much longer on one rank."""
    body = [Invoke(leaf("even_part", 12)), Invoke(leaf("other_part", 6)), Communication("ALLREDUCE();")]
    step = [Invoke(Function("step", body))]
    return made("interrupted", 3, mpi, step, cause("step/other_part", 3, 1, 200, every=40, kind="iterations"))


def balanced(mpi):
    pair = Function("push", [Work(6, [1.5, 0.5, 1.0, 1.0])]), Function("pull", [Work(6, [0.5, 1.5, 1.0, 1.0])])
    step = [*map(Invoke, pair), Invoke(leaf("even_part", 8)), Communication("HALO_BEGIN(1, 1); HALO_END();"), Communication("BARRIER();")]
    return made("balanced", 4, mpi, step)


def programs(mpi):
    kinds = (
        asymmetric_calls, alternatives, serial_section, two_below_one, shared_kernel, tail_calls, compensating, interrupted, balanced,
    )
    return dict(kind(mpi) for kind in kinds)
