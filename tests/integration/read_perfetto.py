"""Reads a file in Perfetto's format with a reader that protoc generates, checks that it keeps the format's rules, and prints what
it holds as JSON. Usage: read_perfetto.py FILE PROTO SCRATCH (with a Python that has protobuf: Debian's, and python3-protobuf)."""

import collections
import json
import pathlib
import subprocess
import sys


def generated(proto, scratch):
    subprocess.run(["protoc", f"--python_out={scratch}", f"-I{proto.parent}", proto], check=True)
    sys.path.insert(0, str(scratch))
    import perfetto_pb2

    return perfetto_pb2


class Sequence:
    """Names that packets of one sequence refer to."""

    def __init__(self):
        self.categories, self.names, self.annotations, self.places = {}, {}, {}, {}
        self.track = self.last = 0


class Reading:
    def __init__(self, pb):
        self.pb = pb
        self.sequences, self.tracks, self.processes = {}, {}, {}
        self.stacks = collections.defaultdict(list)
        self.calls = collections.defaultdict(lambda: [0, 0])
        self.waits = collections.defaultdict(lambda: [0, 0])
        self.thread_waits = collections.defaultdict(lambda: [0, 0])
        self.code = collections.defaultdict(lambda: [0, 0])
        self.begun, self.ended = {}, {}
        self.problems, self.clocks, self.packets = [], {}, 0

    def problem(self, text):
        if len(self.problems) < 20:
            self.problems.append(text)

    def take(self, packet):
        self.packets += 1
        known = packet.trusted_packet_sequence_id in self.sequences
        if not packet.trusted_packet_sequence_id or (not known and not packet.sequence_flags & 1):
            self.problem("a sequence does not begin with a cleared state")
        sequence = self.sequences.setdefault(packet.trusted_packet_sequence_id, Sequence())
        self.intern(sequence, packet.interned_data)
        if packet.HasField("trace_packet_defaults"):
            sequence.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        for clock in packet.clock_snapshot.clocks:
            self.clocks[clock.clock_id] = clock.timestamp
        if packet.HasField("track_descriptor"):
            self.describe(packet.track_descriptor)
        if packet.HasField("track_event"):
            if packet.timestamp < sequence.last:
                self.problem(f"track {sequence.track} goes back in time")
            sequence.last = packet.timestamp
            self.event(sequence, packet)

    def intern(self, sequence, data):
        for table, entries in ((sequence.categories, data.event_categories), (sequence.names, data.event_names),
                               (sequence.annotations, data.debug_annotation_names), (sequence.places, data.source_locations)):
            for entry in entries:
                if entry.iid == 0 or entry.iid in table:
                    self.problem(f"interned twice: {entry.iid}")
                table[entry.iid] = entry

    def describe(self, track):
        if track.uuid in self.tracks:
            self.problem(f"track {track.uuid} is described twice")
        self.tracks[track.uuid] = track
        if track.HasField("process"):
            self.processes[track.process.pid] = track.process.process_name

    def event(self, sequence, packet):
        event, pb = packet.track_event, self.pb.TrackEvent
        uuid = event.track_uuid or sequence.track
        if uuid not in self.tracks:
            self.problem(f"an event on a track that is not described: {uuid}")
            return
        track = self.tracks[uuid]
        below = track.HasField("name")  # a track of waits for other threads
        if below:
            track = self.tracks[track.parent_uuid]
        where = (self.processes[track.thread.pid].split(" (")[0], track.thread.thread_name)
        stack = self.stacks[uuid]
        if event.type == pb.TYPE_SLICE_END:
            if not stack:
                self.problem("a slice ends that did not begin")
                return
            category, name, began, continued = stack.pop()
            waits = self.thread_waits if below else self.waits
            entry = {"mpi": self.calls, "wait": waits, "code": self.code}[category][(*where, name)]
            entry[0] += 0 if continued else 1
            entry[1] += packet.timestamp - began
            return
        category = event.categories[0] if below else sequence.categories[event.category_iids[0]].name
        name = event.name if below else sequence.names[event.name_iid].name
        if event.source_location_iid and event.source_location_iid not in sequence.places:
            self.problem("a place that is not known")
        notes = {sequence.annotations[note.name_iid].name for note in event.debug_annotations}
        for flow in event.flow_ids:
            if flow in self.begun:
                self.problem(f"arrow {flow} begins twice")
            self.begun[flow] = (packet.timestamp, category, name)
        for flow in event.terminating_flow_ids:
            if flow in self.ended:
                self.problem(f"arrow {flow} ends twice")
            self.ended[flow] = (packet.timestamp, category, name)
        if event.type == pb.TYPE_SLICE_BEGIN:
            stack.append((category, name, packet.timestamp, "continued" in notes))
        elif event.type != pb.TYPE_INSTANT:
            self.problem(f"an event of type {event.type}")

    def summary(self):
        for uuid, stack in self.stacks.items():
            if stack:
                self.problem(f"slices of track {uuid} do not end: {stack}")
        if set(self.begun) != set(self.ended):
            self.problem(f"arrows without an end or a beginning: {len(set(self.begun) ^ set(self.ended))}")
        for flow in set(self.begun) & set(self.ended):
            if self.begun[flow][0] >= self.ended[flow][0]:
                self.problem(f"arrow {flow} ends before it begins")
        def sums(table):
            return [[*key, count, ns] for key, (count, ns) in sorted(table.items())]
        threads = [track.thread for track in self.tracks.values() if track.HasField("thread")]
        if len({thread.tid for thread in threads}) != len(threads):
            self.problem("threads have one number")
        return {"problems": self.problems, "processes": sorted(self.processes.values()), "arrows": len(self.begun),
                "threads": len(threads), "packets": self.packets, "clocks": self.clocks,
                "calls": sums(self.calls), "waits": sums(self.waits), "thread_waits": sums(self.thread_waits),
                "code": sums(self.code)}


def packets(data):
    """The parts of field 1 of the file's message, one by one."""
    at = 0
    while at < len(data):
        assert data[at] == 0x0A
        at += 1
        length = shift = 0
        while True:
            byte = data[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        yield data[at:at + length]
        at += length


def main():
    pb = generated(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    reading = Reading(pb)
    for part in packets(pathlib.Path(sys.argv[1]).read_bytes()):
        reading.take(pb.TracePacket.FromString(part))
    print(json.dumps(reading.summary()))


main()
