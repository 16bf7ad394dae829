"""truth.py against logs made by hand, whose waits are known: every pattern of its definitions."""

import unittest

import truth

US = 1000  # ns


class Logs:
    """Hand-made logs. Times are in microseconds."""

    def __init__(self, ranks):
        self.lines = [[] for _ in range(ranks)]

    def call(self, rank, enter, leave, function, *facts, label="here", thread=0):
        self.lines[rank].append(f"call {thread} {enter * US} {leave * US} {function} {label} {' '.join(facts)}")

    def run(self, rank, fact):
        self.lines[rank].append(f"run {fact}")

    def text(self, rank):
        head = f"truth 1 rank {rank} of {len(self.lines)} from 0 to {10**6 * US}"
        return "\n".join([head, *self.lines[rank], "end"]) + "\n"

    def truth(self):
        return truth.Truth([truth.parse(self.text(rank)) for rank in range(len(self.lines))])

    def waits(self):
        """(pattern, rank, microseconds, delayer), parts included."""
        found = self.truth()
        return sorted((w.pattern, w.call.rank, w.nanoseconds // US, w.cause.rank) for w in found.waits)


class PointToPoint(unittest.TestCase):
    def test_late_sender(self):
        logs = Logs(2)
        logs.call(0, 100, 105, "MPI_Send", "sends:0,1,7,0,4,0")
        logs.call(1, 40, 110, "MPI_Recv", "receives:0,0,7,0,4")
        self.assertEqual(logs.waits(), [("late-sender", 1, 60, 0)])

    def test_an_early_sender_makes_nobody_wait(self):
        logs = Logs(2)
        logs.call(0, 10, 15, "MPI_Send", "sends:0,1,7,0,4,0")
        logs.call(1, 40, 110, "MPI_Recv", "receives:0,0,7,0,4")
        self.assertEqual(logs.waits(), [])

    def test_a_wait_must_overlap(self):
        """A send that begins after the receive's end (two clocks, a wrong log) is no wait."""
        logs = Logs(2)
        logs.call(0, 200, 205, "MPI_Send", "sends:0,1,7,0,4,0")
        logs.call(1, 40, 110, "MPI_Recv", "receives:0,0,7,0,4")
        self.assertEqual(logs.waits(), [])

    def test_who_exchanges_messages_that_need_no_receive_waits_for_the_other_ones_send(self):
        for first, expected in ((96, ("late-sender", 0, 86, 1)), (92, ("late-receiver", 0, 88, 1))):
            logs = Logs(2)
            for at, receive in ((0, first), (1000, 1092)):
                logs.call(0, at, at + 1, "MPI_Isend", f"sends:{at + 1},1,7,0,4,2")
                logs.call(0, at + 2, at + 3, "MPI_Irecv", f"receives:{at + 2},1,7,0,4")
                logs.call(0, at + 4, at + 95, "MPI_Waitall", f"completes:{at + 1}", f"completes:{at + 2}")
                logs.call(1, at + 90, at + 91, "MPI_Isend", f"sends:{at + 1},0,7,0,4,0")
                logs.call(1, receive, receive + 1, "MPI_Irecv", f"receives:{at + 2},0,7,0,4")
                logs.call(1, at + 101, at + 110, "MPI_Waitall", f"completes:{at + 1}", f"completes:{at + 2}")
            self.assertEqual([wait for wait in logs.waits() if wait[1] == 0][-1:], [expected])

    def test_late_receiver_only_where_the_send_waits(self):
        for mode, expected in ((0, []), (1, [("late-receiver", 0, 50, 1)]), (2, [("late-receiver", 0, 50, 1)])):
            logs = Logs(2)
            logs.call(0, 10, 80, "MPI_Send", f"sends:0,1,7,0,4,{mode}")
            logs.call(1, 60, 90, "MPI_Recv", "receives:0,0,7,0,4")
            self.assertEqual(logs.waits(), expected)

    def test_messages_are_matched_in_order_by_communicator_and_tag(self):
        logs = Logs(2)
        logs.call(0, 10, 11, "MPI_Send", "sends:0,1,1,0,4,0")
        logs.call(0, 100, 101, "MPI_Send", "sends:0,1,2,0,4,0")
        logs.call(0, 200, 201, "MPI_Send", "sends:0,1,1,0,4,0")
        logs.call(0, 300, 301, "MPI_Send", "sends:0,1,1,5,4,0")
        logs.call(1, 20, 21, "MPI_Recv", "receives:0,0,1,0,4")
        logs.call(1, 30, 310, "MPI_Recv", "receives:0,0,1,5,4")
        logs.call(1, 320, 321, "MPI_Recv", "receives:0,0,2,0,4")
        logs.call(1, 330, 331, "MPI_Recv", "receives:0,0,1,0,4")
        self.assertEqual(
            logs.waits(), [("late-sender", 1, 270, 0), ("late-sender-wrong-order", 1, 270, 0)]
        )

    def test_wrong_order_needs_an_earlier_message_received_later(self):
        logs = Logs(2)
        logs.call(0, 10, 11, "MPI_Send", "sends:0,1,1,0,4,0")
        logs.call(0, 100, 101, "MPI_Send", "sends:0,1,2,0,4,0")
        logs.call(1, 20, 25, "MPI_Recv", "receives:0,0,1,0,4")
        logs.call(1, 30, 110, "MPI_Recv", "receives:0,0,2,0,4")
        self.assertEqual(logs.waits(), [("late-sender", 1, 70, 0)])

    def test_completion_calls_wait_not_posting_calls(self):
        logs = Logs(2)
        logs.call(0, 100, 101, "MPI_Send", "sends:0,1,1,0,4,0")
        logs.call(1, 20, 21, "MPI_Irecv", "receives:1,0,1,0,4")
        logs.call(1, 60, 110, "MPI_Wait", "completes:1")
        self.assertEqual(logs.waits(), [("late-sender", 1, 40, 0)])

    def test_waitall_waits_for_the_last_and_waitsome_for_the_first(self):
        for function, expected in (("MPI_Waitall", 80), ("MPI_Waitsome", 30)):
            logs = Logs(3)
            logs.call(0, 50, 51, "MPI_Send", "sends:0,2,1,0,4,0")
            logs.call(1, 100, 101, "MPI_Send", "sends:0,2,1,0,4,0")
            logs.call(2, 10, 11, "MPI_Irecv", "receives:1,0,1,0,4")
            logs.call(2, 12, 13, "MPI_Irecv", "receives:2,1,1,0,4")
            logs.call(2, 20, 110, function, "completes:1", "completes:2")
            self.assertEqual(logs.waits(), [("late-sender", 2, expected, int(function == "MPI_Waitall"))])

    def test_a_wildcard_receive_takes_its_place_in_posting_order(self):
        logs = Logs(2)
        logs.call(0, 50, 51, "MPI_Send", "sends:0,1,1,0,4,0")
        logs.call(0, 90, 91, "MPI_Send", "sends:0,1,1,0,4,0")
        logs.call(1, 10, 11, "MPI_Irecv", "receives:1,-1,-1,0,4")
        logs.call(1, 20, 95, "MPI_Recv", "receives:0,0,1,0,4")
        logs.call(1, 96, 97, "MPI_Wait", "completes:1,0,1")
        self.assertEqual(logs.waits()[0], ("late-sender", 1, 70, 0))

    def test_a_probe_waits_and_its_receive_does_not(self):
        logs = Logs(2)
        logs.call(0, 50, 51, "MPI_Send", "sends:0,1,1,0,4,0")
        logs.call(1, 10, 60, "MPI_Probe", "probes:0,1,0")
        logs.call(1, 61, 62, "MPI_Recv", "receives:0,0,1,0,4")
        self.assertEqual(logs.waits(), [("late-sender", 1, 40, 0)])

    def test_what_finds_no_partner_is_counted(self):
        logs = Logs(2)
        logs.call(0, 50, 51, "MPI_Send", "sends:0,1,1,0,4,0")
        logs.call(1, 50, 0, "MPI_Recv", "receives:0,0,2,0,4")
        found = logs.truth()
        self.assertEqual(found.waits, [])
        self.assertEqual(found.unmatched, {"send": 1, "receive": 1})


class Collectives(unittest.TestCase):
    def collective(self, kind, enters, exits, root=0):
        logs = Logs(len(enters))
        for rank, (enter, leave) in enumerate(zip(enters, exits)):
            logs.call(rank, enter, leave, "MPI_X", f"collective:{truth.COLLECTIVES.index(kind)},0,{root},0")
        return logs.waits()

    def test_all_wait_for_the_last(self):
        for kind in ("init", "finalize", "create", "free"):
            self.assertEqual(
                self.collective(kind, [10, 50, 30], [60, 60, 60]),
                [(f"wait-at-{kind}", 0, 40, 1), (f"wait-at-{kind}", 2, 20, 1)],
            )

    def test_completion_counts_from_the_first_exit(self):
        self.assertEqual(
            self.collective("barrier", [10, 50, 30], [60, 65, 71]),
            [
                ("barrier-completion", 1, 5, 0),
                ("barrier-completion", 2, 11, 0),
                ("wait-at-barrier", 0, 40, 1),
                ("wait-at-barrier", 2, 20, 1),
            ],
        )

    def test_completion_counts_from_the_last_enter_at_the_earliest(self):
        """Rank 0 left before rank 1 came: it did not wait for rank 1."""
        self.assertEqual(
            self.collective("nxn", [10, 50, 30], [20, 65, 71]),
            [("nxn-completion", 1, 15, 0), ("nxn-completion", 2, 21, 0), ("wait-at-nxn", 2, 20, 1)],
        )

    def test_rooted_ones(self):
        self.assertEqual(
            self.collective("bcast", [50, 10, 70], [80, 80, 80]), [("late-broadcast", 1, 40, 0)]
        )
        self.assertEqual(
            self.collective("reduce", [10, 60, 30], [80, 62, 32]), [("early-reduce", 0, 50, 1)]
        )
        self.assertEqual(
            self.collective("reduce", [10, 60, 30], [12, 62, 80], root=2), [("early-reduce", 2, 30, 1)]
        )

    def test_a_root_is_held_up_by_a_late_receiver(self):
        self.assertEqual(self.collective("bcast", [10, 60, 90], [92, 62, 93]), [("wait-at-root", 0, 76, 2)])

    def test_a_rank_is_held_up_by_a_late_one_between_it_and_the_root(self):
        self.assertEqual(
            self.collective("bcast", [10, 9, 90, 12], [11, 12, 93, 94]),
            [("late-broadcast", 1, 1, 0), ("wait-at-root", 3, 76, 2)],
        )
        self.assertEqual(
            self.collective("reduce", [10, 20, 90, 12], [99, 93, 91, 13]),
            [("early-reduce", 0, 80, 2), ("wait-at-root", 1, 68, 2)],
        )

    def test_who_stays_for_as_long_as_the_bytes_take_is_not_held_up(self):
        self.assertEqual(self.collective("bcast", [10, 20, 60], [90, 110, 120]), [])

    def test_who_stays_for_long_after_the_last_enter_was_held_by_something_else(self):
        self.assertEqual(self.collective("bcast", [10, 19, 20], [90, 21, 22]), [])

    def test_a_scan_needs_the_lower_ranks_only(self):
        self.assertEqual(
            self.collective("scan", [50, 10, 20, 90], [52, 52, 52, 92]),
            [("early-scan", 1, 40, 0), ("early-scan", 2, 30, 0)],
        )
        self.assertEqual(
            self.collective("scan", [50, 10, 20, 90], [52, 52, 92, 92]),
            [("early-scan", 1, 40, 0), ("wait-at-root", 2, 66, 3)],
        )

    def test_communicators_are_matched_by_themselves(self):
        logs = Logs(4)
        for rank in range(4):
            members = (0, 2) if rank % 2 == 0 else (1, 3)
            for member in members:
                logs.run(rank, f"communicator:{1 + rank % 2},{member}")
            logs.call(rank, 10 + 10 * rank, 100, "MPI_Barrier", f"collective:2,{1 + rank % 2},0,0")
        self.assertEqual(logs.waits(), [("wait-at-barrier", 0, 20, 2), ("wait-at-barrier", 1, 20, 3)])

    def test_a_nonblocking_one_waits_at_its_completion(self):
        logs = Logs(2)
        for rank, (start, wait) in enumerate(((10, 20), (60, 70))):
            logs.call(rank, start, start + 1, "MPI_Ibarrier", "collective:2,0,0,1")
            logs.call(rank, wait, 80, "MPI_Wait", "completes:1")
        self.assertEqual(logs.waits(), [("wait-at-barrier", 0, 40, 1)])

    def test_a_nonblocking_one_waits_until_the_last_is_back_in_mpi(self):
        logs = Logs(3)
        for rank, (wait, end) in enumerate(((200, 765), (300, 762), (750, 760))):
            logs.call(rank, 100, 101, "MPI_Iallreduce", "collective:3,0,0,1")
            logs.call(rank, wait, end, "MPI_Wait", "completes:1")
        self.assertEqual(logs.waits(), [("wait-at-nxn", 0, 530, 2), ("wait-at-nxn", 1, 430, 2)])

    def test_a_missing_participant_is_counted(self):
        logs = Logs(3)
        for rank in (0, 1):
            logs.call(rank, 10 * rank, 50, "MPI_Barrier", "collective:2,0,0,0")
        found = logs.truth()
        self.assertEqual((found.waits, found.unmatched), ([], {"collective": 1}))


class OneSided(unittest.TestCase):
    def epoch(self, post, start, put, complete, wait):
        """Rank 0 accesses rank 1; each argument is (enter, exit)."""
        logs = Logs(2)
        logs.call(0, *start, "MPI_Win_start", "start:1,1")
        logs.call(0, *put, "MPI_Put", "rma:1,1,4")
        logs.call(0, *complete, "MPI_Win_complete", "complete:1")
        logs.call(1, *post, "MPI_Win_post", "post:1,0")
        logs.call(1, *wait, "MPI_Win_wait", "wait:1")
        return logs.waits()

    def test_late_post_where_start_blocks(self):
        self.assertEqual(
            self.epoch((50, 51), (10, 60), (61, 62), (63, 64), (52, 70)),
            [("early-wait", 1, 11, 0), ("late-complete", 1, 1, 0), ("late-post", 0, 40, 1)],
        )

    def test_late_post_where_complete_blocks(self):
        self.assertEqual(
            self.epoch((50, 51), (10, 11), (12, 13), (14, 60), (52, 70)), [("late-post", 0, 36, 1)]
        )

    def test_early_transfer(self):
        self.assertEqual(
            self.epoch((50, 51), (10, 11), (12, 60), (61, 62), (70, 71)), [("early-transfer", 0, 38, 1)]
        )

    def test_early_wait_with_and_without_a_late_completion(self):
        self.assertEqual(
            self.epoch((5, 6), (10, 11), (49, 50), (50, 60), (7, 70)), [("early-wait", 1, 43, 0)]
        )
        self.assertEqual(
            self.epoch((5, 6), (10, 11), (12, 13), (50, 60), (20, 70)),
            [("early-wait", 1, 30, 0), ("late-complete", 1, 30, 0)],
        )

    def test_the_last_of_many_origins_decides(self):
        logs = Logs(3)
        logs.call(0, 5, 6, "MPI_Win_post", "post:1,1", "post:1,2")
        logs.call(0, 10, 90, "MPI_Win_wait", "wait:1")
        for rank, complete in ((1, 40), (2, 70)):
            logs.call(rank, 7, 8, "MPI_Win_start", "start:1,0")
            logs.call(rank, complete, 80, "MPI_Win_complete", "complete:1")
        self.assertEqual(logs.waits(), [("early-wait", 0, 60, 2), ("late-complete", 0, 60, 2)])

    def fences(self, puts, enters, exits):
        logs = Logs(len(enters))
        for rank, (enter, leave) in enumerate(zip(enters, exits)):
            for begin, end, target in puts.get(rank, ()):
                logs.call(rank, begin, end, "MPI_Put", f"rma:1,{target},4")
            logs.call(rank, enter, leave, "MPI_Win_fence", "fence:1")
        return logs.waits()

    def test_wait_at_fence(self):
        self.assertEqual(self.fences({}, [10, 40], [50, 50]), [("wait-at-fence", 0, 30, 1)])

    def test_a_fence_that_did_not_synchronize(self):
        self.assertEqual(self.fences({}, [10, 40], [20, 50]), [])

    def test_early_fence_is_part_of_wait_at_fence(self):
        self.assertEqual(
            self.fences({1: [(28, 30, 0)]}, [10, 40], [50, 50]),
            [("early-fence", 0, 20, 1), ("wait-at-fence", 0, 30, 1)],
        )

    def test_early_fence_without_overlap_counts_in_both(self):
        self.assertEqual(
            self.fences({1: [(20, 30, 0)]}, [10, 40], [35, 50]),
            [("early-fence", 0, 20, 1), ("wait-at-fence", 0, 20, 1)],
        )

    def test_lock_wait(self):
        logs = Logs(3)
        for rank, (lock, held, unlock, exclusive) in enumerate(((5, 6, 50, 1), (10, 55, 60, 0), (12, 53, 65, 0))):
            logs.call(rank, lock, held, "MPI_Win_lock", f"lock:1,2,{exclusive}")
            logs.call(rank, unlock, unlock + 2, "MPI_Win_unlock", "unlock:1,2")
        self.assertEqual(logs.waits(), [("lock-wait", 1, 40, 0), ("lock-wait", 2, 38, 0)])

    def test_lock_wait_of_a_lazy_lock_lies_in_the_flush(self):
        logs = Logs(2)
        logs.call(0, 5, 6, "MPI_Win_lock", "lock:1,1,1")
        logs.call(0, 50, 52, "MPI_Win_unlock", "unlock:1,1")
        logs.call(1, 10, 11, "MPI_Win_lock", "lock:1,1,1")
        logs.call(1, 20, 55, "MPI_Win_flush")
        logs.call(1, 60, 61, "MPI_Win_unlock", "unlock:1,1")
        self.assertEqual(logs.waits(), [("lock-wait", 1, 30, 0)])

    def test_after_a_flush_the_lock_is_held_and_not_waited_for(self):
        logs = Logs(2)
        logs.call(0, 5, 6, "MPI_Win_lock", "lock:1,1,1")
        logs.call(0, 7, 8, "MPI_Win_flush")
        logs.call(0, 50, 80, "MPI_Win_unlock", "unlock:1,1")
        logs.call(1, 10, 51, "MPI_Win_lock", "lock:1,1,1")
        logs.call(1, 60, 61, "MPI_Win_unlock", "unlock:1,1")
        self.assertEqual(logs.waits(), [("lock-wait", 1, 40, 0)])


class Threads(unittest.TestCase):
    def test_a_thread_waits_for_the_last_to_enable(self):
        logs = Logs(1)
        for thread, enter in enumerate((10, 30, 50)):
            logs.call(0, enter, 60, "barrier", "awaits:0,9", "enables:9", thread=thread)
        self.assertEqual(logs.waits(), [("omp-barrier", 0, 20, 0), ("omp-barrier", 0, 40, 0)])


class Preemption(unittest.TestCase):
    def test_it_is_no_fact_of_the_call(self):
        logs = Logs(1)
        logs.call(0, 10, 20, "barrier", "preempted:2", "work:1")
        logs.call(0, 30, 40, "barrier")
        calls = logs.truth().ranks[0].calls
        self.assertEqual([(call.preempted, call.facts) for call in calls], [(True, [("work", (1,))]), (False, [])])


class Sums(unittest.TestCase):
    def test_sums_leave_out_parts(self):
        logs = Logs(2)
        logs.call(0, 10, 11, "MPI_Put", "rma:1,1,4")
        logs.call(0, 20, 50, "MPI_Win_fence", "fence:1")
        logs.call(1, 5, 50, "MPI_Win_fence", "fence:1")
        found = logs.truth()
        self.assertAlmostEqual(found.sum(), 15e-6)
        self.assertAlmostEqual(found.sum(pattern="early-fence"), 6e-6)
        self.assertAlmostEqual(found.sum(rank=1, function="MPI_Win_fence", cause_rank=0), 15e-6)
        self.assertEqual(found.sum(label="elsewhere"), 0)

    def test_work_does_not_count_as_inside(self):
        logs = Logs(1)
        logs.call(0, 10, 50, "MPI_Reduce")
        logs.call(0, 20, 40, "operator", "work:1")
        found = logs.truth()
        self.assertAlmostEqual(found.inside({"MPI_Reduce"}), 20e-6)
        self.assertAlmostEqual(found.inside({"MPI_Reduce"}, work=True), 20e-6)

    def test_a_log_cut_short_is_refused(self):
        text = Logs(1).text(0)
        for damaged in ("", text[: -len("end\n")], text.replace("truth 1", "truth 2")):
            with self.assertRaises(truth.LogError):
                truth.parse(damaged)


if __name__ == "__main__":
    unittest.main()
