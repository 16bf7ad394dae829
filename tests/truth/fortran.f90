! Truth, in Fortran: the waits of point-to-point calls, of collective calls and of fences, through mpi_f08 (where
! USE_F08 is defined), the mpi module (USE_MPI) or mpif.h. Ranks pair up (0,1), (2,3), ...; of a pair the lower rank
! plays the sender. Usage: fortran LOGDIR [repetitions] [delay in ms]
#ifdef USE_F08
#define MPI_USE use mpi_f08
#define MPI_INCLUDE
#define REQUEST type(MPI_Request)
#define WINDOW type(MPI_Win)
#else
#define REQUEST integer
#define WINDOW integer
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
  integer, asynchronous :: memory(64)
  WINDOW :: win

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

  subroutine late_sender()
    integer :: word
    if (partner() >= ranks) return
    word = rank
    if (sender()) then
      call truth_sleep(delay)
      call truth_enter("MPI_Send", "late_sender")
      call MPI_Send(word, 1, MPI_INTEGER, partner(), 1, MPI_COMM_WORLD, error)
      call truth_exit()
      call truth_sends(0, partner(), 1, world, word_bytes, truth_eager)
    else
      call truth_enter("MPI_Recv", "late_sender")
      call MPI_Recv(word, 1, MPI_INTEGER, partner(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call truth_exit()
      call truth_receives(0, partner(), 1, world, word_bytes)
    end if
  end subroutine

  subroutine late_receiver()
    integer :: word
    if (partner() >= ranks) return
    word = rank
    if (sender()) then
      call truth_enter("MPI_Ssend", "late_receiver")
      call MPI_Ssend(word, 1, MPI_INTEGER, partner(), 2, MPI_COMM_WORLD, error)
      call truth_exit()
      call truth_sends(0, partner(), 2, world, word_bytes, truth_synchronous)
    else
      call truth_sleep(delay)
      call truth_enter("MPI_Recv", "late_receiver")
      call MPI_Recv(word, 1, MPI_INTEGER, partner(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call truth_exit()
      call truth_receives(0, partner(), 2, world, word_bytes)
    end if
  end subroutine

  subroutine wait_for_receive()
    integer, asynchronous :: word
    REQUEST :: request
    if (partner() >= ranks) return
    operation = operation + 1
    if (sender()) then
      word = rank
      call truth_sleep(delay)
      call truth_enter("MPI_Send", "wait_for_receive")
      call MPI_Send(word, 1, MPI_INTEGER, partner(), 3, MPI_COMM_WORLD, error)
      call truth_exit()
      call truth_sends(0, partner(), 3, world, word_bytes, truth_eager)
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

  subroutine fence()
    call truth_enter("MPI_Win_fence", "fence")
    call MPI_Win_fence(0, win, error)
    call truth_exit()
    call truth_fence(the_window)
  end subroutine

  ! One rank puts late, and comes even later to the closing fence.
  subroutine wait_at_fence()
    integer, asynchronous, save :: word
    integer :: next
    word = rank
    next = mod(rank + 1, ranks)
    turn = turn + 1
    call fence()
    if (rank == mod(turn, ranks)) then
      call truth_sleep(delay)
      call truth_enter("MPI_Put", "wait_at_fence")
      call MPI_Put(word, 1, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, error)
      call truth_exit()
      call truth_rma(the_window, next, word_bytes)
      call truth_sleep(delay / 2)
    end if
    call fence()
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
  do i = 1, repetitions
    call align()
    call late_sender()
    call align()
    call late_receiver()
    call align()
    call wait_for_receive()
    call align()
    call allreduce()
    call align()
    call late_broadcast()
    call align()
    call early_reduce()
    call align()
    call wait_at_fence()
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
