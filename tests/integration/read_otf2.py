"""Reads an OTF2 archive with the library's own Python bindings, checks that it keeps the format's rules, and prints what it
holds as JSON. Usage: read_otf2.py DIRECTORY (with a Python that has the module otf2: Debian's, and python3-otf2)."""

import collections
import json
import sys

import otf2
from otf2 import events as E


def sums(table):
    return [[*key, count, ns] for key, (count, ns) in sorted(table.items())]


class Reading:
    def __init__(self, trace):
        self.trace = trace
        self.stacks = collections.defaultdict(list)
        self.last = {}
        self.calls = collections.defaultdict(lambda: [0, 0])
        self.waits = collections.defaultdict(lambda: [0, 0])
        self.code = collections.defaultdict(lambda: [0, 0])
        self.sent = collections.defaultdict(list)
        self.received = collections.defaultdict(list)
        self.requests = collections.defaultdict(dict)
        self.collectives = collections.Counter()
        self.one_sided = collections.Counter()
        self.sites = set()
        self.kinds = collections.Counter()
        self.problems = []
        self.waiting = set()
        for group in trace.definitions.groups:
            if group.group_type == otf2.GroupType.REGIONS:
                self.waiting.update(group.members)

    def problem(self, text):
        if len(self.problems) < 20:
            self.problems.append(text)

    def rank_of(self, location):
        return int(location.group.name.split()[1]) if location.group.name.startswith("rank ") else -1

    def world(self, comm, rank):
        """A member's rank in MPI_COMM_WORLD."""
        return self.rank_of(comm.group.members[rank])

    def take(self, location, event):
        name = type(event).__name__
        self.kinds[name] += 1
        if event.time < self.last.get(location, 0):
            self.problem(f"{location.name}: {name} goes back in time")
        self.last[location] = event.time
        getattr(self, "on_" + name, self.ignore)(location, event)

    def ignore(self, location, event):
        pass

    def on_Enter(self, location, event):
        continued = any(a.name == "continued" for a in (event.attributes or {}))
        for attribute, value in (event.attributes or {}).items():
            if attribute.name == "call site":
                self.sites.add((value.file, value.line_number))
        self.stacks[location].append((event.region, event.time, continued))

    def on_Leave(self, location, event):
        if not self.stacks[location] or self.stacks[location][-1][0] != event.region:
            self.problem(f"{location.name}: leaves {event.region.name}, is in {[e[0].name for e in self.stacks[location]]}")
            return
        region, entered, continued = self.stacks[location].pop()
        table = self.waits if region in self.waiting else self.calls if region.paradigm == otf2.Paradigm.MPI else self.code
        entry = table[location.name, region.name]
        entry[0] += 0 if continued else 1
        entry[1] += event.time - entered

    def on_MpiSend(self, location, event):
        own = self.rank_of(location)
        self.sent[event.communicator.name, own, self.world(event.communicator, event.receiver), event.msg_tag].append(event.msg_length)

    def on_MpiIsend(self, location, event):
        self.on_MpiSend(location, event)
        self.begin(location, event, "send")

    def on_MpiIsendComplete(self, location, event):
        self.complete(location, event, "send")

    def on_MpiIrecvRequest(self, location, event):
        self.begin(location, event, "receive")

    def on_MpiIrecv(self, location, event):
        self.on_MpiRecv(location, event)
        self.complete(location, event, "receive")

    def on_MpiRecv(self, location, event):
        own = self.rank_of(location)
        self.received[event.communicator.name, self.world(event.communicator, event.sender), own, event.msg_tag].append(event.msg_length)

    def on_MpiRequestCancelled(self, location, event):
        self.requests[location.group].pop(event.request_id, None)

    def on_NonBlockingCollectiveRequest(self, location, event):
        self.begin(location, event, "collective")

    def on_NonBlockingCollectiveComplete(self, location, event):
        self.complete(location, event, "collective")
        self.collectives[str(event.collective_op)] += 1

    def begin(self, location, event, kind):
        if event.request_id in self.requests[location.group]:
            self.problem(f"{location.name}: request {event.request_id} begins twice")
        self.requests[location.group][event.request_id] = kind

    def complete(self, location, event, kind):
        if self.requests[location.group].pop(event.request_id, None) != kind:
            self.problem(f"{location.name}: {kind} request {event.request_id} was not begun")

    def on_MpiCollectiveEnd(self, location, event):
        self.collectives[str(event.collective_op)] += 1

    def on_RmaPut(self, location, event):
        self.one_sided[self.rank_of(location), "put"] += event.bytes

    def on_RmaGet(self, location, event):
        self.one_sided[self.rank_of(location), "get"] += event.bytes

    def on_RmaAtomic(self, location, event):
        self.one_sided[self.rank_of(location), "atomic"] += event.bytes_sent

    def summary(self):
        definitions = self.trace.definitions
        groups = [group.name for group in definitions.location_groups]
        if len(set(groups)) != len(groups):
            self.problem(f"processes have one name: {groups}")
        for location, stack in self.stacks.items():
            if stack:
                self.problem(f"{location.name}: never leaves {[e[0].name for e in stack]}")
        clock = definitions.clock_properties
        for location, time in self.last.items():
            if not clock.global_offset <= time <= clock.global_offset + clock.trace_length:
                self.problem(f"{location.name}: ends outside of the trace")
        return {
            "problems": self.problems,
            "locations": [[l.name, l.group.name, l.number_of_events, str(l.group.location_group_type)] for l in definitions.locations],
            "clock": [clock.timer_resolution, clock.global_offset, clock.trace_length],
            "realtime": [clock.global_offset, clock.realtime_timestamp],
            "calls": sums(self.calls), "waits": sums(self.waits), "code": sums(self.code),
            "sent": [[*key, lengths] for key, lengths in sorted(self.sent.items())],
            "received": [[*key, lengths] for key, lengths in sorted(self.received.items())],
            "collectives": dict(self.collectives), "kinds": dict(self.kinds),
            "one_sided": [[*key, n] for key, n in sorted(self.one_sided.items())],
            "comms": [[c.name, len(c.group.members)] for c in definitions.comms if hasattr(c, "group")],
            "windows": [w.name for w in definitions.rma_wins],
            "sites": sorted(self.sites),
            "regions": sorted({r.name for r in definitions.regions}),
        }


def main():
    with otf2.reader.open(sys.argv[1] + "/traces.otf2") as trace:
        reading = Reading(trace)
        for location, event in trace.events:
            reading.take(location, event)
        print(json.dumps(reading.summary()))


main()
