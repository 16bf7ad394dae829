"""Waits of one-sided communication: fences, epochs of an active target, locks. The definitions are in truth.py."""

import collections

from truth_waits import Waits

FLUSHES = ("MPI_Win_flush", "MPI_Win_flush_all")


class OneSided(Waits):
    def _fences(self):
        windows = collections.defaultdict(dict)  # (window, instance): {rank: (fence, operations before it)}
        communicator_of = {}
        for log in self.ranks:
            communicator_of.update(log.windows)
            count, operations = collections.Counter(), collections.defaultdict(list)
            for call in log.calls:
                for window, target, _ in call.all("rma"):
                    operations[window].append((target, call))
                for (window,) in call.all("fence"):
                    windows[window, count[window]][log.rank] = (call, operations.pop(window, []))
                    count[window] += 1
        for (window, _), fences in sorted(windows.items()):
            members = set(self.ranks[0].members(communicator_of.get(window, 0)))
            if members != set(fences):
                self.unmatched["fence"] += 1
                continue
            self._fence(fences)

    def _fence(self, fences):
        calls = [call for call, _ in fences.values()]
        latest = max(calls, key=lambda call: call.enter)
        overlap = latest.enter <= min(call.exit for call in calls)
        for rank, (call, _) in fences.items():
            towards = [
                operation
                for other, (_, operations) in fences.items()
                for target, operation in operations
                if target == rank and other != rank
            ]
            if overlap:
                self._add("wait-at-fence", call, latest.enter, latest)
            if towards:
                last = max(towards, key=lambda operation: operation.exit)
                early = self._add("early-fence", call, last.exit, last, "wait-at-fence")
                if early and not overlap:
                    self._add("wait-at-fence", call, last.exit, last)

    def _epochs(self):
        """General active target: matches exposures (post to wait) with accesses (start to complete)."""
        posts, accesses, waits = self._collect_epochs()
        exposures = collections.defaultdict(list)  # the wait: matching accesses
        for key in posts.keys() | accesses.keys():
            for (post, wait), access in zip(posts[key], accesses[key]):
                access["posts"].append((key[1], post))
                if wait is not None:
                    exposures[wait].append((key[1], access))
            surplus = abs(len(posts[key]) - len(accesses[key]))
            if surplus:
                self.unmatched["epoch"] += surplus
        seen = {id(access): access for entries in accesses.values() for access in entries}
        for access in seen.values():
            self._access(access)
        for wait in waits:
            self._exposure(wait, exposures[wait])

    def _collect_epochs(self):
        posts, accesses, waits = collections.defaultdict(list), collections.defaultdict(list), []
        for log in self.ranks:
            exposed, open_access = {}, {}
            for call in log.calls:
                for window, origin in call.all("post"):
                    exposed.setdefault(window, []).append((origin, call))
                for (window,) in call.all("wait"):
                    waits.append(call)
                    for origin, post in exposed.pop(window, []):
                        posts[window, log.rank, origin].append((post, call))
                for window, target in call.all("start"):
                    access = open_access.setdefault(
                        window, {"start": call, "operations": [], "complete": None, "posts": []}
                    )
                    accesses[window, target, log.rank].append(access)
                for window, target, _ in call.all("rma"):
                    if window in open_access:
                        open_access[window]["operations"].append((target, call))
                for (window,) in call.all("complete"):
                    if window in open_access:
                        open_access.pop(window)["complete"] = call
            for window, left in exposed.items():  # posted, never waited for
                for origin, post in left:
                    posts[window, log.rank, origin].append((post, None))
        return posts, accesses, waits

    def _access(self, access):
        if not access["posts"]:
            return
        latest = max((post for _, post in access["posts"]), key=lambda post: post.enter)
        late = self._add("late-post", access["start"], latest.enter, latest)
        if not late and access["complete"] is not None:
            self._add("late-post", access["complete"], latest.enter, latest)
        post_of = dict(access["posts"])
        for target, operation in access["operations"]:
            if target in post_of:
                self._add("early-transfer", operation, post_of[target].enter, post_of[target])

    def _exposure(self, wait, accesses):
        accesses = [(target, access) for target, access in accesses if access["complete"] is not None]
        if not accesses:
            return
        latest = max((access["complete"] for _, access in accesses), key=lambda call: call.enter)
        if not self._add("early-wait", wait, latest.enter, latest):
            return
        arrived = []
        for target, access in accesses:
            own = [call.exit for to, call in access["operations"] if to == target]
            arrived.append(max(own, default=access["start"].exit))
        since = max(max(arrived), wait.enter)
        self._add("late-complete", wait, latest.enter, latest, "early-wait", since)

    def _locks(self):
        held = collections.defaultdict(list)  # (window, target): (exclusive, lock call, unlock call, calls between)
        for log in self.ranks:
            open_locks = {}
            for call in log.calls:
                for lock in open_locks.values():
                    lock[3].append(call)
                for window, target, exclusive in call.all("lock"):
                    open_locks[window, target] = (exclusive, call, None, [call])
                for window, target in call.all("unlock"):
                    exclusive, lock, _, between = open_locks.pop((window, target))
                    held[window, target].append((exclusive, lock, call, between))
        for locks in held.values():
            for lock in locks:
                self._lock(lock, locks)

    def _lock(self, own, locks):
        """Each call from lock to the first that completes something, if a conflicting unlock fell into it, waited for
        the last such unlock."""
        exclusive, locked, released, between = own
        others = [
            unlock
            for other_exclusive, lock, unlock, uses in locks
            if lock.rank != locked.rank and (exclusive or other_exclusive)
            and (unlock.exit <= released.exit or any(use.function in FLUSHES for use in uses))
        ]
        window, target = released.one("unlock")
        for call in between:
            completes = call is released or call.function in FLUSHES
            uses = any((use[0], use[1]) == (window, target) for use in call.all("rma"))
            if not (uses or completes or call is locked):
                continue
            inside = [unlock for unlock in others if call.enter < unlock.enter < call.exit]
            if inside:
                last = max(inside, key=lambda unlock: unlock.enter)
                self._add("lock-wait", call, last.enter, last)
            if completes:
                return
