"""Rank 1 comes late to each message; rank 0 waits for it. Prints how long rank 0 waited."""

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


main()
