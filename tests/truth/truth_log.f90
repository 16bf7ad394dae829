! truth_log.h for Fortran: the same functions, with Fortran's strings and without pointers.
module truth_log
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: truth_open, truth_enter, truth_exit, truth_rank, truth_write, truth_sends, truth_receives, &
            truth_completes, truth_collective, truth_rma, truth_fence, truth_window, truth_sleep, truth_probes, &
            truth_post, truth_start, truth_complete, truth_wait, truth_lock, truth_unlock

  integer, parameter, public :: truth_eager = 0, truth_synchronous = 1, truth_standard = 2
  integer, parameter, public :: truth_init = 0, truth_finalize = 1, truth_barrier = 2, truth_nxn = 3, &
                                truth_bcast = 4, truth_reduce = 5, truth_scan = 6, truth_create = 7, truth_free = 8

  interface
    subroutine c_open(directory) bind(c, name="truth_open")
      import :: c_char
      character(kind=c_char), intent(in) :: directory(*)
    end subroutine
    subroutine c_enter(function, label) bind(c, name="truth_enter_copy")
      import :: c_char
      character(kind=c_char), intent(in) :: function(*), label(*)
    end subroutine
    subroutine truth_exit() bind(c)
    end subroutine
    subroutine truth_rank(rank, ranks) bind(c)
      import :: c_int
      integer(c_int), value :: rank, ranks
    end subroutine
    subroutine truth_write() bind(c)
    end subroutine
    subroutine truth_sends(operation, destination, tag, communicator, bytes, mode) bind(c)
      import :: c_int
      integer(c_int), value :: operation, destination, tag, communicator, bytes, mode
    end subroutine
    subroutine truth_receives(operation, source, tag, communicator, bytes) bind(c)
      import :: c_int
      integer(c_int), value :: operation, source, tag, communicator, bytes
    end subroutine
    subroutine truth_completes(operation) bind(c)
      import :: c_int
      integer(c_int), value :: operation
    end subroutine
    subroutine truth_collective(kind, communicator, root, operation) bind(c)
      import :: c_int
      integer(c_int), value :: kind, communicator, root, operation
    end subroutine
    subroutine truth_rma(window, target, bytes) bind(c)
      import :: c_int
      integer(c_int), value :: window, target, bytes
    end subroutine
    subroutine truth_fence(window) bind(c)
      import :: c_int
      integer(c_int), value :: window
    end subroutine
    subroutine truth_probes(source, tag, communicator) bind(c)
      import :: c_int
      integer(c_int), value :: source, tag, communicator
    end subroutine
    subroutine truth_post(window, origin) bind(c)
      import :: c_int
      integer(c_int), value :: window, origin
    end subroutine
    subroutine truth_start(window, target) bind(c)
      import :: c_int
      integer(c_int), value :: window, target
    end subroutine
    subroutine truth_complete(window) bind(c)
      import :: c_int
      integer(c_int), value :: window
    end subroutine
    subroutine truth_wait(window) bind(c)
      import :: c_int
      integer(c_int), value :: window
    end subroutine
    subroutine truth_lock(window, target, exclusive) bind(c)
      import :: c_int
      integer(c_int), value :: window, target, exclusive
    end subroutine
    subroutine truth_unlock(window, target) bind(c)
      import :: c_int
      integer(c_int), value :: window, target
    end subroutine
    subroutine truth_window(window, communicator) bind(c)
      import :: c_int
      integer(c_int), value :: window, communicator
    end subroutine
    subroutine truth_sleep(milliseconds) bind(c)
      import :: c_double
      real(c_double), value :: milliseconds
    end subroutine
  end interface

contains

  subroutine truth_open(directory)
    character(len=*), intent(in) :: directory
    call c_open(trim(directory)//c_null_char)
  end subroutine

  ! Right before a call; truth_exit right after it. `label` is the name under which profilers know the caller.
  subroutine truth_enter(function, label)
    character(len=*), intent(in) :: function, label
    call c_enter(function//c_null_char, label//c_null_char)
  end subroutine
end module truth_log
