! What a Fortran program tells its sampler: work_inside runs only in a region, and while sampling goes on;
! work_outside runs only while it is stopped, by culprit_stop or MPI_Pcontrol.
module works
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  real, save :: sink = 0
contains
  subroutine spin(ms)
    integer, intent(in) :: ms
    integer(int64) :: now, rate, until
    integer :: i
    call system_clock(now, rate)
    until = now + rate * ms / 1000
    do while (now < until)
      do i = 1, 1000
        sink = sink + real(i)
      end do
      call system_clock(now)
    end do
  end subroutine

  subroutine work_inside(ms)
    integer, intent(in) :: ms
    call spin(ms)
    sink = sink + 1
  end subroutine

  subroutine work_outside(ms)
    integer, intent(in) :: ms
    call spin(ms)
    sink = sink + 2
  end subroutine

  subroutine solve()
    use culprit
    integer :: i
    call culprit_region_begin('solve   ')
    do i = 1, 3
      call culprit_iteration(i)
      call work_inside(40)
    end do
    call culprit_region_end('solve')
  end subroutine
end module works

program regions
  use mpi
  use culprit
  use works
  implicit none
  integer :: error, rank
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call culprit_start()
  call solve()
  call culprit_stop()
  call work_outside(60)
  call MPI_Pcontrol(1)
  call solve()
  call MPI_Pcontrol(0)
  call work_outside(60)
  call MPI_Pcontrol(2)
  call MPI_Finalize(error)
  if (rank == 0) print '(a)', merge('ended', 'never', sink > 0)
end program regions
