! The calls of culprit.h for Fortran: what a program can say to the sampler that measures it (hpcrun-lite).
! Compile it with the program, by the same compiler; nothing is to be linked. Without the sampler the calls do nothing.
!   use culprit
!   call culprit_start()                 ! sample from here on (with hpcrun-lite --delay, or after a stop)
!   call culprit_region_begin('solve')   ! samples of this thread lie below a frame "solve" ...
!   call culprit_iteration(n)            ! iteration n of the innermost region begins
!   call culprit_region_end('solve')     ! ... to here
!   call culprit_stop()                  ! no more samples in the whole process
! A region lies in the procedure that calls culprit_region_begin: call it there, not through one of your own.
! Trailing blanks of names do not count.
module culprit
  use, intrinsic :: iso_c_binding, only: c_ptr, c_funptr, c_null_ptr, c_null_char, c_associated, c_char, c_long, &
                                         c_f_pointer, c_f_procpointer, c_size_t
  use, intrinsic :: iso_fortran_env, only: int32, int64
  implicit none
  private
  public :: culprit_start, culprit_stop, culprit_region_begin, culprit_region_end, culprit_iteration

  !> Of default or any other kind of integer that programs count with.
  interface culprit_iteration
    module procedure iteration_int32, iteration_int64
  end interface

  ! struct culprit_interface of culprit.h
  type, bind(c) :: sampler_type
    integer(c_size_t) :: size
    type(c_funptr) :: start, stop, region_begin, region_end, iteration, region_begin_outside, region_end_outside
  end type

  abstract interface
    subroutine plain_call() bind(c)
    end subroutine
    subroutine name_call(name) bind(c)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine number_call(number) bind(c)
      import :: c_long
      integer(c_long), value :: number
    end subroutine
  end interface

  interface
    type(c_ptr) function dlsym(handle, symbol) bind(c, name='dlsym')
      import :: c_ptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: symbol(*)
    end function
    type(c_ptr) function dlerror() bind(c, name='dlerror')
      import :: c_ptr
    end function
  end interface

  integer, parameter :: longest_name = 128  ! the sampler keeps 127 bytes
  integer(c_size_t), parameter :: first_size = 64  ! CULPRIT_FIRST_SIZE_ of culprit.h

  ! Every thread finds the same, so that it does not matter which comes first. `looked` is set last.
  type(sampler_type), pointer, save :: sampler => null()
  logical, volatile, save :: looked = .false.

contains

  logical function present_here()
    if (.not. looked) call look()
    present_here = associated(sampler)
  end function

  subroutine look()
    type(c_ptr) :: found, message
    type(sampler_type), pointer :: candidate
    found = dlsym(c_null_ptr, 'culprit_rt_interface' // c_null_char)
    if (c_associated(found)) then
      call c_f_pointer(found, candidate)
      if (candidate%size >= first_size) sampler => candidate
    else
      message = dlerror()  ! not for the program to find
    end if
    looked = .true.
  end subroutine

  subroutine culprit_start()
    procedure(plain_call), pointer :: start
    if (.not. present_here()) return
    call c_f_procpointer(sampler%start, start)
    call start()
  end subroutine

  subroutine culprit_stop()
    procedure(plain_call), pointer :: stop_sampling
    if (.not. present_here()) return
    call c_f_procpointer(sampler%stop, stop_sampling)
    call stop_sampling()
  end subroutine

  subroutine culprit_region_begin(name)
    character(len=*), intent(in) :: name
    procedure(name_call), pointer :: begin
    character(kind=c_char) :: text(longest_name + 1)
    if (.not. present_here()) return
    call copy(name, text)
    call c_f_procpointer(sampler%region_begin_outside, begin)
    call begin(text)
  end subroutine

  subroutine culprit_region_end(name)
    character(len=*), intent(in) :: name
    procedure(name_call), pointer :: end_region
    character(kind=c_char) :: text(longest_name + 1)
    if (.not. present_here()) return
    call copy(name, text)
    call c_f_procpointer(sampler%region_end_outside, end_region)
    call end_region(text)
  end subroutine

  subroutine iteration_int64(number)
    integer(int64), intent(in) :: number
    procedure(number_call), pointer :: iteration
    if (.not. present_here()) return
    call c_f_procpointer(sampler%iteration, iteration)
    call iteration(int(number, c_long))
  end subroutine

  subroutine iteration_int32(number)
    integer(int32), intent(in) :: number
    call iteration_int64(int(number, int64))
  end subroutine

  !> As C has it: without trailing blanks, with a zero byte behind.
  pure subroutine copy(name, text)
    character(len=*), intent(in) :: name
    character(kind=c_char), intent(out) :: text(longest_name + 1)
    integer :: i, length
    length = min(len_trim(name), longest_name)
    do i = 1, length
      text(i) = name(i:i)
    end do
    text(length + 1) = c_null_char
  end subroutine

end module culprit
