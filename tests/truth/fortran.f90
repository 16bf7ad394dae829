! Truth, in Fortran: the waits of point-to-point, collective and one-sided calls, through mpi_f08 (where USE_F08 is
! defined), the mpi module (USE_MPI) or mpif.h. Ranks pair up (0,1), (2,3), ...; of a pair the lower rank plays the
! sender and the origin. Usage: fortran LOGDIR [repetitions] [delay in ms]
#ifdef USE_F08
#define MPI_USE use mpi_f08
#define MPI_INCLUDE
#define REQUEST type(MPI_Request)
#define WINDOW type(MPI_Win)
#define GROUP type(MPI_Group)
#else
#define REQUEST integer
#define WINDOW integer
#define GROUP integer
#ifdef USE_MPI
#define MPI_USE use mpi
#define MPI_INCLUDE
#else
#define MPI_USE
#define MPI_INCLUDE include 'mpif.h'
#endif
#endif

module scenarios
  use truth_log
  use, intrinsic :: iso_c_binding, only: c_double
  MPI_USE
  implicit none
  MPI_INCLUDE
  integer :: rank, ranks, error, operation = 0, turn = 0
  real(c_double) :: delay = 20
  integer, parameter :: world = 0, the_window = 1, word_bytes = 4
  integer, parameter :: bulk = 65536 ! words of a transfer that no library sends ahead
  integer, asynchronous :: memory(64 + bulk), words(bulk)
  WINDOW :: win
  GROUP :: pair ! the partner alone

