! What every_wait.c does, for the sorts of calls whose Fortran bindings differ most, through the interface that the
! compiler flag chooses: rank 0 comes late, rank 1 waits and prints "NAME SECONDS" for each call.
program every_wait
#if defined(USE_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  use iso_c_binding
  implicit none
#if !defined(USE_F08) && !defined(USE_MPI)
  include 'mpif.h'
#endif
  interface
    integer(c_int) function usleep(microseconds) bind(c)
      import
      integer(c_int), value :: microseconds
    end function
  end interface
  integer :: rank, ierr
  double precision :: entered
#if defined(USE_F08)
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2)
  type(MPI_Win) :: window
  type(MPI_File) :: file
#else
  integer :: requests(2), statuses(MPI_STATUS_SIZE, 2), window, file
#endif
  integer :: mine(1), all(1)
  integer, asynchronous :: got(1)
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  integer(kind=MPI_OFFSET_KIND) :: start
  logical :: done
  character(len=512) :: name

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  mine = 1
  requests(2) = MPI_REQUEST_NULL

  call come_late()
  call send_one()
  if (rank == 1) then
    call enter()
    call MPI_Recv(got, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call leave('Recv')
  end if

  call come_late()
  call send_one()
  if (rank == 1) then
    call MPI_Irecv(got, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, requests(1), ierr)
    call enter()
    call MPI_Waitall(2, requests, statuses, ierr)
    call leave('Waitall')
  end if

  call come_late(5_c_int)
  call send_one()
  if (rank == 1) then
    call MPI_Irecv(got, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, requests(1), ierr)
    done = .false.
    call enter()
    do while (.not. done)
      call MPI_Test(requests(1), done, MPI_STATUS_IGNORE, ierr)
    end do
    call leave('Test')
  end if

  call come_late()
  call enter()
  call MPI_Allreduce(mine, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call leave('Allreduce')

  call come_late()
  call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), ierr)
  call enter()
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
  call leave('Wait')

  bytes = 4
  call MPI_Win_create(got, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
  call come_late()
  call enter()
  call MPI_Win_fence(0, window, ierr)
  call leave('Win_fence')
  bytes = 0
  if (rank == 1) call MPI_Put(mine, 1, MPI_INTEGER, 0, bytes, 1, MPI_INTEGER, window, ierr)
  call enter()
  call MPI_Win_fence(0, window, ierr)
  call leave('Win_fence')
  call come_late()
  call enter()
  call MPI_Win_free(window, ierr)
  call leave('Win_free')

  if (command_argument_count() >= 1) then
    call get_command_argument(1, name)
    call come_late()
    call enter()
    call MPI_File_open(MPI_COMM_WORLD, trim(name), MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                       MPI_INFO_NULL, file, ierr)
    call leave('File_open')
    start = 4 * rank
    call MPI_File_write_at_all(file, start, mine, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call come_late()
    call enter()
    call MPI_File_close(file, ierr)
    call leave('File_close')
  end if
  call MPI_Finalize(ierr)
contains
  subroutine come_late(times)
    integer(c_int), optional :: times
    integer(c_int) :: ignored, microseconds
    microseconds = 60000
    if (present(times)) microseconds = microseconds * times
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (rank == 0) ignored = usleep(microseconds)
  end subroutine

  subroutine enter()
    entered = MPI_Wtime()
  end subroutine

  subroutine leave(name)
    character(len=*), intent(in) :: name
    if (rank == 1) print '(a,1x,f9.6)', name, MPI_Wtime() - entered
  end subroutine

  subroutine send_one()
    integer :: one(1)
    one = 1
    if (rank == 0) call MPI_Send(one, 1, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, ierr)
  end subroutine
end program
