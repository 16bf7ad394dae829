! Ranks pass a token round a ring after uneven work: Fortran, through the interface that the compiler flag chooses.
! Comments on lines say what structure is to be found (tests/unit/structure); ALL LOOPS have one.
module ring_work
  implicit none
contains
  subroutine uneven_work(rank, effort)
    integer, intent(in) :: rank, effort
    integer :: i
    double precision :: s
    s = 0
    do i = 1, effort * (1 + 3 * rank) ! LOOP effort
      s = s + sin(dble(i) * 1d-3) ! SOME loop:iterations in:ring_work::uneven_work loop:effort
    end do
    if (s > 1d30) print *, s
  end subroutine
end module

program ring
#if defined(USE_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  use ring_work
  implicit none
#if !defined(USE_F08) && !defined(USE_MPI)
  include 'mpif.h'
#endif
  integer :: rank, ranks, i, ierr, iterations
  integer :: mine(1), all(1)
  character(len=32) :: argument

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  iterations = 200
  if (command_argument_count() >= 1) then
    call get_command_argument(1, argument)
    read (argument, *) iterations
  end if
  do i = 1, iterations ! LOOP iterations
    call uneven_work(rank, 100000)
    mine(1) = i
    call MPI_Allreduce(mine, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr) ! SOME loop:iterations
  end do
  if (rank == 0) print *, all(1)
  call MPI_Finalize(ierr)
end program
