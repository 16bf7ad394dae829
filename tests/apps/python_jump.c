/* A program with an interpreter in it, whose C function leaves Python by a jump: what the interpreter noted
   on the stack is still noted when other code has written over it. Prints how many seconds after_jump() took.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static jmp_buf outside;

static PyObject* leave(PyObject* self, PyObject* arguments) {
  (void)self, (void)arguments;
  longjmp(outside, 1);
}

static PyMethodDef functions[] = {{"leave", leave, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "jump", NULL, -1, functions, NULL, NULL, NULL, NULL};

static PyObject* make_module(void) {
  return PyModule_Create(&module);
}

/* Writes over the stack below, then calls MPI, for half a second. */
static __attribute__((noinline)) double after_jump(int filler) {
  volatile char room[1 << 16];
  memset((char*)room, filler, sizeof room);
  const double begin = MPI_Wtime();
  int data = filler;
  while (MPI_Wtime() < begin + 0.25) {
    MPI_Sendrecv_replace(&data, 1, MPI_INT, 0, 0, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    for (volatile int i = 0; i < 20000; ++i) continue;
  }
  return MPI_Wtime() - begin + room[data & 0xff] * 0.0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  PyImport_AppendInittab("jump", make_module);
  Py_Initialize();
  if (setjmp(outside) == 0) {
    PyRun_SimpleString(
        "import jump\ndef inner(depth):\n    jump.leave() if depth == 0 else inner(depth - 1)\ninner(50)\n");
    fprintf(stderr, "python_jump: no jump was made\n");
    return 1;
  }
  const double spent = after_jump(0x5a) + after_jump(0xff);
  printf("%.6f\n", spent);
  MPI_Finalize();
  return 0;
}
