! As loops.cpp, in Fortran. ALL LOOPS are annotated.
module solver
  implicit none
  interface
    subroutine sink(value) bind(c)
      use iso_c_binding, only: c_long
      integer(c_long), value :: value
    end subroutine
  end interface
contains
  subroutine iterate(n)
    integer(8), intent(in) :: n
    integer(8) :: i, j
    do i = 1, n                  ! LOOP outer
      call sink(i)               ! PATH loop:outer ! PROC solver::iterate
      do j = i, n                ! LOOP inner
        call sink(i * j)         ! PATH loop:outer loop:inner
      end do
    end do
    call finish(n)
  contains
    subroutine finish(m)
      integer(8), intent(in) :: m
      integer(8) :: k
      k = m
      do while (k > 0)           ! LOOP while
        call sink(-k)            ! PATH in:solver::iterate::finish? loop:while
        k = k / 2
      end do
    end subroutine
  end subroutine
end module

program driver
  use solver
  implicit none
  integer(8) :: n
  n = command_argument_count()
  call iterate(n + 3)
end program
