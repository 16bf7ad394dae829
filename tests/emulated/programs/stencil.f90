! Time in nested loops of a subroutine of a module.
module stencils
contains
  subroutine sweep(a, b, n)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n, n)
    real(8), intent(out) :: b(n, n)
    integer :: i, j
    do j = 2, n - 1
      do i = 2, n - 1
        b(i, j) = 0.25d0 * (a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1))
      end do
    end do
  end subroutine sweep
end module stencils

program stencil
  use stencils
  implicit none
  integer, parameter :: n = 200
  real(8) :: a(n, n), b(n, n)
  integer(8) :: now, rate, last
  a = 1
  b = 0
  call system_clock(now, rate)
  last = now + 2 * rate
  do while (now < last)
    call sweep(a, b, n)
    call sweep(b, a, n)
    call system_clock(now)
  end do
  print *, b(3, 3) > 0
end program stencil
