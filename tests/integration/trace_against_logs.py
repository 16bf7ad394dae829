"""Time lines against truth programs' own logs: each logged call has its call in the trace, inside of it in time, with the
operations that the log tells. Raises AssertionError at the first difference."""

import bisect

from against_logs import truth

SENDS = {truth.EAGER: {"send", "send_buffered"}, truth.SYNCHRONOUS: {"send_synchronous"}, truth.STANDARD: {"send"}}
COLLECTIVES = {
    "init": "initialize", "finalize": "finalize", "barrier": "barrier", "nxn": "all_to_all", "bcast": "one_to_all",
    "reduce": "all_to_one", "scan": "prefix", "create": "create", "free": "free",
}  # fmt: skip
ROOTED = {"bcast", "reduce"}
RECEIVES = {"receive", "receive_matched"}


class AgainstLogs:
    """`processes` and `logs` of all ranks, in their order."""

    def __init__(self, processes, logs):
        self.names, self.things, self.compared = {}, {}, 0
        assert [process.rank for process in processes] == [log.rank for log in logs]
        for process, log in zip(processes, logs):
            self.process, self.log = process, log
            for thread in {call.thread for call in log.calls}:
                self.thread([call for call in log.calls if call.thread == thread])

    def thread(self, calls):
        calls = [call for call in calls if call.function.startswith("MPI_") and call.exit != truth.FOREVER]
        if not calls:
            return
        # The thread of the trace that made the last call of the log's.
        for traced in self.process.threads:
            if self.inside(traced, calls[-1]):
                break
        else:
            raise AssertionError(f"rank {self.log.rank}: no thread of the trace made {calls[-1]}")
        for call in calls:
            found = self.inside(traced, call)
            where = f"rank {self.log.rank}: {call}: {str(found)[:600]}"
            assert len(found) == 1, where
            self.facts(call, found[0]["operations"], where)
            self.compared += 1

    @staticmethod
    def inside(traced, call):
        first = bisect.bisect_left(traced, call.enter, key=lambda one: one["exit"])
        last = bisect.bisect_right(traced, call.exit, key=lambda one: one["exit"])
        return [one for one in traced[first:last] if one["enter"] >= call.enter]

    def same(self, sort, name, thing, where):
        """The log's names and the trace's go together. One name may stand for windows that are made one after the
        other."""
        if name[0] != "window":
            assert self.names.setdefault((sort, name), thing) == thing, f"{where}: {sort} {name}"
        assert self.things.setdefault((sort, thing), name) == name, f"{where}: {sort} {name}"

    def on(self, sort, number, operation, where):
        assert operation["context"] >= 0, where
        self.same("context", (sort, number), self.process.definitions[operation["context"]]["global_id"], where)

    def operation(self, number, operation, where):
        if operation["kind"] in ("probe", "receive_matched"):
            return
        assert (number == 0) == (operation["id"] == 0), where
        if number:
            self.same("operation", (self.log.rank, number), (self.log.rank, operation["id"]), where)

    def peer(self, communicator, world_rank):
        return list(self.log.members(communicator)).index(world_rank)

    def facts(self, call, operations, where):
        left = list(operations)

        def take(wanted):
            for one in left:
                if wanted(one):
                    left.remove(one)
                    return one
            raise AssertionError(f"{where}: not found")

        for name, numbers in call.facts:
            if hasattr(self, "fact_" + name):
                getattr(self, "fact_" + name)(numbers, take, where)
        if call.facts:
            assert not left, f"{where}: more than the log tells: {left}"

    def fact_sends(self, numbers, take, where):
        number, to, tag, communicator, size, mode = numbers
        to = self.peer(communicator, to)
        one = take(lambda o: o["kind"] in SENDS[mode] and o["begins"] and (o["peer"], o["tag"]) == (to, tag))
        assert one["bytes"] == size, where
        self.on("communicator", communicator, one, where)
        if one["completes"]:
            return  # complete at once, whatever the log waits for
        self.operation(number, one, where)

    def fact_receives(self, numbers, take, where):
        number, source, tag, communicator, size = numbers
        source = -2 if source < 0 else self.peer(communicator, source)
        posted = number != 0  # and of what is freed the log may know more
        one = take(
            lambda o: o["kind"] in RECEIVES | {"probe"}  # a matched probe takes the message, to the log
            and (source < 0 and not posted or o["peer"] == source or posted and o["peer"] == -2)
            and (tag < 0 or o["tag"] == tag or posted and o["tag"] == -1)
        )  # fmt: skip
        assert one["completes"] == (number == 0), where
        if number == 0:
            assert one["bytes"] == size, where
        self.on("communicator", communicator, one, where)
        self.operation(number, one, where)

    def fact_probes(self, numbers, take, where):
        source, tag, communicator = numbers
        one = take(lambda o: o["kind"] == "probe" and (tag < 0 or o["tag"] == tag))
        assert source < 0 or one["peer"] == self.peer(communicator, source), where
        self.on("communicator", communicator, one, where)

    def fact_completes(self, numbers, take, where):
        thing = self.names.get(("operation", (self.log.rank, numbers[0])))
        if thing is None:  # was complete at its beginning, or is an MPI_Mrecv
            return
        one = take(lambda o: o["completes"] and not o["begins"] and o["id"] == thing[1])
        if len(numbers) == 3:
            assert (one["peer"], one["tag"]) == numbers[1:], where

    def fact_collective(self, numbers, take, where):
        kind, communicator, root, number = numbers
        kind = truth.COLLECTIVES[kind]
        one = take(lambda o: o["kind"] == COLLECTIVES[kind] and o["begins"])
        if kind in ROOTED:
            assert one["peer"] == self.peer(communicator, root), where
        if kind != "free":
            self.on("communicator", communicator, one, where)
        self.operation(number, one, where)

    def fact_rma(self, numbers, take, where):
        window, target, size = numbers
        target = self.peer(self.log.windows.get(window, 0), target)
        one = take(lambda o: o["kind"] in ("put", "get", "accumulate") and o["peer"] == target)
        assert one["bytes"] == size, where
        self.on("window", window, one, where)

    def synchronization(self, kind, window, take, where):
        one = take(lambda o: o["kind"] == kind)
        self.on("window", window, one, where)
        return one

    def fact_fence(self, numbers, take, where):
        self.synchronization("fence", numbers[0], take, where)

    def fact_complete(self, numbers, take, where):
        self.synchronization("complete", numbers[0], take, where)

    def fact_wait(self, numbers, take, where):
        self.synchronization("wait", numbers[0], take, where)

    def fact_lock(self, numbers, take, where):
        one = self.synchronization("lock", numbers[0], take, where)
        assert ("exclusive" in one["flags"]) == bool(numbers[2]), where

    def fact_unlock(self, numbers, take, where):
        self.synchronization("unlock", numbers[0], take, where)

    def group(self, kind, numbers, take, where):
        """One fact for each member of the group: the operation is there for all of them."""
        if (kind, where) not in self.names:
            self.names[kind, where] = self.synchronization(kind, numbers[0], take, where)
        members = self.process.definitions[self.names[kind, where]["group"]]["members"]
        assert numbers[1] in members, where

    def fact_post(self, numbers, take, where):
        self.group("post", numbers, take, where)

    def fact_start(self, numbers, take, where):
        self.group("start", numbers, take, where)
