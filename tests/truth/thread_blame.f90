! Truth: an OpenMP program in Fortran, whose main thread works alone between its regions. Usage: as thread_blame.c, whose log
! it writes: the name of the team is `fortran`.
module parts
  use iso_fortran_env, only: int64
  implicit none
  integer, parameter :: threads = 4, most = 10000
  character(16) :: names(most)
  integer(int64) :: begins(most), ends(most)
  integer :: used = 0
  interface
    subroutine truth_sleep(milliseconds) bind(c)
      use iso_c_binding
      real(c_double), value :: milliseconds
    end subroutine
    function truth_now() bind(c)
      use iso_c_binding
      integer(c_long_long) :: truth_now
    end function
  end interface
contains
  subroutine note(name, begin)
    character(*), intent(in) :: name
    integer(int64), intent(in) :: begin
    !$omp critical (log)
    if (used < most) then
      used = used + 1
      names(used) = name
      begins(used) = begin
      ends(used) = truth_now()
    end if
    !$omp end critical (log)
  end subroutine

  subroutine sweep()
    integer(int64) :: begin
    begin = truth_now()
    call truth_sleep(10d0)
    call note("sweep", begin)
  end subroutine

  subroutine update()
    integer(int64) :: begin
    begin = truth_now()
    call truth_sleep(20d0)
    call note("update", begin)
  end subroutine
end module

program thread_blame
  use parts
  implicit none
  character(4096) :: directory, argument
  integer :: repetitions, i, unit
  integer(int64) :: begin
  call get_command_argument(1, directory)
  call get_command_argument(2, argument)
  read (argument, *) repetitions
  !$omp parallel num_threads(threads)
  call sweep()
  !$omp end parallel
  used = 0
  begin = truth_now()
  do i = 1, repetitions
    !$omp parallel num_threads(threads)
    call sweep()
    !$omp end parallel
    call update()
  end do
  open (newunit=unit, file=trim(directory) // "/blame.log", action="write")
  write (unit, '(a, i0, 2(1x, i0))') "team fortran - ", threads, begin, truth_now()
  do i = 1, used
    write (unit, '(3a, 2(1x, i0))') "work fortran ", trim(names(i)), " 1", begins(i), ends(i)
  end do
  close (unit)
end program
