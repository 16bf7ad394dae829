"""Rank 1 comes late to each message; rank 0 waits for it. Prints how long rank 0 waited. With "operator": a reduction by a
Python function; prints how long that computed on all ranks. With "crossed": each waits for a message that the other never sends."""

import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD


def late_part():
    end = time.perf_counter() + 0.05
    while time.perf_counter() < end:
        pass


def send_halo(step):
    late_part()
    comm.send(step, dest=0)


def receive_halo():
    begin = time.perf_counter()
    comm.recv(source=1)
    return time.perf_counter() - begin


computed = 0.0


def add_slowly(one, other, datatype):
    global computed
    begin = time.perf_counter()
    while time.perf_counter() < begin + 0.02:
        pass
    other[0] = (one[0] + other[0]) % 256
    computed += time.perf_counter() - begin


def reduce_often():
    operator = MPI.Op.Create(add_slowly, commute=True)
    for _ in range(20):
        comm.Allreduce([bytes([1]), MPI.BYTE], [bytearray(1), MPI.BYTE], op=operator)
    total = comm.reduce(computed)
    if comm.rank == 0:
        print(f"{total:.6f}")


def wait_for_the_other():
    comm.recv(source=1 - comm.rank, tag=7)


def main():
    waited = 0
    for step in range(20):
        if comm.rank == 1:
            send_halo(step)
        else:
            waited += receive_halo()
        comm.Barrier()
    if comm.rank == 0:
        print(f"{waited:.6f}")


{"operator": reduce_often, "crossed": wait_for_the_other}.get(" ".join(sys.argv[1:]), main)()