contains

  subroutine align()
    call truth_enter("MPI_Barrier", "align")
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call truth_exit()
    call truth_collective(truth_barrier, world, 0, 0)
  end subroutine

  logical function sender()
    sender = mod(rank, 2) == 0
  end function

  integer function partner()
    partner = ieor(rank, 1)
  end function

  subroutine send_late(tag)
    integer, intent(in) :: tag
    call truth_sleep(delay)
    call truth_enter("MPI_Send", "send_late")
    call MPI_Send(rank, 1, MPI_INTEGER, partner(), tag, MPI_COMM_WORLD, error)
    call truth_exit()
    call truth_sends(0, partner(), tag, world, word_bytes, truth_eager)
  end subroutine

  subroutine receive(tag)
    integer, intent(in) :: tag
    integer :: word
    call truth_enter("MPI_Recv", "receive")
    call MPI_Recv(word, 1, MPI_INTEGER, partner(), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call truth_exit()
    call truth_receives(0, partner(), tag, world, word_bytes)
  end subroutine

  subroutine late_sender()
    if (partner() >= ranks) return
    if (sender()) then
      call send_late(1)
    else
      call receive(1)
    end if
  end subroutine

  subroutine late_receiver()
    if (partner() >= ranks) return
    if (sender()) then
      call truth_enter("MPI_Ssend", "late_receiver")
      call MPI_Ssend(rank, 1, MPI_INTEGER, partner(), 2, MPI_COMM_WORLD, error)
      call truth_exit()
      call truth_sends(0, partner(), 2, world, word_bytes, truth_synchronous)
    else
      call truth_sleep(delay)
      call receive(2)
    end if
  end subroutine

  subroutine wait_for_receive()
    integer, asynchronous :: word
    REQUEST :: request
    if (partner() >= ranks) return
    operation = operation + 1
    if (sender()) then
      call send_late(3)
    else
      call truth_enter("MPI_Irecv", "wait_for_receive")
      call MPI_Irecv(word, 1, MPI_INTEGER, partner(), 3, MPI_COMM_WORLD, request, error)
      call truth_exit()
      call truth_receives(operation, partner(), 3, world, word_bytes)
      call truth_enter("MPI_Wait", "wait_for_receive")
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call truth_exit()
      call truth_completes(operation)
    end if
  end subroutine

  subroutine probe()
    if (partner() >= ranks) return
    if (sender()) then
      call send_late(4)
    else
      call truth_enter("MPI_Probe", "probe")
      call MPI_Probe(partner(), 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call truth_exit()
      call truth_probes(partner(), 4, world)
      call receive(4)
    end if
  end subroutine

  subroutine barrier()
    turn = turn + 1
    if (rank == mod(turn, ranks)) call truth_sleep(delay)
    call truth_enter("MPI_Barrier", "barrier")
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call truth_exit()
    call truth_collective(truth_barrier, world, 0, 0)
  end subroutine

  subroutine early_scan()
    integer :: total
    if (rank == 0) call truth_sleep(delay)
    call truth_enter("MPI_Scan", "early_scan")
    call MPI_Scan(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call truth_exit()
    call truth_collective(truth_scan, world, 0, 0)
  end subroutine

  subroutine allreduce()
    integer :: total
    turn = turn + 1
    if (rank == mod(turn, ranks)) call truth_sleep(delay)
    call truth_enter("MPI_Allreduce", "allreduce")
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call truth_exit()
    call truth_collective(truth_nxn, world, 0, 0)
  end subroutine

  subroutine late_broadcast()
    integer :: word, root
    turn = turn + 1
    root = mod(turn, ranks)
    word = rank
    if (rank == root) call truth_sleep(delay)
    call truth_enter("MPI_Bcast", "late_broadcast")
    call MPI_Bcast(word, 1, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call truth_exit()
    call truth_collective(truth_bcast, world, root, 0)
  end subroutine

  subroutine early_reduce()
    integer :: total, root
    turn = turn + 1
    root = mod(turn, ranks)
    if (rank /= root) call truth_sleep(delay)
    call truth_enter("MPI_Reduce", "early_reduce")
    call MPI_Reduce(rank, total, 1, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, error)
    call truth_exit()
    call truth_collective(truth_reduce, world, root, 0)
  end subroutine

  subroutine fence(assertion)
    integer, intent(in) :: assertion
    call truth_enter("MPI_Win_fence", "fence")
    call MPI_Win_fence(assertion, win, error)
    call truth_exit()
    call truth_fence(the_window)
  end subroutine

  ! One rank puts late, and comes even later to the closing fence.
  subroutine wait_at_fence()
    integer, asynchronous, save :: word(1)
    integer :: next
    word = rank
    next = mod(rank + 1, ranks)
    turn = turn + 1
    call fence(0)
    if (rank == mod(turn, ranks)) then
      call truth_sleep(delay)
      call truth_enter("MPI_Put", "wait_at_fence")
      call MPI_Put(word, 1, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, error)
      call truth_exit()
      call truth_rma(the_window, next, word_bytes)
      call truth_sleep(delay / 2)
    end if
    call fence(MPI_MODE_NOSUCCEED) ! epochs of other kinds follow
  end subroutine

  subroutine post()
    call truth_enter("MPI_Win_post", "post")
    call MPI_Win_post(pair, 0, win, error)
    call truth_exit()
    call truth_post(the_window, partner())
  end subroutine

  subroutine start()
    call truth_enter("MPI_Win_start", "start")
    call MPI_Win_start(pair, 0, win, error)
    call truth_exit()
    call truth_start(the_window, partner())
  end subroutine

  subroutine put()
    call truth_enter("MPI_Put", "put")
    call MPI_Put(words, 1, MPI_INTEGER, partner(), int(rank, MPI_ADDRESS_KIND), 1, MPI_INTEGER, win, error)
    call truth_exit()
    call truth_rma(the_window, partner(), word_bytes)
  end subroutine

  subroutine put_bulk()
    call truth_enter("MPI_Put", "put_bulk")
    call MPI_Put(words, bulk, MPI_INTEGER, partner(), 64_MPI_ADDRESS_KIND, bulk, MPI_INTEGER, win, error)
    call truth_exit()
    call truth_rma(the_window, partner(), bulk * word_bytes)
  end subroutine

  subroutine complete()
    call truth_enter("MPI_Win_complete", "complete")
    call MPI_Win_complete(win, error)
    call truth_exit()
    call truth_complete(the_window)
  end subroutine

  subroutine wait_for_origin()
    call truth_enter("MPI_Win_wait", "wait_for_origin")
    call MPI_Win_wait(win, error)
    call truth_exit()
    call truth_wait(the_window)
  end subroutine

  ! The target opens late: its origin waits in start, complete or, where neither blocks, in its operation.
  subroutine late_post()
    if (partner() >= ranks) return
    if (sender()) then
      call start()
      call put()
      call complete()
    else
      call post_late()
    end if
  end subroutine

  ! The same with an operation that a library may be unable to put off.
  subroutine early_transfer()
    if (partner() >= ranks) return
    if (sender()) then
      call start()
      call put_bulk()
      call complete()
    else
      call post_late()
    end if
  end subroutine

  subroutine post_late()
    call truth_sleep(delay)
    call post()
    call wait_for_origin()
  end subroutine

  ! The origin's operation is late, so that its target waits, and then it completes even later.
  subroutine late_complete()
    if (partner() >= ranks) return
    if (sender()) then
      call start()
      call truth_sleep(delay / 2)
      call put()
      call truth_sleep(delay)
      call complete()
    else
      call post()
      call wait_for_origin()
    end if
  end subroutine

  ! Rank 0 holds the lock on the last rank's memory for a while. However lazily the library acquires it: after the
  ! flush it is held, and the others come only then, each waiting for those before it.
  subroutine lock_wait()
    if (rank == 0) then
      call add_locked()
      call align()
      call truth_sleep(delay)
      call unlock()
    else
      call align()
      call add_locked()
      call unlock()
    end if
  end subroutine

  subroutine add_locked()
    integer, asynchronous, save :: one = 1
    call truth_enter("MPI_Win_lock", "add_locked")
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, ranks - 1, 0, win, error)
    call truth_exit()
    call truth_lock(the_window, ranks - 1, 1)
    call truth_enter("MPI_Accumulate", "add_locked")
    call MPI_Accumulate(one, 1, MPI_INTEGER, ranks - 1, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, win, error)
    call truth_exit()
    call truth_rma(the_window, ranks - 1, word_bytes)
    call truth_enter("MPI_Win_flush", "add_locked")
    call MPI_Win_flush(ranks - 1, win, error)
    call truth_exit()
  end subroutine

  subroutine unlock()
    call truth_enter("MPI_Win_unlock", "unlock")
    call MPI_Win_unlock(ranks - 1, win, error)
    call truth_exit()
    call truth_unlock(the_window, ranks - 1)
  end subroutine

  subroutine make_pair()
    GROUP :: everyone
    call MPI_Comm_group(MPI_COMM_WORLD, everyone, error)
    if (partner() < ranks) call MPI_Group_incl(everyone, 1, [partner()], pair, error)
    call MPI_Group_free(everyone, error)
  end subroutine
end module scenarios

program fortran
  use scenarios
  implicit none
  character(len=1024) :: argument
  integer :: repetitions = 3, i
  call get_command_argument(1, argument)
  call truth_open(argument)
  call get_command_argument(2, argument)
  if (argument /= "") read (argument, *) repetitions
  call get_command_argument(3, argument)
  if (argument /= "") read (argument, *) delay

  call truth_enter("MPI_Init", "fortran")
  call MPI_Init(error)
  call truth_exit()
  call truth_collective(truth_init, world, 0, 0)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call truth_rank(rank, ranks)
  call truth_enter("MPI_Win_create", "fortran")
  call MPI_Win_create(memory, int(word_bytes * size(memory), MPI_ADDRESS_KIND), word_bytes, MPI_INFO_NULL, &
                      MPI_COMM_WORLD, win, error)
  call truth_exit()
  call truth_collective(truth_create, world, 0, 0)
  call truth_window(the_window, world)
  call make_pair()
  do i = 1, repetitions
    call align()
    call late_sender()
    call align()
    call late_receiver()
    call align()
    call wait_for_receive()
    call align()
    call probe()
    call align()
    call barrier()
    call align()
    call early_scan()
    call align()
    call allreduce()
    call align()
    call late_broadcast()
    call align()
    call early_reduce()
    call align()
    call wait_at_fence()
    call align()
    call late_post()
    call align()
    call early_transfer()
    call align()
    call late_complete()
    call align()
    call lock_wait()
  end do
  call truth_enter("MPI_Win_free", "fortran")
  call MPI_Win_free(win, error)
  call truth_exit()
  call truth_collective(truth_free, world, 0, 0)
  call truth_enter("MPI_Finalize", "fortran")
  call MPI_Finalize(error)
  call truth_exit()
  call truth_collective(truth_finalize, world, 0, 0)
  call truth_write()
end program fortran
